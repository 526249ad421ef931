"""Branches: the queries, one for each partition, that together answer one; and the cursor that they have together."""

from collections.abc import Sequence
from typing import Final

from dynamap_async.errors import OperationError
from dynamap_async.expressions import Comparison, Path, Value
from dynamap_async.operations.plan import Plan
from dynamap_async.request import Positions
from dynamap_async.wire import WireKey

_CURSOR_BYTES: Final = 4_096


def partition_of(plan: Plan) -> WireKey:
    """Return the partition key of the one partition that a plan queries."""
    partition: WireKey = {}
    for condition in plan.key_conditions[: len(plan.key_conditions) - len(plan.sort_conditions)]:
        match condition:
            case Comparison(left=Path(attribute=name), right=Value(stored=stored)):
                partition[name] = stored
            case _:
                pass
    return partition


def shortened(positions: Positions, branches: Sequence[Plan]) -> Positions:
    """Return positions without the partition keys, which the query itself names."""
    at: dict[int, WireKey | None] = {}
    for number, position in positions.at.items():
        fixed = partition_of(branches[number])
        at[number] = None if position is None else {k: v for k, v in position.items() if k not in fixed}
    return Positions(positions.begun, at)


def short(cursor: str, unfinished: int) -> str:
    """Return a cursor that is short enough to be handed around.

    Raises:
        OperationError: it is over 4 KB.
    """
    if len(cursor) > _CURSOR_BYTES:
        raise OperationError(
            f"the cursor of this page would hold the positions of {unfinished} queries in {len(cursor):,} bytes, more "
            f"than {_CURSOR_BYTES:,}; ask for fewer partitions at a time, or read it with `async for`, which needs no "
            "cursor"
        )
    return cursor
