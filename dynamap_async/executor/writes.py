"""Writes of single items: unconditional puts and deletes that wait together become BatchWriteItem calls.

Invariant: all writes of one key form a line, conditional ones and updates included: the next is sent when the one
before it was answered or given up. A transaction stands in the lines of all its keys, and is sent when it is the first
of each; it joins them all at once, so that no two wait for each other. Writes are never merged. A cancelled write that
was not sent leaves its lines; one that was sent keeps its place until it is answered.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from dynamap_async.config import BatchPolicy
from dynamap_async.executor.account import Account
from dynamap_async.executor.batch import ENTRY_BYTES, Leftovers, batch_write, unwritten, written_bytes
from dynamap_async.executor.chunks import Chunk, Chunked, PendingChunk
from dynamap_async.executor.means import Means
from dynamap_async.executor.pending import Pending, Waiter
from dynamap_async.limits import BATCH_WRITE_BYTES, BATCH_WRITE_REQUESTS
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Writes(Chunked):
    """The PutItem, DeleteItem, UpdateItem and TransactWriteItems requests of a session."""

    most = BATCH_WRITE_REQUESTS
    most_bytes = BATCH_WRITE_BYTES
    interruptible = False

    def __init__(self, means: Means, policy: BatchPolicy) -> None:
        super().__init__(means, policy)
        self._lines: dict[str, OrderedDict[Pending, None]] = {}
        """Identity -> its writes, in order. Any of them may leave at the same cost: thousands may wait for one key."""

    def _accept(self, request: Request, waiter: Waiter) -> Pending:
        pending = Pending(request, waiters=[waiter])
        self.open.add(pending)
        lines = self._lines
        for identity in pending.identities:
            if (line := lines.get(identity)) is None:
                line = lines[identity] = OrderedDict()
            line[pending] = None
        if self._has_its_turn(pending):
            self._begin(pending)
        return pending

    def _takes(self, chunk: Chunk, payer: Account | None) -> bool:
        return (
            chunk.json_bytes + chunk.size * ENTRY_BYTES <= self.most_bytes
            and self._lines.keys().isdisjoint(chunk.identities)
            and super()._takes(chunk, payer)
        )

    def _stand_in_line(self, pending: PendingChunk) -> None:
        for identity in pending.identities:
            self._lines[identity] = OrderedDict({pending: None})

    def _take_place(self, pending: PendingChunk, parts: Sequence[Pending]) -> None:
        for part in parts:
            line = self._lines[part.identity]
            del line[pending]
            line[part] = None
            line.move_to_end(part, last=False)

    def _has_its_turn(self, pending: Pending) -> bool:
        for identity in pending.identities:  # noqa: SIM110 - all() costs three times as much (benchmarks: concurrent_puts)
            if next(iter(self._lines[identity])) is not pending:
                return False
        return True

    def _left(self, pending: Pending, future: asyncio.Future[Body]) -> None:
        super()._left(pending, future)
        # A transaction that waits for one of its keys must not hold up those who wait for another one.
        if not pending.wanted and pending in self.open and not self._has_its_turn(pending):
            self._close_one(pending)

    def _close_one(self, pending: Pending) -> None:
        if pending in self.open:
            for after in self._leave_lines(pending):
                if self._has_its_turn(after):
                    self._begin(after)
        super()._close_one(pending)

    def _leave_lines(self, pending: Pending) -> list[Pending]:
        """Take a request out of its lines; return, each once, those who are now the first of one of them."""
        first_now: dict[Pending, None] = {}
        lines = self._lines
        for identity in pending.identities:
            line = lines[identity]
            if len(line) == 1:
                del lines[identity]
                continue
            was_first = next(iter(line)) is pending
            del line[pending]
            if was_first:
                first_now[next(iter(line))] = None
        return list(first_now)

    def _learn(self, batch: Sequence[Pending], parts: dict[str, Body]) -> None:
        """Nothing: the answer to a write says nothing of the item."""

    def _weight(self, pending: Pending) -> int:
        return written_bytes(pending.request)

    def _together(self, batch: Sequence[Pending]) -> Request:
        return batch_write([pending.request for pending in batch])

    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        return {}, unwritten([pending.request for pending in batch], answer)
