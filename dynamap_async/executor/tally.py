"""Tallies: usage while it grows; ``dynamap_async.usage`` says what the counts mean.

Counting is on the way of every request, so what can be summed up when somebody asks is summed up then.
"""

import copy
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from dynamap_async.executor.counts import CountsByTable, Place
from dynamap_async.executor.metering import Spending
from dynamap_async.usage import IndexUsage, OperationUsage, Usage, UsageCounts

_COUNTS: Final = tuple(each.name for each in fields(UsageCounts))


@dataclass(slots=True)
class UsageTally:
    """The counts of one operation on one table."""

    read_halves: int = 0
    """Read units of the table itself, in halves; those of its indexes are apart."""
    write_halves: int = 0
    """Write units of the table itself, in halves; those of its indexes are apart."""
    requests: int = 0
    items: int = 0
    retries: int = 0
    throttles: int = 0
    waiting_seconds: float = 0.0
    unreported_requests: int = 0
    indexes: dict[str, list[int]] | None = None
    """Index -> its read units and write units, in halves; None where none took any."""

    @property
    def used(self) -> int:
        """How often it was used until now."""
        return self.requests + self.items

    def add(self, other: "UsageTally") -> None:
        """Count what another one has counted, too; the units of its indexes as the table's."""
        for name, number in other.counts().items():
            setattr(self, name, getattr(self, name) + number)

    def counts(self) -> dict[str, Any]:
        """Return all counts by their names, those of the indexes included."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        for reads, writes in (self.indexes or {}).values():
            counts["read_halves"] += reads
            counts["write_halves"] += writes
        return counts


class Counted:
    """What one account has used: in total, by operation and table, and by table and index."""

    __slots__ = ("_more_than_once", "by_operation")

    def __init__(self) -> None:
        self.by_operation: Final = CountsByTable(UsageTally)
        """The counts of each operation on each table."""
        self._more_than_once: Final = UsageTally()
        """What was counted for each of several tables, and is one in total."""

    def sent(self, operation: str, tables: Sequence[str]) -> None:
        """Count a request."""
        for tally in self._of_each(operation, tables):
            tally.requests += 1

    def waited(self, operation: str, tables: Sequence[str], seconds: float, retries: int) -> None:
        """Count how long what is sent has waited, and how much of it is sent again."""
        for tally in self._of_each(operation, tables):
            tally.waiting_seconds += seconds
            tally.retries += retries

    def served(self, operation: str, tables: Sequence[str], items: int) -> None:
        """Count items that were read or written."""
        for tally in self._of_each(operation, tables):
            tally.items += items

    def count(self, operation: str, tables: Sequence[str], name: str, number: int = 1) -> None:
        """Add to one of the other counts."""
        for tally in self._of_each(operation, tables):
            setattr(tally, name, getattr(tally, name) + number)

    def _of_each(self, operation: str, tables: Sequence[str]) -> Iterable[UsageTally]:
        """Return the tallies of something that is about each of these tables, and is one in total."""
        if len(tables) == 1:
            return (self.by_operation[operation, tables[0]],)
        tallies = [self.by_operation[operation, table] for table in tables]
        return [*tallies, *[self._more_than_once] * (len(tallies) - 1)]

    def fold(self, places: Iterable[Place]) -> None:
        """Count these operations on tables as those on other tables."""
        self.by_operation.fold(places)

    def spend(self, operation: str, of: Spending, halves: int) -> None:
        """Add units of a table, or of one of its indexes: of what was reported, the part that is paid here."""
        tally = self.by_operation[operation, of.table]
        if of.index is not None:
            tally.indexes = tally.indexes or {}
            tally.indexes.setdefault(of.index, [0, 0])[of.writes] += halves
        elif of.writes:
            tally.write_halves += halves
        else:
            tally.read_halves += halves

    @property
    def requests(self) -> int:
        """How many requests there were, in total."""
        return sum(tally.requests for tally in self.by_operation.values()) - self._more_than_once.requests

    @property
    def halves(self) -> tuple[int, int]:
        """The read units and the write units, in halves, in total."""
        counts = [tally.counts() for tally in self.by_operation.values()]
        return sum(each["read_halves"] for each in counts), sum(each["write_halves"] for each in counts)

    def copy(self) -> "Counted":
        """Return another one that has counted the same."""
        return copy.deepcopy(self)

    def usage(self) -> Usage:
        """Return all of it as a value that does not change."""
        entries = sorted(self.by_operation.items(), key=lambda entry: entry[0])
        by_operation = tuple(
            OperationUsage(operation=operation, table=table, **tally.counts()) for (operation, table), tally in entries
        )
        total = {
            name: sum(getattr(each, name) for each in by_operation) - getattr(self._more_than_once, name)
            for name in _COUNTS
        }
        return Usage(**total, by_operation=by_operation, by_index=self._by_index())

    def _by_index(self) -> tuple[IndexUsage, ...]:
        by_index: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        for (_, table), tally in self.by_operation.items():
            own = [tally.read_halves, tally.write_halves]
            for index, halves in (("", own), *(tally.indexes or {}).items()):
                by_index[table, index][0] += halves[0]
                by_index[table, index][1] += halves[1]
        return tuple(
            IndexUsage(table=table, index=index or None, read_halves=reads, write_halves=writes)
            for (table, index), (reads, writes) in sorted(by_index.items())
            if reads or writes
        )
