"""The flow of a call for many items: requests go out in full batches, a bounded number of them at a time.

Invariant: whatever was added is in exactly one place: prepared, outstanding, or answered through ``done``. Nothing is
submitted in the middle of a batch only because this code gave way to other tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar, cast

from dynamap_async.errors import DynamapError
from dynamap_async.executor import Account, Executor, deadline_now
from dynamap_async.stored.parts import BulkChunk, ChunkPart, ItemRequest, Origin
from dynamap_async.turns import SLICE_SECONDS, next_turn
from dynamap_async.wire import Body

OperationT = TypeVar("OperationT")
T = TypeVar("T")

_OUTSTANDING: Final = 6_400
_OUTSTANDING_BYTES: Final = 32 * 2**20
_PACED_CALLS: Final = 2
"""How many calls' worth of requests are prepared ahead where they wait for units: more of them would be sent no sooner,
and thousands keep the garbage collector at work, which stops the loop (benchmarks/acceptance, question "beside")."""
_PACED_SLICE_SECONDS: Final = 0.0005
"""Where requests wait for units, there is time enough; what is more urgent must not wait for the event loop instead."""


Done = Callable[[ItemRequest[OperationT], asyncio.Future[Body]], None]

DoneChunk = Callable[[Any, asyncio.Future[Body]], None]

LeftOver = Callable[[Sequence[ItemRequest[OperationT]]], None]


class Flow(Generic[OperationT]):
    """The requests of a call for many items that are on their way, bounded in number and size.

    Args:
        executor: carries the requests out.
        together: how many requests share a call.
        done: called with each request and its settled future, in the order of the answers; not for cancelled ones.
        done_chunk: the same, called with chunks that were answered, or given up, as a whole.
        left_over: called with what the answer to a chunk has left over, on a table that is held to a rate, where a
            call of a few costs nearly as much as a full one; the flow forgets these. None to have them sent again.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        together: int,
        done: Done[OperationT],
        done_chunk: DoneChunk = lambda chunk, future: None,
        left_over: LeftOver[OperationT] | None = None,
    ) -> None:
        self.executor: Final = executor
        self.together: Final = together
        self._done = done
        self._done_chunk = done_chunk
        self._left_over = left_over
        self._paced: Final = _PACED_CALLS * together
        self._prepared: list[ItemRequest[OperationT] | ChunkPart] = []
        self._origins: list[Origin] = []
        """The origin of each that is prepared."""
        self._outstanding: dict[asyncio.Future[Body], ItemRequest[OperationT]] = {}
        self._chunks: dict[BulkChunk, asyncio.Future[Body]] = {}
        self._in_chunks = 0
        self._table: str | None = None
        """The table of what was submitted last."""
        self._alone = False
        """Whether that was a request by itself, not in a chunk."""
        self._bytes = 0
        self._held = 0
        self._since = time.perf_counter()
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def unanswered(self) -> int:
        """How many requests are prepared or outstanding."""
        return len(self._prepared) + len(self._outstanding) + self._in_chunks

    @property
    def prepared(self) -> int:
        """How many requests wait for others to fill a call."""
        return len(self._prepared)

    @property
    def full(self) -> bool:
        """Whether the next request has to wait for room."""
        if self._bytes >= _OUTSTANDING_BYTES:
            return True
        if self._prepared:  # there was room for the call that it will be a part of
            return False
        unanswered = self.unanswered
        return unanswered >= _OUTSTANDING or (unanswered >= self._paced and self.executor.held_up >= self._paced)

    @property
    def paces(self) -> bool:
        """Whether it is time to let other tasks run: 2 ms have passed since they last did; 0.5 where requests wait."""
        seconds = time.perf_counter() - self._since
        return seconds > SLICE_SECONDS or (seconds > _PACED_SLICE_SECONDS and self._waits)

    @property
    def _waits(self) -> bool:
        """Whether what is submitted now has to wait for units."""
        return self._table is not None and self.executor.is_waited_for(self._table)

    async def pace(self) -> None:
        """Pause for other tasks if it is time."""
        if self.paces:
            await self.hold(next_turn())

    async def room(self) -> None:
        """Wait until another request may be added."""
        while self.full:
            if not self._outstanding and not self._chunks:
                self.flush()
            await self.change()

    async def change(self) -> None:
        """Wait until something is answered or given up."""
        self._changed.clear()
        await self.hold(self._changed.wait())

    async def hold(self, pause: Awaitable[T]) -> T:
        """Pause without taking it for a pause of the source, so that what is prepared can still grow."""
        self._held += 1
        try:
            return await pause
        finally:
            self._held -= 1
            self._since = time.perf_counter()
            if self._prepared:
                self._flush_soon()

    async def finish(self) -> None:
        """Wait until everything is answered."""
        self.flush()
        while self.unanswered:
            await self.change()

    def add(self, asked: ItemRequest[OperationT]) -> None:
        """Add a request. It is sent with others when they fill a call, or when the source of requests pauses."""
        self.add_part(asked, self.origin())

    def add_part(self, part: ItemRequest[OperationT] | ChunkPart, origin: Origin) -> None:
        """Add a request, or what may go in a chunk, on behalf of a task; see ``origin``."""
        prepared = self._prepared
        prepared.append(part)
        self._origins.append(origin)
        self._bytes += part.json_bytes
        if len(prepared) >= self.together or (self._alone and self._waits):  # it need not fill a call to wait
            self.flush()
        elif len(prepared) == 1:
            self._flush_soon()

    def origin(self) -> Origin:
        """Return the deadline and the scope of the current task."""
        return deadline_now(), self.executor.ledger.payer()

    def follow(self, asked: ItemRequest[OperationT], result: asyncio.Future[Any]) -> None:
        """Add what is carried out elsewhere: it is waited for, and given up, with the rest."""
        self._outstanding[result] = asked
        result.add_done_callback(self._settled)

    def _flush_soon(self) -> None:
        self._loop.call_soon(self._flush_when_source_pauses)

    def _flush_when_source_pauses(self) -> None:
        if not self._held:
            self.flush()

    def flush(self) -> None:
        """Submit what is prepared."""
        prepared, self._prepared = self._prepared, []
        origins, self._origins = self._origins, []
        if len(prepared) == self.together > 1 and self._flush_chunk(prepared, origins):
            return
        for part, (deadline, payer) in zip(prepared, origins, strict=True):
            asked: ItemRequest[OperationT] = part.asked() if isinstance(part, ChunkPart) else part
            self._table, self._alone = asked.request.table, True
            try:
                future = self.executor.submit(asked.request, deadline, payer)
            except DynamapError as error:  # the session was closed meanwhile: that is this request's own error
                future = self._loop.create_future()
                future.set_exception(error)
            self._outstanding[future] = asked
            future.add_done_callback(self._settled)

    def _flush_chunk(self, prepared: Sequence[ItemRequest[OperationT] | ChunkPart], origins: list[Origin]) -> bool:
        """Submit what is prepared as a chunk; return False if it makes none."""
        first, origin = prepared[0], origins[0]
        if not isinstance(first, ChunkPart) or origins.count(origin) < len(origins):
            return False
        if len({part.group for part in prepared}) > 1:
            return False
        parts = cast("Sequence[ChunkPart]", prepared)  # a request of its own has another group
        if len({part.identity for part in parts}) < len(parts):
            return False
        return self.add_chunk(first.chunk(parts), *origin)

    def add_chunk(self, chunk: BulkChunk, deadline: float, payer: Account | None) -> bool:
        """Submit a chunk; return False if its requests have to be added one by one.

        Args:
            chunk: what to send.
            deadline: the event loop's time after which nobody waits.
            payer: who pays for it.
        """
        try:
            future = self.executor.submit_chunk(chunk, deadline, payer, partial(self._taken_apart, chunk))
        except DynamapError as error:  # the session was closed meanwhile
            future = self._loop.create_future()
            future.set_exception(error)
        if future is None:
            return False
        self._table, self._alone = chunk.asked.table, False
        self._chunks[chunk] = future
        self._in_chunks += chunk.size
        future.add_done_callback(partial(self._chunk_settled, chunk))
        return True

    def _taken_apart(self, chunk: BulkChunk, futures: Sequence[asyncio.Future[Body]]) -> None:
        del self._chunks[chunk]
        self._in_chunks -= chunk.size
        for asked, future in zip(chunk.singles, futures, strict=True):
            self._outstanding[future] = asked
            future.add_done_callback(self._settled)
        if self._left_over is not None:
            # Whoever takes it apart answers those that are done, and then gives way.
            self._loop.call_soon(self._give_back, self._left_over, chunk, futures)

    def _give_back(self, take: LeftOver[OperationT], chunk: BulkChunk, futures: Sequence[asyncio.Future[Body]]) -> None:
        """Return to the caller what an answer left over; where nothing was done, it waits out its backoff."""
        done = [each for each in futures if each.done() and not each.cancelled() and each.exception() is None]
        if done and self.executor.is_paced(chunk.asked.table):
            take([asked for asked, future in zip(chunk.singles, futures, strict=True) if future.cancel()])

    def _chunk_settled(self, chunk: BulkChunk, future: asyncio.Future[Body]) -> None:
        del self._chunks[chunk]
        self._in_chunks -= chunk.size
        self._bytes -= chunk.json_bytes
        self._changed.set()
        if not future.cancelled():
            future.exception()  # looked at, or asyncio would report it as lost
            self._done_chunk(chunk, future)

    def _settled(self, future: asyncio.Future[Body]) -> None:
        asked = self._outstanding.pop(future)
        self._bytes -= asked.json_bytes
        self._changed.set()
        if not future.cancelled():
            future.exception()  # looked at, or asyncio would report it as lost
            self._done(asked, future)

    def withdraw(self) -> None:
        """Cancel what was never sent; what was sent stays outstanding until it is answered."""
        self._drop_prepared()
        self.executor.withdraw({*self._outstanding, *self._chunks.values()})

    def cancel(self) -> None:
        """Cancel everything: what was not sent is withdrawn, what was sent ends unobserved."""
        self._drop_prepared()
        for future in (*self._outstanding, *self._chunks.values()):
            future.cancel()

    def cancel_from_anywhere(self) -> None:
        """Cancel everything from a destructor: in any thread, and after the event loop's end."""
        if not self.unanswered:
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is under way any more
            self._loop.call_soon_threadsafe(self.cancel)

    def _drop_prepared(self) -> None:
        self._bytes -= sum(part.json_bytes for part in self._prepared)
        self._prepared, self._origins = [], []
