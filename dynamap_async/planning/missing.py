"""Missing tables: what it means that the table of a period does not exist."""

from dataclasses import dataclass
from typing import Any

from dynamap_async.errors import ResourceNotFoundError, ServiceError
from dynamap_async.models import Definition
from dynamap_async.wire import Body


def explained(error: ServiceError, definition: Definition[Any]) -> ServiceError:
    """Return the error, with the remedy where the table of a period is missing."""
    periods = definition.periods
    if periods is not None and isinstance(error, ResourceNotFoundError):
        note = (
            f"{periods.model} has one table per period; make each before its first item: "
            f"session.tables.create({periods.model}, period=...)"
        )
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
    return error


@dataclass(frozen=True, slots=True)
class Missing:
    """What a read makes of a table that does not exist."""

    definition: Definition[Any]
    skipped: bool
    """Whether it counts as empty."""

    def answer(self, error: ResourceNotFoundError) -> Body:
        """Return the answer of a table without items, or raise the error."""
        if self.skipped:
            return {"Items": [], "Count": 0, "ScannedCount": 0}
        error.add_note("a query or scan with .skip_missing_tables() takes them as empty")
        raise explained(error, self.definition)
