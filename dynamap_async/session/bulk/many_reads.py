"""Reading any number of items into a list: each key is asked for once, each place has an instance of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from dynamap_async.config import BatchPolicy
from dynamap_async.errors import BatchError, DynamapError, ItemFailure
from dynamap_async.executor import deadline_now, own_instance
from dynamap_async.limits import BATCH_GET_KEYS
from dynamap_async.operations import SingleRequest
from dynamap_async.request import Request
from dynamap_async.session.bulk.key_chunks import SLICE_ITEMS, KeyBook, KeyChunk, KeyedReads
from dynamap_async.session.results import outcome
from dynamap_async.session.runner import Runner
from dynamap_async.stored import Flow, ItemRequest
from dynamap_async.turns import WorkPace
from dynamap_async.wire import Body, WireItem

ReadIdentity = tuple[str, bool, bool]
"""Identity, consistency and coalescing: what makes two reads one."""


class ManyReads:
    """Reads any number of items into a list."""

    def __init__(self, runner: Runner, policy: BatchPolicy) -> None:
        self._executor = runner.executor
        self._context = runner.context
        self._hooks = runner.hooks
        self._answered: list[tuple[ItemRequest[Any], asyncio.Future[Body]]] = []
        self._chunks: list[tuple[KeyChunk, asyncio.Future[Body]]] = []
        # Not `self`: in a cycle, all that was read would wait for the garbage collector.
        answered, chunks = self._answered, self._chunks
        self._flow: Flow[Any] = Flow(
            runner.executor,
            together=min(policy.max_keys, BATCH_GET_KEYS),
            done=lambda asked, future: answered.append((asked, future)),
            done_chunk=lambda chunk, future: chunks.append((chunk, future)),
        )
        # Items as small as most are decoded a call at once, which costs a seventh less (benchmarks: batch_get).
        self._pace = WorkPace(BATCH_GET_KEYS)
        self._results: list[Any] = []
        self._failures: list[ItemFailure] = []
        self._by_identity: dict[ReadIdentity, list[ItemRequest[Any]]] = {}

    async def all(
        self, subjects: Iterable[Any], operation: Callable[[Any], SingleRequest[Any]], keyed: KeyedReads | None = None
    ) -> list[Any]:
        """Return one result per subject, in order.

        Args:
            subjects: what was asked for.
            operation: returns the operation on each.
            keyed: how the items of one model are read in chunks, if the subjects are keys of one.

        Raises:
            BatchError: some failed; it carries the results of the others.
        """
        self._executor.check_open()
        book = None if keyed is None else KeyBook(keyed)
        for position, subject in enumerate(subjects):
            self._results.append(None)
            if book is None or not book.add(position, subject):
                self._prepare(position, subject, operation)
            if position % SLICE_ITEMS == 0 and self._flow.paces:
                await self._flow.pace()
        try:
            alone = [same[0] for same in self._by_identity.values()]
            if book is not None:
                await self._ask_in_chunks(book, operation)
            for asked in alone:
                await self._ask(asked)
            self._flow.flush()
            while self._flow.unanswered:
                await self._flow.change()
                await self._take(book)
            await self._take(book)
        finally:
            self._flow.cancel()
        if self._failures:
            raise BatchError(self._failures, total=len(self._results), results=self._results)
        return self._results

    def _prepare(self, position: int, subject: Any, operation: Callable[[Any], SingleRequest[Any]]) -> None:
        try:
            find = operation(subject)
            request = find.request(self._context)
        except DynamapError as error:
            self._failures.append(ItemFailure(position, subject, error))
            return
        self._by_identity.setdefault(_identity(request), []).append(ItemRequest(position, subject, find, request))

    async def _ask_in_chunks(self, book: KeyBook, operation: Callable[[Any], SingleRequest[Any]]) -> None:
        deadline, payer = deadline_now(), self._executor.ledger.payer()
        together = self._flow.together
        for chunk in book.chunks(together, partial(self._lone_request, book, operation)):
            if self._flow.full:
                await self._flow.room()
            if not self._flow.add_chunk(chunk, deadline, payer):
                for asked in chunk.singles:
                    await self._ask(asked)
            await self._take(book)
        for number in book.rest(together):
            await self._ask(self._lone_request(book, operation, number))

    def _lone_request(
        self, book: KeyBook, operation: Callable[[Any], SingleRequest[Any]], number: int
    ) -> ItemRequest[Any]:
        """Return the key of a number as a request of its own."""
        finds = [(position, subject, operation(subject)) for position, subject in book.given(number)]
        places = [ItemRequest(*each, each[-1].request(self._context)) for each in finds]
        return self._by_identity.setdefault(_identity(places[0].request), places)[0]

    async def _ask(self, asked: ItemRequest[Any]) -> None:
        if self._flow.full:
            await self._flow.room()
        self._flow.add(asked)

    async def _take(self, book: KeyBook | None) -> None:
        """Read what has been answered, for each place an instance of its own."""
        while self._chunks and book is not None:
            await self._take_chunk(book, *self._chunks.pop())
        while self._answered:
            first, future = self._answered.pop()
            for asked in self._by_identity[_identity(first.request)]:
                try:
                    result = outcome(asked.operation, asked.request, future, self._context)
                    self._results[asked.position] = await self._given(result, asked)
                except Exception as error:  # noqa: BLE001 - whatever it is, the others are read all the same
                    own = error if asked is first else own_instance(error)
                    self._failures.append(ItemFailure(asked.position, asked.subject, own))
                if self._flow.paces:
                    await self._flow.pace()

    async def _take_chunk(self, book: KeyBook, chunk: KeyChunk, future: asyncio.Future[Body]) -> None:
        error = future.exception()
        if isinstance(error, Exception):
            for number in chunk.all_numbers:
                for position, subject in book.given(number):
                    self._failures.append(ItemFailure(position, subject, own_instance(error)))
            return
        at, pace = 0, self._pace
        pace.begin()
        while at < len(chunk.items):
            end = at + pace.items
            self._take_slice(book, items := chunk.items[at:end], chunk.numbers[at:end])
            at = end
            if pace.is_over(len(items)) or self._flow.paces:
                await self._flow.hold(pace.pause())

    def _take_slice(self, book: KeyBook, items: Sequence[WireItem], numbers: Sequence[int]) -> None:
        found = None if book.repeats else book.reads.read(items)
        if found is not None:
            results, positions = self._results, book.positions
            for number, item in zip(numbers, found, strict=True):
                results[positions[number]] = item
            return
        for number, wire in zip(numbers, items, strict=True):
            for position, subject in book.given(number):
                item = book.reads.read_one(wire)
                if isinstance(item, Exception):
                    self._failures.append(ItemFailure(position, subject, item))
                else:
                    self._results[position] = item

    async def _given(self, result: Any, asked: ItemRequest[Any]) -> Any:
        """Return a result after the hooks on what was read, if there are any."""
        if self._hooks.follow(read := asked.operation.read(result)):
            await self._flow.hold(self._hooks.read(read))
        return result


def _identity(request: Request) -> ReadIdentity:
    identity = request.target.identity if request.target is not None else ""
    return identity, bool(request.body.get("ConsistentRead")), request.batchable
