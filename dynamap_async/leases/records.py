"""Leases as they are stored: to find one, take it, renew it, and give it back is one request each.

Invariant: each taking of a lease has a fence of its own, a number that is higher than all before it. What is written
for a taking is written on condition of its fence, so that a holder that lost the lease without knowing is refused.

Nothing here waits or renews by itself. ``Lease`` does, for one block of code; who holds many leases keeps them as
records.
"""

from __future__ import annotations

import getpass
import os
import platform
import secrets
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

from dynamap_async.errors import ConditionalCheckFailedError, LeaseLostError, ServiceError
from dynamap_async.executor import Executor, gather_all
from dynamap_async.expressions import Condition
from dynamap_async.models import Attr, attr
from dynamap_async.operations import Check, Delete, Find, SingleRequest, Update
from dynamap_async.operations.library_table import OwnItem
from dynamap_async.planning import Context
from dynamap_async.schema import RecordKind

L = TypeVar("L", bound="LeaseItem")
R = TypeVar("R")

LEASE_SECONDS: Final = 15.0
"""How long a holder goes on without having renewed its lease."""
PATIENCE: Final = 1.2
"""How many times as long others wait before they take it: clocks run apart, and requests take time to arrive."""


class LeaseItem(OwnItem, defer_build=True):
    """A lease as it is stored. It is never deleted while it may be taken, because its fence must not begin anew."""

    fence: Attr[int] = attr(default=0)
    """The number of the last taking."""
    owner: Attr[str | None] = attr(default=None)
    """Who has it; None where nobody has."""
    beat: Attr[int] = attr(default=0)
    """How often it was renewed since it was taken."""
    seconds: Attr[float] = attr(default=LEASE_SECONDS)
    """How long its owner goes on without having renewed it."""
    position: Attr[str | None] = attr(default=None)
    """How far the work has come that the lease is for; None where no holder has said."""


class LeaseCheck(Check):
    """Demand of a transaction that a lease is still of this taking."""

    __slots__ = ("_name",)

    def __init__(self, name: str, fence: int) -> None:
        """Name the taking.

        Args:
            name: the name of the lease.
            fence: the number of the taking.
        """
        super().__init__(LeaseItem, RecordKind.LEASE.key(name), where=LeaseItem.fence == fence)
        self._name = name

    def failed(self, error: ServiceError) -> Exception:
        """Return the error that says who has the lease now.

        Args:
            error: the refusal.
        """
        failure = super().failed(error)
        if not isinstance(failure, ConditionalCheckFailedError):
            return failure
        now = failure.item.owner if isinstance(failure.item, LeaseItem) else None
        return lease_lost(self._name, "Nothing was written", now)


class LeaseRecords(Generic[L]):
    """Leases in a session's library table. Each call sends one request, and is told what is stored then."""

    def __init__(
        self, executor: Executor, context: Context, item: type[L], kind: RecordKind = RecordKind.LEASE
    ) -> None:
        """Take what requests need; nothing is sent yet.

        Args:
            executor: carries the requests out.
            context: what the session adds to each operation.
            item: what a lease is stored as.
            kind: what the keys of these leases begin with.
        """
        self._executor: Final = executor
        self._context: Final = context
        self._item: Final = item
        self._kind: Final = kind

    async def find(self, name: str) -> L | None:
        """Return a lease as it is stored now; None where it was never taken.

        Args:
            name: the name of the lease.
        """
        return await self._carry_out(self._find(name, alone=True))

    async def find_all(self, names: Sequence[str]) -> dict[str, L]:
        """Return leases as they are stored now, by their names, without those that were never taken.

        Args:
            names: the names of the leases.
        """
        found: list[L | None] = await gather_all([self._carry_out(self._find(name)) for name in names])
        return {name: lease for name, lease in zip(names, found, strict=True) if lease is not None}

    async def take(
        self,
        name: str,
        found: LeaseItem | None,
        *,
        owner: str | None,
        seconds: float,
        values: Mapping[str, Any] = MappingProxyType({}),
    ) -> L | None:
        """Take a lease as it was found, and return it; None where somebody else has taken or renewed it since.

        Whether its holder may be passed over is for the caller to know; see ``LeaseWatch``.

        Args:
            name: the name of the lease.
            found: what ``find`` returned.
            owner: who takes it; see ``new_owner``. None to have it taken from its owner, and free.
            seconds: how long the owner goes on without having renewed it.
            values: field -> what else is to be stored of it; None for nothing.
        """
        # On condition of the beat too: the holder may have renewed it since it was found.
        as_found: Condition = LeaseItem.pk.missing()
        fence = 1
        if found is not None:
            as_found = (LeaseItem.fence == found.fence) & (LeaseItem.beat == found.beat)
            as_found &= LeaseItem.owner.missing() if found.owner is None else LeaseItem.owner == found.owner
            fence = found.fence + 1
        taking = {"owner": owner, "seconds": seconds, "fence": fence, "beat": 0, **values}
        return await self._written(self._update(self._kind.key(name), taking).upsert().where(as_found), owner)

    async def renew(
        self,
        held: LeaseItem,
        *,
        position: str | None = None,
        values: Mapping[str, Any] = MappingProxyType({}),
        beats: int = 1,
    ) -> L | None:
        """Renew a lease, and return it; None where somebody else has taken it since.

        Args:
            held: the lease, as it was taken or renewed last.
            position: how far the work has come, to be stored with the renewal; None to leave what is stored.
            values: field -> what else is to be stored with it; None for nothing.
            beats: what is added to the beat; 0 where another one than its owner writes, which tells nothing of that.
        """
        stored = dict(values) if position is None else {"position": position, **values}
        renewal = self._update(held.pk, stored).add(LeaseItem.beat, beats)
        return await self._written(renewal.where(LeaseItem.fence == held.fence), stored.get("owner", held.owner))

    async def give_back(self, held: LeaseItem) -> bool:
        """Give a lease back, so that the next one can take it at once; return False where somebody else has it.

        Args:
            held: the lease, as it was taken or renewed last.
        """
        giving = self._update(held.pk, {"owner": None}).where(LeaseItem.fence == held.fence)
        return await self._written(giving, held.owner) is not None

    async def remove(self, name: str) -> None:
        """Remove a lease, if the like of it is never taken again: its fence would begin anew.

        Args:
            name: the name of the lease.
        """
        await self._carry_out(Delete(self._item, self._kind.key(name)))

    def _find(self, name: str, *, alone: bool = False) -> Find[L]:
        return Find(self._item, self._kind.key(name), consistent_read=True, coalesce=not alone)

    def _update(self, key: str, values: Mapping[str, Any]) -> Update[L, L]:
        update: Update[L, L] = Update(self._item, key)
        for name, value in values.items():
            field = getattr(self._item, name)
            update = update.remove(field) if value is None else update.set(field, value)
        return update

    async def _written(self, update: Update[L, L], owner: str | None) -> L | None:
        """Carry an update out; return the lease then, or None if the condition does not hold."""
        try:
            return await self._carry_out(update)
        except ConditionalCheckFailedError as error:
            # Where an answer was lost, the update may have been done before its repetition was refused: then the owner
            # is still this one.
            stored = error.item if isinstance(error.item, self._item) else None
            return stored if error.outcome_unknown and stored is not None and stored.owner == owner else None

    async def _carry_out(self, operation: SingleRequest[R]) -> R:
        request = operation.request(self._context)
        try:
            answer = await self._executor.send(request)
        except ServiceError as error:
            failure = operation.failed(error)
            if failure is error:
                raise
            raise failure from error
        return operation.result(answer, self._context)


class LeaseWatch:
    """Tells when a lease can be taken from its holder.

    That is so where the holder was seen not to renew it for longer than it goes on without. Holder and watcher measure
    spans, each by a clock of its own; no two clocks are compared.
    """

    def __init__(self) -> None:
        """Begin to watch."""
        self._seen: tuple[int, int] | None = None
        """Taking and renewal, as they were seen last."""
        self._since = 0.0

    def is_overdue(self, found: LeaseItem, now: float) -> bool:
        """Return whether a lease was seen not to be renewed for too long.

        Args:
            found: the lease, as it is stored now.
            now: this process's time in seconds, of a clock that is never set.
        """
        if self._seen != (found.fence, found.beat):
            self._seen, self._since = (found.fence, found.beat), now
        return now - self._since >= found.seconds * PATIENCE


def new_owner() -> str:
    """Return a name for one holder that nobody else has: user, machine and process as people know them, and a word."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may have no name for its user
        user = "somebody"
    return f"{user}@{platform.node() or 'unknown'}, process {os.getpid()}, {secrets.token_hex(4)}"


def lease_lost(name: str, what: str, holder: str | None = None) -> LeaseLostError:
    """Return the error of a lease that another process may have by now.

    Args:
        name: the name of the lease.
        what: what became of the work, as a sentence without its point.
        holder: who has it now, where that is known.
    """
    now = "another process may have it" if holder is None else f"{holder} has it"
    return LeaseLostError(
        f"the lease {name!r} was lost: this process did not renew it in time, and {now}. {what}; begin again",
        lease=name,
    )
