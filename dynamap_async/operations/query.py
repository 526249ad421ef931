"""Queries and scans as immutable values."""

from dataclasses import replace
from typing import Any, Generic, Self, final, overload

from pydantic import BaseModel
from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.expressions import Selectable
from dynamap_async.models import Model
from dynamap_async.operations.asking import ReadSpec
from dynamap_async.operations.operation import Context, Operation, checked_model
from dynamap_async.operations.reading import Reading
from dynamap_async.operations.refining import Refinable, reading_into, selecting
from dynamap_async.operations.results import Count, First, One, OneOrNone, Page, PagedOperation, PageOf
from dynamap_async.request import Position

M = TypeVar("M")
ItemT = TypeVar("ItemT", default=M)
MA = TypeVar("MA", bound=Model)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
CardT = TypeVar("CardT", bound=BaseModel)


class Query(Refinable[M], PagedOperation[list[ItemT]], Generic[M, ItemT]):
    """The items of one model that conditions select, through the table or an index.

    Cost: one Query request per page of up to 1 MB; half a read unit per 4 KB of all items evaluated (a whole unit
    with ``consistent``), rounded up per page. Whole items of an index that does not hold them are completed from the
    table: one BatchGetItem per 100 items, and the units of a ``Find`` for each.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
    """

    __slots__ = ()

    def __init__(self: "Query[MA, MA]", model: type[MA], /) -> None:
        """Begin a query.

        Args:
            model: the model of the items.
        """
        self.spec: ReadSpec = ReadSpec(model=checked_model(model))

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

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> list[ItemT]:
        """Return the items."""
        return items

    def page(self, *, size: int, after: str | None = None) -> Operation[Page[ItemT]]:
        """Return the operation that reads one page of exactly ``size`` items, or fewer at the end."""
        page: PageOf[ItemT] = PageOf(self.spec, size, after)
        return page

    def count(self) -> Operation[int]:
        """Return the operation that counts the items, up to the limit if there is one."""
        return Count(self.spec)

    def first(self) -> Operation[ItemT | None]:
        """Return the operation that reads the first item, or None."""
        return First(replace(self.spec, limit=1))

    def one(self) -> Operation[ItemT]:
        """Return the operation that reads the only item, and raises if there is none or more than one."""
        return One(replace(self.spec, limit=min(self.spec.limit or 2, 2)))

    def one_or_none(self) -> Operation[ItemT | None]:
        """Return the operation that reads the only item or None, and raises if there is more than one."""
        return OneOrNone(replace(self.spec, limit=min(self.spec.limit or 2, 2)))

    def into(self, card: type[CardT], /) -> "Query[M, CardT]":
        """Return the query whose items are read into another model, made of some of this one's fields.

        Args:
            card: a Pydantic model, with or without a table, whose fields are named like fields of this model.

        Raises:
            OperationError: the card has a field that this model does not have, or that has another type here.
        """
        return Query[M, CardT].of(reading_into(self.spec, card))

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
        """Return the query whose items are tuples of these fields only."""
        return self._with(selecting(self.spec, fields))


@final
class Scan(Query[M, ItemT]):
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
        self.spec: ReadSpec = ReadSpec(model=checked_model(model), scan=True)
