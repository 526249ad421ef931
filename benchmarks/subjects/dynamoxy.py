"""dynamoxy: its own validated models, over AWS's SDK in Rust. It opens a connection for each call that is under way.

Its client encodes and decodes JSON itself; `encode` and `decode` are what it offers beside that.
"""

import json
from collections.abc import Callable
from datetime import datetime
from types import new_class
from typing import Any, ClassVar

import dynamoxy
from dynamoxy import Attr, Document, Model, partition_key, sort_key
from dynamoxy.expressions import ExpressionBuilder

from benchmarks.items import PAGE, START, TABLE, instant, plain, stream_of, users
from benchmarks.shapes import KEY, Shape
from benchmarks.subjects.subject import Subject


class Place(Document):
    """A map of three."""

    city: Attr[str]
    country: Attr[str]
    postcode: Attr[str]


class Post(Model, table=TABLE, datetime_format="iso_z"):
    """The reference item."""

    user_id: Attr[str] = partition_key()
    posted_at: Attr[datetime] = sort_key()
    title: Attr[str]
    likes: Attr[int]
    score: Attr[float]
    public: Attr[bool]
    tags: Attr[set[str]]
    place: Attr[Place]
    history: Attr[list[int]]
    text: Attr[str]


class Dynamoxy(Subject):
    """Models of its own."""

    label = "dynamoxy"
    returns = "models, validated"
    imports = "dynamoxy"
    distributions = ("dynamoxy",)
    model: ClassVar[Any] = Post

    def shaped(self, shape: Shape) -> Any:
        fields = {name: Attr[kind] for name, kind in shape.fields.items()}
        namespace = {"__annotations__": fields, "__module__": __name__, KEY: partition_key()}
        return new_class("Shaped", (Model,), {"table": TABLE}, lambda body: body.update(namespace))

    def prepare(self, distinct: int) -> None:
        self._users = users(distinct)
        self._keys = [(name, START) for name in self._users]
        self._posts = [self.model(**plain(name)) for name in self._users]

    async def open(self, endpoint: str | None) -> None:
        """Enter a client, and take its repository."""
        credentials = dynamoxy.Credentials("AKIAEXAMPLE", "secret")
        await self._enter(dynamoxy.Client(region="eu-west-1", endpoint_url=endpoint, credentials=credentials))

    async def open_found(self, endpoint: str) -> None:
        await self._enter(dynamoxy.Client(endpoint_url=endpoint))

    async def _enter(self, client: dynamoxy.Client) -> None:
        self._client = client
        await client.__aenter__()
        self._repository = self._client.repository(self.model)

    async def close(self) -> None:
        await self._client.close()

    async def get(self, key: int) -> object:
        return await self._repository.get(self._users[key], START)

    async def query(self) -> object:
        return await self._repository.query(user_id="user-000000").limit(PAGE).all()

    async def put(self, number: int) -> object:
        return await self._repository.put(self._posts[number])

    async def update(self, key: int) -> object:
        """Call `update` by key, which gives the new item."""
        actions = (self.model.title.set("new"), self.model.likes.add(1))
        return await self._repository.update(self.model.key(self._users[key], START), *actions)

    async def batch_get(self, count: int) -> object:
        """Call `batch_get`, which sends four requests at a time."""
        return await self._repository.batch_get(self._keys[:count])

    async def batch_write(self, count: int) -> object:
        """Call `batch_put`, which sends four requests at a time."""
        await self._repository.batch_put(self._posts[:count])
        return None

    async def transact(self, number: int) -> object:
        async with self._client.transaction() as tx:
            for post in self._posts[10 * number : 10 * number + 10]:
                tx.put(post)
        return None

    async def scan(self) -> int:
        found = 0
        async for _ in self._repository.scan().segments(self.segments):
            found += 1
        return found

    async def stream(self, count: int) -> int:
        found = 0
        async for _ in self._repository.query(user_id=stream_of(count)):
            found += 1
        return found

    def encode(self) -> object:
        """Call `to_item`, `to_wire`, and JSON."""
        return [json.dumps(dynamoxy.to_wire(post.to_item())) for post in self._posts[:PAGE]]

    def decode(self, page: bytes) -> object:
        """JSON, `from_wire`, and `from_item`."""
        return [self.model.from_item(dynamoxy.from_wire(item)) for item in json.loads(page)["Items"]]

    def encoder(self, shape: Shape) -> Callable[[], object]:
        model = self.shaped(shape)
        items = [model(**values) for values in shape.items()]
        return lambda: [json.dumps(dynamoxy.to_wire(item.to_item())) for item in items]

    def decoder(self, shape: Shape) -> Callable[[bytes], object]:
        model = self.shaped(shape)
        return lambda page: [model.from_item(dynamoxy.from_wire(item)) for item in json.loads(page)["Items"]]

    def render(self) -> object:
        """Compile both conditions with one builder, as its queries do."""
        model, builder = self.model, ExpressionBuilder()
        key = (model.user_id == "user-000000") & model.posted_at.between(START, instant(1000))
        kept = (model.likes > 10) & model.title.begins_with("An")
        return builder.condition(key), builder.condition(kept), builder.arguments()

    def define(self) -> object:
        class Fresh(Model, table=TABLE, datetime_format="iso_z"):
            user_id: Attr[str] = partition_key()
            posted_at: Attr[datetime] = sort_key()
            title: Attr[str]
            likes: Attr[int]
            score: Attr[float]
            public: Attr[bool]
            tags: Attr[set[str]]
            place: Attr[Place]
            history: Attr[list[int]]
            text: Attr[str]

        return Fresh
