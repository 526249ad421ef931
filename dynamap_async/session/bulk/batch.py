"""Bulk writes: any number of puts and deletes, in bounded memory, each with its own outcome.

Invariant: what was accepted is, when the batch has ended, written, failed and reported, or withdrawn before it was
sent; only a cancelled batch ends without waiting for what is on the wire.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Final, Never, Self, TypeVar, overload

from dynamap_async.config import BatchPolicy
from dynamap_async.errors import BatchError, ItemFailure, OperationError, SessionStateError
from dynamap_async.errors.habits import EnteredByAsyncWith
from dynamap_async.executor import own_instance
from dynamap_async.limits import BATCH_WRITE_REQUESTS
from dynamap_async.models import KeyValue, Model
from dynamap_async.operations import Delete, Put, Write
from dynamap_async.operations.keywords import no_item_keywords, no_key_keywords
from dynamap_async.request import Request
from dynamap_async.session.bulk.item_chunks import (
    PlainDeletes,
    PlainDeletesByKey,
    PlainPuts,
    PlainWrite,
    PlainWriteChunk,
    PlainWriting,
)
from dynamap_async.session.results import outcome
from dynamap_async.session.runner import Runner
from dynamap_async.session.writes import Writes
from dynamap_async.stored import Flow, ItemRequest
from dynamap_async.turns import new_task
from dynamap_async.wire import Body

T = TypeVar("T")

Progress = Callable[[int], object]
"""Called with the number of items that are done, failed ones included."""


class Batch(EnteredByAsyncWith):
    """A bulk load: ``async with session.batch() as batch``, then ``await batch.put(item)`` as often as you like.

    ``put`` and ``delete`` return as soon as there is room, before the item is written. Writes to one key are done in
    the order in which they were given. Leaving the block waits for all of them, and raises BatchError if some failed.
    If an exception leaves the block, what was not sent yet is withdrawn and what was sent is waited for; a cancelled
    block does not wait.

    Args:
        runner: carries out operations.
        policy: how many items share a call.

    Raises:
        SessionStateError: the session is not open.

    Cost:
        One BatchWriteItem for each 25 items; write units as ``Put`` and ``Delete``.

    Source:
        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
    """

    def __init__(self, runner: Runner, policy: BatchPolicy) -> None:
        runner.executor.check_open()
        self._flow: Flow[Any] = Flow(
            runner.executor,
            together=min(policy.max_keys, BATCH_WRITE_REQUESTS),
            done=self._note,
            done_chunk=self._note_chunk,
        )
        self._context = runner.context
        self._writes = runner.writes
        self._puts = PlainWriting(runner, PlainPuts)
        self._deletes = PlainWriting(runner, PlainDeletes)
        self._deletes_by_key = PlainWriting(runner, PlainDeletesByKey)
        self._turn = asyncio.Lock()  # first come, first served: whoever waited for room stays before later writes
        self._in_line = 0
        self._origin = self._flow.origin()
        """The origin of the ``put_many`` or ``delete_many`` under way, since it prepared the first of a chunk."""
        self._called = self._begun = 0
        """How many puts and deletes were called, and how many of these were awaited."""
        self._given = 0
        self._done = 0
        self._failures: list[ItemFailure] = []
        self._queues: Final = _OrderedWrites(runner.writes)
        self._open = False
        self._entered = False

    @property
    def given(self) -> int:
        """How many items were accepted."""
        return self._given

    @property
    def done(self) -> int:
        """How many items are written or have failed."""
        return self._done

    @property
    def failures(self) -> tuple[ItemFailure, ...]:
        """What has failed until now."""
        return tuple(self._failures)

    def put(self, item: Model, /, *, read_first: bool = False, **fields: Never) -> Coroutine[Any, Any, None]:
        """Accept an item to be written, as it is now; wait only for room.

        Args:
            item: the model instance.
            read_first: whether to read the stored item first, which a model with ``Unique`` needs.
            fields: nothing: an item has its values.

        Raises:
            EncodeError: the item cannot be stored; it is not accepted, and the batch goes on.
            OperationError: the model has unique fields, and ``read_first`` is missing.
            SessionStateError: the block was left, or the session is closed.

        Cost:
            A share of a BatchWriteItem; write units as ``Put``. With unique values requests of its own.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
        """
        if fields:
            raise no_item_keywords("put", item, fields, ("read_first",))
        self._called += 1
        return self._put(item, read_first=read_first)

    async def _put(self, item: Model, *, read_first: bool) -> None:
        self._begun += 1
        self._check()
        if (part := self._puts.part(item)) is not None:
            await self._accept_as(part)
        else:
            await self._give(item, await self._ready(Put(item, read_first=read_first)))

    @overload
    def delete(self, item: Model, /, *, read_first: bool = False) -> Coroutine[Any, Any, None]: ...
    @overload
    def delete(
        self, model: type[Model], partition: KeyValue, sort: KeyValue | None = None, /, *, read_first: bool = False
    ) -> Coroutine[Any, Any, None]: ...
    def delete(self, target: Any, /, *key: Any, read_first: bool = False, **fields: Never) -> Coroutine[Any, Any, None]:
        """Accept an item to be removed, given as an instance or as model and key; wait only for room.

        Args:
            target: the instance, or the model.
            key: after a model, the values of its key.
            read_first: whether to read the stored item first; see ``Delete``.
            fields: nothing: the key is given by its position.

        Raises:
            EncodeError: a key value is of the wrong type; nothing is accepted, and the batch goes on.
            OperationError: the model has unique fields, and ``read_first`` is missing.
            SessionStateError: the block was left, or the session is closed.

        Cost:
            A share of a BatchWriteItem; write units as ``Delete``. With unique values requests of its own.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
        """
        if fields:
            raise no_key_keywords("delete", target, fields, ("read_first",))
        self._called += 1
        return self._delete(target, *key, read_first=read_first)

    async def _delete(self, target: Any, *key: Any, read_first: bool) -> None:
        self._begun += 1
        self._check()
        part = self._deletes_by_key.part(key, target) if key else self._deletes.part(target)
        if part is not None:
            await self._accept_as(part)
        else:
            await self._give(key or target, await self._ready(Delete(target, *key, read_first=read_first)))

    def _check(self) -> None:
        if not self._open:
            raise SessionStateError("a batch accepts items only inside `async with session.batch() as batch:`")
        self._flow.executor.check_open()

    async def _ready(self, operation: Write[Any]) -> Write[Any]:
        if not (operation.guarded or self._writes.prepares(operation)):
            return operation
        return await self._flow.hold(self._writes.hooked(operation))

    async def _give(self, subject: Any, operation: Write[Any]) -> None:
        await (self._follow if self._writes.runs_alone(operation) else self._accept)(subject, operation)

    async def _accept(self, subject: Any, operation: Write[Any]) -> None:
        await self._accept_as(ItemRequest(0, subject, operation, operation.request(self._context)))

    async def _accept_as(self, asked: ItemRequest[Any] | PlainWrite) -> None:
        if self._flow.full or self._in_line:
            async with self._room():
                self._check()
                self._add(asked)
        else:  # as a rule: without a lock, which would take a tenth of the whole (benchmarks: batch_write)
            self._add(asked)
        if self._flow.paces:
            await self._flow.pace()

    def _add(self, part: ItemRequest[Any] | PlainWrite) -> None:
        part.position = self._given
        self._given += 1
        if isinstance(part, ItemRequest):
            self._flow.add(part)
        else:
            self._flow.add_part(part, self._flow.origin())

    def _accepts(self, part: PlainWrite | None) -> bool:
        """Accept a plain write of a call for many items if there is room, as usual; return False if not."""
        flow = self._flow
        if part is None or self._in_line or flow.full:
            return False
        if not flow.prepared:
            self._check()
            self._origin = flow.origin()
        part.position = self._given
        self._given += 1
        flow.add_part(part, self._origin)
        return True

    @contextlib.asynccontextmanager
    async def _room(self) -> AsyncGenerator[None]:
        """Wait for room, first come, first served."""
        self._in_line += 1
        try:
            async with self._turn:
                await self._flow.room()
                yield
        finally:
            self._in_line -= 1

    async def _follow(self, subject: Any, operation: Write[Any]) -> None:
        """Write an item that has no number yet, or unique values: those that wait for numbers get them together.

        Without a number it has no key yet, so it follows no other write, and its size is not known.
        """
        table = operation.definition.require_table("written").name
        numberless = Request(operation="PutItem", body={}, table=table)
        request = numberless if operation.needs_number else operation.request(self._context)
        async with self._room():
            self._check()
            asked = ItemRequest(self._given, subject, operation, request, elsewhere=True)
            self._flow.follow(asked, self._queues.begin(operation, request))
            self._given += 1
        await self._flow.pace()

    def _note(self, asked: ItemRequest[Any], future: asyncio.Future[Body]) -> None:
        self._done += 1
        try:
            _ = future.result() if asked.elsewhere else outcome(asked.operation, asked.request, future, self._context)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is that item's own, and told at the end
            self._failures.append(ItemFailure(asked.position, asked.subject, error))

    def _note_chunk(self, chunk: PlainWriteChunk, future: asyncio.Future[Body]) -> None:
        self._done += chunk.size
        error = future.exception()
        if isinstance(error, Exception):
            for write in chunk.writes:
                self._failures.append(ItemFailure(write.position, write.subject, own_instance(error)))
        else:
            chunk.acknowledged()

    async def write(
        self,
        subjects: Iterable[T] | AsyncIterable[T],
        operation: Callable[[T], Write[Any]],
        progress: Progress | None,
        plain: Callable[[T], PlainWrite | None],
    ) -> None:
        """Write all items, as ``Session.put_many`` does; what cannot be stored fails alone.

        Args:
            subjects: what the call was given.
            operation: returns the operation on each.
            progress: see ``Progress``.
            plain: returns the plain write of each, if it has one.

        Raises:
            SessionStateError: the block was left, or the session is closed.

        Cost:
            One BatchWriteItem for each 25 items; write units as ``Put`` and ``Delete``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
        """
        told = 0
        if isinstance(subjects, AsyncIterable):
            async for subject in subjects:
                await self._take(subject, operation, plain(subject))
                told = self._tell(progress, told)
        else:
            for subject in subjects:
                part = plain(subject)
                if not self._accepts(part):
                    await self._take(subject, operation, part)
                elif self._flow.paces:
                    await self._flow.pace()
                if progress is not None:
                    told = self._tell(progress, told)
        self._flow.flush()
        while self._flow.unanswered:
            await self._flow.change()
            told = self._tell(progress, told)
        self._tell(progress, told)

    async def _take(self, subject: T, operation: Callable[[T], Write[Any]], part: PlainWrite | None) -> None:
        self._check()
        if part is not None:
            await self._accept_as(part)
        else:
            await self._attempt(subject, operation)

    async def _attempt(self, subject: T, operation: Callable[[T], Write[Any]]) -> None:
        try:
            asked = operation(subject)
            if asked.guarded or self._writes.prepares(asked):
                asked = await self._ready(asked)
        except Exception as error:  # noqa: BLE001 - what cannot be stored, or what a hook refuses, fails alone
            self._failures.append(ItemFailure(self._given, subject, error))
            self._given += 1
            self._done += 1
            await self._flow.pace()
        else:
            await self._give(subject, asked)

    def _tell(self, progress: Progress | None, told: int) -> int:
        if progress is not None and self._done > told:
            progress(self._done)
        return self._done

    async def __aenter__(self) -> Self:
        """Open the batch.

        Raises:
            SessionStateError: the batch was used before.
        """
        if self._entered:
            raise SessionStateError("a batch can be used once; make a new one with session.batch()")
        self._open = self._entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Wait until all accepted items are written; see the class.

        Raises:
            BatchError: some items failed; it names each.
            OperationError: a put or delete was not awaited, and so not done.
        """
        self._open = False
        if error is not None and not isinstance(error, Exception):
            self._flow.cancel()
            return
        if error is not None:
            self._flow.withdraw()
        try:
            await self._flow.finish()
        except BaseException:
            self._flow.cancel()
            raise
        if error is not None:
            error.add_note(
                f"the batch ended early: of {self._given} items given to it, "
                f"{self._done - len(self._failures)} were written, {len(self._failures)} failed, "
                f"{self._given - self._done} were withdrawn before they were sent"
            )
        elif self._failures:
            raise BatchError(self._failures, total=self._given)
        elif forgotten := self._called - self._begun:
            calls = "call of put or delete was" if forgotten == 1 else "calls of put or delete were"
            raise OperationError(
                f"{forgotten:,} {calls} not awaited in the batch, so that nothing was written of them; write "
                "`await batch.put(item)`"
            )


class _OrderedWrites:
    """Writes of a bulk load that take several requests each: those of one item follow each other.

    Invariant: a queue is forgotten when the last write in it has ended.
    """

    def __init__(self, writes: Writes) -> None:
        self._writes: Final = writes
        self._last: Final[dict[str, asyncio.Task[Any]]] = {}

    def begin(self, operation: Write[Any], request: Request) -> asyncio.Task[Any]:
        """Start a write, behind earlier ones of the same item; without a number it has no key yet, and follows none."""
        if request.target is None:
            return new_task(self._writes.after_hooks(operation))
        identity = request.target.identity
        task = new_task(self._behind(self._last.get(identity), operation))
        self._last[identity] = task
        task.add_done_callback(lambda _: self._last.pop(identity) if self._last.get(identity) is task else None)
        return task

    async def _behind(self, earlier: asyncio.Task[Any] | None, operation: Write[Any]) -> None:
        if earlier is not None:
            await asyncio.wait((earlier,))
        await self._writes.after_hooks(operation)
