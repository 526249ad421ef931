"""Lanes: single-item requests that wait together travel together, reads in one lane, writes in another.

A call is sent at the end of the loop tick that opened it at the earliest, and only when a slot is free. While all
slots are busy, waiting requests accumulate, so batches grow with the load, without any timer. A lone read stays a
GetItem. Reads are not ordered against writes.

A chunk, which one caller asked for, is one thing while all goes well. Whatever is not plain (items left over, a
refusal, an answer that cannot be read, a table whose units are counted from now on) takes it apart into the requests of
single items that it stands for. These go on in its place, as if they had shared its call, so that what is sent again,
split and failed is decided in one place for both.

Invariant: an open call is in exactly one place: waiting for its budget or for units, in a queue, behind another write
of its key, in the batch of one task, or waiting out a backoff. A task carries one exchange and holds one slot for it. A
call that nobody waits for any more is not sent. Every call of an exchange is answered, given up, queued again, or waits
out a backoff; none is lost, and none learns of another's error. A chunk is either open as a whole or taken apart, never
both; of each key that it writes it stands in the line, where it was the first when it was accepted.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Generator, Sequence
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.config import BatchPolicy, Priority
from dynamap_async.errors import (
    CapacityBudgetExceededError,
    DamagedResponseError,
    EncodeError,
    ServiceError,
    TransportError,
    UsageError,
)
from dynamap_async.executor.accounts import Account, Hold
from dynamap_async.executor.admission import Admission
from dynamap_async.executor.anyio_scopes import deadline_now
from dynamap_async.executor.batches import NO_LEFTOVERS, Leftovers, Queues, Rules, parts_of_refused
from dynamap_async.executor.calls import Apart, Call, Chunk, Waiter
from dynamap_async.executor.ledger import Exchange, Ledger
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
from dynamap_async.executor.singles import Singles
from dynamap_async.executor.slots import Slots
from dynamap_async.request import PartOfAnswer, Reader, Request, SharedDecoding
from dynamap_async.transport import UNREADABLE, damaged
from dynamap_async.turns import new_task
from dynamap_async.wire import Body

if TYPE_CHECKING:
    from dynamap_async.executor.pages import Send

logger: logging.Logger = logging.getLogger("dynamap_async")

_RECALLED_AT_ONCE: Final = 100
"""How many requests are asked for anew in one turn of the event loop: about 2 ms."""
_TURN_BYTES: Final = 100_000
"""How much is given out in one turn of the event loop: what is decoded in about 2 ms."""

UNBATCHED_SECONDS: Final = 300.0
MOST_TABLES: Final = 1_000
"""How many tables are remembered; another one that is refused again is found out again."""


class UnbatchedTables:
    """The tables whose items travel alone for now; for reads or for writes."""

    def __init__(self) -> None:
        self.until: Final[dict[str, float]] = {}
        """Table -> the event loop's time until which that is remembered."""

    def remember(self, table: str) -> None:
        """Record that an item of a table was refused in a batch and then accepted alone."""
        if table not in self:
            logger.warning("%s is refused in batches and accepted alone; it is sent alone for 5 minutes", table)
        now = asyncio.get_running_loop().time()
        self.until.pop(table, None)  # so that those come first that are forgotten first
        if len(self.until) >= MOST_TABLES:
            for each in list(self.until)[: MOST_TABLES // 2]:
                del self.until[each]
        self.until[table] = now + UNBATCHED_SECONDS

    def __contains__(self, table: object) -> bool:
        if not isinstance(table, str) or table not in self.until:
            return False
        if self.until[table] > asyncio.get_running_loop().time():
            return True
        del self.until[table]
        return False


_AT_ONCE: Final = float("-inf")


class BatchSchedule:
    """The moments at which one lane's calls are sent."""

    def __init__(
        self,
        queues: Queues,
        slots: Slots,
        *,
        most: int,
        window_seconds: float,
        carry_next: Callable[[Priority], None],
    ) -> None:
        """Create it with nothing scheduled.

        Args:
            queues: what waits.
            slots: how many requests travel at the same time.
            most: so many requests wait for no others.
            window_seconds: how long a request waits for others.
            carry_next: carries the next batch of a priority, for which a slot was taken.
        """
        self._queues: Final = queues
        self._slots: Final = slots
        self._most: Final = most
        self._window_seconds: Final = window_seconds
        self._carry_next: Final = carry_next
        self._due: float | None = None
        """When what is queued has waited long enough for others; None while nothing is."""
        self._scheduled: asyncio.Handle | None = None
        self._soon = False
        """Whether what is scheduled comes at the end of this tick."""
        self._led: Call | None = None
        """The call whose caller looks after it when this tick is over."""
        self._leader: tuple[asyncio.Task[Any], int] | None = None
        """That caller, and how often it was cancelled before."""
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
        """See to it that what is queued is sent: at the end of this tick, or when it has waited for others."""
        if self._soon and self._reserved is None:
            return  # as most of those who come in a tick find (benchmarks: concurrent_gets_400)
        urgency = self._queues.urgency()
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
        due = self._is_due()
        if self._scheduled is not None:
            if self._soon or not due:
                return
            self._scheduled.cancel()
        self._soon = due
        self._scheduled = loop.call_soon(self._send_due) if due else loop.call_at(self._due, self._window_over)

    def lead(self, call: Call) -> bool:
        """Return whether the caller of a call that has just been queued looks after it when this tick is over.

        It then asks ``is_left_to``. Meanwhile others may come, and the call is sent with them.

        Args:
            call: what was queued.
        """
        if self._led is not None or not self._soon or call.joined or not self._queues.has_only(call):
            return False
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - reads are awaited in tasks
        self._led, self._leader = call, (task, task.cancelling())
        return True

    def is_left_to(self, call: Call) -> bool:
        """Return whether nothing but a call that is looked after has come, so that its caller sends it, or wakes this.

        Args:
            call: what ``lead`` was asked of.
        """
        if self._led is not call:
            return False
        self._led = self._leader = None
        return True

    def stop(self) -> None:
        """Schedule nothing any more."""
        for waiting in (self._scheduled, self._reserved):
            if waiting is not None:
                waiting.cancel()

    def _is_due(self) -> bool:
        due = self._due
        if due is not None and due <= asyncio.get_running_loop().time():
            return True
        return self._queues.has(self._most)

    def _window_over(self) -> None:
        self._due = _AT_ONCE
        self._send_due()

    def _unschedule(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled, self._soon = None, False

    def _send_due(self) -> None:
        self._unschedule()
        if self._led is not None:
            if self._queues.has_only(self._led):
                return  # its caller comes next
            task, cancelled_before = self._leader or (None, 0)
            if task is not None and task.cancelling() > cancelled_before:
                self._led.waiters[0].future.cancel()  # it waits for this tick, so that asyncio did not do so
            self._led = self._leader = None
        while (urgency := self._queues.urgency()) is not None and self._is_due() and self._slots.try_take(urgency):
            self._carry_next(urgency)
        if urgency is None:
            self._due = None
        elif self._is_due():
            self._unschedule()  # a withdrawn write may have let the next of its line in meanwhile
            self._reserved = self._slots.reserve(urgency)
            self._reserved_for = urgency
            self._reserved.add_done_callback(partial(self._send_reserved, urgency))
        else:
            self.wake()

    def _send_reserved(self, priority: Priority, reserved: asyncio.Future[None]) -> None:
        """Use a slot that was waited for; others may wait for the next one."""
        if self._reserved is reserved:
            self._reserved = None
        if reserved.cancelled():
            return
        if self._queues.urgency() == priority:
            self._carry_next(priority)
        else:
            self._slots.release(priority)
        if self._reserved is None:
            self._send_due()


AnswersByIdentity = dict[str, Body]
"""What an answer says of each identity."""


class _EndOfTick:
    """Awaited, it lets everything run that is ready to: what ``asyncio.sleep(0)`` does, which costs more."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Lane:
    """The calls about single items that a session has on their way: all of its reads, or all of its writes."""

    def __init__(
        self,
        rules: Rules,
        policy: BatchPolicy,
        *,
        send: Send,
        ledger: Ledger,
        slots: Slots,
        retries: Retries,
        admission: Admission,
        singles: Singles,
        ended: Callable[[], None],
    ) -> None:
        """Create a lane with nothing queued.

        Args:
            rules: what shares a call, and what takes turns.
            policy: how many share a call, and how long they wait for each other.
            send: sends a request once.
            ledger: counts what happens.
            slots: how many requests travel at the same time.
            retries: what is sent again, and when.
            admission: who may be sent.
            singles: sends reads that travel alone.
            ended: called whenever calls are answered or given up.
        """
        self._rules: Final = rules
        self._policy: Final = policy
        self._send: Final = send
        self._ledger: Final = ledger
        self._slots: Final = slots
        self._retries: Final = retries
        self._admission: Final = admission
        self._singles: Final = singles
        self._ended: Final = ended
        self._most: Final = min(policy.max_keys, rules.most) if policy.enabled else 1
        self._queues: Final = Queues(rules.groups)
        self._schedule: Final = BatchSchedule(
            self._queues, slots, most=self._most, window_seconds=policy.window_seconds, carry_next=self._carry_next
        )
        self._unbatched: Final = UnbatchedTables()
        self._backoffs: Final = Backoffs(retries, self._close_one)
        self._recalled: Final[deque[Call]] = deque()
        """What was queued, and is asked for anew because its table needs units now."""
        self._deadline: Callable[[], float] = deadline_now
        self._held: Final[dict[asyncio.Task[None], Priority]] = {}
        """The slots of those tasks whose exchanges are not over."""
        self.open: Final[set[Call]] = set()
        """Every call that is neither answered nor given up."""
        self.tasks: Final[dict[asyncio.Task[None], list[Call]]] = {}
        """One for each exchange, with what it carries."""

    def start(self, deadline: Callable[[], float]) -> None:
        """Get ready on the running event loop.

        Args:
            deadline: returns the event loop's time after which the current task does not wait.
        """
        self._deadline = deadline

    # What is asked for

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
        call, future = self._enter(request, deadline, payer, patient=True)
        future.add_done_callback(partial(self._left, call))
        return future

    async def answer(self, request: Request, payer: Account | None = None) -> Body:
        """Queue a single-item request and wait for its answer; arguments and errors are those of ``submit``."""
        # Without a callback of the future, which would cost a turn of the event loop (benchmarks: concurrent_gets_400).
        call, future = self._enter(request, None, payer)
        try:
            if not self._rules.writes and self._schedule.lead(call):
                await _EndOfTick()
                if not self._leaves_to_caller(call):
                    return await future
            else:
                return await future
        except asyncio.CancelledError:
            if not future.cancel() and not future.cancelled():
                future.exception()  # the answer came in the same moment: asyncio must not report it as lost
            if self._schedule.is_left_to(call):
                self._schedule.wake()
            self._left(call, future)
            raise
        # A read alone needs no task of its own; a write does, to keep its turn when its caller leaves.
        answer = await self._singles.carry(call)
        self._rules.learn_of_call(call, answer)
        return answer

    def submit_chunk(
        self, chunk: Chunk, deadline: float, payer: Account | None, apart: Apart
    ) -> asyncio.Future[Body] | None:
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
        loop, ticket = asyncio.get_running_loop(), None
        now = loop.time()
        if not chunk.waits and not self._admission.is_free(chunk.asked):
            ticket = self._admission.takes_chunk(chunk, Priority.INTERACTIVE if payer is None else payer.priority, now)
            if ticket is None and not self._admission.lets_wait(chunk):
                return None
        until = deadline if payer is None else min(deadline, payer.deadline)
        number = self._ledger.queued(chunk.asked, chunk.size)
        waiter = Waiter(loop.create_future(), until, number, now, payer)
        call = Call(chunk.asked, [waiter], chunk, apart)
        call.patient, call.ticket = True, ticket
        self.open.add(call)
        self._rules.add(call, shares=False)
        waiter.future.add_done_callback(partial(self._left, call))
        if self._ledger.observed:
            waiter.future.add_done_callback(partial(self._tell_of_end, call))
        self._let_in(call)
        self._schedule.wake()
        return waiter.future

    def withdraw(self, futures: Collection[asyncio.Future[Body]]) -> None:
        """Cancel those futures of ``submit`` and ``submit_chunk`` whose calls were never sent."""
        for call in tuple(self.open):
            if not call.attempts:
                for waiter in call.waiters:
                    if waiter.future in futures:
                        waiter.future.cancel()

    def recall(self, table: str) -> None:
        """Let what is queued for a table wait for units after all, a part of it in each turn of the event loop."""
        self._recalled.extend(self._queues.take_out_all(table))
        self._let_in_recalled()

    def abandon(self) -> None:
        """Give up every open call, each with what is known of it; the session is closing."""
        for call in tuple(self.open):
            self._give_up(call, given_up(call))
        self._backoffs.clear()
        self._queues.clear()
        self._recalled.clear()
        for task in self.tasks:
            task.cancel()
        self._schedule.stop()

    def _enter(
        self, request: Request, deadline: float | None, payer: Account | None, *, patient: bool = False
    ) -> tuple[Call, asyncio.Future[Body]]:
        """Queue a single-item request; return its call and the future of its answer.

        Whoever cancels the future calls ``_left``.
        """
        loop, ledger, rules = asyncio.get_running_loop(), self._ledger, self._rules
        until = self._deadline() if deadline is None else deadline
        shares = self._policy.enabled and request.batchable
        joined, reserved = rules.joins(request) if shares else None, None
        if joined is not None:
            joined = self._joined(joined, request, payer)
        if payer is not None:
            until = min(until, payer.deadline)
            if payer.limited:
                # What joins another takes nothing more.
                estimate = (0, 0) if joined is not None else ledger.estimate(request)
                reserved = payer.reserve(request, estimate)
        waiter = Waiter(loop.create_future(), until, ledger.queued(request), loop.time(), payer, reserved)
        if joined is not None:
            self._join(joined, waiter)
            call = joined
        else:
            call = Call(request, [waiter], consistent=bool(request.body.get("ConsistentRead")))
            if patient or reserved is not None:
                call.patient = patient
                self._hold(call, waiter.account)
            self.open.add(call)
            if rules.add(call, shares=shares):
                self._begin(call)
            else:
                self._wait_in_line(call)
        if reserved is not None or ledger.observed:
            self._note_end(call, waiter)
        return call, waiter.future

    def _note_end(self, call: Call, waiter: Waiter) -> None:
        """Let a waiter's end be noted by its account, and by the observers."""
        if waiter.reserved is not None:
            waiter.future.add_done_callback(waiter.ended)
        if self._ledger.observed:
            waiter.future.add_done_callback(partial(self._ledger.done, waiter.number, call))

    def _hold(self, call: Call, payer: Account | None) -> None:
        """Let a new call go when the budget of its scope has room for it, if that is limited."""
        if payer is not None and payer.limited:
            estimates, go_on = self._ledger.estimates, partial(self._let_go_on_within, call)
            call.holds = (Hold(payer, call.request, estimates, go_on),)

    def _joined(self, call: Call, request: Request, payer: Account | None) -> Call | None:
        """Return the call that a request joins; None if it needs one of its own."""
        if any(hold.account is payer for hold in call.holds):
            return call
        if call.is_held:
            return None  # nobody waits for the budget of another
        if payer is not None and payer.limited:
            hold = Hold(payer, request, self._ledger.estimates, lambda error: None)
            if not hold.take(wait=False):
                return None
            call.holds = (*call.holds, hold)
        return call

    def _leaves_to_caller(self, call: Call) -> bool:
        """Take a read out of its queue that its caller is to send, as no other came; return False for any other."""
        schedule = self._schedule
        if not schedule.is_left_to(call):
            return False
        if call.joined or call.ticket is not None or call.urgency is not Priority.INTERACTIVE or not self._slots.free:
            schedule.wake()
            return False
        self._queues.take_out(call)
        self._rules.begin((call,))
        self.open.discard(call)
        return True

    def _join(self, call: Call, waiter: Waiter) -> None:
        call.join(waiter)
        if self._ledger.scoped:
            self._lift((call,), waiter.priority)

    def _takes(self, chunk: Chunk, payer: Account | None) -> bool:
        """Return whether a chunk may travel as a whole: what is limited is looked at item by item."""
        return (
            self._policy.enabled
            and 1 < chunk.size <= self._most
            and self._rules.takes(chunk)
            and chunk.asked.table not in self._unbatched
            and (payer is None or not payer.limited)
            and not self._ledger.expects
            and not self._admission.looks_at_partitions
        )

    def _tell_of_end(self, call: Call, future: asyncio.Future[Body]) -> None:
        for number in call.numbers:
            self._ledger.done(number, call, future)

    # What waits to be sent

    def _begin(self, call: Call) -> None:
        """Let a new call be sent: at once if it shares with none and nothing is before it, otherwise in its turn."""
        if call.holds and not self._is_within_budget(call):
            return
        shares = self._policy.enabled and call.request.batchable
        schedule = self._schedule
        if not shares and schedule.is_idle and self._admission.is_free(call.request, call):
            priority = call.urgency = call.priority
            if self._slots.try_take(priority):
                self._carry_in_task([call], priority)
                return
        self._let_in(call)
        if not shares:
            schedule.hurry()
        schedule.wake()

    def _is_within_budget(self, call: Call) -> bool:
        """Return whether a call may be sent beside others of its scope; otherwise it waits for them, or is refused."""
        try:
            if all(hold.taken or hold.take() for hold in call.holds):
                return True
        except CapacityBudgetExceededError as error:
            self._give_up(call, error)
        else:
            self._ledger.held_up(call)
        return False

    def _let_go_on_within(self, call: Call, error: CapacityBudgetExceededError | None) -> None:
        """Begin a call that has waited for the budget of its scope, or give it up."""
        if error is None:
            self._begin(call)
        else:
            self._give_up(call, error)

    def _let_in(self, call: Call) -> None:
        """Queue a call as soon as it has the units that it needs: at once, as a rule."""
        admission = self._admission
        free = admission.is_free(call.request, call)
        if not free and call.ticket is not None and call.ticket.admitted_at is not None:
            free = True  # a chunk that has its units
        if not free and call.chunk is not None and (call.attempts or not self._admission.lets_wait(call.chunk)):
            for part in self._take_apart(call, call.chunk):
                self._let_in(part)
        elif free or admission.ask(call, call.priority, partial(self._let_go_on, call)):
            self._queues.add(call, first=call.attempts > 0)

    def _let_go_on(self, call: Call) -> None:
        """Queue a call that has waited for its units."""
        self._queues.add(call)
        self._schedule.hurry()
        self._schedule.wake()

    def _wait_in_line(self, call: Call) -> None:
        """Let whatever a new call has to wait for be as urgent as it is."""
        if self._ledger.scoped:  # else all are
            self._lift(self._rules.lift(call), call.priority)

    def _lift(self, calls: Sequence[Call], priority: Priority) -> None:
        """Let calls go on with the priority of one that has come to wait for them, if that is more urgent."""
        for call in calls:
            if self._admission.waits(call):
                self._admission.lift(call, priority)
            elif priority < call.urgency and not call.on_the_wire and self._queues.take_out(call):
                self._queues.add(call, first=call.attempts > 0)
        self._schedule.wake()

    def _let_in_recalled(self) -> None:
        left = _RECALLED_AT_ONCE
        while self._recalled and left > 0:
            call = self._recalled.popleft()
            left -= call.parts
            if call.wanted:
                self._let_in(call)
            elif call in self.open:  # so that nobody waits behind it until it has units that it does not need
                self._close_one(call)
        self._schedule.wake()
        if self._recalled:
            asyncio.get_running_loop().call_soon(self._let_in_recalled, context=Context())

    def _again(self, batch: Sequence[Call]) -> None:
        """Queue calls that were sent before, ahead of those that came later."""
        for call in reversed(batch):
            self._let_in(call)
            self._schedule.hurry()
        self._schedule.wake()

    def _part_again(self, part: list[Call]) -> None:
        """Send a part of a batch whose answer was damaged, and nothing with it."""
        if part:
            self._queues.parts_of_refused.append(part)
            self._schedule.wake()

    def _left(self, call: Call, future: asyncio.Future[Body]) -> None:
        """Let a waiter be gone; what it was the last to wait for must not delay others."""
        if call.wanted or call not in self.open:
            return
        if future.cancelled():
            self._backoffs.withdraw(call)
            if self._admission.waits(call) or call.is_held:
                self._close_one(call)
            task = call.task
            if not self._rules.writes and task in self.tasks and not any(each.wanted for each in self.tasks[task]):
                task.cancel()
        # A transaction that waits for one of its keys must not hold up those who wait for another one.
        if call in self.open and not self._rules.has_turn(call):
            self._close_one(call)

    def _take_apart(self, call: Call, chunk: Chunk) -> list[Call]:
        """Let the requests that a chunk stands for go on in its place; return them."""
        waiter, parts = call.waiters[0], list[Call]()
        wanted, loop = not waiter.future.done(), asyncio.get_running_loop()
        requests = chunk.requests()
        tickets = self._admission.take_apart(call, requests)
        for number, request, ticket in zip(call.numbers, requests, tickets, strict=True):
            own = Waiter(loop.create_future(), waiter.deadline, number, waiter.since, waiter.account)
            part = call.part(request, own, ticket)
            parts.append(part)
            if not wanted:
                own.future.cancel()
                continue
            own.future.add_done_callback(partial(self._left, part))
            if self._ledger.observed:
                own.future.add_done_callback(partial(self._ledger.done, number, part))
        self.open.discard(call)
        self.open.update(parts)
        self._rules.replace(call, parts)
        if wanted and call.apart is not None:
            call.apart([part.waiters[0].future for part in parts])
        return parts

    # What is sent

    def _carry_next(self, priority: Priority) -> None:
        """Carry the next batch of a priority, for which a slot was taken."""
        rules, alone = self._rules, self._unbatched if self._unbatched.until else ()
        taken = self._queues.take(priority, self._most, rules.most_bytes, alone, rules.weight)
        if taken.withdrawn:
            self._close(taken.withdrawn)
        rules.begin(taken.batch)
        if taken.batch:
            self._carry_in_task(taken.batch, priority)
        else:  # nobody waits for what was queued
            self._slots.release(priority)

    def _carry_in_task(self, batch: list[Call], priority: Priority) -> None:
        # An empty context: a batch belongs to many waiters, and must not carry one's scopes, spans or log context.
        task = new_task(self._carry(batch), Context())
        self.tasks[task] = batch
        self._held[task] = priority
        for call in batch:
            call.task = task
        task.add_done_callback(self._carried)

    def _carried(self, task: asyncio.Task[None]) -> None:
        """Give the slot back, however the task ended: one that is cancelled before it begins runs none of its code."""
        batch = self.tasks.pop(task)
        if task.cancelled() or task.exception() is not None:
            for call in batch:
                self._give_up(call, interrupted(call))
        if task in self._held:
            self._give_slot_back(task)

    def _give_slot_back(self, task: asyncio.Task[None] | None) -> None:
        """Give the slot of a task back whose exchange is over."""
        if task is not None and (priority := self._held.pop(task, None)) is not None:
            self._slots.release(priority)

    async def _carry(self, batch: list[Call]) -> None:
        """Send what a batch carries, and let each of its calls learn what became of it."""
        self._begin_attempts(batch)
        if not batch:
            return
        first = batch[0]
        read: tuple[AnswersByIdentity, Leftovers] | None = None
        try:
            request = self._request_of(batch)
            exchange = self._ledger.sent(request, batch)
            try:
                answer = await self._send(request)
                read = self._read(batch, answer, exchange)
            except BaseException as error:
                if isinstance(error, Exception):
                    self._take_apart_carried(batch, exchange)
                self._ledger.failed(exchange, request, batch, error)
                raise
            if read is None:
                self._ledger.answered(exchange, request, batch, answer)
            else:
                self._ledger.answered(exchange, request, batch, answer, *_left_over(batch, read[1]), read[0])
        except Exception as error:  # noqa: BLE001 - see `_failed`
            self._failed(batch, error)
        else:
            if read is None:
                self._answered(first, answer)
            else:
                self._answered_in_parts(batch, *read)

    def _begin_attempts(self, batch: list[Call]) -> None:
        """Take out of a batch what nobody waits for any more, or may send; of the others an attempt begins now."""
        scoped, now = self._ledger.scoped, asyncio.get_running_loop().time()
        unwanted: list[Call] = []
        for call in batch:
            if scoped:
                call.refuse_those_out_of_requests()
            if call.wanted:
                call.attempts += 1
                if call.first_sent is None:
                    call.first_sent = now
                call.on_the_wire = True
            else:
                unwanted.append(call)
        if unwanted:
            batch[:] = [call for call in batch if call.on_the_wire]
            self._close(unwanted)

    def _request_of(self, batch: Sequence[Call]) -> Request:
        first = batch[0]
        if len(batch) > 1:
            return self._rules.batch(batch)
        return first.request if first.chunk is None else first.chunk.call()

    def _take_apart_carried(self, batch: list[Call], exchange: Exchange | None) -> None:
        """Take the chunk apart that a batch consists of, if it does."""
        call = batch[0]
        if call.chunk is not None:
            # In place: what the task carries, and what the exchange carries, is this list.
            batch[:] = self._take_apart(call, call.chunk)
            if exchange is not None:
                exchange.taken_apart(call, batch)

    # What becomes of it

    def _read(
        self, batch: list[Call], answer: Body, exchange: Exchange | None
    ) -> tuple[AnswersByIdentity, Leftovers] | None:
        """Return what the answer to a batch says of each identity, and what it left over; None of one call.

        Raises:
            DamagedResponseError: it cannot be read, or speaks of other items.
        """
        first = batch[0]
        if first.chunk is not None and (self._ledger.expects or not first.chunk.takes(answer)):
            self._take_apart_carried(batch, exchange)
        if len(batch) == 1:
            return None
        request = first.request
        try:
            parts, leftovers = self._rules.parts(batch, answer)
        except UNREADABLE as error:
            raise damaged(request, "the answer to its batch has entries of no known form") from error
        if not (parts.keys() | leftovers.all) <= {call.identity for call in batch}:
            raise damaged(request, "the answer to its batch has items that were not asked for")
        self._rules.learn(batch, parts)
        return parts, leftovers

    def _answered(self, call: Call, answer: Body) -> None:
        """Give a call the answer to an exchange that carried nothing else."""
        self._retries.succeeded(call.attempts)
        call.on_the_wire = False
        if call.refused_in_batch:
            self._unbatched.remember(call.request.table)
        self._give_slot_back(call.task)  # first, so that whoever is answered finds it free
        self._rules.learn_of_call(call, answer)
        call.answer(answer)
        self._close((call,))

    def _answered_in_parts(self, batch: Sequence[Call], parts: AnswersByIdentity, leftovers: Leftovers) -> None:
        """Give each call of a batch its part of the answer, and send again what was left over."""
        self._retries.succeeded(max([call.attempts for call in batch]))
        cut: list[Call] = []
        throttled: list[Call] = []
        answered: deque[Call] = deque()
        for call in batch:
            call.on_the_wire = False
            if call.identity in leftovers.cut:
                call.attempts -= 1
                cut.append(call)
            elif call.identity in leftovers.throttled:
                throttled.append(call)
            else:
                if call.refused_in_batch:
                    self._unbatched.remember(call.request.table)
                answered.append(call)
        self._give_out(answered, parts)
        if cut:
            self._again(cut)
        if throttled:
            failed = [(each, own_failure(self._retries, each, unprocessed(each))) for each in throttled]
            self._backoffs.begin(failed, self._again)

    def _give_out(self, answered: deque[Call], parts: AnswersByIdentity) -> None:
        """Give every call its part of an answer: at once, or where they are large, with a turn for others between.

        The waiters decode their items as soon as they have them, all of a turn in the next one, and together where they
        read them alike.
        """
        size = 0
        nothing: Body = {}
        alike: dict[Reader, SharedDecoding] = {}
        given: list[Call] = []
        while answered and size < _TURN_BYTES:
            call = answered.popleft()
            if part := parts.get(call.identity):
                size += self._rules.weight(call)
                reader = call.request.reader
                if reader is not None and isinstance(part, PartOfAnswer):
                    shared = alike.get(reader)
                    if shared is None:
                        shared = alike[reader] = SharedDecoding(reader)
                    part.read_with(shared)
            call.answer(part or nothing)
            given.append(call)
        self._close(given)
        if answered:
            asyncio.get_running_loop().call_soon(partial(self._give_out, answered, parts), context=Context())

    def _failed(self, batch: Sequence[Call], error: Exception) -> None:
        """Let an exchange have failed; whatever it is, those who wait must learn of it, and nobody else will."""
        if isinstance(error, (ServiceError, TransportError)):
            self._refused(batch, error)
        elif len(batch) > 1 and not isinstance(error, UsageError):
            # Most likely it is one call's own, whose values cannot be encoded: nothing else is sent before that.
            for call in batch:
                call.on_the_wire = False
                call.outcome_unknown |= call.request.writes and not isinstance(error, EncodeError)
            self._split(batch, error)
        else:
            for call in batch:
                self._give_up(call, error)

    def _refused(self, batch: Sequence[Call], error: ServiceError | TransportError) -> None:
        failed = [(call, own_failure(self._retries, call, error)) for call in batch]
        for call in batch:
            call.on_the_wire = False
        if len(batch) > 1 and refuses_some(error):
            self._split(batch, error)
            return
        again: list[Failed] = []
        for call, own in failed:
            if (answer := recognised(call, own)) is not None:
                call.answer(answer)
                self._close_one(call)
            elif self._retries.worth_another(own, call):
                again.append((call, own))
            else:
                self._give_up(call, unrecognised(call, own))
        if len(again) > 1 and isinstance(error, DamagedResponseError) and any(call.attempts > 1 for call, _ in again):
            # It was damaged again, which may be one item's doing. Whatever is, the parts wait and are paid for.
            own_errors = dict(again)
            for part in self._parts([call for call, _ in again], error):
                self._backoffs.begin([(call, own_errors[call]) for call in part], self._part_again)
        else:
            self._backoffs.begin(again, self._again)

    def _split(self, batch: Sequence[Call], error: Exception) -> None:
        """Send the parts of a refused batch apart, so that what is wrong with one item is that item's error only."""
        self._queues.parts_of_refused.extend(self._parts(batch, error))
        self._schedule.wake()

    def _parts(self, batch: Sequence[Call], error: Exception) -> list[list[Call]]:
        """Return the parts of a batch that are sent apart, for which the attempt that failed does not count."""
        parts = parts_of_refused(batch, by_item=refused_by_name(error))
        self._ledger.split(self._rules.batch(batch), batch, len(parts), error)
        for call in batch:
            call.attempts -= 1
        return parts

    def _give_up(self, call: Call, error: Exception) -> None:
        call.fail(error)
        self._close_one(call)

    def _close_one(self, call: Call) -> None:
        self._close((call,))

    def _close(self, calls: Sequence[Call]) -> None:
        """Let go of calls that are answered, given up or withdrawn; those that waited for their turns begin."""
        rules = self._rules
        for call in calls:
            if (rules.writes or not call.attempts) and call in self.open:
                for after in rules.remove(call):
                    if rules.has_turn(after):
                        self._begin(after)
            self.open.discard(call)
            if call.holds:
                call.give_back()
            if call.ticket is not None:
                self._admission.leave(call)
        if calls:
            self._ended()


def _left_over(batch: Sequence[Call], leftovers: Leftovers) -> tuple[Sequence[Call], Sequence[Call]]:
    """Return what was left over, and what of that for want of capacity."""
    if leftovers is NO_LEFTOVERS or not (left_over := leftovers.all):
        return (), ()
    throttled = [each for each in batch if each.identity in leftovers.throttled]
    return [each for each in batch if each.identity in left_over], throttled
