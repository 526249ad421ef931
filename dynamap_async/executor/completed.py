"""Completed pages: the entries of an index, each replaced by its whole item, in order.

The entries' items are asked for one by one, so that the lane makes batches of them; while their answers are under
way, the pages of the index go on being fetched.

Invariant: what was asked for and not given out is bounded by ``_AHEAD``; an entry leaves only with its item, or because
there is none; no task is made here, and dropping or closing the pages withdraws what was not sent.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Final, TypeAlias

from dynamap_async.errors import CapacityBudgetExceededError
from dynamap_async.executor.pages import MergedPages, Pages, RawPage, SegmentPages
from dynamap_async.limits import BATCH_GET_KEYS
from dynamap_async.request import Position, Positions, Request
from dynamap_async.turns import next_turn
from dynamap_async.wire import Body, WireItem

IndexPages: TypeAlias = Pages | MergedPages | SegmentPages

_AHEAD: Final = 10 * BATCH_GET_KEYS
"""Most items that are asked for before those in front of them were given out."""
_ASKED_AT_ONCE: Final = 2 * BATCH_GET_KEYS
"""Most items that are asked for in one turn of the event loop."""


class CompletedPages:
    """The pages of an index with whole items. An entry whose item is gone is left out, and another one is read for it.

    ``RawPage.position`` is where the page of the index ended that the items are of.
    """

    def __init__(
        self,
        pages: IndexPages,
        submit: Callable[[Request, float], asyncio.Future[Body]],
        request: Callable[[WireItem], Request],
        item: Callable[[Body], WireItem | None],
        *,
        unwanted_ended: Callable[[], Awaitable[None]],
        eager: bool,
    ) -> None:
        """Describe the pages; nothing is sent before the first ``next_page``.

        Args:
            pages: those of the index.
            submit: queues the request of one item, to be answered by a time of the event loop.
            request: makes the request of an entry's item.
            item: takes the item out of the answer; None where there is none.
            unwanted_ended: waits for the end of requests that were given up.
            eager: whether every item is certain to be taken; if not, more and more are asked for ahead.
        """
        self._pages: Final = pages
        self._submit: Final = submit
        self._request: Final = request
        self._item: Final = item
        self._unwanted_ended: Final = unwanted_ended
        self._ahead = _AHEAD if eager else BATCH_GET_KEYS
        self._entries: deque[WireItem] = deque()
        """What is left of the page of the index."""
        self._answers: deque[asyncio.Future[Body]] = deque()
        """The answers of the first of them, as far as they were asked for."""
        self._position: Position | None = None
        self._kept: list[int] = []
        """For each item of the page returned last, the number of the entry in it that it is of."""
        self._taken = 0
        """How many entries that page was made of."""
        self._closed = False

    @property
    def ended(self) -> bool:
        """Whether there is no further page."""
        return self._closed or (not self._entries and self._pages.ended)

    async def next_page(self) -> RawPage[Position]:
        """Return the next items, at most as many as one call brings. Not to be called once ``ended``.

        A cancelled call loses nothing; after a failed one the next call asks for the same items again.

        Raises:
            ServiceError: DynamoDB refused a request of the index or of the table.
            TransportError: no answer came.
        """
        if not self._entries:
            page = await self._pages.next_page()
            self._entries.extend(page.items)
            self._position = page.position
        number = min(len(self._entries), BATCH_GET_KEYS)
        answers = await self._answered(number)
        self._ask()
        self._ahead = min(2 * self._ahead, _AHEAD)
        return self._page(answers)

    def want_more(self, items: int) -> None:
        """Ask for so many items more than at first; see ``Pages.want_more``."""
        self._pages.want_more(items)

    def _page(self, answers: list[Body]) -> RawPage[Position]:
        found = [(number, item) for number, each in enumerate(answers) if (item := self._item(each)) is not None]
        self._kept, self._taken = [number for number, _ in found], len(answers)
        if gone := len(answers) - len(found):
            self.want_more(gone)
        return RawPage([item for _, item in found], len(found), self._position)

    async def _answered(self, number: int) -> list[Body]:
        """Return the answers of the first entries, when all have come, and take the entries away."""
        while self._ask():
            await next_turn()
        first = list(islice(self._answers, number))
        if waiting := [each for each in first if not each.done()]:
            await asyncio.wait(waiting)
        if self._closed:
            return []
        for place, each in enumerate(first):
            if (error := each.exception()) is not None:
                if place and isinstance(error, CapacityBudgetExceededError):
                    first = first[:place]  # what is paid for is given out before
                    break
                self._forget()
                raise error
        for _ in first:
            self._entries.popleft()
            self._answers.popleft()
        return [each.result() for each in first]

    def _ask(self) -> bool:
        """Ask for the next items, as many as may be under way; in whole batches, unless there are no more.

        Asking for very many takes long: return whether some were left for another turn of the event loop.
        """
        asked = len(self._answers)
        room = min(self._ahead, len(self._entries)) - asked
        if self._closed or room <= 0:
            return False
        for entry in islice(self._entries, asked, asked + min(room, _ASKED_AT_ONCE)):
            # Without a deadline: what is asked for ahead is for a later call, which may have another or none.
            answer = self._submit(self._request(entry), math.inf)
            answer.add_done_callback(_take_note)
            self._answers.append(answer)
        return room > _ASKED_AT_ONCE

    def _forget(self) -> None:
        """Wait for nothing any more; the entries stay."""
        answers, self._answers = self._answers, deque()
        _cancel(answers)

    def positions(self, unread: int = 0) -> Positions | None:
        """Return where each segment of a scan stands; None for any other read.

        Args:
            unread: how many items at the end of the page returned last were not given out.
        """
        if not isinstance(self._pages, SegmentPages):
            return None
        back = self._taken - self._kept[-unread] if unread else 0
        return self._pages.positions(len(self._entries) + back)

    async def aclose(self) -> None:
        """Withdraw what was not sent, end what is under way, and return when it has ended."""
        self._closed = True
        self._forget()
        await self._pages.aclose()
        await self._unwanted_ended()

    def __del__(self) -> None:
        if answers := [each for each in self._answers if not each.done()]:
            _cancel_from_anywhere(answers)


def _cancel(answers: Iterable[asyncio.Future[Body]]) -> None:
    for each in answers:
        each.cancel()


def _cancel_from_anywhere(answers: list[asyncio.Future[Body]]) -> None:
    """Give answers up, from any thread, with or without a running loop."""
    loop = answers[0].get_loop()
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        _cancel(answers)
    elif not loop.is_closed():
        loop.call_soon_threadsafe(_cancel, answers)


def _take_note(answer: asyncio.Future[Body]) -> None:
    """Retrieve a failure that nobody waits for, so that asyncio does not report it as never retrieved."""
    if not answer.cancelled():
        answer.exception()
