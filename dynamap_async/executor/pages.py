"""Pages: one query or scan followed to its end, one page ahead of whoever takes its items.

Invariant: at most one request is under way, it asks for no more than is still wanted, and no task outlives the
iterator: the prefetch task refers to the request, never to the iterator, so that dropping the iterator ends it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic

import anyio
from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.executor.account import bare_context
from dynamap_async.request import Request
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


def wanted_of(answer: Body, remaining: int | None, position_of: Callable[[WireItem], WireKey]) -> RawPage:
    """Return the part of an answer that is wanted.

    Args:
        answer: the answer of a query or scan.
        remaining: how many items are still wanted; None for every one.
        position_of: gives the position of an item.
    """
    items: list[WireItem] = answer.get("Items") or []
    count: int | None = answer.get("Count")
    count = len(items) if count is None else count
    position: WireKey | None = answer.get("LastEvaluatedKey") or None  # an empty one is the end as well
    if remaining is not None and count > remaining:
        count, items = remaining, items[:remaining]
        position = position_of(items[-1]) if items else position
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
        self._position_of: Final = position
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
        page = self._take(answer)
        if not self.ended:
            self._prefetch()
        return page

    def _take(self, answer: Body) -> RawPage:
        page = wanted_of(answer, self._remaining, self._position_of)
        if self._remaining is not None:
            self._remaining -= page.count
        self._start = page.position
        self.ended = self._closed or page.position is None or self._remaining == 0
        return page

    def _prefetch(self) -> None:
        self._task = fetch(self._send, self._request(self._start, self._remaining), self._spawned)

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
            with anyio.CancelScope(shield=True):
                await asyncio.wait(self._ending)

    def __del__(self) -> None:
        if self._task is not None:
            cancel_from_anywhere(self._task)


def fetch(send: Send, request: Request, spawned: set[asyncio.Task[Body]]) -> asyncio.Task[Body]:
    """Begin to fetch a page, in a task that refers to nothing but the request."""
    # A bare context: the waiter's spans and log context are not those of the page after its own.
    task = asyncio.get_running_loop().create_task(_send(send, request), context=bare_context())
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
    """Take note of a failure that nobody waits for, so that asyncio does not report it as never retrieved."""
    if not task.cancelled():
        task.exception()
