"""The writes of a session: what happens around the write of one item, in one order.

1. The item is made ready: what has to be awaited (hooks, numbers) is awaited, in the caller's task.
2. It is encoded, as it is then.
3. The request is sent by the executor; with unique values, the write and its guards in one transaction.
4. A refusal becomes the caller's error, with the stored item as an instance; an acknowledgement moves the instance on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ItemNotFoundError,
    LeaseLostError,
    OperationError,
    ServiceError,
    TransactionCanceledError,
    VersionConflictError,
)
from dynamap_async.executor import Executor, gather_all
from dynamap_async.leases import LeaseCheck
from dynamap_async.operations import Check, Replace, TransactWrite, Write
from dynamap_async.operations.unique_values import Guarded, same_uniques, stored_item, with_guards
from dynamap_async.operations.write import Stored, Unknown
from dynamap_async.planning import Context
from dynamap_async.session.counter_numbers import Numbers, all_collided, collided, too_many
from dynamap_async.session.hooks import SessionHooks, run_before_write
from dynamap_async.session.results import explain, result_of, send
from dynamap_async.transport import damage_of_values
from dynamap_async.wire import WireItem

R = TypeVar("R")

Fence: TypeAlias = Callable[[], LeaseCheck]
"""Returns the check of a lease that goes with each write."""

_ATTEMPTS: Final = 5
"""How often a write with unique values is sent, on what others have stored meanwhile."""


class Writes:
    """Makes writes ready, and carries them out."""

    shares_calls: bool = True
    """Whether writes may travel together in calls that know no conditions."""

    def __init__(self, executor: Executor, context: Context, hooks: SessionHooks, numbers: Numbers) -> None:
        """Create what carries out the writes of a session.

        Args:
            executor: sends requests.
            context: what the session adds to each operation.
            hooks: what runs before writes.
            numbers: where items that lack a number get one.
        """
        self._executor: Final = executor
        self._context: Final = context
        self._hooks: Final = hooks
        self._numbers: Final = numbers
        self._guarded: Final = GuardedWrites(executor, context)

    def prepares(self, write: Write[Any]) -> bool:
        """Return True if a write has to be made ready before it can be encoded."""
        definition = write.definition
        return definition.prepares or not write.is_encoded or bool(self._hooks.before(definition))

    async def hooked(self, write: Write[R]) -> Write[R]:
        """Return a write after its hooks, encoded unless it still lacks a number.

        Raises:
            OperationError: it does not know the unique values that it may change, and was not told to read them.
        """
        if self.prepares(write):
            await self._before(write)
            write = write if write.needs_number else write.encoded()
        if write.guarded and not write.needs_number:
            check_knowledge(write)
        return write

    def _is_plain(self, transaction: TransactWrite) -> bool:
        """Return True if no write has to be made ready, or has guards."""
        if False in [write.is_encoded for write in transaction.actions]:
            return False
        for definition in {write.definition for write in transaction.actions}:
            if definition.uniques or definition.prepares or self._hooks.before(definition):
                return False
        return True

    async def all_ready(self, transaction: TransactWrite) -> TransactWrite:
        """Return a transaction whose writes can be encoded now; hooks run one after the other."""
        if True not in [self.prepares(write) for write in transaction.actions]:
            return transaction
        for write in transaction.actions:
            await self._before(write)
        if True not in [write.needs_number for write in transaction.actions]:
            return transaction.of([write.encoded() if self.prepares(write) else write for write in transaction.actions])
        # At the same time, so that items of one model take their numbers together.
        return transaction.of(await gather_all([self._encoded(write) for write in transaction.actions]))

    def runs_alone(self, write: Write[Any]) -> bool:
        """Return whether a write of a bulk load cannot be an item of a call that is like the others."""
        return (
            write.needs_number or write.guarded or not self.shares_calls or self._hooks.follow_write(write.definition)
        )

    async def _before(self, write: Write[Any]) -> None:
        if write.item is not None and write.kind is not None:
            await run_before_write(self._hooks.before(write.definition), write.item, write.kind)

    async def _encoded(self, write: Write[R]) -> Write[R]:
        if not self.prepares(write):
            return write
        return write.numbered(await self._numbers.next_of(write)) if write.needs_number else write.encoded()

    async def _send(self, write: Write[R]) -> R:
        if write.guarded:
            return await self._guarded.write(write)
        return await send(self._executor, self._context, write)

    async def write(self, write: Write[R]) -> R:
        """Carry out the write of one item."""
        if write.kind is None and isinstance(write, Check):
            raise OperationError(
                f"{write!r} works only in a transaction: session.transact_write([Check(...), Put(...)])"
            )
        if self.prepares(write):
            await self._before(write)
            return await self.after_hooks(write)
        if write.unneeded:
            return write.result({}, self._context)
        if write.guarded:
            result = await self._guarded.write(write)
        else:
            # What ``send`` does, at one call less for each write (benchmarks: put_one).
            request = write.request(self._context)
            try:
                response = await self._executor.send(request)
            except ServiceError as error:
                explain(write, error)
            result = result_of(write, request, response, self._context)
        if self._hooks.after_write or write.definition.hooks.after_write:
            await self._hooks.written((write,))
        if self._hooks.follow(read := write.read(result)):
            await self._hooks.read(read)
        return result

    async def after_hooks(self, write: Write[R]) -> R:
        """Carry out a write whose hooks have run; one that got a number which is taken gets the next."""
        ready = await self._encoded(write) if self.prepares(write) else write
        if ready.unneeded:
            return ready.result({}, self._context)
        collisions = 0
        while True:
            try:
                result = await self._send(ready)
            except ConditionalCheckFailedError as error:
                collisions += 1
                if not collided(ready, error) or too_many(collisions, error, write):
                    raise
                ready = await self._encoded(write)
            else:
                await self._hooks.written((ready,))
                if self._hooks.follow(read := ready.read(result)):
                    await self._hooks.read(read)
                return result

    async def transact(self, transaction: TransactWrite) -> None:
        """Carry out a transaction; items that got numbers which are taken get the next ones, in another transaction."""
        await self._hooks.written((await self._done(transaction)).actions)

    async def _done(self, transaction: TransactWrite) -> TransactWrite:
        """Return a transaction as it was carried out, before the hooks that follow its writes."""
        if self._is_plain(transaction):
            await send(self._executor, self._context, transaction)
            return transaction
        ready = await self.all_ready(transaction)
        collisions = 0
        while True:
            sent = await self._guarded.with_guards(ready)
            try:
                await send(self._executor, self._context, sent)
            except (TransactionCanceledError, ConditionalCheckFailedError) as error:
                collisions += 1
                if not (sent.token is None and all_collided(sent, error)) or too_many(collisions, error, *sent.actions):
                    raise
                ready = transaction.of(await gather_all([self._encoded(write) for write in transaction.actions]))
            else:
                return ready


class FencedWrites(Writes):
    """Carries out writes that DynamoDB refuses as soon as another process has a lease.

    Each goes in a transaction that checks the lease, one after the other: two transactions that are about one item at
    the same time refuse each other.
    """

    shares_calls = False

    def __init__(
        self, executor: Executor, context: Context, hooks: SessionHooks, numbers: Numbers, fence: Fence
    ) -> None:
        """Create what carries out the writes of a session.

        Args:
            executor: sends requests.
            context: what the session adds to each operation.
            hooks: what runs before writes.
            numbers: where items that lack a number get one.
            fence: returns the check of the lease.
        """
        super().__init__(executor, context, hooks, numbers)
        self._together: Final = GuardedWrites(executor, context, fence)
        self._fence: Final = fence
        self._turn: Final = asyncio.Lock()

    async def write(self, write: Write[R]) -> R:
        """Carry out the write of one item."""
        asked: object = write  # or checkers would narrow the type of the result, too
        if self.prepares(write) or isinstance(asked, Check):
            return await super().write(write)
        return await self.after_hooks(write)

    async def _send(self, write: Write[R]) -> R:
        async with self._turn:
            if write.guarded:
                return await self._together.write(write)
            return await self._together.alone(write)

    async def _done(self, transaction: TransactWrite) -> TransactWrite:
        """Return a transaction, of up to 99 actions, as it was carried out."""
        fenced = transaction.of((*transaction.actions, self._fence()))
        try:
            async with self._turn:
                return await super()._done(fenced)
        except TransactionCanceledError as error:
            lost = next((each.error for each in error.reasons if isinstance(each.error, LeaseLostError)), None)
            if lost is None:
                raise
            raise lost from None


class GuardedWrites:
    """Carries out writes that may change unique values, or that a fence goes with."""

    def __init__(self, executor: Executor, context: Context, fence: Fence | None = None) -> None:
        self._executor = executor
        self._context = context
        self._fence = fence

    async def alone(self, write: Write[R]) -> R:
        """Carry out a write that changes no unique value."""
        return await self._carry_out(write, ())

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
        return await self._carry_out(*with_guards(write, before, foreign=foreign))

    async def _carry_out(self, own: Write[R], guards: tuple[Write[Any], ...]) -> R:
        if self._fence is not None:
            guards = (*guards, self._fence())
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
    return ItemNotFoundError(f"the {model} was written, but then deleted by somebody else", model=model)


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
        f"this {kind} does not know the stored values of the unique fields of {model} ({fields}); write {remedy} to "
        "read them first, or use create, save or delete(item) with an item that was read"
    )
