"""The work at one shard: its changes are read, handed to a function, and done; its lease is renewed beside that.

Invariant: a change is handed out after all earlier ones of the same item are done, and is done when the function has
returned, or whoever is told of failures has. What is stored is the last change of which all earlier ones are done.
When the work ends, nothing that it started is running, and the shard is given back unless it was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context as ContextVariables
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

import anyio

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ChangeFailedError, OperationError, ResourceNotFoundError, ServiceError, TransportError
from dynamap_async.events import Event
from dynamap_async.models import Model
from dynamap_async.planning import UnknownItem
from dynamap_async.request import identity_of
from dynamap_async.streams.changes import ChangeDecoder, ItemChange
from dynamap_async.streams.checkpoints import Checkpoints
from dynamap_async.streams.events import HandlerCalled, HandlerEnded, LeaseLost, LeaseTaken
from dynamap_async.streams.group import Group, ShardLease
from dynamap_async.streams.positions import Handled, Position
from dynamap_async.streams.reading import ShardReader
from dynamap_async.streams.requests import may_pass
from dynamap_async.streams.room import Room
from dynamap_async.turns import WorkPace, new_task, next_turn

M = TypeVar("M", bound=Model | UnknownItem)
R = TypeVar("R")

logger: logging.Logger = logging.getLogger("dynamap_async")

WRITE_SECONDS: Final = 0.5
"""How often a position is stored, where it has moved."""
WRITE_CHANGES: Final = 1_000
"""After how many changes it is stored earlier."""
RENEWALS: Final = 3
"""How often a lease is renewed in the time that its holder goes on without."""
_LOOK_CHANGES: Final = 64
"""How many changes are handled at most between two looks at the clock."""
_SLICE_CHANGES: Final = 100
"""How many records are taken in before other tasks have their turn: some 2 ms."""
_LONGEST_PAUSE: Final = 10.0

Failed: TypeAlias = Callable[[ItemChange[Any], Exception], Awaitable[object]]
"""What is told of a change that failed for good, and which is done when it returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How the changes of all shards are handled."""

    group: str
    """The name of the group."""
    concurrency: int
    """How many calls of the function run at the same time, of all shards together."""
    attempts: int
    """How often a change is tried."""
    on_failure: Failed | None
    """What is told of a change that failed so often; None to stop."""
    lease_seconds: float
    """How long a shard is held without having been renewed."""
    handover_seconds: float
    """How long what is in the function may go on when another worker is to have the shard."""
    close_seconds: float
    """How long giving a shard back may take."""


class WorkCounts:
    """What a run has done; one for all of its shards."""

    __slots__ = ("_calls", "changes", "failures", "retries")

    def __init__(self) -> None:
        self.changes: int = 0
        """How many changes are done."""
        self.retries: int = 0
        """How often a call of the function was repeated."""
        self.failures: int = 0
        """How many changes failed for good."""
        self._calls = 0

    def next_call(self) -> int:
        """Return the number of a call of the function, from 1."""
        self._calls += 1
        return self._calls

    def add(self, *, changes: int = 0, retries: int = 0, failures: int = 0) -> None:
        """Count what has happened.

        Args:
            changes: how many more changes are done.
            retries: how many more calls were repeated.
            failures: how many more changes failed for good.
        """
        self.changes += changes
        self.retries += retries
        self.failures += failures


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRun:
    """What the work at all shards of a worker has in common."""

    rules: Rules
    checkpoints: Checkpoints
    group: Group
    decoder: ChangeDecoder
    room: Room
    slots: asyncio.Semaphore
    """One for each call of the function that may run."""
    enter: Callable[[], None]
    """Called in each task that calls the function, before it does."""
    tell: Callable[[Event], None] | None
    """Tells observers of an event; None where there are none."""
    clock: Callable[[], float]
    counts: WorkCounts


class Pending(NamedTuple):
    """A change that is to be handled."""

    number: int
    """Its sequence number."""
    change: ItemChange[Any]


class Queue(Protocol):
    """The changes of a shard that wait for the function, and what calls it."""

    def put(self, pending: Sequence[Pending]) -> None:
        """Take changes, in the order of the shard.

        Args:
            pending: the changes.
        """
        ...

    async def work(self) -> None:
        """Call the function until no change is left that could be handled now.

        Raises:
            ChangeFailedError: a change failed for good, and the shard is to stop.
        """
        ...

    def finish(self) -> None:
        """Do not wait for more changes: there are none."""
        ...

    def drop(self) -> list[Pending]:
        """Drop the changes behind the last one that was begun, and return them."""
        ...


class Handler:
    """Calls a user's function: again where it raises, and with the events around each call."""

    def __init__(self, run: WorkerRun, shard: str, function: Callable[[Any], Awaitable[Any]]) -> None:
        """Take the function.

        Args:
            run: what all shards have in common.
            shard: the id of the shard whose changes are handled.
            function: what is called with a change, or with a list of them.
        """
        self._run: Final = run
        self._shard: Final = shard
        self._function: Final = function

    async def call(self, first: ItemChange[Any], given: Any, size: int, attempt: int) -> Any:
        """Call the function once, and return what it returns.

        Args:
            first: the first change that is given.
            given: what it gets.
            size: how many changes that are.
            attempt: which attempt it is, from 1.
        """
        tell = self._run.tell
        if tell is None:
            return await _called(self._function(given))
        loop = asyncio.get_running_loop()
        number, began = self._run.counts.next_call(), loop.time()
        tell(
            HandlerCalled(
                at=began,
                call_id=number,
                group=self._run.rules.group,
                stream_arn=self._run.group.stream,
                shard_id=self._shard,
                sequence_number=first.sequence_number,
                changes=size,
                attempt=attempt,
            )
        )
        failure: type[BaseException] | None = None
        try:
            return await _called(self._function(given))
        except BaseException as error:
            failure = type(error)
            raise
        finally:
            now = loop.time()
            tell(HandlerEnded(at=now, call_id=number, duration_seconds=now - began, error=failure))

    async def pause(self, attempt: int) -> None:
        """Wait before the next attempt.

        Args:
            attempt: which one has failed, from 1.
        """
        self._run.counts.add(retries=1)
        await asyncio.sleep(min(0.1 * 2**attempt, _LONGEST_PAUSE))

    async def give_up(self, change: ItemChange[Any], error: Exception) -> None:
        """Tell of a change that failed for good; it is done after that.

        Args:
            change: the change.
            error: what the function raised last.

        Raises:
            ChangeFailedError: nobody wants to be told, so the shard is to stop.
        """
        self._run.counts.add(failures=1)
        if self._run.rules.on_failure is None:
            raise ChangeFailedError(
                f"the change {change.sequence_number} of {change.key} in {self._shard} failed "
                f"{self._run.rules.attempts} times, the last time with {error!r}; mend the function, or give "
                "on_failure= a function that keeps such changes elsewhere",
                change=change,
            ) from error
        await _called(self._run.rules.on_failure(change, error))


async def _called(call: Awaitable[R]) -> R:
    """Await a function of the user's. A cancellation that comes out of it is a failure, unless this task is cancelled.

    As the end of this task it would end the work at the shard, which would begin again without a pause.
    """
    try:
        return await call
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise OperationError(
            "the function raised CancelledError, and nobody cancelled it: something that it awaits was cancelled; "
            "have it raise an error of its own there"
        ) from error


class KeyedChanges:
    """Changes that are handled one by one: those of an item one after the other, those of different items together."""

    def __init__(
        self, handler: Handler, run: WorkerRun, done: Callable[[Pending], None], more: Callable[[], None]
    ) -> None:
        """Wait for changes.

        Args:
            handler: calls the function.
            run: what all shards have in common.
            done: called with each change that is done.
            more: has another task call ``work``.
        """
        self._handler: Final = handler
        self._run: Final = run
        self._done: Final = done
        self._more: Final = more
        self._lines: Final[dict[str, deque[Pending]]] = {}
        """Key of an item -> its changes that are not done, the one that is handled first."""
        self._ready: Final[deque[str]] = deque()
        """The keys whose first change may be handled now."""
        self._begun = 0
        """The highest number of a change that was begun."""
        self._workers = 0
        self._is_starting = False

    def put(self, pending: Sequence[Pending]) -> None:
        """Take changes, in the order of the shard.

        Args:
            pending: the changes.
        """
        lines, ready = self._lines, self._ready
        for each in pending:
            key = identity_of("", each.change.wire_record["dynamodb"]["Keys"])
            line = lines.get(key)
            if line is None:
                lines[key] = deque((each,))
                ready.append(key)
            else:
                line.append(each)
        self._call_more()

    def _call_more(self) -> None:
        """Have another task handle what is ready, unless one begins already, or enough of them do."""
        if self._ready and not self._is_starting and self._workers < self._run.rules.concurrency:
            self._is_starting = True
            self._more()

    async def work(self) -> None:
        """Handle changes until none is ready.

        Raises:
            ChangeFailedError: a change failed for good, and the shard is to stop.
        """
        self._is_starting = False
        self._workers += 1
        try:
            while self._ready:
                async with self._run.slots:
                    await self._work_for_a_while()
        finally:
            self._workers -= 1

    async def _work_for_a_while(self) -> None:
        pace = WorkPace(_LOOK_CHANGES)
        pace.begin()
        since = 0
        ready = self._ready
        while ready:
            key = ready.popleft()
            self._call_more()
            line = self._lines[key]
            pending = line[0]
            self._begun = max(self._begun, pending.number)
            await self._handle(pending.change)
            line.popleft()
            if line:
                ready.append(key)
            else:
                del self._lines[key]
            self._done(pending)
            since += 1
            if since >= pace.items:
                if pace.is_over(since):
                    await pace.pause()
                    if self._run.slots.locked():  # others may wait, of other shards too
                        return
                since = 0

    async def _handle(self, change: ItemChange[Any]) -> None:
        attempt = 1
        while True:
            try:
                await self._handler.call(change, change, 1, attempt)
            except Exception as error:  # noqa: BLE001 - it is a user's function; whatever it raises goes one way
                if attempt >= self._run.rules.attempts:
                    return await self._handler.give_up(change, error)
            else:
                return None
            await self._handler.pause(attempt)
            attempt += 1

    def finish(self) -> None:
        """Do nothing: nobody waits here."""

    def drop(self) -> list[Pending]:
        """Drop the changes behind the last one that was begun, and return them."""
        dropped: list[Pending] = []
        for key, line in list(self._lines.items()):
            while line and line[-1].number > self._begun:
                dropped.append(line.pop())
            if not line:
                del self._lines[key]
        kept = [key for key in self._ready if key in self._lines]
        self._ready.clear()
        self._ready.extend(kept)
        return dropped


class ChangeList(list[ItemChange[M]]):
    """Changes of one shard, in order, as ``run_batches`` gives them."""

    def __init__(self, changes: Sequence[ItemChange[M]]) -> None:
        """Take the changes.

        Args:
            changes: the changes.
        """
        super().__init__(changes)
        self.failure: tuple[int, Exception] | None = None
        """The place of the first change that failed, and its error."""

    def failed(self, change: ItemChange[M], error: Exception) -> None:
        """Say that a change failed: all before it are done, and it is given again with those behind it.

        Args:
            change: one of these changes; of several the first counts.
            error: why.

        Raises:
            ValueError: it is none of these changes.
        """
        at = next((at for at, each in enumerate(self) if each is change), None)
        if at is None:
            raise ValueError(f"{change!r} is none of these changes; give one of the list")
        if self.failure is None or at < self.failure[0]:
            self.failure = (at, error)


class ListedChanges:
    """Changes that are handled in lists, one list of a shard after the other."""

    def __init__(
        self,
        handler: Handler,
        run: WorkerRun,
        done: Callable[[Pending], None],
        more: Callable[[], None],
        *,
        size: int,
        seconds: float,
    ) -> None:
        """Wait for changes.

        Args:
            handler: calls the function.
            run: what all shards have in common.
            done: called with each change that is done.
            more: has another task call ``work``.
            size: how many changes a list has at most.
            seconds: how long a change waits at most for others.
        """
        self._handler: Final = handler
        self._run: Final = run
        self._done: Final = done
        self._more: Final = more
        self._size: Final = size
        self._seconds: Final = seconds
        self._waiting: Final[deque[Pending]] = deque()
        self._under_way = 0
        """How many of them are in the function now, or in what is told of failures."""
        self._is_working = False
        self._since = 0.0
        """When the first of those that wait came."""
        self._full: Final = asyncio.Event()
        """Set where nothing is to be waited for."""
        self._is_finishing = False

    def put(self, pending: Sequence[Pending]) -> None:
        """Take changes, in the order of the shard.

        Args:
            pending: the changes.
        """
        if len(self._waiting) == self._under_way:
            self._since = asyncio.get_running_loop().time()
        self._waiting.extend(pending)
        if len(self._waiting) >= self._size:
            self._full.set()
        if self._waiting and not self._is_working:
            self._is_working = True
            self._more()

    async def work(self) -> None:
        """Handle lists until no change waits.

        Raises:
            ChangeFailedError: a change failed for good, and the shard is to stop.
        """
        attempt = 1
        try:
            while self._waiting:
                await self._until_due()
                if not self._waiting:  # they were dropped meanwhile
                    return
                async with self._run.slots:
                    attempt = await self._handle(attempt)
        finally:
            self._is_working = False

    async def _until_due(self) -> None:
        """Wait until a list is full, or its first change has waited long enough."""
        if self._is_finishing or len(self._waiting) >= self._size:
            return
        self._full.clear()
        with anyio.move_on_at(self._since + self._seconds):
            await self._full.wait()

    async def _handle(self, attempt: int) -> int:
        """Give one list to the function; return which attempt the next list is of its first change."""
        given = [self._waiting[at] for at in range(min(self._size, len(self._waiting)))]
        changes: ChangeList[Any] = ChangeList([each.change for each in given])
        self._under_way = len(given)
        try:
            await self._handler.call(changes[0], changes, len(changes), attempt)
        except Exception as error:  # noqa: BLE001 - it is a user's function; whatever it raises goes one way
            failure: tuple[int, Exception] | None = (0, error)
        else:
            failure = changes.failure
        finally:
            self._under_way = 0
        good = len(given) if failure is None else failure[0]
        for each in given[:good]:
            self._waiting.popleft()
            self._done(each)
        self._since = asyncio.get_running_loop().time()
        if failure is None:
            return 1
        attempt = attempt if good == 0 else 1
        if attempt < self._run.rules.attempts:
            await self._handler.pause(attempt)
            self._since = -self._seconds  # what is tried again does not wait for others
            return attempt + 1
        self._under_way = 1
        await self._handler.give_up(given[good].change, failure[1])
        self._under_way = 0
        self._waiting.popleft()
        self._done(given[good])
        return 1

    def finish(self) -> None:
        """Do not wait for more changes: there are none."""
        self._is_finishing = True
        self._full.set()

    def drop(self) -> list[Pending]:
        """Drop the changes that are in no list, and return them."""
        dropped = [self._waiting.pop() for _ in range(len(self._waiting) - self._under_way)]
        self.finish()
        return dropped


MakeQueue: TypeAlias = Callable[[Handler, WorkerRun, Callable[[Pending], None], Callable[[], None]], Queue]


class ShardWork:
    """The work of one worker at one shard that it has taken."""

    def __init__(
        self,
        run: WorkerRun,
        lease: ShardLease,
        reader: ShardReader,
        position: Position,
        function: Callable[[Any], Awaitable[Any]],
        make_queue: MakeQueue,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            run: what all shards have in common.
            lease: the shard, as it was taken.
            reader: reads it, from that position on.
            position: where it goes on.
            function: handles its changes.
            make_queue: makes what the changes wait in.
        """
        self.shard: Final = lease.shard
        self.reader: Final = reader
        self._run: Final = run
        self._record = lease.record
        self._handled: Final = Handled(position)
        self._queue: Final = make_queue(Handler(run, lease.shard, function), run, self._done, self._call_more)
        self._tasks: Final = anyio.create_task_group()
        # Scopes around the run do not cancel what is in the function: ``stop`` lets it end, and ``cancel`` does not.
        self._tasks.cancel_scope.shield = True
        self._feeding: Final = anyio.CancelScope()
        self._finishing: Final = anyio.CancelScope()
        self._idle: Final = asyncio.Event()
        """Set while no change is under way."""
        self._idle.set()
        self._moved: Final = asyncio.Event()
        """Set where the position is not as it was stored last."""
        self._due: Final = asyncio.Event()
        """Set where the position is to be stored now."""
        self._written = 0
        """How many changes were behind the position when it was stored last."""
        self._renewed = asyncio.get_running_loop().time()
        """When the last renewal that was answered had begun."""
        self._is_lost = False
        self._is_given = False
        """Whether another worker is to have it."""
        self._is_done = False
        """Whether its last change is done."""
        self._inside = (0, 0)
        """How many changes and bytes of it are in the room."""
        self._failure: Exception | None = None

    @property
    def waiting(self) -> int:
        """How many changes were read and are not behind the position."""
        return self._handled.under_way

    async def run(self) -> None:
        """Work until the shard is at its end, is lost, or is given to another worker.

        Raises:
            ChangeFailedError: a change failed for good, and the shard is to stop.
            ChangesLostError: changes are gone that were not read.
            ServiceError: DynamoDB refused a request.
            TransportError: no answer came.
        """
        self._tell(LeaseTaken)
        # A context of its own: what it sends is as urgent as can be, and no part of the scopes of whoever runs this.
        keeping = new_task(self._keep(), ContextVariables())
        try:
            async with self._tasks:
                try:
                    await self._work()
                except Exception as error:  # noqa: BLE001 - it is raised below
                    self._fail(error)
                self._tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(keeping)
        if self._failure is not None:
            raise self._failure

    async def _work(self) -> None:
        with self._feeding:
            while True:
                page = await self.reader.next()
                self._inside = self._inside[0] + len(page.records), self._inside[1] + page.size_bytes
                for at in range(0, len(page.records), _SLICE_CHANGES):
                    self._take_in(page.records[at : at + _SLICE_CHANGES])
                    await next_turn()
                if page.ended:
                    break
        self._queue.finish()
        with self._finishing:
            await self._idle.wait()
        if not self._is_given:
            try:
                await self._run.group.find_children(self.shard)
            except (ServiceError, TransportError) as error:
                # Who looks at the whole stream finds them; of one that is gone there are none.
                if not may_pass(error) and not isinstance(error, ResourceNotFoundError):
                    raise
            self._is_done = True

    def _take_in(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Have records handled."""
        if self._is_given:  # they came in the turn of the loop in which those before them were dropped
            return
        changes = list(self._run.decoder.changes(list(records), shard_id=self.shard))
        pending: list[Pending] = []
        wanted = iter(changes)
        change = next(wanted, None)
        for record in records:
            fields = record["dynamodb"]
            number = int(fields["SequenceNumber"])
            at = fields.get("ApproximateCreationDateTime")
            self._handled.begin(number, None if at is None else float(at))
            if change is not None and change.wire_record is record:
                pending.append(Pending(number, change))
                change = next(wanted, None)
            else:  # of another model
                self._pass(number, int(fields.get("SizeBytes") or 0))
        if self._handled.under_way:
            self._idle.clear()
        self._queue.put(pending)

    def _done(self, pending: Pending) -> None:
        self._run.counts.add(changes=1)
        self._pass(pending.number, pending.change.size_bytes)

    def _pass(self, number: int, size_bytes: int) -> None:
        handled = self._handled
        if handled.done(number):
            if not self._moved.is_set():
                self._moved.set()
            if handled.count - self._written >= WRITE_CHANGES:
                self._due.set()
            if not handled.under_way:
                self._idle.set()
        self._leave(1, size_bytes)

    def _leave(self, changes: int, size_bytes: int) -> None:
        self._inside = self._inside[0] - changes, self._inside[1] - size_bytes
        self._run.room.leave(changes, size_bytes)

    def _call_more(self) -> None:
        self._tasks.start_soon(self._call)

    async def _call(self) -> None:
        self._run.enter()
        try:
            await self._queue.work()
        except Exception as error:  # noqa: BLE001 - it is raised by ``run``
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._failure is None:
            self._failure = error
        self._tasks.cancel_scope.cancel()

    # The lease

    async def _keep(self) -> None:
        """Renew the lease, and store the position with it, until that is cancelled or it is lost."""
        while not self._is_lost:
            await self._until_due()
            try:
                async with asyncio.timeout_at(self._renewed + self._run.rules.lease_seconds):
                    await self._renew()
            except TimeoutError:
                self._lose()
            except Exception as error:  # noqa: BLE001 - a store of the user's own may raise anything
                if not may_pass(error):
                    self._fail(error)
                    return

    async def _until_due(self) -> None:
        """Wait until the lease is to be renewed, or the position has moved and is to be stored."""
        began = asyncio.get_running_loop().time()
        renewal = began + self._run.rules.lease_seconds / RENEWALS
        for event, until in ((self._moved, renewal), (self._due, min(renewal, began + WRITE_SECONDS))):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await event.wait()

    async def _renew(self, **values: Any) -> None:
        """Renew the lease, and store the position if it has moved."""
        self._moved.clear()
        self._due.clear()
        began, count = asyncio.get_running_loop().time(), self._handled.count
        position = str(self._handled.position) if count != self._written else None
        record = await self._run.checkpoints.renew(self._record, position=position, values=values)
        if record is None:
            self._lose()
            return
        self._record, self._renewed, self._written = record, began, count
        if record.asker is not None and not self._is_given and record.owner == self._run.group.owner:
            self._hand_over(self._run.rules.handover_seconds)

    def _lose(self) -> None:
        if not self._is_lost:
            self._is_lost = True
            self._tell(LeaseLost)
            logger.warning("the lease of shard %s was lost; another worker may have it", self.shard)
        self._tasks.cancel_scope.cancel()

    def stop(self) -> None:
        """Give the shard back as to a worker that asks for it, but in the time that closing may take."""
        self._hand_over(self._run.rules.close_seconds / 2)

    def cancel(self) -> None:
        """End at once, and give the shard back."""
        self._tasks.cancel_scope.cancel()

    def _hand_over(self, seconds: float) -> None:
        """Stop reading, drop what is not begun, and end when the rest is done, or after so many seconds."""
        self._is_given = True
        self._feeding.cancel()
        end = asyncio.get_running_loop().time() + seconds
        self._finishing.deadline = min(self._finishing.deadline, end)
        dropped = self._queue.drop()
        if dropped:
            self._handled.drop(min(pending.number for pending in dropped))
        if not self._handled.under_way:
            self._idle.set()

    async def _end(self, keeping: asyncio.Task[None]) -> None:
        """End everything that runs, and give the shard back with its position."""
        keeping.cancel()
        await asyncio.wait((keeping,))
        await self.reader.close()
        self._leave(*self._inside)
        if self._is_lost:
            return
        values: dict[str, Any] = {"owner": None}
        if self._is_done:
            values |= {"asker": None, "state": "done", "ended": self._run.clock()}
        try:
            async with asyncio.timeout(self._run.rules.close_seconds):
                await self._renew(**values)
        except Exception as error:  # noqa: BLE001 - a store of the user's own may raise anything
            logger.warning("shard %s was not given back (%s); another worker takes it later", self.shard, error)
            return
        if self._is_done and not self._is_lost:
            self._run.group.finish(self.shard)

    def _tell(self, kind: type[LeaseTaken | LeaseLost]) -> None:
        if (tell := self._run.tell) is not None:
            tell(
                kind(
                    at=asyncio.get_running_loop().time(),
                    group=self._run.rules.group,
                    stream_arn=self._run.group.stream,
                    shard_id=self.shard,
                    owner=self._run.group.owner,
                    fence=self._record.fence,
                )
            )
