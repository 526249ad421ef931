"""Records of migrations: what is known of their runs, in the library's own table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel

from dynamap_async.dataclass import dataclass
from dynamap_async.models import Attr, attr
from dynamap_async.operations.library_table import OwnItem
from dynamap_async.schema import RecordKind

RecordedState: TypeAlias = Literal["begun", "failed", "done", "marked", "undone"]
MigrationState: TypeAlias = Literal["pending", "begun", "failed", "done", "marked", "undone"]
"""``pending``: nothing is recorded. ``begun``: it runs, or a process that ran it is gone. ``failed``: it raised.
``done``: it ran. ``marked``: somebody said that it need not run. ``undone``: it ran, and was taken back."""

OVER: Final = frozenset(("done", "marked"))
"""The states of migrations that are not to run."""


class ScanPlace(BaseModel):
    """How far one scan of a migration has come."""

    items: int = 0
    """How many items it has given."""
    checkpoint: str | None = None
    """The checkpoint to continue from; None for the beginning."""
    ended: bool = False
    """Whether it has given all."""


class MigrationRecord(OwnItem, defer_build=True):
    """The record of a migration, as it is stored."""

    fence: Attr[int]
    """The fence of whoever wrote it last."""
    state: Attr[RecordedState]
    begun: Attr[datetime]
    """When it was begun last."""
    by: Attr[str]
    """Who began it: user, machine and process."""
    library_version: Attr[str]
    """The version of the library."""
    ended: Attr[datetime | None] = attr(default=None)
    source: Attr[str | None] = attr(default=None)
    """A hash of the function's source."""
    read_units: Attr[float] = attr(default=0.0)
    """The units that all runs have taken."""
    write_units: Attr[float] = attr(default=0.0)
    """The units that all runs have taken."""
    scans: Attr[dict[str, ScanPlace]] = attr(default_factory=dict[str, ScanPlace])
    """Name of a scan -> where it stands."""
    error: Attr[str | None] = attr(default=None)
    """Why it failed."""

    def take_over(self, before: MigrationRecord) -> None:
        """Continue where an earlier run stopped.

        Args:
            before: the record of that run.
        """
        self.scans = dict(before.scans)
        self.count(before.read_units, before.write_units)

    def count(self, read_units: float, write_units: float) -> None:
        """Record the units that were taken.

        Args:
            read_units: the read units of all runs.
            write_units: the write units of all runs.
        """
        self.read_units, self.write_units = read_units, write_units

    def end(self, state: RecordedState, at: datetime, error: str | None = None) -> None:
        """Record the end of a run.

        Args:
            state: how it ended.
            at: when it ended.
            error: why it failed; None if it did not.
        """
        self.state, self.ended, self.error = state, at, error
        if state != "failed":  # whoever runs it once more begins anew
            self.scans = {name: ScanPlace(items=place.items, ended=True) for name, place in self.scans.items()}


def record_key(name: str) -> str:
    """Return the key of a migration's record.

    Args:
        name: the id of the migration.
    """
    return RecordKind.MIGRATION.key(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationStatus:
    """The status of a migration, by its record."""

    id: str
    """The id of the migration."""
    state: MigrationState
    """Whether it ran, and how that ended."""
    changed: bool = False
    """Whether the source of its function is another than when it ran."""
    begun: datetime | None = None
    """When it was begun last."""
    ended: datetime | None = None
    """When it ended; None where it did not."""
    by: str | None = None
    """Who began it: user, machine and process."""
    library_version: str | None = None
    """The version of the library that it ran with."""
    items: Mapping[str, int]
    """Name of a scan -> how many items it has given."""
    read_units: float = 0.0
    """The read units that it took, of all its runs."""
    write_units: float = 0.0
    """The write units that it took, of all its runs."""
    error: str | None = None
    """Why it failed."""

    @property
    def is_over(self) -> bool:
        """Whether it need not run any more."""
        return self.state in OVER

    def __str__(self) -> str:
        given = "".join(f", {number:,} items of {name}" for name, number in self.items.items())
        units = f", {self.read_units:,.0f} read and {self.write_units:,.0f} write units" if self.begun else ""
        changed = " (its source has changed since)" if self.changed else ""
        why = f": {self.error}" if self.error and self.state == "failed" else ""
        return f"{self.id} {self.state}{given}{units}{changed}{why}"


def status_of(name: str, source: str | None, record: MigrationRecord | None) -> MigrationStatus:
    """Return the status of a migration.

    Args:
        name: the id of the migration.
        source: the hash of its function's source, as it is now.
        record: its record; None if nothing is stored.
    """
    if record is None:
        return MigrationStatus(id=name, state="pending", items={})
    return MigrationStatus(
        id=name,
        state=record.state,
        changed=record.state == "done" and None not in (source, record.source) and source != record.source,
        begun=record.begun,
        ended=record.ended,
        by=record.by,
        library_version=record.library_version,
        items={each: place.items for each, place in record.scans.items()},
        read_units=record.read_units,
        write_units=record.write_units,
        error=record.error,
    )
