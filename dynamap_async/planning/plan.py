"""Routes and plans: through which table or index a query goes, and what it will do there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

from dynamap_async.dataclass import dataclass, replace_fields
from dynamap_async.expressions import Comparison, Condition, In, Or, Path, Value
from dynamap_async.limits import PAGE_BYTES
from dynamap_async.native.json_text import write_json
from dynamap_async.planning.key_conditions import EachShard, PartitionCondition, check_constants
from dynamap_async.schema import IndexSchema, KeySchema
from dynamap_async.units import page_read_units
from dynamap_async.wire import Body, WireKey

TABLE: Final = "the table"
_PROJECTION_RANK: Final = {"ALL": 0, "INCLUDE": 1, "KEYS_ONLY": 2}


@dataclass(frozen=True)  # without slots: see ``replace_fields``
class Route:
    """The table or index that a query goes through, and what becomes of its conditions there."""

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
    conditions_used: int = 0
    """How many of the program's conditions the key condition uses: those on key attributes, and on parts of them."""
    alternatives: tuple[tuple[str, ...], ...] = ()
    """The texts of each part of the sort key that has several."""
    hazards: tuple[str, ...] = ()
    """What may surprise about the keys' templates."""
    drops_few: bool = False
    """Whether the filter only looks for items of other models, where hardly any are."""
    empty: bool = False
    """Whether no key can meet the conditions, so that nothing has to be asked."""

    @property
    def name(self) -> str:
        """The name of the table or index in messages."""
        return route_name(self.index)

    @property
    def key_conditions(self) -> tuple[Condition, ...]:
        """All conditions that are part of the key condition."""
        return (*self.partition, *self.sort)

    @property
    def queries(self) -> int:
        """The number of queries: one for each value, or combination of values, of the partition key."""
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

    def single_queries(self) -> list[Route]:
        """Return one route for each query."""
        if self.empty:
            return [self]
        partitions = product(*(_equalities(each) if isinstance(each, In) else [each] for each in self.partition))
        sorts = [*product(*(each.parts if isinstance(each, Or) else (each,) for each in self.sort))]
        return [replace_fields(self, partition=partition, sort=sort) for partition in partitions for sort in sorts]

    def check_key_values(self) -> None:
        """Raise EncodeError where a constant of the key condition is empty or too long for a key."""
        for partition in self.partition:
            check_constants(partition, "partition")
        for sort in self.sort:
            check_constants(sort, "sort")

    @property
    def rank(self) -> tuple[int, int, int, int]:
        """The order of preference among routes: the lowest is the best."""
        kind = 0 if self.index is None else self.index.kind.rank
        projection = "ALL" if self.index is None else self.index.projection.type
        fans_out = any(isinstance(each, In) for each in self.partition)  # by form: the choice never depends on data
        # A key of constants answers whatever is asked, by reading all that it holds.
        return (
            2 if not self.conditions_used else int(fans_out),
            -self.conditions_used,
            kind,
            _PROJECTION_RANK[projection],
        )


def _equalities(membership: In) -> list[Comparison]:
    return [Comparison("=", membership.operand, value) for value in membership.values]


def route_name(index: IndexSchema | None) -> str:
    """Return the name of the table or an index, for messages."""
    return TABLE if index is None else f"the index {index.name!r}"


@dataclass(frozen=True, kw_only=True)  # without slots: see ``replace_fields``
class Plan:
    """How a query or scan is carried out. Printing it gives a readable account."""

    operation: str
    """``Query`` or ``Scan``."""
    model: str
    """The model, or the models, that are asked for."""
    table: str
    """The full table name."""
    index: str | None
    """The index that was chosen; None for the table."""
    index_kind: str | None
    """``local`` or ``global``."""
    order: tuple[str, ...]
    """The attributes that order the result, within one partition key."""
    descending: bool
    """Whether the largest value of that order comes first."""
    key_conditions: tuple[Condition, ...]
    """Conditions that decide what is read, and so what it costs."""
    sort_conditions: tuple[Condition, ...]
    """Those of them that are on the sort key."""
    filters: tuple[Condition, ...]
    """Conditions that are checked after reading, without any effect on the cost."""
    projection: tuple[str, ...] | None
    """The fields that are read; None for all."""
    hazards: tuple[str, ...]
    """What may surprise, one sentence each."""
    body: Body
    """The request of the first page; of a plan that is carried out, without its Limit."""
    queries: int = 1
    """How many queries, one for each partition, are sent at the same time and merged."""
    completion: str | None = None
    """How whole items are fetched from the table, where the index does not hold them; None where nothing is."""
    asked: tuple[Condition, ...] = ()
    """The conditions on the parts of templated keys that key conditions were made of."""
    segments: int | None = None
    """In how many segments a scan is read at the same time; None for one."""
    tables: tuple[str, ...] = ()
    """The full names of all tables that are read, in order, where there is one per period and it takes several."""
    in_turn: bool = False
    """Whether, with a limit, the tables are read one after the other, and no further than needed."""
    average_page_units: float | None = None
    """The read units that a page of this operation on this table took on average in the session; None where none was
    read, or the query is of no session."""
    unordered: tuple[str, ...] = ()
    """Those of ``order`` whose stored form is not known to sort as their values do."""

    @property
    def page_units(self) -> tuple[float, float]:
        """The fewest and the most read units that one page takes."""
        consistent = bool(self.body.get("ConsistentRead"))
        # A page ends with the item that goes over its limit.
        return page_read_units(0, consistent=consistent), page_read_units(PAGE_BYTES + 1, consistent=consistent)

    def __str__(self) -> str:
        way = "the table" if self.index is None else f"the {self.index_kind} index {self.index!r}"
        where = f"{len(self.tables)} tables" if self.tables else repr(self.table)
        lines = [f"{self.operation} {self.model} in {where}, through {way}{self._fan_out()}"]
        if self.tables:
            lines.append(f"  tables         {', '.join(self.tables)}")
        lines.append(f"  key condition  {_joined(self.key_conditions)}")
        if self.asked:
            lines.append(f"  made of        {_joined(self.asked)}")
        lines.append(f"  filter         {_joined(self.filters)}")
        lines.append(f"  projection     {', '.join(self.projection) if self.projection else 'every attribute'}")
        if self.completion is not None:
            lines.append(f"  completion     {self.completion}")
        lines.append(f"  order          {self._order()}")
        lines.append(f"  cost           {self._cost()}")
        lines += [f"  hazard         {hazard}" for hazard in self.hazards]
        lines.append(f"  request        {write_json(self.body).decode()}")
        return "\n".join(lines)

    def _fan_out(self) -> str:
        if self.queries > 1:
            shards = ", one for each shard" if any(isinstance(each, EachShard) for each in self.key_conditions) else ""
            turn = "; with a limit one table after the other" if self.in_turn else ""
            return f", in {self.queries} queries{shards}, merged{turn}"
        return "" if self.segments is None else f", in {self.segments:,} segments"

    def _cost(self) -> str:
        fewest, most = self.page_units
        average = self.average_page_units
        known = "" if average is None else f"; {average:g} on average in this session"
        return f"{fewest:g} to {most:g} read units a page{known}"

    def _order(self) -> str:
        if self.operation == "Scan":
            return "none that DynamoDB promises"
        if not self.order:
            return "none: the key has no sort key" + ("; by partition, as given" if self.queries > 1 else "")
        order = f"{'descending' if self.descending else 'ascending'} by {', '.join(self.order)}"
        if not self.unordered:
            return order
        return f"{order}; of {' and '.join(self.unordered)} as it is stored, which may not be the order of the values"


def hazards_of(
    *,
    scan: bool,
    index: IndexSchema | None,
    filters: Sequence[Condition],
    optional: Sequence[str],
    left_out: Sequence[tuple[str, str]] = (),
    completed: bool = False,
    key_hazards: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the hazards of a plan, one sentence each.

    Args:
        filters: the conditions that are checked after reading.
        optional: key attributes of the index that an item may lack, and that no condition requires.
        left_out: the key attributes by which items are left out after they arrived, each with what is left out.
        completed: whether whole items are fetched from the table.
        key_hazards: what may surprise about the templates of keys.
    """
    hazards: list[str] = []
    if scan:
        hazards.append("a scan reads, and pays for, every item of the table or index")
    if filters:
        hazards.append("the filter drops items after they were read and paid for; a page may come back empty")
    hazards += key_hazards
    hazards += [
        f"{what} are read, paid for and sent, and left out here: {name} is part of the key" for name, what in left_out
    ]
    if completed:
        hazards.append(
            "each item is fetched and paid for once more, as it is then: it may have changed and no longer meet the "
            "conditions; one that is gone is left out"
        )
    # Asking for a consistent read of one is refused by DynamoDB.
    if index is not None and not index.kind.reads_like_table:
        hazards.append("a global index is eventually consistent: it may not show the latest writes yet")
    if index is not None and optional:
        hazards.append(f"items without {' or '.join(optional)} are not in the index {index.name!r}")
    return tuple(hazards)


def _joined(conditions: Sequence[Condition]) -> str:
    return " and ".join(map(str, conditions)) or "none"


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
