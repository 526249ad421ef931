"""Streams, the shards that they consist of, and the records in these.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

from dynamap_async.simulated.store import HASHES, Entry

FIRST_NUMBER: Final = 100_000_000_000_000_000_001
"""The sequence number of the first record of a stream's only shard."""


class Record(NamedTuple):
    """A change of an item."""

    old: Entry | None
    new: Entry | None
    time: float
    by: dict[str, str] | None
    """The service that did it, for items that have expired."""


@dataclass(slots=True, eq=False)
class Shard:
    """The changes of the items whose partition keys have certain hashes, in order."""

    id: str
    opened: float
    low: int = 0
    high: int = HASHES
    """The hashes are from ``low`` on, and less than ``high``."""
    parent: str | None = None
    first: int = FIRST_NUMBER
    """The sequence number of its first record."""
    step: int = 1
    """What a sequence number is greater than the one before."""
    closed: float | None = None
    records: list[Record] = field(default_factory=list[Record])
    trimmed: int = 0
    """How many records there were before those."""

    @property
    def end(self) -> int:
        """How many records there have been."""
        return self.trimmed + len(self.records)

    def number(self, at: int) -> str:
        """Return the sequence number of a record."""
        return str(self.first + at * self.step)

    def after(self, time: float) -> int:
        """Return which record is the first one of a time or later."""
        return self.trimmed + sum(1 for record in self.records if record.time < time)

    def close(self, now: float) -> None:
        """Take no more records."""
        self.closed = now

    def reopen(self) -> None:
        """Take records again: that it was closed is undone."""
        self.closed = None

    def trim(self, before: float) -> None:
        """Forget the records that are older than a time."""
        if self.records and self.records[0].time <= before:
            old = next((at for at, record in enumerate(self.records) if record.time > before), len(self.records))
            del self.records[:old]
            self.trimmed += old

    def forget_last(self) -> None:
        """Forget the last record: what it tells was undone."""
        if self.records:
            self.records.pop()


@dataclass(slots=True, eq=False)
class Stream:
    """A stream of a table, which may be gone, or have been turned off."""

    arn: str
    label: str
    table: str
    view: str
    keys: list[dict[str, str]]
    created: float
    shards: dict[str, Shard] = field(default_factory=dict[str, Shard])
    open: list[Shard] = field(default_factory=list[Shard])
    """The shards that take records, in the order of their hashes."""
    closed: float | None = None
    due: float = inf
    """When its shards change."""
    splits: list[float] = field(default_factory=list[float])
    """At which times a shard is to split."""

    def add(self, *shards: Shard) -> None:
        """Have more shards, which take records."""
        self.shards.update((shard.id, shard) for shard in shards)
        self.open = sorted((*self.open, *shards), key=lambda shard: shard.low)

    def plan(self, due: float, splits: list[float]) -> None:
        """Have other shards from a time on.

        Args:
            due: that time.
            splits: at which times a shard is to split.
        """
        self.due, self.splits = due, splits

    def close(self, now: float) -> None:
        """Take no more records."""
        self.closed, self.due = now, inf
        for shard in self.open:
            shard.close(now)
        self.open = []

    def reopen(self, shards: list[Shard], due: float) -> None:
        """Take records again: that it was closed is undone.

        Args:
            shards: those that took records.
            due: when its shards were to change.
        """
        self.closed, self.open, self.due = None, shards, due
        self.shards.update((shard.id, shard) for shard in shards)  # they may have been forgotten
        for shard in shards:
            shard.reopen()


def shard_id(now: float, name: str) -> str:
    """Return the id of a shard. Ids sort by time.

    Args:
        now: when it was opened.
        name: at least eight hexadecimal digits.
    """
    return f"shardId-{int(now * 1000):020}-{name[:8]}"
