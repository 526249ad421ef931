"""Numbers: those of new items, taken from counters, as many at a time as are waited for; and counting up a field.

Invariant: a number is given to one caller at most; an allocation whose answer was lost, and one for a caller that was
cancelled meanwhile, leave a gap.
"""

from __future__ import annotations

import asyncio
from contextvars import Context as ContextVariables
from typing import TYPE_CHECKING, Any, Final

from dynamap_async import expressions, operations
from dynamap_async.codec import encode_any
from dynamap_async.errors import ConditionalCheckFailedError, ServiceError, TransactionCanceledError
from dynamap_async.executor import Executor, own_instance
from dynamap_async.models import Definition, Model, Role
from dynamap_async.planning import Context
from dynamap_async.session.results import result_of
from dynamap_async.transport import damaged
from dynamap_async.turns import new_task

if TYPE_CHECKING:
    from dynamap_async.operations import Reserve, TransactWrite, Update, Write

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
        counter = operations.counter_of(write.definition, partition)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if (waiting := self._waiting.get(counter)) is not None:
            waiting.append(future)
        else:
            self._waiting[counter] = [future]
            # In an empty context: the first caller's is not everybody's.
            task = new_task(self._serve(counter, write.definition, partition), ContextVariables())
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
                    await self._allocate(operations.Reserve(definition.model, len(served), *partition), served)
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
    definition = write.definition
    key = definition.numbered_key
    if key is None or key.role is Role.PARTITION_KEY:
        return ()
    return (getattr(write.item, definition.key_fields()[0].name),)


def collided(write: Write[Any], error: ConditionalCheckFailedError) -> bool:
    """Return True if a write failed because an item has the number that its counter gave it.

    After a lost answer it may be the item itself that is there: then it is no collision, or it would be written twice.
    """
    return write.needs_number and error.wire_item is not None and not error.outcome_unknown


def all_collided(transaction: TransactWrite, error: TransactionCanceledError | ConditionalCheckFailedError) -> bool:
    """Return True if a transaction was cancelled only because numbers of its items belong to other items."""
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
    """Return True if there were too many successive collisions; then the error says what to do."""
    if collisions < MOST_COLLISIONS:
        return False
    models = dict.fromkeys(write.definition.model.__name__ for write in writes if write.needs_number)
    error.add_note(_REMEDY.format(count=collisions, model=next(iter(models), "")))
    return True


class Increment:
    """An addition to a number of one item, whose result is the new number."""

    def __init__(self, model: type[Model], partition: Any, *sort_and_field: Any, by: Any, upsert: bool) -> None:
        """Create the update that adds to a number; nothing is sent yet.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort_and_field: the sort key's value, where the table has one; then the field.
            by: what to add.
            upsert: whether to make the item where there is none.

        Raises:
            ExpressionError: the field holds no number, or is another model's.
            EncodeError: the amount or a key value is of the wrong type.
            OperationError: the number of key values does not fit the table's key.
        """
        field: Any = sort_and_field[-1] if sort_and_field else None
        update = operations.Update(model, partition, *sort_and_field[:-1]).add(field, by)
        self._definition: Final = update.definition
        self._field: Final = field
        self.update: Final[Update[Any, dict[str, Any]]] = (update.upsert() if upsert else update).returning("changed")
        """The operation."""

    def value(self, changed: dict[str, Any], context: Context) -> Any:
        """Return the new number.

        Args:
            changed: the result of the operation.
            context: that in which it was carried out.

        Raises:
            DamagedResponseError: the answer does not hold it.
        """
        path = expressions.path_of(self._field)
        try:
            value: Any = changed[self._definition.field_names.get(path.attribute, path.attribute)]
            for step in path.steps[1:]:
                # Of a list, the answer holds only the elements that were changed.
                value = value[step] if isinstance(step, str) else value[0]
        except (LookupError, TypeError) as error:
            request = self.update.request(context)
            raise damaged(request, f"the answer does not say what {path.spelled} is now") from error
        return value if len(path.steps) == 1 else path.converter.decode(encode_any(value))
