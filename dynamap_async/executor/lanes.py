"""Lanes: single-item requests that wait together travel together, reads in one lane, writes in another.

A call is sealed at the end of the loop tick that opened it at the earliest, and only when a slot is free. While all
slots are busy, waiting requests accumulate, so batches grow with the load, without any timer.

Invariant: an open request is in exactly one place: waiting for units, in a queue, behind another write of its key, in
the call of one task, or waiting out a backoff. A task carries one exchange and holds one slot for it. A request that
nobody waits for any more is not sent. Every request of an exchange is answered, given up, queued again, or waits out a
backoff; none is lost, and none learns of another's error.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

import anyio

from dynamap_async.config import BatchPolicy, Priority
from dynamap_async.errors import ServiceError, TransportError
from dynamap_async.executor.accounts import Account
from dynamap_async.executor.admission import Admission
from dynamap_async.executor.batches import (
    ENTRY_BYTES,
    UNKNOWN_BYTES,
    Leftovers,
    Queues,
    Sizes,
    batch_get,
    batch_write,
    found_items,
    parts_of_refused,
    unread,
    unwritten,
    written_bytes,
)
from dynamap_async.executor.calls import Pending, Waiter
from dynamap_async.executor.ledger import Exchange, Ledger
from dynamap_async.executor.pages import Send
from dynamap_async.executor.retry import (
    Backoffs,
    Failed,
    Retries,
    given_up,
    interrupted,
    own_failure,
    recognised,
    refused_by_name,
    refuses_some,
    unprocessed,
    unrecognised,
)
from dynamap_async.executor.slots import Slots
from dynamap_async.limits import BATCH_ANSWER_BYTES, BATCH_GET_KEYS, BATCH_WRITE_BYTES, BATCH_WRITE_REQUESTS
from dynamap_async.request import PartOfAnswer, Reader, Request, Together
from dynamap_async.transport import UNREADABLE, damaged
from dynamap_async.wire import Body, WireItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an executor has, and each of its ways of sending uses."""

    send: Send
    """Sends a request once."""
    ledger: Ledger
    """Counts what happens, and who pays for it."""
    slots: Slots
    """How many requests travel at the same time."""
    retries: Retries
    """What is sent again, and when."""
    ended: Callable[[], None]
    """Called whenever a request is answered or given up."""
    admission: Admission
    """Who may be sent."""


logger: logging.Logger = logging.getLogger("dynamap_async")

ALONE_SECONDS: Final = 300.0
MOST_TABLES: Final = 1_000
"""How many tables are remembered; another one that is refused again is found out again."""


class Alone:
    """The tables whose items travel alone for now; for reads or for writes."""

    def __init__(self) -> None:
        self.until: Final[dict[str, float]] = {}
        """Table -> the event loop's time until which that is remembered."""

    def remember(self, table: str) -> None:
        """Take note that an item of a table was refused in a batch and then accepted alone."""
        if table not in self:
            logger.warning("%s is refused in batches and accepted alone; it is sent alone for 5 minutes", table)
        now = asyncio.get_running_loop().time()
        self.until.pop(table, None)  # so that those come first that are forgotten first
        if len(self.until) >= MOST_TABLES:
            for each in list(self.until)[: MOST_TABLES // 2]:
                del self.until[each]
        self.until[table] = now + ALONE_SECONDS

    def __contains__(self, table: object) -> bool:
        if not isinstance(table, str) or table not in self.until:
            return False
        if self.until[table] > asyncio.get_running_loop().time():
            return True
        del self.until[table]
        return False


_AT_ONCE: Final = float("-inf")


class Sealing:
    """The moments at which one coalescer's calls are sealed."""

    def __init__(
        self,
        slots: Slots,
        window_seconds: float,
        *,
        urgency: Callable[[], Priority | None],
        full: Callable[[], bool],
        carry_next: Callable[[Priority], None],
    ) -> None:
        """Begin with nothing scheduled.

        Args:
            slots: how many requests travel at the same time.
            window_seconds: how long a request waits for others.
            urgency: the priority of the most urgent that waits; None if nothing does.
            full: whether what waits need not wait for others.
            carry_next: carries the next call of a priority, for which a slot was taken.
        """
        self._slots: Final = slots
        self._window_seconds: Final = window_seconds
        self._urgency: Final = urgency
        self._full: Final = full
        self._carry_next: Final = carry_next
        self._due: float | None = None
        """When what is queued has waited long enough for others; None while nothing is."""
        self._scheduled: asyncio.Handle | None = None
        self._reserved: asyncio.Future[None] | None = None
        self._reserved_for = Priority.INTERACTIVE

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits."""
        return self._scheduled is None and self._reserved is None

    def hurry(self) -> None:
        """Let what waits wait for no others."""
        self._due = _AT_ONCE

    def wake(self) -> None:
        """See to it that what is queued is sealed: at the end of this tick, or when it has waited for others."""
        scheduled = self._scheduled
        if scheduled is not None and self._reserved is None and not isinstance(scheduled, asyncio.TimerHandle):
            return  # at the end of this tick, as most of those who come in it find (benchmarks: concurrent_gets_400)
        urgency = self._urgency()
        if urgency is None:
            self._due = None
            return
        if self._reserved is not None:
            if urgency >= self._reserved_for or self._reserved.done():
                return
            # It was for something less urgent.
            self._slots.leave(self._reserved, self._reserved_for)
            self._reserved = None
        loop = asyncio.get_running_loop()
        if self._due is None:
            self._due = loop.time() + self._window_seconds
        if self._scheduled is not None:
            if not (isinstance(self._scheduled, asyncio.TimerHandle) and self._is_due()):
                return
            self._scheduled.cancel()
        self._scheduled = loop.call_soon(self._seal) if self._is_due() else loop.call_at(self._due, self._window_over)

    def stop(self) -> None:
        """Schedule nothing any more."""
        for waiting in (self._scheduled, self._reserved):
            if waiting is not None:
                waiting.cancel()

    def _is_due(self) -> bool:
        return self._full() or (self._due is not None and self._due <= asyncio.get_running_loop().time())

    def _window_over(self) -> None:
        self._due = _AT_ONCE
        self._seal()

    def _unschedule(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None

    def _seal(self) -> None:
        self._unschedule()
        while (urgency := self._urgency()) is not None and self._is_due() and self._slots.try_take(urgency):
            self._carry_next(urgency)
        if urgency is None:
            self._due = None
        elif self._is_due():
            self._unschedule()  # a withdrawn write may have let the next of its line in meanwhile
            self._reserved = self._slots.reserve(urgency)
            self._reserved_for = urgency
            self._reserved.add_done_callback(partial(self._seal_one, urgency))
        else:
            self.wake()

    def _seal_one(self, priority: Priority, reserved: asyncio.Future[None]) -> None:
        """Use a slot that was waited for; others may wait for the next one."""
        if self._reserved is reserved:
            self._reserved = None
        if reserved.cancelled():
            return
        if self._urgency() == priority:
            self._carry_next(priority)
        else:
            self._slots.release(priority)
        if self._reserved is None:
            self._seal()


_RECALLED_AT_ONCE: Final = 250
"""How many requests are asked for anew in one turn of the event loop: about 5 ms."""


class Entrance:
    """The way into the queues of one coalescer."""

    def __init__(
        self,
        admission: Admission,
        queues: Queues,
        sealing: Sealing,
        *,
        opened: Container[Pending],
    ) -> None:
        """Begin with nobody in it.

        Args:
            admission: who may be sent.
            queues: where those go who may.
            sealing: when what is queued becomes a call.
            opened: the requests that are neither answered nor given up.
        """
        self._admission: Final = admission
        self._queues: Final = queues
        self._sealing: Final = sealing
        self._open: Final = opened
        self._recalled: Final[deque[Pending]] = deque()
        self.take_apart: Callable[[Pending], Sequence[Pending]] = lambda pending: [pending]
        """Takes a chunk apart, because each of its requests has to wait for units of its own."""

    def let_in(self, pending: Pending) -> None:
        """Queue a request as soon as it has the units that it needs: at once, as a rule."""
        admission = self._admission
        free = admission.is_free(pending.request)
        if not free and pending.parts > 1:
            for part in self.take_apart(pending):
                self.let_in(part)
        elif free or admission.ask(pending, pending.priority, partial(self._go, pending)):
            queue = self._queues.of(pending)
            (queue.add_first if pending.attempts else queue.add)(pending)

    def _go(self, pending: Pending) -> None:
        """Queue a request that has waited for its units."""
        self._queues.of(pending).add(pending)
        self._sealing.hurry()
        self._sealing.wake()

    def lift(self, pending: Pending, priority: Priority) -> None:
        """Let a request go on with the priority of one more who waits for it, if that is more urgent."""
        if self._admission.waits(pending):
            self._admission.lift(pending, priority)
        elif priority < pending.urgency and self._queues.take_out(pending):
            self._queues.of(pending).add(pending)

    def recall(self, table: str) -> None:
        """Let what is queued for a table wait for units after all, a part of it in each turn of the event loop."""
        self._recalled.extend(self._queues.take_out_all(table))
        self._let_in_recalled()

    def clear(self) -> None:
        """Forget everything."""
        self._recalled.clear()

    def _let_in_recalled(self) -> None:
        left = _RECALLED_AT_ONCE
        while self._recalled and left > 0:
            pending = self._recalled.popleft()
            left -= pending.parts
            if pending in self._open:
                self.let_in(pending)
        self._sealing.wake()
        if self._recalled:
            asyncio.get_running_loop().call_soon(self._let_in_recalled, context=Context())


class Outcomes(ABC):
    """Answers, sends again, splits and gives up what exchanges carried."""

    def __init__(self, means: Means) -> None:
        """Begin with nothing open.

        Args:
            means: what it sends with.
        """
        self._ledger: Final = means.ledger
        self._retries: Final = means.retries
        self._admission: Final = means.admission
        self._ended: Final = means.ended
        self._alone: Final = Alone()
        self._backoffs: Final = Backoffs(means.retries, self._again, self._close_one)
        self._parts_of_refused: Final[deque[list[Pending]]] = deque()
        self.open: Final[set[Pending]] = set()
        """Every request that is neither answered nor given up."""

    @abstractmethod
    def _again(self, batch: Sequence[Pending]) -> None:
        """Queue requests that were sent before, ahead of those that came later."""

    @abstractmethod
    def _wake(self) -> None:
        """See to it that what is queued is sent."""

    @abstractmethod
    def _together(self, batch: Sequence[Pending]) -> Request:
        """Return the request of one call for several items."""

    @abstractmethod
    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        """Return what the answer to a call for several items says of each identity, and what it left over."""

    def _close_one(self, pending: Pending) -> None:
        """Take note that a request is answered, given up or withdrawn."""
        self.open.discard(pending)
        if pending.ticket is not None:
            self._admission.leave(pending)
        self._ended()

    def _give_up(self, pending: Pending, error: Exception) -> None:
        pending.fail(error)
        self._close_one(pending)

    @abstractmethod
    def _learn(self, batch: Sequence[Pending], parts: dict[str, Body]) -> None:
        """Take note of what an answer says of the items of a table."""

    def _read(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        if len(batch) == 1:
            return {batch[0].identity: answer}, Leftovers(frozenset(), frozenset())
        request = batch[0].request
        try:
            parts, leftovers = self._parts(batch, answer)
        except UNREADABLE as error:
            raise damaged(request, "the answer to its batch has entries of no known form") from error
        if not (parts.keys() | leftovers.all) <= {pending.identity for pending in batch}:
            raise damaged(request, "the answer to its batch speaks of items that were not asked for")
        self._learn(batch, parts)
        return parts, leftovers

    def _after_answer(self, batch: Sequence[Pending], parts: dict[str, Body], leftovers: Leftovers) -> None:
        self._retries.succeeded(max([pending.attempts for pending in batch]))
        cut: list[Pending] = []
        throttled: list[Pending] = []
        answered: list[Pending] = []
        for pending in batch:
            pending.on_the_wire = False
            if pending.identity in leftovers.cut:
                pending.attempts -= 1
                cut.append(pending)
            elif pending.identity in leftovers.throttled:
                throttled.append(pending)
            else:
                if pending.refused_in_batch:
                    self._alone.remember(pending.request.table)
                answered.append(pending)
        self._give_out(deque(answered), parts)
        if cut:
            self._again(cut)
        if throttled:
            self._backoffs.begin([(each, own_failure(self._retries, each, unprocessed(each))) for each in throttled])

    def _give_out(self, answered: deque[Pending], parts: dict[str, Body]) -> None:
        """Give every request its part of an answer."""
        for pending in answered:
            pending.answer(parts.get(pending.identity, {}))
            self._close_one(pending)

    def _failed(self, batch: Sequence[Pending], error: Exception) -> None:
        """Let an exchange have failed; whatever it is, those who wait must learn of it, and nobody else will."""
        if isinstance(error, (ServiceError, TransportError)):
            self._after_failure(batch, error)
        else:
            for pending in batch:
                self._give_up(pending, error)

    def _after_failure(self, batch: Sequence[Pending], error: ServiceError | TransportError) -> None:
        failed = [(pending, own_failure(self._retries, pending, error)) for pending in batch]
        for pending in batch:
            pending.on_the_wire = False
        if len(batch) > 1 and refuses_some(error):
            self._split(batch, error)
            return
        again: list[Failed] = []
        for pending, own in failed:
            if (answer := recognised(pending, own)) is not None:
                pending.answer(answer)
                self._close_one(pending)
            elif self._retries.worth_another(own, pending):
                again.append((pending, own))
            else:
                self._give_up(pending, unrecognised(pending, own))
        self._backoffs.begin(again)

    def _split(self, batch: Sequence[Pending], error: ServiceError | TransportError) -> None:
        """Send the parts of a refused batch apart, so that what is wrong with one item is that item's error only."""
        groups = parts_of_refused(batch, by_item=refused_by_name(error))
        self._ledger.split(self._together(batch), batch, len(groups), error)
        for pending in batch:
            pending.attempts -= 1
        self._parts_of_refused.extend(groups)
        self._wake()


def left_over(batch: Sequence[Pending], leftovers: Leftovers) -> tuple[Sequence[Pending], Sequence[Pending]]:
    """Return what was left over, and what of that for want of capacity."""
    if not (left_over := leftovers.all):
        return (), ()
    throttled = [each for each in batch if each.identity in leftovers.throttled]
    return [each for each in batch if each.identity in left_over], throttled


class Coalescer(Outcomes):
    """What reads and writes share: queueing, sealing, exchanging."""

    most: ClassVar[int]
    """How many requests one call may hold."""
    most_bytes: ClassVar[int]
    """How much they may weigh together."""
    groups: ClassVar[int] = 1
    """How many groups of requests there are that never share a call."""
    interruptible: ClassVar[bool]
    """Whether an exchange that nobody waits for any more is broken off."""

    def __init__(self, means: Means, policy: BatchPolicy) -> None:
        """Begin with nothing queued.

        Args:
            means: what it sends with.
            policy: what shares a call.
        """
        super().__init__(means)
        self._send: Final = means.send
        self._slots: Final = means.slots
        self._policy: Final = policy
        self._most: Final = min(policy.max_keys, self.most) if policy.enabled else 1
        self._queues: Final = Queues(self.groups)
        self._sealing: Final = Sealing(
            means.slots, policy.window_seconds, urgency=self._urgency, full=self._full, carry_next=self._carry_next
        )
        self.entrance: Final = Entrance(means.admission, self._queues, self._sealing, opened=self.open)
        self.tasks: Final[dict[asyncio.Task[None], list[Pending]]] = {}
        """One for each exchange, with what it carries."""
        self.deadline: Callable[[], float] = anyio.current_effective_deadline
        """Returns the event loop's time after which the current task does not wait; see ``Executor.open``."""
        self._held: Final[dict[asyncio.Task[None], Priority]] = {}
        """The slots of those whose exchanges are not over."""

    def submit(
        self, request: Request, deadline: float | None = None, payer: Account | None = None
    ) -> asyncio.Future[Body]:
        """Queue a single-item request; the future gets its answer or its own instance of an error.

        Cancelling the future withdraws the request if it was not sent, and leaves everyone else's alone.

        Args:
            request: what to send.
            deadline: the event loop's time after which nobody waits; None for that of the current task.
            payer: who pays for it; None for the session's own account.

        Raises:
            CapacityBudgetExceededError: it would take more than the account may.
        """
        pending, future = self.enter(request, deadline, payer)
        future.add_done_callback(partial(self._left, pending))
        return future

    async def settled(self, request: Request, payer: Account | None = None) -> Body:
        """Queue a single-item request and wait for its answer; arguments and errors are those of ``submit``."""
        # Without a callback of the future, which would cost a turn of the event loop (benchmarks: concurrent_gets_400).
        pending, future = self.enter(request, None, payer)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                future.exception()  # the answer came in the same moment: asyncio must not report it as lost
            self._left(pending, future)
            raise

    def enter(
        self, request: Request, deadline: float | None, payer: Account | None
    ) -> tuple[Pending, asyncio.Future[Body]]:
        """Queue a single-item request; return it, or what it joins, and the future of its answer.

        Whoever cancels the future tells ``_left`` of it.
        """
        loop = asyncio.get_running_loop()
        until = self.deadline() if deadline is None else deadline
        waiter = Waiter(loop.create_future(), until, 0, loop.time(), payer)
        if payer is not None:
            waiter.deadline = min(until, payer.deadline)
            if payer.limited:
                # What joins another takes nothing more.
                estimate = (0, 0) if self._joins(request) else self._ledger.estimate(request)
                waiter.reserved = payer.reserve(request, estimate)
        waiter.number = self._ledger.queued(request)
        pending = self._accept(request, waiter)
        if waiter.reserved is not None:
            waiter.future.add_done_callback(waiter.ended)
        if self._ledger.observed:
            waiter.future.add_done_callback(partial(self._ledger.done, waiter.number, pending))
        return pending, waiter.future

    def abandon(self) -> None:
        """Give up every open request, each with what is known of it; the session is closing."""
        for pending in tuple(self.open):
            self._give_up(pending, given_up(pending))
        self._backoffs.clear()
        self._parts_of_refused.clear()
        self._queues.clear()
        self.entrance.clear()
        for task in self.tasks:
            task.cancel()
        self._sealing.stop()

    def _begin(self, pending: Pending) -> None:
        """Let a new request be sent: at once if it shares no call and nothing is before it, otherwise in its turn."""
        shares = self._policy.enabled and pending.request.batchable
        sealing = self._sealing
        if not shares and sealing.is_idle and self._admission.is_free(pending.request):
            priority = pending.urgency = pending.priority
            if self._slots.try_take(priority):
                self._carry_in_task([pending], priority)
                return
        self.entrance.let_in(pending)
        if not shares:
            sealing.hurry()
        sealing.wake()

    @abstractmethod
    def _accept(self, request: Request, waiter: Waiter) -> Pending:
        """Queue a request, or let its waiter join one that is queued; return that one."""

    def _joins(self, request: Request) -> bool:
        """Return whether a request would join one that is queued."""
        return False

    @abstractmethod
    def _weight(self, pending: Pending) -> int:
        """Return how many bytes of ``most_bytes`` a request takes."""

    def _left(self, pending: Pending, future: asyncio.Future[Body]) -> None:
        """Take note that a waiter is gone; what it was the last to wait for must not delay others."""
        if not future.cancelled() or pending.wanted or pending not in self.open:
            return
        self._backoffs.withdraw(pending)
        if self._admission.waits(pending):
            self._close_one(pending)
        task = pending.task
        if self.interruptible and task in self.tasks and not any(each.wanted for each in self.tasks[task]):
            task.cancel()

    def _again(self, batch: Sequence[Pending]) -> None:
        for pending in reversed(batch):
            self.entrance.let_in(pending)
            self._sealing.hurry()
        self._sealing.wake()

    def _wake(self) -> None:
        self._sealing.wake()

    def _urgency(self) -> Priority | None:
        """Return the priority of the most urgent that waits; None if nothing does."""
        return self._parts_of_refused[0][0].urgency if self._parts_of_refused else self._queues.urgency()

    def _full(self) -> bool:
        return bool(self._parts_of_refused) or self._queues.has(self._most)

    def _carry_next(self, priority: Priority) -> None:
        """Carry the next call of a priority, for which a slot was taken."""
        batch = self._next_batch(priority)
        if batch:
            self._carry_in_task(batch, priority)
        else:
            self._slots.release(priority)

    def _carry_in_task(self, batch: list[Pending], priority: Priority) -> None:
        # An empty context: a batch belongs to many waiters, and must not carry one's scopes, spans or log context.
        alone = len(batch) == 1 and batch[0].parts == 1
        carry = self._carry_alone(batch) if alone else self._carry(batch)
        task = asyncio.get_running_loop().create_task(carry, context=Context())
        self.tasks[task] = batch
        self._held[task] = priority
        for pending in batch:
            pending.task = task
        task.add_done_callback(self._carried)

    def _give_slot_back(self, task: asyncio.Task[None] | None) -> None:
        """Take note that the exchange of a task is over."""
        if task is not None and (priority := self._held.pop(task, None)) is not None:
            self._slots.release(priority)

    def _next_batch(self, priority: Priority) -> list[Pending]:
        """Take the requests of the next call; none where nobody waits for what is queued."""
        if self._parts_of_refused:
            return self._parts_of_refused.popleft()
        if (queue := self._queues.next(priority)) is None:
            return []
        taken = queue.take(self._most, self.most_bytes, self._alone if self._alone.until else (), self._weight)
        for pending in taken.withdrawn:
            self._close_one(pending)
        return taken.batch

    def _begin_attempts(self, batch: list[Pending]) -> None:
        """Take out of a batch what nobody waits for any more, or may send; of the others an attempt begins now."""
        scoped, unwanted = self._ledger.scoped, list[Pending]()
        for pending in batch:
            if scoped:
                pending.refuse_those_out_of_requests()
            if pending.wanted:
                pending.begin_attempt()
                pending.on_the_wire = True
            else:
                unwanted.append(pending)
        if unwanted:
            batch[:] = [pending for pending in batch if pending.on_the_wire]
        for pending in unwanted:
            self._close_one(pending)

    async def _carry(self, batch: list[Pending]) -> None:
        self._begin_attempts(batch)
        if len(batch) <= 1:
            await self._carry_alone(batch)
            return
        try:
            request = self._together(batch)
            exchange = self._ledger.sent(request, batch)
            try:
                answer = await self._send(request)
                parts, leftovers = self._read(batch, answer)
            except BaseException as error:
                self._ledger.failed(exchange, request, batch, error)
                raise
            self._ledger.answered(exchange, request, batch, answer, *left_over(batch, leftovers), parts)
        except Exception as error:  # noqa: BLE001 - see `_failed`
            self._failed(batch, error)
        else:
            self._after_answer(batch, parts, leftovers)

    async def _carry_alone(self, batch: list[Pending]) -> None:
        if batch and not batch[0].on_the_wire:
            self._begin_attempts(batch)
        if not batch:
            return
        pending = batch[0]
        request = pending.request
        try:
            exchange = self._ledger.sent(request, batch)
            try:
                answer = await self._send(request)
            except BaseException as error:
                self._ledger.failed(exchange, request, batch, error)
                raise
            self._ledger.answered(exchange, request, batch, answer)
        except Exception as error:  # noqa: BLE001 - see `_failed`
            self._failed(batch, error)
        else:
            self._retries.succeeded(pending.attempts)
            pending.on_the_wire = False
            if pending.refused_in_batch:
                self._alone.remember(request.table)
            self._give_slot_back(pending.task)  # first, so that whoever is answered finds it free
            self._learn(batch, {pending.identity: answer})
            pending.answer(answer)
            self._close_one(pending)

    def _carried(self, task: asyncio.Task[None]) -> None:
        """Give the slot back, however the task ended: one that is cancelled before it begins runs none of its code."""
        batch = self.tasks.pop(task)
        if task.cancelled() or task.exception() is not None:
            for pending in batch:
                self._give_up(pending, interrupted(pending))
        self._give_slot_back(task)


class Chunk(ABC):
    """Requests of one operation on one table, for distinct items, that may travel in one call."""

    __slots__ = ()

    asked: Request
    """What each of them is, but for its item."""
    size: int
    """How many they are."""
    json_bytes: int = 0
    """The length of the JSON of what is written; 0 for reads and deletes."""
    identities: Collection[str] = ()
    """The items that are written; none for reads, which take no turns."""

    @abstractmethod
    def call(self) -> Request:
        """Return the request that carries all of them."""

    @abstractmethod
    def requests(self) -> Sequence[Request]:
        """Return the request of each item; asked for once, where it is taken apart."""

    @abstractmethod
    def takes(self, answer: Body) -> bool:
        """Take note of the answer of the call, if it is plain: it says of each item what became of it, and no more."""


Apart: TypeAlias = Callable[[Sequence["asyncio.Future[Body]"]], None]
"""Takes the futures of the requests of a chunk that was taken apart; its own is never done then."""


@dataclass(slots=True, eq=False, kw_only=True)
class PendingChunk(Pending):
    """A chunk that waits for its answer."""

    chunk: Chunk
    apart: Apart
    """Told when it is taken apart, unless nobody waits for it any more."""
    identity: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.identities: tuple[str, ...] = tuple(self.chunk.identities)

    @property
    def parts(self) -> int:
        """How many requests of single items it stands for."""
        return self.chunk.size

    @property
    def waiting(self) -> int:
        """How many items are waited for."""
        return self.chunk.size if self.wanted else 0

    @property
    def waiter_ids(self) -> tuple[int, ...]:
        """The numbers of those who wait for the items, one for each."""
        return tuple(self.numbers) if self.wanted else ()

    @property
    def numbers(self) -> range:
        """The same, whether anybody waits or not."""
        first = self.waiters[0].number
        return range(first, first + self.chunk.size)

    @property
    def payers(self) -> tuple[Account | None, ...]:
        """The account of the one who waits for all of it."""
        return (self.waiters[0].account,) if self.wanted else ()

    def waited(self, now: float) -> float:
        """Return how long its items have waited, in sum."""
        return self.chunk.size * (now - max(self.waiters[0].since, self.idle_since))

    def waits(self, now: float) -> Sequence[float]:
        """Return the same for each of its payers."""
        return (self.waited(now),) if self.wanted else ()


class Chunked(Coalescer):
    """A coalescer that carries chunks as well."""

    def __init__(self, means: Means, policy: BatchPolicy) -> None:
        super().__init__(means, policy)
        self.entrance.take_apart = self._parts_of

    def submit_chunk(
        self, chunk: Chunk, deadline: float, payer: Account | None, apart: Apart
    ) -> "asyncio.Future[Body] | None":
        """Queue a chunk; return the future of its answer, or None where its requests have to go one by one.

        The future is done with the answer once ``chunk.takes`` it. Cancelling it withdraws the chunk if it was not
        sent.

        Args:
            chunk: what to send.
            deadline: the event loop's time after which nobody waits.
            payer: who pays for it; None for the session's own account.
            apart: see ``Apart``.
        """
        if not self._takes(chunk, payer):
            return None
        loop = asyncio.get_running_loop()
        until = deadline if payer is None else min(deadline, payer.deadline)
        waiter = Waiter(loop.create_future(), until, since=loop.time(), account=payer)
        waiter.number = self._ledger.queued(chunk.asked, chunk.size)
        pending = PendingChunk(chunk.asked, waiters=[waiter], joined=True, chunk=chunk, apart=apart)
        self.open.add(pending)
        self._stand_in_line(pending)
        waiter.future.add_done_callback(partial(self._left, pending))
        if self._ledger.observed:
            waiter.future.add_done_callback(partial(self._tell_of_end, pending))
        self.entrance.let_in(pending)
        self._sealing.wake()
        return waiter.future

    def _takes(self, chunk: Chunk, payer: Account | None) -> bool:
        """Return whether a chunk may travel as a whole: what is limited, or paced, is looked at item by item."""
        return (
            self._policy.enabled
            and 1 < chunk.size <= self._most
            and chunk.asked.table not in self._alone
            and (payer is None or not payer.limited)
            and not self._ledger.expects
            and not self._admission.looks_at_partitions
            and self._admission.is_free(chunk.asked)
        )

    def _stand_in_line(self, pending: PendingChunk) -> None:
        """Let a chunk take its turn among the writes of its items."""

    def _take_place(self, pending: PendingChunk, parts: Sequence[Pending]) -> None:
        """Let the requests of a chunk have its place in those lines."""

    def _tell_of_end(self, pending: PendingChunk, future: "asyncio.Future[Body]") -> None:
        for number in pending.numbers:
            self._ledger.done(number, pending, future)

    def take_apart(self, pending: PendingChunk) -> list[Pending]:
        """Let the requests that a chunk stands for go on in its place; return them."""
        waiter, parts = pending.waiters[0], list[Pending]()
        wanted, loop = not waiter.future.done(), asyncio.get_running_loop()
        for number, request in zip(pending.numbers, pending.chunk.requests(), strict=True):
            own = Waiter(loop.create_future(), waiter.deadline, number, waiter.since, waiter.account)
            parts.append(part := Pending(request, waiters=[own]))
            part.attempts, part.on_the_wire = pending.attempts, pending.on_the_wire
            part.exchange_id, part.first_sent = pending.exchange_id, pending.first_sent
            part.coalesced, part.idle_since, part.task = pending.coalesced, pending.idle_since, pending.task
            if not wanted:
                own.future.cancel()
                continue
            own.future.add_done_callback(partial(self._left, part))
            if self._ledger.observed:
                own.future.add_done_callback(partial(self._ledger.done, number, part))
        self.open.discard(pending)
        self.open.update(parts)
        self._take_place(pending, parts)
        if wanted:
            pending.apart([part.waiters[0].future for part in parts])
        return parts

    def _parts_of(self, pending: Pending) -> list[Pending]:
        return self.take_apart(pending) if isinstance(pending, PendingChunk) else [pending]

    async def _carry(self, batch: list[Pending]) -> None:
        first = batch[0]
        if isinstance(first, PendingChunk):
            await self._carry_chunk(batch, first)
        else:
            await super()._carry(batch)

    async def _carry_chunk(self, batch: list[Pending], pending: PendingChunk) -> None:
        if not pending.wanted:
            self._close_one(pending)
            return
        pending.begin_attempt()
        pending.on_the_wire = True
        left: tuple[dict[str, Body], Leftovers] | None = None
        answer: Body = {}
        try:
            request = pending.chunk.call()
            exchange = self._ledger.sent(request, batch)
            try:
                answer = await self._answer(request, exchange, batch, pending)
                if batch[0] is not pending:
                    left = self._read(batch, answer)
            except BaseException as error:
                self._ledger.failed(exchange, request, batch, error)
                raise
            if left is None:
                self._ledger.answered(exchange, request, batch, answer)
            else:
                parts, leftovers = left
                self._ledger.answered(exchange, request, batch, answer, *left_over(batch, leftovers), parts)
        except Exception as error:  # noqa: BLE001 - see `_failed`
            self._failed(batch, error)
        else:
            if left is None:
                self._chunk_answered(pending, answer)
            else:
                self._after_answer(batch, *left)

    async def _answer(
        self, request: Request, exchange: Exchange | None, batch: list[Pending], pending: PendingChunk
    ) -> Body:
        """Send a chunk, and take it apart unless the answer is plain."""
        try:
            answer = await self._send(request)
            plain = pending.chunk.takes(answer) and not self._ledger.expects
        except Exception:
            self._exchange_apart(exchange, batch, pending)
            raise
        if not plain:
            self._exchange_apart(exchange, batch, pending)
        return answer

    def _exchange_apart(self, exchange: Exchange | None, batch: list[Pending], pending: PendingChunk) -> None:
        # In place: what the task carries, and what the exchange carries, is this list.
        batch[:] = self.take_apart(pending)
        if exchange is not None:
            exchange.taken_apart(pending, batch)

    def _chunk_answered(self, pending: PendingChunk, answer: Body) -> None:
        self._retries.succeeded(pending.attempts)
        pending.on_the_wire = False
        pending.answer(answer)
        self._close_one(pending)


_TURN_BYTES: Final = 100_000
"""How much is given out in one turn of the event loop: what is decoded in about 2 ms."""


class Reads(Chunked):
    """The GetItem requests of a session."""

    most = BATCH_GET_KEYS
    most_bytes = BATCH_ANSWER_BYTES
    interruptible = True
    groups = 2  # one for each consistency: a call asks for one of them

    def __init__(self, means: Means, policy: BatchPolicy) -> None:
        super().__init__(means, policy)
        self._joinable: Final[tuple[dict[str, Pending], dict[str, Pending]]] = ({}, {})
        """Identity -> what reads of that key join; of eventually consistent reads, and of consistent ones."""
        self._sizes = Sizes()

    def _accept(self, request: Request, waiter: Waiter) -> Pending:
        pending = Pending(request, waiters=[waiter], consistent=bool(request.body.get("ConsistentRead")))
        if request.batchable and self._policy.enabled:
            queued = self._joinable[pending.consistent].setdefault(pending.identity, pending)
            if queued is not pending:
                queued.waiters.append(waiter)
                queued.joined = True
                if self._ledger.scoped:
                    self.entrance.lift(queued, waiter.priority)
                    self._sealing.wake()
                return queued
        self.open.add(pending)
        self._begin(pending)
        return pending

    def _takes(self, chunk: Chunk, payer: Account | None) -> bool:
        weight = chunk.size * self._sizes.of(chunk.asked.table)
        return weight <= self.most_bytes and super()._takes(chunk, payer)

    def _chunk_answered(self, pending: PendingChunk, answer: Body) -> None:
        found: Mapping[str, Sequence[WireItem]] = answer.get("Responses") or {}
        self._sizes.learn(pending.request.table, found.get(pending.request.table, ()))
        super()._chunk_answered(pending, answer)

    def _joins(self, request: Request) -> bool:
        if not (self._policy.enabled and request.batchable and request.target is not None):
            return False
        return request.target.identity in self._joinable[bool(request.body.get("ConsistentRead"))]

    def _next_batch(self, priority: Priority) -> list[Pending]:
        batch = super()._next_batch(priority)
        for pending in batch:
            self._let_nobody_join(pending)
        return batch

    def _close_one(self, pending: Pending) -> None:
        if not pending.attempts:
            self._let_nobody_join(pending)
        super()._close_one(pending)

    def _let_nobody_join(self, pending: Pending) -> None:
        joinable = self._joinable[pending.consistent]
        if joinable.get(pending.identity) is pending:
            del joinable[pending.identity]

    def _weight(self, pending: Pending) -> int:
        return self._sizes.known.get(pending.request.table, UNKNOWN_BYTES)

    def _together(self, batch: Sequence[Pending]) -> Request:
        return batch_get([pending.request for pending in batch])

    def _learn(self, batch: Sequence[Pending], parts: dict[str, Body]) -> None:
        found: dict[str, list[WireItem]] = {}
        for pending in batch:
            if item := parts.get(pending.identity, {}).get("Item"):
                found.setdefault(pending.request.table, []).append(item)
        for table, items in found.items():
            self._sizes.learn(table, items)

    def _give_out(self, answered: deque[Pending], parts: dict[str, Body]) -> None:
        """Give every request its part of an answer: at once, or where they are large, with a turn for others between.

        The waiters decode their items as soon as they have them, all of a turn in the next one, and together where they
        read them alike.
        """
        size, sizes, nothing = 0, self._sizes.known, dict[str, Any]()
        alike: dict[Reader, Together] = {}
        while answered and size < _TURN_BYTES:
            pending = answered.popleft()
            request = pending.request
            if part := parts.get(pending.identity):
                size += sizes.get(request.table, UNKNOWN_BYTES)
                if request.reader is not None and isinstance(part, PartOfAnswer):
                    together = alike.get(request.reader)
                    if together is None:
                        together = alike[request.reader] = Together(request.reader)
                    together.add(part, part["Item"])
            pending.answer(part or nothing)
            self.open.discard(pending)
            if pending.ticket is not None:
                self._admission.leave(pending)
        self._ended()
        if answered:
            asyncio.get_running_loop().call_soon(partial(self._give_out, answered, parts), context=Context())

    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        requests = [pending.request for pending in batch]
        leftovers = unread(requests, answer)
        found = found_items(requests, answer)
        return {identity: PartOfAnswer(Item=item) for identity, item in found.items()}, leftovers


class Writes(Chunked):
    """The PutItem, DeleteItem, UpdateItem and TransactWriteItems requests of a session."""

    most = BATCH_WRITE_REQUESTS
    most_bytes = BATCH_WRITE_BYTES
    interruptible = False

    def __init__(self, means: Means, policy: BatchPolicy) -> None:
        super().__init__(means, policy)
        self._lines: dict[str, OrderedDict[Pending, None]] = {}
        """Identity -> its writes, in order. Any of them may leave at the same cost: thousands may wait for one key."""

    def _accept(self, request: Request, waiter: Waiter) -> Pending:
        pending = Pending(request, waiters=[waiter])
        self.open.add(pending)
        lines = self._lines
        for identity in pending.identities:
            if (line := lines.get(identity)) is None:
                line = lines[identity] = OrderedDict()
            line[pending] = None
        if self._has_its_turn(pending):
            self._begin(pending)
        return pending

    def _takes(self, chunk: Chunk, payer: Account | None) -> bool:
        return (
            chunk.json_bytes + chunk.size * ENTRY_BYTES <= self.most_bytes
            and self._lines.keys().isdisjoint(chunk.identities)
            and super()._takes(chunk, payer)
        )

    def _stand_in_line(self, pending: PendingChunk) -> None:
        for identity in pending.identities:
            self._lines[identity] = OrderedDict({pending: None})

    def _take_place(self, pending: PendingChunk, parts: Sequence[Pending]) -> None:
        for part in parts:
            line = self._lines[part.identity]
            del line[pending]
            line[part] = None
            line.move_to_end(part, last=False)

    def _has_its_turn(self, pending: Pending) -> bool:
        for identity in pending.identities:  # noqa: SIM110 - all() costs three times as much (benchmarks: concurrent_puts)
            if next(iter(self._lines[identity])) is not pending:
                return False
        return True

    def _left(self, pending: Pending, future: asyncio.Future[Body]) -> None:
        super()._left(pending, future)
        # A transaction that waits for one of its keys must not hold up those who wait for another one.
        if not pending.wanted and pending in self.open and not self._has_its_turn(pending):
            self._close_one(pending)

    def _close_one(self, pending: Pending) -> None:
        if pending in self.open:
            for after in self._leave_lines(pending):
                if self._has_its_turn(after):
                    self._begin(after)
        super()._close_one(pending)

    def _leave_lines(self, pending: Pending) -> list[Pending]:
        """Take a request out of its lines; return, each once, those who are now the first of one of them."""
        first_now: dict[Pending, None] = {}
        lines = self._lines
        for identity in pending.identities:
            line = lines[identity]
            if len(line) == 1:
                del lines[identity]
                continue
            was_first = next(iter(line)) is pending
            del line[pending]
            if was_first:
                first_now[next(iter(line))] = None
        return list(first_now)

    def _learn(self, batch: Sequence[Pending], parts: dict[str, Body]) -> None:
        """Nothing: the answer to a write says nothing of the item."""

    def _weight(self, pending: Pending) -> int:
        return written_bytes(pending.request)

    def _together(self, batch: Sequence[Pending]) -> Request:
        return batch_write([pending.request for pending in batch])

    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        return {}, unwritten([pending.request for pending in batch], answer)
