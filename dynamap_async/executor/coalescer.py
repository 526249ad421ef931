"""The coalescer: single-item requests that wait together travel together.

When they leave is a matter of ``sealing``; when they are sent again, of ``backoff``; here is what an exchange means for
each of its requests.

Invariant: an open request is in exactly one place: in a queue, behind another write of its key, in the batch of one
task, or waiting out a backoff. A task carries one exchange and holds one slot for it. A request that nobody waits for
any more is not sent.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import ClassVar, Final

import anyio

from dynamap_async.config import BatchPolicy, Priority
from dynamap_async.errors import ServiceError, TransportError
from dynamap_async.executor.account import Account
from dynamap_async.executor.admission import Admission
from dynamap_async.executor.alone import Alone
from dynamap_async.executor.backoff import Backoffs, Failed
from dynamap_async.executor.batch import Leftovers, parts_of_refused
from dynamap_async.executor.entrance import Entrance
from dynamap_async.executor.exchange import Exchange
from dynamap_async.executor.failures import (
    damaged,
    interrupted,
    own_failure,
    refused_by_name,
    refuses_some,
    unprocessed,
)
from dynamap_async.executor.journal import Journal
from dynamap_async.executor.pages import Send
from dynamap_async.executor.pending import Pending, Waiter
from dynamap_async.executor.queues import Queues
from dynamap_async.executor.retry import Retries, given_up
from dynamap_async.executor.sealing import Sealing
from dynamap_async.executor.slots import Slots
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Coalescer(ABC):
    """What reads and writes share: sealing, exchanging, sending again, splitting."""

    most: ClassVar[int]
    """How many requests one call may hold."""
    most_bytes: ClassVar[int]
    """How much they may weigh together."""
    groups: ClassVar[int] = 1
    """How many groups of requests there are that never share a call."""
    interruptible: ClassVar[bool]
    """Whether an exchange that nobody waits for any more is broken off."""

    def __init__(
        self,
        send: Send,
        *,
        journal: Journal,
        slots: Slots,
        retries: Retries,
        policy: BatchPolicy,
        ended: Callable[[], None],
        admission: Admission,
    ) -> None:
        """Begin with nothing queued.

        Args:
            send: sends a request once.
            journal: takes note of what happens.
            slots: how many requests travel at the same time.
            retries: what is sent again, and when.
            policy: what shares a call.
            ended: called whenever a request is answered or given up.
            admission: who may be sent.
        """
        self._send: Final = send
        self._journal: Final = journal
        self._slots: Final = slots
        self._retries: Final = retries
        self._policy: Final = policy
        self._ended: Final = ended
        self._most: Final = min(policy.max_keys, self.most)
        self._admission: Final = admission
        self._queues: Final = Queues(self.groups)
        self._parts_of_refused: Final[deque[list[Pending]]] = deque()
        self._sealing: Final = Sealing(
            slots, policy.window_seconds, urgency=self._urgency, full=self._full, carry_next=self._carry_next
        )
        self._alone: Final = Alone()
        self._backoffs: Final = Backoffs(retries, self._again, self._close_one)
        self.open: Final[set[Pending]] = set()
        """Every request that is neither answered nor given up."""
        self.entrance: Final = Entrance(admission, self._queues, self._sealing, group=self._group, opened=self.open)
        self.tasks: Final[dict[asyncio.Task[None], list[Pending]]] = {}
        """One for each exchange, with what it carries."""

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
        loop = asyncio.get_running_loop()
        until = anyio.current_effective_deadline() if deadline is None else deadline
        waiter = Waiter(loop.create_future(), until, since=loop.time(), account=payer)
        if payer is not None:
            waiter.deadline = min(until, payer.deadline)
            if payer.limited:
                # What joins another takes nothing more.
                estimate = (0, 0) if self._joins(request) else self._journal.ledger.estimate(request)
                waiter.reserved = payer.reserve(request, estimate)
        waiter.number = self._journal.queued(request)
        pending = self._accept(request, waiter)
        waiter.future.add_done_callback(partial(self._left, pending))
        if waiter.reserved is not None:
            waiter.future.add_done_callback(waiter.ended)
        if self._journal.observed:
            waiter.future.add_done_callback(partial(self._journal.settled, waiter.number, pending))
        if not (self._policy.enabled and request.batchable):
            self._sealing.hurry()
        self._sealing.wake()
        return waiter.future

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

    @abstractmethod
    def _accept(self, request: Request, waiter: Waiter) -> Pending:
        """Queue a request, or let its waiter join one that is queued; return that one."""

    def _joins(self, request: Request) -> bool:
        """Return whether a request would join one that is queued."""
        return False

    def _group(self, pending: Pending) -> int:
        """Return which group a request belongs to."""
        return 0

    @abstractmethod
    def _weight(self, pending: Pending) -> int:
        """Return how many bytes of ``most_bytes`` a request takes."""

    @abstractmethod
    def _together(self, batch: Sequence[Pending]) -> Request:
        """Return the request of one call for several items."""

    @abstractmethod
    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        """Return what the answer to a call for several items says of each identity, and what it left over."""

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

    def _close_one(self, pending: Pending) -> None:
        """Take note that a request is answered, given up or withdrawn."""
        self.open.discard(pending)
        if pending.ticket is not None:
            self._admission.leave(pending)
        self._ended()

    def _give_up(self, pending: Pending, error: Exception) -> None:
        pending.fail(error)
        self._close_one(pending)

    def _again(self, batch: Sequence[Pending]) -> None:
        """Queue requests that were sent before, ahead of those that came later."""
        for pending in reversed(batch):
            self.entrance.let_in(pending)
            self._sealing.hurry()
        self._sealing.wake()

    def _may_share(self, pending: Pending) -> bool:
        shared = self._policy.enabled and pending.request.batchable and not pending.refused_in_batch
        return shared and pending.request.table not in self._alone

    def _urgency(self) -> Priority | None:
        """Return the priority of the most urgent that waits; None if nothing does."""
        return self._parts_of_refused[0][0].urgency if self._parts_of_refused else self._queues.urgency()

    def _full(self) -> bool:
        return bool(self._parts_of_refused) or self._queues.has(self._most)

    def _carry_next(self, priority: Priority) -> None:
        """Carry the next call of a priority, for which a slot was taken."""
        batch = self._next_batch(priority)
        if not batch:
            self._slots.release(priority)
            return
        # An empty context: a batch belongs to many waiters, and must not carry one's scopes, spans or log context.
        task = asyncio.get_running_loop().create_task(self._carry(batch), context=Context())
        self.tasks[task] = batch
        for pending in batch:
            pending.task = task
        task.add_done_callback(partial(self._carried, priority))

    def _next_batch(self, priority: Priority) -> list[Pending]:
        """Take the requests of the next call; none where nobody waits for what is queued."""
        if self._parts_of_refused:
            return self._parts_of_refused.popleft()
        if (queue := self._queues.next(priority)) is None:
            return []
        taken = queue.take(self._most, self.most_bytes, self._may_share, self._weight)
        for pending in taken.withdrawn:
            self._close_one(pending)
        return taken.batch

    def _drop_unwanted(self, batch: list[Pending]) -> None:
        """Take out of a batch what nobody waits for any more, or may send."""
        if self._journal.ledger.scoped:
            for pending in batch:
                pending.refuse_those_out_of_requests()
        for pending in [pending for pending in batch if not pending.wanted]:
            batch.remove(pending)
            self._close_one(pending)

    async def _carry(self, batch: list[Pending]) -> None:
        self._drop_unwanted(batch)
        if not batch:
            return
        for pending in batch:
            pending.begin_attempt()
            pending.on_the_wire = True
        try:
            request = batch[0].request if len(batch) == 1 else self._together(batch)
            with Exchange(self._journal, request, batch) as exchange:
                answer = await self._send(request)
                parts, leftovers = self._read(batch, answer)
                exchange.answered(answer, *_left_over(batch, leftovers), parts)
        except (ServiceError, TransportError) as error:
            self._after_failure(batch, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must learn of it, and nobody else will
            for pending in batch:
                self._give_up(pending, error)
        else:
            self._after_answer(batch, parts, leftovers)

    def _carried(self, priority: Priority, task: asyncio.Task[None]) -> None:
        """Give the slot back, however the task ended: one that is cancelled before it begins runs none of its code."""
        batch = self.tasks.pop(task)
        if task.cancelled() or task.exception() is not None:
            for pending in batch:
                self._give_up(pending, interrupted(pending))
        self._slots.release(priority)

    def _read(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        if len(batch) == 1:
            return {batch[0].identity: answer}, Leftovers(frozenset(), frozenset())
        request = batch[0].request
        try:
            parts, leftovers = self._parts(batch, answer)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise damaged(request) from error
        if not (parts.keys() | leftovers.all) <= {pending.identity for pending in batch}:
            raise damaged(request)
        return parts, leftovers

    def _after_answer(self, batch: Sequence[Pending], parts: dict[str, Body], leftovers: Leftovers) -> None:
        self._retries.succeeded(max(pending.attempts for pending in batch))
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
        self._again(cut)
        self._backoffs.begin([(each, own_failure(self._retries, each, unprocessed(each))) for each in throttled])

    def _give_out(self, answered: deque[Pending], parts: dict[str, Body]) -> None:
        """Give every request its part of an answer."""
        for pending in answered:
            pending.answer(parts.get(pending.identity, {}))
            self._close_one(pending)

    def _after_failure(self, batch: Sequence[Pending], error: ServiceError | TransportError) -> None:
        failed = [(pending, own_failure(self._retries, pending, error)) for pending in batch]
        for pending in batch:
            pending.on_the_wire = False
        if len(batch) > 1 and isinstance(error, ServiceError) and refuses_some(error):
            self._split(batch, error)
            return
        again: list[Failed] = []
        for pending, own in failed:
            if self._retries.worth_another(own, pending):
                again.append((pending, own))
            else:
                self._give_up(pending, own)
        self._backoffs.begin(again)

    def _split(self, batch: Sequence[Pending], error: ServiceError) -> None:
        """Send the parts of a refused batch apart, so that what is wrong with one item is that item's error only."""
        groups = parts_of_refused(batch, by_item=refused_by_name(error))
        self._journal.split(self._together(batch), batch, len(groups), error)
        for pending in batch:
            pending.attempts -= 1
        self._parts_of_refused.extend(groups)
        self._sealing.wake()


def _left_over(batch: Sequence[Pending], leftovers: Leftovers) -> tuple[Sequence[Pending], Sequence[Pending]]:
    """Return what was left over, and what of that for want of capacity."""
    if not (left_over := leftovers.all):
        return (), ()
    throttled = [each for each in batch if each.identity in leftovers.throttled]
    return [each for each in batch if each.identity in left_over], throttled
