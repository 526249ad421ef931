"""PynamoDB: its own models. It blocks, so each call runs in a thread; there are as many as it opens connections."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, get_args, get_origin

from pydantic import BaseModel
from pynamodb.attributes import (
    BooleanAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
)
from pynamodb.connection import Connection
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

from benchmarks.items import PAGE, PYNAMODB_TABLE, START, instant, plain, stream_of, users
from benchmarks.shapes import KEY, Shape
from benchmarks.subjects.subject import Subject


class Place(MapAttribute[str, Any]):
    """A map of three."""

    city = UnicodeAttribute()
    country = UnicodeAttribute()
    postcode = UnicodeAttribute()


class Post(Model):
    """The reference item."""

    class Meta:
        """Where it is stored."""

        table_name = PYNAMODB_TABLE
        region = "eu-west-1"
        host = ""
        aws_access_key_id = "AKIAEXAMPLE"
        aws_secret_access_key = "secret"

    user_id = UnicodeAttribute(hash_key=True)
    posted_at = UTCDateTimeAttribute(range_key=True)
    title = UnicodeAttribute()
    likes = NumberAttribute()
    score = NumberAttribute()
    public = BooleanAttribute()
    tags = UnicodeSetAttribute()
    place = Place()
    history: Any = ListAttribute(of=NumberAttribute)
    text = UnicodeAttribute()


_ATTRIBUTES = {str: UnicodeAttribute, int: NumberAttribute, float: NumberAttribute, bool: BooleanAttribute}


def _model(shape: Shape) -> Any:
    names = {name: _attribute(kind)() for name, kind in shape.fields.items() if name != KEY}
    meta = type("Meta", (), {"table_name": PYNAMODB_TABLE})
    return type("Shaped", (Model,), {"Meta": meta, KEY: UnicodeAttribute(hash_key=True), **names})


def _attribute(kind: Any) -> Callable[[], Any]:
    """Return what makes the attribute for a type of a shape."""
    if get_origin(kind) is list:
        (of,) = get_args(kind)
        return partial(ListAttribute, of=_attribute(of))
    if issubclass(kind, BaseModel):
        parts = {name: _attribute(field.annotation)() for name, field in kind.model_fields.items()}
        return type(kind.__name__, (MapAttribute,), parts)
    return _ATTRIBUTES[kind]


class Pynamodb(Subject):
    """Models of its own, through threads."""

    label = "PynamoDB"
    returns = "models (threads)"
    imports = "pynamodb.models"
    distributions = ("pynamodb", "botocore")
    zone = "+0000"
    cannot: ClassVar[dict[str, str]] = {"scan": "no call for all segments"}

    def prepare(self, distinct: int) -> None:
        self._keys = [(name, START) for name in users(distinct)]
        self._posts = [Post(**{**plain(name), "place": Place(**plain(name)["place"])}) for name in users(distinct)]

    async def open(self, endpoint: str | None) -> None:
        Post.Meta.host = endpoint  # type: ignore[assignment]
        self._connection = Connection(
            region="eu-west-1", host=endpoint, aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="secret"
        )
        self._threads = ThreadPoolExecutor(10)

    async def open_found(self, endpoint: str) -> None:
        """Say where to send to; the model's region has to be given."""
        Post.Meta.host = endpoint
        Post.Meta.aws_access_key_id = Post.Meta.aws_secret_access_key = None  # type: ignore[assignment]
        self._threads = ThreadPoolExecutor(10)

    async def close(self) -> None:
        self._threads.shutdown()

    async def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def get(self, key: int) -> object:
        return await self._in_thread(Post.get, *self._keys[key])

    async def query(self) -> object:
        return await self._in_thread(lambda: list(Post.query("user-000000", limit=PAGE)))

    async def put(self, number: int) -> object:
        return await self._in_thread(self._posts[number].save)

    async def update(self, key: int) -> object:
        """Call `update`, which refreshes the model."""
        return await self._in_thread(self._posts[key].update, [Post.title.set("new"), Post.likes.add(1)])

    async def batch_get(self, count: int) -> object:
        return await self._in_thread(lambda: list(Post.batch_get(self._keys[:count])))

    async def batch_write(self, count: int) -> object:
        def write() -> None:
            with Post.batch_write() as batch:
                for post in self._posts[:count]:
                    batch.save(post)

        return await self._in_thread(write)

    async def transact(self, number: int) -> object:
        def write() -> None:
            with TransactWrite(connection=self._connection) as transaction:
                for post in self._posts[10 * number : 10 * number + 10]:
                    transaction.save(post)

        return await self._in_thread(write)

    async def stream(self, count: int) -> int:
        found: int = await self._in_thread(lambda: sum(1 for _ in Post.query(stream_of(count))))
        return found

    def encode(self) -> object:
        """Call `serialize`, and JSON."""
        return [json.dumps(post.serialize()) for post in self._posts[:PAGE]]

    def decode(self, page: bytes) -> object:
        """JSON, and `from_raw_data`."""
        return [Post.from_raw_data(item) for item in json.loads(page)["Items"]]

    def encoder(self, shape: Shape) -> Callable[[], object]:
        model = _model(shape)
        items = [model(**values) for values in shape.items()]
        return lambda: [json.dumps(item.serialize()) for item in items]

    def decoder(self, shape: Shape) -> Callable[[bytes], object]:
        model = _model(shape)
        return lambda page: [model.from_raw_data(item) for item in json.loads(page)["Items"]]

    def render(self) -> object:
        names: dict[str, str] = {}
        values: dict[str, Any] = {}
        key = (Post.user_id == "user-000000") & Post.posted_at.between(START, instant(1000))
        kept = (Post.likes > 10) & Post.title.startswith("An")
        return key.serialize(names, values), kept.serialize(names, values)

    def define(self) -> object:
        class Fresh(Model):
            class Meta:
                table_name = PYNAMODB_TABLE

            user_id = UnicodeAttribute(hash_key=True)
            posted_at = UTCDateTimeAttribute(range_key=True)
            title = UnicodeAttribute()
            likes = NumberAttribute()
            score = NumberAttribute()
            public = BooleanAttribute()
            tags = UnicodeSetAttribute()
            place = Place()
            history: Any = ListAttribute(of=NumberAttribute)
            text = UnicodeAttribute()

        return Fresh
