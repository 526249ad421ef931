"""The executor: how requests are carried out. It knows requests and answers, never models.

Invariant: while it is open it belongs to one event loop; when ``close`` returns, nothing that it started is running. A
slot is held for one exchange, never while waiting. Whoever is interrupted because the session closes gets an error, and
its task goes on uncancelled, like one whose ``asyncio.timeout`` is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import warnings
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.config import BatchPolicy, CapacityPolicy, RetryPolicy
from dynamap_async.errors import SessionClosedError, SessionStateError
from dynamap_async.events import Event, Observer
from dynamap_async.executor.accounts import Account
from dynamap_async.executor.admission import Admission, Declared
from dynamap_async.executor.anyio_scopes import deadline_source, shielded
from dynamap_async.executor.attempts import Attempts
from dynamap_async.executor.batches import ReadRules, Rules, WriteRules
from dynamap_async.executor.calls import Apart, Chunk, Measure, json_size
from dynamap_async.executor.consumed import metered
from dynamap_async.executor.lanes import Lane
from dynamap_async.executor.ledger import Ledger, Observers
from dynamap_async.executor.retry import Retries, attempts_in_turn
from dynamap_async.executor.slots import Slots
from dynamap_async.request import AnswerFilter, Positions, Request
from dynamap_async.statistics import Statistics
from dynamap_async.transport import Transport
from dynamap_async.turns import new_task
from dynamap_async.wire import Body, WireItem, WireKey

if TYPE_CHECKING:
    from dynamap_async.executor.pages import (
        MergedPages,
        Missing,
        PagedRead,
        Pages,
        SegmentPages,
        SeparateReads,
        SortedReads,
    )


class Executor:
    """Carries requests out: those of single items together, in batches; others one by one; queries page by page."""

    def __init__(
        self,
        transport: Transport,
        *,
        retry: RetryPolicy,
        batching: BatchPolicy,
        observer: Observer | Sequence[Observer] = (),
        measure: Measure = json_size,
        capacity: CapacityPolicy | None = None,
        declared: Declared = lambda _: {},
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._transport: Final = transport
        observers, policy = Observers(observer), capacity or CapacityPolicy()
        metering, collections = metered, None
        if policy.large_collections and observers:
            from dynamap_async.executor.item_collections import ItemCollections, measured  # few sessions want them

            metering, collections = measured, ItemCollections()
        self._admission: Final = Admission(
            policy,
            send=self.send,
            recall=self._recall,
            tell=observers.tell,
            observed=bool(observers),
            declared=declared,
            backoff=lambda attempts: retry.longest_delay(attempts_in_turn(retry, attempts)) * jitter(),
        )
        self.ledger: Final = Ledger(observers, self._admission, measure=measure, collections=collections)
        self._retries: Final = Retries(
            retry,
            jitter=jitter,
            retried=self.ledger.retried,
            holds=self._admission.holds,
            delivers=self._admission.delivers,
        )
        self._jitter: Final = jitter
        self._slots: Final = Slots()
        self._attempts: Final = Attempts(transport.send, retry.attempt_timeout_seconds, metering)
        self._prefetching: set[asyncio.Task[Body]] = set()
        self._ended: Final = asyncio.Event()
        self._reads: Final = self._lane(ReadRules(), batching)
        self._writes: Final = self._lane(WriteRules(), batching)
        self._closing: asyncio.Task[None] | None = None

    def _lane(self, rules: Rules, batching: BatchPolicy) -> Lane:
        return Lane(
            rules,
            batching,
            send=self._attempts.send,
            ledger=self.ledger,
            slots=self._slots,
            retries=self._retries,
            admission=self._admission,
            ended=self._ended.set,
        )

    def __del__(self) -> None:
        if self._loop is not None and not self._closed:
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                # The timer of attempts would keep the transport, with which its connections end. From any thread: this
                # is called by the garbage collector.
                self._loop.call_soon_threadsafe(self._attempts.close)
            unclosed = "a session was dropped unclosed; use `async with Session(...)`, or `await session.close()`"
            warnings.warn(unclosed, ResourceWarning, stacklevel=2, source=self)

    async def open(self) -> None:
        """Get ready to send, on the running event loop.

        Raises:
            SessionStateError: it was opened before, or the event loop is not asyncio's.
            ConfigurationError: the transport lacks something, or requests cannot be sent on the event loop.
        """
        if self._loop is not None or self._closed:
            raise SessionStateError("a session can be opened once; make a new Session")
        self._loop = _running_loop()
        for lane in (self._reads, self._writes):
            lane.start(deadline_source())
        try:
            await _check_loop_fits(self._loop)
            await self._transport.open()
            self._slots.open(self._transport.max_connections)
        except BaseException:
            self._closed = True
            with shielded(), contextlib.suppress(Exception):
                await self._transport.close()
            raise

    def send(self, request: Request) -> Coroutine[Any, Any, Body]:
        """Carry out a request and return its answer.

        Raises:
            SessionStateError: the session is not open, or belongs to another event loop.
            SessionClosedError: the session was closed before the answer of a read came.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came, or a write was given up when the session closed.
            CapacityBudgetExceededError: it would take more than a scope may.
        """
        self.check_open()
        ledger = self.ledger
        lane, payer = self._writes if request.writes else self._reads, ledger.payer() if ledger.scoped else None
        # Writes of items stand in line, and a read may share a call.
        if request.targets or (request.target is not None and (request.writes or request.batchable)):
            return lane.answer(request, payer)
        return lane.answer_alone(request, payer)

    @property
    def held_up(self) -> int:
        """How many requests wait for capacity units."""
        return self._admission.held_up

    def is_waited_for(self, table: str) -> bool:
        """Return whether requests to a table, or to one of its indexes, wait for units."""
        return self._admission.is_waited_for(table)

    def is_paced(self, table: str) -> bool:
        """Return whether requests to a table, or to one of its indexes, are held to a rate."""
        return self._admission.governor.governs((table,))

    def submit(
        self, request: Request, deadline: float | None = None, payer: Account | EllipsisType | None = ...
    ) -> asyncio.Future[Body]:
        """Queue the request of one item, without waiting; errors are those of ``send``, given by the future.

        Args:
            request: what to send.
            deadline: the event loop's time after which nobody waits; None for that of the current task.
            payer: who pays for it; by default the scope of the current task.

        Raises:
            CapacityBudgetExceededError: it would take more than a scope may.
        """
        self.check_open()
        account = self.ledger.payer() if isinstance(payer, EllipsisType) else payer
        return (self._writes if request.writes else self._reads).submit(request, deadline, account)

    def submit_chunk(
        self, chunk: Chunk, deadline: float, payer: Account | None, apart: Apart
    ) -> asyncio.Future[Body] | None:
        """Queue requests that fill a call as one; see ``Lane``. None where each has to be submitted by itself."""
        self.check_open()
        return (self._writes if chunk.asked.writes else self._reads).submit_chunk(chunk, deadline, payer, apart)

    def withdraw(self, futures: Collection[asyncio.Future[Body]]) -> None:
        """Cancel those futures of ``submit`` whose writes were never sent; reads are cancelled as they are."""
        self._writes.withdraw(futures)

    async def unwanted_ended(self) -> None:
        """Wait until no read is under way that nobody waits for; it was broken off when its last waiter left."""
        tasks = [task for task, batch in self._reads.tasks.items() if not any(each.wanted for each in batch)]
        if tasks:
            with shielded():
                await asyncio.wait(tasks)

    def _recall(self, table: str) -> None:
        self._reads.recall(table)
        self._writes.recall(table)

    def skipped(self, table: str, index: str | None, items: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Tell observers of items that a read left out; see ``Ledger.skipped``."""
        self.ledger.skipped(table, index, items)

    def tell(self, event: Event) -> None:
        """Tell observers of an event that is none of a request."""
        self.ledger.tell(event)

    def pause(self, seconds: float) -> float:
        """Draw how long to wait instead of so many seconds: half of them, or up to all of them.

        Processes that began to wait at the same time then do not go on at the same time.
        """
        return seconds * (1 + self._jitter()) / 2

    def statistics(self) -> Statistics:
        """Return what was done until now; when it is closed, too."""
        counts = self.ledger.statistics((*self._reads.open, *self._writes.open))
        return replace(counts, buckets=self._admission.statistics())

    def pages(
        self,
        request: Callable[[WireKey | None, int | None], Request],
        position: Callable[[WireItem], WireKey],
        *,
        want: int | None,
        start: WireKey | None,
        answer_filter: AnswerFilter | None = None,
        missing: Missing | None = None,
    ) -> Pages:
        """Return the pages of a query or scan, each answer filtered first; see ``Pages``."""
        from dynamap_async.executor.pages import Pages, filtering

        self.check_open()
        send = filtering(self.send, answer_filter, missing)
        return Pages(send, request, position, want=want, start=start, spawned=self._prefetching)

    def merged_pages(
        self,
        parts: SortedReads,
        *,
        want: int | None,
        begin: Positions | None,
        answer_filter: AnswerFilter | None = None,
        missing: Missing | None = None,
        in_turn: bool = False,
    ) -> MergedPages:
        """Return the pages of several sorted reads as one; see ``MergedPages``."""
        from dynamap_async.executor.pages import MergedPages

        self.check_open()

        def pages(part: PagedRead, start: WireKey | None) -> Pages:
            return self.pages(
                part.request, part.position, want=want, start=start, answer_filter=answer_filter, missing=missing
            )

        return MergedPages(parts, pages, want=want, begin=begin, in_turn=in_turn)

    def segment_pages(
        self,
        parts: SeparateReads,
        *,
        want: int | None,
        begin: Positions | None,
        answer_filter: AnswerFilter | None = None,
        missing: Missing | None = None,
    ) -> SegmentPages:
        """Return the pages of a read in several parts, in no order; see ``SegmentPages``."""
        from dynamap_async.executor.pages import SegmentPages, filtering

        self.check_open()
        width = self._transport.max_connections
        send = filtering(self.send, answer_filter, missing)
        return SegmentPages(send, parts, want=want, begin=begin, width=width, spawned=self._prefetching)

    def check_open(self) -> None:
        """Raise SessionStateError unless requests can be sent from here."""
        if self._closed:
            raise SessionClosedError("the session is closed; open a new one with `async with Session(...)`")
        if self._loop is None:
            raise SessionStateError("the session is not open; use it inside `async with Session(...) as session:`")
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is not self._loop:
            self._check_loop()

    def _check_loop(self) -> None:
        if _running_loop() is not self._loop:
            raise SessionStateError(
                "the session was opened on another event loop; open one session per event loop (a new one for each "
                "asyncio.run; in pytest, give the fixture that opens it the loop_scope of its tests). FastAPI's "
                "TestClient runs the application on an event loop in another thread: use "
                "httpx.AsyncClient(transport=httpx.ASGITransport(app)) instead, or open the session in the "
                "application's lifespan"
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
            self._closing = new_task(self._end(timeout_seconds), Context())
        await _to_its_end(self._closing)

    async def _end(self, timeout_seconds: float) -> None:
        try:
            self._reads.abandon()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await self._until_idle()
            self._writes.abandon()
            self._admission.close()
            tasks = [*self._reads.tasks, *self._writes.tasks, *self._prefetching, *self._admission.describing.tasks]
            if tasks:
                await asyncio.wait(tasks)
            await self._until_idle()
        finally:
            self._attempts.close()
            await self._transport.close()

    async def _until_idle(self) -> None:
        while self._reads.open or self._writes.open:
            self._ended.clear()
            await self._ended.wait()


async def _to_its_end(task: asyncio.Task[None]) -> None:
    """Wait for a task whatever happens to the caller; its cancellation is passed on afterwards."""
    cancelled: asyncio.CancelledError | None = None
    with shielded():  # against anyio's cancellation, which would be delivered again and again
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise SessionStateError(
            "a session needs asyncio (or uvloop); use it inside a coroutine that asyncio runs, not from trio or "
            "synchronous code"
        ) from None


async def _check_loop_fits(loop: asyncio.AbstractEventLoop) -> None:
    if type(loop).__module__.startswith("asyncio.") and loop.get_task_factory() is None:
        return
    from dynamap_async.executor.event_loops import check_loop

    await check_loop(loop)
