"""Items that have expired are deleted some time later, as the clock says it when somebody looks.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/howitworks-ttl.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final

from dynamap_async.simulated.store import Change, Entry, Position, Store, Table

BY_THE_SERVICE: Final = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
"""Who has deleted what has expired, in the records of streams."""
NEVER: Final = (None, 0.0, 0.0)
"""What is kept of a change of time to live that there was not: its attribute, its time, and until when it goes on."""
LONGEST_SECONDS: Final = 172_800.0
"""AWS: an item is deleted within a few days; older pages said two."""
_OLDEST_SECONDS: Final = 5 * 365 * 86_400
"""AWS: what expired five years ago or more is not deleted."""


@dataclass(slots=True)
class _Timers:
    """When the items of a table are deleted."""

    table: Table
    attribute: str
    heap: list[tuple[float, int, Position, Entry]] = field(default_factory=list[tuple[float, int, Position, Entry]])


class Expiry:
    """When items are deleted that have a time to live.

    Args:
        store: the tables.
        clock: what the time is, in seconds since the epoch.
        random: returns what draws for one purpose.
        longest: how many seconds after an item has expired it is deleted at the latest.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float], random: Callable[[str], Random], longest: float
    ) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self._longest = longest
        self._of_table: dict[str, _Timers] = {}
        self._numbers = count()

    def note(self, change: Change) -> None:
        """Remember when a new item is deleted."""
        timers = self._of_table.get(change.table.name)
        if timers is not None and change.new is not None:
            self._time(timers, change.position, change.new, self._clock())

    def due(self) -> Iterator[Change]:
        """Yield the deletions for which it is time, in the order of their times within a table."""
        now = self._clock()
        for table in list(self._store.tables.values()):
            attribute = table.settings.get("TimeToLive")
            _attribute, _since, until = table.settings.get("TimeToLiveChange", NEVER)
            if attribute is None or now < until:
                self._of_table.pop(table.name, None)
                continue
            heap = self._timers(table, attribute, now).heap
            while heap and heap[0][0] <= now:
                _due, _number, position, entry = heappop(heap)
                if table.entries.get(position) is entry:  # and nobody has written it since
                    yield table.change(position, None)

    def _timers(self, table: Table, attribute: str, now: float) -> _Timers:
        timers = self._of_table.get(table.name)
        if timers is None or timers.table is not table or timers.attribute != attribute:
            timers = self._of_table[table.name] = _Timers(table, attribute)
            for position, entry in table.entries.items():
                self._time(timers, position, entry, now)
        return timers

    def _time(self, timers: _Timers, position: Position, entry: Entry, now: float) -> None:
        value = entry.item.get(timers.attribute, {}).get("N")
        if value is None or float(value) <= now - _OLDEST_SECONDS:
            return
        random = self._random(f"expire/{timers.table.name}/{position.hex()}/{value}")
        # Never at once, and within the longest time however times are rounded.
        due = max(float(value), now) + self._longest * random.randrange(1, 1000) / 1000
        heappush(timers.heap, (due, next(self._numbers), position, entry))
