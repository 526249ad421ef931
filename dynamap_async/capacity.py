"""What requests take in capacity units, from the items that they read and write. Pure: nothing is sent.

Items are instances of models or items in wire form; ``None`` stands for an item that does not exist. The arithmetic on
sizes in bytes is that of ``units``, and can be imported from here as well.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from dynamap_async import codec
from dynamap_async.models import Model, definition_of
from dynamap_async.schema import IndexSchema, TableSchema
from dynamap_async.units import (
    Charge,
    index_write_half_units,
    index_write_units,
    items_per_page,
    page_read_units,
    query_read_units,
    read_half_units,
    read_units,
    write_half_units,
    write_units,
)
from dynamap_async.wire import AttributeValue, WireItem

__all__ = [
    "Charge",
    "Item",
    "Table",
    "index_entry",
    "index_write_units",
    "item_size",
    "items_per_page",
    "page_charge",
    "page_read_units",
    "query_read_units",
    "read_charge",
    "read_units",
    "write_charge",
    "write_units",
]

Item: TypeAlias = Model | Mapping[str, AttributeValue]
"""An instance of a model, or an item in wire form: stored name -> attribute value."""

Table: TypeAlias = type[Model] | TableSchema
"""A model, which stands for its table, or the table's schema."""


def item_size(item: Item) -> int:
    """Return the size of an item in bytes, as capacity units and the limit of 400 KB count it.

    The names of the attributes count as well as their values, in UTF-8; see docs/reference/capacity-units.md.

    Args:
        item: an instance is measured as ``put`` would store it, except for what a session sets when it writes, such as
            the next version number.

    Raises:
        EncodeError: a value of the instance cannot be stored.
        ItemTooLargeError: the instance is over 400 KB.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return codec.item_size(_wire(item))


def index_entry(table: Table, index: str, item: Item | None) -> WireItem | None:
    """Return what an index holds of an item: the key attributes, and those that it projects.

    Args:
        table: the table.
        index: the index's name.
        item: the item as it is in the table.

    Returns:
        The entry in wire form; None if there is no item, or if it lacks one of the index's key attributes.

    Raises:
        KeyError: the table has no such index.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.Projections
    """
    schema = _schema(table)
    return None if item is None else _entry(schema, schema.index(index), _wire(item))


def read_charge(item: Item | None, *, consistent: bool = False, transactional: bool = False) -> Charge:
    """Return the read units of an item that is read by its key: GetItem, BatchGetItem, TransactGetItems.

    The units of a batch or a transaction are the sum of its items'. A projection changes nothing.

    Args:
        item: the whole item; None if there is none, which takes the least.
        consistent: the read is strongly consistent.
        transactional: the read is part of TransactGetItems.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html#read-operation-consumption
    """
    size = 0 if item is None else item_size(item)
    return Charge(table_halves=read_half_units(size, consistent=consistent, transactional=transactional))


def page_charge(
    table: Table, items: Iterable[Item], *, index: str | None = None, consistent: bool = False, fetched: bool = False
) -> Charge:
    """Return the read units of one page of a query or scan. They are charged to what is read, the table or the index.

    Args:
        table: the table.
        items: the items that the page evaluates, those that a filter takes away too, as they are in the table.
        index: the name of the index that is read, if any: the sizes of its entries count, not those of the items.
        consistent: the read is strongly consistent.
        fetched: attributes are asked for that a local index does not project: each whole item is read besides.

    Raises:
        KeyError: the table has no such index.
        ValueError: a global index is to be read consistently, or to fetch: DynamoDB does neither.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ThroughputConsiderations.Reads
    """
    wires = [_wire(item) for item in items]
    if index is None:
        return Charge(table_halves=read_half_units(sum(map(codec.item_size, wires)), consistent=consistent))
    schema = _schema(table)
    found = schema.index(index)
    if (consistent or fetched) and not found.kind.reads_like_table:
        raise ValueError(
            f"{index!r} is a global index, which cannot be read consistently and fetches nothing from the table; drop "
            "the argument"
        )
    # What lacks the index's key is not in it, and so a page through the index never meets it.
    entries = {position: entry for position, wire in enumerate(wires) if (entry := _entry(schema, found, wire))}
    whole = [codec.item_size(wires[position]) for position in entries] if fetched else []
    return Charge(
        table_halves=sum(read_half_units(size, consistent=consistent) for size in whole),
        index_halves={index: read_half_units(sum(map(codec.item_size, entries.values())), consistent=consistent)},
    )


def write_charge(table: Table, before: Item | None, after: Item | None, *, transactional: bool = False) -> Charge:
    """Return the write units of one put, update, delete or condition check, on the table and on each of its indexes.

    The units of a batch or a transaction are the sum of its items'. A write whose condition failed takes the table's
    units for the item that it would have left, and nothing of the indexes. A condition check leaves what was there.

    Args:
        table: the table, of whose indexes each is charged for how its entry changes.
        before: the item before the write; None if there was none.
        after: the item after the write; None if it was deleted.
        transactional: the write is part of TransactWriteItems: twice the units of the table, single ones of indexes.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html#write-operation-consumption
    """
    schema = _schema(table)
    old, new = (None if item is None else _wire(item) for item in (before, after))
    sizes = [0 if item is None else codec.item_size(item) for item in (new, old)]
    charged = {index.name: _index_halves(schema, index, old, new) for index in schema.indexes}
    return Charge(
        table_halves=write_half_units(*sizes, transactional=transactional),
        index_halves={name: halves for name, halves in charged.items() if halves},
    )


def _index_halves(table: TableSchema, index: IndexSchema, before: WireItem | None, after: WireItem | None) -> int:
    old = None if before is None else _entry(table, index, before)
    new = None if after is None else _entry(table, index, after)
    return index_write_half_units(
        None if new is None else codec.item_size(new),
        None if old is None else codec.item_size(old),
        # A new key is a deletion and a put; an entry that stays as it is costs nothing.
        key_changed=_comparable(_key(index, old)) != _comparable(_key(index, new)),
        changed=_comparable(old) != _comparable(new),
    )


def _key(index: IndexSchema, entry: WireItem | None) -> WireItem | None:
    return None if entry is None else index.keys.key_of(entry)


def _entry(table: TableSchema, index: IndexSchema, item: WireItem) -> WireItem | None:
    # An item without the whole key of an index has no entry in it.
    if not all(name in item for name in index.keys.names):
        return None
    return {name: value for name, value in item.items() if table.projects(index, name)}


def _schema(table: Table) -> TableSchema:
    return table if isinstance(table, TableSchema) else definition_of(table).require_table("measured")


def _wire(item: Item) -> WireItem:
    return definition_of(type(item)).items.encode(item) if isinstance(item, Model) else dict(item)


def _comparable(entry: WireItem | None) -> Any:
    """Return an index entry in a form in which equal means equal to DynamoDB: the order of a set does not count."""
    return None if entry is None else {name: _canonical(value) for name, value in entry.items()}


def _canonical(value: AttributeValue) -> Any:
    content: Any
    [(tag, content)] = value.items()
    match tag:
        case "M":
            return tag, {name: _canonical(member) for name, member in content.items()}
        case "L":
            return tag, [_canonical(element) for element in content]
        case "N":
            return tag, codec.parse_number(content)
        case "NS":
            return tag, {codec.parse_number(text) for text in content}
        case "SS" | "BS":
            return tag, set(content)
        case _:
            return tag, content
