"""Item streams: a query's items one by one, one page ahead; ``aclose``, ``async with`` or dropping it ends it.

Invariant: a cancelled ``__anext__`` loses nothing: what was read but not given out is held by the stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, Self, TypeVar

from dynamap_async.errors import ItemValidationError, OperationError, SessionStateError
from dynamap_async.executor import CompletedPages, MergedPages, Pages, SegmentPages
from dynamap_async.models import AfterRead
from dynamap_async.planning import InvalidItem
from dynamap_async.request import Positions
from dynamap_async.session.hooks import run_after_read
from dynamap_async.turns import WorkPace
from dynamap_async.wire import WireItem

ItemT = TypeVar("ItemT")
Decode = Callable[[Sequence[WireItem]], list[ItemT]]

_SLICE_ITEMS: Final = 32


class PageDecoding(Generic[ItemT]):
    """One page on its way from wire items to items, in slices of about 2 ms: a 1 MB page takes ten times that.

    Python's garbage collector runs when so many objects more were made than freed, and goes through all that is new. So
    what is decoded is let go of at once, provided that nobody else holds the page: an item frees twice as many objects
    as it becomes. Slices grow from a small one, as the room that was made grows. That takes a tenth off a page
    (benchmarks: query_100).
    """

    def __init__(self, decode: Decode[ItemT], wire: Sequence[WireItem], pace: WorkPace) -> None:
        """Begin.

        Args:
            decode: makes the items.
            wire: the page.
            pace: that of all pages of one read; see ``page_pace``.
        """
        self._decode = decode
        self.total: int = len(wire)
        """How many items the page has."""
        self._left = deque(wire)
        self._pace = pace
        self._items: list[ItemT] = []
        self._failures: list[ItemValidationError] = []

    async def finish(self) -> list[ItemT]:
        """Return the items, letting other tasks run between slices; a cancelled call is gone on with by the next.

        Raises:
            ItemValidationError: items do not fit; the error carries all items of the page that do.
        """
        pace = self._pace
        pace.go_on()
        while self._left:
            if pace.is_over(self._decode_slice(pace.items)):
                await pace.pause()
        pace.rest()
        if self._failures:
            raise ItemValidationError.of_call(self._failures, self._items)
        return self._items

    def _decode_slice(self, most: int) -> int:
        left = self._left
        wire = [left.popleft() for _ in range(min(most, len(left)))]
        try:
            self._items += self._decode(wire)
        except ItemValidationError as error:
            self._items += error.items
            self._failures += error.failures
        return len(wire)


def page_pace() -> WorkPace:
    """Return the pace of one read: pages that are there already are decoded one after the other, without a wait."""
    return WorkPace(_SLICE_ITEMS)


class ItemStream(Generic[ItemT]):
    """An asynchronous iterator over the items of a query.

    It is an object and not a generator: leaving a loop early drops it, which ends the request that is under way at
    once. ``async with query.stream() as items`` ends it at a place that you can see.
    """

    def __init__(
        self,
        pages: Pages | MergedPages | SegmentPages | CompletedPages,
        decode: Decode[ItemT],
        *,
        checkpoint: Callable[[Positions], str],
        hooks: Sequence[AfterRead] = (),
        skip: Callable[[Sequence[ItemT]], object] | None = None,
    ) -> None:
        """Describe the stream; queries make these.

        Args:
            pages: where the items come from.
            decode: makes the items of a part of a page.
            checkpoint: returns the text of the positions of a scan in segments.
            hooks: what runs on each item before it is given out.
            skip: told of the items of each page, where those that do not fit are left out.
        """
        self._pages = pages
        self._hooks = hooks
        self._decode = decode
        self._checkpoint = checkpoint
        self._skip = skip
        self._items: deque[ItemT] = deque()
        self._page: PageDecoding[ItemT] | None = None
        self._pace = page_pace()
        self._advancing = False
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ItemT:
        """Return the next item.

        Raises:
            ItemValidationError: an item does not fit the model. The error carries the rest of its page, and the next
                call goes on with the page after it.
            ServiceError: DynamoDB refused the request of a page; the next call asks for the same page again.
            TransportError: no answer came; the next call asks for the same page again.
            SessionStateError: another task is waiting for an item of this stream.

        Cost:
            None for most items: the request of a page is sent when the one before it is given out.
        """
        if self._advancing:
            raise SessionStateError("two tasks take items from one stream at once; give each task a stream of its own")
        if self._closed:
            raise StopAsyncIteration
        if self._items and not self._hooks and self._skip is None:
            return self._items.popleft()
        self._advancing = True
        try:
            self._drop_skipped()
            while not self._items:
                if self._page is None:
                    if self._pages.ended:
                        raise StopAsyncIteration
                    self._page = PageDecoding(self._decode, (await self._pages.next_page()).items, self._pace)
                await self._take_page(self._page)
                self._drop_skipped()
            if self._hooks:
                await self._run_hooks(self._items[0])
            return self._items.popleft()
        finally:
            self._advancing = False

    async def _run_hooks(self, item: ItemT) -> None:
        """Run the hooks on the next item: it stays the next one if that is cancelled, and is dropped if one raises."""
        try:
            await run_after_read(self._hooks, item)
        except Exception:
            self._items.popleft()
            raise

    def _drop_skipped(self) -> None:
        """Let go of items that are left out. Until it is their turn they stay, for the checkpoint counts them."""
        if self._skip is not None:
            while self._items and isinstance(self._items[0], InvalidItem):
                self._items.popleft()

    async def _take_page(self, page: PageDecoding[ItemT]) -> None:
        try:
            found = await page.finish()
            if self._skip is not None:
                self._skip(found)
            self._items.extend(found)
        except Exception:
            self._page = None
            raise
        self._page = None

    def checkpoint(self) -> str:
        """Return where a scan in segments stands, as opaque text for ``.resume()``: after the item given out last.

        It may be taken at any time, also after ``aclose``. It is bound to the scan as a cursor is to its query.

        Raises:
            OperationError: the stream is not of a scan in segments, or its positions take over 256 KB of text.
        """
        unread = len(self._items) if self._page is None else self._page.total
        pages = self._pages
        positions = pages.positions(unread) if isinstance(pages, SegmentPages | CompletedPages) else None
        if positions is None:
            raise OperationError(
                "only the stream of session.scan(...).segments(n) has a checkpoint; read page(size=..., after=cursor) "
                "to go on later"
            )
        return self._checkpoint(positions)

    async def aclose(self) -> None:
        """End the stream; no request is under way afterwards, but for one that another task is waiting for."""
        self._closed = True  # what was not given out stays, as it is what tells the checkpoint
        await self._pages.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
