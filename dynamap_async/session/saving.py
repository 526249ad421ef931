"""Saving: a session's ``save``, ``refresh``, ``replace``, and the retrying of what met another's version."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final, TypeVar

import anyio

from dynamap_async.errors import TransactionCanceledError, VersionConflictError
from dynamap_async.expressions import Condition
from dynamap_async.models import Model, definition_of
from dynamap_async.operations import Refresh, Replace, Save
from dynamap_async.planning import positive
from dynamap_async.request import identity_of
from dynamap_async.session.runner import Runner

R = TypeVar("R")
M = TypeVar("M", bound=Model)

_CONFLICTS: Final = (VersionConflictError, TransactionCanceledError)
"""What a version that was not the expected one ends in."""

_FIRST_SECONDS: Final = 0.02
_LONGEST_SECONDS: Final = 1.0
_IN_TURN: Final = ContextVar("dynamap_in_turn", default=False)


class Saving:
    """What a session does with items that it read before."""

    _runner: Runner

    async def save(self, item: M, /, *, where: Condition | None = None) -> M:
        """Write what changed of an item since it was read or written; nothing is sent if nothing did. See ``Save``."""
        return await self._runner.execute(Save(item, where=where))

    async def replace(self, item: M, /, *, where: Condition | None = None, read_first: bool = False) -> M:
        """Write all of an item, whatever its stored version, and set the version past that one. See ``Replace``."""
        return await self._runner.execute(Replace(item, where=where, read_first=read_first))

    async def refresh(self, item: M, /) -> M:
        """Read an item again into the same instance; ItemNotFoundError if it is gone. See ``Refresh``."""
        return await self._runner.execute(Refresh(item))

    async def retry_on_conflict(self, change: Callable[[], Awaitable[R]], /, *, attempts: int = 10) -> R:
        """Read, change and write, again and again until nobody else wrote in between; return what ``change`` returns.

        Only version conflicts are tried again, of single writes and of transactions. Tasks of one session that met a
        conflict on the same item take turns from then on, so that they do not keep each other from writing; where it is
        somebody else who writes, there is a random pause that doubles from 20 milliseconds to a second at most. A
        conflict whose outcome is unknown is raised at once, because the write may have been done. With
        ``attr(write_id=True)`` that is so only where another writer has come since; with ``ExactlyOnce(Save(item))``
        there is no such doubt.

        Args:
            change: called for each attempt; it must read the item itself, and is awaited.
            attempts: how many there are at most.

        Raises:
            VersionConflictError: that of the last attempt.
            OperationError: ``attempts`` is less than 1.

        Cost: for each attempt what ``change`` does; a refused write is charged as if it had been done.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBMapper.OptimisticLocking.html
        """
        positive(attempts, "retry_on_conflict(attempts=...)")
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
        turn = self._runner.writing.turns.setdefault(place, asyncio.Lock())
        async with turn:
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
        await anyio.sleep(random.uniform(0, pause))  # noqa: S311 - it keeps no secret
        pause = min(2 * pause, _LONGEST_SECONDS)
    try:
        return await change()
    except _CONFLICTS as error:
        _explain(error, attempts)
        raise


def _explain(error: VersionConflictError | TransactionCanceledError, attempts: int) -> None:
    if _may_try_again(error):
        error.add_note(f"not tried again: {attempts} attempts are all that retry_on_conflict was given")


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
