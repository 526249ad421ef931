"""Conflicts: a change that met another writer's version is tried again, tasks of one session in turns."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from dynamap_async.errors import TransactionCanceledError, VersionConflictError
from dynamap_async.models import Model, definition_of
from dynamap_async.request import identity_of

R = TypeVar("R")

_CONFLICTS: Final = (VersionConflictError, TransactionCanceledError)
"""What a version that was not the expected one ends in."""

_FIRST_SECONDS: Final = 0.02
_LONGEST_SECONDS: Final = 1.0
_IN_TURN: Final = ContextVar("dynamap_in_turn", default=False)


class Conflicts:
    """Who of a session's tasks may change an item next, after a conflict on it."""

    def __init__(self) -> None:
        self._turns: Final[WeakValueDictionary[str, asyncio.Lock]] = WeakValueDictionary()
        """Item, or table -> the lock of those that met a conflict on it."""

    async def retry(self, change: Callable[[], Awaitable[R]], attempts: int) -> R:
        """Call a change until it meets no conflict, and return its result.

        Args:
            change: what reads, changes and writes.
            attempts: how many there are at most, from 1 up.

        Raises:
            VersionConflictError: that of the last attempt.
            TransactionCanceledError: the same, of a transaction.
        """
        try:
            return await change()
        except _CONFLICTS as error:
            if attempts == 1:
                _explain(error, attempts)
            if attempts == 1 or not _may_try_again(error):
                raise
            place = _place(error)
        if _IN_TURN.get():
            return await _repeat(change, attempts)  # two that wait inside each other's turn would wait for ever
        async with self._turns.setdefault(place, asyncio.Lock()):
            token = _IN_TURN.set(True)
            try:
                return await _repeat(change, attempts)
            finally:
                _IN_TURN.reset(token)


async def _repeat(change: Callable[[], Awaitable[R]], attempts: int) -> R:
    """Return the result of the second attempt, or of a later one."""
    pause = _FIRST_SECONDS
    for _ in range(attempts - 2):
        try:
            return await change()
        except _CONFLICTS as error:
            if not _may_try_again(error):
                raise
        await asyncio.sleep(random.uniform(0, pause))  # noqa: S311 - it keeps no secret
        pause = min(2 * pause, _LONGEST_SECONDS)
    try:
        return await change()
    except _CONFLICTS as error:
        _explain(error, attempts)
        raise


def _explain(error: VersionConflictError | TransactionCanceledError, attempts: int) -> None:
    if _may_try_again(error):
        error.add_note(f"not tried again: retry_on_conflict allows {attempts} attempts")


def _place(error: VersionConflictError | TransactionCanceledError) -> str:
    """Return the item that a conflict is about, as far as it can be told: else its table."""
    conflict = error
    if isinstance(error, TransactionCanceledError):
        conflict = next(reason.error for reason in error.failures if isinstance(reason.error, VersionConflictError))
    item: Model | None = getattr(conflict, "item", None)
    return conflict.table if item is None else identity_of(conflict.table, definition_of(type(item)).key_of(item))


def _may_try_again(error: VersionConflictError | TransactionCanceledError) -> bool:
    """Return whether versions were all that stood in the way, and nothing can have been written."""
    if error.outcome_unknown:
        return False
    if isinstance(error, VersionConflictError):
        return True
    reasons = [reason.error for reason in error.failures]
    return bool(reasons) and all(
        isinstance(reason, VersionConflictError) and not reason.outcome_unknown for reason in reasons
    )
