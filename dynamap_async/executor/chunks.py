"""Chunks: many requests of one caller that fill a call of their own, and are one thing while all goes well.

A chunk is one request with one future, one task and one entry of each account; what it stands for is counted item by
item all the same. Whatever is not plain (items left over, a refusal, an answer that cannot be read, a table whose units
are counted from now on) takes it apart into the requests of single items that it stands for. These go on in its place,
as if they had shared its call, so that what is sent again, split and failed is decided in one place for both.

Invariant: a chunk is either open as a whole or taken apart, never both. All its items are distinct; of each key that it
writes it stands in the line, where it was the first when it was accepted.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from dynamap_async.config import BatchPolicy
from dynamap_async.executor.account import Account
from dynamap_async.executor.batch import Leftovers
from dynamap_async.executor.coalescer import Coalescer
from dynamap_async.executor.exchange import Exchange
from dynamap_async.executor.means import Means
from dynamap_async.executor.outcomes import left_over
from dynamap_async.executor.pending import Pending, Waiter
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Chunk(ABC):
    """Requests of one operation on one table, for distinct items, that may travel in one call."""

    __slots__ = ()

    asked: Request
    """What each of them is, but for its item."""
    size: int
    """How many they are."""
    json_bytes: int = 0
    """The length of the JSON of what is written; 0 for reads and deletes."""
    identities: Collection[str] = ()
    """The items that are written; none for reads, which take no turns."""

    @abstractmethod
    def call(self) -> Request:
        """Return the request that carries all of them."""

    @abstractmethod
    def requests(self) -> Sequence[Request]:
        """Return the request of each item; asked for once, where it is taken apart."""

    @abstractmethod
    def takes(self, answer: Body) -> bool:
        """Take note of the answer of the call, if it is plain: it says of each item what became of it, and no more."""


Apart: TypeAlias = Callable[[Sequence["asyncio.Future[Body]"]], None]
"""Takes the futures of the requests of a chunk that was taken apart; its own is never done then."""


@dataclass(slots=True, eq=False, kw_only=True)
class PendingChunk(Pending):
    """A chunk that waits for its answer."""

    chunk: Chunk
    apart: Apart
    """Told when it is taken apart, unless nobody waits for it any more."""
    identity: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.identities: tuple[str, ...] = tuple(self.chunk.identities)

    @property
    def parts(self) -> int:
        """How many requests of single items it stands for."""
        return self.chunk.size

    @property
    def waiting(self) -> int:
        """How many items are waited for."""
        return self.chunk.size if self.wanted else 0

    @property
    def waiter_ids(self) -> tuple[int, ...]:
        """The numbers of those who wait for the items, one for each."""
        return tuple(self.numbers) if self.wanted else ()

    @property
    def numbers(self) -> range:
        """The same, whether anybody waits or not."""
        first = self.waiters[0].number
        return range(first, first + self.chunk.size)

    @property
    def payers(self) -> tuple[Account | None, ...]:
        """The account of the one who waits for all of it."""
        return (self.waiters[0].account,) if self.wanted else ()

    def waited(self, now: float) -> float:
        """Return how long its items have waited, in sum."""
        return self.chunk.size * (now - max(self.waiters[0].since, self.idle_since))

    def waits(self, now: float) -> Sequence[float]:
        """Return the same for each of its payers."""
        return (self.waited(now),) if self.wanted else ()


class Chunked(Coalescer):
    """A coalescer that carries chunks as well."""

    def __init__(self, means: Means, policy: BatchPolicy) -> None:
        super().__init__(means, policy)
        self.entrance.take_apart = self._parts_of

    def submit_chunk(
        self, chunk: Chunk, deadline: float, payer: Account | None, apart: Apart
    ) -> "asyncio.Future[Body] | None":
        """Queue a chunk; return the future of its answer, or None where its requests have to go one by one.

        The future is done with the answer once ``chunk.takes`` it. Cancelling it withdraws the chunk if it was not
        sent.

        Args:
            chunk: what to send.
            deadline: the event loop's time after which nobody waits.
            payer: who pays for it; None for the session's own account.
            apart: see ``Apart``.
        """
        if not self._takes(chunk, payer):
            return None
        loop = asyncio.get_running_loop()
        until = deadline if payer is None else min(deadline, payer.deadline)
        waiter = Waiter(loop.create_future(), until, since=loop.time(), account=payer)
        waiter.number = self._journal.queued_together(chunk.asked, chunk.size)
        pending = PendingChunk(chunk.asked, waiters=[waiter], joined=True, chunk=chunk, apart=apart)
        self.open.add(pending)
        self._stand_in_line(pending)
        waiter.future.add_done_callback(partial(self._left, pending))
        if self._journal.observed:
            waiter.future.add_done_callback(partial(self._tell_of_end, pending))
        self.entrance.let_in(pending)
        self._sealing.wake()
        return waiter.future

    def _takes(self, chunk: Chunk, payer: Account | None) -> bool:
        """Return whether a chunk may travel as a whole: what is limited, or paced, is looked at item by item."""
        return (
            self._policy.enabled
            and 1 < chunk.size <= self._most
            and chunk.asked.table not in self._alone
            and (payer is None or not payer.limited)
            and not self._journal.ledger.expects
            and not self._admission.looks_at_partitions
            and self._admission.is_free(chunk.asked)
        )

    def _stand_in_line(self, pending: PendingChunk) -> None:
        """Let a chunk take its turn among the writes of its items."""

    def _take_place(self, pending: PendingChunk, parts: Sequence[Pending]) -> None:
        """Let the requests of a chunk have its place in those lines."""

    def _tell_of_end(self, pending: PendingChunk, future: "asyncio.Future[Body]") -> None:
        for number in pending.numbers:
            self._journal.settled(number, pending, future)

    def take_apart(self, pending: PendingChunk) -> list[Pending]:
        """Let the requests that a chunk stands for go on in its place; return them."""
        waiter, parts = pending.waiters[0], list[Pending]()
        wanted, loop = not waiter.future.done(), asyncio.get_running_loop()
        for number, request in zip(pending.numbers, pending.chunk.requests(), strict=True):
            own = Waiter(loop.create_future(), waiter.deadline, number, waiter.since, waiter.account)
            parts.append(part := Pending(request, waiters=[own]))
            part.attempts, part.on_the_wire = pending.attempts, pending.on_the_wire
            part.exchange_id, part.first_sent = pending.exchange_id, pending.first_sent
            part.coalesced, part.idle_since, part.task = pending.coalesced, pending.idle_since, pending.task
            if not wanted:
                own.future.cancel()
                continue
            own.future.add_done_callback(partial(self._left, part))
            if self._journal.observed:
                own.future.add_done_callback(partial(self._journal.settled, number, part))
        self.open.discard(pending)
        self.open.update(parts)
        self._take_place(pending, parts)
        if wanted:
            pending.apart([part.waiters[0].future for part in parts])
        return parts

    def _parts_of(self, pending: Pending) -> list[Pending]:
        return self.take_apart(pending) if isinstance(pending, PendingChunk) else [pending]

    async def _carry(self, batch: list[Pending]) -> None:
        first = batch[0]
        if isinstance(first, PendingChunk):
            await self._carry_chunk(batch, first)
        else:
            await super()._carry(batch)

    async def _carry_chunk(self, batch: list[Pending], pending: PendingChunk) -> None:
        if not pending.wanted:
            self._close_one(pending)
            return
        pending.begin_attempt()
        pending.on_the_wire = True
        left: tuple[dict[str, Body], Leftovers] | None = None
        answer: Body = {}
        try:
            request = pending.chunk.call()
            with Exchange(self._journal, request, batch, self._meters.of(request)) as exchange:
                answer = await self._answer(request, exchange, batch, pending)
                if batch[0] is pending:
                    exchange.answered(answer)
                else:
                    left = parts, leftovers = self._read(batch, answer)
                    exchange.answered(answer, *left_over(batch, leftovers), parts)
        except Exception as error:  # noqa: BLE001 - see `_failed`
            self._failed(batch, error)
        else:
            if left is None:
                self._chunk_answered(pending, answer)
            else:
                self._after_answer(batch, *left)

    async def _answer(self, request: Request, exchange: Exchange, batch: list[Pending], pending: PendingChunk) -> Body:
        """Send a chunk, and take it apart unless the answer is plain."""
        try:
            answer = await self._send(request)
            plain = pending.chunk.takes(answer) and not self._journal.ledger.expects
        except Exception:
            self._exchange_apart(exchange, batch, pending)
            raise
        if not plain:
            self._exchange_apart(exchange, batch, pending)
        return answer

    def _exchange_apart(self, exchange: Exchange, batch: list[Pending], pending: PendingChunk) -> None:
        # In place: what the task carries, and what the exchange carries, is this list.
        batch[:] = self.take_apart(pending)
        exchange.taken_apart(pending)

    def _chunk_answered(self, pending: PendingChunk, answer: Body) -> None:
        self._retries.succeeded(pending.attempts)
        pending.on_the_wire = False
        pending.answer(answer)
        self._close_one(pending)
