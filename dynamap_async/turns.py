"""Turns of the event loop: large work is done in slices of about 2 ms, and one slice in a turn, whoever does it.

Invariant: of all tasks of an event loop that pause here, one goes on in each turn, in the order in which they paused.
"""

import asyncio
import time
from collections import deque
from collections.abc import Generator
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

R = TypeVar("R")

SLICE_SECONDS: Final = 0.002
"""How long work goes on without a pause."""
_LONG_SECONDS: Final = 0.001
"""Items of which so many take longer are done fewer at a time."""


class Pace:
    """When one task's work pauses, and how many items it does until it looks at the clock again."""

    __slots__ = ("_looked", "_most", "_since", "items")

    def __init__(self, items: int, most: int) -> None:
        """Begin to work.

        Args:
            items: how many items are done before the first look, at least 1.
            most: how many are done at most between two looks.
        """
        self.items: int = items
        self._most: Final = most
        self.begin()

    def begin(self) -> None:
        """Begin to work, or go on after a wait: other tasks have just had their turn."""
        self._since = self._looked = time.perf_counter()

    def is_over(self) -> bool:
        """Look at the clock after some items; return whether other tasks are to have their turn before the next."""
        now = time.perf_counter()
        took, self._looked = now - self._looked, now
        if took > _LONG_SECONDS:
            self.items = max(1, self.items // 2)
        elif self.items < self._most:
            self.items = min(self._most, self.items + max(1, self.items // 2))
        return now - self._since > SLICE_SECONDS

    async def pause(self) -> None:
        """Let other tasks have their turn."""
        await next_turn()
        self.begin()


class _Line:
    """The tasks of one event loop that wait for a turn."""

    def __init__(self) -> None:
        self._waiting: Final[deque[asyncio.Future[None]]] = deque()

    def join(self, waiter: "asyncio.Future[None]") -> None:
        if not self._waiting:
            waiter.get_loop().call_soon(self._admit)
        self._waiting.append(waiter)

    def _admit(self) -> None:
        """Let the first go on, unless it was cancelled."""
        waiting = self._waiting
        while waiting:
            waiter = waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        if waiting:
            waiting[0].get_loop().call_soon(self._admit)


_lines: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]] = WeakKeyDictionary()
"""One for each event loop, which is what all sessions on it share."""


async def next_turn() -> None:
    """Let other tasks run, and go on in a turn of the event loop in which nobody else does who paused here."""
    loop = asyncio.get_running_loop()
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Line()
    waiter: asyncio.Future[None] = loop.create_future()
    line.join(waiter)
    await waiter


async def in_turns(work: Generator[None, None, R]) -> R:
    """Do work that yields wherever it may pause, and return what it returns; errors are its own.

    It begins in a turn of its own: where many answers arrive in one, the beginnings alone would take long.
    """
    while True:
        await next_turn()
        since = time.perf_counter()
        while time.perf_counter() - since <= SLICE_SECONDS:
            try:
                next(work)
            except StopIteration as end:
                result: R = end.value
                return result
