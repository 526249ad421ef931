"""Counts by API operation and table, of a bounded number of tables: what tenants name may be any number.

Invariant: no count is lost. The counts of a table that does not exist, and of one that was idle for long where there
are too many, are added to those of the operation on ``OTHER_TABLES``.
"""

from collections.abc import Callable, Iterable
from typing import Final, Protocol, Self, TypeAlias, TypeVar

from dynamap_async.statistics import OTHER_TABLES

MOST_PLACES: Final = 4_000
"""Of how many operations on tables there are counts of their own: five of each of 800 tables."""

Place: TypeAlias = tuple[str, str]
"""An API operation and a table."""


class Counts(Protocol):
    """Counts while they grow."""

    @property
    def used(self) -> int:
        """How often they were used until now."""
        ...

    def add(self, other: Self) -> None:
        """Count what another one has counted, too."""
        ...


C = TypeVar("C", bound=Counts)


class CountsByTable(dict[Place, C]):
    """Operation and table -> counts, which are made where they are asked for."""

    def __init__(self, make: Callable[[], C]) -> None:
        """Begin with none.

        Args:
            make: returns counts of nothing.
        """
        super().__init__()
        self._make: Final = make
        self._used: dict[Place, int] = {}
        """How often the counts were used, when room was made last."""

    def __missing__(self, place: Place) -> C:
        if len(self) >= MOST_PLACES:
            self._make_room()
        counts = self[place] = self._make()
        return counts

    def fold(self, places: Iterable[Place]) -> None:
        """Add counts to those of other tables."""
        for place in places:
            operation, table = place
            if table != OTHER_TABLES and (counts := self.pop(place, None)) is not None:
                self.setdefault((operation, OTHER_TABLES), self._make()).add(counts)

    def _make_room(self) -> None:
        """Fold the half of the counts that was used the least since the last time, of equal ones the oldest."""
        before = self._used
        places = sorted(self, key=lambda place: self[place].used - before.get(place, 0))
        self.fold(places[: len(places) // 2])
        self._used = {place: counts.used for place, counts in self.items()}
