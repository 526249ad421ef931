"""The coalescer: single-item requests that wait together travel together.

When they leave is a matter of ``sealing``; what an exchange means for each of its requests, of ``outcomes``; when they
are sent again, of ``backoff``.

Invariant: an open request is in exactly one place: in a queue, behind another write of its key, in the batch of one
task, or waiting out a backoff. A task carries one exchange and holds one slot for it. A request that nobody waits for
any more is not sent.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import ClassVar, Final

import anyio

from dynamap_async.config import BatchPolicy, Priority
from dynamap_async.executor.account import Account
from dynamap_async.executor.entrance import Entrance
from dynamap_async.executor.exchange import Exchange
from dynamap_async.executor.failures import interrupted
from dynamap_async.executor.means import Means
from dynamap_async.executor.outcomes import Outcomes, left_over
from dynamap_async.executor.pending import Pending, Waiter
from dynamap_async.executor.queues import Queues
from dynamap_async.executor.retry import given_up
from dynamap_async.executor.sealing import Sealing
from dynamap_async.request import Request
from dynamap_async.wire import Body


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
        self._meters: Final = means.meters
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
                estimate = (0, 0) if self._joins(request) else self._journal.ledger.estimate(request)
                waiter.reserved = payer.reserve(request, estimate)
        waiter.number = self._journal.queued(request)
        pending = self._accept(request, waiter)
        if waiter.reserved is not None:
            waiter.future.add_done_callback(waiter.ended)
        if self._journal.observed:
            waiter.future.add_done_callback(partial(self._journal.settled, waiter.number, pending))
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
        scoped, unwanted = self._journal.ledger.scoped, list[Pending]()
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
            with Exchange(self._journal, request, batch, self._meters.of(request)) as exchange:
                answer = await self._send(request)
                parts, leftovers = self._read(batch, answer)
                exchange.answered(answer, *left_over(batch, leftovers), parts)
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
            with Exchange(self._journal, request, (pending,), self._meters.of(request)) as exchange:
                answer = await self._send(request)
                exchange.answered(answer)
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
