"""Refining: what every query and scan can be asked for, bound to a session or not."""

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from pydantic import BaseModel

from dynamap_async import limits
from dynamap_async.errors import OperationError
from dynamap_async.expressions import Condition, path_of
from dynamap_async.models import Index, KeyValue, Periods, definition_of
from dynamap_async.planning import (
    Context,
    Plan,
    ReadSpec,
    card_paths,
    check_number,
    checked_card,
    conditions_of,
    plan_reading,
    positive,
    revised,
    searched,
    stored_path,
)

M = TypeVar("M")


class Refinable(Generic[M]):
    """What a query or scan can be asked for; each method gives a new value."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _spec(self) -> ReadSpec: ...
        @property
        def _context(self) -> Context: ...
        def _with(self, spec: ReadSpec) -> Self: ...

    def where(self, *conditions: Condition) -> Self:
        """Return the query with more conditions; all must hold.

        Raises:
            ExpressionError: one is no condition, or names a field of another model.
        """
        parts = conditions_of(self._spec, conditions)
        return self._with(revised(self._spec, conditions=(*self._spec.conditions, *parts)))

    def index(self, index: Index[M], /) -> Self:
        """Return the query that goes through this index, whatever the planner would choose.

        Raises:
            OperationError: it is not an index of the model.
        """
        if not isinstance(index, Index):
            raise OperationError(f".index({index!r}) takes an index of the model, such as Model.by_city")
        names = [each.name for each in searched(self._spec).indexes]
        kinds = definition_of(self._spec.model).kinds
        foreign = index.table is not None and (kinds is None or kinds.table is not index.table)
        if foreign or not issubclass(self._spec.model, index.model) or index.name not in names:
            owner = index.model.__name__ if index.table is None else repr(index.table)
            lacking = "" if index.table is None or foreign else "; it lacks fields of that index's key"
            raise OperationError(f"{owner}'s index {index.name!r} cannot answer a query on {self._spec.name}{lacking}")
        return self._with(revised(self._spec, index=index.name))

    def ascending(self) -> Self:
        """Return the query in ascending order of its sort key, which is the default."""
        return self._with(revised(self._spec, descending=False))

    def descending(self) -> Self:
        """Return the query in descending order of its sort key.

        Raises:
            OperationError: a scan has no order.
        """
        if self._spec.scan:
            raise OperationError("a scan has no order; query a partition key to get one")
        return self._with(revised(self._spec, descending=True))

    def limit(self, items: int, /) -> Self:
        """Return the query that gives at most this many items, whatever the size of its pages."""
        return self._with(revised(self._spec, limit=positive(items, "limit")))

    def page_size(self, items: int, /) -> Self:
        """Return the query whose requests evaluate at most this many items each, before any filter."""
        return self._with(revised(self._spec, page_size=positive(items, "page_size")))

    def consistent(self) -> Self:
        """Return the query that sees every write answered before it; it costs twice the read units."""
        return self._with(revised(self._spec, consistent=True))

    def period(self, *values: KeyValue) -> Self:
        """Return the query that reads the tables of these periods, whatever its conditions say of the time.

        Args:
            values: values of the field that tells the period, one for each table.

        Raises:
            OperationError: the model has one table for all time, or no value is given.
            EncodeError: a value is of the wrong type.
        """
        names = periods_of(self._spec, "period").names(values)
        if not names:
            raise OperationError("period() names no period; give a value of the field that tells it")
        check_number(len(names), f"period() with {len(names):,} periods")
        return self._with(revised(self._spec, tables=tuple(names)))

    def skip_missing_tables(self) -> Self:
        """Return the query for which tables of periods that do not exist, not yet or no longer, are empty.

        Otherwise they are an error, because a wrong prefix or region looks the same.

        Raises:
            OperationError: the model has one table for all time.
        """
        periods_of(self._spec, "skip_missing_tables")
        return self._with(revised(self._spec, skips_missing=True))

    def explain(self) -> Plan:
        """Return what the query will do, without sending anything. Print it to read it.

        Raises:
            OperationError: no table or index answers the query, or the service would refuse it.
        """
        return plan_reading(self._spec, self._context).plan


class Segmentable(Refinable[M], Generic[M]):
    """What only a scan can be asked for."""

    __slots__ = ()

    def segments(self, number: int, /) -> Self:
        """Return the scan that reads this many segments of the table or index at the same time, in no order.

        Cost: the read units of the plain scan; at least one request per segment.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html#Scan.ParallelScan

        Args:
            number: how many segments, from 1 to 1,000,000.

        Raises:
            OperationError: the number is out of range.
        """
        if positive(number, "segments") > limits.SCAN_SEGMENTS:
            raise OperationError(f"segments takes 1 to {limits.SCAN_SEGMENTS:,}, not {number:,}")
        return self._with(revised(self._spec, segments=number))

    def resume(self, checkpoint: str | None, /) -> Self:
        """Return the scan in segments that goes on where ``stream.checkpoint()`` was taken.

        Args:
            checkpoint: the text; None begins at the beginning.

        Raises:
            OperationError: this is not a scan in segments.
        """
        if self._spec.segments is None:
            raise OperationError(
                "resume() goes on with a scan in segments; write session.scan(...).segments(n).resume(checkpoint), or "
                "page(size=..., after=cursor) for other reads"
            )
        return self._with(revised(self._spec, checkpoint=checkpoint))


def selecting(spec: ReadSpec, fields: tuple[Any, ...]) -> ReadSpec:
    """Return the spec that reads only these fields.

    Raises:
        OperationError: no field is named.
        ExpressionError: one is not a field of the model.
    """
    _refuse_invalid(spec, "select")
    if not fields:
        raise OperationError("select() names no field; name at least one, or leave it out to read whole items")
    return revised(spec, selected=tuple(stored_path(spec.model, path_of(field)) for field in fields), card=None)


def reading_into(spec: ReadSpec, card: type[BaseModel]) -> ReadSpec:
    """Return the spec that reads items into another model.

    Raises:
        OperationError: the items cannot fill it.
    """
    _refuse_invalid(spec, "into")
    return revised(spec, card=checked_card(spec.model, card), selected=card_paths(spec.model, card))


def _refuse_invalid(spec: ReadSpec, method: str) -> None:
    if spec.invalid == "raw":  # or its type would forget that there are such items
        raise OperationError(f'.invalid("raw") stands behind .{method}(...), as it adds InvalidItem to what that gives')


def periods_of(spec: ReadSpec, method: str) -> Periods:
    """Return the tables by period that a read is about.

    Raises:
        OperationError: the model has one table for all time.
    """
    periods = definition_of(spec.model).periods
    if periods is None:
        raise OperationError(
            f"{spec.name} has one table for all time, and .{method}() is for models with one per period, such as class "
            'Reading(Model, table="readings_{at:month}"); drop it'
        )
    return periods
