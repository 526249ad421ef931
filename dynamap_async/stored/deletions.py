"""Deletions of many items of one table.

Invariant: what was added is waiting to fill a call, on its way, or deleted; the first error ends it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from dynamap_async.errors import CapacityBudgetExceededError
from dynamap_async.executor import Executor, deadline_now
from dynamap_async.limits import BATCH_WRITE_REQUESTS
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.stored.flow import Flow
from dynamap_async.stored.parts import ItemRequest
from dynamap_async.stored.writes import WriteChunk, delete_entries
from dynamap_async.turns import next_turn
from dynamap_async.wire import Body, WireKey

_CALLS_AT_A_TIME: Final = 16
"""How many calls' worth of deletions are under way at most."""
_PACED_CALLS: Final = 2
"""The same where they wait for units: more of them would be sent no sooner."""

WatchDeletions: TypeAlias = Callable[[int], object]
"""Called with the number of items that are known to be deleted, each time that some more are."""


class _DeletionChunk(WriteChunk):
    """Deletions that fill a call, which wait for their units together."""

    __slots__ = ("_targets",)

    waits = True

    def __init__(self, table: str, targets: Sequence[Target]) -> None:
        asked = Request(operation="DeleteItem", body={"TableName": table}, table=table, writes=True)
        super().__init__(asked, [each.identity for each in targets])
        self._targets = targets

    def entries(self) -> Any:
        """Return what the call says of the items, in order."""
        return delete_entries([each.key for each in self._targets])

    def take_apart(self) -> list[ItemRequest[None]]:
        """Return the DeleteItem request of each item."""
        return [ItemRequest(0, each, None, self._request(each)) for each in self._targets]

    def _request(self, target: Target) -> Request:
        body, table = {**self.asked.body, "Key": target.key}, self.asked.table
        return Request(operation="DeleteItem", body=body, table=table, target=target, batchable=True, writes=True)


class Deletions:
    """Deletions of items, submitted by as many as fill a call, and a bounded number of them at a time.

    Args:
        watch: is told how many items are deleted by now.
    """

    def __init__(self, executor: Executor, table: str, watch: WatchDeletions | None = None) -> None:
        self._executor: Final = executor
        self._table: Final = table
        self._watch: Final = watch
        self._ready: list[Target] = []
        self._flow: Final[Flow[None]] = Flow(
            executor,
            together=BATCH_WRITE_REQUESTS,
            done=self._note,
            done_chunk=self._note_chunk,
            left_over=self._ready_again,
        )
        self._error: BaseException | None = None
        self._steps: Final = deque[int]()
        """How many items were deleted after each call, as far as that was not told."""
        self._told = 0
        self.items: int = 0
        """How many items are known to be deleted."""

    async def add(self, key: WireKey) -> None:
        """Delete an item, at the latest with the next 24.

        Args:
            key: that of the item.

        Raises:
            DynamapError: an earlier one could not be deleted.
        """
        self._ready.append(Target(key, identity_of(self._table, key)))
        while len(self._ready) >= BATCH_WRITE_REQUESTS:
            self._submit()
            await next_turn()
            while self._flow.unanswered > BATCH_WRITE_REQUESTS * (self._most_calls - 1):
                await self._change()

    async def finish(self) -> None:
        """Wait until everything is deleted.

        Raises:
            DynamapError: something could not be deleted.
        """
        while self._ready or self._flow.unanswered:
            self._submit()
            await self._change()

    def cancel(self) -> None:
        """Cancel everything: what was not sent is withdrawn, what was sent ends unobserved."""
        self._flow.cancel()

    @property
    def _most_calls(self) -> int:
        return _PACED_CALLS if self._executor.is_waited_for(self._table) else _CALLS_AT_A_TIME

    def _submit(self) -> None:
        """Submit deletions that fill a call, or all where they are fewer: as a chunk, unless each is looked at."""
        ready, self._ready = self._ready[:BATCH_WRITE_REQUESTS], self._ready[BATCH_WRITE_REQUESTS:]
        if not ready:
            return
        chunk = _DeletionChunk(self._table, ready)
        if not self._flow.add_chunk(chunk, deadline_now(), self._executor.ledger.payer()):
            for asked in chunk.singles:
                self._flow.add(asked)
            self._flow.flush()

    def _ready_again(self, deletions: Sequence[ItemRequest[None]]) -> None:
        self._ready += [asked.subject for asked in deletions]

    def _note(self, asked: ItemRequest[None], future: asyncio.Future[Body]) -> None:
        if not self._note_error(future):
            self.items += 1

    def _note_chunk(self, chunk: _DeletionChunk, future: asyncio.Future[Body]) -> None:
        if not self._note_error(future):
            self.items += chunk.size
            self._steps.append(self.items)

    def _note_error(self, future: asyncio.Future[Body]) -> bool:
        self._error = self._error or future.exception()
        return future.exception() is not None

    async def _change(self) -> None:
        """Wait until something is deleted, or could not be.

        Raises:
            DynamapError: something could not be deleted.
        """
        await self._flow.change()
        if isinstance(self._error, CapacityBudgetExceededError):
            await self._flow.finish()  # the budget was enough for those that were submitted before
        self._tell()
        if self._error is not None:
            raise self._error

    def _tell(self) -> None:
        while self._steps or self._told < self.items:
            self._told = self._steps.popleft() if self._steps else self.items
            if self._watch is not None:
                self._watch(self._told)
