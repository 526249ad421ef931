"""The simulated table, seen by who judges: started, set, and asked what arrived."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.acceptance.items import TABLES

ENTRY = Path(__file__).parents[1] / "__main__.py"
READ_UNITS = 3000


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
                    "KeySchema": [
                        {"AttributeName": "user_id", "KeyType": "HASH"},
                        {"AttributeName": "posted_at", "KeyType": "RANGE"},
                    ],
                    "AttributeDefinitions": [
                        {"AttributeName": "user_id", "AttributeType": "S"},
                        {"AttributeName": "posted_at", "AttributeType": "S"},
                    ],
                    "BillingMode": "PROVISIONED",
                    "ProvisionedThroughput": {"ReadCapacityUnits": READ_UNITS, "WriteCapacityUnits": write_units},
                },
            )

    async def provision(self, write_units: int) -> None:
        """Change the limit; it holds at once."""
        units = {"ReadCapacityUnits": READ_UNITS, "WriteCapacityUnits": write_units}
        for name in TABLES:
            await self.call("UpdateTable", {"TableName": name, "ProvisionedThroughput": units})

    async def begin(self) -> None:
        """Take what is left of the burst, and count from now on."""
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
