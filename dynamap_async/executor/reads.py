"""Reads of single items: those that wait together become BatchGetItem calls, equal ones become one.

A lone read stays a GetItem, sent at the end of the tick that asked for it. A read joins another of the same key and
consistency only until that one is sent. Reads are not ordered against writes.

A call asks for no more than its answer can hold, as far as the sizes that were read before tell.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import Context
from functools import partial
from typing import Any, Final

from dynamap_async.config import BatchPolicy, Priority
from dynamap_async.executor.account import Account
from dynamap_async.executor.batch import Leftovers, batch_get, found_items, unread
from dynamap_async.executor.chunks import Chunk, Chunked, PendingChunk
from dynamap_async.executor.means import Means
from dynamap_async.executor.pending import Pending, Waiter
from dynamap_async.executor.sizes import UNKNOWN_BYTES, Sizes
from dynamap_async.limits import BATCH_ANSWER_BYTES, BATCH_GET_KEYS
from dynamap_async.request import PartOfAnswer, Reader, Request, Together
from dynamap_async.wire import Body, WireItem

_TURN_BYTES: Final = 100_000
"""How much is given out in one turn of the event loop: what is decoded in about 2 ms."""


class Reads(Chunked):
    """The GetItem requests of a session."""

    most = BATCH_GET_KEYS
    most_bytes = BATCH_ANSWER_BYTES
    interruptible = True
    groups = 2  # one for each consistency: a call asks for one of them

    def __init__(self, means: Means, policy: BatchPolicy) -> None:
        super().__init__(means, policy)
        self._joinable: Final[tuple[dict[str, Pending], dict[str, Pending]]] = ({}, {})
        """Identity -> what reads of that key join; of eventually consistent reads, and of consistent ones."""
        self._sizes = Sizes()

    def _accept(self, request: Request, waiter: Waiter) -> Pending:
        pending = Pending(request, waiters=[waiter], consistent=bool(request.body.get("ConsistentRead")))
        if request.batchable and self._policy.enabled:
            queued = self._joinable[pending.consistent].setdefault(pending.identity, pending)
            if queued is not pending:
                queued.waiters.append(waiter)
                queued.joined = True
                if self._journal.ledger.scoped:
                    self.entrance.lift(queued, waiter.priority)
                    self._sealing.wake()
                return queued
        self.open.add(pending)
        self._begin(pending)
        return pending

    def _takes(self, chunk: Chunk, payer: Account | None) -> bool:
        weight = chunk.size * self._sizes.of(chunk.asked.table)
        return weight <= self.most_bytes and super()._takes(chunk, payer)

    def _chunk_answered(self, pending: PendingChunk, answer: Body) -> None:
        found: Mapping[str, Sequence[WireItem]] = answer.get("Responses") or {}
        self._sizes.learn(pending.request.table, found.get(pending.request.table, ()))
        super()._chunk_answered(pending, answer)

    def _joins(self, request: Request) -> bool:
        if not (self._policy.enabled and request.batchable and request.target is not None):
            return False
        return request.target.identity in self._joinable[bool(request.body.get("ConsistentRead"))]

    def _next_batch(self, priority: Priority) -> list[Pending]:
        batch = super()._next_batch(priority)
        for pending in batch:
            self._let_nobody_join(pending)
        return batch

    def _close_one(self, pending: Pending) -> None:
        if not pending.attempts:
            self._let_nobody_join(pending)
        super()._close_one(pending)

    def _let_nobody_join(self, pending: Pending) -> None:
        joinable = self._joinable[pending.consistent]
        if joinable.get(pending.identity) is pending:
            del joinable[pending.identity]

    def _weight(self, pending: Pending) -> int:
        return self._sizes.known.get(pending.request.table, UNKNOWN_BYTES)

    def _together(self, batch: Sequence[Pending]) -> Request:
        return batch_get([pending.request for pending in batch])

    def _learn(self, batch: Sequence[Pending], parts: dict[str, Body]) -> None:
        found: dict[str, list[WireItem]] = {}
        for pending in batch:
            if item := parts.get(pending.identity, {}).get("Item"):
                found.setdefault(pending.request.table, []).append(item)
        for table, items in found.items():
            self._sizes.learn(table, items)

    def _give_out(self, answered: deque[Pending], parts: dict[str, Body]) -> None:
        """Give every request its part of an answer: at once, or where they are large, with a turn for others between.

        The waiters decode their items as soon as they have them, all of a turn in the next one, and together where they
        read them alike.
        """
        size, sizes, nothing = 0, self._sizes.known, dict[str, Any]()
        alike: dict[Reader, Together] = {}
        while answered and size < _TURN_BYTES:
            pending = answered.popleft()
            request = pending.request
            if part := parts.get(pending.identity):
                size += sizes.get(request.table, UNKNOWN_BYTES)
                if request.reader is not None and isinstance(part, PartOfAnswer):
                    together = alike.get(request.reader)
                    if together is None:
                        together = alike[request.reader] = Together(request.reader)
                    together.add(part, part["Item"])
            pending.answer(part or nothing)
            self.open.discard(pending)
            if pending.ticket is not None:
                self._admission.leave(pending)
        self._ended()
        if answered:
            asyncio.get_running_loop().call_soon(partial(self._give_out, answered, parts), context=Context())

    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        requests = [pending.request for pending in batch]
        leftovers = unread(requests, answer)
        found = found_items(requests, answer)
        return {identity: PartOfAnswer(Item=item) for identity, item in found.items()}, leftovers
