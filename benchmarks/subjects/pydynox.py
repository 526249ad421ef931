"""pydynox: its own models over a client in Rust.

Loaded values are not checked, a string set is read as a list, and keys are given as they are stored.
"""

from typing import Any, ClassVar

from pydynox import DynamoDBClient, Model, ModelConfig, Transaction, set_default_client
from pydynox.attributes import (
    BooleanAttribute,
    DatetimeAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    StringAttribute,
    StringSetAttribute,
)
from pydynox.batch_operations import BatchWriter

from benchmarks.items import PAGE, TABLE, plain, stored_instant, stream_of, users
from benchmarks.subjects.subject import Subject


class Post(Model):
    """The reference item."""

    model_config = ModelConfig(table=TABLE)
    user_id = StringAttribute(partition_key=True)
    posted_at = DatetimeAttribute(sort_key=True)
    title = StringAttribute()
    likes = NumberAttribute()
    score = NumberAttribute()
    public = BooleanAttribute()
    tags = StringSetAttribute()
    place: Any = MapAttribute()
    history = ListAttribute()
    text = StringAttribute()


class Pydynox(Subject):
    """Models of its own."""

    label = "pydynox"
    returns = "models, unchecked"
    imports = "pydynox"
    distributions = ("pydynox",)
    cannot: ClassVar[dict[str, str]] = {
        "encode": "encodes inside its client",
        "decode": "decodes inside its client",
        "render": "renders inside its client",
    }

    def prepare(self, distinct: int) -> None:
        """Make keys, models and the dicts that its bulk calls take."""
        self._users = users(distinct)
        self._keys = [{"user_id": name, "posted_at": stored_instant(0)} for name in self._users]
        self._items = [{**plain(name), "posted_at": stored_instant(0)} for name in self._users]
        self._posts = [Post(**plain(name)) for name in self._users]

    async def open(self, endpoint: str | None) -> None:
        self._client = DynamoDBClient(
            region="eu-west-1", access_key="AKIAEXAMPLE", secret_key="secret", endpoint_url=endpoint
        )
        set_default_client(self._client)

    async def open_found(self, endpoint: str) -> None:
        self._client = DynamoDBClient(endpoint_url=endpoint)
        set_default_client(self._client)

    async def get(self, key: int) -> object:
        return await Post.get(**self._keys[key])

    async def query(self) -> object:
        return [post async for post in Post.query(partition_key="user-000000", limit=PAGE)]

    async def put(self, number: int) -> object:
        """Call `save` as a PutItem, since an unchanged model would send nothing."""
        await self._posts[number].save(full_replace=True)
        return None

    async def update(self, key: int) -> object:
        """Call `update_by_key`, which gives nothing back."""
        await Post.update_by_key(**self._keys[key], title="new", likes=1)
        return None

    async def batch_get(self, count: int) -> object:
        """Call `Model.batch_get`, which sends one request after the other."""
        return await Post.batch_get(self._keys[:count])

    async def batch_write(self, count: int) -> object:
        """Call `BatchWriter`, which takes dicts and sends one request after the other."""
        async with BatchWriter(self._client, TABLE) as batch:
            for item in self._items[:count]:
                batch.put(item)
        return None

    async def transact(self, number: int) -> object:
        async with Transaction(self._client) as transaction:
            for post in self._posts[10 * number : 10 * number + 10]:
                transaction.save_model(post)
        return None

    async def scan(self) -> int:
        """Call `parallel_scan`, which keeps everything."""
        posts, _ = await Post.parallel_scan(total_segments=self.segments)
        return len(posts)

    async def stream(self, count: int) -> int:
        found = 0
        async for _ in Post.query(partition_key=stream_of(count)):
            found += 1
        return found

    def define(self) -> object:
        class Fresh(Model):
            model_config = ModelConfig(table=TABLE)
            user_id = StringAttribute(partition_key=True)
            posted_at = DatetimeAttribute(sort_key=True)
            title = StringAttribute()
            likes = NumberAttribute()
            score = NumberAttribute()
            public = BooleanAttribute()
            tags = StringSetAttribute()
            place: Any = MapAttribute()
            history = ListAttribute()
            text = StringAttribute()

        return Fresh
