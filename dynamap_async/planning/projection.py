"""Projections: what a read requires of an index, and how whole items that it does not hold are completed.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.Projections
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError, UnprojectedAttributeError
from dynamap_async.expressions import Condition, paths_in
from dynamap_async.limits import BATCH_GET_KEYS
from dynamap_async.models import Definition
from dynamap_async.planning.context import TableNames
from dynamap_async.planning.existence import is_expired
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.schema import IndexSchema, TableSchema
from dynamap_async.wire import Body, WireItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a query or scan requires of the index that it goes through."""

    model: str
    """Name of the model, for messages."""
    attributes: tuple[str, ...]
    """Stored names of the attributes that its result is made of."""
    everything: bool
    """Whether its result is made of all stored attributes, known or not."""
    consistent: bool
    whole: bool = False
    """Whether its result is whole items, which can be fetched from the table."""
    filled_fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """Stored name -> the field that asks for it, of the model that the result is read into."""
    expiry: str | None = None
    """Stored name of the attribute that says which items are expired and left out, if any are."""
    kind_attribute: str | None = None
    """Stored name of the attribute that tells its items from those of other models in the same table, if any do."""

    def check_index(self, table: TableSchema, index: IndexSchema, filters: Sequence[Condition]) -> None:
        """Raise an error where an index cannot give what the read requires of it.

        Args:
            filters: the conditions that are checked after reading.

        Raises:
            OperationError: the read is consistent, and the index is global.
            UnprojectedAttributeError: the index does not hold an attribute.
        """
        if self.consistent and not index.kind.reads_like_table:
            raise OperationError(
                f"the index {index.name!r} is global, and cannot be read consistently; drop .consistent(), or read "
                "the table"
            )
        # DynamoDB does not refuse such a filter: the attribute counts as absent, and the query returns nothing.
        filtered = [path.attribute for condition in filters for path in paths_in(condition)]
        missing = [name for name in dict.fromkeys(filtered) if not table.projects(index, name)]
        if missing:
            raise _unprojected(
                index,
                missing,
                ", so a filter on it would find nothing; project it into the index, or query another index or the "
                "table",
            )
        # Whole items are fetched by key then, with every attribute that the checks below look for.
        if self.needs_completion(table, index):
            return
        if self.expiry is not None and not self.sees_expiry(table, index):
            raise _unprojected(
                index,
                [self.expiry],
                f", which says when an item of {self.model} expires, so expired items could not be left out; project "
                "it into the index, or query another index or the table",
            )
        if self.kind_attribute is not None and not self.sees_kind(table, index):
            raise _unprojected(
                index,
                [self.kind_attribute],
                ", which tells what an item is in a shared table, so items of other models than "
                f"{self.model} could not be left out; project it into the index, or query another index or the table",
            )
        missing = self._missing(table, index)
        if missing:
            filled = [self.filled_fields[name] for name in missing if name in self.filled_fields]
            use = f", which {' and '.join(filled)} would be filled from" if filled else f" of {self.model}"
            raise _unprojected(
                index,
                missing,
                f"{use}; leave it out, project it into the index, or read whole items, which are completed from the "
                "table",
            )

    def needs_completion(self, table: TableSchema, index: IndexSchema | None) -> bool:
        """Return whether whole items are asked for that the index does not hold."""
        if index is None or not self.whole:
            return False
        lacks_unknown = self.everything and index.projection.type != "ALL"
        return lacks_unknown or not self.sees_kind(table, index) or bool(self._missing(table, index))

    def sees_expiry(self, table: TableSchema, index: IndexSchema | None) -> bool:
        """Return whether what is read tells which items are expired; True where none are left out."""
        return index is None or self.expiry is None or table.projects(index, self.expiry)

    def sees_kind(self, table: TableSchema, index: IndexSchema | None) -> bool:
        """Return whether what is read tells an item's kind; True where the table holds one kind only."""
        return index is None or self.kind_attribute is None or table.projects(index, self.kind_attribute)

    def _missing(self, table: TableSchema, index: IndexSchema) -> list[str]:
        if index.projection.type == "ALL":
            return []
        # The table's keys are in every index, whatever it projects.
        held = {*index.projection.attributes, *index.keys.names, *table.keys.names}
        return [name for name in dict.fromkeys(self.attributes) if name not in held]


def _unprojected(index: IndexSchema, names: Sequence[str], consequence: str) -> UnprojectedAttributeError:
    return UnprojectedAttributeError(
        f"the index {index.name!r} does not hold {_listed(names)}{consequence}", attributes=names, index=index.name
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


@dataclass(frozen=True, slots=True)
class Completion:
    """Fetches the whole items of one read, by their keys."""

    definition: Definition[Any]
    table: TableSchema
    consistent: bool
    """Whether all writes answered before are seen, as in the read that it completes."""
    now: Callable[[], int] | None
    """The time of day in whole epoch seconds, by which items are expired; None where these are read too."""
    keeps: Callable[[WireItem], bool] | None = None
    """Returns whether an item is of a model that is asked for, where the index entry does not tell."""
    names: TableNames = TableNames()
    """The names of tables; asked for where there is one table per period."""

    def request(self, entry: WireItem) -> Request:
        """Return the request of an entry's item. Many of them together become a BatchGetItem."""
        # An index entry always has the table's key.
        key = {name: entry[name] for name in self.table.keys.names}
        table = self.table.name
        if self.definition.periods is not None:
            table = self.names.full(self.definition.table_name(key, "read"))
        body = {"TableName": table, "Key": key, "ConsistentRead": self.consistent}
        target = Target(key, identity_of(table, key))
        return Request(operation="GetItem", body=body, table=table, target=target, batchable=True)

    def item(self, answer: Body) -> WireItem | None:
        """Return the item of an answer; None where it was deleted, is hidden, or is of another model."""
        item: WireItem | None = answer.get("Item")
        expiry = None if self.now is None else self.definition.expiry
        # The entry may be older than the item: a global index is eventually consistent.
        if item is None or (expiry is not None and self.now and is_expired(item, expiry.stored, self.now())):
            return None
        return item if self.keeps is None or self.keeps(item) else None

    def explained(self, limit: int | None) -> str:
        """Return the sentence that a plan says about it.

        Args:
            limit: how many items are wanted; None for all.
        """
        calls = "one BatchGetItem for each 100 items"
        if limit is not None:
            number = -(-limit // BATCH_GET_KEYS)
            calls = f"{number:,} BatchGetItem for {limit:,} items" if limit > 1 else "one GetItem"
        unit = "one read unit" if self.consistent else "half a read unit"
        return f"of whole items, from {self.table.name!r} by key: {calls}; {unit} per 4 KB of each"
