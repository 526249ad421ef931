"""Passes over stored items: page by page, in step with whoever takes the progress.

Invariant: the positions of a pass pass no item that was not worked on, and a step that is cancelled or fails loses
none: the next one goes on with the items that are not done. Between two steps nothing is under way but reads of further
pages, which end when the pass is left.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from dynamap_async.config import Priority
from dynamap_async.errors import DynamapError, ItemFailure
from dynamap_async.executor import Account, Executor, Limits, gather_all
from dynamap_async.stored.scans import StoredPages
from dynamap_async.turns import next_turn
from dynamap_async.usage import Usage
from dynamap_async.wire import WireItem

Work: TypeAlias = Callable[[WireItem], Awaitable[None]]

_TOGETHER: Final = 64
"""How many items are worked on at the same time."""
_TURNS_BETWEEN: Final = 4
"""How many turns of the event loop one item is begun in."""
_KEPT_FAILURES: Final = 1_000


class ItemPass:
    """A pass over stored items, in which those that are chosen are worked on, many at a time.

    Args:
        name: what errors call what it takes.
        limits: what it may take.
        pages: the pages of the items.
        max_failures: after how many failures that are noted nothing more is begun; None for any number.
    """

    def __init__(
        self,
        executor: Executor,
        name: str,
        limits: Limits,
        *,
        pages: StoredPages[WireItem],
        max_failures: int | None = None,
    ) -> None:
        self._executor: Final = executor
        self._name: Final = name
        self._limits: Final = limits
        self._pages = pages
        self._max_failures: Final = max_failures
        self._pending: Final = deque[WireItem]()
        """What was chosen, and is not done."""
        self._one_by_one: Final = asyncio.Lock()
        """Who holds it begins to work on an item."""
        self._account: Account | None = None
        self.failures: Final[list[ItemFailure]] = []
        """The first of the noted failures."""
        self.failed: int = 0
        """How many failures were noted."""

    @property
    def pages(self) -> StoredPages[WireItem]:
        """The pages of the items."""
        return self._pages

    def go_on_in(self, pages: StoredPages[WireItem]) -> None:
        """Read other pages, before the first step.

        Args:
            pages: the pages of the items.
        """
        self._pages = pages

    def payer(self) -> Account:
        """Return the account of its requests, which are less urgent than what somebody waits for."""
        if self._account is None:
            ledger = self._executor.ledger
            ledger.begin_scope(self._limits)
            around = ledger.payer()
            own = around is None or around.priority is Priority.INTERACTIVE
            priority = Priority.BATCH if own else None
            self._account = Account(ledger, self._name, limits=self._limits, priority=priority)
        return self._account

    @property
    def usage(self) -> Usage:
        """The usage of the pass until now."""
        return Usage() if self._account is None else self._account.whole.usage()

    @property
    def scanned(self) -> int:
        """How many items were read by scans, whatever a filter left of them."""
        return sum(each.items for each in self.usage.by_operation if each.operation == "Scan")

    async def step(self, chooses: Callable[[WireItem], bool], work: Work) -> bool:
        """Read another page and work on its items; return False where there is none.

        Args:
            chooses: called with each item in turn; returns whether it is to be worked on.
            work: works on an item. An error ends the step, and the item is worked on again in the next one.

        Raises:
            DynamapError: what ``work`` or reading raised.
        """
        if not (self._pages.untaken or self._pending) and not await self._pages.next_page():
            return False
        async for item in self._pages:
            if chooses(item):
                self._pending.append(item)
        errors: list[DynamapError] = []
        await gather_all([self._work_on_next(work, errors) for _ in range(min(_TOGETHER, len(self._pending)))])
        if errors:
            raise errors[0]
        return True

    async def _work_on_next(self, work: Work, errors: list[DynamapError]) -> None:
        while True:
            async with self._one_by_one:
                if not self._pending or self.is_stopped or errors:
                    return
                # Each is work, and answers to many come in together: in between, the event loop is all others'.
                for _ in range(_TURNS_BETWEEN):
                    await next_turn()
                item = self._pending.popleft()
            try:
                await work(item)
            except DynamapError as error:  # not for want of this item
                self._pending.appendleft(item)
                errors.append(error)  # it is raised once what others have begun is done
                return
            except BaseException:
                self._pending.appendleft(item)
                raise

    def note_failure(self, key: Mapping[str, Any], error: DynamapError) -> None:
        """Record that an item could not be worked on; it counts as done.

        Args:
            key: that of the item.
            error: why.
        """
        if len(self.failures) < _KEPT_FAILURES:
            self.failures.append(ItemFailure(self.failed, key, error))
        self.failed += 1

    @property
    def is_stopped(self) -> bool:
        """Whether there were as many failures as there may be."""
        return self._max_failures is not None and self.failed >= self._max_failures

    async def aclose(self) -> None:
        """End the pass; nothing is under way afterwards."""
        await self._pages.aclose()
