"""Merged pages: several sorted reads at the same time, given out as one in their common order.

Invariant: an item is given out only when the next of every unfinished read is known; of each read at most one page is
held and one under way.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Any, Final, Protocol

from dynamap_async.executor.pages import Pages, RawPage
from dynamap_async.executor.segments import Part, Parts
from dynamap_async.executor.together import together
from dynamap_async.request import Positions
from dynamap_async.transport import UNREADABLE, unreadable
from dynamap_async.turns import Pace
from dynamap_async.wire import WireItem, WireKey

_LOOK_ITEMS: Final = 100
"""After how many items the clock is looked at."""


class SortedParts(Parts, Protocol):
    """Reads whose items come in one order."""

    @property
    def descending(self) -> bool:
        """Whether the greatest come first."""
        raise NotImplementedError

    def rank(self, item: WireItem) -> Any:
        """Return what the items are sorted by."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Descending:
    rank: Any

    def __lt__(self, other: "_Descending") -> bool:
        return bool(other.rank < self.rank)


class _Source:
    """One read: its items that were fetched and not given out, and where it stands."""

    def __init__(self, part: Part, pages: Pages, start: WireKey | None) -> None:
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
        return self._start if self._last is None else self.part.position(self._last)


class MergedPages:
    """The pages of several sorted reads, merged. Where items are equal, the read with the lower number comes first."""

    def __init__(
        self,
        parts: SortedParts,
        pages: Callable[[Part, WireKey | None], Pages],
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
            number: _Source(part := parts.part(number), pages(part, start), start) for number, start in at.items()
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
            await together([source.fill() for source in hungry])
        items = await self._merge()
        self._sources = {number: source for number, source in self._sources.items() if not source.finished}
        if self._remaining is not None:
            self._remaining -= len(items)
        if not self._sources or self._remaining == 0:
            self.ended = True
            for source in self._sources.values():
                source.pages.pause()
        return RawPage(items, len(items), self._position())

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
        merged, pace = self._merged, Pace(1)
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

    def _next_rank(self, source: _Source) -> Any:
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
