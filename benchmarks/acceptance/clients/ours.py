"""This library: one session, its bulk call, and its single calls."""

from benchmarks.acceptance.clients.client import Client
from benchmarks.acceptance.items import plain_item, sort_key
from benchmarks.subjects.ours import Post
from dynamap_async import CapacityPolicy, Credentials, Priority, Session

POLICIES = {
    "learned": CapacityPolicy(),
    "known": CapacityPolicy(limits="describe"),
    "unpaced": CapacityPolicy(enabled=False),
    "shared": CapacityPolicy(limits="describe", share=1 / 8),
}


class Ours(Client):
    """One session."""

    distributions = ("dynamap_async", "aiobotocore", "aiohttp", "anyio", "orjson", "pydantic")

    async def open(self) -> None:
        """Enter a session; it sends nothing yet."""
        self._session = await Session(
            endpoint_url=self._endpoint,
            region="eu-west-1",
            credentials=Credentials(access_key_id="AKIAEXAMPLE", secret_access_key="secret"),
            capacity=POLICIES[self._policy],
        ).__aenter__()

    async def close(self) -> None:
        """Leave it."""
        await self._session.close()

    async def load(self, names: list[str], *, background: bool) -> None:
        """`put_many`, in a scope of its own."""
        priority = Priority.BACKGROUND if background else Priority.INTERACTIVE
        async with self._session.scope("load", priority=priority):
            await self._session.put_many(Post(**plain_item(name)) for name in names)

    async def get(self, name: str) -> object:
        """`find`."""
        return await self._session.find(Post, name, sort_key())

    async def put(self, name: str) -> object:
        """`put`."""
        return await self._session.put(Post(**plain_item(name)))
