"""Writing: what happens around the write of one item, in one order.

1. The item is made ready: what has to be awaited (hooks, numbers) is awaited, in the caller's task.
2. It is encoded, as it is then.
3. The request is sent by the executor.
4. A refusal becomes the caller's error, with the stored item as an instance; an acknowledgement moves the instance on.
"""

import asyncio
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from dynamap_async.errors import ConditionalCheckFailedError, OperationError, ServiceError, TransactionCanceledError
from dynamap_async.executor import Executor, together
from dynamap_async.operations import Check, TransactWrite, Write
from dynamap_async.planning import Context
from dynamap_async.session.hooks import SessionHooks, run_before_write
from dynamap_async.session.numbering import Numbers, all_collided, collided, too_many
from dynamap_async.session.sending import explain, result_of, send
from dynamap_async.session.uniques import GuardedWriting, check_knowledge

R = TypeVar("R")


class Writing:
    """Makes writes ready, and carries them out."""

    def __init__(self, executor: Executor, context: Context, hooks: SessionHooks) -> None:
        self._executor = executor
        self._context = context
        self._hooks = hooks
        self.numbers: Numbers = Numbers(executor, context)
        """Where items that lack a number get one."""
        self.turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """The turns that those take who met a conflict on the same item."""
        self._guarded = GuardedWriting(executor, context)

    def prepares(self, write: Write[Any]) -> bool:
        """Return whether a write has to be made ready before it can be encoded."""
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
        """Return whether no write has to be made ready, or has guards; asked of each model once."""
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
        return transaction.of(await together([self._encoded(write) for write in transaction.actions]))

    async def _before(self, write: Write[Any]) -> None:
        if write.item is not None and write.kind is not None:
            await run_before_write(self._hooks.before(write.definition), write.item, write.kind)

    async def _encoded(self, write: Write[R]) -> Write[R]:
        if not self.prepares(write):
            return write
        return write.numbered(await self.numbers.next_of(write)) if write.needs_number else write.encoded()

    async def _send(self, write: Write[R]) -> R:
        if write.guarded:
            return await self._guarded.write(write)
        return await send(self._executor, self._context, write)

    async def write(self, write: Write[R]) -> R:
        """Carry out the write of one item."""
        if write.kind is None and isinstance(write, Check):
            raise OperationError(f"{write!r} is part of a transaction: session.transact_write([Check(...), Put(...)])")
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
                if self._hooks.follow(read := ready.read(result)):
                    await self._hooks.read(read)
                return result

    async def transact(self, transaction: TransactWrite) -> None:
        """Carry out a transaction; items that got numbers which are taken get the next ones, in another transaction."""
        if self._is_plain(transaction):
            return await send(self._executor, self._context, transaction)
        ready = await self.all_ready(transaction)
        collisions = 0
        while True:
            sent = await self._guarded.with_guards(ready)
            try:
                return await send(self._executor, self._context, sent)
            except (TransactionCanceledError, ConditionalCheckFailedError) as error:
                collisions += 1
                if not (sent.token is None and all_collided(sent, error)) or too_many(collisions, error, *sent.actions):
                    raise
                ready = transaction.of(await together([self._encoded(write) for write in transaction.actions]))
