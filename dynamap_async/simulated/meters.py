"""The capacity that requests take, and how answers say it."""

from __future__ import annotations

from typing import Any, Final

from dynamap_async.simulated.store import Change, Entry, Index, Table
from dynamap_async.units import Charge, index_write_half_units, read_half_units, write_half_units

LEAST_VECTOR_BYTES: Final = 1024
"""What a search of a vector index, or a write into it, takes at least."""


def written(change: Change, *, transactional: bool = False) -> Charge:
    """Return what a write takes.

    Args:
        change: the write.
        transactional: it is part of a transaction, which takes double of the table, and not of the indexes.
    """
    indexes: dict[str, int] = {}
    for each in change.indexes:
        if each.is_one:
            indexes[each.index.name] = index_write_half_units(_size(each.new), _size(each.old), key_changed=each.moved)
    old = change.old.size if change.old else 0
    vectors = {each.index.name: max(size, LEAST_VECTOR_BYTES) for each in change.vectors if (size := each.size)}
    return Charge(
        table_halves=write_half_units(change.size, old, transactional=transactional),
        index_halves=indexes,
        vector_bytes=vectors,
    )


def _size(entry: Entry | None) -> int | None:
    return None if entry is None else entry.size


def read(size: int, *, consistent: bool, index: Index | None = None, fetched: int = 0) -> Charge:
    """Return what a read takes.

    Args:
        size: the bytes that were looked at.
        consistent: it was strongly consistent.
        index: where it was read.
        fetched: halves of units for items that a local index had to get from its table.
    """
    halves = read_half_units(size, consistent=consistent)
    if index is None:
        return Charge(table_halves=halves)
    return Charge(table_halves=fetched, index_halves={index.name: halves})


def consumed(
    asked: str | None, table: Table, charge: Charge, *, name: str | None = None, kind: str | None = None
) -> dict[str, Any] | None:
    """Return the ConsumedCapacity of an answer.

    Args:
        asked: the request's ReturnConsumedCapacity.
        table: the table.
        charge: what was taken.
        name: the table's name as the request has it.
        kind: ``Read`` or ``Write`` in answers of transactions, which say the kind of units too.
    """
    if asked is None or asked == "NONE":
        return None
    found: dict[str, Any] = {"TableName": name or table.name, **_units(charge.units, kind)}
    if asked == "INDEXES":
        found["Table"] = _units(charge.table_units, kind)
        for member, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
            units = {
                index: _units(each, kind)
                for index, each in charge.index_units.items()
                if table.indexes[index].is_global is is_global
            }
            if units:
                found[member] = units
        if charge.vector_bytes:
            found["VectorIndexes"] = {
                index: {"VectorWriteRequestBytes": float(size)} for index, size in charge.vector_bytes.items()
            }
    return found


def _units(units: float, kind: str | None) -> dict[str, float]:
    return {"CapacityUnits": units, **({f"{kind}CapacityUnits": units} if kind else {})}
