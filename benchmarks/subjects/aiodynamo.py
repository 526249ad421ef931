"""aiodynamo on aiohttp: dicts in and out. It has no instants, so they are text."""

import asyncio
import json
from collections.abc import Callable
from typing import ClassVar

import aiohttp
from aiodynamo.client import Client
from aiodynamo.credentials import Credentials, Key, StaticCredentials
from aiodynamo.expressions import F, HashKey, Parameters, RangeKey
from aiodynamo.http.aiohttp import AIOHTTP
from aiodynamo.models import BatchGetRequest, BatchWriteRequest, ReturnValues
from aiodynamo.operations import Put
from aiodynamo.utils import dy2py, py2dy
from yarl import URL

from benchmarks.items import PAGE, TABLE, plain, stored_instant, stream_of, users
from benchmarks.shapes import Shape
from benchmarks.subjects.subject import CannotError, Subject


class Aiodynamo(Subject):
    """Dicts, without a model."""

    label = "aiodynamo"
    returns = "dicts"
    imports = "aiodynamo.client, aiodynamo.http.aiohttp"
    distributions = ("aiodynamo", "aiohttp")
    cannot: ClassVar[dict[str, str]] = {"define": "has no models", "scan": "scans without segments"}

    def prepare(self, distinct: int) -> None:
        self._keys = [{"user_id": name, "posted_at": stored_instant(0)} for name in users(distinct)]
        self._items = [{**plain(name), "posted_at": stored_instant(0)} for name in users(distinct)]

    async def open(self, endpoint: str | None) -> None:
        if endpoint is None:
            raise CannotError("reads no endpoint from configuration files")
        self._open(endpoint, StaticCredentials(Key("AKIAEXAMPLE", "secret")))

    async def open_found(self, endpoint: str) -> None:
        """Open it with the key that it finds; the region has to be given."""
        self._open(endpoint, Credentials.auto())

    def _open(self, endpoint: str, credentials: Credentials) -> None:
        self._http = aiohttp.ClientSession()
        self._client = Client(AIOHTTP(self._http), credentials, "eu-west-1", endpoint=URL(endpoint))
        self._table = self._client.table(TABLE)

    async def close(self) -> None:
        await self._http.close()

    async def get(self, key: int) -> object:
        return await self._table.get_item(self._keys[key])

    async def query(self) -> object:
        return [item async for item in self._table.query(HashKey("user_id", "user-000000"), limit=PAGE)]

    async def put(self, number: int) -> object:
        return await self._table.put_item(self._items[number])

    async def update(self, key: int) -> object:
        expression = F("title").set("new") & F("likes").add(1)
        return await self._table.update_item(self._keys[key], expression, return_values=ReturnValues.all_new)

    async def batch_get(self, count: int) -> object:
        """Full `batch_get` calls at the same time."""
        calls = [
            self._client.batch_get({TABLE: BatchGetRequest(self._keys[at : at + 100])}) for at in range(0, count, 100)
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
        return [item for task in tasks for item in task.result().items[TABLE]]

    async def batch_write(self, count: int) -> object:
        """Full `batch_write` calls at the same time."""
        requests = [BatchWriteRequest(items_to_put=self._items[at : at + 25]) for at in range(0, count, 25)]
        async with asyncio.TaskGroup() as group:
            for request in requests:
                group.create_task(self._client.batch_write({TABLE: request}))
        return len(requests)

    async def transact(self, number: int) -> object:
        await self._client.transact_write_items(
            [Put(TABLE, item) for item in self._items[10 * number : 10 * number + 10]]
        )
        return None

    async def stream(self, count: int) -> int:
        found = 0
        async for _ in self._table.query(HashKey("user_id", stream_of(count))):
            found += 1
        return found

    def encode(self) -> object:
        """Its serialiser, and JSON."""
        return [json.dumps(py2dy(item)) for item in self._items[:PAGE]]

    def decode(self, page: bytes) -> object:
        """JSON, and its deserialiser."""
        return [dy2py(item, float) for item in json.loads(page)["Items"]]

    def encoder(self, shape: Shape) -> Callable[[], object]:
        items = shape.items()
        return lambda: [json.dumps(py2dy(item)) for item in items]

    def decoder(self, shape: Shape) -> Callable[[bytes], object]:
        return self.decode

    def render(self) -> object:
        parameters = Parameters()
        between = RangeKey("posted_at").between(stored_instant(0), stored_instant(1000))
        condition = (HashKey("user_id", "user-000000") & between).encode(parameters)
        return condition, (F("likes").gt(10) & F("title").begins_with("An")).encode(parameters), parameters
