"""Reads of single items: those that wait together become BatchGetItem calls, equal ones become one.

A lone read stays a GetItem, sent at the end of the tick that asked for it. A read joins another of the same key and
consistency only until that one is sent. Reads are not ordered against writes.
"""

from collections.abc import Sequence
from typing import Any

from dynamap_async.executor.batch import Leftovers, batch_get, found_items, unread
from dynamap_async.executor.coalescer import Coalescer
from dynamap_async.executor.pending import Pending, Waiter
from dynamap_async.executor.ready import Ready
from dynamap_async.limits import BATCH_ANSWER_BYTES, BATCH_GET_KEYS
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Reads(Coalescer):
    """The GetItem requests of a session."""

    most = BATCH_GET_KEYS
    most_bytes = BATCH_ANSWER_BYTES
    interruptible = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A queue for each consistency: a call asks for one of them.
        self._by_consistency = {False: Ready(), True: Ready()}
        self._queues.extend(self._by_consistency.values())
        self._joinable: dict[tuple[str, bool], Pending] = {}

    def _accept(self, request: Request, waiter: Waiter) -> Pending:
        pending = Pending(request, waiters=[waiter])
        if self._policy.enabled and request.batchable:
            queued = self._joinable.setdefault(_joint(pending), pending)
            if queued is not pending:
                queued.waiters.append(waiter)
                return queued
        self.open.add(pending)
        self._queue(pending).add(pending)
        return pending

    def _queue(self, pending: Pending) -> Ready:
        return self._by_consistency[_consistent(pending)]

    def _next_batch(self) -> list[Pending]:
        batch = super()._next_batch()
        for pending in batch:
            self._let_nobody_join(pending)
        return batch

    def _close_one(self, pending: Pending) -> None:
        self._let_nobody_join(pending)
        super()._close_one(pending)

    def _let_nobody_join(self, pending: Pending) -> None:
        if self._joinable.get(_joint(pending)) is pending:
            del self._joinable[_joint(pending)]

    def _together(self, batch: Sequence[Pending]) -> Request:
        return batch_get([pending.request for pending in batch])

    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        requests = [pending.request for pending in batch]
        leftovers = unread(requests, answer)
        found = found_items(requests, answer)
        return {identity: {"Item": item} for identity, item in found.items()}, leftovers


def _consistent(pending: Pending) -> bool:
    return bool(pending.request.body.get("ConsistentRead"))


def _joint(pending: Pending) -> tuple[str, bool]:
    return pending.identity, _consistent(pending)
