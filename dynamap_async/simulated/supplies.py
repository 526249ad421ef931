"""What a table, or a global index, may take: a token bucket for its rate, and partitions that have limits of their own.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from math import ceil, inf
from typing import Final, Literal, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS

Kind: TypeAlias = Literal["Read", "Write"]
Seen: TypeAlias = tuple[object, object, object]
"""Settings of a table or an index: its provisioned, its greatest and its warm units."""
_HASH_BYTES: Final = 8
"""How many bytes of a position are the hash of the partition key."""
_MOST_PARTITIONS: Final = 1 << 14
_HASHES: Final = 1 << 8 * _HASH_BYTES
_PARTITION_SECONDS: Final = 1.0
"""For how long a partition keeps what nobody took."""
_PEAK_SECONDS: Final = 1800.0
"""After so long, an on-demand table can do double of what it had to do meanwhile."""
_COOL_SECONDS: Final = 10.0
"""A partition that has refused nothing for so long is not hot any more."""
_REMEMBERED: Final = 64
"""Of how many requests a hot partition remembers where they went."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What tables and indexes have. What is beyond is refused, as DynamoDB does.

    A provisioned table has its units, and each of its global indexes its own; an on-demand table what its partitions
    have, or its declared maximum. Times are seconds of the engine's clock.
    """

    units: float | None = None
    """Units a second of each table and each global index, to read and to write, whatever is declared. A few let a test
    of an on-demand table see refusals, a million let none."""
    burst_seconds: float = 300.0
    """For how long units that nobody took are kept, and how much a new table has saved; at least 1."""
    partitions: int = 4
    """How many partitions a new table, or index, has at least."""
    partition_read_units: float = float(PARTITION_READ_UNITS)
    """Read units a second of each partition."""
    partition_write_units: float = float(PARTITION_WRITE_UNITS)
    """Write units a second of each partition."""
    split_seconds: float | None = 300.0
    """After so long a partition that refuses is split between the keys that are asked for; None for never."""

    def fault(self) -> str | None:
        """Return what is wrong with the first value that cannot be; None if all can."""
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if value is None and name in {"units", "split_seconds"}:
                continue
            least = 0 if name == "split_seconds" else 1
            kind = int if name == "partitions" else int | float
            if isinstance(value, bool) or not isinstance(value, kind) or not least <= value < inf:
                return f"{name}={value!r} is no {'whole ' if kind is int else ''}number from {least} on"
        return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Units that a table or an index did not have."""

    at: float
    """When, in seconds since the first request."""
    table: str
    """Its name."""
    index: str | None
    """The index that had too few; None for the table itself."""
    reason: str
    """Such as ``TableWriteProvisionedThroughputExceeded``."""
    units: float
    """How many were wanted."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What a table or an index has of reads, or of writes."""

    units: float | None
    """In a second; None for what its partitions have."""
    beyond: str
    """Why it refuses what is beyond: the end of a throttling reason."""
    warm_units: float = 0.0
    """What its partitions have at least, together."""


@dataclass(slots=True)
class Bucket:
    """Units that come at a rate and are kept up to a limit."""

    rate: float
    most: float
    units: float
    filled_at: float

    def fill(self, now: float) -> None:
        """Add what came since the last time. A clock that goes back brings nothing."""
        if now > self.filled_at:
            units = self.units + (now - self.filled_at) * self.rate
            self.units = min(self.most, units)
        self.filled_at = now

    def has(self, units: float, now: float) -> bool:
        """Return whether there are so many units.

        What is larger than a second's capacity needs that much and leaves a debt: a small table could not serve a
        large item otherwise.
        """
        if now != self.filled_at:
            self.fill(now)
        return self.units >= units or self.units >= self.rate

    def take(self, units: float) -> None:
        """Take units, which may leave a debt; fewer than none to give some back."""
        self.units -= units

    def provision(self, rate: float, most: float, now: float) -> None:
        """Have another rate. What was saved stays, as far as it allows."""
        self.fill(now)
        self.rate, self.most = rate, most
        self.units = min(most, self.units)

    def spend(self, now: float) -> None:
        """Drop what was saved."""
        self.units, self.filled_at = 0.0, now


class Partition:
    """A range of keys, and what was asked of it."""

    __slots__ = ("_hot_since", "_refused_at", "asked", "read", "write")

    def __init__(self) -> None:
        self.read: Bucket | None = None
        self.write: Bucket | None = None
        self.asked: deque[bytes] | None = None
        """Where the last requests went, since it has refused one."""
        self._hot_since: float = 0.0
        self._refused_at: float | None = None

    def bucket(self, kind: Kind, rate: float, now: float) -> Bucket:
        """Return its units to read, or to write; it has all of them at first."""
        found = self.read if kind == "Read" else self.write
        if found is None:
            found = Bucket(rate, rate * _PARTITION_SECONDS, rate * _PARTITION_SECONDS, now)
            if kind == "Read":
                self.read = found
            else:
                self.write = found
        return found

    def warm(self, position: bytes, now: float) -> float:
        """Note that it refused a request, and return for how long it has been hot."""
        if self.asked is None or self._refused_at is None or now - self._refused_at > _COOL_SECONDS:
            self._hot_since, self.asked = now, deque(maxlen=_REMEMBERED)
        self._refused_at = now
        self.asked.append(position)
        return now - self._hot_since

    def cool(self) -> list[bytes]:
        """Return where the last requests went, in order, and forget that it is hot."""
        asked, self.asked = self.asked or (), None
        return sorted(asked)


@dataclass(slots=True)
class Lane:
    """The reads, or the writes, of one table or index."""

    kind: Kind
    partition_units: float
    bucket: Bucket | None = None
    beyond: str = ""
    peak: float = 0.0
    """The most units of a second, in this half hour."""
    peak_since: float = 0.0
    second: int = 0
    in_second: float = 0.0

    def provision(self, rate: Rate, burst_seconds: float, now: float) -> None:
        """Have another rate. What was saved stays, as far as it allows; the first rate has saved all that it can."""
        self.beyond = rate.beyond
        if rate.units is None:
            self.bucket = None
        elif self.bucket is None:
            most = rate.units * burst_seconds
            self.bucket = Bucket(rate.units, most, most, now)
        else:
            self.bucket.provision(rate.units, rate.units * burst_seconds, now)

    def note(self, units: float, now: float) -> float:
        """Note units that were taken of an on-demand table; return how many a second it may have to bear from now on.

        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
        """
        if int(now) != self.second:
            self.peak, self.in_second, self.second = max(self.peak, self.in_second), 0.0, int(now)
        self.in_second += units
        if now - self.peak_since < _PEAK_SECONDS:
            return 0.0
        grown, self.peak, self.peak_since = 2 * self.peak, 0.0, now
        return grown


class Supply:
    """The capacity of one table or global index.

    Args:
        capacity: by which rules.
        table: the table's name.
        index: the index's name; None for the table itself.
        arn: its ARN.
        now: the time, in seconds.
        keeps_together: whether all items of one partition key are in one partition, as beside a local index.
    """

    def __init__(
        self, capacity: Capacity, table: str, index: str | None, arn: str, now: float, *, keeps_together: bool
    ) -> None:
        self.table: str = table
        self.index: str | None = index
        self.arn: str = arn
        self.seen: Seen = (None, None, None)
        """The settings that its rates were made of."""
        self._capacity = capacity
        self._keeps_together = keeps_together
        self._scope = "Table" if index is None else "Index"
        self._read = Lane("Read", capacity.partition_read_units, peak_since=now)
        self._write = Lane("Write", capacity.partition_write_units, peak_since=now)
        self._partitions = [Partition()]
        self._begins = [b""]

    @property
    def partitions(self) -> int:
        """How many partitions there are."""
        return len(self._partitions)

    def provision(self, read: Rate, write: Rate, now: float, seen: Seen) -> None:
        """Have these rates.

        Args:
            read: of reads.
            write: of writes.
            now: the time, in seconds.
            seen: the settings that they were made of.
        """
        self.seen = seen
        least = self._capacity.partitions
        for lane, rate in ((self._read, read), (self._write, write)):
            lane.provision(rate, self._capacity.burst_seconds, now)
            least = max(least, ceil(max(rate.warm_units, rate.units or 0.0) / lane.partition_units))
        self._cut(least)

    def take(self, kind: Kind, position: bytes, units: float, now: float) -> str | None:
        """Take units, or return why they cannot be taken, as throttling reasons say it.

        Args:
            kind: ``Read`` or ``Write``.
            position: where the request goes.
            units: how many.
            now: the time, in seconds.
        """
        lane = self._read if kind == "Read" else self._write
        bucket = lane.bucket
        if bucket is not None and not bucket.has(units, now):
            return f"{self._scope}{kind}{lane.beyond}"
        number = bisect_right(self._begins, position) - 1
        partition = self._partitions[number]
        part = (partition.read if lane is self._read else partition.write) or partition.bucket(
            kind, lane.partition_units, now
        )
        if not part.has(units, now):
            self._warm(number, position, now)
            return f"{self._scope}{kind}KeyRangeThroughputExceeded"
        if partition.asked is not None:
            partition.asked.append(position)
        self._took(lane, part, units, now)
        return None

    def adjust(self, kind: Kind, position: bytes, units: float, now: float) -> None:
        """Take units that nobody can refuse any more; fewer than none to give some back."""
        lane = self._read if kind == "Read" else self._write
        number = bisect_right(self._begins, position) - 1
        self._took(lane, self._partitions[number].bucket(kind, lane.partition_units, now), units, now)

    def _took(self, lane: Lane, part: Bucket, units: float, now: float) -> None:
        part.take(units)
        if lane.bucket is not None:
            lane.bucket.take(units)
        elif grown := lane.note(units, now):
            self._cut(ceil(grown / lane.partition_units))

    def spend(self, now: float) -> None:
        """Drop what was saved."""
        for lane in (self._read, self._write):
            if lane.bucket is not None:
                lane.bucket.spend(now)

    def _cut(self, least: int) -> None:
        """Have at least so many partitions: each is halved until there are enough."""
        least = min(least, _MOST_PARTITIONS)
        if len(self._begins) == 1:
            self._begins = [b"", *(_begin(_HASHES * number // least) for number in range(1, least))]
            self._partitions += [Partition() for _ in range(1, least)]
        while len(self._begins) < least:
            edges = [int.from_bytes(begin[:_HASH_BYTES].ljust(_HASH_BYTES, b"\0")) for begin in self._begins]
            for number, end in reversed(list(enumerate([*edges[1:], _HASHES]))):
                self._split(number, _begin((edges[number] + end) // 2))

    def _warm(self, number: int, position: bytes, now: float) -> None:
        """Note that a partition refused a request, and split it if it has been hot for long."""
        partition, hot_for = self._partitions[number], self._capacity.split_seconds
        if hot_for is None or partition.warm(position, now) < hot_for:
            return
        asked = [each[:_HASH_BYTES] if self._keeps_together else each for each in partition.cool()]
        # Each of both has part of what was asked. There is no such place where all was asked of one key.
        middle = asked[len(asked) // 2]
        if middle == asked[0]:
            middle = next((each for each in asked if each > asked[0]), b"")
        self._split(number, middle)

    def _split(self, number: int, middle: bytes) -> None:
        """Have another partition begin in the middle of one; nothing is done if that is no place in it."""
        if middle > self._begins[number]:
            self._partitions.insert(number + 1, Partition())
            self._begins.insert(number + 1, middle)


def _begin(number: int) -> bytes:
    """Return the position where the hashes from a number on begin."""
    return number.to_bytes(_HASH_BYTES)
