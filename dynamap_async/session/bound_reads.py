"""Queries, scans and entity collections bound to a session: to be awaited, iterated over, or asked for a page."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, Self, final, overload

from pydantic import BaseModel
from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.dataclass import replace_fields
from dynamap_async.executor import BoundCoroutine
from dynamap_async.expressions import Selectable
from dynamap_async.operations import Page, Reads, Refinable, Segmentable, reading_into, selecting, with_unknown
from dynamap_async.planning import (
    Context,
    Grouped,
    Invalid,
    InvalidItem,
    Plan,
    ReadSpec,
    Unknown,
    UnknownItem,
    without_proved,
)
from dynamap_async.session.stream import ItemStream

M = TypeVar("M")
ItemT = TypeVar("ItemT", default=M)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
TargetT = TypeVar("TargetT", bound=BaseModel)

if TYPE_CHECKING:
    from dynamap_async.session.runner import Runner


class BoundReads(Refinable[M], BoundCoroutine[list[ItemT]], Generic[M, ItemT]):
    """What bound queries, scans and entity collections have in common: the results that they can end in."""

    __slots__ = ("_runner", "_spec")

    def __init__(self, runner: Runner, spec: ReadSpec) -> None:
        """Create a read of a session.

        Args:
            runner: carries operations out.
            spec: what is asked.
        """
        super().__init__()
        self._runner = runner
        self._spec = spec

    def __repr__(self) -> str:
        return f"<{self._spec}; await it>"

    @property
    def _context(self) -> Context:
        return self._runner.context

    def _with(self, spec: ReadSpec) -> Self:
        return type(self)(self._runner, spec)

    @property
    def _query(self) -> Reads[M, ItemT]:
        reads: type[Reads[M, ItemT]] = Reads  # the name alone: an alias costs more than the query (query_100)
        return reads.of(self._spec)

    def _run(self) -> Coroutine[Any, Any, list[ItemT]]:
        return self._runner.execute(self._query)

    def explain(self) -> Plan:
        """Return what the query will do, and what a page took until now, without sending anything. Print it to read it.

        Raises:
            OperationError: no table or index answers the query, or the service would refuse it.
        """
        plan = super().explain()
        ledger = self._runner.executor.ledger
        return replace_fields(
            plan,
            average_page_units=ledger.average_units(plan.operation, plan.table),
            hazards=without_proved(self.spec, plan.hazards, self._runner.context),
        )

    def __aiter__(self) -> ItemStream[ItemT]:
        return self.stream()

    def stream(self) -> ItemStream[ItemT]:
        """Return the items as an asynchronous iterator that is also a context manager.

        Raises:
            OperationError: no table or index answers the query, or the service would refuse it.
            SessionStateError: the session is not open.
        """
        return self._runner.reads.stream(self._query)

    async def page(
        self,
        *,
        size: int,
        after: str | None = None,
        max_pages: int | None = None,
        max_read_units: float | None = None,
    ) -> Page[ItemT]:
        """Read one page of exactly ``size`` items, or fewer at the end.

        With a bound on its cost it may have fewer items, or none, and a cursor to go on from.

        Args:
            size: how many items.
            after: the cursor of the page before; None for the first page.
            max_pages: after how many requests it ends, from 1 on; None for as many as it takes.
            max_read_units: after how many read units no further request is sent; None for as many as it takes. The last
                request may go beyond it, by the units of one page of up to 1 MB; ``page_size`` makes it smaller.

        Raises:
            CursorError: the cursor is damaged, forged, or of another query.
            OperationError: no table or index answers the query, or its cost cannot be bounded.
        """
        page = self._query.page(size=size, after=after, max_pages=max_pages, max_read_units=max_read_units)
        return await self._runner.execute(page)

    async def count(self) -> int:
        """Count the items, up to the limit if there is one. It costs what reading them costs."""
        return await self._runner.execute(self._query.count())

    async def first(self) -> ItemT | None:
        """Read the first item, or None where there is none."""
        return await self._runner.execute(self._query.first())

    async def one(self) -> ItemT:
        """Read the only item.

        Raises:
            ItemNotFoundError: there is none.
            MultipleItemsFoundError: there are more.
        """
        return await self._runner.execute(self._query.one())

    async def one_or_none(self) -> ItemT | None:
        """Read the only item, or None where there is none.

        Raises:
            MultipleItemsFoundError: there are more.
        """
        return await self._runner.execute(self._query.one_or_none())


class BoundQuery(BoundReads[M, ItemT], Generic[M, ItemT]):
    """A query that belongs to a session.

    Awaiting it gives a list, as often as it is awaited; ``async for`` streams it with one page fetched ahead. It is a
    coroutine to asyncio, so ``create_task``, ``TaskGroup``, ``gather`` and ``wait_for`` take it as it is.
    """

    __slots__ = ()

    def into(self, target: type[TargetT], /) -> BoundQuery[M, TargetT]:
        """Return the query whose items are read into another model, made of some of this one's fields.

        Only these are sent over the network, and an index that holds them needs no completion from the table.

        Args:
            target: a Pydantic model, with or without a table, whose fields are named like fields of this model.

        Raises:
            OperationError: the target has a field that this model does not have, or that has another type here.
        """
        return BoundQuery[M, TargetT](self._runner, reading_into(self._spec, target))

    @overload
    def select(self, a: Selectable[A], /) -> BoundQuery[M, tuple[A]]: ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], /) -> BoundQuery[M, tuple[A, B]]: ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], c: Selectable[C], /) -> BoundQuery[M, tuple[A, B, C]]: ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], /
    ) -> BoundQuery[M, tuple[A, B, C, D]]: ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], e: Selectable[E], /
    ) -> BoundQuery[M, tuple[A, B, C, D, E]]: ...
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
    ) -> BoundQuery[M, tuple[Any, ...]]: ...
    def select(self, *fields: Any, **names: Never) -> BoundQuery[Any, Any]:
        """Return the query whose items are tuples of these fields only.

        Args:
            fields: fields of the model, or parts of them.
            names: nothing: a field is given as in ``Tweet.city``.
        """
        return self._with(selecting(self._spec, fields, names))

    @overload
    def invalid(self, become: Literal["raw"], /) -> BoundQuery[M, ItemT | InvalidItem]: ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> BoundQuery[M, ItemT]: ...
    def invalid(self, become: Invalid, /) -> BoundQuery[Any, Any]:
        """Return the query that does something else with items that do not fit their model than to raise an error.

        Items of a shared table that are of another model, or of none that is known, count as well.

        Args:
            become: ``"skip"`` leaves them out and tells observers their keys (``InvalidItemsSkipped``); other items are
                read in their places, so that limits and pages are full. ``"raw"`` gives each as an ``InvalidItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return self._with(self._spec.with_invalid(become))


class BoundScan(BoundQuery[M, ItemT], Segmentable[M], Generic[M, ItemT]):
    """A scan that belongs to a session: what a ``BoundQuery`` is, and what it can be asked for besides."""

    __slots__ = ()

    def into(self, target: type[TargetT], /) -> BoundScan[M, TargetT]:
        """Return the scan whose items are read into another model. See ``BoundQuery.into``.

        Args:
            target: a Pydantic model whose fields are named like fields of this model.
        """
        return BoundScan[M, TargetT](self._runner, reading_into(self._spec, target))

    @overload
    def select(self, a: Selectable[A], /) -> BoundScan[M, tuple[A]]: ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], /) -> BoundScan[M, tuple[A, B]]: ...
    @overload
    def select(self, a: Selectable[A], b: Selectable[B], c: Selectable[C], /) -> BoundScan[M, tuple[A, B, C]]: ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], /
    ) -> BoundScan[M, tuple[A, B, C, D]]: ...
    @overload
    def select(
        self, a: Selectable[A], b: Selectable[B], c: Selectable[C], d: Selectable[D], e: Selectable[E], /
    ) -> BoundScan[M, tuple[A, B, C, D, E]]: ...
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
    ) -> BoundScan[M, tuple[Any, ...]]: ...
    def select(self, *fields: Any, **names: Never) -> BoundScan[Any, Any]:
        """Return the scan whose items are tuples of these fields only. See ``BoundQuery.select``.

        Args:
            fields: fields of the model, or parts of them.
            names: nothing: a field is given as in ``Tweet.city``.
        """
        return self._with(selecting(self._spec, fields, names))

    @overload
    def invalid(self, become: Literal["raw"], /) -> BoundScan[M, ItemT | InvalidItem]: ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> BoundScan[M, ItemT]: ...
    def invalid(self, become: Invalid, /) -> BoundScan[Any, Any]:
        """Return the scan that does something else with items that do not fit. See ``BoundQuery.invalid``.

        Args:
            become: ``"skip"``, ``"raw"`` or ``"error"``.
        """
        return self._with(self._spec.with_invalid(become))


class BoundCollection(BoundReads[M, ItemT], Generic[M, ItemT]):
    """A query on several models of a shared table that belongs to a session.

    Awaiting it gives a list of instances, each of its own class, in the order of the sort key; ``async for`` streams
    them with one page fetched ahead. See ``Collection``.
    """

    __slots__ = ()

    @overload
    def unknown(self, become: Literal["raw"], /) -> BoundCollection[M, ItemT | UnknownItem]: ...
    @overload
    def unknown(self, become: Literal["error", "skip"], /) -> BoundCollection[M, ItemT]: ...
    def unknown(self, become: Unknown, /) -> BoundCollection[Any, Any]:
        """Return the query that does something else with items of no known model than to raise ItemKindError.

        Args:
            become: ``"skip"`` has DynamoDB leave them out, ``"raw"`` gives them as ``UnknownItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return self._with(with_unknown(self._spec, become))

    @overload
    def invalid(self, become: Literal["raw"], /) -> BoundCollection[M, ItemT | InvalidItem]: ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> BoundCollection[M, ItemT]: ...
    def invalid(self, become: Invalid, /) -> BoundCollection[Any, Any]:
        """Return the query that does something else with items that do not fit their model than to raise an error.

        Items of a shared table that are of another model, or of none that is known, count as well.

        Args:
            become: ``"skip"`` leaves them out and tells observers their keys (``InvalidItemsSkipped``); other items are
                read in their places, so that limits and pages are full. ``"raw"`` gives each as an ``InvalidItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return self._with(self._spec.with_invalid(become))

    async def grouped(self) -> Grouped:
        """Read the items and return them by model: ``(await collection.grouped())[Order]`` is a list of orders."""
        return Grouped(await self)


@final
class BoundCollectionScan(BoundCollection[M, ItemT], Segmentable[M], Generic[M, ItemT]):
    """A scan of several models of a shared table: what a ``BoundCollection`` is, in no order, and in segments."""

    __slots__ = ()

    @overload
    def unknown(self, become: Literal["raw"], /) -> BoundCollectionScan[M, ItemT | UnknownItem]: ...
    @overload
    def unknown(self, become: Literal["error", "skip"], /) -> BoundCollectionScan[M, ItemT]: ...
    def unknown(self, become: Unknown, /) -> BoundCollectionScan[Any, Any]:
        """Return the scan that does something else with items of no known model. See ``BoundCollection.unknown``.

        Args:
            become: ``"skip"``, ``"raw"`` or ``"error"``.
        """
        return self._with(with_unknown(self._spec, become))

    @overload
    def invalid(self, become: Literal["raw"], /) -> BoundCollectionScan[M, ItemT | InvalidItem]: ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> BoundCollectionScan[M, ItemT]: ...
    def invalid(self, become: Invalid, /) -> BoundCollectionScan[Any, Any]:
        """Return the scan that does something else with items that do not fit. See ``BoundCollection.invalid``.

        Args:
            become: ``"skip"``, ``"raw"`` or ``"error"``.
        """
        return self._with(self._spec.with_invalid(become))
