"""Numbers: takes them from counters, as many at a time as are waited for.

Invariant: a number is given to one caller at most; an allocation whose answer was lost, and one for a caller that was
cancelled meanwhile, leave a gap.
"""

import asyncio
from contextvars import Context as ContextVariables
from typing import Any, Final

from dynamap_async.errors import ConditionalCheckFailedError, ServiceError, TransactionCanceledError
from dynamap_async.executor import Executor, own_instance
from dynamap_async.models import Definition, Role
from dynamap_async.operations import Reserve, TransactWrite, Write, counter_of
from dynamap_async.planning import Context
from dynamap_async.session.sending import result_of

MOST_COLLISIONS: Final = 50
"""How many successive numbers may belong to items that were written with explicit values."""

_REMEDY: Final = (
    "{count} successive numbers belong to items that were written with explicit values; move the counter past them: "
    "await session.reserve({model}, count)"
)


class Numbers:
    """The counters of a session. Callers that wait for one at the same time share one allocation."""

    def __init__(self, executor: Executor, context: Context) -> None:
        self._executor = executor
        self._context = context
        self._waiting: dict[str, list[asyncio.Future[int]]] = {}
        self._serving: set[asyncio.Task[None]] = set()

    async def next_of(self, write: Write[Any]) -> int:
        """Return the next number for the item of a write that needs one.

        Raises:
            ResourceNotFoundError: the library's own table does not exist.
            ServiceError: DynamoDB refused the allocation.
            TransportError: no answer came.
        """
        partition = _partition(write)
        counter = counter_of(write.definition, partition)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        if (waiting := self._waiting.get(counter)) is not None:
            waiting.append(future)
        else:
            self._waiting[counter] = [future]  # before the task, which may begin at once and ends where nobody waits
            task = loop.create_task(
                self._serve(counter, write.definition, partition),
                context=ContextVariables(),  # the first caller's context is not everybody's
            )
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        return await future

    async def _serve(self, counter: str, definition: Definition[Any], partition: tuple[Any, ...]) -> None:
        waiting = self._waiting[counter]
        served: list[asyncio.Future[int]] = []
        try:
            while waiting:
                served = [future for future in waiting if not future.done()]
                waiting.clear()
                if served:
                    await self._allocate(Reserve(definition.model, len(served), *partition), served)
        finally:
            del self._waiting[counter]
            for future in (*served, *waiting):
                future.cancel()  # no effect on what is answered

    async def _allocate(self, reserve: Reserve, served: list[asyncio.Future[int]]) -> None:
        try:
            request = reserve.request(self._context)
            numbers = result_of(reserve, request, await self._executor.send(request), self._context)
        except Exception as error:  # noqa: BLE001 - each caller gets it, whatever it is
            failure = reserve.failed(error) if isinstance(error, ServiceError) else error
            for future in served:
                if not future.done():
                    future.set_exception(own_instance(failure))
        else:
            for future, number in zip(served, numbers, strict=True):
                if not future.done():
                    future.set_result(number)

    async def ended(self) -> None:
        """Wait until no allocation is under way; the executor was closed before, so each of them ends."""
        while self._serving:
            await asyncio.wait(tuple(self._serving))


def _partition(write: Write[Any]) -> tuple[Any, ...]:
    field, definition = write.definition.numbered, write.definition
    if field is None or field.role is Role.PARTITION_KEY:
        return ()
    return (getattr(write.item, definition.key_fields()[0].name),)


def collided(write: Write[Any], error: ConditionalCheckFailedError) -> bool:
    """Return whether a write failed because an item has the number that its counter gave it.

    After a lost answer it may be the item itself that is there: then it is no collision, or it would be written twice.
    """
    return write.needs_number and error.wire_item is not None and not error.outcome_unknown


def all_collided(transaction: TransactWrite, error: TransactionCanceledError | ConditionalCheckFailedError) -> bool:
    """Return whether a transaction was cancelled only because numbers of its items belong to other items."""
    if isinstance(error, ConditionalCheckFailedError):  # a transaction of one write, which explains its error as such
        return collided(transaction.actions[0], error)
    failures = error.failures
    return bool(failures) and all(
        isinstance(reason.error, ConditionalCheckFailedError)
        and reason.wire_item is not None
        and transaction.actions[reason.position].needs_number
        for reason in failures
    )


def too_many(collisions: int, error: Exception, *writes: Write[Any]) -> bool:
    """Return whether there were too many successive collisions; then the error says what to do."""
    if collisions < MOST_COLLISIONS:
        return False
    models = dict.fromkeys(write.definition.model.__name__ for write in writes if write.needs_number)
    error.add_note(_REMEDY.format(count=collisions, model=next(iter(models), "")))
    return True
