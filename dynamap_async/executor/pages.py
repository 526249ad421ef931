"""Pages: queries and scans followed to their end, one page ahead of whoever takes their items.

``Pages`` are those of one read; ``SegmentPages`` those of several independent reads, as they arrive; ``MergedPages``
those of several sorted reads, given out as one in their common order.

Invariant: of each read at most one page is fetched or under way beside the one that was returned last, it asks for no
more than is still wanted, and no task outlives the iterator: a prefetch task refers to the request, never to the
iterator, so that dropping the iterator ends it. No position passes an item that was not given out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from heapq import heapify, heappop, heapreplace
from typing import Any, Final, Generic, Protocol, TypeAlias

from typing_extensions import TypeVar

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import CapacityBudgetExceededError, ResourceNotFoundError
from dynamap_async.executor.accounts import bare_context
from dynamap_async.executor.anyio_scopes import shielded
from dynamap_async.executor.gather import gather_all
from dynamap_async.request import AnswerFilter, Positions, Request
from dynamap_async.transport import UNREADABLE, unreadable
from dynamap_async.turns import WorkPace, new_task
from dynamap_async.wire import Body, WireItem, WireKey

Send = Callable[[Request], Awaitable[Body]]
PositionT = TypeVar("PositionT", default=WireKey)


@dataclass(frozen=True)  # with slots too, RawPage[...] raises TypeError before Python 3.13
class RawPage(Generic[PositionT]):
    """The part of one answer that was wanted."""

    items: list[WireItem]
    count: int
    """How many items the answer stands for; a count brings none of them along."""
    position: PositionT | None
    """After which item the next page begins; None after the last."""


def _judged_position(
    item: WireItem, position: Callable[[WireItem], WireKey], request: Callable[[WireKey | None, int | None], Request]
) -> WireKey:
    """Return the position of an item.

    Args:
        item: the item, which need not be the last of its answer: only that was looked at.
        position: gives the position of an item.
        request: makes the request that brought it.

    Raises:
        DamagedResponseError: it lacks its key.
    """
    try:
        return position(item)
    except UNREADABLE as error:
        unreadable(error, request(None, None), (item,))


def wanted_of(answer: Body, remaining: int | None, position_in: Callable[[WireItem], WireKey]) -> RawPage:
    """Return the part of an answer that is wanted.

    Args:
        answer: the answer of a query or scan.
        remaining: how many items are still wanted; None for every one.
        position_in: gives the position of an item.
    """
    items: list[WireItem] = answer.get("Items") or []
    count: int | None = answer.get("Count")
    count = len(items) if count is None else count
    position: WireKey | None = answer.get("LastEvaluatedKey") or None  # an empty one is the end as well
    if remaining is not None and count > remaining:
        count, items = remaining, items[:remaining]
        position = position_in(items[-1]) if items else position
    return RawPage(items, count, position)


class Pages:
    """The pages of one query or scan, in order."""

    def __init__(
        self,
        send: Send,
        request: Callable[[WireKey | None, int | None], Request],
        position: Callable[[WireItem], WireKey],
        *,
        want: int | None,
        start: WireKey | None = None,
        spawned: set[asyncio.Task[Body]],
    ) -> None:
        """Describe the pages; nothing is sent before the first ``next_page``.

        Args:
            send: sends a request, with retries.
            request: makes the request of the page after a position, with the number of items still wanted.
            position: gives the position of an item.
            want: how many items are wanted in all; None for every one.
            start: the position to begin after.
            spawned: holds the tasks that are under way, so that a session can end them when it closes.
        """
        self._send: Final = send
        self._request: Final = request
        self._position_of: Final = partial(_judged_position, position=position, request=request)
        self._remaining: int | None = want
        self._start = start
        self._task: asyncio.Task[Body] | None = None
        self._ending: list[asyncio.Task[Body]] = []
        """What was cancelled and may not have ended yet."""
        self._spawned: Final = spawned
        self._closed = False
        self.ended: bool = want == 0
        """Whether there is no further page."""

    async def next_page(self) -> RawPage:
        """Return the next page, and begin to fetch the one after it. Not to be called once ``ended``.

        A cancelled or failed call loses nothing: the next call asks for the same page again.

        Raises:
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
        """
        task, self._task = self._task, None
        answer = await (self._send(self._request(self._start, self._remaining)) if task is None else task)
        page = wanted_of(answer, self._remaining, self._position_of)
        if self._remaining is not None:
            self._remaining -= page.count
        self._start = page.position
        self.ended = self._closed or page.position is None or self._remaining == 0
        if not self.ended:
            self._task = fetch(self._send, self._request(self._start, self._remaining), self._spawned)
        return page

    def want_more(self, items: int) -> None:
        """Ask for so many items more than at first, of which some came to nothing; no matter whether it had ended."""
        if self._remaining is not None:
            self._remaining += items
            self.ended = self._closed or self._start is None

    def pause(self) -> None:
        """End the prefetch, if one is under way; the next call asks for that page again."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            self._ending.append(task)

    def close(self) -> None:
        """End the prefetch, if one is under way. Safe to call at any time, from any task of the loop."""
        self._closed = self.ended = True
        self.pause()

    async def aclose(self) -> None:
        """End the prefetch, and return when it has ended."""
        self.close()
        if self._ending:
            with shielded():
                await asyncio.wait(self._ending)

    def __del__(self) -> None:
        if self._task is not None:
            cancel_from_anywhere(self._task)


def fetch(send: Send, request: Request, spawned: set[asyncio.Task[Body]]) -> asyncio.Task[Body]:
    """Begin to fetch a page, in a task that refers to nothing but the request."""
    # A bare context: the waiter's spans and log context are not those of the page after its own.
    task = new_task(_send(send, request), bare_context())
    spawned.add(task)
    task.add_done_callback(spawned.discard)
    task.add_done_callback(_forget)
    return task


def cancel_from_anywhere(task: asyncio.Task[Body]) -> None:
    """Cancel a fetch, from any thread, with or without a running loop."""
    loop = task.get_loop()
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        # Now, not in the next tick: a task that has not begun yet then never sends anything.
        task.cancel()
    elif not loop.is_closed():
        # Dropped while the loop stands still, or by a garbage collection in another thread.
        loop.call_soon_threadsafe(task.cancel)


async def _send(send: Send, request: Request) -> Body:
    return await send(request)


def _forget(task: asyncio.Task[Body]) -> None:
    """Retrieve a failure that nobody waits for, so that asyncio does not report it as never retrieved."""
    if not task.cancelled():
        task.exception()


Missing: TypeAlias = Callable[[ResourceNotFoundError], Body]
"""Gives the answer of a table that does not exist, or raises."""


def filtering(send: Send, answer_filter: AnswerFilter | None, missing: Missing | None) -> Send:
    """Return what sends a request as before, and filters its answer."""
    send = send if missing is None else partial(_lenient, send, missing)
    return send if answer_filter is None else partial(_filtered, send, answer_filter)


async def _lenient(send: Send, missing: Missing, request: Request) -> Body:
    try:
        return await send(request)
    except ResourceNotFoundError as error:
        return missing(error)


async def _filtered(send: Send, answer_filter: AnswerFilter, request: Request) -> Body:
    answer = await send(request)
    try:
        return answer_filter(answer)
    except UNREADABLE as error:
        unreadable(error, request, answer.get("Items") or ())


_DROPPED_ITEMS: Final = 256
"""After how many items, of a page that is let go, the clock is looked at."""


class PagedRead(Protocol):
    """One of the reads: a segment, or the query of one partition."""

    def request(self, start: WireKey | None, remaining: int | None) -> Request:
        """Return the request of the page after a position."""
        ...

    def position(self, item: WireItem) -> WireKey:
        """Return the position of an item."""
        ...


def _position_in(part: PagedRead, item: WireItem) -> WireKey:
    return _judged_position(item, part.position, part.request)


class SeparateReads(Protocol):
    """All reads, in order of their numbers."""

    @property
    def total(self) -> int:
        """How many there are."""
        ...

    def part(self, number: int) -> PagedRead:
        """Return one of them."""
        ...


class SegmentPages:
    """The pages of several reads, in the order in which they arrive."""

    def __init__(
        self,
        send: Send,
        parts: SeparateReads,
        *,
        want: int | None,
        begin: Positions | None,
        width: int,
        spawned: set[asyncio.Task[Body]],
    ) -> None:
        """Describe the pages; nothing is sent before the first ``next_page``.

        Args:
            send: sends a request, with retries.
            parts: the reads.
            want: how many items are wanted in all; None for every one.
            begin: where to go on; None for the beginning.
            width: how many of the reads may be under way at a time.
            spawned: holds the tasks that are under way, so that a session can end them when it closes.
        """
        self._send: Final = send
        self._parts: Final = parts
        self._remaining: int | None = want
        self._width: Final = width
        self._spawned: Final = spawned
        self._begun = 0 if begin is None else begin.begun
        self._at: dict[int, WireKey | None] = {} if begin is None else dict(begin.at)
        self._tasks: dict[int, asyncio.Task[Body]] = {}
        self._ending: list[asyncio.Task[Body]] = []
        """What was cancelled and may not have ended yet."""
        self._last: tuple[int, WireKey | None, list[WireItem]] | None = None
        self._closed = False
        self._set_ended()

    async def next_page(self) -> RawPage:
        """Return the next page of any part. Not to be called once ``ended``.

        A cancelled call loses nothing. After a failed call the next one asks for the same page of that part again.

        Raises:
            ServiceError: DynamoDB refused the request of one part.
            TransportError: no answer came for one part.
        """
        self._fetch_more()
        await self._drop_last()
        while (number := self._arrived()) is None:
            running = [task for task in self._tasks.values() if not task.done()]
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            if self._closed:
                return RawPage([], 0, None)
        answer = self._tasks.pop(number).result()
        page = self._take(number, answer)
        if self.ended:
            self._cancel()
        else:
            self._fetch_more()
        return page

    def _arrived(self) -> int | None:
        """Return the number of a part whose page has come, or failed; None if none has.

        One that was refused for want of a budget comes after all others: what is under way is paid for.
        """
        done = [number for number, task in self._tasks.items() if task.done()]
        paid = [number for number in done if not _is_over_budget(self._tasks[number])]
        return next(iter(paid if len(done) < len(self._tasks) else paid or done), None)

    async def _drop_last(self) -> None:
        """Let the page go that was returned last, of which all items were given out: slowly, for it may be large."""
        if self._last is None:
            return
        left, self._last = deque(self._last[-1]), None  # a copy: the list may be another's too
        pace = WorkPace(_DROPPED_ITEMS)
        pace.begin()
        while left:
            number = min(pace.items, len(left))
            for _ in range(number):
                left.popleft()
            if pace.is_over(number):
                await pace.pause()

    def positions(self, unread: int = 0) -> Positions:
        """Return where each part stands.

        Args:
            unread: how many items at the end of the page returned last were not given out.
        """
        at = dict(self._at)
        if unread and self._last is not None:
            number, start, items = self._last
            given = len(items) - unread
            at[number] = _position_in(self._parts.part(number), items[given - 1]) if given else start
        return Positions(self._begun, at)

    def want_more(self, items: int) -> None:
        """Ask for so many items more than at first; see ``Pages.want_more``."""
        if self._remaining is not None:
            self._remaining += items
            self._set_ended()

    def _fetch_more(self) -> None:
        if self._closed:
            return
        for number in self._at:
            self._fetch(number)
        while self._begun < self._parts.total and len(self._tasks) < self._width:
            self._at[self._begun] = None
            self._fetch(self._begun)
            self._begun += 1

    def _fetch(self, number: int) -> None:
        if number not in self._tasks and len(self._tasks) < self._width:
            request = self._parts.part(number).request(self._at[number], self._remaining)
            self._tasks[number] = fetch(self._send, request, self._spawned)

    def _take(self, number: int, answer: Body) -> RawPage:
        page = wanted_of(answer, self._remaining, partial(_position_in, self._parts.part(number)))
        if self._remaining is not None:
            self._remaining -= page.count
        self._last = number, self._at.pop(number), page.items
        if page.position is not None:
            self._at[number] = page.position
        self._set_ended()
        return page

    def _set_ended(self) -> None:
        finished = not self._at and self._begun == self._parts.total
        self.ended: bool = self._closed or finished or self._remaining == 0

    def _cancel(self) -> None:
        for task in self._tasks.values():
            task.cancel()
            self._ending.append(task)
        self._tasks.clear()

    async def aclose(self) -> None:
        """End what is under way, and return when it has ended."""
        self._closed = self.ended = True
        self._cancel()
        if self._ending:
            with shielded():
                await asyncio.wait(self._ending)

    def __del__(self) -> None:
        for task in self._tasks.values():
            cancel_from_anywhere(task)


def _is_over_budget(task: asyncio.Task[Body]) -> bool:
    return not task.cancelled() and isinstance(task.exception(), CapacityBudgetExceededError)


_LOOK_ITEMS: Final = 100
"""After how many items the clock is looked at."""


class SortedReads(SeparateReads, Protocol):
    """Reads whose items come in one order."""

    @property
    def descending(self) -> bool:
        """Whether the greatest come first."""
        ...

    def rank(self, item: WireItem) -> Any:
        """Return what the items are sorted by."""
        ...


@dataclass(frozen=True, slots=True)
class _Descending:
    rank: Any

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.rank < self.rank)


class _OpenRead:
    """One read: its items that were fetched and not given out, and where it stands."""

    def __init__(self, part: PagedRead, pages: Pages, start: WireKey | None) -> None:
        self.items: Final[deque[WireItem]] = deque()
        self.pages: Final = pages
        self.begun = False
        self.part: Final = part
        self._start = self._end = start
        self._last: WireItem | None = None

    async def fill(self) -> None:
        self.begun = True
        while not self.items and not self.pages.ended:
            page = await self.pages.next_page()
            self.items.extend(page.items)
            self._start, self._end, self._last = self._end, page.position, None

    def take(self) -> WireItem:
        self._last = self.items.popleft()
        return self._last

    @property
    def finished(self) -> bool:
        return not self.items and self.pages.ended and self._end is None

    @property
    def position(self) -> WireKey | None:
        if not self.items:
            return self._end
        return self._start if self._last is None else _position_in(self.part, self._last)


async def _filled(read: _OpenRead) -> CapacityBudgetExceededError | None:
    """Fetch for one read; return why it may not, so that what is under way for others, and paid for, goes on."""
    try:
        await read.fill()
    except CapacityBudgetExceededError as error:
        return error
    return None


class MergedPages:
    """The pages of several sorted reads, merged. Where items are equal, the read with the lower number comes first."""

    def __init__(
        self,
        parts: SortedReads,
        pages: Callable[[PagedRead, WireKey | None], Pages],
        *,
        want: int | None,
        begin: Positions | None,
        in_turn: bool = False,
    ) -> None:
        """Describe the pages; nothing is sent before the first ``next_page``.

        Args:
            parts: the reads.
            pages: gives the pages of one read after a position.
            want: how many items are wanted in all; None for every one.
            begin: where to go on; None for the beginning.
            in_turn: whether all items of a read come before those of the next, and each read waits for its turn: fewer
                requests, one after the other.
        """
        at = dict.fromkeys(range(parts.total)) if begin is None else begin.at
        self._rank: Final[Callable[[WireItem], Any]] = (
            (lambda item: _Descending(parts.rank(item))) if parts.descending else parts.rank
        )
        self._total: Final = parts.total
        self._remaining: int | None = want
        self._in_turn: Final = in_turn
        self._sources = {
            number: _OpenRead(part := parts.part(number), pages(part, start), start) for number, start in at.items()
        }
        self._merged: list[WireItem] = []
        """What was taken from them and not given out: a call was cancelled in between."""
        self._closed = False
        self.ended: bool = not self._sources or want == 0

    async def next_page(self) -> RawPage[Positions]:
        """Return the next items, at least as many as are known to follow. Not to be called once ``ended``.

        A cancelled or failed call loses nothing: the next call asks for the missing pages again.

        Raises:
            ServiceError: DynamoDB refused the request of one read.
            TransportError: no answer came for one read.
        """
        due = list(self._sources.values())[: 1 if self._in_turn else None]
        hungry = [source for source in due if not source.items and not source.pages.ended]
        if len(hungry) == 1:
            await hungry[0].fill()
        else:
            over_budget = [error for error in await gather_all([_filled(source) for source in hungry]) if error]
            if over_budget:
                raise over_budget[0]
        items = await self._merge()
        self._sources = {number: source for number, source in self._sources.items() if not source.finished}
        if self._remaining is not None:
            self._remaining -= len(items)
        if not self._sources or self._remaining == 0:
            self.ended = True
            for source in self._sources.values():
                source.pages.pause()
        return RawPage(items, len(items), self._position())

    def unsorted(self) -> list[WireItem]:
        """Return what was read and not given out, because items may come before it that were not read."""
        return [*self._merged, *(item for source in self._sources.values() for item in source.items)]

    def want_more(self, items: int) -> None:
        """Ask for so many items more than at first; see ``Pages.want_more``."""
        if self._remaining is not None:
            self._remaining += items
            for source in self._sources.values():
                if source.begun:  # one that waits for its turn asks for as much as was wanted at first, which is more
                    source.pages.want_more(items)
            self.ended = self._closed or not self._sources

    async def _merge(self) -> list[WireItem]:
        heap = [(self._next_rank(source), number) for number, source in self._sources.items() if source.items]
        heapify(heap)
        merged, pace = self._merged, WorkPace(1)
        pace.begin()
        while heap and len(merged) != self._remaining:
            if len(merged) % _LOOK_ITEMS == 0 and pace.is_over(0):
                await pace.pause()
            number = heap[0][1]
            source = self._sources[number]
            merged.append(source.take())
            if source.items:
                heapreplace(heap, (self._next_rank(source), number))
            elif source.finished:
                heappop(heap)
            else:
                break  # what follows of this read is not known yet
        self._merged = []
        return merged

    def _next_rank(self, source: _OpenRead) -> Any:
        item = source.items[0]
        try:
            return self._rank(item)
        except UNREADABLE as error:
            unreadable(error, source.part.request(None, None), (item,))

    def _position(self) -> Positions | None:
        at = {number: source.position for number, source in self._sources.items()}
        return Positions(self._total, at) if at else None

    def close(self) -> None:
        """End what is under way. Safe to call at any time, from any task of the loop."""
        self._closed = self.ended = True
        for source in self._sources.values():
            source.pages.close()

    async def aclose(self) -> None:
        """End what is under way, and return when it has ended."""
        self._closed = self.ended = True
        for source in self._sources.values():
            await source.pages.aclose()
