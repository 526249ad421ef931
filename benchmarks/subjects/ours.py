"""This library."""

from collections.abc import Callable
from datetime import datetime
from types import new_class
from typing import Any

from pydantic_core import from_json

from benchmarks.items import PAGE, START, TABLE, instant, plain, stream_of, users
from benchmarks.shapes import KEY, Shape
from benchmarks.subjects.plain_model import Place
from benchmarks.subjects.subject import Subject
from dynamap_async import Attr, BatchPolicy, Credentials, Model, PartitionKey, Session, SortKey, operations
from dynamap_async.models import definition_of
from dynamap_async.transport.pieces import leave_items


class Post(Model, table=TABLE):
    """The reference item."""

    user_id: PartitionKey[str]
    posted_at: SortKey[datetime]
    title: Attr[str]
    likes: Attr[int]
    score: Attr[float]
    public: Attr[bool]
    tags: Attr[set[str]]
    place: Attr[Place]
    history: Attr[list[int]]
    text: Attr[str]


def _items_in(page: bytes) -> Any:
    """Return the items of an answer as the transport gives them."""
    return (leave_items(page) or from_json(page))["Items"]


def _model(shape: Shape) -> Any:
    fields = {name: PartitionKey[kind] if name == KEY else Attr[kind] for name, kind in shape.fields.items()}
    namespace = {"__annotations__": fields, "__module__": __name__}
    return new_class("Shaped", (Model,), {"table": TABLE}, lambda body: body.update(namespace))


class Ours(Subject):
    """Validated Pydantic models; concurrent calls share requests."""

    label = "dynamap_async"
    returns = "models, validated"
    imports = "dynamap_async.models, dynamap_async.session"  # `import dynamap_async` alone loads nothing yet
    distributions = ("dynamap_async", "aiobotocore", "aiohttp", "anyio", "pydantic", "pydantic_core")

    def prepare(self, distinct: int) -> None:
        self._users = users(distinct)
        self._keys = [(name, START) for name in self._users]
        self._posts = [Post(**plain(name)) for name in self._users]

    async def open(self, endpoint: str | None) -> None:
        self._unshared: Session | None = None
        self._endpoint = endpoint
        self._session = await self._entered()

    async def open_found(self, endpoint: str) -> None:
        self._unshared = None
        self._session = await Session(endpoint_url=endpoint).__aenter__()

    async def _entered(self, batching: BatchPolicy | None = None) -> Session:
        credentials = Credentials(access_key_id="AKIAEXAMPLE", secret_access_key="secret")
        session = Session(endpoint_url=self._endpoint, region="eu-west-1", credentials=credentials, batching=batching)
        return await session.__aenter__()

    async def close(self) -> None:
        await self._session.close()
        if self._unshared is not None:
            await self._unshared.close()

    async def get_alone(self, key: int) -> object:
        """Call `get`, kept out of batches."""
        return await self._session.get(Post, self._users[key], START, coalesce=False)

    async def put_alone(self, number: int) -> object:
        """Call `put` of a session without batches."""
        if self._unshared is None:
            self._unshared = await self._entered(BatchPolicy(enabled=False))
        return await self._unshared.put(self._posts[number])

    async def get(self, key: int) -> object:
        """Call `get`: a lone one is a GetItem, concurrent ones share a BatchGetItem."""
        return await self._session.get(Post, self._users[key], START)

    async def query(self) -> object:
        return await self._session.query(Post).where(Post.user_id == "user-000000").limit(PAGE)

    async def put(self, number: int) -> object:
        """Call `put`: concurrent ones share a BatchWriteItem."""
        return await self._session.put(self._posts[number])

    async def update(self, key: int) -> object:
        """Call `update`, which gives the new item."""
        return await self._session.update(Post, self._users[key], START).set(Post.title, "new").add(Post.likes, 1)

    async def batch_get(self, count: int) -> object:
        return await self._session.get_many(Post, self._keys[:count])

    async def batch_write(self, count: int) -> object:
        return await self._session.put_many(self._posts[:count])

    async def transact(self, number: int) -> object:
        async with self._session.transaction() as tx:
            for post in self._posts[10 * number : 10 * number + 10]:
                tx.put(post)
        return None

    async def scan(self) -> int:
        count = 0
        async for _ in self._session.scan(Post).segments(self.segments):
            count += 1
        return count

    async def stream(self, count: int) -> int:
        found = 0
        async for _ in self._session.query(Post).where(Post.user_id == stream_of(count)):
            found += 1
        return found

    def encode(self) -> object:
        """Encode the instances, which gives their JSON as well."""
        encoded = definition_of(Post).items.encoded
        return [encoded(post)[1] for post in self._posts[:PAGE]]

    def decode(self, page: bytes) -> object:
        """Parse, decode by table, validate the page."""
        return definition_of(Post).items.decode(_items_in(page))

    def encoder(self, shape: Shape) -> Callable[[], object]:
        model = _model(shape)
        items = [model(**values) for values in shape.items()]
        encoded = definition_of(model).items.encoded
        return lambda: [encoded(item)[1] for item in items]

    def decoder(self, shape: Shape) -> Callable[[bytes], object]:
        codec = definition_of(_model(shape)).items
        return lambda page: codec.decode(_items_in(page))

    def render(self) -> object:
        query = operations.Query(Post).where(
            Post.user_id == "user-000000", Post.posted_at.between(START, instant(1000))
        )
        return query.where((Post.likes > 10) & Post.title.begins_with("An")).explain()

    def define(self) -> object:
        class Fresh(Model, table=TABLE):
            user_id: PartitionKey[str]
            posted_at: SortKey[datetime]
            title: Attr[str]
            likes: Attr[int]
            score: Attr[float]
            public: Attr[bool]
            tags: Attr[set[str]]
            place: Attr[Place]
            history: Attr[list[int]]
            text: Attr[str]

        return Fresh

    def define_shape(self, shape: Shape) -> object:
        """Define the model, and work out what it means."""
        return definition_of(_model(shape))
