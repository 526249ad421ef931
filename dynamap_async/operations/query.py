"""Queries and scans as immutable values: what they can be asked for, and the results that they can end in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Never, Self, final, overload

from pydantic import BaseModel
from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async import limits
from dynamap_async.dataclass import dataclass, replace_fields
from dynamap_async.errors import ItemNotFoundError, MultipleItemsFoundError, OperationError, OutOfRangeError
from dynamap_async.errors.habits import QUERY_NAMES, no_attribute, no_keywords
from dynamap_async.expressions import Condition, Selectable, path_of
from dynamap_async.models import Index, KeyValue, Model, Periods, Table, definition_of, no_model
from dynamap_async.operations.operation import Operation
from dynamap_async.planning import (
    Context,
    Invalid,
    InvalidItem,
    Plan,
    Reading,
    ReadSpec,
    check_number_of_queries,
    checked_model,
    plan_reading,
    positive,
    stored_path,
)
from dynamap_async.request import Position

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M")
ItemT = TypeVar("ItemT", default=M)
MA = TypeVar("MA", bound=Model)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
TargetT = TypeVar("TargetT", bound=BaseModel)


@dataclass(frozen=True)  # with slots too, Page[Tweet](...) raises TypeError before Python 3.13
class Page(Generic[T_co]):
    """One page of a query's result."""

    items: list[T_co]
    """The items, in the query's order."""
    cursor: str | None
    """Opaque text to go on from, for ``page(after=...)``; None after the last item."""


class Paged(Operation[R_co]):
    """An operation of one or more requests, each for the next page."""

    __slots__ = ("_spec",)

    def __init__(self, spec: ReadSpec) -> None:
        """Create the operation of a query.

        Args:
            spec: what is asked.
        """
        self._spec = spec

    @property
    def spec(self) -> ReadSpec:
        """What is read."""
        return self._spec

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._spec})"

    def reading(self, context: Context) -> Reading[Any]:
        """Return the planned requests.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        return plan_reading(self._spec, context)


class PagedOperation(Paged[R_co]):
    """One whose result is made of the items of all pages."""

    __slots__ = ()

    @abstractmethod
    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> R_co:
        """Return the result, made of the items that were read and the position after the last.

        Args:
            items: the items that were read, in order.
            position: where the read ended; None at the end of the data.
            reading: the planned requests, which make cursors.
        """


@final
class PageOf(PagedOperation[Page[R]], Generic[R]):
    """One page of a query."""

    __slots__ = ("_after", "_max_pages", "_max_read_units")

    def __init__(
        self,
        spec: ReadSpec,
        size: int,
        after: str | None,
        max_pages: int | None = None,
        max_read_units: float | None = None,
    ) -> None:
        """Create the read of one page of a query.

        Args:
            spec: what is asked.
            size: how many items, from 1 on.
            after: the cursor of the page before; None for the first page.
            max_pages: after how many requests the page ends, from 1 on; None for as many as it takes.
            max_read_units: after how many read units no further request is sent, above 0; None for as many as it takes.

        Raises:
            OperationError: the size or a bound is out of range, or the query has a limit of its own or segments.
        """
        if spec.limit is not None:
            raise OperationError(f"page(size={size}) already limits the items; drop .limit({spec.limit})")
        if spec.segments is not None:
            raise OperationError(
                f"a scan in {spec.segments:,} segments has no pages; drop .segments(), or stream it and keep "
                "stream.checkpoint() for .resume()"
            )
        super().__init__(replace_fields(spec, limit=positive(size, "page(size=...)")))
        self._after = after
        self._max_pages = None if max_pages is None else positive(max_pages, "page(max_pages=...)")
        self._max_read_units = None if max_read_units is None else _units(max_read_units)

    @property
    def max_pages(self) -> int | None:
        """After how many requests the page ends."""
        return self._max_pages

    @property
    def max_read_units(self) -> float | None:
        """After how many read units no further request is sent."""
        return self._max_read_units

    @property
    def is_bounded(self) -> bool:
        """Whether the page may end with fewer items than it was asked for, before the end of the data."""
        return self._max_pages is not None or self._max_read_units is not None

    def reading(self, context: Context) -> Reading[Any]:
        """Return the requests from the cursor on.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            CursorError: the cursor is of another query.
            OperationError: the cost of a query cannot be bounded that takes several, or completes items of an index.
        """
        reading = plan_reading(self._spec, context).resume(self._after)
        if self.is_bounded and reading.branches:
            raise OperationError(
                f"the query needs {len(reading.branches)} queries, and max_pages and max_read_units can limit only "
                "one; drop them, or read one partition at a time"
            )
        if self._max_read_units is not None and reading.completion is not None:
            raise OperationError(
                "max_read_units cannot limit a query that fetches whole items from the table; limit it by size, or "
                "read only what the index holds, with .select(...) or .into(...)"
            )
        return reading

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> Page[R]:
        """Return the page, with the cursor of the next.

        Args:
            items: the items that were read, in order.
            position: where the read ended; None at the end of the data.
            reading: the planned requests, which make cursors.
        """
        return Page(items, reading.cursor(position))


@final
class Count(Paged[int]):
    """The number of items of a query. Its cost is that of reading them."""

    __slots__ = ()

    def reading(self, context: Context) -> Reading[Any]:
        """Return the requests, which bring back counts only.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        return plan_reading(self._spec, context, counting=True)


@final
class First(PagedOperation[R | None], Generic[R]):
    """The first item of a query, or None."""

    __slots__ = ()

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> R | None:
        """Return the first item.

        Args:
            items: the items that were read, in order.
            position: where the read ended; None at the end of the data.
            reading: the planned requests, which make cursors.
        """
        item: R | None = items[0] if items else None
        return item


@final
class OneOrNone(PagedOperation[R | None], Generic[R]):
    """The only item of a query, or None."""

    __slots__ = ()

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> R | None:
        """Return the only item.

        Args:
            items: the items that were read, in order.
            position: where the read ended; None at the end of the data.
            reading: the planned requests, which make cursors.

        Raises:
            MultipleItemsFoundError: there are more.
        """
        item: R | None = _only(items, self._spec)
        return item


@final
class One(PagedOperation[R], Generic[R]):
    """The only item of a query."""

    __slots__ = ()

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> R:
        """Return the only item.

        Args:
            items: the items that were read, in order.
            position: where the read ended; None at the end of the data.
            reading: the planned requests, which make cursors.

        Raises:
            ItemNotFoundError: there is none.
            MultipleItemsFoundError: there are more.
        """
        item: R | None = _only(items, self._spec)
        if item is None:
            model = self._spec.name
            raise ItemNotFoundError(f"no {model} matches the query; one_or_none() returns None instead", model=model)
        return item


def _units(number: object) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise OperationError(f"page(max_read_units=...) must be a number above 0, not {number!r}")
    if not number > 0:
        raise OutOfRangeError(f"page(max_read_units=...) must be a number above 0, not {number!r}")
    return number


def _only(items: list[Any], spec: ReadSpec) -> Any:
    if len(items) > 1:
        model = spec.name
        raise MultipleItemsFoundError(
            f"more than one {model} matches the query; first() returns the first one", model=model
        )
    return items[0] if items else None


class Refinable(Generic[M]):
    """What a query or scan can be asked for; each method gives a new value."""

    __slots__ = ()

    _spec: ReadSpec

    @property
    def spec(self) -> ReadSpec:
        """What is asked."""
        return self._spec

    if TYPE_CHECKING:

        @property
        def _context(self) -> Context: ...
        def _with(self, spec: ReadSpec) -> Self: ...
    else:

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            if name.startswith("_"):
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            raise no_attribute(kind.__name__.removeprefix("Bound"), name, QUERY_NAMES, dir(kind))

        def __iter__(self) -> Never:
            raise TypeError(
                "a query is read over the network; write `async for item in session.query(...)`, or `await` it for a "
                "list"
            )

        def __getitem__(self, place: object) -> Never:
            raise TypeError(
                "a query is read over the network, and has no places; write .first(), .limit(items) or .page(size=..., "
                "after=cursor)"
            )

        def __len__(self) -> Never:
            raise TypeError("a query is read over the network; write .count(), or len() of what awaiting it gives")

        def __bool__(self) -> bool:
            return True  # which Python would otherwise ask the length for

    def where(self, *conditions: Condition, **fields: Never) -> Self:
        """Return the query with more conditions; all must hold.

        Args:
            conditions: conditions on fields of the model; they are joined by AND.
            fields: nothing: a condition names its field, as in ``Tweet.city == "London"``.

        Raises:
            ExpressionError: one is no condition, or names a field of another model.
        """
        if fields:
            raise no_keywords("where", ".where({condition})", self._spec.model.__name__, fields)
        parts = self._spec.checked_conditions(conditions)
        return self._with(replace_fields(self._spec, conditions=(*self._spec.conditions, *parts)))

    def index(self, index: Index[M], /) -> Self:
        """Return the query that goes through this index, whatever the planner would choose.

        Args:
            index: an index of the model, such as ``Tweet.by_city``.

        Raises:
            OperationError: it is not an index of the model.
        """
        if not isinstance(index, Index):
            raise OperationError(f".index({index!r}) needs an index of the model, such as Model.by_city")
        names = [each.name for each in self._spec.searched_table.indexes]
        kinds = definition_of(self._spec.model).kinds
        foreign = index.table is not None and (kinds is None or kinds.table is not index.table)
        if foreign or not issubclass(self._spec.model, index.model) or index.name not in names:
            owner = index.model.__name__ if index.table is None else repr(index.table)
            lacking = "" if index.table is None or foreign else "; it lacks fields of that index's key"
            raise OperationError(f"{owner}'s index {index.name!r} cannot answer a query on {self._spec.name}{lacking}")
        return self._with(replace_fields(self._spec, index=index.name))

    def ascending(self) -> Self:
        """Return the query in ascending order of its sort key, which is the default."""
        return self._with(replace_fields(self._spec, descending=False))

    def descending(self) -> Self:
        """Return the query in descending order of its sort key.

        Raises:
            OperationError: a scan has no order.
        """
        if self._spec.scan:
            raise OperationError("a scan has no order; query a partition to get one")
        return self._with(replace_fields(self._spec, descending=True))

    def limit(self, items: int, /) -> Self:
        """Return the query that gives at most this many items, whatever the size of its pages.

        Args:
            items: how many items, from 1 on.
        """
        return self._with(replace_fields(self._spec, limit=positive(items, "limit")))

    def page_size(self, items: int, /) -> Self:
        """Return the query whose requests evaluate at most this many items each, before any filter.

        Args:
            items: how many items, from 1 on.
        """
        return self._with(replace_fields(self._spec, page_size=positive(items, "page_size")))

    def consistent(self) -> Self:
        """Return the query that sees every write answered before it; it costs twice the read units."""
        return self._with(replace_fields(self._spec, consistent=True))

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
            raise OperationError("period() needs a value of the field that has the period")
        check_number_of_queries(len(names), f"period() with {len(names):,} periods")
        return self._with(replace_fields(self._spec, tables=tuple(names)))

    def skip_missing_tables(self) -> Self:
        """Return the query for which tables of periods that do not exist, not yet or no longer, are empty.

        Otherwise they are an error, because a wrong prefix or region looks the same.

        Raises:
            OperationError: the model has one table for all time.
        """
        periods_of(self._spec, "skip_missing_tables")
        return self._with(replace_fields(self._spec, skips_missing=True))

    def with_expired(self) -> Self:
        """Return the query that gives expired items too, of a model that hides them (``hide_expired=True``).

        DynamoDB deletes an item within a few days of its time to live; until then it is stored, and costs what others
        cost.

        Raises:
            OperationError: the model does not hide what has expired.
        """
        if definition_of(self._spec.model).expiry is None:
            raise OperationError(
                f"{self._spec.name} does not hide expired items, so they are read anyway; drop .with_expired()"
            )
        return self._with(replace_fields(self._spec, with_expired=True))

    def explain(self) -> Plan:
        """Return what the query will do, without sending anything. Print it to read it.

        Raises:
            OperationError: no table or index answers the query, or the service would refuse it.
        """
        reading = plan_reading(self._spec, self._context)
        if reading.want is None and reading.page_size is None and reading.start is None:
            return reading.plan
        return replace_fields(reading.plan, body=reading.request(reading.start, reading.want).body)


_NO_SESSION: Final = Context()
"""What operations are planned in that no session executes."""
_ONE_OR_ALL = "segment(number, total) reads one segment, and segments(n) reads all of them; drop one of the two"


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
        if self._spec.segment is not None:
            raise OperationError(_ONE_OR_ALL)
        return self._with(replace_fields(self._spec, segments=number))

    def segment(self, number: int, total: int, /) -> Self:
        """Return the scan that reads one segment only, for a scan that several workers share.

        It is a plain scan otherwise, with pages and cursors of its own.

        Cost: the read units of that part of the plain scan; at least one request.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html#Scan.ParallelScan

        Args:
            number: the segment, from 0 up, below ``total``.
            total: how many segments there are, from 1 to 1,000,000; the same for all workers.

        Raises:
            OperationError: a number is out of range, or the scan reads several segments already.
        """
        if positive(total, "segment") > limits.SCAN_SEGMENTS:
            raise OperationError(
                f"segment(number, total) takes a total of 1 to {limits.SCAN_SEGMENTS:,}, not {total:,}"
            )
        if type(number) is not int or not 0 <= number < total:
            raise OperationError(f"segment(number, total) takes a number from 0 to {total - 1:,}, not {number!r}")
        if self._spec.segments is not None:
            raise OperationError(_ONE_OR_ALL)
        return self._with(replace_fields(self._spec, segment=(number, total)))

    def resume(self, checkpoint: str | None, /) -> Self:
        """Return the scan in segments that goes on where ``stream.checkpoint()`` was taken.

        Args:
            checkpoint: the text; None begins at the beginning.

        Raises:
            OperationError: this is not a scan in segments.
        """
        if self._spec.segments is None:
            raise OperationError(
                "resume() continues a scan in segments; write session.scan(...).segments(n).resume(checkpoint), or "
                "page(size=..., after=cursor) for other reads"
            )
        return self._with(replace_fields(self._spec, checkpoint=checkpoint))


def selecting(spec: ReadSpec, fields: tuple[Any, ...], names: Mapping[str, object]) -> ReadSpec:
    """Return the spec that reads only these fields.

    Args:
        spec: what is asked.
        fields: fields of the model, or parts of them.
        names: keywords, of which there are none.

    Raises:
        OperationError: no field is named.
        ExpressionError: one is not a field of the model.
    """
    if names:
        raise no_keywords("select", ".select({field})", spec.model.__name__, names)
    _refuse_invalid(spec, "select")
    if not fields:
        raise OperationError("select() needs at least one field; drop it to read whole items")
    return replace_fields(
        spec, selected=tuple(stored_path(spec.model, path_of(field)) for field in fields), target=None
    )


def reading_into(spec: ReadSpec, target: type[BaseModel]) -> ReadSpec:
    """Return the spec that reads items into another model.

    Args:
        spec: what is asked.
        target: the class that items become.

    Raises:
        OperationError: the items cannot fill it.
    """
    _refuse_invalid(spec, "into")
    return spec.with_target(target)


def _refuse_invalid(spec: ReadSpec, method: str) -> None:
    if spec.invalid == "raw":  # or its type would forget that there are such items
        raise OperationError(
            f'.invalid("raw") must come after .{method}(...), because it adds InvalidItem to the results'
        )


def periods_of(spec: ReadSpec, method: str) -> Periods:
    """Return the tables by period that a read is about.

    Args:
        spec: what is asked.
        method: what was called, for the message.

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


class Reads(Refinable[M], PagedOperation[list[ItemT]], Generic[M, ItemT]):
    """What queries and scans have in common: the results that they can end in."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{self._spec}; await session.execute(it)>"

    @property
    def _context(self) -> Context:
        return _NO_SESSION

    def _with(self, spec: ReadSpec) -> Self:
        return type(self).of(spec)

    @classmethod
    def of(cls, spec: ReadSpec) -> Self:
        """Return the query that asks what a spec says.

        Args:
            spec: what is asked.
        """
        query = object.__new__(cls)
        query._spec = spec
        return query

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> list[ItemT]:
        """Return the items.

        Args:
            items: the items that were read, in order.
            position: where the read ended; None at the end of the data.
            reading: the planned requests, which make cursors.
        """
        return items

    def page(
        self,
        *,
        size: int,
        after: str | None = None,
        max_pages: int | None = None,
        max_read_units: float | None = None,
    ) -> Operation[Page[ItemT]]:
        """Return the operation that reads one page of exactly ``size`` items, or fewer at the end.

        With a bound on its cost it may have fewer items, or none, and a cursor to go on from.

        Args:
            size: how many items, from 1 on.
            after: the cursor of the page before; None for the first page.
            max_pages: after how many requests it ends, from 1 on; None for as many as it takes.
            max_read_units: after how many read units no further request is sent; None for as many as it takes. The last
                request may go beyond it, by the units of one page of up to 1 MB; ``page_size`` makes it smaller.

        Raises:
            OperationError: the size or a bound is out of range, or the query has a limit of its own or segments.
        """
        page: PageOf[ItemT] = PageOf(self._spec, size, after, max_pages, max_read_units)
        return page

    def count(self) -> Operation[int]:
        """Return the operation that counts the items, up to the limit if there is one."""
        return Count(self._spec)

    def first(self) -> Operation[ItemT | None]:
        """Return the operation that reads the first item, or None."""
        return First(replace_fields(self._spec, limit=1))

    def one(self) -> Operation[ItemT]:
        """Return the operation that reads the only item, and raises if there is none or more than one."""
        return One(replace_fields(self._spec, limit=min(self._spec.limit or 2, 2)))

    def one_or_none(self) -> Operation[ItemT | None]:
        """Return the operation that reads the only item or None, and raises if there is more than one."""
        return OneOrNone(replace_fields(self._spec, limit=min(self._spec.limit or 2, 2)))


class Query(Reads[M, ItemT], Generic[M, ItemT]):
    """The items of one model that conditions select, through the table or an index.

    Cost: one Query request per page of up to 1 MB; half a read unit per 4 KB of all items evaluated (a whole unit
    with ``consistent``), rounded up per page. Whole items of an index that does not hold them are completed from the
    table: one BatchGetItem per 100 items, and the units of a ``Find`` for each.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
    """

    __slots__ = ()

    def __init__(self: Query[MA, MA], model: type[MA], /, *others: Never) -> None:
        """Create a query of all items; its methods restrict it.

        Args:
            model: the model of the items.
            others: nothing: a query on several models is a ``Collection``.
        """
        if others:
            raise _not_alone("Query", "Collection", model, others)
        self._spec = ReadSpec.of(checked_model(model))

    def into(self, target: type[TargetT], /) -> Query[M, TargetT]:
        """Return the query whose items are read into another model, made of some of this one's fields.

        Args:
            target: a Pydantic model, with or without a table, whose fields are named like fields of this model.

        Raises:
            OperationError: the target has a field that this model does not have, or that has another type here.
        """
        return Query[M, TargetT].of(reading_into(self._spec, target))

    @overload
    def select(self, a: Selectable[A], /) -> Query[M, tuple[A]]: ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], /) -> Query[M, tuple[A, B]]: ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], c: Selectable[C], /) -> Query[M, tuple[A, B, C]]: ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], /
    ) -> Query[M, tuple[A, B, C, D]]: ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], e: Selectable[E], /
    ) -> Query[M, tuple[A, B, C, D, E]]: ...
    @overload
    def select(
        self,
        a: Selectable[Any],
        b: Selectable[Any],
        c: Selectable[Any],
        d: Selectable[Any],
        e: Selectable[Any],
        f: Selectable[Any],
        /,
        *more: Selectable[Any],
    ) -> Query[M, tuple[Any, ...]]: ...
    def select(self, *fields: Any, **names: Never) -> Query[Any, Any]:
        """Return the query whose items are tuples of these fields only.

        Args:
            fields: fields of the model, or parts of them, in the order of the tuples.
            names: nothing: a field is given as in ``Tweet.city``.
        """
        return self._with(selecting(self._spec, fields, names))

    @overload
    def invalid(self, become: Literal["raw"], /) -> Query[M, ItemT | InvalidItem]: ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> Query[M, ItemT]: ...
    def invalid(self, become: Invalid, /) -> Query[Any, Any]:
        """Return the query that does something else with items that do not fit their model than to raise an error.

        Items of a shared table that are of another model, or of none that is known, count as well.

        Args:
            become: ``"skip"`` leaves them out and tells observers their keys (``InvalidItemsSkipped``); other items are
                read in their places, so that limits and pages are full. ``"raw"`` gives each as an ``InvalidItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return self._with(self._spec.with_invalid(become))


@final
class Scan(Query[M, ItemT], Segmentable[M], Generic[M, ItemT]):
    """Every item of one model's table or index, filtered by conditions.

    Cost: one Scan request per page of up to 1 MB; half a read unit per 4 KB of everything in the table or index (a
    whole unit with ``consistent``).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
    """

    __slots__ = ()

    def __init__(self: Scan[MA, MA], model: type[MA], /, *others: Never) -> None:
        """Create a scan of all items; its methods restrict it.

        Args:
            model: the model of the items.
            others: nothing: ``session.scan`` takes several models.
        """
        if others:
            raise _not_alone("Scan", "session.scan", model, others)
        self._spec = ReadSpec.of(checked_model(model), scan=True)

    def into(self, target: type[TargetT], /) -> Scan[M, TargetT]:
        """Return the scan whose items are read into another model. See ``Query.into``.

        Args:
            target: a Pydantic model whose fields are named like fields of this model.
        """
        return Scan[M, TargetT].of(reading_into(self._spec, target))

    @overload
    def select(self, a: Selectable[A], /) -> Scan[M, tuple[A]]: ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], /) -> Scan[M, tuple[A, B]]: ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], c: Selectable[C], /) -> Scan[M, tuple[A, B, C]]: ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], /
    ) -> Scan[M, tuple[A, B, C, D]]: ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], e: Selectable[E], /
    ) -> Scan[M, tuple[A, B, C, D, E]]: ...
    @overload
    def select(
        self,
        a: Selectable[Any],
        b: Selectable[Any],
        c: Selectable[Any],
        d: Selectable[Any],
        e: Selectable[Any],
        f: Selectable[Any],
        /,
        *more: Selectable[Any],
    ) -> Scan[M, tuple[Any, ...]]: ...
    def select(self, *fields: Any, **names: Never) -> Scan[Any, Any]:
        """Return the scan whose items are tuples of these fields only. See ``Query.select``.

        Args:
            fields: fields of the model, or parts of them, in the order of the tuples.
            names: nothing: a field is given as in ``Tweet.city``.
        """
        return self._with(selecting(self._spec, fields, names))

    @overload
    def invalid(self, become: Literal["raw"], /) -> Scan[M, ItemT | InvalidItem]: ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> Scan[M, ItemT]: ...
    def invalid(self, become: Invalid, /) -> Scan[Any, Any]:
        """Return the scan that does something else with items that do not fit their model. See ``Query.invalid``.

        Args:
            become: ``"skip"``, ``"raw"`` or ``"error"``.
        """
        return self._with(self._spec.with_invalid(become))


def check_no_condition(model: type[Model], others: Sequence[object]) -> None:
    """Refuse a condition, or a key, in the place of a second model, and say where it is written.

    Args:
        model: the first model.
        others: what follows it.
    """
    for each in others:
        if isinstance(each, type):
            continue
        if isinstance(each, Table):
            raise no_model(each)
        is_condition = isinstance(each, Condition)
        condition = str(each) if is_condition else f"{model.__name__}.{_first_field(model)} == {each!r}"
        given = condition if is_condition else repr(each)
        raise OperationError(f"{given} is not a model; give conditions after the models: .where({condition})")


def _not_alone(name: str, several: str, model: object, others: Sequence[object]) -> OperationError:
    """Return the error of more than one model where one is taken.

    Args:
        name: what takes one.
        several: what takes several.
        model: the first model.
        others: what follows it.
    """
    given: list[object] = [model, *others]
    if isinstance(model, type) and issubclass(model, Model):
        check_no_condition(model, others)
    names = ", ".join(getattr(each, "__name__", repr(each)) for each in given)
    return OperationError(f"{name} takes one model; for several that share a Table write {several}({names})")


def _first_field(model: type[Model]) -> str:
    """Return the name of the field that a query's first condition is about: the partition key, or a part of it."""
    field = definition_of(model).key_fields()[0]
    return field.template.parts[0].name if field.template is not None and field.template.parts else field.name
