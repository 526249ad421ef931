"""Keys as requests have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from dynamap_async.limits import ITEM_SIZE_BYTES, PARTITION_KEY_BYTES, SORT_KEY_BYTES
from dynamap_async.simulated.errors import Refused, invalid, invalid_value
from dynamap_async.simulated.store import Index, Part, Place, Position, Table
from dynamap_async.simulated.values import Item, Value, admit, admit_item
from dynamap_async.simulated.vector_index import VectorIndex

AnyIndex = TypeVar("AnyIndex", Index, VectorIndex)

TOO_LARGE = "Item size has exceeded the maximum allowed size"
_SHORT_BYTES = min(PARTITION_KEY_BYTES, SORT_KEY_BYTES)
"""A key of no more has no part that is too long."""
_MISMATCH = "The provided key element does not match the schema"
_EMPTY = {
    "S": "The AttributeValue for a key attribute cannot contain an empty string value.",
    "B": "The AttributeValue for a key attribute cannot contain an empty binary value.",
}


def refuse_empty(name: str, value: Value) -> None:
    """Refuse an empty text or binary value of a key.

    Raises:
        Refused: it is empty.
    """
    if tag := next((tag for tag in _EMPTY if value.get(tag) == ""), None):
        raise invalid(f"One or more parameter values are not valid. {_EMPTY[tag]} Key: {name}")


def position_of_key(place: Place, key: Any) -> Position:
    """Return where the item of a key stands.

    Args:
        place: the table.
        key: as the request has it; its numbers get their one spelling.

    Raises:
        Refused: it is no key of this table.
    """
    given: Item = key
    if len(given) != len(place.parts):
        raise invalid(_MISMATCH)
    size = 0
    for part in place.parts:
        value = given.get(part.name)
        if value is None:
            raise invalid(_MISMATCH)
        own = admit(value)
        if part.type not in value:
            raise invalid(_MISMATCH)
        if not own:
            refuse_empty(part.name, value)
        size += own
    if size > _SHORT_BYTES:
        _sizes(place, given)
    return place.position(given)


def position_of_item(table: Table, item: Item) -> Position:
    """Return where an item stands that is to be stored.

    Args:
        table: the table.
        item: with admitted values.

    Raises:
        Refused: it has not this table's key.
    """
    size = 0
    for part in table.parts:
        value = item.get(part.name)
        if value is None:
            raise invalid_value(f"Missing the key {part.name} in the item")
        if part.type not in value:
            [actual] = value
            raise invalid_value(f"Type mismatch for key {part.name} expected: {part.type} actual: {actual}")
        own = admit(value)
        if not own:
            refuse_empty(part.name, value)
        size += own
    if size > _SHORT_BYTES:
        _sizes(table, item)
    return table.position(item)


def _sizes(place: Place, item: Item) -> None:
    if _size(place.hash, item) > PARTITION_KEY_BYTES:
        raise invalid_value(f"Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_BYTES} bytes")
    if _size(place.range, item) > SORT_KEY_BYTES:
        raise invalid_value(f"Aggregated size of all range keys has exceeded the size limit of {SORT_KEY_BYTES} bytes")


def _size(parts: Iterable[Part], item: Item) -> int:
    return sum([admit(item[part.name]) for part in parts if part.type != "N"])


def admit_index_keys(table: Table, item: Item) -> None:
    """Check what an item has in the place of keys of indexes, and of vectors.

    Raises:
        Refused: a value of another type, an empty or a long one, or a vector of another length.
    """
    for index in table.indexes.values():
        _admit_index_key(index, item)
    for vectors in table.vectors.values():
        vectors.admit(item)


def admit_new(table: Table, item: Item) -> tuple[Position, int]:
    """Check an item that is to be stored; return where it stands, and its size.

    Raises:
        Refused: it is none for this table, or too large.
    """
    size = admit_item(item)
    position = position_of_item(table, item)
    admit_index_keys(table, item)
    if size > ITEM_SIZE_BYTES:
        raise invalid(TOO_LARGE)
    return position, size


def _admit_index_key(index: Index, item: Item) -> None:
    size, is_there = 0, True
    for part in index.parts:
        value = item.get(part.name)
        if value is None:
            is_there = False
            continue
        if part.type not in value:
            [actual] = value
            raise invalid_value(
                f"Type mismatch for Index Key {part.name} Expected: {part.type} Actual: {actual} "
                f"IndexName: {index.name}"
            )
        own = admit(value)
        if not own:
            raise invalid(
                "One or more parameter values are not valid. A value specified for a secondary index key is not "
                f"supported. {_EMPTY[part.type]} IndexName: {index.name}, IndexKey: {part.name}"
            )
        size += own
    if is_there and size > _SHORT_BYTES:
        _sizes(index, item)


def fits(index: Index, item: Item) -> bool:
    """Return whether an index that is filled takes an item. It leaves out, without a word, what a write is refused for.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.ViolationDetection.html
    """
    try:
        _admit_index_key(index, item)
    except Refused:
        return False
    return True


def is_ready(index: Index | VectorIndex) -> bool:
    """Return whether an index can be read."""
    return index.status in {"ACTIVE", "UPDATING"}


def readable(indexes: Mapping[str, AnyIndex], name: str) -> AnyIndex:
    """Return an index that is read.

    Raises:
        Refused: there is none, or it is not ready.
    """
    index = indexes.get(name)
    if index is None or index.status == "DELETING":
        raise invalid(f"The table does not have the specified index: {name}")
    if not is_ready(index):
        reading = "search" if isinstance(index, VectorIndex) else "read from"
        kind = "vector" if isinstance(index, VectorIndex) else "global secondary"
        raise invalid(f"Cannot {reading} backfilling {kind} index: {name}")
    return index


def key_of(table: Table, item: Item) -> Item:
    """Return the attributes of the table's key."""
    return {part.name: item[part.name] for part in table.parts}


def start_position(table: Table, index: Index | None, key: Any) -> Position:
    """Return the position after which a page begins.

    Args:
        table: the table.
        index: the index that is read, if it is one.
        key: the request's ExclusiveStartKey.

    Raises:
        Refused: it is no key of what is read.
    """
    names = {part.name: part.type for part in (*table.parts, *(index.parts if index else ()))}
    if len(key) != len(names):
        if index is not None:
            raise invalid("The provided starting key is invalid")
        raise invalid("Exclusive Start Key must have same size as table's key schema")
    for name, value in key.items():
        try:
            admit(value)
        except Refused as refused:
            raise invalid(f"The provided starting key is invalid: {refused.message}") from None
        if names.get(name) not in value:
            raise invalid(f"The provided starting key is invalid: {_MISMATCH}")
    place = table.position(key)
    return index.position(key) + place if index else place
