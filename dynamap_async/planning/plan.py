"""Plans: what a query will do, as a value that explains itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from dynamap_async.expressions import Condition
from dynamap_async.planning.shards import Gathered
from dynamap_async.schema import IndexKind, IndexSchema
from dynamap_async.wire import Body


@dataclass(frozen=True, kw_only=True)  # without slots: see ``revised``
class Plan:
    """How a query or scan is carried out. Printing it gives a readable account."""

    operation: str
    """``Query`` or ``Scan``."""
    model: str
    table: str
    """The full table name."""
    index: str | None
    """The index that was chosen; None for the table."""
    index_kind: str | None
    """``local`` or ``global``."""
    order: tuple[str, ...]
    """The attributes that order the result, within one partition key."""
    descending: bool
    key_conditions: tuple[Condition, ...]
    """Conditions that decide what is read, and so what it costs."""
    sort_conditions: tuple[Condition, ...]
    """Those of them that are on the sort key."""
    filters: tuple[Condition, ...]
    """Conditions that are checked after reading, without any effect on the cost."""
    projection: tuple[str, ...] | None
    """The fields that are read; None for all."""
    hazards: tuple[str, ...]
    """What may surprise."""
    body: Body
    """The request of the first page, without its Limit."""
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

    def __str__(self) -> str:
        way = "the table" if self.index is None else f"the {self.index_kind} index {self.index!r}"
        where = f"{len(self.tables)} tables" if self.tables else repr(self.table)
        lines = [f"{self.operation} {self.model} in {where}, through {way}{self._spread()}"]
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
        lines += [f"  hazard         {hazard}" for hazard in self.hazards]
        lines.append(f"  request        {orjson.dumps(self.body).decode()}")
        return "\n".join(lines)

    def _spread(self) -> str:
        if self.queries > 1:
            shards = ", one for each shard" if any(isinstance(each, Gathered) for each in self.key_conditions) else ""
            turn = "; with a limit one table after the other" if self.in_turn else ""
            return f", in {self.queries} queries{shards}, merged{turn}"
        return "" if self.segments is None else f", in {self.segments:,} segments"

    def _order(self) -> str:
        if self.operation == "Scan":
            return "none that DynamoDB promises"
        if not self.order:
            return "none: the key has no sort key" + ("; by partition, as given" if self.queries > 1 else "")
        return f"{'descending' if self.descending else 'ascending'} by {', '.join(self.order)}"


def hazards_of(
    *,
    scan: bool,
    index: IndexSchema | None,
    filters: Sequence[Condition],
    optional: Sequence[str],
    sifted: Sequence[tuple[str, str]] = (),
    completed: bool = False,
    of_keys: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return what may surprise in a plan, one sentence each.

    Args:
        scan: whether the whole table or index is read.
        index: the index that is read.
        filters: the conditions that are checked after reading.
        optional: key attributes of the index that an item may lack, and that no condition requires.
        sifted: the key attributes by which items are left out after they arrived, each with what is left out.
        completed: whether whole items are fetched from the table.
        of_keys: what may surprise about the templates of keys.
    """
    hazards: list[str] = []
    if scan:
        hazards.append("a scan reads, and pays for, every item of the table or index")
    if filters:
        hazards.append("the filter drops items after they were read and paid for; a page may come back empty")
    hazards += of_keys
    hazards += [
        f"{what} are read, paid for and sent, and left out here: {name} is part of the key" for name, what in sifted
    ]
    if completed:
        hazards.append(
            "each item is fetched and paid for once more, as it is then: it may have changed and no longer meet the "
            "conditions; one that is gone is left out"
        )
    if index is not None and index.kind is IndexKind.GLOBAL:
        hazards.append("a global index is eventually consistent: it may not show the latest writes yet")
    if index is not None and optional:
        hazards.append(f"items without {' or '.join(optional)} are not in the index {index.name!r}")
    return tuple(hazards)


def _joined(conditions: Sequence[Condition]) -> str:
    return " and ".join(map(str, conditions)) or "none"
