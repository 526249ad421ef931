"""Errors of tables that are not as they should be."""

from __future__ import annotations

from collections.abc import Sequence

from dynamap_async.dataclass import dataclass
from dynamap_async.errors.root import DynamapError


class TableError(DynamapError):
    """A table is not as it should be."""


class TableWaitTimeoutError(TableError, TimeoutError):
    """A table did not reach the awaited status in time."""

    def __init__(self, message: str, *, table: str, status: str | None, timeout_seconds: float) -> None:
        """Record the facts of the error.

        Args:
            message: what is wrong, and what to do about it.
            table: the full table name.
            status: the last status seen; None where the table did not exist.
            timeout_seconds: how long was waited.
        """
        super().__init__(message)
        self.table = table
        """The full table name."""
        self.status = status
        """The last status seen; None where the table did not exist."""
        self.timeout_seconds = timeout_seconds
        """How long was waited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDifference:
    """One thing in which a table is not as the models declare it."""

    table: str
    """The full table name."""
    index: str | None
    """The index; None where it is about the table itself."""
    what: str
    """What differs, such as ``key`` or ``projection``."""
    declared: str
    """What the models declare, as text."""
    found: str
    """What is there, as text."""

    def __str__(self) -> str:
        """Return it as a sentence without the table's name."""
        where = f"the index {self.index!r}" if self.index else "the table"
        return f"{where} has the {self.what} {self.found}, and the models declare {self.declared}"


class TableMismatchError(TableError):
    """A table is not as the models declare it, and cannot become so."""

    def __init__(self, *, table: str, differences: Sequence[TableDifference]) -> None:
        """Record the facts of the error.

        Args:
            table: the full table name.
            differences: in what it differs, at least one.
        """
        super().__init__(
            f"{table}: {'; '.join(map(str, differences))}. DynamoDB never changes these: correct the models, give an "
            "index another name, or copy the items into another table"
        )
        self.table = table
        """The full table name."""
        self.differences = tuple(differences)
        """In what it differs from the models."""
