"""Positions: where a page ended, what can be one, and on which side of a query's key range one is.

A cursor's sort conditions may have other values than when it was made, and DynamoDB refuses a position outside of the
range, so whoever resumes has to know the side.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, cast

from dynamap_async.codec import KeyRole, check_key_value, number_text, order_key
from dynamap_async.expressions import Between, Comparison, Condition, Function, Path, Value
from dynamap_async.schema import KeyAttribute, KeySchema
from dynamap_async.wire import AttributeValue, WireKey

_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([Ee][+-]?[0-9]+)?")
"""What DynamoDB reads as a number. Python also reads spaces, underscores, and the digits of other scripts."""


def is_position(given: object, keys: Sequence[KeySchema], known: Collection[str] = ()) -> bool:
    """Return whether something that came from outside can be a position.

    Args:
        given: a JSON value.
        keys: the keys of the table and of the index that is read; a position has all their attributes, and no other.
        known: the attributes that are not in it, because the query itself tells them.
    """
    if not isinstance(given, dict):
        return False
    position = cast("dict[str, Any]", given)
    wanted = [part for part in _parts(keys) if part[0].name not in known]
    return position.keys() == {attribute.name for attribute, _ in wanted} and all(
        _can_be_of(attribute, role, position[attribute.name]) for attribute, role in wanted
    )


def _parts(keys: Sequence[KeySchema]) -> Iterator[tuple[KeyAttribute, KeyRole]]:
    for schema in keys:
        for attribute in schema.partition:
            yield attribute, "partition"
        for attribute in schema.sort:
            yield attribute, "sort"


def _can_be_of(attribute: KeyAttribute, role: KeyRole, value: Any) -> bool:
    if not isinstance(value, dict) or [*cast("dict[str, Any]", value)] != [attribute.type]:
        return False
    text: Any = cast("dict[str, Any]", value)[attribute.type]
    if not isinstance(text, str) or (attribute.type == "N" and not _NUMBER.fullmatch(text)):
        return False
    stored = cast("AttributeValue", value)
    try:
        kind, content = order_key(stored)  # which reads numbers and base64
        check_key_value(stored, role)
        if kind == "N":
            number_text(content)
    except (ValueError, ArithmeticError):
        return False
    return True


def side_of_range(conditions: Sequence[Condition], position: WireKey) -> int:
    """Return -1 for a position before the range of the sort conditions, 0 inside, 1 after it, in ascending order."""
    for condition in conditions:
        side = _side(condition, position)
        if side:
            return side
    return 0


def _side(condition: Condition, position: WireKey) -> int:
    match condition:
        case Comparison(comparator=comparator, left=Path() as path, right=Value(stored=bound)):
            order = _compare(position[path.attribute], bound)
            outside = {"=": order != 0, "<": order >= 0, "<=": order > 0, ">": order <= 0, ">=": order < 0}
            # A position equal to an open bound is still a position from which the range follows or has ended.
            return (order or (1 if comparator == "<" else -1)) if outside[comparator] else 0
        case Between(operand=Path() as path, low=low, high=high):
            if _compare(position[path.attribute], low.stored) < 0:
                return -1
            return 1 if _compare(position[path.attribute], high.stored) > 0 else 0
        case Function(path=path, arguments=(Value(stored=prefix),)):
            value, start = order_key(position[path.attribute])[1], order_key(prefix)[1]
            if value.startswith(start):
                return 0
            return -1 if value < start else 1
        case _:
            return 0


def _compare(left: AttributeValue, right: AttributeValue) -> int:
    first, second = order_key(left), order_key(right)
    return (first > second) - (first < second)
