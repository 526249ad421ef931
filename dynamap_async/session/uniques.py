"""Writing items with unique values: the write and its guards in one transaction, on what was stored before."""

from typing import Any, Final, TypeVar

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ItemNotFoundError,
    OperationError,
    TransactionCanceledError,
    VersionConflictError,
)
from dynamap_async.executor import Executor
from dynamap_async.operations import Replace, TransactWrite, Write
from dynamap_async.operations.guards import Guarded, same_uniques, stored_item, with_guards
from dynamap_async.operations.write import Stored, Unknown
from dynamap_async.planning import Context
from dynamap_async.session.sending import send
from dynamap_async.transport import damage_of_values
from dynamap_async.wire import WireItem

R = TypeVar("R")

_ATTEMPTS: Final = 5


class GuardedWriting:
    """Carries out writes that may change unique values."""

    def __init__(self, executor: Executor, context: Context) -> None:
        self._executor = executor
        self._context = context

    async def write(self, write: Write[R]) -> R:
        """Carry out a write and keep the guards of its model.

        If the stored values were changed by somebody else meanwhile, it is tried again, on those.

        Raises:
            OperationError: the write does not know the stored values, and was not told to read them first.
            UniqueViolationError: another item has one of the values.
        """
        before = await self._before(write)
        foreign: set[str] = set()
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._send(write, before, foreign)
            except VersionConflictError:
                raise
            except ConditionalCheckFailedError as error:
                # Where there must be no item, or the values are those of before, it was another condition that failed.
                own_condition = write.before() is None or same_uniques(write.definition, before, error.wire_item)
                if own_condition or error.outcome_unknown:
                    raise
                before = error.wire_item
            except TransactionCanceledError as error:
                others = _foreign(error)
                if others <= foreign:
                    raise
                foreign |= others
        return await self._send(write, before, foreign)

    async def with_guards(self, transaction: TransactWrite) -> TransactWrite:
        """Return a transaction with the guards of its writes, behind them all."""
        if True not in [write.guarded for write in transaction.actions]:
            return transaction
        writes: list[Write[Any]] = []
        guards: list[Write[Any]] = []
        for write in transaction.actions:
            if write.guarded:
                own, more = with_guards(write, await self._before(write))
                writes.append(own)
                guards += more
            else:
                writes.append(write)
        return transaction.of((*writes, *guards))

    async def _send(self, write: Write[R], before: Stored, foreign: set[str]) -> R:
        own, guards = with_guards(write, before, foreign=foreign)
        if not guards:
            return await send(self._executor, self._context, own)
        brings_back = own.brings_back
        await send(self._executor, self._context, Guarded(own, guards))
        if not brings_back:
            return own.result({}, self._context)
        item = await self._stored(own)
        if item is None:
            raise _gone(own)
        return own.result({"Attributes": item}, self._context)

    async def _before(self, write: Write[Any]) -> Stored:
        """Return what is stored before a write, by its own knowledge or by reading it.

        Raises:
            OperationError: it does not know, and was not told to read.
        """
        known = check_knowledge(write)
        return await self._stored(write) if isinstance(known, Unknown) else known

    async def _stored(self, write: Write[Any]) -> WireItem | None:
        request = stored_item(write, self._context)
        found: WireItem | None = (await self._executor.send(request)).get("Item")
        if found is not None and (damage := damage_of_values(request, (found,))) is not None:
            raise damage
        return found


def _gone(write: Write[Any]) -> ItemNotFoundError:
    model = write.definition.model.__name__
    return ItemNotFoundError(f"the {model} was written, and removed by somebody else at once", model=model)


def _foreign(error: TransactionCanceledError) -> set[str]:
    """Return the names of guards that were to be released and are other items', of a cancelled transaction."""
    return {
        str(reason.key["pk"])
        for reason in error.reasons[1:]
        if isinstance(reason.error, ConditionalCheckFailedError) and reason.operation == "DeleteItem"
    }


def check_knowledge(write: Write[Any]) -> Stored | Unknown:
    """Return what a write knows of the stored item; nothing if it is going to read it.

    Raises:
        OperationError: it knows nothing, and was not told to read.
    """
    known = write.before()
    if isinstance(known, Unknown) and not write.reads_first:
        raise _unknown(write)
    return known


def _unknown(write: Write[Any]) -> OperationError:
    model, kind = write.definition.model.__name__, "replace" if isinstance(write, Replace) else write.kind
    fields = ", ".join(dict.fromkeys(field.name for unique in write.definition.uniques for field in unique.fields))
    remedy = ".read_first()" if kind == "update" else f"{kind}(..., read_first=True)"
    return OperationError(
        f"this {kind} does not know the stored values of {model}'s unique fields ({fields}), whose guards it would "
        f"have to remove; write {remedy} to read them before, or use create, save or "
        "delete(item) with an item that was read"
    )
