"""Positions: where a page ended, and on which side of a query's key range that is.

A cursor's sort conditions may have other values than when it was made, and DynamoDB refuses a position outside of the
range, so whoever resumes has to know the side.
"""

from collections.abc import Sequence

from dynamap_async.codec import order_key
from dynamap_async.expressions import Between, Comparison, Condition, Function, Path, Value
from dynamap_async.wire import AttributeValue, WireKey


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
