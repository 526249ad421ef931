"""The lean floor: a bare asyncio protocol with httptools' parser in place of an HTTP client. Little can cost less."""

import asyncio
import ssl
from collections import deque
from typing import Any
from urllib.parse import urlsplit

import orjson

from benchmarks.connection import Connection
from benchmarks.subjects.prepared import Prepared
from benchmarks.subjects.subject import CannotError

_HEAD = (
    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Amz-Target: DynamoDB_20120810.%s\r\n"
    "Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n"
)


class Lean(Prepared):
    """No library, and no HTTP client either."""

    label = "lean floor"
    distributions = ("httptools", "orjson", "pydantic")

    async def open(self, endpoint: str | None) -> None:
        """Remember where to connect; as many connections as the others have are made when they are needed."""
        if endpoint is None:
            raise CannotError("has no configuration")
        parts = urlsplit(endpoint)
        self._place = (parts.hostname, parts.port)
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._opened: list[Connection] = []
        self._free: list[Connection] = []
        self._waiting: deque[asyncio.Future[Connection]] = deque()
        self._left = 64

    async def open_found(self, endpoint: str) -> None:
        raise CannotError("signs nothing")

    async def close(self) -> None:
        for connection in self._opened:
            connection.close()
        await asyncio.sleep(0)

    async def _connection(self) -> Connection:
        if self._free:
            return self._free.pop()
        if not self._left:
            waiter: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            return await waiter
        self._left -= 1
        _, connection = await asyncio.get_running_loop().create_connection(Connection, *self._place, ssl=self._tls)
        self._opened.append(connection)
        return connection

    async def _send(self, operation: str, body: bytes) -> Any:
        connection = await self._connection()
        answer = await connection.send((_HEAD % (operation, len(body))).encode(), body)
        if self._waiting:
            self._waiting.popleft().set_result(connection)
        else:
            self._free.append(connection)
        return orjson.loads(answer)
