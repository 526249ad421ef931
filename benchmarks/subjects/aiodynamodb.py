"""aiodynamodb: Pydantic models over aioboto3, with credentials from the environment.

Its `get` cannot send an instant as a key, so the sort key is text here; that spares it some work.
"""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, ClassVar

from aiobotocore.config import AioConfig
from aiodynamodb import (
    BatchGet,
    BatchPut,
    DynamoDB,
    DynamoModel,
    HashKey,
    RangeKey,
    TransactPut,
    UpdateAttr,
    table,
)
from aiodynamodb.conditions import CustomConditionExpressionBuilder
from boto3.dynamodb.conditions import Attr, Key

from benchmarks.items import PAGE, TABLE, plain, stored_instant, stream_of, users
from benchmarks.shapes import KEY, Shape
from benchmarks.subjects.plain_model import Place
from benchmarks.subjects.subject import Subject


@table(TABLE)
class Post(DynamoModel):
    """The reference item."""

    user_id: HashKey[str]
    posted_at: RangeKey[str]
    title: str
    likes: int
    score: float
    public: bool
    tags: set[str]
    place: Place
    history: list[int]
    text: str


def _model(shape: Shape) -> Any:
    fields = {name: HashKey[kind] if name == KEY else kind for name, kind in shape.fields.items()}
    return table(TABLE)(type("Shaped", (DynamoModel,), {"__annotations__": fields, "__module__": __name__}))


class Aiodynamodb(Subject):
    """Pydantic models."""

    label = "aiodynamodb"
    returns = "models, validated"
    imports = "aiodynamodb"
    distributions = ("aiodynamodb", "aioboto3", "aiobotocore", "pydantic")
    cannot: ClassVar[dict[str, str]] = {"scan": "scans without segments"}

    def prepare(self, distinct: int) -> None:
        self._users = users(distinct)
        self._posts = [Post(**{**plain(name), "posted_at": stored_instant(0)}) for name in self._users]

    async def open(self, endpoint: str | None) -> None:
        os.environ.update(AWS_ACCESS_KEY_ID="AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY="secret")
        await self._enter(endpoint)

    async def open_found(self, endpoint: str) -> None:
        await self._enter(endpoint)

    async def _enter(self, endpoint: str | None) -> None:
        config = AioConfig(max_pool_connections=64)
        self._client = DynamoDB(endpoint_url=endpoint, region_name="eu-west-1", config=config)
        await self._client.__aenter__()

    async def close(self) -> None:
        await self._client.close()

    async def get(self, key: int) -> object:
        return await self._client.get(Post, hash_key=self._users[key], range_key=stored_instant(0))

    async def query(self) -> object:
        async for page in self._client.query(
            Post, key_condition_expression=Key("user_id").eq("user-000000"), limit=PAGE
        ):
            return page.items
        return None

    async def put(self, number: int) -> object:
        await self._client.put(self._posts[number])
        return None

    async def update(self, key: int) -> object:
        actions = [UpdateAttr("title").set("new"), UpdateAttr("likes").add(1)]
        return await self._client.update(
            Post,
            hash_key=self._users[key],
            range_key=stored_instant(0),
            update_expression=actions,
            return_values="ALL_NEW",
        )

    async def batch_get(self, count: int) -> object:
        """Full `batch_get` calls at the same time."""
        names = self._users
        calls = [
            self._client.batch_get([BatchGet(Post, name, stored_instant(0)) for name in names[at : at + 100]])
            for at in range(0, count, 100)
        ]
        return await self._all(calls)

    async def batch_write(self, count: int) -> object:
        """Full `batch_write` calls at the same time."""
        posts = self._posts
        calls = [
            self._client.batch_write([BatchPut(post) for post in posts[at : at + 25]]) for at in range(0, count, 25)
        ]
        return await self._all(calls)

    async def _all(self, calls: list[Any]) -> object:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
        return [task.result() for task in tasks]

    async def transact(self, number: int) -> object:
        return await self._client.transact_write(
            [TransactPut(post) for post in self._posts[10 * number : 10 * number + 10]]
        )

    async def stream(self, count: int) -> int:
        found = 0
        async for page in self._client.query(Post, key_condition_expression=Key("user_id").eq(stream_of(count))):
            for _ in page.items:
                found += 1
        return found

    def encode(self) -> object:
        """Call `to_dynamo`, and JSON."""
        return [json.dumps(post.to_dynamo()) for post in self._posts[:PAGE]]

    def decode(self, page: bytes) -> object:
        """JSON, and `from_dynamo`."""
        return [Post.from_dynamo(item) for item in json.loads(page)["Items"]]

    def encoder(self, shape: Shape) -> Callable[[], object]:
        model = _model(shape)
        items = [model(**values) for values in shape.items()]
        return lambda: [json.dumps(item.to_dynamo()) for item in items]

    def decoder(self, shape: Shape) -> Callable[[bytes], object]:
        model = _model(shape)
        return lambda page: [model.from_dynamo(item) for item in json.loads(page)["Items"]]

    def render(self) -> object:
        builder = CustomConditionExpressionBuilder(Post)
        key = Key("user_id").eq("user-000000") & Key("posted_at").between(stored_instant(0), stored_instant(1000))
        kept = Attr("likes").gt(10) & Attr("title").begins_with("An")
        return builder.build_expression(key, is_key_condition=True), builder.build_expression(kept)

    def define(self) -> object:
        @table(TABLE)
        class Fresh(DynamoModel):
            user_id: HashKey[str]
            posted_at: RangeKey[str]
            title: str
            likes: int
            score: float
            public: bool
            tags: set[str]
            place: Place
            history: list[int]
            text: str

        return Fresh
