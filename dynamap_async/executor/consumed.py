"""Metering: how requests ask for the units that they take, and in which form answers report them.

Answers of engines differ from the service's, so what cannot be read is taken for no report, never for an error.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ConsumedCapacity.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from dynamap_async.limits import ITEM_SIZE_BYTES, PAGE_BYTES
from dynamap_async.request import Request
from dynamap_async.units import read_half_units, write_half_units
from dynamap_async.wire import Body

_PLAIN: Final = {"TableName", "CapacityUnits", "Table"}
_PLAIN_TABLE: Final = {"CapacityUnits"}


class TableOrIndex(NamedTuple):
    """A table or one of its global indexes, for reads or for writes."""

    table: str
    """The full table name."""
    index_name: str | None
    """The global index; None for the table, whose capacity its local indexes share."""
    writes: bool
    """Whether write units are meant."""


class Spending(NamedTuple):
    """The units that a request took of one table, or of one of its indexes."""

    place: TableOrIndex
    """Whose capacity it was."""
    halves: int
    """How many, in halves of a unit."""
    local_index: str | None = None
    """The local index that took them of its table; None for the table itself, or a global index."""


@lru_cache(maxsize=4096)
def _spending(table: str, index: str | None, writes: bool, halves: int, local_index: str | None = None) -> Spending:
    if type(table) is not str:
        raise TypeError("the name of the table is no text")
    return Spending(TableOrIndex(table, index, writes), halves, local_index)


def is_metered(request: Request) -> bool:
    """Return whether a request takes units."""
    return request.operation in request.service.metered


def metered(request: Request) -> Request:
    """Return a request with the parameter that has the answer report its units."""
    asked = request.service.metered.get(request.operation)
    if asked is not None and "ReturnConsumedCapacity" not in request.body:
        # Another body, for this one may be the operation's; another request would cost 2 us (benchmarks: get_one).
        request.body = {"ReturnConsumedCapacity": asked, **request.body}
    return request


def reports(answer: Body) -> tuple[dict[str, Any], ...]:
    """Return what an answer reports of capacity as it stands there, with an entry for each table."""
    given: Any = answer.get("ConsumedCapacity")
    # Of a single operation there is one entry, of a batch or a transaction a list.
    if isinstance(given, dict):
        return (cast("dict[str, Any]", given),)
    listed = cast("list[object]", given) if isinstance(given, list) else []
    return tuple([cast("dict[str, Any]", each) for each in listed if isinstance(each, dict)])


def reported_units(answer: Body) -> float | None:
    """Return the units that an answer reports in all; None where it does not, or in no form that is known."""
    units: list[Any] = [report.get("CapacityUnits") for report in reports(answer)]
    return float(sum(units)) if units and all(isinstance(each, int | float) for each in units) else None


def spendings(request: Request, answer: Body) -> tuple[Spending, ...] | None:
    """Return what an answer says that its request took; None where it does not say, or not in a form that is known."""
    given: Any = answer.get("ConsumedCapacity")
    if not given:
        return None
    try:
        # Of a single operation there is one entry, of a batch or a transaction a list.
        entries: Sequence[Any] = [given] if isinstance(given, dict) else given
        first: Any = entries[0]
        if len(entries) == 1 and first.keys() == _PLAIN and first["Table"].keys() == _PLAIN_TABLE:
            # By far the most common form, and this is on the way of every request.
            halves = round(2 * first["Table"]["CapacityUnits"])
            return (_spending(first["TableName"], None, request.writes, halves),) if halves else ()
        return tuple(spending for entry in entries for spending in _of_table(request, entry))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None


def _of_table(request: Request, entry: Any) -> Iterator[Spending]:
    table: str = entry["TableName"]
    indexes: list[tuple[bool, str, Any]] = []
    for local, kind in ((False, "GlobalSecondaryIndexes"), (True, "LocalSecondaryIndexes")):
        of_kind: dict[str, Any] = entry.get(kind) or {}
        indexes.extend((local, index, part) for index, part in of_kind.items())
    own: Any = entry.get("Table")
    if own is None:
        # Some engines give the sum only.
        own = entry if not indexes else {"CapacityUnits": entry["CapacityUnits"] - sum(map(_total, indexes))}
    for writes, halves in _halves(request, own):
        yield _spending(table, None, writes, halves)
    for local, index, part in indexes:
        for writes, halves in _halves(request, part):
            yield _spending(table, None, writes, halves, index) if local else _spending(table, index, writes, halves)


def _total(index: tuple[bool, str, Any]) -> float:
    units: float = index[2]["CapacityUnits"]
    return units


def _halves(request: Request, part: Any) -> Iterator[tuple[bool, int]]:
    """Yield whether units are write units, and how many halves. A write can take read units: a repeated transaction."""
    if "ReadCapacityUnits" in part or "WriteCapacityUnits" in part:
        for writes, name in ((False, "ReadCapacityUnits"), (True, "WriteCapacityUnits")):
            if halves := round(2 * part.get(name, 0)):
                yield writes, halves
    elif halves := round(2 * part["CapacityUnits"]):
        yield request.writes, halves


def least(request: Request) -> tuple[int, int]:
    """Return the read units and the write units, in halves, that a request takes at the least; zeros if it is free."""
    body: Any = request.body
    consistent = bool(body.get("ConsistentRead"))
    match request.operation:
        case "GetItem" | "Query" | "Scan":
            return read_half_units(0, consistent=consistent), 0
        case "PutItem":
            return 0, write_half_units(request.target.size_bytes if request.target else 0)
        case "DeleteItem" | "UpdateItem":
            return 0, write_half_units(0)
        case "ExecuteStatement":
            return (0, write_half_units(0)) if request.writes else (read_half_units(0, consistent=consistent), 0)
        case "TransactGetItems" | "TransactWriteItems" | "ExecuteTransaction" | "BatchExecuteStatement":
            together = request.operation != "BatchExecuteStatement"
            if request.writes:
                return 0, parts_in(request) * write_half_units(0, transactional=together)
            return parts_in(request) * read_half_units(0, transactional=together), 0
        case _:
            return 0, 0


UNKNOWN_HALVES: Final = 1 << 40
"""What a request may take of whose kind nothing is known: more than any budget."""


def worst(request: Request) -> tuple[int, int]:
    """Return the read units and the write units, in halves, that a request takes at the most.

    What a write takes of indexes is not known here, and so not how much it takes.
    """
    if not is_metered(request):
        return 0, 0
    if request.writes:
        return 0, UNKNOWN_HALVES
    body: Any = request.body
    match request.operation:
        case "GetItem":
            size = ITEM_SIZE_BYTES
        case "Query" | "Scan":
            # A page ends with the item that goes over its limit.
            size = min(PAGE_BYTES + 1, body.get("Limit", PAGE_BYTES) * ITEM_SIZE_BYTES)
        case _:
            return UNKNOWN_HALVES, 0
    return read_half_units(size, consistent=bool(body.get("ConsistentRead"))), 0


def parts_in(request: Request) -> int:
    """Return how many actions or statements a request has that are carried out as one; 0 if it has no parts."""
    body: Any = request.body
    return len(body.get("TransactItems") or body.get("TransactStatements") or body.get("Statements") or ())
