"""Heat: how many units each partition key took in the last minutes. Pure.

Invariant: what is remembered of a table is bounded; where it grows too large, the coldest half is forgotten. Tables of
which nothing was taken for long are forgotten when another one is met.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from dynamap_async.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from dynamap_async.request import Request

_MEMORY_SECONDS: Final = 2.0
"""Over how long rates are averaged."""
_COLD_SECONDS: Final = 40.0
"""After so long nothing is left of a rate: a thousandth of a thousandth."""
_MOST: Final = 2_000
"""How many partitions of a table are remembered."""
_MOST_MEMORIES: Final = 50.0
"""After so many times that memory, rates are written down anew: they would become too large as numbers."""
_NOTHING: Final = 1e-6
"""Units a second below which a partition is forgotten then."""


class Partition(NamedTuple):
    """The items of one partition key of a table, for reads or for writes."""

    table: str
    """The full table name."""
    key: str
    """The partition key's value in wire form."""
    writes: bool
    """Whether write units are meant."""

    @property
    def limit(self) -> float:
        """Units a second that DynamoDB serves of it."""
        return PARTITION_WRITE_UNITS if self.writes else PARTITION_READ_UNITS


def partition_of(request: Request) -> Partition | None:
    """Return the partition that a request of a single item is about; None for any other request."""
    if request.target is None or not request.target.key:
        return None
    value = next(iter(request.target.key.values()))
    return Partition(request.table, str(next(iter(value.values()))), request.writes)


class Heat:
    """The units a second that partitions take, as averages that forget."""

    def __init__(self) -> None:
        self._rates: Final[dict[tuple[str, bool], _Rates]] = {}
        """Table, and whether writes are meant -> its partitions."""

    def add(self, partition: Partition, units: float, now: float) -> float:
        """Count units that a partition takes; return how many a second it takes lately."""
        rates = self._rates.get((partition.table, partition.writes))
        if rates is None:
            for cold in [each for each, other in self._rates.items() if now - other.at > _COLD_SECONDS]:
                del self._rates[cold]
            rates = self._rates[partition.table, partition.writes] = _Rates(now)
        return rates.add(partition.key, units, now)

    def rate(self, partition: Partition, now: float) -> float:
        """Return how many units a second a partition takes lately."""
        rates = self._rates.get((partition.table, partition.writes))
        return 0.0 if rates is None else rates.rate(partition.key, now)

    def forget(self, table: str) -> None:
        """Forget the partitions of a table."""
        for writes in (False, True):
            self._rates.pop((table, writes), None)

    def __len__(self) -> int:
        """Return how many partitions are remembered."""
        return sum(len(rates.weights) for rates in self._rates.values())


class _Rates:
    """The partitions of one table, for reads or for writes.

    Each has one number: its rate, times what everything has faded since ``_since``. A bulk load meets a thousand new
    keys a second; with an object for each of them, the garbage collector would have to look through all objects of the
    process every few seconds, which stops the event loop (benchmarks/acceptance, question "beside").
    """

    __slots__ = ("_since", "at", "weights")

    def __init__(self, now: float) -> None:
        self.weights: dict[str, float] = {}
        self._since = now
        self.at: float = now
        """When anything was taken last."""

    def rate(self, key: str, now: float) -> float:
        return self.weights.get(key, 0.0) / math.exp(min((now - self._since) / _MEMORY_SECONDS, _MOST_MEMORIES))

    def add(self, key: str, units: float, now: float) -> float:
        self.at = now
        memories = (now - self._since) / _MEMORY_SECONDS
        if memories > _MOST_MEMORIES:
            self._begin_anew(math.exp(-memories), now)
            memories = 0.0
        faded = math.exp(memories)
        weight = self.weights.get(key, 0.0) + units / _MEMORY_SECONDS * faded
        self.weights[key] = weight
        if len(self.weights) > _MOST:
            middle = sorted(self.weights.values())[_MOST // 2]
            self.weights = {each: warmth for each, warmth in self.weights.items() if warmth > middle}
        return weight / faded

    def _begin_anew(self, left: float, now: float) -> None:
        """Count from now on; ``left`` is what is left of what was taken at the beginning."""
        self._since = now
        self.weights = {key: rate for key, warmth in self.weights.items() if (rate := warmth * left) > _NOTHING}
