"""Truncation: all items of a table are deleted, and the table stays.

Invariant: nothing is kept of how far it came, for what is deleted is not read again. When it ends, by whatever means,
no page is being read for it, and what was not sent is withdrawn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DynamapError, OperationError, TableProtectedError
from dynamap_async.executor import Account, Chunk, Executor, Limits, deadline_now, paying
from dynamap_async.limits import BATCH_WRITE_REQUESTS
from dynamap_async.models import Model, Table, definition_of
from dynamap_async.native import plain
from dynamap_async.planning import subclass_definitions
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.schema import TableSchema
from dynamap_async.tables.requests import TableDescription, key_scan_request
from dynamap_async.transport import UNREADABLE, unreadable
from dynamap_async.turns import next_turn
from dynamap_async.wire import Body, WireKey

_CALLS_AT_A_TIME: Final = 16
"""How many calls' worth of deletions are under way at most."""
_PACED_CALLS: Final = 2
"""The same where they wait for units."""

WatchTruncation: TypeAlias = Callable[[int], object]
"""Is told how many items are known to be deleted, each time that some more are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """What it took to delete all items of a table."""

    table: str
    """The full table name."""
    items: int
    """How many items were deleted."""
    read_units: float
    """The read units that it took."""
    write_units: float
    """The write units that it took, with those of indexes."""


def check_truncation(model: type[Model] | Table, found: TableDescription, *, force: bool) -> None:
    """Raise if the items of a table may not be deleted.

    Args:
        model: the model, or the shared table.
        found: the table as it is described.
        force: whether protection against deletion is no reason.

    Raises:
        OperationError: the model, or one of the table's, has unique fields.
        TableProtectedError: the table is protected.
    """
    name = found.schema.name
    members = model.models.values() if isinstance(model, Table) else (model,)
    for each in map(definition_of, members):
        if any(own.uniques for own in (each, *subclass_definitions(each))):
            raise OperationError(
                f"truncate of {name}: {each.model.__name__} has unique fields, and their values would stay taken; use "
                "session.delete_many(..., read_first=True) with the items of a scan instead"
            )
    if found.is_protected and not force:
        raise TableProtectedError(table=name)


async def truncate(executor: Executor, table: TableSchema, watch: WatchTruncation | None) -> Truncation:
    """Delete all items of a table that are there when their page is read, and return what that took.

    Args:
        executor: sends the requests.
        table: the table, by its full name.
        watch: is told how many items are deleted by now, if anything is.
    """
    executor.ledger.begin_scope(Limits())
    account = Account(executor.ledger, f"truncate {table.name}")
    with paying(account):
        items = await _delete_all(executor, table, watch)
    usage = account.whole.usage()
    return Truncation(table=table.name, items=items, read_units=usage.read_units, write_units=usage.write_units)


async def _delete_all(executor: Executor, table: TableSchema, watch: WatchTruncation | None) -> int:
    """Delete all items, and return how many they were."""
    deletions = _Deletions(executor, table.name, watch)
    pages = executor.pages(lambda start, _: scan_request(table, start), table.keys.key_of, want=None, start=None)
    try:
        while not pages.ended:
            for item in (await pages.next_page()).items:
                try:
                    key = table.keys.key_of(plain(item))
                    target = Target(key, identity_of(table.name, key))
                except UNREADABLE as error:
                    unreadable(error, scan_request(table, None), (item,))
                await deletions.add(target)
        await deletions.finish()
    finally:
        deletions.cancel()
        await pages.aclose()
    return deletions.items


def scan_request(table: TableSchema, start: WireKey | None) -> Request:
    """Return the request that reads the keys of a page of items, those that were written a moment ago included.

    Args:
        table: the table, by its full name.
        start: the key to go on after; None for the first page.
    """
    return key_scan_request(table, start, ConsistentRead=True)


class _DeletionChunk(Chunk):
    """Deletions that fill a call, which wait for their units together."""

    __slots__ = ("_deletions", "asked", "identities", "size")

    waits = True

    def __init__(self, table: str, deletions: Sequence[Request]) -> None:
        """Take the deletions.

        Args:
            table: the full table name.
            deletions: they.
        """
        self._deletions = deletions
        self.asked: Request = Request(operation="DeleteItem", body={"TableName": table}, table=table, writes=True)
        self.size: int = len(deletions)
        self.identities: Collection[str] = [each.target.identity for each in deletions if each.target is not None]

    def call(self) -> Request:
        """Return the BatchWriteItem request."""
        entries = [{"DeleteRequest": {"Key": each.body["Key"]}} for each in self._deletions]
        body = {"RequestItems": {self.asked.table: entries}}
        return Request(operation="BatchWriteItem", body=body, table=self.asked.table, writes=True)

    def requests(self) -> Sequence[Request]:
        """Return the DeleteItem requests."""
        return self._deletions

    def takes(self, answer: Body) -> bool:
        """Return whether nothing is left over."""
        return not answer.get("UnprocessedItems")


class _DeletionCall:
    """Deletions that are submitted together: as a chunk, or one by one where that has to be looked at."""

    def __init__(
        self,
        executor: Executor,
        table: str,
        deletions: Sequence[Request],
        give_back: Callable[[Sequence[Request]], None],
    ) -> None:
        """Submit them; where one is refused, such as for a budget, those before it are carried out all the same.

        Args:
            executor: sends them.
            table: the full table name.
            deletions: they.
            give_back: called with those that are to go with others, or that were withdrawn.
        """
        self.deleted: int = 0
        """How many of them are known to be done."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once all of them are, or were given back, with the first error if there is one."""
        self._executor = executor
        self._table = table
        self._deletions = deletions
        self._give_back = give_back
        self._error: BaseException | None = None
        self._futures: Sequence[asyncio.Future[Body]] = ()
        self._left = 0
        chunk = _DeletionChunk(table, deletions)
        whole = executor.submit_chunk(chunk, deadline_now(), executor.ledger.payer(), self._taken_apart)
        if whole is not None:
            self._follow([whole], [deletions])
            return
        futures: list[asyncio.Future[Body]] = []
        for each in deletions:
            try:
                futures.append(executor.submit(each))
            except DynamapError as error:
                self._error = error
                break
        self._follow(futures, [[each] for each in deletions])
        self._end_if_settled()

    def _taken_apart(self, futures: Sequence[asyncio.Future[Body]]) -> None:
        """Let the futures of the deletions take the place of that of their chunk."""
        self._follow(futures, [[each] for each in self._deletions])
        # Whoever takes it apart answers those of its deletions that are done, and then gives way.
        asyncio.get_running_loop().call_soon(self._withdraw_left_over)

    def _withdraw_left_over(self) -> None:
        """Give back what an answer has left over, if the table is paced.

        A call of a few costs nearly as much as a full one. Elsewhere, and where nothing was done, it waits out its
        backoff.
        """
        done = [each for each in self._futures if each.done() and not each.cancelled() and each.exception() is None]
        if done and self._executor.is_paced(self._table):
            for each in self._futures:
                each.cancel()

    def _follow(self, futures: Sequence[asyncio.Future[Body]], deletions: Sequence[Sequence[Request]]) -> None:
        """Record what becomes of futures, each of which stands for some deletions."""
        self._futures, self._left = futures, len(futures)
        for future, own in zip(futures, deletions, strict=False):  # none follow one that was refused
            future.add_done_callback(partial(self._settled, own))

    def _settled(self, deletions: Sequence[Request], future: asyncio.Future[Body]) -> None:
        self._left -= 1
        if future.cancelled():
            self._give_back(deletions)
        elif (error := future.exception()) is not None:
            self._error = self._error or error
        else:
            self.deleted += len(deletions)
        self._end_if_settled()

    def _end_if_settled(self) -> None:
        if self._left or self.over.done():
            return
        if self._error is not None:
            self.over.set_exception(self._error)
        else:
            self.over.set_result(None)

    def cancel(self) -> None:
        """Withdraw what was not sent, and wait for nothing; what was sent ends unobserved."""
        for future in self._futures:
            future.cancel()
        if not self.over.cancel() and not self.over.cancelled():
            self.over.exception()  # looked at, or asyncio would report it: the first one was raised


class _Deletions:
    """Deletions of items, submitted by as many as fill a call, and a bounded number of them at a time."""

    def __init__(self, executor: Executor, table: str, watch: WatchTruncation | None) -> None:
        """Begin with none.

        Args:
            executor: sends the requests.
            table: the full table name.
            watch: is told how many items are deleted by now, if anything is.
        """
        self._executor = executor
        self._table = table
        self._watch = watch
        self._ready: list[Request] = []
        self._calls: deque[_DeletionCall] = deque()
        """What was submitted and not waited for."""
        self.items: int = 0
        """How many items are known to be deleted."""

    async def add(self, target: Target) -> None:
        """Delete an item, at the latest with the next 24.

        Args:
            target: the item.

        Raises:
            DynamapError: an earlier one could not be deleted.
        """
        body = {"TableName": self._table, "Key": target.key}
        self._ready.append(
            Request(operation="DeleteItem", body=body, table=self._table, target=target, batchable=True, writes=True)
        )
        while len(self._ready) >= BATCH_WRITE_REQUESTS:
            self._submit()
            await next_turn()
            while len(self._calls) >= self._most_calls:
                await self._wait_for_oldest()

    async def finish(self) -> None:
        """Wait until everything is deleted.

        Raises:
            DynamapError: something could not be deleted.
        """
        self._submit()
        while self._calls:
            await self._wait_for_oldest()
            self._submit()  # what was given back

    def cancel(self) -> None:
        """Withdraw what was not sent, and wait for nothing; what was sent ends unobserved."""
        for call in self._calls:
            call.cancel()

    @property
    def _most_calls(self) -> int:
        # Where they wait for units, more of them would be sent no sooner.
        return _PACED_CALLS if self._executor.is_waited_for(self._table) else _CALLS_AT_A_TIME

    def _submit(self) -> None:
        ready, self._ready = self._ready[:BATCH_WRITE_REQUESTS], self._ready[BATCH_WRITE_REQUESTS:]
        if ready:
            self._calls.append(_DeletionCall(self._executor, self._table, ready, self._ready_again))

    def _ready_again(self, deletions: Sequence[Request]) -> None:
        self._ready += deletions

    async def _wait_for_oldest(self) -> None:
        call = self._calls[0]
        try:
            await call.over
        finally:
            self.items += call.deleted
            if self._watch is not None and call.deleted:
                self._watch(self.items)
        self._calls.popleft()
