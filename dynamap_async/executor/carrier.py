"""The carrier: sends calls, and decides what becomes of each.

A batch, a write, and what had to queue are carried in a task of their own. The caller of any other request carries it
in its own task, which spares it the cost of another one. Both go through the same steps: take a slot, begin an attempt,
count, send, judge, and decide whether the call is sent again. They differ in where a call waits for its next attempt:
in a queue of its lane, or in its caller's task.

Invariant: a task carries one exchange at a time, and holds one slot for it, never while it waits. Every call of an
exchange is answered, given up, queued again, or waits out a backoff. None is lost, and none learns of another's error.
When a session closes, a caller who carries its own call gets an error, and its task goes on uncancelled, like one whose
``asyncio.timeout`` is over. A call that nobody waits for any more leaves its backoff at once, so that it delays nobody.
Nobody waits past their own deadline. No timer is left when the session closes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from dynamap_async.config import Priority
from dynamap_async.errors import DamagedResponseError, EncodeError, ServiceError, TransportError, UsageError
from dynamap_async.executor.accounts import Hold
from dynamap_async.executor.admission import Admission
from dynamap_async.executor.batches import NO_LEFTOVERS, Leftovers, Rules, parts_of_refused
from dynamap_async.executor.calls import Call, Chunk, FailedCall
from dynamap_async.executor.ledger import Exchange, Ledger
from dynamap_async.executor.retry import (
    BUDGET_USED_UP,
    TOO_LATE,
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
from dynamap_async.request import PartOfAnswer, Reader, Request, SharedDecoding
from dynamap_async.transport import UNREADABLE, damaged
from dynamap_async.turns import new_task
from dynamap_async.wire import Body

if TYPE_CHECKING:
    from dynamap_async.executor.pages import Send

logger: logging.Logger = logging.getLogger("dynamap_async")

_TURN_BYTES: Final = 100_000
"""How much is given out in one turn of the event loop: what is decoded in about 2 ms."""

UNBATCHED_SECONDS: Final = 300.0
MOST_TABLES: Final = 1_000
"""How many tables are remembered; another one that is refused again is found out again."""

AnswersByIdentity = dict[str, Body]
"""What an answer says of each identity."""

Resume = Callable[[list[Call]], None]
"""Takes calls whose next attempt is due."""


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


class Backoffs:
    """The calls that wait to be sent again after a failure."""

    def __init__(self, retries: Retries, close_one: Callable[[Call], None]) -> None:
        """Begin without any.

        Args:
            retries: how often and how late something is sent again.
            close_one: takes a call that is given up, or that nobody waits for any more.
        """
        self._retries: Final = retries
        self._close_one: Final = close_one
        self._waiting: dict[Call, int] = {}
        """Each call with the number of its backoff."""
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._begun = 0

    def begin(self, failed: Sequence[FailedCall], resume: Resume) -> None:
        """Make calls that failed together wait together, or give them up, each with its own error.

        Args:
            failed: the calls, each with its own error.
            resume: takes those that are still waited for when the backoff is over.
        """
        retries = self._retries
        left = [(call, error) for call, error in failed if not self._has_used_up(call, error)]
        if not left:
            return
        delay = retries.delay(retries.attempts_for_delay([call for call, _ in left]))
        at = asyncio.get_running_loop().time() + delay
        waiting = [(call, error) for call, error in left if self._is_waited_for(call, error, at)]
        # The budget pays for what is sent again. It is asked last, so that what is given up costs nothing.
        if waiting and retries.take(waiting):
            self._wait(waiting, delay, resume)
        else:
            for call, error in waiting:
                self._give_up(call, error, BUDGET_USED_UP)

    def withdraw(self, call: Call) -> None:
        """Take a call that nobody waits for any more out of its backoff, if it is in one."""
        if self._waiting.pop(call, None) is not None:
            self._close_one(call)

    def clear(self) -> None:
        """Forget everything, and stop the timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._waiting.clear()

    def _give_up(self, call: Call, error: Exception, note: str) -> None:
        error.add_note(note)
        call.fail(error)
        self._close_one(call)

    def _has_used_up(self, call: Call, error: Exception) -> bool:
        """Give a call up that has had all of its attempts; return whether it had."""
        if not self._retries.used_up(call):
            return False
        self._give_up(call, error, self._retries.last_attempt(call))
        return True

    def _is_waited_for(self, call: Call, error: Exception, at: float) -> bool:
        """Return whether anyone can wait until a call is sent again; who cannot gets the error."""
        if call.is_too_late(at):
            self._give_up(call, error, TOO_LATE)
            return False
        call.fail_those_due(at, error)
        call.fail_those_out_of_requests(error)
        if not call.wanted:
            self._close_one(call)
        return call.wanted

    def _wait(self, failed: Sequence[FailedCall], delay: float, resume: Resume) -> None:
        self._begun += 1
        calls = [call for call, _ in failed]
        self._waiting.update(dict.fromkeys(calls, self._begun))
        self._retries.retried(failed, delay)
        end = partial(self._end, self._begun, calls, resume)
        self._timers[self._begun] = asyncio.get_running_loop().call_later(delay, end, context=Context())

    def _end(self, number: int, batch: Sequence[Call], resume: Resume) -> None:
        del self._timers[number]
        due = [call for call in batch if self._waiting.get(call) == number]
        for call in due:
            del self._waiting[call]
        resume(due)


class CallSource(Protocol):
    """Where a carrier's calls come from, and where it gives them back."""

    def queue_again(self, calls: Sequence[Call], /) -> None:
        """Queue calls that were sent before, ahead of those that came later."""

    def queue_parts(self, parts: Sequence[list[Call]], /) -> None:
        """Queue batches that are sent before everything else, each by itself."""

    def take_apart(self, call: Call, chunk: Chunk, /) -> list[Call]:
        """Put the calls of a chunk's single requests in its place; return them."""
        ...

    def close(self, calls: Sequence[Call], /) -> None:
        """Remove calls that are answered, given up or withdrawn."""


class Carrier:
    """Carries the calls of one lane."""

    def __init__(
        self,
        source: CallSource,
        rules: Rules,
        *,
        send: Send,
        ledger: Ledger,
        slots: Slots,
        retries: Retries,
        admission: Admission,
    ) -> None:
        """Begin with nothing under way.

        Args:
            source: where calls come from.
            rules: how calls share a request.
            send: sends a request once.
            ledger: counts what happens.
            slots: how many requests travel at the same time.
            retries: what is sent again, and when.
            admission: who may be sent.
        """
        self._source: Final = source
        self._rules: Final = rules
        self._send: Final = send
        self._ledger: Final = ledger
        self._slots: Final = slots
        self._retries: Final = retries
        self._admission: Final = admission
        self._backoffs: Final = Backoffs(retries, self._close_one)
        self.unbatched: Final = UnbatchedTables()
        self.tasks: Final[dict[asyncio.Task[Any], list[Call]]] = {}
        """The tasks of batches, one for each exchange, with what it carries."""
        self._held: Final[dict[asyncio.Task[Any], Priority]] = {}
        """The slots of those tasks whose exchanges are not over."""
        self._turns: Final[dict[Call, asyncio.Future[None]]] = {}
        """What those callers wait for who carry their own calls, until the backoff is over."""
        self._callers: Final[dict[Call, asyncio.Task[Any]]] = {}
        """The calls that their callers carry, each with the caller's task."""
        self._interrupted: Final[set[Call]] = set()
        """Calls whose callers' tasks were cancelled here, once, which is undone when they end."""

    # In the task of a caller who is alone

    async def carry(self, call: Call) -> Body:
        """Carry a call in the task of the one caller who waits for it, and return its answer.

        Args:
            call: it was counted, and is in no queue. Nothing is told of its waiter's end: that is done here.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - requests are awaited in tasks
        self._callers[call], cancelled_before = task, task.cancelling()
        waiter, failure = call.waiters[0], None
        priority = Priority.INTERACTIVE if waiter.account is None else waiter.account.priority
        try:
            if waiter.reserved is not None:
                await self._within_budget(call)
            while True:
                if not self._admission.may_go_now(call.request, call):
                    await self._admission.admitted(call)
                if not self._slots.try_take(priority):
                    await self._slots.take(priority)
                try:
                    await self._attempt([call], self._end_of_backoff)
                finally:
                    self._slots.release(priority)
                if waiter.future.done():
                    return waiter.future.result()
                await self._backoff_of(call)
        except BaseException as error:
            # Its cancellations count from the start: whoever cancels it in the turn in which the session closes may
            # come before the session does.
            is_ours = call in self._interrupted and task.cancelling() == cancelled_before + 1
            own = given_up(call) if is_ours and isinstance(error, asyncio.CancelledError) else error
            failure = type(own)
            if own is error:
                raise
            raise own from None
        finally:
            self._end(call, failure)

    async def _within_budget(self, call: Call) -> None:
        """Wait until a call may be sent beside others of its scope.

        Raises:
            CapacityBudgetExceededError: it would take more than is left.
        """
        account = call.waiters[0].account
        assert account is not None  # noqa: S101 - nothing else is reserved
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        hold = Hold(account, call.request, self._ledger.estimates, partial(_let_go, turn))
        call.set_aside(hold)
        if not hold.take():
            self._ledger.held_up(call)
            await turn

    async def _backoff_of(self, call: Call) -> None:
        self._turns[call] = turn = asyncio.get_running_loop().create_future()
        try:
            await turn
        finally:
            del self._turns[call]

    def _end_of_backoff(self, calls: Sequence[Call]) -> None:
        """Wake the callers who wait to send their own calls again."""
        for call in calls:
            turn = self._turns[call]
            if not turn.done():
                turn.set_result(None)

    def _end(self, call: Call, failure: type[BaseException] | None) -> None:
        """Remove a call that its caller has carried, and tell the observers of its end."""
        waiter, task = call.waiters[0], self._callers.pop(call)
        if not waiter.future.done():  # its caller was cancelled, or it could never be sent
            waiter.future.cancel()
            self._backoffs.withdraw(call)
            self._close_one(call)
        if call in self._interrupted:
            self._interrupted.remove(call)
            task.uncancel()
        if waiter.reserved is not None:
            waiter.give_back()
        if self._ledger.observed:
            self._ledger.left(call, waiter.number, failure)

    def abandon(self, call: Call) -> None:
        """Give up a call, with what is known of it, because the session closes."""
        caller = self._callers.get(call)
        if caller is None:
            self.give_up(call, given_up(call))
        else:
            self._interrupted.add(call)
            caller.cancel()

    # In a task of its own

    def carry_in_task(self, batch: list[Call], priority: Priority) -> None:
        """Carry a batch in a task of its own.

        Args:
            batch: what shares a request.
            priority: that of the slot which was taken for it.
        """
        # An empty context: a batch belongs to many waiters, and must not carry one's scopes, spans or log context.
        task = new_task(self._attempt(batch, self._source.queue_again), Context())
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
                self.give_up(call, interrupted(call))
        self._give_slot_back(task)

    def _give_slot_back(self, task: asyncio.Task[Any]) -> None:
        """Give the slot of a task back whose exchange is over, if that was not done yet."""
        if (priority := self._held.pop(task, None)) is not None:
            self._slots.release(priority)

    def withdraw(self, call: Call) -> None:
        """Remove a call that nobody waits for from its backoff, and end a task that carries only such reads.

        A write that was sent goes on, to keep its turn until it is answered.
        """
        self._backoffs.withdraw(call)
        task = call.task
        if not self._rules.writes and task in self.tasks and not any(each.wanted for each in self.tasks[task]):
            task.cancel()

    def stop(self) -> None:
        """End all tasks and backoffs; the calls in them were given up."""
        self._backoffs.clear()
        for task in self.tasks:
            task.cancel()

    # One attempt

    async def _attempt(self, batch: list[Call], again: Resume) -> None:
        """Send what a batch carries, once, and let each of its calls learn what became of it.

        Args:
            batch: what shares a request; a chunk that is taken apart is replaced in place by what it stands for.
            again: takes what is to be sent again, when it is time.
        """
        self._begin(batch)
        if not batch:
            return
        ledger, first = self._ledger, batch[0]
        is_shared = len(batch) > 1 or first.chunk is not None
        read: tuple[AnswersByIdentity, Leftovers] | None = None
        try:
            request = self._request_of(batch) if is_shared else first.request
            exchange = ledger.sent(request, batch)
            try:
                answer = await self._send(request)
                if is_shared:
                    read = self._read(batch, answer, exchange)
            except BaseException as error:
                if isinstance(error, Exception):
                    self._take_apart(batch, exchange)
                ledger.failed(exchange, request, batch, error)
                raise
            if read is None:
                ledger.answered(exchange, request, batch, answer)
            else:
                ledger.answered(exchange, request, batch, answer, *_left_over(batch, read[1]), read[0])
        except Exception as error:  # noqa: BLE001 - see `_failed`
            self._failed(batch, error, again)
        else:
            if read is None:
                self._answered(first, answer)
            else:
                self._answered_in_parts(batch, *read)

    def _begin(self, batch: list[Call]) -> None:
        """Take out of a batch what nobody waits for any more, or may send; of the others an attempt begins now."""
        scoped, now = self._ledger.scoped, asyncio.get_running_loop().time()
        unwanted: list[Call] = []
        for call in batch:
            if scoped:
                call.refuse_those_out_of_requests()
            if not call.begin_attempt(now):
                unwanted.append(call)
        if unwanted:
            batch[:] = [call for call in batch if call.on_the_wire]
            self._source.close(unwanted)

    def _request_of(self, batch: Sequence[Call]) -> Request:
        chunk = batch[0].chunk
        return self._rules.batch(batch) if chunk is None else chunk.call()

    def _take_apart(self, batch: list[Call], exchange: Exchange | None) -> None:
        """Take the chunk apart that a batch consists of, if it does."""
        call = batch[0]
        if call.chunk is not None:
            # In place: what the task carries, and what the exchange carries, is this list.
            batch[:] = self._source.take_apart(call, call.chunk)
            if exchange is not None:
                exchange.taken_apart(call, batch)

    # What becomes of it

    def _read(
        self, batch: list[Call], answer: Body, exchange: Exchange | None
    ) -> tuple[AnswersByIdentity, Leftovers] | None:
        """Return what the answer to a batch says of each identity, and what it left over; None of a whole chunk.

        Raises:
            DamagedResponseError: it cannot be read, or speaks of other items.
        """
        first = batch[0]
        if first.chunk is not None and (self._ledger.expects or not first.chunk.takes(answer)):
            self._take_apart(batch, exchange)
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
        if call.refused_in_batch:
            self.unbatched.remember(call.request.table)
        if call.task is not None:
            self._give_slot_back(call.task)  # first, so that whoever is answered finds it free
        if call.chunk is not None or call.request.batchable:
            self._rules.learn_of_call(call, answer)
        call.answer(answer)
        self._source.close((call,))

    def _answered_in_parts(self, batch: Sequence[Call], parts: AnswersByIdentity, leftovers: Leftovers) -> None:
        """Give each call of a batch its part of the answer, and send again what was left over."""
        self._retries.succeeded(max([call.attempts for call in batch]))
        cut: list[Call] = []
        throttled: list[Call] = []
        answered: deque[Call] = deque()
        for call in batch:
            call.come_back()
            if call.identity in leftovers.cut:
                call.discount_attempt()
                cut.append(call)
            elif call.identity in leftovers.throttled:
                throttled.append(call)
            else:
                if call.refused_in_batch:
                    self.unbatched.remember(call.request.table)
                answered.append(call)
        self._give_out(answered, parts)
        if cut:
            self._source.queue_again(cut)
        if throttled:
            failed = [(each, own_failure(self._retries, each, unprocessed(each))) for each in throttled]
            self._backoffs.begin(failed, self._source.queue_again)

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
        self._source.close(given)
        if answered:
            asyncio.get_running_loop().call_soon(partial(self._give_out, answered, parts), context=Context())

    def _failed(self, batch: Sequence[Call], error: Exception, again: Resume) -> None:
        """Decide what becomes of the calls of an exchange that failed.

        Whatever the error is, those who wait must learn of it here: nobody else tells them.
        """
        if isinstance(error, (ServiceError, TransportError)):
            self._refused(batch, error, again)
        elif len(batch) > 1 and not isinstance(error, UsageError):
            # Most likely it is one call's own, whose values cannot be encoded: nothing else is sent before that.
            for call in batch:
                call.come_back()
                may_have_written = call.request.writes and not isinstance(error, EncodeError)
                call.note_failure(waited=False, may_have_written=may_have_written, is_final=False)
            self._source.queue_parts(self._parts(batch, error))
        else:
            for call in batch:
                self.give_up(call, error)

    def _refused(self, batch: Sequence[Call], error: ServiceError | TransportError, again: Resume) -> None:
        failed = [(call, own_failure(self._retries, call, error)) for call in batch]
        for call in batch:
            call.come_back()
        if len(batch) > 1 and refuses_some(error):
            # So that what is wrong with one item is that item's error only.
            self._source.queue_parts(self._parts(batch, error))
            return
        worth_another: list[FailedCall] = []
        for call, own in failed:
            if (answer := recognised(call, own)) is not None:
                call.answer(answer)
                self._close_one(call)
            elif self._retries.worth_another(own, call):
                worth_another.append((call, own))
            else:
                self.give_up(call, unrecognised(call, own))
        damaged_again = isinstance(error, DamagedResponseError) and any(call.attempts > 1 for call, _ in worth_another)
        if damaged_again and len(worth_another) > 1:
            # This may be one item's doing. Whatever is, the parts wait and are paid for.
            own_errors = dict(worth_another)
            for part in self._parts(list(own_errors), error):
                self._backoffs.begin([(call, own_errors[call]) for call in part], self._queue_part)
        else:
            self._backoffs.begin(worth_another, again)

    def _queue_part(self, part: list[Call]) -> None:
        """Send a part of a batch whose answer was damaged, and nothing with it."""
        if part:
            self._source.queue_parts([part])

    def _parts(self, batch: Sequence[Call], error: Exception) -> list[list[Call]]:
        """Return the parts of a batch that are sent apart, for which the attempt that failed does not count."""
        parts = parts_of_refused(batch, by_item=refused_by_name(error))
        self._ledger.split(self._rules.batch(batch), batch, len(parts), error)
        for call in batch:
            call.discount_attempt()
        return parts

    def give_up(self, call: Call, error: Exception) -> None:
        """Give a call's waiters an error, each its own instance."""
        call.fail(error)
        self._close_one(call)

    def _close_one(self, call: Call) -> None:
        self._source.close((call,))


def _let_go(turn: asyncio.Future[None], error: Exception | None) -> None:
    """Wake whoever waits for a turn, or raise an error there, unless they have left."""
    if turn.done():
        return
    if error is None:
        turn.set_result(None)
    else:
        turn.set_exception(error)


def _left_over(batch: Sequence[Call], leftovers: Leftovers) -> tuple[Sequence[Call], Sequence[Call]]:
    """Return what was left over, and what of that for want of capacity."""
    if leftovers is NO_LEFTOVERS or not (left_over := leftovers.all):
        return (), ()
    throttled = [each for each in batch if each.identity in leftovers.throttled]
    return [each for each in batch if each.identity in left_over], throttled
