"""Queries and scans as immutable values."""

from typing import Any, Generic, Literal, final, overload

from pydantic import BaseModel
from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.expressions import Selectable
from dynamap_async.models import Model
from dynamap_async.operations.ends import Reads
from dynamap_async.operations.refining import Segmentable, reading_into, selecting
from dynamap_async.planning import Invalid, InvalidItem, ReadSpec, begun, checked_model, with_invalid

M = TypeVar("M")
ItemT = TypeVar("ItemT", default=M)
MA = TypeVar("MA", bound=Model)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
CardT = TypeVar("CardT", bound=BaseModel)


class Query(Reads[M, ItemT], Generic[M, ItemT]):
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
        self.spec: ReadSpec = begun(checked_model(model))

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

    @overload
    def invalid(self, become: Literal["raw"], /) -> "Query[M, ItemT | InvalidItem]": ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> "Query[M, ItemT]": ...
    def invalid(self, become: Invalid, /) -> "Query[Any, Any]":
        """Return the query that does something else with items that do not fit their model than to raise an error.

        Items of a shared table that are of another model, or of none that is known, count as well.

        Args:
            become: ``"skip"`` leaves them out and tells observers their keys (``InvalidItemsSkipped``); other items are
                read in their places, so that limits and pages are full. ``"raw"`` gives each as an ``InvalidItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return self._with(with_invalid(self.spec, become))


@final
class Scan(Query[M, ItemT], Segmentable[M], Generic[M, ItemT]):
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
        self.spec: ReadSpec = begun(checked_model(model), scan=True)

    def into(self, card: type[CardT], /) -> "Scan[M, CardT]":
        """Return the scan whose items are read into another model. See ``Query.into``."""
        return Scan[M, CardT].of(reading_into(self.spec, card))

    @overload
    def select(self, a: Selectable[A], /) -> "Scan[M, tuple[A]]": ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], /) -> "Scan[M, tuple[A, B]]": ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], c: Selectable[C], /) -> "Scan[M, tuple[A, B, C]]": ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], /
    ) -> "Scan[M, tuple[A, B, C, D]]": ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], e: Selectable[E], /
    ) -> "Scan[M, tuple[A, B, C, D, E]]": ...
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
    ) -> "Scan[M, tuple[Any, ...]]": ...
    def select(self, *fields: Any) -> "Scan[Any, Any]":
        """Return the scan whose items are tuples of these fields only. See ``Query.select``."""
        return self._with(selecting(self.spec, fields))

    @overload
    def invalid(self, become: Literal["raw"], /) -> "Scan[M, ItemT | InvalidItem]": ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> "Scan[M, ItemT]": ...
    def invalid(self, become: Invalid, /) -> "Scan[Any, Any]":
        """Return the scan that does something else with items that do not fit their model. See ``Query.invalid``."""
        return self._with(with_invalid(self.spec, become))
