"""Truncation: all items of a table are deleted, and the table stays.

Invariant: nothing is kept of how far it came, for what is deleted is not read again. When it ends, by whatever means,
no page is being read for it, and what was not sent is withdrawn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError, TableProtectedError
from dynamap_async.executor import Account, Executor, Limits, paying
from dynamap_async.limits import BATCH_WRITE_REQUESTS
from dynamap_async.models import Model, Table, definition_of
from dynamap_async.native import plain
from dynamap_async.planning import subclass_definitions
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.schema import TableSchema
from dynamap_async.tables.requests import TableDescription
from dynamap_async.turns import next_turn
from dynamap_async.wire import Body, WireItem, WireKey

_CALLS_AT_A_TIME: Final = 16
"""How many calls' worth of deletions are under way at most."""


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
                f"truncate of {name}: {each.model.__name__} has unique fields, whose values would stay taken; use "
                f"session.delete_many(..., read_first=True) on the items of a scan instead"
            )
    if found.is_protected and not force:
        raise TableProtectedError(table=name)


async def truncate(executor: Executor, table: TableSchema) -> Truncation:
    """Delete all items of a table that are there when their page is read, and return what that took.

    Args:
        executor: sends the requests.
        table: the table, by its full name.
    """
    executor.ledger.begin_scope(Limits())
    account = Account(executor.ledger, f"truncate {table.name}")
    with paying(account):
        items = await _delete_all(executor, table)
    usage = account.whole.usage()
    return Truncation(table=table.name, items=items, read_units=usage.read_units, write_units=usage.write_units)


async def _delete_all(executor: Executor, table: TableSchema) -> int:
    """Delete all items, and return how many they were."""
    deletions = _Deletions(executor, table.name)
    pages = executor.pages(lambda start, _: scan_request(table, start), table.keys.key_of, want=None, start=None)
    try:
        while not pages.ended:
            for item in (await pages.next_page()).items:
                key: WireItem = plain(item)
                await deletions.add(table.keys.key_of(key))
        await deletions.finish()
    finally:
        deletions.cancel()
        await pages.aclose()
    return deletions.items


def scan_request(table: TableSchema, start: WireKey | None) -> Request:
    """Return the request that reads the keys of a page of items.

    Args:
        table: the table, by its full name.
        start: the key to go on after; None for the first page.
    """
    aliases = {f"#k{number}": name for number, name in enumerate(table.keys.names)}
    body: dict[str, Any] = {
        "TableName": table.name,
        "ConsistentRead": True,  # or an item that was written a moment ago would stay
        "ProjectionExpression": ", ".join(aliases),
        "ExpressionAttributeNames": aliases,
    }
    if start is not None:
        body["ExclusiveStartKey"] = start
    return Request(operation="Scan", body=body, table=table.name, required=frozenset(table.keys.names))


class _Deletions:
    """Deletions of items, submitted by as many as fill a call, and a bounded number of them at a time."""

    def __init__(self, executor: Executor, table: str) -> None:
        """Begin with none.

        Args:
            executor: sends the requests.
            table: the full table name.
        """
        self._executor = executor
        self._table = table
        self._ready: list[Request] = []
        self._calls: deque[list[asyncio.Future[Body]]] = deque()
        """What was submitted and not waited for, by calls."""
        self.items: int = 0
        """How many items are known to be deleted."""

    async def add(self, key: WireKey) -> None:
        """Delete an item, at the latest with the next 24.

        Args:
            key: its key.

        Raises:
            DynamapError: an earlier one could not be deleted.
        """
        body = {"TableName": self._table, "Key": key}
        target = Target(key, identity_of(self._table, key))
        self._ready.append(
            Request(operation="DeleteItem", body=body, table=self._table, target=target, batchable=True, writes=True)
        )
        if len(self._ready) == BATCH_WRITE_REQUESTS:
            self._submit()
            await next_turn()
            while len(self._calls) >= _CALLS_AT_A_TIME:
                await self._wait_for_oldest()

    async def finish(self) -> None:
        """Wait until everything is deleted.

        Raises:
            DynamapError: something could not be deleted.
        """
        self._submit()
        while self._calls:
            await self._wait_for_oldest()

    def cancel(self) -> None:
        """Withdraw what was not sent, and wait for nothing; what was sent ends unobserved."""
        for future in (each for call in self._calls for each in call):
            if not future.cancel() and not future.cancelled():
                future.exception()  # taken note of: the first one was raised

    def _submit(self) -> None:
        ready, self._ready = self._ready, []
        self._calls.append([])
        for request in ready:
            self._calls[-1].append(self._executor.submit(request))

    async def _wait_for_oldest(self) -> None:
        for future in self._calls[0]:
            await future
        self.items += len(self._calls.popleft())
