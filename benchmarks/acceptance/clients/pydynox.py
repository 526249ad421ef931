"""pydynox: its batch writer, which collects items, sends them one request after the other, and retries the rest."""

import asyncio

from pydynox import DynamoDBClient, set_default_client
from pydynox.batch_operations import BatchWriter

from benchmarks.acceptance.clients.client import Client
from benchmarks.acceptance.items import chunks, plain_item
from benchmarks.items import TABLE, stored_instant
from benchmarks.subjects.pydynox import Post


class Pydynox(Client):
    """Its default client."""

    distributions = ("pydynox",)

    async def open(self) -> None:
        self._client = DynamoDBClient(
            region="eu-west-1", access_key="AKIAEXAMPLE", secret_key="secret", endpoint_url=self._endpoint
        )
        set_default_client(self._client)

    async def close(self) -> None:
        """It has nothing to close."""

    async def load(self, names: list[str], *, background: bool) -> None:
        async with asyncio.TaskGroup() as group:
            for part in chunks(names, -(-len(names) // self._writers)):
                group.create_task(self._write(part))

    async def _write(self, names: list[str]) -> None:
        async with BatchWriter(self._client, TABLE) as batch:
            for name in names:
                batch.put({**plain_item(name), "posted_at": stored_instant(0)})

    async def get(self, name: str) -> object:
        return await Post.get(user_id=name, posted_at=stored_instant(0))

    async def put(self, name: str) -> object:
        return await Post(**plain_item(name)).save(full_replace=True)
