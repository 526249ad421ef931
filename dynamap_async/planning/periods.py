"""Tables by period: which of them a query or scan reads, whether in turn, and what a missing one means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from dynamap_async.codec import order_key
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError, OutOfRangeError, ResourceNotFoundError, ServiceError
from dynamap_async.expressions import Between, Comparison, Condition, In, Path, Value
from dynamap_async.models import Definition, Periods, definition_of
from dynamap_async.planning.context import TableNames
from dynamap_async.planning.key_conditions import MAX_QUERIES
from dynamap_async.planning.plan import Plan, Route
from dynamap_async.planning.read_spec import ReadSpec
from dynamap_async.planning.shards import plain_keys
from dynamap_async.schema import TableSchema
from dynamap_async.wire import AttributeValue, Body


@dataclass(slots=True)
class _Bounds:
    """The range of the field that tells the period, as far as conditions bound it."""

    values: list[AttributeValue] | None = None
    """All values that it may have; None where the conditions do not name them."""
    low: tuple[AttributeValue, bool] | None = None
    """The least value, and whether it belongs to the range."""
    high: tuple[AttributeValue, bool] | None = None

    def add(self, condition: Condition, name: str) -> None:
        """Apply a condition, if it is on the attribute of this name."""
        match condition:
            case Comparison(comparator="=", left=Path(steps=(str(attribute),)), right=Value(stored=stored)):
                self._only([stored] if attribute == name else None)
            case In(operand=Path(steps=(str(attribute),)), values=values):
                self._only([value.stored for value in values] if attribute == name else None)
            case Between(operand=Path(steps=(str(attribute),)), low=low, high=high) if attribute == name:
                self._above(low.stored, inclusive=True)
                self._below(high.stored, inclusive=True)
            case Comparison(
                comparator=">" | ">=" as comparator, left=Path(steps=(str(attribute),)), right=Value(stored=stored)
            ) if attribute == name:
                self._above(stored, inclusive=comparator == ">=")
            case Comparison(
                comparator="<" | "<=" as comparator, left=Path(steps=(str(attribute),)), right=Value(stored=stored)
            ) if attribute == name:
                self._below(stored, inclusive=comparator == "<=")
            case _:
                pass

    def _only(self, values: list[AttributeValue] | None) -> None:
        if values is not None:
            # Two conditions on the field leave the values that both allow.
            known = values if self.values is None else self.values
            self.values = [each for each in known if each in values]

    def _above(self, stored: AttributeValue, *, inclusive: bool) -> None:
        if self.low is None or (order_key(stored), not inclusive) > (order_key(self.low[0]), not self.low[1]):
            self.low = stored, inclusive

    def _below(self, stored: AttributeValue, *, inclusive: bool) -> None:
        if self.high is None or (order_key(stored), inclusive) < (order_key(self.high[0]), self.high[1]):
            self.high = stored, inclusive


@dataclass(frozen=True, slots=True)
class TableQueries:
    """The queries of one read, each with its table."""

    parts: tuple[tuple[TableSchema, Route], ...]
    names: tuple[str, ...]
    """The full names of the tables, in order."""
    in_turn: bool = False
    """Whether all items of one query come before those of the next, so that each can wait for its turn."""
    empty: bool = False
    """Whether the conditions leave no period, so that nothing has to be asked."""


def queries_by_table(
    spec: ReadSpec, table: TableSchema, names: TableNames, conditions: Sequence[Condition], routes: Sequence[Route]
) -> TableQueries:
    """Return the queries of a read, each with its table: one table, unless there is one for each period.

    Args:
        table: the table, under its full name.
        conditions: what must hold, conjunctions taken apart.
        routes: one for each query of a table.

    Raises:
        OperationError: the conditions do not tell which tables, or tell too many or none.
    """
    definition = definition_of(spec.model)
    periods = definition.periods
    if periods is None:
        return TableQueries(tuple((table, route) for route in routes), (table.name,))
    parts: list[tuple[TableSchema, Route]] = []
    for route in routes:
        tables = spec.tables or _tables_of(periods, (*conditions, *plain_keys(route, definition)))
        parts += [(table.named(names.full(name)), route) for name in tables]
    empty = not parts
    # A plan needs a query all the same, for explain() to show.
    if empty:  # no value lies in a period, so that nothing is sent
        parts = [(table, routes[0])]
    if spec.descending:
        # With a limit the tables are read in turn, so the latest period has to come first.
        parts.reverse()
    check_number_of_queries(len(parts), f"{spec.name} between the ends of {periods.field.name}")
    _check_segments(spec, parts)
    read = tuple(dict.fromkeys(part.name for part, _ in parts))
    sort = routes[0].keys.sort
    # Whole tables can be read one after the other only if all items of one come before those of the next.
    ordered = spec.scan or (bool(sort) and sort[0].name == periods.field.stored and periods.is_ordered)
    return TableQueries(tuple(parts), read, in_turn=ordered and len(routes) == 1, empty=empty)


def _check_segments(spec: ReadSpec, parts: Sequence[object]) -> None:
    if spec.segments is not None and len(parts) > 1:
        raise OperationError(
            f"a scan in segments reads one table, not {len(parts)}; drop .segments(), or scan each period with "
            ".period(...)"
        )


def _tables_of(periods: Periods, conditions: Iterable[Condition]) -> list[str]:
    field, bounds = periods.field, _Bounds()
    for condition in conditions:
        bounds.add(condition, field.stored)
    spelled = f"{periods.model}.{field.name}"
    if bounds.values is not None:
        names = periods.names(map(periods.decoded, bounds.values))
    elif not periods.is_ordered or bounds.low is None or bounds.high is None:
        # An open range names no last table; and not every form that a program stores times in sorts as they do.
        raise _unbounded(periods, spelled, bounds)
    else:
        low, high = (periods.decoded(bound[0]) for bound in (bounds.low, bounds.high))
        numbers = periods.numbers(low, high, low_inclusive=bounds.low[1], high_inclusive=bounds.high[1])
        check_number_of_queries(
            numbers.stop - numbers.start, f"the range of {spelled}"
        )  # len() refuses what is over 64 bits
        names = [periods.numbered(number) for number in numbers]
    return names


def _unbounded(periods: Periods, spelled: str, bounds: _Bounds) -> OperationError:
    name = periods.template.pattern
    if not periods.is_ordered:
        return OperationError(
            f"{spelled} decides the table of an item ({name!r}), but a range of its stored values does not name the "
            f"tables; add {spelled} == value, {spelled}.is_in(...), or .period(...)"
        )
    one_end = (bounds.low is None) != (bounds.high is None)
    given = "bound it at one end only" if one_end else "leave it open"
    return OperationError(
        f"{spelled} decides the table of an item ({name!r}), one for each {_each(periods)}, and the conditions "
        f"{given}; give both ends, such as {spelled}.between(first, last), or choose the tables with .period(...)"
    )


def _each(periods: Periods) -> str:
    calendar = periods.calendar
    return "value" if calendar is None or calendar.unit == "number" else calendar.unit


def check_number_of_queries(number: int, what: str) -> None:
    """Raise OutOfRangeError for more queries than are sent together."""
    if number > MAX_QUERIES:
        raise OutOfRangeError(
            f"{what} needs {number:,} queries, at least one for each table, and at most {MAX_QUERIES} are sent "
            "together; ask for a shorter time, or give the tables longer periods"
        )


def combined_plan(plans: Sequence[Plan], spec: ReadSpec, route: Route, queries: TableQueries) -> Plan:
    """Return one plan for all queries of a read: what they have in common, and the tables."""
    plan = plans[0]
    if len(plans) > 1:
        tables = queries.names if len(queries.names) > 1 else ()
        more: dict[str, Any] = {"tables": tables, "in_turn": queries.in_turn}
        plan = replace(plan, key_conditions=route.key_conditions, queries=len(plans), **more)
    if not spec.skips_missing:
        return plan
    return replace(plan, hazards=(*plan.hazards, "a table that does not exist, not yet or no longer, counts as empty"))


def with_missing_table_note(error: ServiceError, definition: Definition[Any]) -> ServiceError:
    """Return the error, with the remedy where the table of a period is missing."""
    periods = definition.periods
    if periods is not None and isinstance(error, ResourceNotFoundError):
        note = (
            f"{periods.model} has one table per period; make each before its first item: "
            f"session.tables.create({periods.model}, period=...)"
        )
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
    return error


@dataclass(frozen=True, slots=True)
class MissingTable:
    """How a read answers for a table that does not exist."""

    definition: Definition[Any]
    skipped: bool
    """Whether it counts as empty."""

    def answer(self, error: ResourceNotFoundError) -> Body:
        """Return the answer of a table without items, or raise the error."""
        if self.skipped:
            return {"Items": [], "Count": 0, "ScannedCount": 0}
        error.add_note("a query or scan with .skip_missing_tables() treats missing tables as empty")
        raise with_missing_table_note(error, self.definition)
