"""This library: one session, its bulk call, and its single calls."""

from benchmarks.acceptance import counting
from benchmarks.acceptance.clients.client import Client
from benchmarks.acceptance.items import SHELVED, plain_item, shelf_of, sort_key
from benchmarks.subjects.ours import Post
from dynamap_async import KEYS_ONLY, Attr, CapacityPolicy, Credentials, GlobalIndex, Priority, Session

POLICIES = {
    "learned": CapacityPolicy(),
    "known": CapacityPolicy(limits="describe"),
    "unpaced": CapacityPolicy(enabled=False),
    "shared": CapacityPolicy(limits="describe", share=1 / 8),
}


class Shelved(Post, table=SHELVED):
    """The same item in a table with an index, in which it is if it has a shelf."""

    shelf: Attr[str | None] = None

    by_shelf = GlobalIndex(partition_key="shelf", projection=KEYS_ONLY)


class Ours(Client):
    """One session."""

    distributions = ("dynamap_async", "aiobotocore", "aiohttp", "anyio", "pydantic")

    async def open(self) -> None:
        """Enter a session; it sends nothing yet."""
        self._session = await self._made().__aenter__()

    def _made(self) -> Session:
        return Session(
            endpoint_url=self._endpoint,
            region="eu-west-1",
            credentials=Credentials(access_key_id="AKIAEXAMPLE", secret_access_key="secret"),
            capacity=POLICIES[self._policy],
        )

    async def close(self) -> None:
        await self._session.close()

    def _post(self, name: str, shelf: str | None = None) -> Post:
        return Shelved(**plain_item(name), shelf=shelf) if self._shelved else Post(**plain_item(name))

    async def load(self, names: list[str], *, background: bool) -> None:
        """Call `put_many`, in a scope of its own."""
        priority = Priority.BACKGROUND if background else Priority.INTERACTIVE
        async with self._session.scope("load", priority=priority):
            await self._session.put_many(self._post(name, shelf_of(name) if background else None) for name in names)

    async def get(self, name: str) -> object:
        return await self._session.find(Shelved if self._shelved else Post, name, sort_key())

    async def put(self, name: str) -> object:
        return await self._session.put(self._post(name))

    async def count(self, name: str) -> object:
        return await self._session.update(Post, name, sort_key()).add(Post.likes, 1).returning("nothing")

    async def scan(self, segments: int) -> None:
        async with self._session.scope("scan", priority=Priority.BACKGROUND):
            async for _ in self._session.scan(Post).segments(segments).page_size(100):
                pass

    def unpaced(self) -> "Ours":
        return Ours(self._endpoint, policy="unpaced", writers=self._writers, shelved=self._shelved)

    async def usage(self, tasks: int, operations: int) -> dict[str, float]:
        """Call `session.usage`, with what is estimated."""
        return await counting.used(self._session, tasks, operations)

    async def spend_budgets(self) -> None:
        await counting.spend_budgets(self._made)
