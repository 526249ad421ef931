"""Singles: requests that travel alone, in the tasks of those who wait for them: pages, and reads that are not shared.

Invariant: whoever is interrupted because the session closes gets an error, and its task goes on uncancelled, like one
whose ``asyncio.timeout`` is over. A slot is held for one exchange, never while waiting.
"""

import asyncio
from typing import Final

from dynamap_async.executor.exchange import Exchange
from dynamap_async.executor.means import Means
from dynamap_async.executor.retry import given_up, send_with_retries
from dynamap_async.executor.sending import Sending
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Singles:
    """Sends requests one by one."""

    def __init__(self, means: Means) -> None:
        """Begin with nothing under way.

        Args:
            means: what it sends with.
        """
        self._send: Final = means.send
        self._journal: Final = means.journal
        self._ledger: Final = means.journal.ledger
        self._slots: Final = means.slots
        self._retries: Final = means.retries
        self._ended: Final = means.ended
        self._admission: Final = means.admission
        self._meters: Final = means.meters
        self.under_way: Final[dict[Sending, asyncio.Task[object] | None]] = {}
        """What is under way, each with the task that waits for it."""
        self._interrupted: Final[dict[Sending, int]] = {}
        """What was given up, with the number of times that its task was cancelled before."""

    async def send(self, request: Request) -> Body:
        """Carry out a request and return its answer; errors are those of ``Executor.send``."""
        sending = Sending(request, since=asyncio.get_running_loop().time())
        if self._ledger.scoped:
            sending.account = self._ledger.payer()
            self._ledger.reserve(sending)
        sending.waiter_id = self._journal.queued(request)
        failure: type[BaseException] | None = None
        self.under_way[sending] = asyncio.current_task()
        try:
            return await send_with_retries(self._exchange, sending, self._retries)
        except BaseException as error:
            own = given_up(sending) if self._is_interrupted(sending, error) else error
            failure = type(own)
            if own is error:
                raise
            raise own from None
        finally:
            del self.under_way[sending]
            if sending.ticket is not None:
                self._admission.leave(sending)
            if sending.reserved is not None:
                sending.give_back()
            if self._journal.observed:
                self._journal.ended(sending.waiter_id, sending, failure)
            self._ended()

    async def _exchange(self, sending: Sending) -> Body:
        request, priority = sending.request, sending.priority
        if not self._admission.is_free(request):
            await self._admission.admitted(sending)
        if not self._slots.try_take(priority):
            await self._slots.take(priority)
        try:
            sending.check_requests()
            sending.on_the_wire = True
            with Exchange(self._journal, request, (sending,), self._meters.of(request)) as exchange:
                answer = await self._send(request)
                exchange.answered(answer)
                return answer
        finally:
            self._slots.release(priority)

    def interrupt(self, *, writes: bool) -> None:
        """Give up what is under way, because the session closes.

        Args:
            writes: whether to give up what may write, too.
        """
        for sending, task in self.under_way.items():
            if task is not None and sending not in self._interrupted and (writes or not sending.request.writes):
                self._interrupted[sending] = task.cancelling()
                task.cancel()

    def _is_interrupted(self, sending: Sending, error: BaseException) -> bool:
        """Tell whether an exception is nothing but our own interruption of the task, which is undone here."""
        before, task = self._interrupted.pop(sending, None), self.under_way[sending]
        if before is None or task is None:
            return False
        return task.uncancel() <= before and isinstance(error, asyncio.CancelledError)
