"""How streams are cut into shards, which live for hours, split, close and are forgotten, and who may read them.

Nothing happens by itself: what is due by the clock is done when somebody writes or asks.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from random import Random
from typing import Final

from dynamap_async.dataclass import dataclass
from dynamap_async.simulated.errors import Refused
from dynamap_async.simulated.shards import Shard, Stream, shard_id
from dynamap_async.simulated.store import HASHES, Position

_PER_SECOND: Final = ("reads_per_second", "descriptions_per_second", "readers")
_WINDOW: Final = 0.999
"""Calls that are a second apart by a clock of floats are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamShards:
    """How streams are cut into shards, and who may read them. Times are seconds of the engine's clock."""

    shards: int = 4
    """With how many shards a stream begins. Hashes of partition keys decide to which of them a record goes."""
    lifetime: float = 4 * 3600.0
    """After how long a shard closes, and a child goes on in its place."""
    splits: Sequence[float] = ()
    """How long after a stream's beginning its fullest shard closes, and two children share what it had."""
    split_load: int | None = None
    """How many records within a second make a shard split; None for any number."""
    child_delay: float = 1.0
    """How long after a shard closed DescribeStream shows its children. Every other one seems open twice as long."""
    iterator_lifetime: float = 900.0
    """For how long an iterator can be used."""
    retention: float = 24 * 3600.0
    """After how long records, closed shards and streams that were turned off are forgotten."""
    reads_per_second: int | None = 5
    """How many GetRecords one shard answers in a second; None for any number."""
    descriptions_per_second: int | None = 10
    """How many DescribeStream, and half as many ListStreams, are answered in a second; None for any number."""
    readers: int | None = 2
    """How many iterators, each with those that follow it, may read a shard within a second; None for any number."""
    empty_pages: float = 0.1
    """The share of GetRecords that give no records, though there are some; less than 1."""

    def fault(self) -> str | None:
        """Return what is wrong with the first value that cannot be; None if all can."""
        counts = {name: getattr(self, name) for name in ("split_load", *_PER_SECOND) if getattr(self, name) is not None}
        for name, value in {"shards": self.shards, **counts}.items():
            if type(value) is not int or value < 1:
                return f"{name}={value!r} is no whole number from 1 on"
        for name in ("lifetime", "iterator_lifetime", "retention"):
            if not _is_number(getattr(self, name), 1):
                return f"{name}={getattr(self, name)!r} is no number of seconds from 1 on"
        if not _is_number(self.child_delay, 0):
            return f"child_delay={self.child_delay!r} is no number of seconds from 0 on"
        if not isinstance(self.splits, tuple | list) or not all(_is_number(time, 0) for time in self.splits):
            return f"splits={self.splits!r} is no list of seconds, none of them negative"
        is_share = _is_number(self.empty_pages, 0) and self.empty_pages < 1
        return None if is_share else f"empty_pages={self.empty_pages!r} is no share from 0 to below 1"


def _is_number(value: object, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= least


@dataclass(frozen=True, slots=True)
class StreamCalls:
    """How often an operation of streams was asked for."""

    operation: str
    """Such as ``GetRecords``."""
    shard_id: str | None
    """The shard, for operations that name one."""
    calls: int
    """How many calls were answered."""
    refused: int
    """How many were refused, since there were too many."""
    most_per_second: int
    """The most calls that were answered within one second."""
    most_readers: int
    """The most readers that a shard had within one second."""


class _Counter:
    """Counts the calls of one operation, and to one shard where it names one.

    Args:
        most: how many calls may be answered within a second.
        readers: how many readers may be answered within a second.
    """

    def __init__(self, most: float, readers: float) -> None:
        self._most = most
        self._readers = readers
        self._last: deque[tuple[float, int]] = deque()
        self.calls = 0
        self.refused = 0
        self.most_per_second = 0
        self.most_readers = 0

    def admit(self, now: float, reader: int) -> bool:
        """Return whether a call is answered."""
        last = self._last
        while last and last[0][0] + _WINDOW <= now:
            last.popleft()
        readers = len({reader, *(other for _time, other in last)})
        if len(last) >= self._most or readers > self._readers:
            self.refused += 1
            return False
        last.append((now, reader))
        self.calls += 1
        self.most_per_second = max(self.most_per_second, len(last))
        self.most_readers = max(self.most_readers, readers)
        return True


class Sharding:
    """Cuts streams into shards.

    Args:
        rules: how.
        random: draws what is left to chance.
        clock: what the time is, in seconds since the epoch.
    """

    def __init__(self, rules: StreamShards, random: Random, clock: Callable[[], float]) -> None:
        self.rules: StreamShards = rules
        self._random = random
        self._clock = clock
        self._turn = random.getrandbits(64)
        self._readers = 0
        self._counters: dict[tuple[str, str | None], _Counter] = {}
        self._load: dict[str, tuple[int, int]] = {}
        """Shard -> a second, and how many records came in it."""
        descriptions = rules.descriptions_per_second
        self._most: dict[str, float | None] = {
            "GetRecords": rules.reads_per_second,
            "DescribeStream": descriptions,
            "ListStreams": None if descriptions is None else max(1, descriptions // 2),
        }

    def begin(self, stream: Stream) -> None:
        """Give a stream its first shards."""
        count = self.rules.shards
        bounds = [HASHES * number // count for number in range(count + 1)]
        stream.add(*(self._shard(stream.created, low, high) for low, high in pairwise(bounds)))
        self._plan(stream, sorted(stream.created + after for after in self.rules.splits))

    def _shard(self, now: float, low: int, high: int, parent: str | None = None) -> Shard:
        # Its sequence numbers have from 21 to 40 digits. Before long they have one more than the first ones.
        step = self._random.randint(1, 999)
        first = 10 ** self._random.randint(21, 39) - step * self._random.randint(1, 99)
        return Shard(shard_id(now, f"{self._random.getrandbits(32):08x}"), now, low, high, parent, first, step)

    def place(self, stream: Stream, position: Position, now: float) -> Shard:
        """Return the shard that a record goes to.

        Args:
            stream: the stream.
            position: where the item stands: the hash of its partition key comes first.
            now: the time.
        """
        self._pass(stream, now)
        key_hash = (int.from_bytes(position[:8], "big") + self._turn) % HASHES
        shard = _of_hash(stream, key_hash)
        if self.rules.split_load is not None:
            second, count = self._load.get(shard.id, (0, 0))
            count = count + 1 if second == int(now) else 1
            self._load[shard.id] = (int(now), count)
            if count > self.rules.split_load:
                self._replace(stream, shard, now, 2)
                self._plan(stream, stream.splits)
                shard = _of_hash(stream, key_hash)
        return shard

    def _pass(self, stream: Stream, now: float) -> None:
        """Let time pass: do what was due until now, in its order."""
        while stream.due <= now:
            time, splits = stream.due, stream.splits
            if splits and splits[0] <= time:
                self._replace(stream, max(stream.open, key=lambda shard: shard.end), time, 2)
                splits = splits[1:]
            else:
                self._replace(stream, min(stream.open, key=lambda shard: shard.opened), time, 1)
            self._plan(stream, splits)

    def _plan(self, stream: Stream, splits: list[float]) -> None:
        end = min(shard.opened for shard in stream.open) + self.rules.lifetime
        stream.plan(min([end, *splits[:1]]), splits)

    def _replace(self, stream: Stream, shard: Shard, now: float, count: int) -> None:
        """Close a shard, and open its children."""
        middle = (shard.low + shard.high) // 2
        bounds = (shard.low, middle, shard.high) if count > 1 and shard.low < middle else (shard.low, shard.high)
        shard.close(now)
        stream.open.remove(shard)
        children = (self._shard(now, low, high, shard.id) for low, high in pairwise(bounds))
        stream.add(*children)

    def keep(self, stream: Stream, now: float) -> bool:
        """Let time pass, forget what is older than a day, and return whether the stream itself is to be kept."""
        self._pass(stream, now)
        horizon = now - self.rules.retention
        for shard in list(stream.shards.values()):
            shard.trim(horizon)
            if shard.closed is not None and shard.closed <= horizon:
                del stream.shards[shard.id]
        return stream.closed is None or stream.closed > horizon

    def shown(self, stream: Stream) -> list[Shard]:
        """Return the shards that a description shows, in the order of their ids."""
        seen = self._clock() - self.rules.child_delay
        return sorted(
            (shard for shard in stream.shards.values() if shard.parent is None or shard.opened <= seen),
            key=lambda shard: shard.id,
        )

    def seems_open(self, shard: Shard) -> bool:
        """Return whether a description shows a shard as open. Of some that have closed it does so for a while."""
        if shard.closed is None:
            return True
        return shard.step % 2 == 1 and shard.closed + 2 * self.rules.child_delay > self._clock()

    def admit(self, operation: str, shard: str | None = None, reader: int = 0) -> None:
        """Count a call.

        Args:
            operation: its name.
            shard: the shard that it names.
            reader: who reads.

        Raises:
            Refused: there are too many.
        """
        counter = self._counters.get((operation, shard))
        if counter is None:
            most, readers = self._most.get(operation), self.rules.readers if operation == "GetRecords" else None
            counter = _Counter(inf if most is None else most, inf if readers is None else readers)
            self._counters[operation, shard] = counter
        if not counter.admit(self._clock(), reader):
            where = "" if shard is None else f" for shard {shard}"
            raise Refused("LimitExceededException", f"Rate exceeded{where}")

    @property
    def calls(self) -> tuple[StreamCalls, ...]:
        """How often each operation was asked for, and of each shard where it names one."""
        return tuple(
            StreamCalls(operation, shard, each.calls, each.refused, each.most_per_second, each.most_readers)
            for (operation, shard), each in self._counters.items()
        )

    def new_reader(self) -> int:
        """Return a number for whoever begins to read."""
        self._readers += 1
        return self._readers

    def admit_iterator(self, given: float) -> None:
        """Refuse an iterator that is too old.

        Args:
            given: when it was given.

        Raises:
            Refused: it is.
        """
        if given + self.rules.iterator_lifetime < self._clock():
            raise Refused("ExpiredIteratorException", "Shard iterator has expired")

    @property
    def gives_nothing(self) -> bool:
        """Whether the next page is empty, whatever there is."""
        return self._random.random() < self.rules.empty_pages


def _of_hash(stream: Stream, key_hash: int) -> Shard:
    return stream.open[bisect_right(stream.open, key_hash, key=lambda shard: shard.low) - 1]
