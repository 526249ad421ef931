"""One connection to an endpoint, speaking HTTP/1.1. Knows no pool and no request of DynamoDB's.

Invariant: at most one exchange is under way, and whoever waits for it is told its end exactly once. A connection on
which anything came that nobody asked for is never used again. It has one timer, however many requests it carries.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import sys
from asyncio.trsock import TransportSocket
from collections.abc import Callable
from contextvars import Context
from functools import partial
from math import inf
from typing import Final, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from dynamap_async.transport.channel import Answer
from dynamap_async.transport.failures import AnswerTooLargeError, BrokenAnswerError, check_announced, check_size

PIECE_BYTES: Final = 2**16
"""What is written at one go; more waits until the peer has taken it."""
_HEAD_BYTES: Final = 2**16
"""Most of an answer that may come beside its body: headers, trailers, and what only announces it."""
_CHUNK_BYTES: Final = 16
"""What may come beside the body for each of its chunks."""


class Http1Connection(asyncio.BufferedProtocol):
    """Carries one exchange after the other over one transport.

    What comes is read into a buffer that all connections of a pool share: an event loop asks for it, fills it and says
    so without calling anybody else in between. asyncio would otherwise allocate 256 KB for each read, which can cost as
    much as all the rest of the exchange, by the state of the heap.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        buffer: memoryview,
        read_seconds: float,
        idle_seconds: float,
        idle: Callable[[Http1Connection], None],
        lost: Callable[[Http1Connection], None],
    ) -> None:
        """Create a connection that has no transport yet.

        Args:
            loop: the event loop that it belongs to.
            buffer: what comes is read into it, and taken out at once.
            read_seconds: how long nothing may come, while an answer is waited for.
            idle_seconds: how long it stays open without an exchange.
            idle: called when an exchange has ended and another can begin.
            lost: called once, when it has ended.
        """
        self._loop: Final = loop
        self._buffer: Final = buffer
        self._read_seconds: Final = read_seconds
        self._idle_seconds: Final = idle_seconds
        self._idle: Final = idle
        self._lost: Final = lost
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        """The future of the exchange under way; None between exchanges."""
        self._answer: Answer | None = None
        """The answer, once it is complete, until it is handed over."""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        """What came of the body in earlier reads, one piece for each."""
        self._body_bytes = 0
        self._beside_bytes = 0
        """How much came beside the body in earlier reads."""
        self._pieces: Final[list[bytes]] = []
        """What the parser found of the body in this read."""
        self._reusable = True
        self._writing = False
        """Whether part of a request is not written yet."""
        self._paused = False
        self._resumed: asyncio.Future[None] | None = None
        self._look: Callable[[], object] | None = None
        """Tells whether data has come that the event loop has not delivered yet."""
        self._news: Callable[[], object] | None = None
        """The same, from the first answer on: before, TLS has news of its own."""
        self._due = inf
        """When it ends, by the event loop's time, unless something comes before."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = inf
        self.on_body: Final = self._pieces.append  # what the parser calls with a piece of the body
        self._parser: Final = HttpResponseParser(self)

    # Called by the pool.

    def begin(self, head: bytes, body: bytes) -> asyncio.Future[Answer] | None:
        """Begin to send a request. Return its answer's future, or None: the connection has ended, nothing was sent.

        Args:
            head: its first line and its headers.
            body: the first of it is written here, the rest by ``write_rest``.
        """
        transport = self._transport
        assert transport is not None  # noqa: S101 - the pool knows none that is not made
        # What came while the event loop was busy is the connection's end, or what nobody asked for: a server may say
        # that it waited for too long. It would be read as the answer to this request.
        if transport.is_closing() or (self._news is not None and self._news()):
            transport.abort()
            return None
        due = self._loop.time() + self._read_seconds
        transport.write(head + body if len(body) <= PIECE_BYTES else head + body[:PIECE_BYTES])
        if transport.is_closing():  # the system took nothing of it
            return None
        self._due = due
        if due < self._timer_due:
            self._set_timer()
        waiter = self._waiter = self._loop.create_future()
        return waiter

    def rest(self) -> None:
        """Wait for the next request, at most for the idle time."""
        self._news = self._look
        self._due = due = self._loop.time() + self._idle_seconds
        if due < self._timer_due:
            self._set_timer()
        self._idle(self)

    async def write_rest(self, body: bytes, waiter: asyncio.Future[Answer]) -> None:
        """Write the rest of a body, no faster than the peer takes it. An answer that comes meanwhile ends this.

        Args:
            body: the whole of it.
            waiter: what ``begin`` returned.
        """
        transport, rest = self._transport, memoryview(body)
        assert transport is not None  # noqa: S101 - begin wrote to it
        self._writing = True
        for at in range(PIECE_BYTES, len(body), PIECE_BYTES):
            while self._paused and self._waiter is waiter:
                self._resumed = self._loop.create_future()
                await self._resumed
            if self._waiter is not waiter:
                return
            transport.write(rest[at : at + PIECE_BYTES])
            self._due = self._loop.time() + self._read_seconds
        self._writing = False

    def give_up(self, waiter: asyncio.Future[Answer]) -> None:
        """End an exchange that nobody waits for any more, and the connection with it, unless it has ended."""
        if self._waiter is waiter:
            self._waiter = None
            self._abort()

    def close(self) -> None:
        """End the connection at once. Whoever waits for an answer gets an error."""
        self._fail(ConnectionAbortedError("the connection was closed here"))

    def close_from_anywhere(self) -> None:
        """End the connection soon, from any thread, and whether or not its event loop runs."""
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self.close)

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one, but not by inheritance
        self._look = _look_at(transport.get_extra_info("socket"))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer to read into."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse what was read, and end the exchange if the answer is complete."""
        if self._waiter is None:
            self._abort()  # nobody asked for it, or nobody waits for it any more
            return
        try:
            self._parser.feed_data(self._buffer[:nbytes])
        except (HttpParserError, HttpParserUpgrade) as error:
            self._reusable = False
            if self._answer is None:
                self._fail(BrokenAnswerError(f"it is not HTTP/1.1: {error}"))
                return
        if self._answer is None:
            self._await_more(nbytes)
        else:
            self._end(self._answer)

    def eof_received(self) -> None:
        """Let the transport close itself: a server that sends no more will not answer."""

    def pause_writing(self) -> None:
        """Stop writing until the peer has taken more."""
        self._paused = True

    def resume_writing(self) -> None:
        """Let ``write_rest`` go on."""
        self._paused = False
        self._write_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange under way, and tell the pool."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiter is not None:
            self._end_with(exc)
        self._lost(self)

    # Called by the parser.

    def on_message_begin(self) -> None:
        """Do not use the connection again if a second answer begins: nobody asked for it."""
        if self._answer is not None:
            self._reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header under its name in lower case. Spaces behind the value do not belong to it."""
        self._headers[name.decode("latin-1").lower()] = value.rstrip().decode("latin-1")

    def on_message_complete(self) -> None:
        """Put the answer together. Ignore interim answers, such as ``100 Continue``, and any after the first."""
        status, headers, pieces = self._parser.get_status_code(), self._headers, self._pieces
        self._headers = {}
        if 100 <= status < 200 or self._answer is not None:
            return
        body = pieces[0] if len(pieces) == 1 and not self._body else b"".join(self._body + pieces)
        self._answer = Answer(status, headers, body)
        pieces.clear()
        self._body, self._body_bytes, self._beside_bytes = [], 0, 0
        if not self._parser.should_keep_alive():
            self._reusable = False

    # How an exchange ends.

    def _end(self, answer: Answer) -> None:
        waiter, self._waiter, self._answer = self._waiter, None, None
        assert waiter is not None  # noqa: S101 - nothing is read while nobody waits
        if not waiter.done():  # not cancelled, in this turn; it is told before anything that can fail
            try:
                if len(answer.body) > PIECE_BYTES:
                    check_size(len(answer.body))
            except AnswerTooLargeError as error:
                waiter.set_exception(error)
            else:
                waiter.set_result(answer)
        if not self._reusable or self._writing:  # an answer to half of a request: the other half would follow it
            self._abort()
            self._write_on()
            return
        self.rest()

    def _fail(self, error: Exception) -> None:
        waiter, self._waiter = self._waiter, None
        self._abort()
        self._write_on()
        if waiter is not None and not waiter.done():
            waiter.set_exception(error)

    def _end_with(self, error: Exception | None) -> None:
        """End an exchange whose connection has ended, as it does after an answer that does not say its length."""
        headers = self._headers
        if error is None and self._body and "content-length" not in headers and "transfer-encoding" not in headers:
            self._reusable = False
            self._end(Answer(self._parser.get_status_code(), headers, b"".join(self._body)))
        elif self._body:
            self._fail(BrokenAnswerError("it ends before it is whole"))
        else:
            closed = ConnectionResetError("the server closed the connection")
            closed.__cause__ = error
            self._fail(error if isinstance(error, OSError) else closed)

    def _await_more(self, size: int) -> None:
        """Wait for the rest of an answer, unless it is too large already.

        Each read is looked at once, and what it had of the body becomes one piece: chunks can be of one byte each.
        """
        self._due = self._loop.time() + self._read_seconds
        if pieces := self._pieces:
            piece = b"".join(pieces)
            self._body.append(piece)
            self._body_bytes += len(piece)
            size -= len(piece) + _CHUNK_BYTES * len(pieces)
            pieces.clear()
        if size > 0:
            self._beside_bytes += size
        try:
            check_size(self._body_bytes)
            check_announced(self._headers.get("content-length", "0"))
        except AnswerTooLargeError as error:
            self._fail(error)
        else:
            if self._beside_bytes > _HEAD_BYTES:
                self._fail(BrokenAnswerError(f"its headers and trailers are longer than {_HEAD_BYTES:,} bytes"))

    def _write_on(self) -> None:
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # When the connection ends by itself.

    def _set_timer(self) -> None:
        """Schedule the call of ``_on_time`` for when the connection is due."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = self._due
        # In a context of its own: that of whoever sends now ends before the connection does.
        self._timer = self._loop.call_at(self._due, self._on_time, context=Context())

    def _on_time(self) -> None:
        self._timer, due, self._timer_due = None, self._timer_due, inf
        if self._due == inf:
            return
        if self._due > due:  # not by the clock: the event loop calls what is due a little too early
            self._set_timer()
        else:
            self._fail(TimeoutError(f"nothing came for {self._read_seconds:g} s"))


def _look_at(socket: TransportSocket) -> Callable[[], object]:
    """Return a function that tells whether data has come that the event loop has not delivered yet."""
    if sys.platform == "win32":
        return lambda: select.select([socket], [], [], 0)[0]
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN)
    return partial(poll.poll, 0)
