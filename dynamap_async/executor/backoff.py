"""Backoffs: requests that wait before they are sent again, as far as the policy, the budget and their waiters allow.

Invariant: a request that nobody waits for any more leaves its backoff at once, so that it delays nobody; nobody waits
past its own deadline; no timer is left when the session closes.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import Final

from dynamap_async.errors import ServiceError, TransportError
from dynamap_async.executor.pending import Pending
from dynamap_async.executor.retry import TOO_LATE, Retries

Failed = tuple[Pending, ServiceError | TransportError]


class Backoffs:
    """The backoffs of a session's reads or writes."""

    def __init__(
        self, retries: Retries, resume: Callable[[Sequence[Pending]], None], close_one: Callable[[Pending], None]
    ) -> None:
        """Begin with none.

        Args:
            retries: how often and how late something is sent again.
            resume: takes the requests whose backoff is over.
            close_one: takes a request that is given up, or that nobody waits for any more.
        """
        self._retries: Final = retries
        self._resume: Final = resume
        self._close_one: Final = close_one
        self._waiting: dict[Pending, int] = {}
        """Requests, each with the number of its backoff."""
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._begun = 0

    def begin(self, failed: Sequence[Failed]) -> None:
        """Let requests that failed together wait together, or give them up, each with its own error."""
        waiting: list[Failed] = []
        for pending, error in failed:
            if pending.attempts < self._retries.policy.max_attempts:
                waiting.append((pending, error))
            else:
                error.add_note(f"not sent again: {pending.attempts} attempts are all that RetryPolicy allows")
                self._give_up(pending, error)
        if waiting and not self._retries.take():
            for pending, error in waiting:
                error.add_note("not sent again: the session's retry budget is spent")
                self._give_up(pending, error)
        elif waiting:
            self._wait(waiting, self._retries.delay(max(pending.attempts for pending, _ in waiting)))

    def withdraw(self, pending: Pending) -> None:
        """Take a request that nobody waits for any more out of its backoff, if it is in one."""
        if self._waiting.pop(pending, None) is not None:
            self._close_one(pending)

    def clear(self) -> None:
        """Forget everything, and stop the timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._waiting.clear()

    def _give_up(self, pending: Pending, error: Exception) -> None:
        pending.fail(error)
        self._close_one(pending)

    def _wait(self, failed: Sequence[Failed], delay: float) -> None:
        loop = asyncio.get_running_loop()
        self._begun += 1
        begun: list[Failed] = []
        for pending, error in failed:
            if pending.is_too_late(loop.time() + delay):
                error.add_note(TOO_LATE)
                pending.fail(error)
            pending.fail_those_due(loop.time() + delay, error)
            pending.fail_those_out_of_requests(error)
            if not pending.wanted:
                self._close_one(pending)
                continue
            self._waiting[pending] = self._begun
            begun.append((pending, error))
        self._retries.journal.retried(begun, delay)
        end = partial(self._end, self._begun, [pending for pending, _ in failed])
        self._timers[self._begun] = loop.call_later(delay, end, context=Context())

    def _end(self, number: int, batch: Sequence[Pending]) -> None:
        del self._timers[number]
        due = [pending for pending in batch if self._waiting.get(pending) == number]
        for pending in due:
            del self._waiting[pending]
        self._resume(due)
