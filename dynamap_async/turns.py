"""Turns of the event loop: large work is done in slices of about 2 ms, and one slice in a turn, whoever does it.

Invariant: of all tasks of an event loop that pause here, one goes on in each turn, in the order in which they paused.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

R = TypeVar("R")

SLICE_SECONDS: Final = 0.002
"""How long work goes on without a pause."""
_LONG_SECONDS: Final = 0.001
"""How long the items between two looks at the clock are to take."""
_GROWTH: Final = 8
"""How many times as many items are done after a look, at most: the next ones may take longer than the last."""
_FIRST_OF_OTHERS: Final = 16
"""How many items are done at most before the first look, where others were done before."""


class WorkPace:
    """When one task's work pauses, and how many items it does before it looks at the clock again.

    Args:
        most: how many items are done at most between two looks at the clock, at least 1.
    """

    __slots__ = ("_looked", "_most", "_since", "items")

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self.items: int = 1
        """How many are done until the next look: as many as take about 1 ms; 1 where nothing is known of them."""
        self._since: float | None = None
        self._looked: float = 0.0

    def begin(self) -> None:
        """Start the clock, or start it again after a wait in which other tasks had their turn."""
        self._since = self._looked = time.perf_counter()

    def go_on(self) -> None:
        """Continue with other items after ``rest``; in the same turn of the event loop, its time counts."""
        self.items = min(self.items, _FIRST_OF_OTHERS)
        if self._since is None:
            self.begin()

    def rest(self) -> None:
        """Stop the clock for now; what comes in a later turn of the event loop starts it anew."""
        # In the next turn of the loop: work that goes on before that belongs to the same slice.
        asyncio.get_running_loop().call_soon(self._rested)

    def _rested(self) -> None:
        self._since = None

    def is_over(self, done: int) -> bool:
        """Look at the clock; return whether other tasks are to have their turn before the next items.

        Args:
            done: how many items were done since the last look: the last ones may be fewer than ``items``.
        """
        now = time.perf_counter()
        took, self._looked = now - self._looked, now
        # Fewer items than planned say nothing of the pace, unless they took long.
        if done >= self.items or took > _LONG_SECONDS:
            in_time = int(done * _LONG_SECONDS / took) if took > 0 else self._most
            self.items = max(1, min(self._most, _GROWTH * self.items, in_time))
        return self._since is not None and now - self._since > SLICE_SECONDS

    async def pause(self) -> None:
        """Let other tasks have their turn."""
        await next_turn()
        self.begin()


class _Turns:
    """The tasks of one event loop that wait for a turn."""

    def __init__(self) -> None:
        self._waiting: Final[deque[asyncio.Future[None]]] = deque()

    def join(self, waiter: asyncio.Future[None]) -> None:
        if not self._waiting:
            waiter.get_loop().call_soon(self._admit)
        self._waiting.append(waiter)

    def _admit(self) -> None:
        """Wake the first task that waits, unless it was cancelled."""
        waiting = self._waiting
        while waiting:
            waiter = waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        # One task for each turn, so that whatever else is ready runs between two slices.
        if waiting:
            waiting[0].get_loop().call_soon(self._admit)


_lines: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns]] = WeakKeyDictionary()
"""One for each event loop, which is what all sessions on it share."""


def new_task(coroutine: Coroutine[Any, Any, R], context: Context | None = None) -> asyncio.Task[R]:
    """Return a task that begins in the next turn of the event loop, also under an eager task factory.

    The loop's task factory is not asked: it may make tasks that begin at once (``asyncio.eager_task_factory``).

    Args:
        context: the context that it runs in; None for a copy of the current one.
    """
    return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), context=context)


async def next_turn() -> None:
    """Let other tasks run, and resume in a turn of the event loop that no other paused task resumes in."""
    loop = asyncio.get_running_loop()
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = _Turns()
    waiter: asyncio.Future[None] = loop.create_future()
    line.join(waiter)
    await waiter


async def in_turns(work: Generator[None, None, R]) -> R:
    """Run a generator that yields wherever it may pause, and return its result; errors are its own.

    It begins in a turn of its own: where many answers arrive in one, the beginnings alone would take long. And it ends
    in another one, as what becomes of the result is work, too.
    """
    while True:
        await next_turn()
        since = time.perf_counter()
        while time.perf_counter() - since <= SLICE_SECONDS:
            try:
                next(work)
            except StopIteration as end:
                result: R = end.value
                await next_turn()
                return result
