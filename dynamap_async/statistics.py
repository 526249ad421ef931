"""Statistics: what a session has done until now, as frozen values."""

from __future__ import annotations

from typing import Final

from dynamap_async.dataclass import dataclass
from dynamap_async.usage import PaceState

OTHER_TABLES: Final = "other tables"
"""Stands for a table where counts are by table: for those that do not exist, and, of thousands, for those that were
used the least. It is no name that a table can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketStatistics:
    """What is believed of the units of a table, or of one of its global indexes, for reads or for writes."""

    table: str
    """The full table name."""
    index: str | None = None
    """The global index; None for the table, whose units its local indexes share."""
    writes: bool
    """Whether write units are meant."""
    state: PaceState
    """What is believed."""
    since: float
    """Since when, by the clock of the event loop, in seconds."""
    limit: float | None
    """Units a second that are known to be this session's; None where no limit is known."""
    units_per_second: float | None
    """Units a second that may be spent; None for any number."""
    delivered_units_per_second: float
    """Units a second that were delivered lately."""
    waiting: int
    """How many requests wait for them."""


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
    buckets: tuple[BucketStatistics, ...] = ()
    """What is believed of the units of tables and indexes, of those that are not ``open``, sorted by name."""

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
