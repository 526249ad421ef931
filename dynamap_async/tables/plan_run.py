"""The application of a plan, as ``session.tables.apply`` returns it: to be awaited, or watched step by step."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeAlias

from dynamap_async.errors import SessionStateError
from dynamap_async.errors.habits import IteratedByAsyncFor
from dynamap_async.executor import BoundCoroutine
from dynamap_async.tables.applying import AppliedPlan, StepProgress, Watch
from dynamap_async.turns import new_task

_CarryOut: TypeAlias = Callable[[Watch], Coroutine[Any, Any, AppliedPlan]]


class PlanRun(IteratedByAsyncFor, BoundCoroutine[AppliedPlan]):
    """The application of a plan; ``session.tables.apply`` returns it.

    Await it for what was done, or iterate over it: ``async for event in session.tables.apply(plan)`` gives each step
    that came to another state. Leaving the loop stops it; DynamoDB goes on with what was sent. ``async with`` ends it
    at a place that you can see. It is gone through once.

    Args:
        carry_out: carries the plan out, and tells a function of each step that comes to another state.
        watch: is told of each step as well.
    """

    __slots__ = ("_begun", "_carry_out", "_ended", "_events", "_task", "_watch")

    def __init__(self, carry_out: _CarryOut, watch: Watch | None) -> None:
        super().__init__()
        self._carry_out = carry_out
        self._watch = watch
        self._events: asyncio.Queue[StepProgress | None] = asyncio.Queue()
        self._task: asyncio.Task[AppliedPlan] | None = None
        self._begun = self._ended = False

    def __del__(self) -> None:
        if not getattr(self, "_begun", True):
            message = "a plan that was to be applied was never awaited"
            warnings.warn(message, RuntimeWarning, stacklevel=1, source=self)
        task = getattr(self, "_task", None)
        if task is not None and not _is_over(task) and not task.get_loop().is_closed():
            task.cancel()

    def _run(self) -> Coroutine[Any, Any, AppliedPlan]:
        if self._task is not None:
            raise SessionStateError(
                "the plan is being carried out already; make a new one with session.tables.plan(...)"
            )
        self._begun = True
        return self._carry_out(self._watch or _tell_nobody)

    async def __aenter__(self) -> Self:
        self._begun = True
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop; afterwards nothing is under way but what DynamoDB does."""
        self._begun = self._ended = True
        if self._task is not None and not _is_over(self._task):
            self._task.cancel()
            await asyncio.wait((self._task,))
            _is_over(self._task)

    def close(self) -> None:
        """End the coroutine; for event loops."""
        self._begun = True
        super().close()

    def __aiter__(self) -> Self:
        self._begun = True
        return self

    async def __anext__(self) -> StepProgress:
        """Return the next step whose state changed. A cancelled call loses nothing.

        Raises:
            PlanHazardError: as all others, as ``session.tables.apply`` says.
        """
        if self._ended:
            raise StopAsyncIteration
        self._begun = True
        if self._task is None:
            self._task = new_task(_tell_all(self._carry_out, self._events, self._watch))
        event = await self._events.get()
        if event is not None:
            return event
        self._ended = True
        await self._task
        raise StopAsyncIteration


async def _tell_all(
    carry_out: _CarryOut, events: asyncio.Queue[StepProgress | None], watch: Watch | None
) -> AppliedPlan:
    """Apply a plan, and queue the steps to tell; at the end, None. It refers to no ``PlanRun``."""

    def tell(event: StepProgress) -> None:
        if watch is not None:
            watch(event)
        events.put_nowait(event)

    try:
        return await carry_out(tell)
    finally:
        events.put_nowait(None)


def _is_over(task: asyncio.Task[Any]) -> bool:
    """Return whether a task has ended; its error, if any, counts as retrieved."""
    return task.done() and (task.cancelled() or bool(task.exception()) or True)


def _tell_nobody(_: StepProgress) -> None:
    """Ignore a step."""
