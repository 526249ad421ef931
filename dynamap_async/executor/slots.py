"""Slots: how many requests travel at the same time.

Invariant: a slot is held for one HTTP exchange and nothing else, and there are no more slots than connections, so that
nobody queues unseen inside the HTTP client. Whoever waits for one gets it in turn: pages, batches, single requests.
"""

import asyncio
from collections import deque


class Slots:
    """A counted number of slots, given out first come, first served."""

    def __init__(self) -> None:
        self._free = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def open(self, total: int) -> None:
        """Set how many slots there are; before, there are none."""
        self._free = total

    @property
    def free(self) -> int:
        """How many slots nobody holds."""
        return self._free

    def try_take(self) -> bool:
        """Take a slot if one is free and nobody waits for it; tell whether it was taken."""
        if self._free == 0 or any(not waiter.done() for waiter in self._waiting):
            return False
        self._free -= 1
        return True

    def reserve(self) -> asyncio.Future[None]:
        """Join the line for a slot: the future is done when one was taken. Cancel it to leave the line."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        return waiter

    async def take(self) -> None:
        """Wait for a slot and take it. A cancelled wait takes none."""
        if self.try_take():
            return
        waiter = self.reserve()
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back, or over to the first who waits."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
