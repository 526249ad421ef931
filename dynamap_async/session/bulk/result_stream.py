"""Answers: an asynchronous iterator over the results of many requests, in the order in which they arrive.

Invariant: a cancelled ``__anext__`` loses nothing; nothing that is under way refers to the iterator, so that dropping
it ends it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, Self, TypeVar

from dynamap_async.config import BatchPolicy
from dynamap_async.errors import BatchError, DynamapError, ItemFailure, SessionStateError
from dynamap_async.errors.habits import EnteredByAsyncWith, IteratedByAsyncFor
from dynamap_async.executor import own_instance
from dynamap_async.limits import BATCH_GET_KEYS
from dynamap_async.operations import SingleRequest
from dynamap_async.session.bulk.key_chunks import SLICE_ITEMS, KeyedReads, KeyPart, PartsChunk
from dynamap_async.session.results import outcome
from dynamap_async.session.runner import Runner
from dynamap_async.stored import Flow, ItemRequest
from dynamap_async.turns import WorkPace
from dynamap_async.wire import Body

T = TypeVar("T")
R = TypeVar("R")

_AHEAD_BATCHES: Final = 10


class Answers(EnteredByAsyncWith, IteratedByAsyncFor, Generic[T, R]):
    """Pairs of what was asked for and what was found, as they arrive: ``async for key, item in session.each(...)``.

    It asks for more only as fast as pairs are taken: at most 10 full calls ahead. Leaving the loop early, ``aclose`` or
    the end of ``async with`` withdraws what was not sent. What fails does not stop the others: BatchError follows after
    the last pair.

    Args:
        runner: carries out operations.
        policy: how many keys share a call.
        subjects: keys or operations, any number.
        operation: returns the operation that reads each.
        keyed: how the items of one model are read in chunks, if the subjects are keys of one.

    Raises:
        SessionStateError: the session is not open.

    Cost:
        One BatchGetItem for each 100 distinct keys; read units as ``Find``.

    Source:
        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
    """

    def __init__(
        self,
        runner: Runner,
        policy: BatchPolicy,
        subjects: Iterable[T],
        operation: Callable[[T], SingleRequest[R]],
        keyed: KeyedReads | None = None,
    ) -> None:
        runner.executor.check_open()
        self._answered: deque[tuple[ItemRequest[SingleRequest[R]], asyncio.Future[Body]]] = deque()
        self._chunks: deque[tuple[PartsChunk, asyncio.Future[Body]]] = deque()
        self._pairs: deque[tuple[KeyPart, Any]] = deque()
        """Those of the chunk that was answered first, as far as they are decoded."""
        answered, chunks = self._answered, self._chunks  # the flow must not refer to this object
        self._flow: Flow[SingleRequest[R]] = Flow(
            runner.executor,
            together=min(policy.max_keys, BATCH_GET_KEYS),
            done=lambda asked, future: answered.append((asked, future)),
            done_chunk=lambda chunk, future: chunks.append((chunk, future)),
        )
        self._context = runner.context
        self._keyed = keyed
        self._pace = WorkPace(SLICE_ITEMS)
        self._subjects: Iterator[T] = iter(subjects)
        self._operation = operation
        self._hooks = runner.hooks
        self._taken = 0
        self._exhausted = False
        self._closed = False
        self._failures: list[ItemFailure] = []
        self._advancing = False
        self._origin = self._flow.origin()
        """Of the task that asked for the first of what is prepared."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[T, R]:
        """Return the next pair.

        Raises:
            BatchError: all pairs were given out, and some keys failed; it names each.
            SessionStateError: the session is closed, or another task is waiting for a pair.

        Cost:
            None for most pairs; as many requests are under way as the class tells.
        """
        if self._advancing:
            raise SessionStateError("two tasks read from one iterator at once; give each task its own")
        self._advancing = True
        try:
            return await self._next()
        finally:
            self._advancing = False

    async def _next(self) -> tuple[T, R]:
        while await self._arrived():
            if not self._answered:
                if (pair := self._next_of_chunks()) is not None:
                    return pair
                continue
            asked, future = self._answered.popleft()
            try:
                return asked.subject, await self._result(asked, future)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told at the end, and its neighbours first
                self._failures.append(ItemFailure(asked.position, asked.subject, error))
        failures, self._failures = self._failures, []
        if failures:
            raise BatchError(failures, total=self._taken)
        raise StopAsyncIteration

    async def _arrived(self) -> bool:
        """Wait until an answer is there; return False if all were given out."""
        while True:
            await self._fill()
            while not self._ready and self._flow.unanswered:
                await self._flow.change()
            if self._closed:  # answers may have come in the moment of aclose
                raise StopAsyncIteration
            if self._ready:
                await self._flow.pace()
                return True
            if self._exhausted:
                return False

    @property
    def _ready(self) -> int:
        """How many keys were answered and not given out, those of a chunk that were given out included."""
        return len(self._answered) + len(self._pairs) + sum([chunk.size for chunk, _ in self._chunks])

    def _next_of_chunks(self) -> tuple[T, R] | None:
        """Return the next pair of a chunk; None where that has failed, or the chunk is at its end."""
        if not (self._pairs or self._chunks):
            return None  # closed in the meantime
        if not self._pairs:
            chunk, future = self._chunks[0]
            error = future.exception()
            if isinstance(error, Exception):
                self._pairs.extend([(part, own_instance(error)) for part in chunk.parts])
            else:
                self._pace.begin()
                self._pairs.extend(pairs := chunk.next_slice(self._pace.items))
                self._pace.is_over(len(pairs))  # the flow pauses; this says how many items the next slice has
            if isinstance(error, Exception) or not self._pairs:
                self._chunks.popleft()
            if not self._pairs:
                return None
        part, found = self._pairs.popleft()
        if isinstance(found, Exception):
            self._failures.append(ItemFailure(part.position, part.subject, found))
            return None
        return part.subject, found

    async def _result(self, asked: ItemRequest[SingleRequest[R]], future: asyncio.Future[Body]) -> R:
        try:
            result = outcome(asked.operation, asked.request, future, self._context)
            await self._hooks.read(asked.operation.read(result))
        except asyncio.CancelledError:
            self._answered.appendleft((asked, future))  # in a hook: the pair was not given out
            raise
        return result

    async def _fill(self) -> None:
        """Ask for as many whole batches as the consumer leaves room for."""
        together = self._flow.together
        while not self._exhausted and self._flow.unanswered + self._ready <= (_AHEAD_BATCHES - 1) * together:
            self._flow.executor.check_open()
            for subject in self._subjects:
                self._ask(subject)
                await self._flow.pace()
                if self._flow.prepared == 0:
                    break
            else:
                self._exhausted = True
        self._flow.flush()

    def _ask(self, subject: T) -> None:
        position = self._taken
        self._taken += 1
        if self._keyed is not None and (part := self._keyed.part(self._operation, position, subject)) is not None:
            if not self._flow.prepared:
                self._origin = self._flow.origin()
            self._flow.add_part(part, self._origin)
            return
        try:
            operation = self._operation(subject)
            self._flow.add(ItemRequest(position, subject, operation, operation.request(self._context)))
        except DynamapError as error:
            self._failures.append(ItemFailure(position, subject, error))

    async def aclose(self) -> None:
        """End the iterator; what was not sent is withdrawn. Closing twice is no error."""
        self._closed = self._exhausted = True
        self._failures = []
        self._answered.clear()
        self._chunks.clear()
        self._pairs.clear()
        self._flow.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        flow = getattr(self, "_flow", None)
        if flow is not None:
            flow.cancel_from_anywhere()
