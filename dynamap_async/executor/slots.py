"""Slots: how many requests travel at the same time.

Invariant: a slot is held for one HTTP exchange and nothing else, and there are no more slots than connections, so that
nobody queues unseen inside the HTTP client. Of equal priority, whoever waits for one gets it in turn: pages, batches,
single requests. What is less urgent never holds all of them, unless there is only one. Background work begins with one
request at a time, and each that ends while others wait lets one more go at once: where a table has nothing left for it,
it finds out with one call on its way, not with dozens, whose refusals would be those of handlers too.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from dynamap_async.config import Priority
from dynamap_async.errors import ConfigurationError

_KEPT: Final = {Priority.INTERACTIVE: 0, Priority.BATCH: 8, Priority.BACKGROUND: 2}
"""One of so many slots is kept for what is more urgent; 0 for none."""
_LEAST_URGENT_LAST: Final = tuple(Priority)
_LEAST_URGENT_FIRST: Final = _LEAST_URGENT_LAST[::-1]
# As names of this module, for they are looked at for each request.
_INTERACTIVE: Final = Priority.INTERACTIVE
_BACKGROUND: Final = Priority.BACKGROUND
_TURNS: Final = 8
"""Of so many slots that are given back while all priorities wait, one goes to what is least urgent."""


class Slots:
    """A counted number of slots, given out to the most urgent first, and among those first come, first served."""

    def __init__(self) -> None:
        self.free: int = 0
        """How many slots nobody holds."""
        self._held = dict.fromkeys(Priority, 0)
        self._most = dict.fromkeys(Priority, 0)
        self._waiting: dict[Priority, OrderedDict[asyncio.Future[None], None]] = {
            priority: OrderedDict() for priority in Priority
        }
        self._in_line = 0
        """How many wait, with those who were cancelled and are still in line. While nobody does, as mostly, a slot is
        taken and given back without a look at the lines (benchmarks: get_one)."""
        self._turns = 0
        self._background = 1
        """How many slots background work may hold, as far as it has come since it began."""

    def open(self, total: int) -> None:
        """Set how many slots there are; before, there are none.

        Raises:
            ConfigurationError: there would be none, so that nothing could be sent.
        """
        if total < 1:
            raise ConfigurationError(f"max_pool_connections={total}: give a number from 1 up")
        self.free = total
        for priority, part in _KEPT.items():
            self._most[priority] = max(1, total - -(-total // part)) if part else total

    def try_take(self, priority: Priority = Priority.INTERACTIVE) -> bool:
        """Take a slot if one is free and nobody as urgent waits for it; return whether it was taken."""
        if self.free == 0 or (priority is not _INTERACTIVE and not self._may_take(priority)):
            return False
        if self._in_line and any(waiting and urgency <= priority for urgency, waiting in self._waiting.items()):
            return False
        self.free -= 1
        self._held[priority] += 1
        return True

    def reserve(self, priority: Priority = Priority.INTERACTIVE) -> asyncio.Future[None]:
        """Join the line for a slot: the future is done when one was taken. See ``leave``."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[priority][waiter] = None
        self._in_line += 1
        return waiter

    def leave(self, waiter: asyncio.Future[None], priority: Priority = Priority.INTERACTIVE) -> None:
        """Leave the line, and give back the slot if one was taken meanwhile."""
        if waiter in self._waiting[priority]:
            del self._waiting[priority][waiter]
            self._in_line -= 1
        if not waiter.cancel() and not waiter.cancelled():
            self.release(priority)

    async def take(self, priority: Priority = Priority.INTERACTIVE) -> None:
        """Wait for a slot and take it. A cancelled wait takes none."""
        if self.try_take(priority):
            return
        waiter = self.reserve(priority)
        try:
            await waiter
        except asyncio.CancelledError:
            self.leave(waiter, priority)
            raise

    def release(self, priority: Priority = Priority.INTERACTIVE) -> None:
        """Give a slot back, or over to the first who waits and may have it."""
        self.free += 1
        self._held[priority] -= 1
        if priority is _BACKGROUND:
            self._background_ended()
        if not self._in_line:
            return
        self._turns += 1
        for urgency in _LEAST_URGENT_LAST if self._turns % _TURNS else _LEAST_URGENT_FIRST:
            waiting = self._waiting[urgency]
            while waiting and self._may_take(urgency):
                waiter, _ = waiting.popitem(last=False)
                self._in_line -= 1
                if not waiter.done():
                    self.free -= 1
                    self._held[urgency] += 1
                    waiter.set_result(None)

    def _background_ended(self) -> None:
        if self._waiting[Priority.BACKGROUND]:
            self._background = min(self._background + 1, self._most[Priority.BACKGROUND])
        elif self._held[Priority.BACKGROUND] == 0:
            self._background = 1

    def _may_take(self, priority: Priority) -> bool:
        """Return whether a slot is free, and what is no more urgent holds fewer than it may."""
        if self.free == 0:
            return False
        if priority is _INTERACTIVE:
            return True
        if priority is Priority.BACKGROUND and self._held[priority] >= self._background:
            return False
        held = sum(number for urgency, number in self._held.items() if urgency >= priority)
        return held < self._most[priority]
