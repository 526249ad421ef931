"""Routes: the table or index that a query goes through, and what becomes of its conditions there."""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, TypeAlias

from dynamap_async.codec import KeyRole, check_key_value, order_key
from dynamap_async.errors import EncodeError, OperationError
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Or, Path, Value
from dynamap_async.planning.replace_fields import revised
from dynamap_async.schema import IndexKind, IndexSchema, KeySchema

_KIND_RANK: Final = {None: 0, IndexKind.LOCAL: 1, IndexKind.GLOBAL: 2}
TABLE: Final = "the table"
QUERIES: Final = 100
"""How many queries are sent for one, at most."""
_PROJECTION_RANK: Final = {"ALL": 0, "INCLUDE": 1, "KEYS_ONLY": 2}

PartitionCondition: TypeAlias = Comparison | In


@dataclass(frozen=True)  # without slots: see ``revised``
class Route:
    """The way a query takes: through the table or one index."""

    index: IndexSchema | None
    """The index; None for the table itself."""
    keys: KeySchema
    """The key schema of the table or index."""
    partition: tuple[PartitionCondition, ...]
    """One equality for each partition key attribute, or ``is_in`` with several values."""
    sort: tuple[Condition, ...]
    """One condition for each sort key attribute in use, in schema order; an ``Or`` stands for a query for each part."""
    filters: tuple[Condition, ...]
    """Conditions that DynamoDB checks after it has read the items."""
    asked: tuple[Condition, ...] = ()
    """Conditions on the parts of templated keys, which conditions on the keys were made of."""
    served: int = 0
    """How many of the program's conditions the key serves: those on key attributes, and on parts of them."""
    spread: tuple[tuple[str, ...], ...] = ()
    """The texts of each part of the sort key that has several."""
    hazards: tuple[str, ...] = ()
    """What may surprise about the keys' templates."""
    dense: bool = False
    """Whether the filter only looks for items of other models, where hardly any are."""

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
        """How many queries it takes: one for each value, or combination of values, of the key."""
        partitions = math.prod(len(each.values) for each in self.partition if isinstance(each, In))
        return partitions * math.prod(len(each.parts) for each in self.sort if isinstance(each, Or))

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
        partitions = product(*(_equalities(each) if isinstance(each, In) else [each] for each in self.partition))
        sorts = [*product(*(each.parts if isinstance(each, Or) else (each,) for each in self.sort))]
        return [revised(self, partition=partition, sort=sort) for partition in partitions for sort in sorts]

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """The lowest is the best route."""
        kind = None if self.index is None else self.index.kind
        projection = "ALL" if self.index is None else self.index.projection.type
        fans_out = any(isinstance(each, In) for each in self.partition)  # by form: the choice never depends on data
        # A key of constants answers whatever is asked, by reading all that it holds.
        return 2 if not self.served else int(fans_out), -self.served, _KIND_RANK[kind], _PROJECTION_RANK[projection]


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


def too_many_queries(name: str, number: int) -> OperationError:
    """Return the error of a key with more combinations of values than are queried together."""
    return OperationError(
        f"the key of {name} has {number:,} combinations of values, each a query of its own, and at most {QUERIES} are "
        "sent together; ask for fewer values at a time, and put the results together"
    )


def check_key_values(route: Route) -> None:
    """Raise EncodeError where a constant of the key condition cannot be the value of a key: empty, or too long."""
    for partition in route.partition:
        check_constants(partition, "partition")
    for sort in route.sort:
        check_constants(sort, "sort")


def check_constants(condition: Condition, role: KeyRole) -> None:
    """Raise EncodeError where a constant of a key condition cannot be the value of a key in this role."""
    path, constants = constants_of(condition)
    for constant in constants:
        try:
            check_key_value(constant.stored, role)
        except EncodeError as error:
            raise error.at(path.spelled, model=path.owner.__name__) from None


def constants_of(condition: Condition) -> tuple[Path, tuple[Value, ...]]:
    """Return the attribute that a key condition is on, and what it is compared with."""
    match condition:
        case Comparison(left=Path() as path, right=Value() as value):
            return path, (value,)
        case Between(operand=Path() as path, low=low, high=high):
            return path, (low, high)
        case In(operand=Path() as path, values=values):
            return path, values
        case Function(path=path, arguments=arguments):
            return path, arguments
        case Or(parts=parts):
            found = [constants_of(part) for part in parts]
            return found[0][0], tuple(constant for _, constants in found for constant in constants)
        case _:
            raise TypeError(f"{condition} is no key condition")
