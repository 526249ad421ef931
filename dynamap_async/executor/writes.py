"""Writes of single items: unconditional puts and deletes that wait together become BatchWriteItem calls.

Invariant: all writes of one key form a line, conditional ones and updates included: the next is sent when the one
before it was answered or given up. Writes are never merged. A cancelled write that was not sent leaves the line; one
that was sent keeps its place until it is answered.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

from dynamap_async.executor.batch import Leftovers, batch_write, unwritten
from dynamap_async.executor.coalescer import Coalescer
from dynamap_async.executor.pending import Pending, Waiter
from dynamap_async.executor.ready import Ready
from dynamap_async.limits import BATCH_WRITE_BYTES, BATCH_WRITE_REQUESTS
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Writes(Coalescer):
    """The PutItem, DeleteItem and UpdateItem requests of a session."""

    most = BATCH_WRITE_REQUESTS
    most_bytes = BATCH_WRITE_BYTES
    interruptible = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lines: dict[str, deque[Pending]] = {}
        self._ready = Ready()
        self._queues.append(self._ready)

    def _accept(self, request: Request, waiter: Waiter) -> Pending:
        pending = Pending(request, waiters=[waiter])
        self.open.add(pending)
        line = self._lines.setdefault(pending.identity, deque())
        line.append(pending)
        if len(line) == 1:
            self._ready.add(pending)
        return pending

    def _queue(self, pending: Pending) -> Ready:
        return self._ready

    def _close_one(self, pending: Pending) -> None:
        if pending in self.open:
            line = self._lines[pending.identity]
            first = line[0] is pending
            line.remove(pending)
            if not line:
                del self._lines[pending.identity]
            elif first:
                self._ready.add(line[0])
                self._sealing.wake()
        super()._close_one(pending)

    def _together(self, batch: Sequence[Pending]) -> Request:
        return batch_write([pending.request for pending in batch])

    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        return {}, unwritten([pending.request for pending in batch], answer)
