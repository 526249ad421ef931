"""Queries and scans as immutable values, and what can be asked of their results."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Self, final, overload

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.errors import ItemNotFoundError, MultipleItemsFoundError, OperationError
from dynamap_async.expressions import Condition, Selectable, path_of
from dynamap_async.models import Index, Model
from dynamap_async.operations.base import Context, Operation, own_conditions, own_path
from dynamap_async.operations.plan import Plan
from dynamap_async.operations.reading import Reading, ReadSpec, plan_reading, resume
from dynamap_async.wire import WireKey

M = TypeVar("M")
Row = TypeVar("Row", default=M)
R_co = TypeVar("R_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)
MA = TypeVar("MA", bound=Model)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """One page of a query's result."""

    items: list[T_co]  # type: ignore[misc]  # read only: the page does not take items
    """The items, in the query's order."""
    cursor: str | None
    """Opaque text to go on from, for ``page(after=...)``; None after the last item."""


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
        parts = own_conditions(self._spec.model, conditions)
        return self._with(replace(self._spec, conditions=(*self._spec.conditions, *parts)))

    def index(self, index: Index[M], /) -> Self:
        """Return the query that goes through this index, whatever the planner would choose.

        Raises:
            OperationError: it is not an index of the model.
        """
        if not isinstance(index, Index):
            raise OperationError(f".index({index!r}) takes an index of the model, such as Model.by_city")
        if not issubclass(self._spec.model, index.model) and not issubclass(index.model, self._spec.model):
            raise OperationError(
                f"{index.model.__name__}'s index {index.name!r} cannot answer a query on {self._spec.model.__name__}"
            )
        return self._with(replace(self._spec, index=index.name))

    def ascending(self) -> Self:
        """Return the query in ascending order of its sort key, which is the default."""
        return self._with(replace(self._spec, descending=False))

    def descending(self) -> Self:
        """Return the query in descending order of its sort key.

        Raises:
            OperationError: a scan has no order.
        """
        if self._spec.scan:
            raise OperationError("a scan has no order; query a partition key to get one")
        return self._with(replace(self._spec, descending=True))

    def limit(self, items: int, /) -> Self:
        """Return the query that gives at most this many items, whatever the size of its pages."""
        return self._with(replace(self._spec, limit=_positive(items, "limit")))

    def page_size(self, items: int, /) -> Self:
        """Return the query whose requests evaluate at most this many items each, before any filter."""
        return self._with(replace(self._spec, page_size=_positive(items, "page_size")))

    def consistent(self) -> Self:
        """Return the query that sees every write answered before it; it costs twice the read units."""
        return self._with(replace(self._spec, consistent=True))

    def explain(self) -> Plan:
        """Return what the query will do, without sending anything. Print it to read it.

        Raises:
            OperationError: no table or index answers the query, or the service would refuse it.
        """
        return plan_reading(self._spec, self._context).plan


class PagedOperation(Operation[R_co]):
    """An operation of one or more requests, each for the next page."""

    __slots__ = ("spec",)

    def __init__(self, spec: ReadSpec) -> None:
        self.spec = spec
        """What is read."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec})"

    def __result__(self) -> R_co:
        raise NotImplementedError

    def reading(self, context: Context) -> Reading[Any]:
        """Return the planned requests."""
        return plan_reading(self.spec, context)

    def finish(self, rows: list[Any], position: WireKey | None, reading: Reading[Any]) -> R_co:
        """Return the result, made of the rows that were read and the position after the last."""
        raise NotImplementedError


class Query(Refinable[M], PagedOperation[list[Row]], Generic[M, Row]):
    """The items of one model that conditions select, through the table or an index.

    Cost: one Query request per page of up to 1 MB; half a read unit per 4 KB of all items evaluated (a whole unit
    with ``consistent``), rounded up per page.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
    """

    __slots__ = ()

    def __init__(self: "Query[MA, MA]", model: type[MA], /) -> None:
        """Begin a query.

        Args:
            model: the model of the items.
        """
        PagedOperation.__init__(self, ReadSpec(model=_checked(model)))

    @property
    def _spec(self) -> ReadSpec:
        return self.spec

    @property
    def _context(self) -> Context:
        return Context()

    def _with(self, spec: ReadSpec) -> Self:
        return type(self).of(spec)

    @classmethod
    def of(cls, spec: ReadSpec) -> Self:
        """Return the query that asks what a spec says."""
        query = object.__new__(cls)
        query.spec = spec
        return query

    def finish(self, rows: list[Any], position: WireKey | None, reading: Reading[Any]) -> list[Row]:
        """Return the rows."""
        return rows

    def page(self, *, size: int, after: str | None = None) -> Operation[Page[Row]]:
        """Return the operation that reads one page of exactly ``size`` items, or fewer at the end."""
        return PageOf(self.spec, size, after)

    def count(self) -> Operation[int]:
        """Return the operation that counts the items, up to the limit if there is one."""
        return Count(self.spec)

    def first(self) -> Operation[Row | None]:
        """Return the operation that reads the first item, or None."""
        return First(replace(self.spec, limit=1))

    def one(self) -> Operation[Row]:
        """Return the operation that reads the only item, and raises if there is none or more than one."""
        return One(replace(self.spec, limit=min(self.spec.limit or 2, 2)))

    def one_or_none(self) -> Operation[Row | None]:
        """Return the operation that reads the only item or None, and raises if there is more than one."""
        return OneOrNone(replace(self.spec, limit=min(self.spec.limit or 2, 2)))

    @overload
    def select(self, a: Selectable[A], /) -> "Query[M, tuple[A]]": ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], /) -> "Query[M, tuple[A, B]]": ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], c: Selectable[C], /) -> "Query[M, tuple[A, B, C]]": ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], /
    ) -> "Query[M, tuple[A, B, C, D]]": ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], e: Selectable[E], /
    ) -> "Query[M, tuple[A, B, C, D, E]]": ...
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
    ) -> "Query[M, tuple[Any, ...]]": ...
    def select(self, *fields: Any) -> "Query[Any, Any]":
        """Return the query whose rows are tuples of these fields only."""
        return self._with(selecting(self.spec, fields))


@final
class Scan(Query[M, Row]):
    """Every item of one model's table or index, filtered by conditions.

    Cost: one Scan request per page of up to 1 MB; half a read unit per 4 KB of everything in the table or index (a
    whole unit with ``consistent``).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
    """

    __slots__ = ()

    def __init__(self: "Scan[MA, MA]", model: type[MA], /) -> None:
        """Begin a scan.

        Args:
            model: the model of the items.
        """
        PagedOperation.__init__(self, ReadSpec(model=_checked(model), scan=True))


@final
class PageOf(PagedOperation[Page[Row]], Generic[Row]):
    """One page of a query."""

    __slots__ = ("_after",)

    def __init__(self, spec: ReadSpec, size: int, after: str | None) -> None:
        if spec.limit is not None:
            raise OperationError(f"page(size={size}) says how many items; drop .limit({spec.limit})")
        super().__init__(replace(spec, limit=_positive(size, "page(size=...)")))
        self._after = after

    def reading(self, context: Context) -> Reading[Any]:
        """Return the requests from the cursor on.

        Raises:
            CursorError: the cursor is of another query.
        """
        return resume(plan_reading(self.spec, context), self._after, self.spec)

    def finish(self, rows: list[Any], position: WireKey | None, reading: Reading[Any]) -> Page[Row]:
        """Return the page, with the cursor of the next."""
        return Page(rows, reading.cursor(position))


@final
class Count(PagedOperation[int]):
    """The number of items of a query. Its cost is that of reading them."""

    __slots__ = ()

    def reading(self, context: Context) -> Reading[Any]:
        """Return the requests, which bring back counts only."""
        return plan_reading(self.spec, context, counting=True)


@final
class First(PagedOperation[Row | None], Generic[Row]):
    """The first item of a query, or None."""

    __slots__ = ()

    def finish(self, rows: list[Any], position: WireKey | None, reading: Reading[Any]) -> Row | None:
        """Return the first row."""
        return rows[0] if rows else None


@final
class OneOrNone(PagedOperation[Row | None], Generic[Row]):
    """The only item of a query, or None."""

    __slots__ = ()

    def finish(self, rows: list[Any], position: WireKey | None, reading: Reading[Any]) -> Row | None:
        """Return the only row.

        Raises:
            MultipleItemsFoundError: there are more.
        """
        return _only(rows, self.spec)


@final
class One(PagedOperation[Row], Generic[Row]):
    """The only item of a query."""

    __slots__ = ()

    def finish(self, rows: list[Any], position: WireKey | None, reading: Reading[Any]) -> Row:
        """Return the only row.

        Raises:
            ItemNotFoundError: there is none.
            MultipleItemsFoundError: there are more.
        """
        row: Row | None = _only(rows, self.spec)
        if row is None:
            model = self.spec.model.__name__
            raise ItemNotFoundError(f"no {model} fits the query; one_or_none() gives None instead", model=model)
        return row


def selecting(spec: ReadSpec, fields: tuple[Any, ...]) -> ReadSpec:
    """Return the spec that reads only these fields.

    Raises:
        OperationError: no field is named.
        ExpressionError: one is not a field of the model.
    """
    if not fields:
        raise OperationError("select() names no field; name at least one, or leave it out to read whole items")
    return replace(spec, selected=tuple(own_path(spec.model, path_of(field)) for field in fields))


def _only(rows: list[Any], spec: ReadSpec) -> Any:
    if len(rows) > 1:
        model = spec.model.__name__
        raise MultipleItemsFoundError(f"more than one {model} fits the query; first() gives the first", model=model)
    return rows[0] if rows else None


def _positive(number: object, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise OperationError(f"{what} is a whole number from 1 on, not {number!r}")
    return number


def _checked(model: object) -> type[Model]:
    if not (isinstance(model, type) and issubclass(model, Model)):
        raise OperationError(f"{model!r} is not a model; write class Tweet(Model, table=\"tweets\")")
    return model
