"""Sealing: when the requests that wait together become a call.

A batch is sealed at the end of the loop tick that opened it at the earliest, and only when a slot is free. While all
slots are busy, waiting requests accumulate, so batches grow with the load, without any timer.

Invariant: while anything waits, exactly one thing is scheduled: the end of this tick, of the window, or a slot.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from dynamap_async.config import Priority
from dynamap_async.executor.slots import Slots

_AT_ONCE: Final = float("-inf")


class Sealing:
    """The moments at which one coalescer's calls are sealed."""

    def __init__(
        self,
        slots: Slots,
        window_seconds: float,
        *,
        urgency: Callable[[], Priority | None],
        full: Callable[[], bool],
        carry_next: Callable[[Priority], None],
    ) -> None:
        """Begin with nothing scheduled.

        Args:
            slots: how many requests travel at the same time.
            window_seconds: how long a request waits for others.
            urgency: the priority of the most urgent that waits; None if nothing does.
            full: whether what waits need not wait for others.
            carry_next: carries the next call of a priority, for which a slot was taken.
        """
        self._slots: Final = slots
        self._window_seconds: Final = window_seconds
        self._urgency: Final = urgency
        self._full: Final = full
        self._carry_next: Final = carry_next
        self._due: float | None = None
        """When what is queued has waited long enough for others; None while nothing is."""
        self._scheduled: asyncio.Handle | None = None
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
        """See to it that what is queued is sealed: at the end of this tick, or when it has waited for others."""
        scheduled = self._scheduled
        if scheduled is not None and self._reserved is None and not isinstance(scheduled, asyncio.TimerHandle):
            return  # at the end of this tick, as most of those who come in it find (benchmarks: concurrent_gets_400)
        urgency = self._urgency()
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
        if self._scheduled is not None:
            if not (isinstance(self._scheduled, asyncio.TimerHandle) and self._is_due()):
                return
            self._scheduled.cancel()
        self._scheduled = loop.call_soon(self._seal) if self._is_due() else loop.call_at(self._due, self._window_over)

    def stop(self) -> None:
        """Schedule nothing any more."""
        for waiting in (self._scheduled, self._reserved):
            if waiting is not None:
                waiting.cancel()

    def _is_due(self) -> bool:
        return self._full() or (self._due is not None and self._due <= asyncio.get_running_loop().time())

    def _window_over(self) -> None:
        self._due = _AT_ONCE
        self._seal()

    def _unschedule(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None

    def _seal(self) -> None:
        self._unschedule()
        while (urgency := self._urgency()) is not None and self._is_due() and self._slots.try_take(urgency):
            self._carry_next(urgency)
        if urgency is None:
            self._due = None
        elif self._is_due():
            self._unschedule()  # a withdrawn write may have let the next of its line in meanwhile
            self._reserved = self._slots.reserve(urgency)
            self._reserved_for = urgency
            self._reserved.add_done_callback(partial(self._seal_one, urgency))
        else:
            self.wake()

    def _seal_one(self, priority: Priority, reserved: asyncio.Future[None]) -> None:
        """Use a slot that was waited for; others may wait for the next one."""
        if self._reserved is reserved:
            self._reserved = None
        if reserved.cancelled():
            return
        if self._urgency() == priority:
            self._carry_next(priority)
        else:
            self._slots.release(priority)
        if self._reserved is None:
            self._seal()
