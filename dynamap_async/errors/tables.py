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
        """Return the difference as a sentence, without the table's name."""
        where = f"the index {self.index!r}" if self.index else "the table"
        if self.found == "none":
            return f"{where} is missing, and the models declare {self.declared}"
        if self.declared == "none":
            return f"{where} has the {self.what} {self.found}, and no model declares it"
        return f"{where} has the {self.what} {self.found}, and the models declare {self.declared}"


class TableMismatchError(TableError):
    """Tables are not as the models declare them.

    Args:
        remedy: what to do about it, as a sentence without an end.
    """

    def __init__(self, remedy: str, *, differences: Sequence[TableDifference]) -> None:
        found = "; ".join(f"{each.table}: {each}" for each in differences)
        super().__init__(f"{found}. {remedy}")
        self.differences: tuple[TableDifference, ...] = tuple(differences)
        """In what the tables differ from the models."""


class TableProtectedError(TableError):
    """A table is protected against deletion, so neither it nor its items were deleted."""

    def __init__(self, *, table: str) -> None:
        super().__init__(
            f"{table} is protected against deletion; if all its items are to go, use "
            "`await session.tables.unprotect(...)` first, or give force=True"
        )
        self.table = table
        """The full table name."""


class PlanOutOfDateError(TableError):
    """A table is no longer as a plan saw it, so nothing of the plan was carried out."""

    def __init__(self, *, differences: Sequence[TableDifference]) -> None:
        found = "; ".join(f"{each.table}: {each.what} was {each.declared}, and is {each.found}" for each in differences)
        super().__init__(f"{found}. Nothing was changed: plan again, and look at what it says")
        self.differences: tuple[TableDifference, ...] = tuple(differences)
        """What has changed since; ``declared`` is what the plan saw."""


class PlanHazardError(TableError):
    """A plan has hazards that were not allowed, so nothing of it was carried out."""

    def __init__(self, message: str, *, codes: Sequence[str]) -> None:
        super().__init__(message)
        self.codes: tuple[str, ...] = tuple(codes)
        """The codes of the hazards that were not allowed."""
