"""Lanes: requests that wait together travel together, reads in one lane, writes in another.

A call that may share a request with others is sent when the loop tick that opened it has ended, and when a slot is
free. While all slots are busy, calls wait in queues, so batches grow with the load, without any timer. A read that is
alone in its tick goes through no queue: its caller carries it, as a GetItem. Reads are not ordered against writes.

A chunk, which one caller asked for, is one thing while all goes well. If something is not plain (items left over, a
refusal, an answer that cannot be read, a table whose units are counted from now on), it is taken apart into the
requests of single items that it stands for. These go on in its place, as if they had shared its call. So what is sent
again, split and failed is decided in one place for both.

Invariant: an open call is in exactly one place: waiting for its budget or for units, the first of its tick, in a queue,
behind another write of its key, in the batch of one task, in the task of its caller, or waiting out a backoff. A call
that nobody waits for any more is not sent. A chunk is either open as a whole or taken apart, never both. It stands in
the line of each key that it writes, where it was the first when it was accepted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Generator, Sequence
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Final

from dynamap_async.config import BatchPolicy, Priority
from dynamap_async.errors import CapacityBudgetExceededError
from dynamap_async.executor.accounts import Account, Hold
from dynamap_async.executor.admission import Admission
from dynamap_async.executor.anyio_scopes import deadline_now
from dynamap_async.executor.batches import Queues, Rules
from dynamap_async.executor.calls import Apart, Call, CallState, Chunk, Waiter
from dynamap_async.executor.carrier import Carrier
from dynamap_async.executor.ledger import Ledger
from dynamap_async.executor.retry import Retries
from dynamap_async.executor.slots import Slots
from dynamap_async.request import Request
from dynamap_async.wire import Body

if TYPE_CHECKING:
    from dynamap_async.executor.pages import Send

_RECALLED_AT_ONCE: Final = 100
"""How many requests are asked for anew in one turn of the event loop: about 2 ms."""

_AT_ONCE: Final = float("-inf")
_ENDED: Final = CallState.ENDED  # as a name of this module, for it is looked at for each request


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
        """Create a schedule with nothing in it.

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
        self.has_window: Final[bool] = window_seconds > 0
        """Whether requests wait for others longer than this tick."""
        self._carry_next: Final = carry_next
        self._due: float | None = None
        """When what is queued has waited long enough for others; None while nothing is."""
        self._scheduled: asyncio.Handle | None = None
        self._soon = False
        """Whether what is scheduled comes at the end of this tick."""
        self._reserved: asyncio.Future[None] | None = None
        self._reserved_for = Priority.INTERACTIVE

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits."""
        return self._scheduled is None and self._reserved is None

    def hurry(self) -> None:
        """Make what is queued due now, without a wait for others."""
        self._due = _AT_ONCE

    def wake(self) -> None:
        """Schedule what is queued: for the end of this tick, or for the end of its window."""
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
            ended: called whenever calls are answered or given up.
        """
        self._rules: Final = rules
        self._policy: Final = policy
        self._ledger: Final = ledger
        self._slots: Final = slots
        self._admission: Final = admission
        self._ended: Final = ended
        self._most: Final = min(policy.max_keys, rules.most) if policy.enabled else 1
        self._queues: Final = Queues()
        self._schedule: Final = BatchSchedule(
            self._queues, slots, most=self._most, window_seconds=policy.window_seconds, carry_next=self._carry_next
        )
        self._carrier: Final = Carrier(
            self, rules, send=send, ledger=ledger, slots=slots, retries=retries, admission=admission
        )
        self.tasks: Final = self._carrier.tasks
        """The tasks of batches, one for each exchange, with what it carries."""
        self._first: Call | None = None
        """The read that opened this tick, while no other has come that it may share a call with."""
        self._recalled: Final[deque[Call]] = deque()
        """What was queued, and is asked for anew because its table needs units now."""
        self._deadline: Callable[[], float] = deadline_now
        self.open: Final[set[Call]] = set()
        """Every call that is neither answered nor given up."""

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
        call, waiter = self._enter(request, deadline, payer, patient=True)
        self._note_end(call, waiter)
        waiter.future.add_done_callback(partial(self._left, call))
        return waiter.future

    async def answer(self, request: Request, payer: Account | None = None) -> Body:
        """Queue a single-item request and wait for its answer; arguments and errors are those of ``submit``."""
        call, waiter = self._enter(request, None, payer)
        # A read that is alone needs no queue and no task: it is known at the end of this tick. A write needs a task, to
        # keep its turn when its caller leaves.
        if self._first is call and await self._stays_alone(call, waiter):
            return await self._carrier.carry(call)
        if waiter.reserved is not None or self._ledger.observed:
            self._note_end(call, waiter)
        try:
            # Without a callback of the future, which would cost a turn of the event loop (benchmarks:
            # concurrent_gets_400).
            return await waiter.future
        except asyncio.CancelledError:
            self._leave(call, waiter)
            raise

    async def answer_alone(self, request: Request, payer: Account | None = None) -> Body:
        """Carry out a request that shares a call with none and takes no turns, in the task of whoever waits for it.

        Raises:
            CapacityBudgetExceededError: it would take more than the account may.
        """
        until, reserved, ledger = self._deadline(), None, self._ledger
        if payer is not None:
            until = min(until, payer.deadline)
            if payer.limited:
                reserved = payer.reserve(request, ledger.estimate(request))
        loop = asyncio.get_running_loop()
        waiter = Waiter(loop.create_future(), until, ledger.queued(request), loop.time(), payer, reserved)
        call = Call(request, [waiter])
        self.open.add(call)
        return await self._carrier.carry(call)

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
        if not chunk.waits and not self._admission.may_go_now(chunk.asked):
            ticket = self._admission.takes_chunk(chunk, Priority.INTERACTIVE if payer is None else payer.priority, now)
            if ticket is None and not self._admission.lets_wait(chunk):
                return None
        until = deadline if payer is None else min(deadline, payer.deadline)
        number = self._ledger.queued(chunk.asked, chunk.size)
        waiter = Waiter(loop.create_future(), until, number, now, payer)
        call = Call(chunk.asked, [waiter], chunk, apart, patient=True)
        call.ticket = ticket
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
        """Ask again for the units of what is queued for a table, some in each turn of the event loop."""
        self._recalled.extend(self._queues.take_out_all(table))
        self._let_in_recalled()

    def abandon(self) -> None:
        """Give up every open call, each with what is known of it; the session is closing."""
        for call in tuple(self.open):
            self._carrier.abandon(call)
        self._first = None
        self._carrier.stop()
        self._queues.clear()
        self._recalled.clear()
        self._schedule.stop()

    def _enter(
        self, request: Request, deadline: float | None, payer: Account | None, *, patient: bool = False
    ) -> tuple[Call, Waiter]:
        """Queue a single-item request, or let it be the first of this tick; return its call and who waits for it.

        Whoever cancels the waiter's future calls ``_left``.
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
            call = Call(request, [waiter], consistent=bool(request.body.get("ConsistentRead")), patient=patient)
            if patient or reserved is not None:
                self._hold(call, waiter.account)
            self.open.add(call)
            if not rules.add(call, shares=shares):
                self._wait_in_line(call)
            elif rules.writes or not shares or not self._opens_tick(call):
                self._begin(call)
        return call, waiter

    def _note_end(self, call: Call, waiter: Waiter) -> None:
        """Have a waiter's end noted by its account, and by the observers."""
        if waiter.reserved is not None:
            waiter.future.add_done_callback(waiter.ended)
        if self._ledger.observed:
            waiter.future.add_done_callback(partial(self._ledger.done, waiter.number, call))

    def _hold(self, call: Call, payer: Account | None) -> None:
        """Bind a new call to the budget of its scope, if that is limited: the call begins when there is room for it."""
        if payer is not None and payer.limited:
            estimates, go_on = self._ledger.estimates, partial(self._let_go_on_within, call)
            call.set_aside(Hold(payer, call.request, estimates, go_on))

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
            call.set_aside(hold)
        return call

    def _opens_tick(self, call: Call) -> bool:
        """Make a read the first of this tick, if it can be sent at its end and nothing waits; return whether it is."""
        schedule = self._schedule
        if (
            self._first is not None
            or call.patient
            or call.holds
            or not schedule.is_idle
            or schedule.has_window
            or call.priority is not Priority.INTERACTIVE
            or not self._admission.may_go_now(call.request, call)
        ):
            return False
        self._first = call
        return True

    async def _stays_alone(self, call: Call, waiter: Waiter) -> bool:
        """Wait for the end of the tick that a read has opened; return whether its caller is to carry it.

        If not, it is queued.
        """
        try:
            await _EndOfTick()
        except BaseException:
            self._note_end(call, waiter)
            self._leave(call, waiter)
            if self._first is call:  # it is in no queue, from which it would be taken
                self._first = None
                self.close((call,))
            raise
        if self._first is not call:
            return False  # another came, and queued it
        # If anything else waits, or no slot is free, it takes its turn, and shares a call with those who come later.
        if self._schedule.is_idle and self._slots.free:
            self._first = None
            self._rules.begin((call,))
            return True
        self._queue_first()
        self._schedule.wake()
        return False

    def _queue_first(self) -> None:
        """Queue the read that has opened this tick: others have come, or have to go before it."""
        if (call := self._first) is not None:
            self._first = None
            self._let_in(call)

    def _leave(self, call: Call, waiter: Waiter) -> None:
        """Withdraw a waiter whose task was cancelled."""
        if not waiter.future.cancel() and not waiter.future.cancelled():
            waiter.future.exception()  # the answer came in the same moment: asyncio must not report it as lost
        self._left(call, waiter.future)

    def _join(self, call: Call, waiter: Waiter) -> None:
        call.join(waiter)
        if call is self._first:
            self._queue_first()
            self._schedule.wake()
        if self._ledger.scoped:
            self._lift((call,), waiter.priority)

    def _takes(self, chunk: Chunk, payer: Account | None) -> bool:
        """Return whether a chunk may travel as a whole: what is limited is looked at item by item."""
        return (
            self._policy.enabled
            and 1 < chunk.size <= self._most
            and self._rules.takes(chunk)
            and chunk.asked.table not in self._carrier.unbatched
            and (payer is None or not payer.limited)
            and not self._ledger.expects
            and not self._admission.looks_at_partitions
        )

    def _tell_of_end(self, call: Call, future: asyncio.Future[Body]) -> None:
        for number in call.numbers:
            self._ledger.done(number, call, future)

    # What waits to be sent

    def _begin(self, call: Call) -> None:
        """Send a new call at once if it shares with none and nothing is before it; otherwise queue it."""
        if call.holds and not self._is_within_budget(call):
            return
        shares = self._policy.enabled and call.request.batchable
        schedule = self._schedule
        if not shares and schedule.is_idle and self._admission.may_go_now(call.request, call):
            priority = call.urgency = call.priority
            if self._slots.try_take(priority):
                self._carrier.carry_in_task([call], priority)
                return
        if self._first is not None:
            self._queue_first()
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
            self._carrier.give_up(call, error)
        else:
            self._ledger.held_up(call)
        return False

    def _let_go_on_within(self, call: Call, error: CapacityBudgetExceededError | None) -> None:
        """Begin a call that has waited for the budget of its scope, or give it up."""
        if error is None:
            self._begin(call)
        else:
            self._carrier.give_up(call, error)

    def _let_in(self, call: Call) -> None:
        """Queue a call as soon as it has the units that it needs: at once, as a rule."""
        admission = self._admission
        free = admission.may_go_now(call.request, call)
        if not free and call.ticket is not None and call.ticket.admitted_at is not None:
            free = True  # a chunk that has its units
        if not free and call.chunk is not None and (call.attempts or not self._admission.lets_wait(call.chunk)):
            for part in self.take_apart(call, call.chunk):
                self._let_in(part)
        elif free or admission.ask(call, call.priority, partial(self._let_go_on, call)):
            self._queues.add(call, first=call.attempts > 0)

    def _let_go_on(self, call: Call) -> None:
        """Queue a call that has waited for its units."""
        self._queues.add(call)
        self._schedule.hurry()
        self._schedule.wake()

    def _wait_in_line(self, call: Call) -> None:
        """Make the calls that a new call has to wait for as urgent as it is."""
        if self._ledger.scoped:  # else all are
            self._lift(self._rules.lift(call), call.priority)

    def _lift(self, calls: Sequence[Call], priority: Priority) -> None:
        """Raise the priority of calls to that of a call that has come to wait for them."""
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
                self.close((call,))
        self._schedule.wake()
        if self._recalled:
            asyncio.get_running_loop().call_soon(self._let_in_recalled, context=Context())

    def queue_again(self, calls: Sequence[Call], /) -> None:
        """Queue calls that were sent before, ahead of those that came later."""
        for call in reversed(calls):
            self._let_in(call)
            self._schedule.hurry()
        self._schedule.wake()

    def queue_parts(self, parts: Sequence[list[Call]], /) -> None:
        """Queue batches that are sent before everything else, each by itself."""
        self._queues.parts_of_refused.extend(parts)
        self._schedule.wake()

    def _left(self, call: Call, future: asyncio.Future[Body]) -> None:
        """Withdraw a call whose last waiter has left, so that it does not delay others."""
        if call.wanted or call not in self.open:
            return
        if future.cancelled():
            self._carrier.withdraw(call)
            if self._admission.waits(call) or call.is_held:
                self.close((call,))
        # A transaction that waits for one of its keys must not hold up those who wait for another one.
        if call in self.open and not self._rules.has_turn(call):
            self.close((call,))

    def take_apart(self, call: Call, chunk: Chunk, /) -> list[Call]:
        """Put the calls of a chunk's single requests in its place; return them."""
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
        call.leave_to_parts()
        self.open.discard(call)
        self.open.update(parts)
        self._rules.replace(call, parts)
        if wanted and call.apart is not None:
            call.apart([part.waiters[0].future for part in parts])
        return parts

    # What is sent

    def _carry_next(self, priority: Priority) -> None:
        """Carry the next batch of a priority, for which a slot was taken."""
        rules, unbatched = self._rules, self._carrier.unbatched
        alone = unbatched if unbatched.until else ()
        taken = self._queues.take(priority, self._most, rules.most_bytes, alone, rules.weight)
        if taken.withdrawn:
            self.close(taken.withdrawn)
        rules.begin(taken.batch)
        if taken.batch:
            self._carrier.carry_in_task(taken.batch, priority)
        else:  # nobody waits for what was queued
            self._slots.release(priority)

    def close(self, calls: Sequence[Call], /) -> None:
        """Remove calls that are answered, given up or withdrawn, and begin the calls whose turn has come."""
        rules = self._rules
        for call in calls:
            if (rules.writes or not call.attempts) and call in self.open:
                for after in rules.remove(call):
                    if rules.has_turn(after):
                        self._begin(after)
            self.open.discard(call)
            if call.state is not _ENDED:
                call.end()
            if call.holds:
                call.give_back()
            if call.ticket is not None:
                self._admission.leave(call)
        if calls:
            self._ended()
