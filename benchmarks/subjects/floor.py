"""The floor: aiohttp sends bodies that were made beforehand, and orjson parses the answers."""

from typing import Any

import aiohttp
import orjson

from benchmarks.subjects.prepared import Prepared
from benchmarks.subjects.subject import CannotError


class Floor(Prepared):
    """No library but aiohttp's client."""

    label = "aiohttp floor"
    distributions = ("aiohttp", "orjson", "pydantic")

    async def open(self, endpoint: str | None) -> None:
        """Open an aiohttp session with as many connections as the others have."""
        if endpoint is None:
            raise CannotError("has no configuration")
        self._url = endpoint
        self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=64), auto_decompress=False)

    async def open_found(self, endpoint: str) -> None:
        raise CannotError("signs nothing")

    async def close(self) -> None:
        await self._http.close()

    async def _send(self, operation: str, body: bytes) -> Any:
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        async with self._http.post(self._url, data=body, headers=headers) as response:
            return orjson.loads(await response.read())
