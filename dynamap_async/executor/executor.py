"""The executor: how requests are carried out. It knows requests and answers, never models.

Invariant: while it is open it belongs to one event loop; when ``close`` returns, nothing that it started is running.
"""

import asyncio
import contextlib
from collections.abc import Callable
from contextvars import Context

import anyio

from dynamap_async.config import RetryPolicy
from dynamap_async.errors import ConnectionFailedError, SessionClosedError, SessionStateError
from dynamap_async.executor.pages import Pages
from dynamap_async.executor.retry import Sending, send_with_retries
from dynamap_async.request import Request
from dynamap_async.transport import Transport
from dynamap_async.wire import Body, WireItem, WireKey


class Executor:
    """Sends requests through a transport, with retries, and follows the pages of queries."""

    def __init__(self, transport: Transport, *, retry: RetryPolicy) -> None:
        self._transport = transport
        self._retry = retry
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._under_way: dict[Sending, anyio.CancelScope] = {}
        self._idle = asyncio.Event()
        self._prefetching: set[asyncio.Task[Body]] = set()
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Get ready to send, on the running event loop.

        Raises:
            SessionStateError: it was opened before, or the event loop is not asyncio's.
            ConfigurationError: the transport lacks something.
        """
        if self._loop is not None or self._closed:
            raise SessionStateError("the session was opened or closed before; make a new Session for each use")
        self._loop = _running_loop()
        try:
            await self._transport.open()
        except BaseException:
            self._closed = True
            with anyio.CancelScope(shield=True), contextlib.suppress(Exception):
                await self._transport.close()
            raise

    async def send(self, request: Request) -> Body:
        """Send a request and return its answer.

        Raises:
            SessionStateError: the session is not open, or belongs to another event loop.
            SessionClosedError: the session was closed before the answer of a read came.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came, or a write was given up when the session closed.
        """
        self.check_open()
        sending = Sending(request)
        scope = anyio.CancelScope()
        self._under_way[sending] = scope
        try:
            with scope:
                return await send_with_retries(self._transport.send, sending, self._retry)
        finally:
            del self._under_way[sending]
            if not self._under_way:
                self._idle.set()
        raise _given_up(sending)

    def pages(
        self,
        request: Callable[[WireKey | None, int | None], Request],
        position: Callable[[WireItem], WireKey],
        *,
        want: int | None,
        start: WireKey | None,
    ) -> Pages:
        """Return the pages of a query or scan; see ``Pages``."""
        self.check_open()
        return Pages(self.send, request, position, want=want, start=start, spawned=self._prefetching)

    def check_open(self) -> None:
        """Raise SessionStateError unless requests can be sent from here."""
        if self._closed:
            raise SessionClosedError("the session is closed; open a new one with `async with Session(...)`")
        if self._loop is None:
            raise SessionStateError("the session is not open; use it inside `async with Session(...) as session:`")
        self._check_loop()

    def _check_loop(self) -> None:
        if _running_loop() is not self._loop:
            raise SessionStateError(
                "the session was opened on another event loop; open one session per event loop (a new one per "
                "asyncio.run)"
            )

    async def close(self, timeout_seconds: float) -> None:
        """Refuse new requests, give up reads, let writes end, and release connections.

        Closing twice is no error; a second caller waits for the first.

        Args:
            timeout_seconds: how long writes may take; those still unanswered then fail, each to its own caller.

        Raises:
            SessionStateError: it was opened on another event loop.
        """
        if self._loop is None or (self._closed and self._closing is None):
            self._closed = True
            return
        self._check_loop()
        if self._closing is None:
            self._closed = True
            # A task of its own, so that no cancellation of whoever closes the session can leave it half closed.
            self._closing = self._loop.create_task(self._end(timeout_seconds), context=Context())
        await _to_its_end(self._closing)

    async def _end(self, timeout_seconds: float) -> None:
        try:
            for sending, scope in self._under_way.items():
                if not sending.request.writes:
                    scope.cancel()
            with anyio.move_on_after(timeout_seconds):
                await self._until_idle()
            for scope in self._under_way.values():
                scope.cancel()
            await self._until_idle()
            if self._prefetching:
                await asyncio.wait(tuple(self._prefetching))
        finally:
            await self._transport.close()

    async def _until_idle(self) -> None:
        if self._under_way:
            self._idle.clear()
            await self._idle.wait()


async def _to_its_end(task: asyncio.Task[None]) -> None:
    """Wait for a task whatever happens to the caller; its cancellation is passed on afterwards."""
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):  # against anyio's cancellation, which would be delivered again and again
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()


def _given_up(sending: Sending) -> SessionClosedError | ConnectionFailedError:
    """Return the error of a request that was cancelled because the session closed."""
    request = sending.request
    if not request.writes:
        return SessionClosedError(f"the session was closed while {request.operation} on {request.table} was under way")
    error = ConnectionFailedError(
        f"the session was closed before {request.operation} on {request.table} was answered ({sending.outcome.value}); "
        "close it after the last write, or raise close_timeout_seconds",
        outcome=sending.outcome,
        operation=request.operation,
        table=request.table,
    )
    error.attempts = sending.attempts
    return error


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise SessionStateError(
            "a session runs on asyncio (or uvloop): await it from a coroutine of an asyncio event loop, not from trio "
            "or plain code"
        ) from None
