"""The capacity that requests take, and how answers say it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynamap_async.simulated.store import Entry, Index, IndexChange, Table
from dynamap_async.units import Charge, index_write_half_units, read_half_units, write_half_units


def written(old: Entry | None, new_size: int, changes: Iterable[IndexChange], *, transactional: bool = False) -> Charge:
    """Return what a write takes.

    Args:
        old: what was there.
        new_size: the size of what is there now; 0 for nothing.
        changes: what the indexes did.
        transactional: it was part of a transaction.
    """
    indexes: dict[str, int] = {}
    for change in changes:
        if change.is_one:
            indexes[change.index.name] = index_write_half_units(
                _size(change.new), _size(change.old), key_changed=change.moved
            )
    own = write_half_units(new_size, old.size if old else 0, transactional=transactional)
    return Charge(table_halves=own, index_halves=indexes)


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
    return found


def _units(units: float, kind: str | None) -> dict[str, float]:
    return {"CapacityUnits": units, **({f"{kind}CapacityUnits": units} if kind else {})}
