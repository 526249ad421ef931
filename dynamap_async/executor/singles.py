"""Requests that travel alone, in the task of whoever waits for them.

Invariant: when a session closes, whoever is interrupted gets an error, and its task goes on uncancelled, like one whose
``asyncio.timeout`` is over. A slot is held for one exchange, never while waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

from dynamap_async.config import Priority
from dynamap_async.errors import ServiceError, TransportError
from dynamap_async.executor.accounts import Hold
from dynamap_async.executor.admission import Admission
from dynamap_async.executor.calls import Call, Waiter
from dynamap_async.executor.ledger import Ledger
from dynamap_async.executor.retry import Retries, given_up
from dynamap_async.executor.slots import Slots
from dynamap_async.request import Request
from dynamap_async.wire import Body

if TYPE_CHECKING:
    from dynamap_async.executor.pages import Send


class Singles:
    """Sends requests one by one, in the tasks of those who wait for them: pages, and reads that are not shared."""

    def __init__(
        self,
        send: Send,
        *,
        ledger: Ledger,
        slots: Slots,
        retries: Retries,
        admission: Admission,
        ended: Callable[[], None],
    ) -> None:
        """Create it with nothing under way.

        Args:
            send: sends a request once.
            ledger: counts what happens.
            slots: how many requests travel at the same time.
            retries: what is sent again, and when.
            admission: who may be sent.
            ended: called whenever a request is answered or given up.
        """
        self._send: Final = send
        self._ledger: Final = ledger
        self._slots: Final = slots
        self._retries: Final = retries
        self._ended: Final = ended
        self._admission: Final = admission
        self.under_way: Final[dict[Call, asyncio.Task[object]]] = {}
        """What is under way, each with the task that waits for it."""
        self._interrupted: Final[set[Call]] = set()
        """What was given up: its task was cancelled here, once, which is undone when it ends."""

    async def send(self, request: Request) -> Body:
        """Carry out a request and return its answer; errors are those of ``Executor.send``."""
        loop, ledger = asyncio.get_running_loop(), self._ledger
        account = ledger.payer() if ledger.scoped else None
        until, reserved = inf, None
        if account is not None:
            until = account.deadline
            if account.limited:
                reserved = account.reserve(request, ledger.estimate(request))
        waiter = Waiter(loop.create_future(), until, ledger.queued(request), loop.time(), account, reserved)
        return await self.carry(Call(request, [waiter]))

    async def carry(self, call: Call) -> Body:
        """Carry out a request that was counted, for the one task that waits for it, and return its answer.

        Args:
            call: the request; of its waiter no more than this task itself knows.
        """
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - requests are awaited in tasks
        self.under_way[call], cancelled_before = task, task.cancelling()
        failure: type[BaseException] | None = None
        try:
            if call.waiters[0].reserved is not None and not call.holds:
                await self._within_budget(call)
            while True:
                try:
                    answer = await self._attempt(call)
                except (ServiceError, TransportError) as error:
                    call.on_the_wire = False
                    delay = self._retries.delay_before_next(call, error)
                    if delay is None:
                        raise
                else:
                    self._retries.succeeded(call.attempts)
                    return answer
                await asyncio.sleep(delay)
        except BaseException as error:
            # From the start on: whoever cancels in the turn in which the session closes may come before it does.
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
        call.holds = (hold,)
        if not hold.take():
            self._ledger.held_up(call)
            await turn

    def _end(self, call: Call, failure: type[BaseException] | None) -> None:
        task = self.under_way.pop(call)
        if call in self._interrupted:
            self._interrupted.remove(call)
            task.uncancel()
        if call.ticket is not None:
            self._admission.leave(call)
        if call.holds or call.waiters[0].reserved is not None:
            call.give_back()
        if self._ledger.observed:
            self._ledger.left(call, call.waiters[0].number, failure)
        self._ended()

    async def _attempt(self, call: Call) -> Body:
        request, ledger, account = call.request, self._ledger, call.waiters[0].account
        priority = Priority.INTERACTIVE if account is None else account.priority
        call.attempts += 1
        if call.first_sent is None:
            call.first_sent = asyncio.get_running_loop().time()
        if not self._admission.is_free(request, call):
            await self._admission.admitted(call)
        if not self._slots.try_take(priority):
            await self._slots.take(priority)
        try:
            if ledger.scoped:
                call.check_requests()
            call.on_the_wire = True
            carried = (call,)
            exchange = ledger.sent(request, carried)
            try:
                answer = await self._send(request)
            except BaseException as error:
                ledger.failed(exchange, request, carried, error)
                raise
            ledger.answered(exchange, request, carried, answer)
            return answer
        finally:
            self._slots.release(priority)

    def interrupt(self, *, writes: bool) -> None:
        """Give up what is under way, because the session closes.

        Args:
            writes: whether to give up what may write, too.
        """
        for call, task in self.under_way.items():
            if call not in self._interrupted and (writes or not call.request.writes):
                self._interrupted.add(call)
                task.cancel()


def _let_go(turn: asyncio.Future[None], error: Exception | None) -> None:
    """Let whoever waits for its turn go on, if it still does."""
    if turn.done():
        return
    if error is None:
        turn.set_result(None)
    else:
        turn.set_exception(error)
