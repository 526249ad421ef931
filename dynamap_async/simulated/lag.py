"""Reads that see what was stored a while ago: those that are not consistent, and all of global and vector indexes.

Each such read sees all that was written up to a moment of its own, which is drawn, and nothing that was written later.
So a later read may see less than an earlier one, as from another replica. What is older than the lag is seen by all.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from heapq import merge
from random import Random
from typing import Any, NamedTuple, TypeVar

from dynamap_async.simulated.blocks import SortedKeys
from dynamap_async.simulated.store import Change, Entry, Place, Position
from dynamap_async.simulated.vector_index import VectorEntry, VectorIndex

P = TypeVar("P", bound=Place)


class _Past(NamedTuple):
    """What was at a position before it was written."""

    written: float
    place: Place | VectorIndex
    position: Position
    entry: Any


class Lag:
    """What was written of late, so that a read can see what was there before.

    Args:
        seconds: how old what a read sees may be.
        clock: what the time is, in seconds since the epoch.
        random: decides how old what a read sees is.
    """

    def __init__(self, seconds: float, clock: Callable[[], float], random: Random) -> None:
        self._seconds = seconds
        self._clock = clock
        self._random = random
        self._written: deque[_Past] = deque()
        self._just_now: set[tuple[int, Position]] = set()
        """What was written at the time of the last write: the place, and the position."""

    def note(self, change: Change) -> None:
        """Remember what a write replaces."""
        now = self._clock()
        self._forget(now)
        self._note(now, change.table, change.position, change.old)
        for each in change.indexes:
            if each.was is not None:
                self._note(now, each.index, each.was, each.old)
            if each.now is not None and each.moved:
                self._note(now, each.index, each.now, None)
        for vector in change.vectors:
            self._note(now, vector.index, vector.key, vector.old)

    def _note(self, now: float, place: Place | VectorIndex, position: Position, entry: Any) -> None:
        if self._written and self._written[-1].written != now:
            self._just_now.clear()
        where = (id(place), position)
        if where not in self._just_now:  # no moment lies between two writes of one time
            self._just_now.add(where)
            self._written.append(_Past(now, place, position, entry))

    def _forget(self, now: float) -> None:
        while self._written and now - self._written[0].written >= self._seconds:
            self._written.popleft()
        if not self._written:
            self._just_now.clear()

    def settle(self) -> None:
        """Let all reads see what is there now."""
        self._written.clear()
        self._just_now.clear()

    def age(self) -> float:
        """Draw how old what a read sees is."""
        # Neither none nor all of the lag, so that rounded times decide nothing.
        return self._seconds * self._random.randrange(1, 1000) / 1000

    def seen(self, place: P, age: float) -> P:
        """Return a table or an index as it was.

        Args:
            place: the table or the index.
            age: how long ago, in seconds.
        """
        before: dict[Position, Entry | None] = self._before(place, age)
        if not before:
            return place
        return replace(place, keys=_Keys(place.keys, before), entries=_Entries(place.entries, before))

    def seen_vectors(self, index: VectorIndex, age: float) -> VectorIndex:
        """Return a vector index as it was.

        Args:
            index: the index.
            age: how long ago, in seconds.
        """
        before: dict[Position, VectorEntry | None] = self._before(index, age)
        if not before:
            return index
        partitions = {key: dict(entries) for key, entries in index.partitions.items()}
        found = replace(index, entries=dict(index.entries), partitions=partitions)
        for position, entry in before.items():
            if (now := index.entries.get(position)) is not None:
                found.remove(position, now)
            if entry is not None:
                found.add(position, entry)
        return found

    def _before(self, place: Place | VectorIndex, age: float) -> dict[Position, Any]:
        """Return what was at those positions that were written since."""
        now = self._clock()
        self._forget(now)
        before: dict[Position, Any] = {}
        for past in reversed(self._written):
            if now - past.written >= age:
                break
            if past.place is place:
                before[past.position] = past.entry
        return before


class _Keys(SortedKeys):
    """The positions that were taken.

    Args:
        now: those that are taken now.
        before: what was at those positions that have been written since.
    """

    __slots__ = ("_now", "_since")

    def __init__(self, now: SortedKeys, before: dict[Position, Entry | None]) -> None:
        super().__init__(position for position, entry in before.items() if entry is not None)
        self._now = now
        self._since = before

    def between(self, low: bytes, high: bytes | None) -> Iterator[bytes]:
        """Iterate over the keys from ``low`` on that are less than ``high``; None for all that follow."""
        others = (key for key in self._now.between(low, high) if key not in self._since)
        return merge(super().between(low, high), others)

    def backwards(self, low: bytes, high: bytes | None) -> Iterator[bytes]:
        """Iterate over the same keys, the last one first."""
        others = (key for key in self._now.backwards(low, high) if key not in self._since)
        return merge(super().backwards(low, high), others, reverse=True)


class _Entries(dict[Position, Entry]):
    """The entries that were there.

    Args:
        now: those that are there now.
        before: what was at those positions that have been written since.
    """

    def __init__(self, now: dict[Position, Entry], before: dict[Position, Entry | None]) -> None:
        super().__init__()
        self._now = now
        self._before = before

    def __getitem__(self, position: Position) -> Entry:
        entry: Entry | None = self.get(position)
        if entry is None:
            raise KeyError(position)
        return entry

    def __contains__(self, position: object) -> bool:
        return self.get(position) is not None

    def __iter__(self) -> Iterator[Position]:
        yield from (position for position in self._now if position not in self._before)
        yield from (position for position, entry in self._before.items() if entry is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, position: Any, default: Any = None) -> Any:
        """Return what was at a position."""
        found = self._before[position] if position in self._before else self._now.get(position)
        return default if found is None else found
