"""Branches: the queries, one for each partition, that together answer one."""

from collections.abc import Sequence

from dynamap_async.expressions import Comparison, Path, Value
from dynamap_async.planning.plan import Plan
from dynamap_async.request import Positions
from dynamap_async.wire import WireKey


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
