"""Truncation: all items of a table are deleted, and the table stays.

Invariant: nothing is kept of how far it came, for what is deleted is not read again. When it ends, by whatever means,
no page is being read for it, and what was not sent is withdrawn.
"""

from __future__ import annotations

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError, TableProtectedError
from dynamap_async.executor import Account, Executor, Limits, paying
from dynamap_async.models import Model, Table, definition_of
from dynamap_async.planning import subclass_definitions
from dynamap_async.schema import TableSchema
from dynamap_async.stored import Deletions, StoredPages, TableScan, WatchDeletions
from dynamap_async.tables.requests import TableDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """What it took to delete all items of a table."""

    table: str
    """The full table name."""
    items: int
    """How many items were deleted."""
    read_units: float
    """The read units that it took."""
    write_units: float
    """The write units that it took, with those of indexes."""


def check_truncation(model: type[Model] | Table, found: TableDescription, *, force: bool) -> None:
    """Raise if the items of a table may not be deleted.

    Args:
        model: the model, or the shared table.
        found: the table as it is described.
        force: whether protection against deletion is no reason.

    Raises:
        OperationError: the model, or one of the table's, has unique fields.
        TableProtectedError: the table is protected.
    """
    name = found.schema.name
    members = model.models.values() if isinstance(model, Table) else (model,)
    for each in map(definition_of, members):
        if any(own.uniques for own in (each, *subclass_definitions(each))):
            raise OperationError(
                f"truncate of {name}: {each.model.__name__} has unique fields, and their values would stay taken; use "
                "session.delete_many(..., read_first=True) with the items of a scan instead"
            )
    if found.is_protected and not force:
        raise TableProtectedError(table=name)


async def truncate(executor: Executor, table: TableSchema, watch: WatchDeletions | None) -> Truncation:
    """Delete all items of a table that are there when their page is read, and return what that took.

    Args:
        watch: is told how many items are deleted by now, if anything is.
    """
    executor.ledger.begin_scope(Limits())
    account = Account(executor.ledger, f"truncate {table.name}")
    with paying(account):
        items = await _delete_all(executor, table, watch)
    usage = account.whole.usage()
    return Truncation(table=table.name, items=items, read_units=usage.read_units, write_units=usage.write_units)


async def _delete_all(executor: Executor, table: TableSchema, watch: WatchDeletions | None) -> int:
    """Delete all items, and return how many they were."""
    deletions = Deletions(executor, table.name, watch)
    async with StoredPages(executor, scan_of(table), table.keys.key_of) as pages:
        try:
            while await pages.next_page():
                async for key in pages:
                    await deletions.add(key)
            await deletions.finish()
        finally:
            deletions.cancel()
    return deletions.items


def scan_of(table: TableSchema) -> TableScan:
    """Return what reads the keys of all items, those that were written a moment ago included."""
    return TableScan.of_keys(table.name, table.keys.names, ConsistentRead=True)
