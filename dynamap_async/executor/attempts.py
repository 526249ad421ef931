"""Attempts: a request is sent once, within its time, and the form of its answer is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.errors import ServiceError
from dynamap_async.executor.consumed import metered
from dynamap_async.request import Request
from dynamap_async.transport import damage_of, damage_of_refusal, too_slow
from dynamap_async.wire import Body

if TYPE_CHECKING:
    from dynamap_async.executor.pages import Send


class Attempts:
    """The attempts that are under way. Each may take so long in all, from its first byte out to its last byte in.

    A timeout of one read does not end an answer that trickles in. ``asyncio.timeout`` would, but it needs a timer for
    each request. Here one timer serves all attempts: all may take equally long, so they come due in the order in which
    they began.

    Invariant: a task has at most one attempt under way. A task that is cancelled here, and by nobody else, goes on
    uncancelled with a RequestTimeoutError. No timer is left once ``close`` was called.
    """

    def __init__(self, send: Send, seconds: float, asking: Callable[[Request], Request] = metered) -> None:
        """Begin without any attempt under way.

        Args:
            send: the transport's function that sends a request once.
            seconds: how long an attempt may take; infinity for no limit.
            asking: has the answer to a request report what it took.
        """
        self._asking: Final = asking
        self._transport_send: Final = send
        self._seconds: Final = seconds
        self._due: Final[dict[asyncio.Task[Any], float]] = {}
        """Each task with an attempt -> the event loop's time at which that has to be over, the earliest first."""
        self._ended: Final[set[asyncio.Task[Any]]] = set()
        """Those that were cancelled because their attempt took too long."""
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, request: Request) -> Body:
        """Send a request once, and return its answer if it has the form that an answer to this operation must have.

        Raises:
            ServiceError: DynamoDB refused the request.
            RequestTimeoutError: it took too long.
            TransportError: no answer came, or one that cannot be right.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None  # noqa: S101 - requests are sent in tasks
        cancelled_before = task.cancelling()
        due = self._due[task] = loop.time() + self._seconds
        if self._timer is None and due < inf:
            self._timer = loop.call_at(due, self._end_overdue, due)
        try:
            answer = await self._transport_send(self._asking(request))
        except asyncio.CancelledError:
            if task in self._ended and self._take_back(task) <= cancelled_before:
                raise too_slow(request, self._seconds) from None
            raise
        except ServiceError as error:
            if (damage := damage_of_refusal(request, error)) is not None:
                raise damage from error
            raise
        finally:
            del self._due[task]
            if self._ended and task in self._ended:
                self._take_back(task)
        if (damage := damage_of(request, answer)) is not None:
            raise damage
        return answer

    def _take_back(self, task: asyncio.Task[Any]) -> int:
        """Undo the cancellation of a task by this class; return how many cancellations by others it has."""
        self._ended.discard(task)
        return task.uncancel()

    def _end_overdue(self, until: float) -> None:
        """Cancel the tasks whose attempts were due by this time, and set the timer for the next one."""
        # ``until`` is compared, not the clock, for the event loop calls a timer a little too early.
        self._timer = None
        for task, due in self._due.items():
            if due > until:
                self._timer = asyncio.get_running_loop().call_at(due, self._end_overdue, due)
                break
            if task not in self._ended:
                self._ended.add(task)
                task.cancel()

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
