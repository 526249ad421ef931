"""Projections: what a read needs of an index, whether the index holds it, and completing whole items from the table.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.Projections
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynamap_async.errors import OperationError, UnprojectedAttributeError
from dynamap_async.expressions import Condition, paths_in
from dynamap_async.limits import BATCH_GET_KEYS
from dynamap_async.models import Definition
from dynamap_async.planning.existence import is_expired
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.schema import IndexKind, IndexSchema, TableSchema
from dynamap_async.wire import Body, WireItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a query needs of the index that answers it."""

    model: str
    """Name of the model, for messages."""
    attributes: tuple[str, ...]
    """Stored names of the attributes that its result is made of."""
    everything: bool
    """Whether its result is made of all stored attributes, known or not."""
    consistent: bool
    whole: bool = False
    """Whether its result is whole items, which can be fetched from the table."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Stored name -> the field that asks for it, of the model that the result is read into."""
    expiry: str | None = None
    """Stored name of the attribute that says which items are expired and left out, if any are."""
    told_by: str | None = None
    """Stored name of the attribute that tells its items from those of other models in the same table, if any do."""


def check_index(table: TableSchema, index: IndexSchema, need: Need, filters: Sequence[Condition]) -> None:
    """Raise OperationError where an index cannot give what a query or scan needs of it."""
    if need.consistent and index.kind is IndexKind.GLOBAL:
        raise OperationError(
            f"the index {index.name!r} is global, and DynamoDB reads global indexes with eventual consistency only; "
            "drop .consistent(), or read the table"
        )
    filtered = [path.attribute for condition in filters for path in paths_in(condition)]
    missing = [name for name in dict.fromkeys(filtered) if not table.projects(index, name)]
    if missing:
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {_listed(missing)}, so a filter on it would find nothing; project "
            "it into the index, or query another index or the table",
            attributes=missing,
            index=index.name,
        )
    if is_completed(table, index, need):
        return
    if need.expiry is not None and not table.projects(index, need.expiry):
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {need.expiry!r}, which says when an item of {need.model} expires, "
            "so expired items could not be left out; project it into the index, or query another index or the table",
            attributes=(need.expiry,),
            index=index.name,
        )
    if need.told_by is not None and not table.projects(index, need.told_by):
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {need.told_by!r}, which tells what an item is in a shared table, "
            f"so items of other models than {need.model} could not be left out; project it into the index, or query "
            "another index or the table",
            attributes=(need.told_by,),
            index=index.name,
        )
    missing = _missing(table, index, need)
    if missing:
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {_listed(missing)}{_wanted_by(missing, need)}; leave it out, "
            "project it into the index, or read whole items, which are completed from the table",
            attributes=missing,
            index=index.name,
        )


def is_completed(table: TableSchema, index: IndexSchema | None, need: Need) -> bool:
    """Return whether whole items are asked for, and the index does not hold them."""
    if index is None or not need.whole:
        return False
    untold = need.told_by is not None and not table.projects(index, need.told_by)
    return untold or bool(_missing(table, index, need)) or (need.everything and index.projection.type != "ALL")


def _missing(table: TableSchema, index: IndexSchema, need: Need) -> list[str]:
    if index.projection.type == "ALL":
        return []
    held = {*index.projection.attributes, *index.keys.names, *table.keys.names}
    return [name for name in dict.fromkeys(need.attributes) if name not in held]


def _wanted_by(missing: Sequence[str], need: Need) -> str:
    labels = [need.labels[name] for name in missing if name in need.labels]
    return f", which {' and '.join(labels)} would be filled from" if labels else f" of {need.model}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


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
