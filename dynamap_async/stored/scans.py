"""Scans: the items of a table in wire form, page after page, one page ahead of whoever takes them.

Invariant: a call that is cancelled or fails loses no page and no item of the page at hand, and no position passes an
item of it that was not taken. ``SegmentPages`` says what is under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, Final, Generic, Self, TypeVar

from dynamap_async.dataclass import dataclass
from dynamap_async.executor import Executor, Missing, SeparateReads
from dynamap_async.native import plain
from dynamap_async.request import AnswerFilter, Positions, Request
from dynamap_async.transport import UNREADABLE, unreadable
from dynamap_async.turns import WorkPace
from dynamap_async.wire import Body, WireItem, WireKey

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TableScan:
    """A scan of a table, in one part."""

    table: str
    """The full table name."""
    key_names: tuple[str, ...] = ()
    """The attributes of the table's key; an answer in which an item lacks one is damaged."""
    members: Mapping[str, object] = field(default_factory=dict[str, object])
    """What each request says besides."""

    @classmethod
    def of_keys(
        cls, table: str, key_names: tuple[str, ...], *, others: Iterable[str] = (), **members: object
    ) -> TableScan:
        """Return the scan that reads the keys of items.

        Args:
            key_names: the attributes of the table's key.
            others: the names of attributes that are read besides.
            members: what each request says besides.
        """
        aliases = {f"#k{number}": name for number, name in enumerate(dict.fromkeys((*key_names, *others)))}
        projection = {"ProjectionExpression": ", ".join(aliases), "ExpressionAttributeNames": aliases}
        return cls(table, key_names, {**members, **projection})

    @property
    def total(self) -> int:
        """How many parts there are: the table is read as one."""
        return 1

    def part(self, number: int) -> TableScan:
        """Return the one part."""
        return self

    def request(self, start: WireKey | None, remaining: int | None = None) -> Request:
        """Return the request of the page after a position."""
        body: dict[str, Any] = {"TableName": self.table, **self.members}
        if start is not None:
            body["ExclusiveStartKey"] = start
        return Request(operation="Scan", body=body, table=self.table, required=frozenset(self.key_names))

    def position(self, item: WireItem) -> WireKey:
        """Return the position of an item."""
        return {name: item[name] for name in self.key_names}


async def stored_item(executor: Executor, request: Request) -> WireItem | None:
    """Return an item in wire form; None where there is none.

    Args:
        request: a GetItem request.
    """
    found = (await executor.send(request)).get("Item")
    return None if found is None else plain(found)


def whole_item(item: WireItem) -> WireItem:
    """Return an item as it is: what ``StoredPages`` reads where all of it is wanted."""
    return item


class StoredPages(Generic[T]):
    """Pages of stored items, and what is wanted of each item.

    ``while await pages.next_page():`` goes from page to page, and ``async for found in pages:`` over the items of one,
    with pauses in which other tasks have their turn. ``async with`` ends what is under way.

    Args:
        read: returns what is wanted of an item. If the item is not of the form that this expects, the answer is
            damaged.
        begin: where to go on; None for the beginning.
        is_enough: called with each answer as it arrives; if it returns True, no page after it is asked for, and
            positions are of no use. Not beside ``answer_filter``.
        answer_filter: takes out of each answer what is not to be given out.
        missing: gives the answer of a table that does not exist; None where that is an error.
    """

    def __init__(
        self,
        executor: Executor,
        parts: SeparateReads,
        read: Callable[[WireItem], T],
        *,
        begin: Positions | None = None,
        is_enough: Callable[[Body], bool] | None = None,
        answer_filter: AnswerFilter | None = None,
        missing: Missing | None = None,
    ) -> None:
        self._parts: Final = parts
        self._read: Final = read
        cut = answer_filter if is_enough is None else partial(self._cut, is_enough)
        self._pages: Final = executor.segment_pages(parts, want=None, begin=begin, answer_filter=cut, missing=missing)
        self._untaken = deque[Any]()
        self._pace: Final = WorkPace(1)
        self.count: int = 0
        """How many items the pages have until now."""
        self.is_complete: bool = True
        """Whether no page was left out because it was enough."""

    def _cut(self, is_enough: Callable[[Body], bool], answer: Body) -> Body:
        """Return an answer without its position if it is enough: the next page is asked for as soon as one arrives."""
        if not is_enough(answer) or not answer.get("LastEvaluatedKey"):
            return answer
        self.is_complete = False
        return {**answer, "LastEvaluatedKey": None}

    async def next_page(self) -> bool:
        """Read the next page; return False at the end. Items of the last page that were not taken are left out.

        A cancelled or failed call loses nothing: the next one asks for the same page again.

        Raises:
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
        """
        if self._pages.ended:
            return False
        page = await self._pages.next_page()
        self._untaken = deque(page.items)
        self.count += page.count
        return True

    @property
    def untaken(self) -> int:
        """How many items of the page were not taken yet."""
        return len(self._untaken)

    def __aiter__(self) -> Self:
        self._pace.begin()
        return self

    async def __anext__(self) -> T:
        """Return what is wanted of the next item of the page.

        Raises:
            DamagedResponseError: the item is not of the form that is expected.
        """
        if not self._untaken:
            raise StopAsyncIteration
        if self._pace.is_over(1):  # a page of small items takes long
            await self._pace.pause()
        item = self._untaken.popleft()
        try:
            return self._read(plain(item))
        except UNREADABLE as error:
            unreadable(error, self._parts.part(0).request(None, None), (item,))

    def positions(self) -> Positions:
        """Return where the parts stand: before the first item that was not taken."""
        return self._pages.positions(len(self._untaken))

    async def aclose(self) -> None:
        """End what is under way, and return when it has ended."""
        await self._pages.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
