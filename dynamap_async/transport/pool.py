"""The connections of a session to its endpoint, of our own: kept open, one for each exchange that is under way.

Invariant: there are never more than the pool has room for, those included that are being made. Each is either idle, or
has one exchange, or is being made. In a session nobody waits here: the executor has as many slots as the pool has room,
and a connection is idle again before the slot of its exchange is. When ``close`` returns, none is left, unless an event
loop does not say that one has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections import deque
from contextvars import Context
from functools import partial
from math import inf
from typing import Any, Final
from weakref import ReferenceType, ref

import aiohappyeyeballs

from dynamap_async.transport.channel import Answer, connect_seconds
from dynamap_async.transport.credentials import SharedCall
from dynamap_async.transport.failures import AnswerTooLargeError, BrokenAnswerError, NotConnectedError
from dynamap_async.transport.http1 import PIECE_BYTES, Http1Connection
from dynamap_async.transport.settings import ConnectionSettings
from dynamap_async.turns import new_task

_KEPT_SECONDS: Final = 12.0
"""How long a connection stays open without a request, unless the settings say otherwise."""

_CLOSING_SECONDS: Final = 1.0
"""How long closing waits for the event loop to end connections, which takes it a few turns."""

_BUFFER_BYTES: Final = 2**18
"""Most that is read at one go."""

_happy_eyeballs: Any = aiohappyeyeballs  # partly unannotated
_NEXT_AFTER_SECONDS: Final = 0.25
"""How long an address has before the next is tried beside it."""

_Address = tuple[Any, Any, int, str, Any]
"""As ``getaddrinfo`` gives it."""


logger: logging.Logger = logging.getLogger("dynamap_async")


class Pool:
    """Sends requests over connections of its own.

    Args:
        settings: endpoint, pool size, timeouts and TLS.
        longest_connect_seconds: how long connecting may take at most, whatever the settings say.
    """

    name = "connections of its own"
    errors: tuple[type[BaseException], ...] = (NotConnectedError, BrokenAnswerError, AnswerTooLargeError, OSError)

    def __init__(self, settings: ConnectionSettings, longest_connect_seconds: float) -> None:
        config, endpoint = settings.config, settings.endpoint
        self._addresses: Final = Addresses(endpoint.name, endpoint.port)
        self._tls = settings.tls
        self._wider_tls = settings.wider_tls
        self._widening: Final = SharedCall[ssl.SSLContext]()
        self._server_name: Final = endpoint.name.removesuffix(".") if endpoint.encrypted else None
        self._connect_seconds: Final = connect_seconds(config, longest_connect_seconds)
        self._read_seconds: Final = _seconds(config.read_timeout)
        self._idle_seconds: Final = _seconds(config.connector_args.get("keepalive_timeout", _KEPT_SECONDS))
        self._most: Final[int] = config.max_pool_connections
        lines = "\r\n".join(map(": ".join, settings.headers.items()))
        self._head: Final = f"POST {endpoint.target} HTTP/1.1\r\n{lines}\r\n"
        self._buffer: Final = memoryview(bytearray(_BUFFER_BYTES))
        self._idle: Final[list[Http1Connection]] = []
        """Those that can be used, the last one that was used at the end."""
        self._open: Final[set[Http1Connection]] = set()
        self._waiting: Final[deque[asyncio.Future[None]]] = deque()
        self._closed = False

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Send once and return the answer, whatever its status."""
        lines = "\r\n".join(map(": ".join, headers.items()))
        head = f"{self._head}{lines}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        while True:  # an idle connection may turn out to have ended: then nothing was sent, and the next one is tried
            new = not self._idle
            # The one that was used last, so that those which are not needed reach the end of their idle time.
            connection = await self._another() if new else self._idle.pop()
            if (waiter := connection.begin(head, body)) is not None:
                break
            if new:
                raise NotConnectedError from ConnectionResetError("the server closed it as soon as it was made")
        try:
            if len(body) > PIECE_BYTES:
                await connection.write_rest(body, waiter)
            return await waiter
        except asyncio.CancelledError:
            connection.give_up(waiter)  # its answer would be taken for that to the next request
            raise
        finally:
            if self._waiting:
                self._wake()

    async def connect(self, number: int) -> None:
        """Make connections before there is anything to send.

        If that fails, the log tells it, and the next one is made for the first request that needs it.

        Args:
            number: how many, at most the size of the pool.
        """

        async def make_one() -> Exception | None:
            try:
                (await self._another()).rest()
            except Exception as error:  # noqa: BLE001 - told below, once for all
                return error
            return None

        making = [new_task(make_one()) for _ in range(min(number, self._most))]
        try:
            await asyncio.wait(making)
        finally:
            for each in making:
                each.cancel()
        failures = [error for each in making if (error := each.result()) is not None]
        for error in failures:
            if not isinstance(error, NotConnectedError):
                raise error
        if failures:
            why = failures[0].__cause__
            logger.warning("%d of min_connections=%d were not made: %r", len(failures), number, why)

    async def close(self) -> None:
        """Close all connections, and wait for a second at most until they are closed."""
        self._closed = True
        for connection in [*self._open]:
            connection.close()  # one that is being made closes when it is
        await self._addresses.close()
        await self._widening.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                while self._open:
                    await self._turn()

    async def _another(self) -> Http1Connection:
        """Return a connection that has become idle, or a new one as soon as there is room for it."""
        while len(self._open) >= self._most and not self._idle:
            await self._turn()
        if self._idle:
            return self._idle.pop()
        loop = asyncio.get_running_loop()
        connection = Http1Connection(
            loop,
            buffer=self._buffer,
            read_seconds=self._read_seconds,
            idle_seconds=self._idle_seconds,
            idle=self._idle.append,
            lost=partial(_forget, ref(self)),  # not the pool itself, which the event loop would keep with them
        )
        self._open.add(connection)
        tried = self._tls
        try:
            # In an empty context: what the event loop calls for the connection would keep that of whoever sends now.
            await new_task(self._connect(connection), Context())
        except BaseException as error:
            # Here and not in the task, which may be cancelled before its first step, or when it has just succeeded. It
            # is forgotten at once: uvloop tells of no end where it ends itself what was just made.
            connection.close()
            self._forget(connection)
            if isinstance(error, ssl.SSLCertVerificationError) and await self._widened(tried):
                return await self._another()
            if isinstance(error, (OSError, UnicodeError)):
                raise NotConnectedError from error
            raise
        return connection

    async def _widened(self, tried: ssl.SSLContext | None) -> bool:
        """Trust more authorities than those that a connection was tried with; return whether there are more."""
        if self._tls is tried and self._wider_tls is not None:
            self._tls = await self._widening.run(partial(asyncio.to_thread, self._wider_tls))
            self._wider_tls = None
        return self._tls is not tried

    async def _connect(self, connection: Http1Connection) -> None:
        async with asyncio.timeout(None if self._connect_seconds == inf else self._connect_seconds):
            connected = await self._addresses.connect()
            try:
                await asyncio.get_running_loop().create_connection(
                    lambda: connection, sock=connected, ssl=self._tls, server_hostname=self._server_name
                )
            except BaseException:
                connection.close()  # in this turn: uvloop would go on with TLS, and log that the socket is closed
                raise
        if self._closed:
            connection.close()

    def __del__(self) -> None:
        for connection in self._open:
            connection.close_from_anywhere()

    def _forget(self, connection: Http1Connection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._wake()

    async def _turn(self) -> None:
        """Wait until a connection is idle, or has ended."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._wake()  # it came at the same time, and is somebody else's now
            raise

    def _wake(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


def _forget(pool: ReferenceType[Pool], connection: Http1Connection) -> None:
    if (kept := pool()) is not None:
        kept._forget(connection)  # noqa: SLF001 - its own method


def _seconds(configured: float | None) -> float:
    """Return a time of the settings as a number; None stands for one without end."""
    return inf if configured is None else configured


class Addresses:
    """The addresses of one host and port, looked up for each new connection and tried as "happy eyeballs" prescribes.

    Source: https://www.rfc-editor.org/rfc/rfc8305
    """

    def __init__(self, name: str, port: int) -> None:
        """Store the name; nothing is looked up yet.

        Args:
            name: the host's name or address.
            port: the port to connect to.
        """
        self._name: Final = name
        self._port: Final = port
        self._looking: Final = SharedCall[list[_Address]]()

    async def connect(self) -> socket.socket:
        """Return a socket that is connected to the first address that answers.

        Raises:
            OSError: the name is not known, or none of its addresses answered.
        """
        try:
            found: list[_Address] = socket.getaddrinfo(
                self._name, self._port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
            )
        except socket.gaierror:  # it is a name
            found = await self._looking.run(self._look_up)
        try:
            connected: socket.socket = await _happy_eyeballs.start_connection(
                found, happy_eyeballs_delay=_NEXT_AFTER_SECONDS, interleave=1
            )
        except RuntimeError as error:  # uvloop's, for addresses that it cannot connect to
            raise OSError(str(error)) from error
        return connected

    async def close(self) -> None:
        """Cancel a look-up that is under way."""
        await self._looking.close()

    async def _look_up(self) -> list[_Address]:
        loop = asyncio.get_running_loop()
        return await loop.getaddrinfo(self._name, self._port, type=socket.SOCK_STREAM)
