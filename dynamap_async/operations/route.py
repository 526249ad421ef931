"""Routes: the table or index that a query goes through, and what becomes of its conditions there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final, TypeAlias

from dynamap_async.codec import KeyRole, check_key_value, order_key
from dynamap_async.errors import EncodeError
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Path, Value
from dynamap_async.schema import IndexKind, IndexSchema, KeySchema

_KIND_RANK: Final = {None: 0, IndexKind.LOCAL: 1, IndexKind.GLOBAL: 2}
TABLE: Final = "the table"
_PROJECTION_RANK: Final = {"ALL": 0, "INCLUDE": 1, "KEYS_ONLY": 2}

PartitionCondition: TypeAlias = Comparison | In


@dataclass(frozen=True, slots=True)
class Route:
    """The way a query takes: through the table or one index."""

    index: IndexSchema | None
    """The index; None for the table itself."""
    keys: KeySchema
    """The key schema of the table or index."""
    partition: tuple[PartitionCondition, ...]
    """One equality for each partition key attribute, or ``is_in`` with several values."""
    sort: tuple[Condition, ...]
    """One condition for each sort key attribute in use, in schema order."""
    filters: tuple[Condition, ...]
    """Conditions that DynamoDB checks after it has read the items."""

    @property
    def name(self) -> str:
        """The name that messages use."""
        return TABLE if self.index is None else f"the index {self.index.name!r}"

    @property
    def key_conditions(self) -> tuple[Condition, ...]:
        """All conditions that are part of the key condition."""
        return (*self.partition, *self.sort)

    @property
    def queries(self) -> int:
        """How many queries it takes: one for each value, or combination of values, of the partition key."""
        return math.prod(len(each.values) for each in self.partition if isinstance(each, In))

    @property
    def partition_values(self) -> list[Any]:
        """The values of the partition key; a list of them where there are several."""
        values: list[Any] = []
        for each in self.partition:
            if isinstance(each, In):
                values.append([value.stored for value in each.values])
            elif isinstance(each.right, Value):
                values.append(each.right.stored)
        return values

    def branches(self) -> "list[Route]":
        """Return one route for each query."""
        choices = [_equalities(each) if isinstance(each, In) else [each] for each in self.partition]
        return [replace(self, partition=partition) for partition in product(*choices)]

    @property
    def rank(self) -> tuple[bool, int, int, int]:
        """The lowest is the best route."""
        kind = None if self.index is None else self.index.kind
        projection = "ALL" if self.index is None else self.index.projection.type
        fans_out = any(isinstance(each, In) for each in self.partition)  # by form: the choice never depends on data
        return fans_out, -len(self.key_conditions), _KIND_RANK[kind], _PROJECTION_RANK[projection]


def _equalities(membership: In) -> list[Comparison]:
    return [Comparison("=", membership.operand, value) for value in membership.values]


def distinct_values(condition: PartitionCondition) -> PartitionCondition:
    """Return a membership with each value once."""
    if isinstance(condition, Comparison):
        return condition
    distinct: dict[object, Value] = {}
    for value in condition.values:
        distinct.setdefault(order_key(value.stored), value)
    return In(condition.operand, tuple(distinct.values()))


def check_key_values(route: Route) -> None:
    """Raise EncodeError where a constant of the key condition cannot be the value of a key: empty, or too long."""
    roles: list[tuple[KeyRole, Sequence[Condition]]] = [("partition", route.partition), ("sort", route.sort)]
    for role, conditions in roles:
        for condition in conditions:
            path, constants = _constants(condition)
            for constant in constants:
                try:
                    check_key_value(constant.stored, role)
                except EncodeError as error:
                    raise error.at(path.spelled, model=path.owner.__name__) from None


def _constants(condition: Condition) -> tuple[Path, tuple[Value, ...]]:
    match condition:
        case Comparison(left=Path() as path, right=Value() as value):
            return path, (value,)
        case Between(operand=Path() as path, low=low, high=high):
            return path, (low, high)
        case In(operand=Path() as path, values=values):
            return path, values
        case Function(path=path, arguments=arguments):
            return path, arguments
        case _:
            raise TypeError(f"{condition} is no key condition")
