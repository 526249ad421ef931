"""Checkpoints: who of a group of workers has which shard, and how far it was handled, as that is stored.

Invariant: what is written for a taking of a shard is written on condition of its fence, so that a worker that lost the
shard without knowing is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol

from dynamap_async.executor import Executor
from dynamap_async.leases import LeaseItem, LeaseRecords
from dynamap_async.models import Attr, attr
from dynamap_async.planning import Context
from dynamap_async.schema import RecordKind

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class ShardRecord(LeaseItem, defer_build=True):
    """What is stored of one shard, for one group of workers; its ``position`` is how far it was handled.

    The record of a group as a whole, which says what is known of the stream's shards, has the same form.
    """

    state: Attr[Literal["done"] | None] = attr(default=None)
    """``done`` once the last change of the shard was handled."""
    ended: Attr[float | None] = attr(default=None)
    """When that was, in epoch seconds."""
    asker: Attr[str | None] = attr(default=None)
    """The worker that asks the owner for the shard."""
    looks: Attr[int] = attr(default=0)
    """Of the record of a group: how often a worker has begun to look which shards there are."""


class Checkpoints(Protocol):
    """Where a consumer keeps who has which shard, and how far it was handled.

    Whoever keeps them elsewhere than in the library's own table writes these four methods.
    """

    async def find_all(self, names: Sequence[str]) -> Mapping[str, ShardRecord]:
        """Return records as they are stored now, by their names, without those that do not exist.

        Args:
            names: the names of the records.
        """
        ...

    async def take(
        self,
        name: str,
        found: ShardRecord | None,
        *,
        owner: str | None,
        seconds: float,
        values: Mapping[str, Any] = _NOTHING,
    ) -> ShardRecord | None:
        """Store another owner of a record, and return it; None if its fence, beat or owner are not as they were found.

        The fence becomes one more than it was, and the beat 0.

        Args:
            name: the name of the record.
            found: the record as it was found; None where it did not exist.
            owner: who has it from now on; None for nobody.
            seconds: how long the owner goes on without having renewed it.
            values: field -> what else is to be stored; None for nothing.
        """
        ...

    async def renew(
        self, held: ShardRecord, *, position: str | None = None, values: Mapping[str, Any] = _NOTHING, beats: int = 1
    ) -> ShardRecord | None:
        """Add to the beat of a record, and return it; None if its fence is another one.

        Args:
            held: the record as it was returned last.
            position: how far the shard was handled; None to leave what is stored.
            values: field -> what else is to be stored; None for nothing.
            beats: what is added to the beat; 0 where another one than its owner writes, which tells nothing of that.
        """
        ...

    async def remove(self, name: str) -> None:
        """Remove a record, if there is one.

        Args:
            name: the name of the record.
        """
        ...


def in_own_table(executor: Executor, context: Context) -> Checkpoints:
    """Return what keeps checkpoints in the library's own table.

    Args:
        executor: carries the requests out.
        context: what the session adds to each operation.
    """
    return LeaseRecords(executor, context, ShardRecord, RecordKind.CONSUMER)


class MemoryCheckpoints:
    """Keeps checkpoints in this process, for workers of one event loop; they are gone when it ends."""

    def __init__(self) -> None:
        """Keep none yet."""
        self._records: Final[dict[str, ShardRecord]] = {}

    def __repr__(self) -> str:
        return f"<MemoryCheckpoints of {len(self._records):,} records>"

    async def find_all(self, names: Sequence[str]) -> Mapping[str, ShardRecord]:
        """Return records as they are stored now, by their names, without those that do not exist.

        Args:
            names: the names of the records.
        """
        return {name: self._records[name] for name in names if name in self._records}

    async def take(
        self,
        name: str,
        found: ShardRecord | None,
        *,
        owner: str | None,
        seconds: float,
        values: Mapping[str, Any] = _NOTHING,
    ) -> ShardRecord | None:
        """Store another owner of a record, and return it; None if its fence, beat or owner are not as they were found.

        Args:
            name: the name of the record.
            found: the record as it was found; None where it did not exist.
            owner: who has it from now on; None for nobody.
            seconds: how long the owner goes on without having renewed it.
            values: field -> what else is to be stored; None for nothing.
        """
        stored = self._records.get(name)
        if _taking(stored) != _taking(found):
            return None
        taken = {"owner": owner, "seconds": seconds, "fence": 1 + (0 if found is None else found.fence), "beat": 0}
        return self._store(name, stored or ShardRecord(pk=name), {**taken, **values})

    async def renew(
        self, held: ShardRecord, *, position: str | None = None, values: Mapping[str, Any] = _NOTHING, beats: int = 1
    ) -> ShardRecord | None:
        """Add to the beat of a record, and return it; None if its fence is another one.

        Args:
            held: the record as it was returned last.
            position: how far the shard was handled; None to leave what is stored.
            values: field -> what else is to be stored; None for nothing.
            beats: what is added to the beat; 0 where another one than its owner writes, which tells nothing of that.
        """
        stored = self._records.get(held.pk)
        if stored is None or stored.fence != held.fence:
            return None
        moved = {} if position is None else {"position": position}
        return self._store(held.pk, stored, {"beat": stored.beat + beats, **moved, **values})

    async def remove(self, name: str) -> None:
        """Remove a record, if there is one.

        Args:
            name: the name of the record.
        """
        self._records.pop(name, None)

    def _store(self, name: str, stored: ShardRecord, values: Mapping[str, Any]) -> ShardRecord:
        self._records[name] = record = stored.model_copy(update=dict(values))
        return record


def _taking(record: ShardRecord | None) -> tuple[int, int, str | None] | None:
    return None if record is None else (record.fence, record.beat, record.owner)
