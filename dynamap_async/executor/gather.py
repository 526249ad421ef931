"""Several awaitables at once, as one. The first failure ends the others and is raised as itself.

Invariant: when ``gather_all`` returns or raises, nothing that it started is running.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.errors import OperationError

if TYPE_CHECKING:
    import anyio


async def gather_all(awaitables: Sequence[Awaitable[Any]]) -> list[Any]:
    """Wait for all awaitables at the same time.

    Args:
        awaitables: coroutines, builders, tasks or futures; each is awaited once.

    Returns:
        One result per awaitable, in order.

    Raises:
        OperationError: one of them cannot be awaited; then none was.
    """
    import anyio  # not every program does several things at once

    _check(awaitables)
    waiting = _Waiting(len(awaitables))
    async with anyio.create_task_group() as group:
        # Tasks of a task group live under the caller's cancel scopes, and so know its deadline.
        for position, awaitable in enumerate(awaitables):
            group.start_soon(waiting.take, position, awaitable, group.cancel_scope)
    return waiting.finish()


class _Waiting:
    """The results as they arrive, or the first failure."""

    def __init__(self, total: int) -> None:
        self._results: Final[list[Any]] = [None] * total
        self._failure: BaseException | None = None

    async def take(self, position: int, awaitable: Awaitable[Any], scope: anyio.CancelScope) -> None:
        try:
            self._results[position] = await awaitable
        except (Exception, asyncio.CancelledError) as error:
            if not scope.cancel_called:
                self._failure = error
                scope.cancel()
            elif isinstance(error, asyncio.CancelledError):
                raise

    def finish(self) -> list[Any]:
        failure, self._failure = self._failure, None
        if failure is None:
            return self._results
        try:
            raise failure
        finally:
            del failure  # else it would hold this frame, and the frame the failure


def _check(awaitables: Sequence[Awaitable[Any]]) -> None:
    wrong = [each for each in awaitables if not inspect.isawaitable(each)]
    if not wrong:
        return
    for each in awaitables:
        if inspect.iscoroutine(each):
            each.close()  # or Python would warn that it was never awaited
    raise OperationError(
        f"gather({wrong[0]!r}) needs something to await, such as session.query(...) or session.get(...); pass an "
        "operation through session.execute(...)"
    )
