"""The shards of a stream and how they descend from each other, as far as they were described. No I/O.

Invariant: a shard may be read once everything of its parent is done, and nothing that was not read is forgotten.

Whether a description shows an ``EndingSequenceNumber`` says nothing here: engines show one of open shards, and DynamoDB
sometimes shows none of closed ones. A shard that has a child is closed; of others only reading tells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple


class StreamShard(NamedTuple):
    """A shard, as it was described."""

    id: str
    parent: str | None = None
    """The shard that it goes on from; None for the first ones of a stream."""

    @classmethod
    def described(cls, shard: Mapping[str, Any]) -> StreamShard:
        """Return a shard of a description.

        Args:
            shard: an element of ``Shards``, in wire form.
        """
        return cls(shard["ShardId"], shard.get("ParentShardId"))


class ShardGraph:
    """What is known of one stream's shards."""

    def __init__(self, shards: Iterable[StreamShard] = ()) -> None:
        """Know some shards.

        Args:
            shards: the shards, in any order, with any gaps.
        """
        self._parents: Final[dict[str, str | None]] = {}
        self._children: Final[dict[str, set[str]]] = {}
        self.add(shards)

    def __contains__(self, shard: object) -> bool:
        return shard in self._parents

    @property
    def shards(self) -> list[StreamShard]:
        """All of them, the oldest id first."""
        return [StreamShard(each, self._parents[each]) for each in sorted(self._parents)]

    def add(self, shards: Iterable[StreamShard]) -> bool:
        """Learn of shards, of any page of a description; return whether one is new.

        Args:
            shards: the shards, in any order, known ones among them.
        """
        before = len(self._parents)
        for shard in shards:
            # A page that names no parent does not take back what another one told.
            if self._parents.get(shard.id) is None:
                self._parents[shard.id] = shard.parent
            if shard.parent is not None:
                self._children.setdefault(shard.parent, set()).add(shard.id)
        return len(self._parents) > before

    def forget(self, shards: Iterable[str]) -> None:
        """Forget shards that are finished and that nobody describes any more.

        Args:
            shards: their ids.
        """
        for shard in shards:
            parent = self._parents.pop(shard, None)
            if parent is not None and parent in self._children:
                self._children[parent].discard(shard)

    def parent(self, shard: str) -> str | None:
        """Return the parent of a shard; None where it has none that is known.

        Args:
            shard: the id of the shard.
        """
        parent = self._parents.get(shard)
        return parent if parent in self._parents else None

    def children(self, shard: str) -> list[str]:
        """Return the children of a shard that are known, the oldest id first.

        Args:
            shard: the id of the shard.
        """
        return sorted(self._children.get(shard, ()))

    def has_closed(self, shard: str) -> bool:
        """Return whether a shard is known to have closed: it has a child, whatever its description says.

        Args:
            shard: the id of the shard.
        """
        return bool(self._children.get(shard))

    def leaves(self) -> list[str]:
        """Return the shards without a child, which may be open, the oldest id first."""
        return sorted(shard for shard in self._parents if not self.has_closed(shard))

    def unfinished(self, finished: Collection[str]) -> list[str]:
        """Return the shards of which not everything is done, the oldest id first.

        Args:
            finished: the shards of which everything is done.
        """
        return sorted(shard for shard in self._parents if shard not in finished)

    def readable(self, finished: Collection[str]) -> list[str]:
        """Return the shards that may be read now, the oldest id first.

        A parent that nobody describes was trimmed away, and so is finished. A closed shard without children is still
        to be read: its stream was turned off, or they are described later.

        Args:
            finished: the shards of which everything is done.
        """
        return [
            shard for shard in self.unfinished(finished) if (parent := self.parent(shard)) is None or parent in finished
        ]

    def forgettable(self, described: Collection[str], ended: Mapping[str, float], before: float) -> list[str]:
        """Return the shards whose records are not needed any more, the oldest id first.

        To remove a record earlier would have the shard read again, and all that descend from it.

        Args:
            described: the ids of all shards that the stream has now.
            ended: shards of which everything is done -> when that was written, in epoch seconds.
            before: what was done before this time can be forgotten: a day ago.
        """
        return sorted(shard for shard in self._parents if shard not in described and ended.get(shard, before) < before)
