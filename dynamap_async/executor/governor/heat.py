"""Heat: which partition keys take how much lately. Pure.

Invariant: what is remembered is bounded; where it grows too large, the coldest half is forgotten.
"""

import math
from typing import Final, NamedTuple

from dynamap_async.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from dynamap_async.request import Request

_MEMORY_SECONDS: Final = 2.0
"""Over how long rates are averaged."""
_MOST: Final = 2_000


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
        self._rates: dict[Partition, tuple[float, float]] = {}
        """Partition -> units a second, and when."""

    def add(self, partition: Partition, units: float, now: float) -> float:
        """Take note of units that a partition takes; return how many a second it takes lately."""
        before, at = self._rates.get(partition, (0.0, now))
        rate = before * math.exp((at - now) / _MEMORY_SECONDS) + units / _MEMORY_SECONDS
        self._rates[partition] = rate, now
        if len(self._rates) > _MOST:
            self._forget(now)
        return rate

    def _forget(self, now: float) -> None:
        def warmth(entry: tuple[Partition, tuple[float, float]]) -> float:
            _, (rate, at) = entry
            return rate * math.exp((at - now) / _MEMORY_SECONDS)

        self._rates = dict(sorted(self._rates.items(), key=warmth, reverse=True)[: _MOST // 2])
