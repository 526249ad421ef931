"""Completion: from the entry of an index that does not hold whole items, the item in the table.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.Projections
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dynamap_async.limits import BATCH_GET_KEYS
from dynamap_async.models import Definition
from dynamap_async.planning.expiry import is_expired
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.schema import TableSchema
from dynamap_async.wire import Body, WireItem


@dataclass(frozen=True, slots=True)
class Completion:
    """Fetches the whole items of one read, by their keys."""

    definition: Definition[Any]
    table: TableSchema
    consistent: bool
    """Whether all writes answered before are seen, as in the read that it completes."""
    now: Callable[[], int]
    """The time of day in whole epoch seconds."""
    keeps: Callable[[WireItem], bool] | None = None
    """Tells whether an item is of a model that is asked for, where the index entry does not."""
    prefix: str = ""
    """Stands before every table name; asked for where there is one table per period."""

    def request(self, entry: WireItem) -> Request:
        """Return the request of an entry's item. Many of them together become a BatchGetItem."""
        key = {name: entry[name] for name in self.table.keys.names}
        table = self.table.name
        if self.definition.periods is not None:
            table = self.prefix + self.definition.table_name(key, "read")
        body = {"TableName": table, "Key": key, "ConsistentRead": self.consistent}
        target = Target(key, identity_of(table, key))
        return Request(operation="GetItem", body=body, table=table, target=target, batchable=True)

    def item(self, answer: Body) -> WireItem | None:
        """Return the item of an answer; None where it was deleted, is hidden, or is of another model."""
        item: WireItem | None = answer.get("Item")
        expiry = self.definition.expiry
        if item is None or (expiry is not None and is_expired(item, expiry.stored, self.now())):
            return None
        return item if self.keeps is None or self.keeps(item) else None

    def told(self, limit: int | None) -> str:
        """Return what a plan says of it.

        Args:
            limit: how many items are wanted; None for all.
        """
        calls = "one BatchGetItem for each 100 items"
        if limit is not None:
            number = -(-limit // BATCH_GET_KEYS)
            calls = f"{number:,} BatchGetItem for {limit:,} items" if limit > 1 else "one GetItem"
        unit = "one read unit" if self.consistent else "half a read unit"
        return f"of whole items, from {self.table.name!r} by key: {calls}; {unit} per 4 KB of each"
