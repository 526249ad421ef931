"""Attempts: each has so much time in all, from its first byte out to its last byte in.

A timeout of one read does not end an answer that trickles in. ``asyncio.timeout`` would, at a timer for each request;
here one timer serves all: as they may all take equally long, they come due in the order in which they began.

Invariant: a task has at most one attempt under way. A task that is cancelled here, and by nobody else, goes on
uncancelled with a RequestTimeoutError. No timer is left once ``close`` was called.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any, Final

from dynamap_async.request import Request
from dynamap_async.transport import too_slow
from dynamap_async.wire import Body

Send = Callable[[Request], Coroutine[Any, Any, Body]]


class Attempts:
    """The attempts that are under way."""

    def __init__(self, send: Send, seconds: float) -> None:
        """Begin with none.

        Args:
            send: sends a request once.
            seconds: how long that may take; infinity for as long as it likes.
        """
        self._transport_send: Final = send
        self._seconds: Final = seconds
        self._due: Final[dict[asyncio.Task[Any], float]] = {}
        """Each task with an attempt -> the event loop's time at which that has to be over, the earliest first."""
        self._ended: Final[set[asyncio.Task[Any]]] = set()
        """Those that were cancelled because their attempt took too long."""
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, request: Request) -> Body:
        """Send a request once; errors are those of the transport.

        Raises:
            RequestTimeoutError: it took too long.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None  # noqa: S101 - requests are sent in tasks
        cancelled_before = task.cancelling()
        due = self._due[task] = loop.time() + self._seconds
        if self._timer is None and due < math.inf:
            self._timer = loop.call_at(due, self._end_overdue, due)
        try:
            return await self._transport_send(request)
        except asyncio.CancelledError:
            if task in self._ended and self._take_back(task) <= cancelled_before:
                raise too_slow(request, self._seconds) from None
            raise
        finally:
            del self._due[task]
            if self._ended and task in self._ended:
                self._take_back(task)

    def _take_back(self, task: asyncio.Task[Any]) -> int:
        """Take our cancellation back; return how many there are of others."""
        self._ended.discard(task)
        return task.uncancel()

    def _end_overdue(self, until: float) -> None:
        # Not by the clock: the event loop calls what is due a little too early.
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
