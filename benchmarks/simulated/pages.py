"""Pages of queries and scans: key conditions, order, and where the next page begins."""

from dataclasses import dataclass
from typing import Any

from benchmarks.simulated.expressions import Names, Term, terms
from benchmarks.simulated.faults import invalid
from benchmarks.simulated.keys import Key, KeySchema, place
from benchmarks.simulated.sizes import Wire
from benchmarks.simulated.tables import Index, Table
from benchmarks.simulated.units import PAGE_BYTES

Page = tuple[list[Wire], int, Wire | None]
"""Items, their size in bytes together, and the last key if there may be more."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a Query asks for."""

    table: Table
    index: Index | None
    partition: Key
    sort: list[Term]
    limit: int
    ascending: bool
    start: Key | None
    """The key, without the partition key's part, after which the page begins."""

    @classmethod
    def of(cls, table: Table, body: dict[str, Any]) -> "Asked":
        """Read the request."""
        _refuse_filter(body)
        index = table.indexes[body["IndexName"]] if "IndexName" in body else None
        schema = index.schema if index else table.schema
        known = Names.of(body)
        found = terms(body["KeyConditionExpression"], known)
        first = schema.names[0]
        start = body.get("ExclusiveStartKey")
        return cls(
            table,
            index,
            (schema.value(first, _equal(body, known, first)),),
            [term for term in found if term.name != first],
            body.get("Limit", 1 << 30),
            body.get("ScanIndexForward", True),
            start and _position(start, schema, table, index),
        )


def _refuse_filter(body: dict[str, Any]) -> None:
    if "FilterExpression" in body:
        raise invalid("the simulated table has no FilterExpression")


def _equal(body: dict[str, Any], known: Names, name: str) -> Wire:
    """Return the value that the partition key must have."""
    words = body["KeyConditionExpression"].replace("(", " ").replace(")", " ").split()
    for at, word in enumerate(words[:-2]):
        if known.name(word) == name and words[at + 1] == "=":
            value: Wire = known.values[words[at + 2]]
            return value
    raise invalid(f"Query condition missed key schema element: {name}")


def _position(item: Wire, schema: KeySchema, table: Table, index: Index | None) -> Key:
    own = schema.key(item)[1:]
    return own + table.schema.key(item) if index else own


def page(asked: Asked) -> Page:
    """Return one page of a query."""
    source = asked.index.entries if asked.index else asked.table.items
    stored = source.get(asked.partition, {})
    found: list[Wire] = []
    size = 0
    for rest in sorted(stored, reverse=not asked.ascending):
        item, each = stored[rest]
        if not _after(rest, asked) or not all(term.holds(item.get(term.name)) for term in asked.sort):
            continue
        if found and (len(found) == asked.limit or size + each > PAGE_BYTES):
            return found, size, _last(found[-1], asked)
        found.append(item)
        size += each
    # The service stops at the limit before it knows whether anything follows.
    return found, size, _last(found[-1], asked) if len(found) == asked.limit else None


def scanned(table: Table, body: dict[str, Any], start: Key | None) -> Page:
    """Return one page of a scan, or of one of its segments, in the order in which partition keys were met first."""
    _refuse_filter(body)
    segment, segments = body.get("Segment", 0), body.get("TotalSegments", 1)
    limit = body.get("Limit", 1 << 30)
    found: list[Wire] = []
    size, begun = 0, start is None
    for partition, stored in table.items.items():
        if place(partition) % segments != segment:
            continue
        if not begun and start is not None and partition != start[:1]:
            continue
        for rest in sorted(stored):
            if not begun and start is not None and rest <= start[1:]:
                continue
            item, each = stored[rest]
            if found and (len(found) == limit or size + each > PAGE_BYTES):
                return found, size, table.schema.wire(found[-1])
            found.append(item)
            size += each
        begun = True
    return found, size, table.schema.wire(found[-1]) if len(found) == limit else None


def projected(items: list[Wire], body: dict[str, Any]) -> list[Wire]:
    """Return what a request asks for of the items of its page: all of them, or some attributes by their names."""
    text = body.get("ProjectionExpression")
    if text is None:
        return items
    known = Names.of(body)
    names = {known.name(each.strip()) for each in text.split(",")}
    return [{name: value for name, value in item.items() if name in names} for item in items]


def _after(rest: Key, asked: Asked) -> bool:
    if asked.start is None:
        return True
    return rest > asked.start if asked.ascending else rest < asked.start


def _last(item: Wire, asked: Asked) -> Wire:
    names = asked.table.schema.names + (asked.index.schema.names if asked.index else ())
    return {name: item[name] for name in names}
