"""Reads bound to a session: the same builders, to be awaited, iterated over, or asked for a page or a count."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, Self

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.operations import Page, Reads, Refinable
from dynamap_async.planning import Context, ReadSpec
from dynamap_async.session.coroutine import BoundCoroutine
from dynamap_async.session.stream import ItemStream

if TYPE_CHECKING:
    from dynamap_async.session.runner import Runner

M = TypeVar("M")
ItemT = TypeVar("ItemT", default=M)


class BoundReads(Refinable[M], BoundCoroutine[list[ItemT]], Generic[M, ItemT]):
    """What bound queries, scans and entity collections have in common: the results that they can end in."""

    __slots__ = ("_runner", "spec")

    def __init__(self, runner: "Runner", spec: ReadSpec) -> None:
        super().__init__()
        self._runner = runner
        self.spec: ReadSpec = spec
        """What is asked."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec}>"

    @property
    def _spec(self) -> ReadSpec:
        return self.spec

    @property
    def _context(self) -> Context:
        return self._runner.context

    def _with(self, spec: ReadSpec) -> Self:
        return type(self)(self._runner, spec)

    @property
    def _query(self) -> Reads[M, ItemT]:
        reads: type[Reads[M, ItemT]] = Reads  # the name alone: an alias costs more than the query (query_100)
        return reads.of(self.spec)

    def _run(self) -> Coroutine[Any, Any, list[ItemT]]:
        return self._runner.execute(self._query)

    def __aiter__(self) -> ItemStream[ItemT]:
        return self.stream()

    def stream(self) -> ItemStream[ItemT]:
        """Return the items as an asynchronous iterator that is also a context manager.

        Raises:
            OperationError: no table or index answers the query, or the service would refuse it.
            SessionStateError: the session is not open.
        """
        return self._runner.stream(self._query)

    async def page(self, *, size: int, after: str | None = None) -> Page[ItemT]:
        """Read one page of exactly ``size`` items, or fewer at the end.

        Args:
            size: how many items.
            after: the cursor of the page before; None for the first page.

        Raises:
            CursorError: the cursor is damaged, forged, or of another query.
            OperationError: no table or index answers the query.
        """
        return await self._runner.execute(self._query.page(size=size, after=after))

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
