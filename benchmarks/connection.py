"""A bare HTTP connection: the lean floor, and what puts load on services. Little can cost less."""

import asyncio
from typing import Any

import httptools


class RefusedError(Exception):
    """The answer has another status than 200."""


class Connection(asyncio.Protocol):
    """One connection, on which one request at a time waits for its answer. No limits, no timeouts, no retries."""

    def __init__(self) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = transport

    def send(self, head: bytes, body: bytes) -> asyncio.Future[bytes]:
        """Send a request, and return what will be the body of its answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(head + body)
        return self._answer

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """Store a piece; httptools calls this."""
        self._body.append(body)

    def on_message_complete(self) -> None:
        """Return the body to the request; httptools calls this."""
        body, self._body = b"".join(self._body), []
        assert self._answer is not None
        if (status := self._parser.get_status_code()) == 200:
            self._answer.set_result(body)
        else:
            self._answer.set_exception(RefusedError(f"status {status}: {body[:200]!r}"))

    def connection_lost(self, error: Exception | None) -> None:
        """Fail the request that waits."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionError("closed"))

    def close(self) -> None:
        """Close it."""
        self._transport.close()
