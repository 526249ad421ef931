"""Usage: what a session, or a scope, has taken of its tables until now, and believes of them, as frozen values.

Units are counted inside as whole halves of a unit, so that sums are exact; what is called ``..._units`` returns units.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from dynamap_async.dataclass import dataclass

PaceState: TypeAlias = Literal["open", "known", "trying", "learned", "out", "other reasons"]
"""What a session believes of the units of a table or index.

- ``open``: nothing is short; any number may be spent.
- ``known``: the limit is known, and loads keep to it.
- ``trying``: too many requests were refused, and a lower rate is tried, to see whether fewer are.
- ``learned``: fewer were refused at a lower rate, so it is kept, and raised again slowly.
- ``out``: everything is refused; a part of what was delivered before stays open.
- ``other reasons``: as many were refused at a lower rate, so the rate is not why, and is not lowered for a while.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Read units and write units, as DynamoDB reported them."""

    read_halves: int = 0
    """Read units, in halves."""
    write_halves: int = 0
    """Write units, in halves."""

    @property
    def read_units(self) -> float:
        """Read units."""
        return self.read_halves / 2

    @property
    def write_units(self) -> float:
        """Write units."""
        return self.write_halves / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounts(Units):
    """Units, and how often what happened."""

    requests: int = 0
    """HTTP requests that were sent, repeated ones included. One that several scopes share counts for each of them."""
    items: int = 0
    """Items that were read or written: one for each key that was asked for and each write; for each page of a query
    or scan those that it evaluated, filtered ones too."""
    retries: int = 0
    """Items, pages and tables that had to be sent again after a failure, or for want of capacity, each time."""
    throttles: int = 0
    """Items and pages that DynamoDB refused, or left out of a batch, for want of capacity, each time."""
    waiting_seconds: float = 0.0
    """How long they waited before they were sent, in sum: for others to share a request with, for capacity, for a
    connection, after a failure."""
    unreported_requests: int = 0
    """Of the requests, those whose units are not known: they failed, got no answer, or the answer did not say."""
    estimated_read_halves: int = 0
    """Read units that came besides, in halves, as they are estimated: of reads that were cancelled under way, or whose
    answers were lost, and of cancelled transactions. DynamoDB takes units for them and does not report them."""
    estimated_write_halves: int = 0
    """Write units that came besides, in halves, as they are estimated: of writes whose conditions failed, or whose
    answers were lost, and of cancelled transactions."""

    @property
    def estimated_read_units(self) -> float:
        """Read units that came besides, as they are estimated."""
        return self.estimated_read_halves / 2

    @property
    def estimated_write_units(self) -> float:
        """Write units that came besides, as they are estimated."""
        return self.estimated_write_halves / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationUsage(UsageCounts):
    """The usage of one API operation on one table, its indexes included."""

    operation: str
    """The API operation that was sent, such as ``BatchGetItem``."""
    table: str
    """The full table name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUsage(Units):
    """The units of one table without its indexes, or of one of its indexes."""

    table: str
    """The full table name."""
    index: str | None = None
    """The index; None for the table itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(UsageCounts):
    """The usage of a session or a scope: in total, by operation and table, and by table and index.

    A batch of two tables is one request in total, and one of each table.
    """

    by_operation: tuple[OperationUsage, ...] = ()
    """One for each operation and table of which there is anything to tell, sorted by both."""
    by_index: tuple[IndexUsage, ...] = ()
    """One for each table and each index that took units, sorted by both, the table itself first."""

    def of(self, operation: str, table: str) -> OperationUsage:
        """Return the usage of an API operation on a table; zeros where nothing happened.

        Args:
            operation: the API operation, such as ``Query``.
            table: the full table name, prefix included.
        """
        for entry in self.by_operation:
            if (entry.operation, entry.table) == (operation, table):
                return entry
        return OperationUsage(operation=operation, table=table)

    def on(self, table: str, index: str | None = None) -> IndexUsage:
        """Return the units of a table, or of one of its indexes; zeros where none were taken.

        Args:
            table: the full table name, prefix included.
            index: the index; None for the table without its indexes.
        """
        for entry in self.by_index:
            if (entry.table, entry.index) == (table, index):
                return entry
        return IndexUsage(table=table, index=index)
