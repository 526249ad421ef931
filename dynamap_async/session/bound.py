"""Queries and scans of one model, bound to a session."""

from typing import Any, Generic, Literal, overload

from pydantic import BaseModel
from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.expressions import Selectable
from dynamap_async.operations import Segmentable, reading_into, selecting
from dynamap_async.planning import Invalid, InvalidItem, with_invalid
from dynamap_async.session.bound_reads import BoundReads

M = TypeVar("M")
ItemT = TypeVar("ItemT", default=M)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
CardT = TypeVar("CardT", bound=BaseModel)


class BoundQuery(BoundReads[M, ItemT], Generic[M, ItemT]):
    """A query that belongs to a session.

    Awaiting it gives a list, as often as it is awaited; ``async for`` streams it with one page fetched ahead. It is a
    coroutine to asyncio, so ``create_task``, ``TaskGroup``, ``gather`` and ``wait_for`` take it as it is.
    """

    __slots__ = ()

    def into(self, card: type[CardT], /) -> "BoundQuery[M, CardT]":
        """Return the query whose items are read into another model, made of some of this one's fields.

        Only these are sent over the network, and an index that holds them needs no completion from the table.

        Args:
            card: a Pydantic model, with or without a table, whose fields are named like fields of this model.

        Raises:
            OperationError: the card has a field that this model does not have, or that has another type here.
        """
        return BoundQuery[M, CardT](self._runner, reading_into(self.spec, card))

    @overload
    def select(self, a: Selectable[A], /) -> "BoundQuery[M, tuple[A]]": ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], /) -> "BoundQuery[M, tuple[A, B]]": ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], c: Selectable[C], /) -> "BoundQuery[M, tuple[A, B, C]]": ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], /
    ) -> "BoundQuery[M, tuple[A, B, C, D]]": ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], e: Selectable[E], /
    ) -> "BoundQuery[M, tuple[A, B, C, D, E]]": ...
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
    ) -> "BoundQuery[M, tuple[Any, ...]]": ...
    def select(self, *fields: Any) -> "BoundQuery[Any, Any]":
        """Return the query whose items are tuples of these fields only."""
        return self._with(selecting(self.spec, fields))

    @overload
    def invalid(self, become: Literal["raw"], /) -> "BoundQuery[M, ItemT | InvalidItem]": ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> "BoundQuery[M, ItemT]": ...
    def invalid(self, become: Invalid, /) -> "BoundQuery[Any, Any]":
        """Return the query that does something else with items that do not fit their model than to raise an error.

        Items of a shared table that are of another model, or of none that is known, count as well.

        Args:
            become: ``"skip"`` leaves them out and tells observers their keys (``InvalidItemsSkipped``); other items are
                read in their places, so that limits and pages are full. ``"raw"`` gives each as an ``InvalidItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return self._with(with_invalid(self.spec, become))


class BoundScan(BoundQuery[M, ItemT], Segmentable[M], Generic[M, ItemT]):
    """A scan that belongs to a session: what a ``BoundQuery`` is, and what it can be asked for besides."""

    __slots__ = ()

    def into(self, card: type[CardT], /) -> "BoundScan[M, CardT]":
        """Return the scan whose items are read into another model. See ``BoundQuery.into``."""
        return BoundScan[M, CardT](self._runner, reading_into(self.spec, card))

    @overload
    def select(self, a: Selectable[A], /) -> "BoundScan[M, tuple[A]]": ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], /) -> "BoundScan[M, tuple[A, B]]": ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], c: Selectable[C], /) -> "BoundScan[M, tuple[A, B, C]]": ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], /
    ) -> "BoundScan[M, tuple[A, B, C, D]]": ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], e: Selectable[E], /
    ) -> "BoundScan[M, tuple[A, B, C, D, E]]": ...
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
    ) -> "BoundScan[M, tuple[Any, ...]]": ...
    def select(self, *fields: Any) -> "BoundScan[Any, Any]":
        """Return the scan whose items are tuples of these fields only. See ``BoundQuery.select``."""
        return self._with(selecting(self.spec, fields))

    @overload
    def invalid(self, become: Literal["raw"], /) -> "BoundScan[M, ItemT | InvalidItem]": ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> "BoundScan[M, ItemT]": ...
    def invalid(self, become: Invalid, /) -> "BoundScan[Any, Any]":
        """Return the scan that does something else with items that do not fit. See ``BoundQuery.invalid``."""
        return self._with(with_invalid(self.spec, become))
