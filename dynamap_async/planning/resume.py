"""Resuming: a query that goes on where a cursor's page ended."""

from dataclasses import replace
from typing import TypeVar

from dynamap_async.codec import order_key
from dynamap_async.planning.cursors import decode_cursor, decode_positions, foreign
from dynamap_async.planning.fan_out import partition_of
from dynamap_async.planning.plan import Plan
from dynamap_async.planning.positions import side_of_range
from dynamap_async.planning.reading import Reading
from dynamap_async.request import Positions
from dynamap_async.wire import WireKey

ItemT = TypeVar("ItemT")


def resume(reading: Reading[ItemT], cursor: str | None) -> Reading[ItemT]:
    """Return the reading that goes on where a cursor's page ended.

    A sort condition may have other values than when the cursor was made. DynamoDB refuses a position outside the
    new range, so that is answered here: from the range's beginning, or with nothing more.

    Raises:
        CursorError: the cursor is of another query.
    """
    if cursor is None:
        return reading
    if reading.branches:
        return _resume_branches(reading, cursor)
    position = decode_cursor(cursor, reading.binding(), reading.cursor_secret, keys=reading.keys)
    # Without a secret anybody can make a cursor up, and DynamoDB refuses a position in another partition.
    if any(order_key(position[name]) != order_key(value) for name, value in partition_of(reading.plan).items()):
        raise foreign()
    side = _side(reading.plan, position)
    if side < 0:
        return reading
    return replace(reading, start=position, exhausted=side > 0)


def _side(plan: Plan, position: WireKey) -> int:
    side = side_of_range(plan.sort_conditions, position)
    return -side if plan.descending else side


def _resume_branches(reading: Reading[ItemT], cursor: str) -> Reading[ItemT]:
    found = decode_positions(
        cursor,
        reading.binding(),
        reading.cursor_secret,
        total=reading.total,
        keys=reading.keys,
        known=partition_of(reading.branches[0]),
    )
    at: dict[int, WireKey | None] = {}
    for number, position in found.at.items():
        plan = reading.branches[number]
        whole = None if position is None else {**position, **partition_of(plan)}
        side = 0 if whole is None else _side(plan, whole)
        if side <= 0:
            at[number] = whole if side == 0 else None
    return replace(reading, begin=Positions(found.begun, at))
