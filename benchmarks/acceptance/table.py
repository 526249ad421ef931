"""The simulated table, seen by who judges: started, set, and asked what arrived."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.acceptance.items import SHELVED, TABLES

ENTRY = Path(__file__).parents[1] / "__main__.py"
READ_UNITS = 3000
_KEYS = [{"AttributeName": "user_id", "KeyType": "HASH"}, {"AttributeName": "posted_at", "KeyType": "RANGE"}]
_TYPES = [{"AttributeName": name, "AttributeType": "S"} for name in ("user_id", "posted_at")]


@dataclass(frozen=True, slots=True)
class Simulated:
    """A server that runs, with its tables."""

    endpoint: str
    http: aiohttp.ClientSession

    async def call(self, operation: str, body: dict[str, Any]) -> Any:
        """Carry out one of DynamoDB's operations; nobody checks the signature."""
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        async with self.http.post(self.endpoint, json=body, headers=headers) as answer:
            answer.raise_for_status()
            return await answer.json(content_type=None)

    async def control(self, path: str) -> dict[str, Any]:
        """`/reset`, `/spend` or `/counts`; each gives what was counted."""
        async with self.http.post(self.endpoint + path) as answer:
            told: dict[str, Any] = await answer.json(content_type=None)
            return told

    async def create(self, write_units: int) -> None:
        """Create the tables."""
        for name in TABLES:
            await self.call(
                "CreateTable",
                {
                    "TableName": name,
                    "KeySchema": _KEYS,
                    "AttributeDefinitions": _TYPES,
                    "BillingMode": "PROVISIONED",
                    "ProvisionedThroughput": {"ReadCapacityUnits": READ_UNITS, "WriteCapacityUnits": write_units},
                },
            )

    async def create_shelved(self, write_units: int, index_units: int) -> None:
        """Create the table that has an index."""
        units = {"ReadCapacityUnits": READ_UNITS, "WriteCapacityUnits": write_units}
        index = {"ReadCapacityUnits": READ_UNITS, "WriteCapacityUnits": index_units}
        await self.call(
            "CreateTable",
            {
                "TableName": SHELVED,
                "KeySchema": _KEYS,
                "AttributeDefinitions": [*_TYPES, {"AttributeName": "shelf", "AttributeType": "S"}],
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": units,
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "by_shelf",
                        "KeySchema": [{"AttributeName": "shelf", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "KEYS_ONLY"},
                        "ProvisionedThroughput": index,
                    }
                ],
            },
        )

    async def provision(self, write_units: int, read_units: int = READ_UNITS) -> None:
        """Change the limits; they hold at once."""
        units = {"ReadCapacityUnits": read_units, "WriteCapacityUnits": write_units}
        for name in TABLES:
            await self.call("UpdateTable", {"TableName": name, "ProvisionedThroughput": units})

    async def fill(self, items: list[dict[str, Any]]) -> None:
        """Store items, in wire form, out of the burst."""
        for first in range(0, len(items), 25):
            left: Any = [{"PutRequest": {"Item": each}} for each in items[first : first + 25]]
            while left:
                try:
                    answer = await self.call("BatchWriteItem", {"RequestItems": {TABLES[0]: left}})
                except aiohttp.ClientResponseError:  # a partition takes 1,000 units a second
                    await asyncio.sleep(0.1)
                else:
                    left = answer["UnprocessedItems"].get(TABLES[0])

    async def begin(self) -> None:
        """Take what is left of the burst, and start to count."""
        await self.control("/spend")
        await self.control("/reset")

    async def stored(self) -> int:
        """Return how many items there are."""
        described = [await self.call("DescribeTable", {"TableName": name}) for name in TABLES]
        return sum(each["Table"]["ItemCount"] for each in described)


@asynccontextmanager
async def simulated(write_units: int, *, burst_seconds: float, latency_ms: float) -> AsyncIterator[Simulated]:
    """Start a server with fresh tables; end it afterwards."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(ENTRY),
        "simulated",
        f"--burst-seconds={burst_seconds}",
        f"--latency-ms={latency_ms}",
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        async with aiohttp.ClientSession() as http:
            table = Simulated(f"http://127.0.0.1:{port}", http)
            await table.create(write_units)
            yield table
    finally:
        process.terminate()
        await process.wait()
