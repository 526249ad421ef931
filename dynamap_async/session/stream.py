"""Reads of pages: all items of a query at once, or one by one, as a stream that is a page ahead.

``aclose``, ``async with`` or dropping it ends a stream.

Invariant: a cancelled ``__anext__`` loses nothing: what was read but not given out is held by the stream.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Generic, Self, TypeAlias, TypeVar, cast

from dynamap_async.errors import CapacityBudgetExceededError, ItemValidationError, OperationError, SessionStateError
from dynamap_async.errors.habits import EnteredByAsyncWith, IteratedByAsyncFor
from dynamap_async.executor import CompletedPages, Executor, MergedPages, Pages, SegmentPages, reported_units
from dynamap_async.models import AfterRead, Model, definition_of
from dynamap_async.operations import Count, PagedOperation, PageOf, Reads
from dynamap_async.planning import Context, InvalidItem, Reading, ReadSpec, both_filters
from dynamap_async.request import Position, Positions, Request
from dynamap_async.session.hooks import SessionHooks, run_after_read, run_on_each
from dynamap_async.session.results import decoder, readable
from dynamap_async.turns import WorkPace
from dynamap_async.wire import Body, WireItem, WireKey

R = TypeVar("R")
M = TypeVar("M")
ItemT = TypeVar("ItemT")
Decode = Callable[[Sequence[WireItem]], list[ItemT]]
AnyPages: TypeAlias = Pages | MergedPages | SegmentPages | CompletedPages

_SLICE_ITEMS: Final = 32


class PageDecoding(Generic[ItemT]):
    """One page on its way from wire items to items, in slices of about 2 ms: a 1 MB page takes ten times that.

    Python's garbage collector runs when so many objects more were made than freed, and goes through all that is new. So
    what is decoded is let go of at once, provided that nobody else holds the page: an item frees twice as many objects
    as it becomes. Slices grow from a small one, as the room that was made grows. That takes a tenth off a page
    (benchmarks: query_100).
    """

    def __init__(self, decode: Decode[ItemT], wire: Sequence[WireItem], pace: WorkPace) -> None:
        """Create the decoding of a page; nothing is decoded yet.

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


class ItemStream(EnteredByAsyncWith, IteratedByAsyncFor, Generic[ItemT]):
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
        """Create the stream of a query's items; nothing is sent yet.

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
            raise SessionStateError("two tasks read from one stream at once; give each task its own stream")
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
                "only a stream of session.scan(...).segments(n) has a checkpoint; use page(size=..., after=cursor) "
                "to continue later"
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


class PageReads:
    """Carries out the operations that are answered in pages."""

    def __init__(self, executor: Executor, context: Context, hooks: SessionHooks) -> None:
        """Create what reads the pages of a session.

        Args:
            executor: sends requests.
            context: what the session adds to each operation.
            hooks: what runs after reads.
        """
        self._executor: Final = executor
        self._context: Final = context
        self._hooks: Final = hooks

    def stream(self, query: Reads[M, ItemT]) -> ItemStream[ItemT]:
        """Return the items of a query as they arrive."""
        reading = query.reading(self._context)
        hooks = self._after_read(query.spec)
        pages = self._pages(reading, eager=False)
        skip = partial(self._skip, pages, reading) if query.spec.invalid == "skip" else None
        decode = decoder(reading.decode, _request_of(reading))
        return ItemStream(pages, decode, checkpoint=reading.checkpoint, hooks=hooks, skip=skip)

    def _skip(self, pages: AnyPages, reading: Reading[Any], items: Sequence[Any]) -> list[Any]:
        """Return the valid items of a page; as many more are read as were left out."""
        skipped = [item for item in items if isinstance(item, InvalidItem)]
        if not skipped:
            return list(items)
        pages.want_more(len(skipped))
        plan, keys = reading.plan, [(item.error.model, item.key) for item in skipped]
        self._executor.skipped(plan.table, plan.index, keys)
        return [item for item in items if not isinstance(item, InvalidItem)]

    def _pages(self, reading: Reading[Any], *, eager: bool) -> AnyPages:
        """Return the pages of a read; ``eager`` if all of its items are certain to be taken."""
        pages = self._plain_pages(reading)
        completion = reading.completion
        if completion is None:
            return pages
        read = _request_of(reading)
        return CompletedPages(
            pages,
            self._executor.submit,
            readable(completion.request, read, lambda entry: (entry,)),
            readable(completion.item, read, lambda answer: filter(None, (answer.get("Item"),))),
            unwanted_ended=self._executor.unwanted_ended,
            eager=eager,
        )

    def _plain_pages(self, reading: Reading[Any], *, counting: bool = False) -> Pages | MergedPages | SegmentPages:
        filters: dict[str, Any] = {"answer_filter": reading.answer_filter, "missing": reading.missing}
        want = 0 if reading.exhausted else reading.want
        if reading.branches and not counting:
            in_turn = reading.plan.in_turn and want is not None
            return self._executor.merged_pages(reading, want=want, begin=reading.begin, in_turn=in_turn, **filters)
        if reading.total:
            return self._executor.segment_pages(reading, want=want, begin=reading.begin, **filters)
        return self._executor.pages(reading.request, reading.position, want=want, start=reading.start, **filters)

    def _after_read(self, spec: ReadSpec) -> tuple[AfterRead, ...]:
        """Return the hooks that follow a read; none where it gives out no instances of a ``Model``."""
        given = spec.model if spec.selected is None else spec.target
        if given is None or not issubclass(given, Model):
            return ()
        # Those that look at each item's own model pass over items that are none.
        if given is spec.model and (spec.invalid == "raw" or definition_of(spec.model).kinds is not None):
            return self._hooks.after_each(spec.read_models)
        return self._hooks.after_each((given,)) if spec.invalid == "raw" else self._hooks.after(given)

    async def read(self, operation: PagedOperation[R]) -> R:
        """Carry out an operation that takes all items of its pages."""
        reading, skips = operation.reading(self._context), operation.spec.invalid == "skip"
        bounds, asked = None, cast("object", operation)  # or checkers would narrow the type of the result, too
        if isinstance(asked, PageOf) and asked.is_bounded:
            bounds = ReadBounds(asked.max_pages, asked.max_read_units)
            reading = replace(reading, answer_filter=both_filters(reading.answer_filter, bounds))
        pages = self._pages(reading, eager=True)
        decode, items = decoder(reading.decode, _request_of(reading)), list[Any]()
        position: Position | None = None
        pace = page_pace()
        try:
            while not pages.ended:
                page = await pages.next_page()
                position, decoding = page.position, PageDecoding(decode, page.items, pace)
                del page  # so that its items go as they are decoded
                found = await decoding.finish()
                items += self._skip(pages, reading, found) if skips else found
        except ItemValidationError as error:
            raise ItemValidationError.of_call(error.failures, [*items, *error.items]) from error.validation_error
        except CapacityBudgetExceededError as error:
            if isinstance(pages, MergedPages):
                found = await PageDecoding(decode, pages.unsorted(), pace).finish()
                items += self._skip(pages, reading, found) if skips else found
            error.items = tuple(items)
            raise
        finally:
            await pages.aclose()
        if hooks := self._after_read(operation.spec):
            await run_on_each(hooks, items)
        if bounds is not None and position is None:
            position = bounds.position
        return operation.finish(items, position, reading)

    async def count(self, operation: Count) -> int:
        """Count items."""
        pages = self._plain_pages(operation.reading(self._context), counting=True)  # a count has no order
        total = 0
        try:
            while not pages.ended:
                total += (await pages.next_page()).count
        finally:
            await pages.aclose()
        return total


def _request_of(reading: Reading[Any]) -> Callable[[], Request]:
    """Return what makes the first request of a read, for errors that name it."""
    return partial(reading.request, None, None)


class ReadBounds:
    """Counts the answers of one read, and takes the last one that is allowed for the end of the data.

    No request is under way then that nobody will pay for: the page after an answer is asked for only where it has one.
    """

    def __init__(self, max_pages: int | None, max_read_units: float | None) -> None:
        """Create the count of a read that has had no answer yet.

        Args:
            max_pages: how many requests there may be; None for any number.
            max_read_units: how many read units may be spent before another request is sent; None for any number.
        """
        self._pages_left: float = math.inf if max_pages is None else max_pages
        self._units_left: float = math.inf if max_read_units is None else max_read_units
        self._counts_units: Final = max_read_units is not None
        self.position: WireKey | None = None
        """Where the data goes on, if the read ended before that."""

    def __call__(self, answer: Body) -> Body:
        """Return an answer, without the position of the next page where no further one is allowed.

        Args:
            answer: what DynamoDB answered.
        """
        self._pages_left -= 1
        if self._counts_units:
            # What an engine does not report may be anything, so that nothing more is spent.
            units = reported_units(answer)
            self._units_left -= math.inf if units is None else units
        if self._pages_left > 0 and self._units_left > 0:
            return answer
        self.position = answer.get("LastEvaluatedKey") or None
        return {name: value for name, value in answer.items() if name != "LastEvaluatedKey"}
