"""Queries and scans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynamap_async.simulated import legacy, meters, wire
from dynamap_async.simulated.constraints import Structure, anything, choice, flag, number
from dynamap_async.simulated.errors import invalid, invalid_value
from dynamap_async.simulated.expressions.conditions import (
    At,
    BeginsWith,
    Between,
    Both,
    Comparison,
    Condition,
    Contains,
    Exists,
    Given,
    HasType,
    In,
    Not,
    Operand,
    Size,
    read_condition,
)
from dynamap_async.simulated.expressions.paths import read_projection
from dynamap_async.simulated.expressions.reader import Placeholders
from dynamap_async.simulated.items import cut_text, projection_of
from dynamap_async.simulated.keys import readable, refuse_empty, start_position
from dynamap_async.simulated.pages import page
from dynamap_async.simulated.shapes import (
    ATTRIBUTES,
    ATTRIBUTES_TO_GET,
    CONDITIONS,
    CONSUMED,
    EXPRESSION,
    INDEX_NAME,
    OPERATOR,
    PLACEHOLDERS,
    TABLE_NAME,
)
from dynamap_async.simulated.store import HASHES, Entry, Index, Place, Position, Table, after, exact, prefix_bounds
from dynamap_async.simulated.values import Item, Value, comparable
from dynamap_async.simulated.writes import refuse_faults
from dynamap_async.units import read_half_units

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

_READ = {
    "TableName!": TABLE_NAME,
    "IndexName": INDEX_NAME,
    "Select": choice("SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"),
    "AttributesToGet": ATTRIBUTES_TO_GET,
    "ConsistentRead": flag,
    "ConditionalOperator": OPERATOR,
    "ExclusiveStartKey": ATTRIBUTES,
    "ReturnConsumedCapacity": CONSUMED,
    "ProjectionExpression": EXPRESSION,
    "FilterExpression": EXPRESSION,
    **PLACEHOLDERS,
}
QUERY = Structure(
    {
        **_READ,
        "Limit": anything,
        "KeyConditions": CONDITIONS,
        "QueryFilter": CONDITIONS,
        "ScanIndexForward": flag,
        "KeyConditionExpression": EXPRESSION,
    }
)
SCAN = Structure(
    {
        **_READ,
        "Limit": number(1),
        "ScanFilter": CONDITIONS,
        "Segment": number(0, 999_999),
        "TotalSegments": number(1, 1_000_000),
    }
)


@dataclass(slots=True)
class _Asked:
    """What a query and a scan have in common, understood."""

    body: dict[str, Any]
    known: Placeholders
    values: dict[str, Value]
    filter: Condition | None
    table: Table
    index: Index | None
    names: frozenset[str] | None
    """The attributes that are asked for; None for all."""

    @property
    def place(self) -> Place:
        """What is read."""
        return self.index or self.table

    @property
    def is_consistent(self) -> bool:
        """Whether the read is strongly consistent."""
        return bool(self.body.get("ConsistentRead"))

    @property
    def start(self) -> Position | None:
        """Where the last page ended."""
        key = self.body.get("ExclusiveStartKey")
        return None if key is None else start_position(self.table, self.index, key)


def _condition(known: Placeholders, text: str, parameter: str) -> Condition:
    condition: Condition = known.read(read_condition, text, parameter)
    return condition


def _asked(service: Service, body: dict[str, Any], operation: str, known: Placeholders) -> _Asked:
    values = dict(known.values)
    condition: Condition | None = None
    if (text := body.get("FilterExpression")) is not None:
        condition = _condition(known, text, "FilterExpression")
    elif (given := body.get(f"{operation}Filter")) is not None:
        condition = legacy.conditions(given, body.get("ConditionalOperator"), values)
    names: frozenset[str] | None = None
    if (text := body.get("ProjectionExpression")) is not None:
        paths = known.read(read_projection, text, "ProjectionExpression")
        names = frozenset(path[0] for path in paths)
    elif (listed := body.get("AttributesToGet")) is not None:
        names = frozenset(listed)
    if condition is not None:
        refuse_faults(condition, values, "FilterExpression")
    table = service.table(body["TableName"])
    index = _index(table, operation, body, names)
    if service.lag is not None and not body.get("ConsistentRead"):
        age = service.lag.age()
        table, index = service.lag.seen(table, age), None if index is None else service.lag.seen(index, age)
    return _Asked(body, known, values, condition, table, index, names)


def _index(table: Table, operation: str, body: dict[str, Any], names: frozenset[str] | None) -> Index | None:
    name, select = body.get("IndexName"), body.get("Select")
    index: Index | None = None
    if name is not None:
        if name in table.vectors:
            end = "." if operation == "Query" else ""
            raise invalid(f"{operation} operation not supported on this index type{end}")
        index = readable(table.indexes, name)
        if index.is_global and body.get("ConsistentRead"):
            raise invalid("Consistent reads are not supported on global secondary indexes")
    elif select == "ALL_PROJECTED_ATTRIBUTES":
        raise invalid_value("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
    if names is not None and select not in {None, "SPECIFIC_ATTRIBUTES"}:
        parameter = "ProjectionExpression" if "ProjectionExpression" in body else "AttributesToGet"
        raise invalid(f"Cannot specify the {parameter} when choosing to get {select}")
    if names is None and select == "SPECIFIC_ATTRIBUTES":
        raise invalid(
            "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if index is not None and index.is_global and index.attributes is not None:
        if select == "ALL_ATTRIBUTES":
            raise invalid_value(
                "Select type ALL_ATTRIBUTES is not supported for global secondary index "
                f"{name} because its projection type is not ALL"
            )
        if names is not None and not names <= index.attributes:
            missing = ", ".join(sorted(names - index.attributes))
            raise invalid_value(f"Global secondary index {name} does not project [{missing}]")
    return index


def query(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out Query."""
    limit = body.get("Limit")
    if limit is not None:
        if limit == 0:
            raise invalid(
                "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
                "Member must have value greater than or equal to 1"
            )
        number(1)(limit, "limit", [])
    legacy.refuse_mixture(body)
    known = Placeholders(body, "FilterExpression", "KeyConditionExpression", "ProjectionExpression")
    text = body.get("KeyConditionExpression")
    if text is None and body.get("KeyConditions") is None:
        raise invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    condition: Condition | None = None
    if text is not None:
        condition = _condition(known, text, "KeyConditionExpression")
        refuse_faults(condition, dict(known.values), "KeyConditionExpression")
    asked = _asked(service, body, "Query", known)
    known.all_used()
    if condition is None:
        literals = legacy.Literals(asked.values)
        terms = [
            legacy.comparison(name, each["ComparisonOperator"], each.get("AttributeValueList") or [], literals)
            for name, each in body["KeyConditions"].items()
        ]
    else:
        terms = list(_terms(condition))
    low, high = _bounds(asked.place, terms, asked.values, older=condition is None)
    _refuse_key_filter(asked)
    forward = body.get("ScanIndexForward", True)
    start = asked.start
    if start is not None:
        partition = asked.place.partition([body["ExclusiveStartKey"][part.name] for part in asked.place.hash])
        if not low.startswith(partition):
            raise invalid("The provided starting key is invalid: The provided key element does not match the schema")
        if start < low or (high is not None and start >= high):
            raise invalid("The provided starting key is outside query boundaries based on provided conditions")
        if forward:
            low = start + b"\0"
        else:
            high = start
    keys = asked.place.keys
    return _page(service, asked, keys.between(low, high) if forward else keys.backwards(low, high), low)


def selection(table: Table, asked: dict[str, Any]) -> Callable[[Position, Entry], bytes | None]:
    """Return what gives the JSON of an entry as a request wants it; None for those that it leaves out.

    Args:
        table: the table.
        asked: the expressions, with their placeholders.

    Raises:
        Refused: an expression is wrong.
    """
    known = Placeholders(asked, "FilterExpression", "KeyConditionExpression", "ProjectionExpression")
    values = dict(known.values)
    low: Position = b""
    high: Position | None = None
    condition: Condition | None = None
    if (text := asked.get("KeyConditionExpression")) is not None:
        key = _condition(known, text, "KeyConditionExpression")
        refuse_faults(key, values, "KeyConditionExpression")
        low, high = _bounds(table, list(_terms(key)), values, older=False)
    if (text := asked.get("FilterExpression")) is not None:
        condition = _condition(known, text, "FilterExpression")
        refuse_faults(condition, values, "FilterExpression")
        if "KeyConditionExpression" in asked:
            _refuse_keys_in(condition, table, "Filter Expression")
    cut = projection_of(asked, known)
    known.all_used()

    def chosen(position: Position, entry: Entry) -> bytes | None:
        if position < low or (high is not None and position >= high):
            return None
        return cut_text(entry, cut) if condition is None or condition.holds(entry.item, values) else None

    return chosen


_OTHERS: dict[type, str] = {Not: "NOT", In: "IN", Both: "OR", Contains: "contains", HasType: "attribute_type"}


def _terms(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, Both) and condition.word == "AND":
        yield from _terms(condition.left)
        yield from _terms(condition.right)
        return
    wrong = _OTHERS.get(type(condition))
    if isinstance(condition, Exists):
        wrong = "attribute_exists" if condition.wanted else "attribute_not_exists"
    elif isinstance(condition, Comparison) and condition.sign == "<>":
        wrong = "<>"
    if wrong is not None:
        raise invalid(f"Invalid operator used in KeyConditionExpression: {wrong}")
    yield condition


def _path_of(operand: Operand) -> str:
    if isinstance(operand, Size):
        raise invalid("KeyConditionExpressions cannot contain nested operations")
    if not isinstance(operand, At):
        raise invalid("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
    [name] = operand.names()
    if len(operand.path) > 1:
        raise invalid("KeyConditionExpressions cannot have conditions on nested attributes")
    return name


_TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _named(term: Condition, values: dict[str, Value]) -> tuple[str, str, list[Value]]:
    """Return the attribute, the sign and the values of a condition on a key."""
    if isinstance(term, Comparison):
        sign, left, right = term.sign, term.left, term.right
        if isinstance(left, Given):
            sign, left, right = _TURNED[sign], right, left
        operands: list[Operand] = [right]
    elif isinstance(term, Between):
        sign, left, operands = "BETWEEN", term.operand, [term.low, term.high]
    elif isinstance(term, BeginsWith):
        sign, left, operands = "begins_with", term.operand, [term.prefix]
    else:
        raise invalid("Query key condition not supported")
    name = _path_of(left)
    for operand in operands:
        if not isinstance(operand, Given):
            if isinstance(operand, At):
                raise invalid(
                    "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"
                )
            raise invalid("KeyConditionExpressions cannot contain nested operations")
    return name, sign, [operand.given(values) or {} for operand in operands]


def _bounds(
    place: Place, terms: list[Condition], values: dict[str, Value], *, older: bool
) -> tuple[Position, Position | None]:
    """Return the bounds of the positions that fit the conditions on the key.

    Raises:
        Refused: a condition is missing, or is on something else than the key.
    """
    named: dict[str, tuple[str, list[Value]]] = {}
    for term in terms:
        name, sign, operands = _named(term, values)
        if name in named:
            raise invalid("KeyConditionExpressions must only contain one condition per key")
        named[name] = (sign, operands)
    _refuse_others(place, named, older=older)
    begin = place.partition([named[part.name][1][0] for part in place.hash])
    known = [part.name for part in place.range]
    for number_, name in enumerate(known):
        later = [each for each in known[number_ + 1 :] if each in named]
        if name not in named:
            if later:
                raise invalid(f"Query condition missed key schema element: {name}")
            break
        sign, operands = named[name]
        if sign != "=":
            if later:
                raise invalid("Query key condition not supported")
            return _range(begin, sign, operands)
        begin = exact(begin, operands[0])
    return begin, after(begin)


def _refuse_others(place: Place, named: dict[str, tuple[str, list[Value]]], *, older: bool) -> None:
    """Refuse conditions that are not on the key, or have values of other types, and a partition key without one.

    Raises:
        Refused: there is one.
    """
    for part in place.hash:
        if part.name not in named:
            raise invalid(f"Query condition missed key schema element: {part.name}")
        if named[part.name][0] != "=":
            raise invalid("Query key condition not supported")
    types = {part.name: part.type for part in place.parts}
    if extra := [name for name in named if name not in types]:
        if older or len(named) > len(types) or not place.range:
            raise invalid("Conditions can be of length 1 or 2 only" if older else "Query key condition not supported")
        missed = next((part.name for part in place.range if part.name not in named), extra[0])
        raise invalid(f"Query condition missed key schema element: {missed}")
    for name, (sign, operands) in named.items():
        for value in operands:
            if types[name] not in value:
                raise invalid_value("Condition parameter type does not match schema type")
            if sign != "begins_with":
                refuse_empty(name, value)


def _range(begin: Position, sign: str, operands: list[Value]) -> tuple[Position, Position | None]:
    first = exact(begin, operands[0])
    if sign == "begins_with":
        return prefix_bounds(begin, operands[0])
    if sign == "BETWEEN":
        if comparable(operands[0]) > comparable(operands[1]):
            raise invalid_value(
                "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
            )
        return first, after(exact(begin, operands[1]))
    if sign == "<":
        return begin, first
    if sign == "<=":
        return begin, after(first)
    return (first if sign == ">=" else after(first) or first), after(begin)


def _refuse_key_filter(asked: _Asked) -> None:
    if asked.filter is None:
        return
    _refuse_keys_in(
        asked.filter, asked.place, "Filter Expression" if "FilterExpression" in asked.body else "QueryFilter"
    )


def _refuse_keys_in(condition: Condition, place: Place, what: str) -> None:
    keys = {part.name for part in place.parts}
    for name in condition.names():
        if name in keys:
            raise invalid(f"{what} can only contain non-primary key attributes: Primary key attribute: {name}")


def scan(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out Scan."""
    legacy.refuse_mixture(body)
    segment, segments = body.get("Segment"), body.get("TotalSegments")
    if segment is not None and segments is None:
        raise invalid(
            "The TotalSegments parameter is required but was not present in the request when Segment parameter is "
            "present"
        )
    if segments is not None and segment is None:
        raise invalid(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments is "
            "present"
        )
    if segment is not None and segment >= segments:
        raise invalid(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {segments}"
        )
    known = Placeholders(body, "FilterExpression", "ProjectionExpression")
    asked = _asked(service, body, "Scan", known)
    known.all_used()
    low: Position = b""
    high: Position | None = None
    if segment is not None and segments is not None and segments > 1:
        low, high = _segment(segment, segments), _segment(segment + 1, segments) if segment + 1 < segments else None
    start = asked.start
    if start is not None:
        if start < low or (high is not None and start >= high):
            raise invalid(
                "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with "
                "correct Segment."
            )
        low = start + b"\0"
    return _page(service, asked, asked.place.keys.between(low, high), low)


def _segment(number_: int, of: int) -> Position:
    return (HASHES * number_ // of).to_bytes(8, "big")


def _page(service: Service, asked: _Asked, positions: Iterator[Position], begin: Position) -> dict[str, Any]:
    """Return the answer that has one page."""
    body, index, condition = asked.body, asked.index, asked.filter
    if service.throttle is not None:
        service.throttle.begin_page(asked.table, index, begin)

    def fits(entry: Entry) -> bool:
        return condition is None or condition.holds(entry.item, asked.values)

    found = page(asked.place, positions, int(body.get("Limit") or 0), fits if condition else None)
    fetched = 0
    texts: list[bytes] | None = None
    if body.get("Select") != "COUNT":
        texts, fetched = _texts(asked, found.entries)
    charge = meters.read(found.size, consistent=asked.is_consistent, index=index, fetched=fetched)
    if service.throttle is not None:
        service.throttle.end_page(asked.table, index, begin, charge)
    return {
        "Items": None if texts is None else tuple(texts),
        "Count": len(found.entries),
        "ScannedCount": found.looked_at,
        "LastEvaluatedKey": None if found.ended is None else _last_key(asked, asked.place.entries[found.ended].item),
        "ConsumedCapacity": meters.consumed(
            body.get("ReturnConsumedCapacity"), asked.table, charge, name=body["TableName"]
        ),
    }


def _last_key(asked: _Asked, item: Item) -> Item:
    parts = (*asked.table.parts, *(asked.index.parts if asked.index else ()))
    return {part.name: item[part.name] for part in parts}


def _texts(asked: _Asked, found: list[Entry]) -> tuple[list[bytes], int]:
    """Return the JSON of the items, and what a local index takes of its table for those that it has only in part."""
    cut = projection_of(asked.body, asked.known)
    index, fetched = asked.index, 0
    if index is not None and not index.is_global and index.attributes is not None:
        wants_all = asked.body.get("Select") == "ALL_ATTRIBUTES"
        if wants_all or (asked.names is not None and not asked.names <= index.attributes):
            whole = [asked.table.entries[asked.table.position(entry.item)] for entry in found]
            fetched = sum(read_half_units(entry.size, consistent=asked.is_consistent) for entry in whole)
            found = whole
    if cut is None:
        return [entry.text for entry in found], fetched
    return [wire.write(cut(entry.item)) for entry in found], fetched
