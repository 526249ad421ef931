"""Places: what capacity is sold for, and which of it a request draws on before an answer has told. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from dynamap_async.executor.metering import Spending, least
from dynamap_async.request import Request, tables_of
from dynamap_async.units import items_per_page, read_half_units

_PAGE_ITEM_BYTES: Final = 1_024
"""What an item of a query with a limit is taken for until its answers are known."""
_PAGE_ITEMS: Final = 100
"""How many items a query without a limit is taken to read until its answers are known."""


class Place(NamedTuple):
    """A table or one of its global indexes, for reads or for writes."""

    table: str
    """The full table name."""
    index_name: str | None
    """The global index; None for the table, whose capacity its local indexes share."""
    writes: bool
    """Whether write units are meant."""


def spent_units(spent: Iterable[Spending]) -> dict[Place, float]:
    """Return the units that an answer reported, of each place."""
    units: dict[Place, float] = {}
    for spending in spent:
        place = Place(spending.table, None if spending.local else spending.index, spending.writes)
        units[place] = units.get(place, 0.0) + spending.halves / 2
    return units


def supposed_units(request: Request) -> dict[Place, float]:
    """Return what a request is taken for until the answers to others of its kind are known."""
    reads, writes = least(request)
    tables = tables_of(request)
    if len(tables) > 1:
        counts = _actions(request.body, tables)
        total = sum(counts.values())
        return {
            Place(table, None, request.writes): max(reads, writes) / 2 * count / total
            for table, count in counts.items()
        }
    if request.operation in ("Query", "Scan"):
        return {Place(request.table, request.index, writes=False): _page_units(request)}
    return {Place(request.table, None, request.writes): max(reads, writes) / 2}


def weight_of(request: Request) -> float:
    """Return how much a request is of its kind, in proportion to which it takes units: what it is known to write."""
    reads, writes = least(request)
    sizes = [target.size_bytes for target in request.targets]
    return max(1.0, reads / 2, writes / 2, sum(-(-size // 1024) for size in sizes) * 2.0)


def _page_units(request: Request) -> float:
    body: Any = request.body
    items = min(body.get("Limit") or _PAGE_ITEMS, items_per_page(_PAGE_ITEM_BYTES))
    return read_half_units(items * _PAGE_ITEM_BYTES, consistent=bool(body.get("ConsistentRead"))) / 2


def _actions(body: Mapping[str, Any], tables: tuple[str, ...]) -> dict[str, int]:
    """Return how many of a transaction's actions are about each table; statements are taken to be spread evenly."""
    counts = dict.fromkeys(tables, 0)
    for action in body.get("TransactItems") or ():
        for part in action.values():
            counts[part["TableName"]] += 1
    return counts if sum(counts.values()) else dict.fromkeys(tables, 1)
