"""Segments: the pages of several independent reads, as they arrive, one page ahead in each.

Invariant: of each segment at most one page is fetched or under way beside the one that was returned last, and at most
``width`` segments are read at a time; so a consumer that stops also stops the requests. ``positions`` never passes
an item that was not given out.
"""

import asyncio
from collections import deque
from typing import Final, Protocol

import anyio

from dynamap_async.executor.pages import RawPage, Send, cancel_from_anywhere, fetch, wanted_of
from dynamap_async.request import Positions, Request
from dynamap_async.turns import Pace
from dynamap_async.wire import Body, WireItem, WireKey

_DROPPED_ITEMS: Final = 256
"""After how many items, of a page that is let go, the clock is looked at."""


class Part(Protocol):
    """One of the reads: a segment, or the query of one partition."""

    def request(self, start: WireKey | None, remaining: int | None) -> Request:
        """Return the request of the page after a position."""
        raise NotImplementedError

    def position(self, item: WireItem) -> WireKey:
        """Return the position of an item."""
        raise NotImplementedError


class Parts(Protocol):
    """All reads, in order of their numbers."""

    @property
    def total(self) -> int:
        """How many there are."""
        raise NotImplementedError

    def part(self, number: int) -> Part:
        """Return one of them."""
        raise NotImplementedError


class SegmentPages:
    """The pages of several reads, in the order in which they arrive."""

    def __init__(
        self,
        send: Send,
        parts: Parts,
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
        if not any(task.done() for task in self._tasks.values()):
            await asyncio.wait(self._tasks.values(), return_when=asyncio.FIRST_COMPLETED)
        if self._closed:
            return RawPage([], 0, None)
        number = next(number for number, task in self._tasks.items() if task.done())
        answer = self._tasks.pop(number).result()
        page = self._take(number, answer)
        if self.ended:
            self._cancel()
        else:
            self._fetch_more()
        return page

    async def _drop_last(self) -> None:
        """Let the page go that was returned last, of which all items were given out: slowly, for it may be large."""
        if self._last is None:
            return
        left, self._last = deque(self._last[-1]), None  # a copy: the list may be another's too
        pace = Pace(_DROPPED_ITEMS)
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
            at[number] = self._parts.part(number).position(items[given - 1]) if given else start
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
        page = wanted_of(answer, self._remaining, self._parts.part(number).position)
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
            with anyio.CancelScope(shield=True):
                await asyncio.wait(self._ending)

    def __del__(self) -> None:
        for task in self._tasks.values():
            cancel_from_anywhere(task)
