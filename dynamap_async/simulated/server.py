"""The simulated service over HTTP, for other programs and other clients.

Invariant: the thread and its event loop end with ``close``; until then each connection answers its requests in order.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING, Final
from uuid import uuid4
from zlib import crc32

import httptools

from dynamap_async.limits import ANSWER_BYTES
from dynamap_async.simulated.errors import Refused
from dynamap_async.simulated.wire import write

if TYPE_CHECKING:
    from dynamap_async.simulated.operations import SimulatedDynamoDB

_REASONS: Final = {200: b"OK", 400: b"Bad Request", 404: b"Not Found", 413: b"Content Too Large", 500: b"Error"}


class Server:
    """Answers requests on a socket from a thread and a loop of its own, so that blocking clients are answered too.

    Args:
        service: what answers.
        listening: the socket, which listens already.
    """

    def __init__(self, service: SimulatedDynamoDB, listening: socket.socket) -> None:
        self._service = service
        self._listening = listening
        self._connections: set[asyncio.Transport] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="simulated DynamoDB", daemon=True)
        self.port: int = listening.getsockname()[1]
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        """Close all connections and end the thread."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            # Asyncio's own loop, whichever the program under test has chosen.
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._serve())
        finally:
            self._listening.close()
            self._ready.set()

    async def _serve(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Connection(self._service, self._connections), sock=self._listening)
        self._ready.set()
        await self._stopping.wait()
        # Of connections that were just accepted. A server that is closed before they are made forgets them.
        while being_made := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(being_made)
        server.close()
        for connection in list(self._connections):
            connection.abort()
        await asyncio.sleep(0)  # in which they are closed


class _Connection(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, service: SimulatedDynamoDB, connections: set[asyncio.Transport]) -> None:
        self._service = service
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._body: list[bytes] = []
        self._size = 0
        self._target = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection, so that the server can close it."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio's sockets are
        self._transport = transport
        self._connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        """Read what has come."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.abort()

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._body, self._size, self._target = [], 0, ""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the operation."""
        if name.lower() == b"x-amz-target":
            self._target = value.decode("latin-1")
        elif name.lower() == b"expect":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body."""
        self._size += len(body)
        if self._size <= ANSWER_BYTES:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """Answer the request."""
        operation = self._target.rpartition(".")[2]
        if self._size > ANSWER_BYTES:
            status, answer = 413, write(Refused("SerializationException", "Request is too large").answer())
        elif not operation:
            status, answer = 400, write(Refused("UnknownOperationException", "There is no X-Amz-Target").answer())
        else:
            status, answer = self._service.execute(operation, b"".join(self._body))
        keeps = self._parser.should_keep_alive()
        self._transport.write(
            b"HTTP/1.1 %d %s\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n"
            b"x-amz-crc32: %d\r\nx-amzn-RequestId: %s\r\nConnection: %s\r\n\r\n%s"
            % (
                status,
                _REASONS[status],
                len(answer),
                crc32(answer),
                uuid4().hex.upper().encode(),
                b"keep-alive" if keeps else b"close",
                answer,
            )
        )
        if not keeps:
            self._transport.close()
