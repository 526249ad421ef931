"""What is recorded of a group of workers, for people: who has which shard, and how far it was handled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from dynamap_async.dataclass import dataclass
from dynamap_async.executor import gather_all
from dynamap_async.streams.checkpoints import Checkpoints, ShardRecord
from dynamap_async.streams.group import GroupPlace, name_of_group, names_of_records
from dynamap_async.streams.positions import Position


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedShard:
    """What is recorded of one shard."""

    shard_id: str
    """The shard."""
    state: Literal["held", "free", "done"]
    """Whether a worker has it, or it was handled to its end. A worker that is gone has it until others take it."""
    owner: str | None = None
    """The worker that has it."""
    position: str | None = None
    """How far it was handled; None for not at all."""
    at: float | None = None
    """When the last change that was handled was made, in epoch seconds; None where it is not known."""


class RecordedGroups:
    """The records of groups, which are read, and given free, by hand."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        """Look at nothing yet.

        Args:
            checkpoints: where the records are.
        """
        self._checkpoints: Final = checkpoints

    async def shards(self, group: str, table: str) -> list[RecordedShard] | None:
        """Return the shards that a group knows, the oldest first; None if the table has no such group.

        Args:
            group: the name of the group.
            table: the full name of the table.
        """
        records = await self._records(group, table)
        return None if records is None else [_recorded(shard, record) for shard, (_, record) in records.items()]

    async def release(self, group: str, table: str) -> int:
        """Take all shards from the workers that have them, and return how many: others take them at once.

        A worker that is there loses them, and takes its part again.

        Args:
            group: the name of the group.
            table: the full name of the table.
        """
        records = await self._records(group, table) or {}
        held = [(name, record) for name, record in records.values() if record is not None and record.owner is not None]
        freed: list[ShardRecord | None] = await gather_all(
            [self._checkpoints.take(name, record, owner=None, seconds=record.seconds) for name, record in held]
        )
        return sum(1 for each in freed if each is not None)

    async def reset(self, group: str, table: str) -> int:
        """Remove all records of a group, so that it begins anew, and return how many shards it knew.

        Args:
            group: the name of the group, of which no worker runs.
            table: the full name of the table.
        """
        records = await self._records(group, table)
        if records is None:
            return 0
        # First: without it a worker that begins takes the shards' records for none of its own.
        await self._checkpoints.remove(name_of_group(group, table))
        await gather_all([self._checkpoints.remove(name) for name, _ in records.values()])
        return len(records)

    async def _records(self, group: str, table: str) -> Mapping[str, tuple[str, ShardRecord | None]] | None:
        """Return the name and the record of each shard that a group knows."""
        key = name_of_group(group, table)
        found = (await self._checkpoints.find_all([key])).get(key)
        if found is None or found.position is None:
            return None
        place = GroupPlace.read(found.position)
        names = names_of_records(group, table, place.stream, (shard.id for shard in place.shards))
        records = await self._checkpoints.find_all(list(names.values()))
        return {shard: (name, records.get(name)) for shard, name in sorted(names.items())}


def _recorded(shard: str, record: ShardRecord | None) -> RecordedShard:
    if record is None:
        return RecordedShard(shard_id=shard, state="free")
    position: Any = None if record.position is None else Position.read(record.position)
    state: Literal["held", "free", "done"] = "free" if record.owner is None else "held"
    return RecordedShard(
        shard_id=shard,
        state="done" if record.state == "done" else state,
        owner=record.owner,
        position=record.position,
        at=None if position is None else position.at,
    )
