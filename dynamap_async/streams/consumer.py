"""``Consumer``: one worker of a group that handles the changes of a table; ``session.consumer`` makes it.

Invariant: what a run has started has ended when it returns, raises or is cancelled; its shards are given back by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context as ContextVariables
from functools import partial
from typing import Any, Final, Generic, TypeVar

import anyio

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError, ServiceError, SessionStateError, TransportError
from dynamap_async.executor import Account, Executor, Limits
from dynamap_async.leases.records import new_owner
from dynamap_async.models import Model
from dynamap_async.planning import UnknownItem
from dynamap_async.streams.changes import ChangeDecoder, ItemChange
from dynamap_async.streams.checkpoints import Checkpoints
from dynamap_async.streams.group import LOOKS, Group, ShardLease
from dynamap_async.streams.positions import Position
from dynamap_async.streams.reading import OnGap, ShardReader, check_reading
from dynamap_async.streams.requests import StreamRequests, may_pass
from dynamap_async.streams.room import Room
from dynamap_async.streams.work import (
    ChangeList,
    Failed,
    KeyedChanges,
    ListedChanges,
    MakeQueue,
    Rules,
    ShardWork,
    WorkCounts,
    WorkerRun,
    logger,
)
from dynamap_async.turns import new_task

M = TypeVar("M", bound=Model | UnknownItem)
R = TypeVar("R")

ASKING_SECONDS: Final = 1.0
"""How often a worker looks at the leases while it waits for a shard that it has asked for."""
_WRITES: Final = frozenset(
    ("BatchWriteItem", "DeleteItem", "ExecuteStatement", "PutItem", "TransactWriteItems", "UpdateItem")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStatistics:
    """What a worker does with one of its shards."""

    shard_id: str
    """The shard."""
    lag_seconds: float
    """How old the newest change was when it was fetched; 0 where there was nothing new."""
    waiting: int
    """How many changes were fetched and are not done."""
    calls: int
    """How many GetRecords were sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerStatistics:
    """What a consumer has done until now, and what it does."""

    shards: tuple[ShardStatistics, ...] = ()
    """One for each shard that it has, the oldest first."""
    changes: int = 0
    """How many changes are done."""
    retries: int = 0
    """How often a call of the function was repeated."""
    failures: int = 0
    """How many changes failed for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """What ``session.consumer`` was told."""

    group: str
    """The name of the group."""
    start: Position
    """Where the group begins."""
    reset: bool
    """Whether it begins anew."""
    attempts: int
    """How often a change is tried."""
    on_failure: Failed | None
    """What is told of a change that failed so often; None to stop."""
    on_gap: OnGap
    """What becomes of a position that is not kept any more."""
    lease_seconds: float
    """How long a shard is held without having been renewed."""
    handover_seconds: float
    """How long what is handled may go on when another worker is to have the shard."""
    idle_seconds: float
    """How long one request comes after another at most, where there is nothing new."""
    allow_loops: bool
    """Whether the function may write to the table whose changes it gets."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            OperationError: a value is none that it can have.
        """
        if not self.group or "#" in self.group:
            raise OperationError(
                f"group={self.group!r}: give a name without '#', the same for all workers of the group"
            )
        check_reading(self.on_gap, self.idle_seconds)
        for name in ("lease_seconds", "handover_seconds"):
            if not getattr(self, name) > 0:
                raise OperationError(f"{name}={getattr(self, name)!r}: give a number of seconds above 0")
        if self.attempts < 1:
            raise OperationError(f"attempts={self.attempts!r}: give a number from 1 on")


class Consumer(Generic[M]):
    """One worker of a group. Each of the group's shards is read by one of its workers at a time."""

    def __init__(
        self,
        executor: Executor,
        decoder: ChangeDecoder,
        settings: ConsumerSettings,
        checkpoints: Checkpoints,
        *,
        table: str,
        open_store: Callable[[], Coroutine[Any, Any, None]],
        clock: Callable[[], float],
        close_seconds: float,
    ) -> None:
        """Prepare a worker; nothing is sent yet.

        Args:
            executor: carries the requests out.
            decoder: makes changes of records.
            settings: what ``session.consumer`` was told.
            checkpoints: where the group's records are.
            table: the full name of the table.
            open_store: makes what the records are kept in, if it is missing.
            clock: the time of day, in epoch seconds.
            close_seconds: how long giving the shards back may take.
        """
        self._executor: Final = executor
        self._decoder: Final = decoder
        self._settings: Final = settings
        self._checkpoints: Final = checkpoints
        self._requests: Final = StreamRequests(executor, table)
        self._open_store: Final = open_store
        self._clock: Final = clock
        self._close_seconds: Final = close_seconds
        self._counts: Final = WorkCounts()
        self._works: Final[dict[str, ShardWork]] = {}
        self._is_running = False
        self._is_stopping = False
        self._has_warned = settings.allow_loops

    def __repr__(self) -> str:
        return f"<Consumer of {self._requests.table!r} in group {self._settings.group!r}>"

    def statistics(self) -> ConsumerStatistics:
        """Return what it has done until now, as a value that does not change. Sends nothing."""
        shards = tuple(
            ShardStatistics(
                shard_id=shard, lag_seconds=work.reader.lag_seconds, waiting=work.waiting, calls=work.reader.calls
            )
            for shard, work in sorted(self._works.items())
        )
        counts = self._counts
        return ConsumerStatistics(
            shards=shards, changes=counts.changes, retries=counts.retries, failures=counts.failures
        )

    async def run(self, handle: Callable[[ItemChange[M]], Awaitable[object]], /, *, concurrency: int = 32) -> None:
        """Call a function with each change, until this is cancelled.

        Changes of one item come one after the other, those of different items side by side. A change is done when the
        function returns; it may come again after a worker died, so the function should be one that may be repeated.

        Args:
            handle: an async function of one change. What it raises has it called again, with pauses.
            concurrency: how many calls run at the same time, from 1.

        Raises:
            ChangeFailedError: it raised as often as it may, and ``on_failure`` is ``"stop"``.
            ChangesLostError: changes are gone that were not read, and ``on_gap`` is ``"raise"``.
            OperationError: the table has no stream.
            SessionStateError: it runs already.
            ServiceError: DynamoDB refused a request.
            TransportError: no answer came.

        Cost:
            GetRecords: up to five a second and shard, one a second where nothing happens. For each shard a write unit
            for each half second in which changes are done, and every three seconds otherwise, and a read unit every
            three seconds.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
        """
        if concurrency < 1:
            raise OperationError(f"run(concurrency={concurrency!r}): give a number from 1 on")
        await self._run(handle, KeyedChanges, concurrency)

    async def run_batches(
        self,
        handle: Callable[[ChangeList[M]], Awaitable[object]],
        /,
        *,
        size: int = 500,
        seconds: float = 1.0,
        concurrency: int = 32,
    ) -> None:
        """Call a function with lists of changes of one shard, in order, until this is cancelled.

        A list is done when the function returns. If it says ``changes.failed(change, error)``, those before that one
        are done, and the others come again.

        Args:
            handle: an async function of a list of changes. What it raises has it called again with the same ones.
            size: how many changes a list has at most, from 1.
            seconds: how long a change waits at most for others.
            concurrency: how many lists, of different shards, are handled at the same time, from 1.

        Raises:
            ChangeFailedError: a change failed as often as it may, and ``on_failure`` is ``"stop"``.
            ChangesLostError: changes are gone that were not read, and ``on_gap`` is ``"raise"``.
            OperationError: the table has no stream.
            SessionStateError: it runs already.
            ServiceError: DynamoDB refused a request.
            TransportError: no answer came.

        Cost:
            As ``run``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
        """
        if size < 1 or concurrency < 1 or not seconds >= 0:
            raise OperationError(
                f"run_batches(size={size!r}, seconds={seconds!r}, concurrency={concurrency!r}): give a size and a "
                "concurrency from 1 on, and seconds from 0 on"
            )
        await self._run(handle, partial(ListedChanges, size=size, seconds=seconds), concurrency)

    async def _run(self, function: Callable[[Any], Awaitable[object]], make_queue: MakeQueue, concurrency: int) -> None:
        if self._is_running:
            raise SessionStateError("this consumer runs already; make another one with session.consumer(...)")
        self._is_running, self._is_stopping = True, False
        account = Account(self._executor.ledger, f"consumer {self._settings.group}")
        self._executor.ledger.begin_scope(Limits())
        try:
            run = await self._begin(account, concurrency)
            await self._go_on(run, account, function, make_queue)
        finally:
            self._is_running = False

    async def _begin(self, account: Account, concurrency: int) -> WorkerRun:
        settings = self._settings
        await _apart(self._open_store())
        group = Group(
            settings.group,
            self._requests,
            self._checkpoints,
            owner=new_owner(),
            seconds=settings.lease_seconds,
            start=settings.start,
            clock=self._clock,
        )
        await _apart(group.begin(reset=settings.reset))
        rules = Rules(
            group=settings.group,
            concurrency=concurrency,
            attempts=settings.attempts,
            on_failure=settings.on_failure,
            lease_seconds=settings.lease_seconds,
            handover_seconds=settings.handover_seconds,
            close_seconds=self._close_seconds,
        )
        return WorkerRun(
            rules=rules,
            checkpoints=self._checkpoints,
            group=group,
            decoder=self._decoder,
            room=Room(),
            slots=asyncio.Semaphore(concurrency),
            enter=account.enter,
            tell=self._executor.tell if self._executor.ledger.observed else None,
            clock=self._clock,
            counts=self._counts,
        )

    async def _go_on(
        self, run: WorkerRun, account: Account, function: Callable[[Any], Awaitable[object]], make_queue: MakeQueue
    ) -> None:
        """Look at the group's records again and again, and work at the shards that are taken."""
        failures: list[Exception] = []
        changed = asyncio.Event()

        async def work_at(lease: ShardLease) -> None:
            try:
                await self._work(run, lease, function, make_queue)
            except Exception as error:  # noqa: BLE001 - it is raised below
                failures.append(error)
                tasks.cancel_scope.cancel()
            changed.set()

        async with anyio.create_task_group() as tasks:
            try:
                while True:
                    changed.clear()
                    for lease in await self._look(run.group):
                        run.group.held[lease.shard] = lease
                        tasks.start_soon(work_at, lease)
                    self._warn_of_loops(account)
                    pause = run.rules.lease_seconds / LOOKS
                    with anyio.move_on_after(min(pause, ASKING_SECONDS) if run.group.is_asking else pause):
                        await changed.wait()
            except Exception as error:  # noqa: BLE001 - it is raised below
                failures.append(error)
            finally:
                await self._stop(changed)
        if failures:
            raise failures[0]

    async def _stop(self, changed: asyncio.Event) -> None:
        """Let what is in the function end, and give all shards back, in the time that closing may take."""
        self._is_stopping = True
        for work in self._works.values():
            work.stop()
        try:
            with anyio.CancelScope(shield=True), anyio.move_on_after(self._close_seconds):
                while self._works:
                    changed.clear()
                    await changed.wait()
        finally:
            for work in self._works.values():
                work.cancel()

    async def _look(self, group: Group) -> list[ShardLease]:
        """Look at the group's records once; what fails for a moment is left to the next time."""
        try:
            return await _apart(group.look())
        except (ServiceError, TransportError) as error:
            if not may_pass(error):
                raise
            logger.warning("the leases of group %s could not be looked at: %s", group.name, error)
            return []

    async def _work(
        self, run: WorkerRun, lease: ShardLease, function: Callable[[Any], Awaitable[object]], make_queue: MakeQueue
    ) -> None:
        """Work at one shard until that ends."""
        position = run.group.position(lease)
        reader = ShardReader(
            self._requests,
            run.group.stream,
            lease.shard,
            position,
            room=run.room,
            clock=self._clock,
            tell=self._executor.tell,
            is_new=run.group.is_new(lease),
            on_gap=self._settings.on_gap,
            idle_seconds=self._settings.idle_seconds,
        )
        work = self._works[lease.shard] = ShardWork(run, lease, reader, position, function, make_queue)
        if self._is_stopping:  # it was taken in the turn of the loop in which the others were stopped
            work.stop()
        try:
            await work.run()
        finally:
            del self._works[lease.shard]
            del run.group.held[lease.shard]

    def _warn_of_loops(self, account: Account) -> None:
        """Warn once if the function writes to the table whose changes it gets."""
        if self._has_warned:
            return
        table = self._requests.table
        if any(operation in _WRITES and at == table for operation, at in account.whole.by_operation):
            self._has_warned = True
            logger.warning(
                "the function of group %s writes to %s, whose changes it gets: each call brings others. Have it leave "
                "items that are as it wants them, and say allow_loops=True",
                self._settings.group,
                table,
            )


async def _apart(coroutine: Coroutine[Any, Any, R]) -> R:
    """Await something in a context of its own: what it sends is as urgent as can be, and no part of any scope."""
    return await new_task(coroutine, ContextVariables())
