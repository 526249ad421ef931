"""Statistics: what a session has done until now, as frozen values."""

from __future__ import annotations

from typing import Final

from dynamap_async.dataclass import dataclass

OTHER_TABLES: Final = "other tables"
"""Stands for a table where counts are by table: for those that do not exist, and, of thousands, for those that were
used the least. It is no name that a table can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How often what happened, since the session was made; ``queued`` and ``in_flight`` are of this moment."""

    accepted: int = 0
    """Requests that were asked for: each of one item, one page or one table. Equal reads count each."""
    queued: int = 0
    """Of those, how many wait to be sent now, for the first time or again."""
    in_flight: int = 0
    """Of those, how many are on the wire now."""
    coalesced: int = 0
    """Of those, how many were sent together with others: in one batch, or as one read of one key."""
    requests: int = 0
    """HTTP requests that were sent, repeated ones included."""
    failures: int = 0
    """Of those, how many ended in an error; cancelled ones do not count."""
    retries: int = 0
    """Items, pages and tables that had to be sent again after a failure, or for want of capacity, each time."""
    unprocessed: int = 0
    """Items that the answers of batches left over, each time."""
    splits: int = 0
    """Batches that were refused and sent again in parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationStatistics(Counts):
    """The counts of one API operation on one table.

    What is asked for counts for the operation that was asked for (``GetItem``); ``requests``, ``failures`` and
    ``splits`` for the one that was sent (``BatchGetItem``), once for each of its tables.
    """

    operation: str
    """The API operation."""
    table: str
    """The full table name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics(Counts):
    """The counts of a session: in total, and by operation and table. A batch of two tables is one request in total."""

    by_operation: tuple[OperationStatistics, ...] = ()
    """One for each operation and table of which there is anything to tell, sorted by both."""

    def of(self, operation: str, table: str) -> OperationStatistics:
        """Return the counts of an API operation on a table; zeros where nothing happened.

        Args:
            operation: the API operation, such as ``Query``.
            table: the full table name, prefix included.
        """
        for entry in self.by_operation:
            if (entry.operation, entry.table) == (operation, table):
                return entry
        return OperationStatistics(operation=operation, table=table)
