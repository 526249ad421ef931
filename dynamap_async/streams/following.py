"""``ItemChanges``: the changes of a stream's items in one process, whose position is in memory.

Invariant: the changes of an item come in order, as a shard is read only when all of its parent was handled. A position
never passes a change that was not handled. When it is closed, no task and no request of it is left; it may be entered
in one task and closed in another.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Generic, Literal, Self, TypeAlias, TypedDict

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import (
    ChangesLostError,
    OperationError,
    ResourceNotFoundError,
    ServiceError,
    SessionStateError,
    TransportError,
)
from dynamap_async.errors.habits import EnteredByAsyncWith, IteratedByAsyncFor
from dynamap_async.executor import Executor, gather_all, shielded
from dynamap_async.native.json_text import read_json, write_json
from dynamap_async.streams.changes import ChangeDecoder, ItemChange, M_co
from dynamap_async.streams.discovery import DISCOVERY_SECONDS, Discovery
from dynamap_async.streams.positions import Position
from dynamap_async.streams.reading import RETENTION_SECONDS, OnGap, ShardPage, ShardReader, check_reading
from dynamap_async.streams.requests import StreamRequests, may_pass, table_of_stream
from dynamap_async.streams.room import Room
from dynamap_async.streams.shards import ShardGraph, StreamShard
from dynamap_async.turns import WorkPace, new_task

Start: TypeAlias = str | datetime
"""Where following begins: ``oldest`` for the oldest change that is kept, ``latest`` for now, a time, or the text of a
checkpoint."""


class Following(TypedDict, total=False):
    """Further keywords of ``session.changes``."""

    on_gap: OnGap
    stream: str | None
    idle_seconds: float
    until_idle: bool


_IDLE_PAGES: Final = 5
"""So many pages without records, one after the other, are taken for the end of what there is."""
_STREAM_EVERY: Final = 2
"""At every how manieth look for shards it is asked whether the table has another stream: each minute."""
_PACE_CHANGES: Final = 64


@dataclass(slots=True, eq=False)
class _Feed:
    """A shard that is read."""

    reader: ShardReader
    taken: asyncio.Event
    """Set when all records of its last page were given out."""
    idle_pages: int = 0
    """How many pages without records came last."""

    async def next(self) -> ShardPage:
        """Return the next page of the reader; ``taken`` is set when its records were given out."""
        page = await self.reader.next()
        self.idle_pages = 0 if page.records else self.idle_pages + 1
        if page.records:
            self.taken.clear()
        else:
            self.taken.set()
        return page


@dataclass(slots=True, eq=False)
class _WaitingPage:
    """Records that wait to be given out."""

    feed: _Feed
    records: deque[dict[str, Any]]
    ended: bool


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a stream was followed."""

    arn: str
    """The ARN of the stream."""
    positions: dict[str, Position]
    """Shard -> how far it was handled; of shards that are not named nothing was."""
    ended: dict[str, float]
    """Shards of which everything was handled -> when that was, in epoch seconds."""
    at: float
    """When it was taken, in epoch seconds."""

    def __str__(self) -> str:
        """Return it as text."""
        shards = {shard: str(position) for shard, position in self.positions.items()}
        return write_json({"stream": self.arn, "shards": shards, "ended": self.ended, "at": self.at}).decode()

    def positions_at(self, now: float) -> dict[str, Position]:
        """Return where to go on.

        Args:
            now: the time, in epoch seconds. If the checkpoint is older than changes are kept, those of shards of which
                nothing was handled are lost as well.
        """
        if now - self.at <= RETENTION_SECONDS:
            return dict(self.positions)
        lost = Position("time", None, self.at)
        return {shard: lost if each.kind == "oldest" else each for shard, each in self.positions.items()}

    @classmethod
    def read(cls, text: str) -> Checkpoint:
        """Return the checkpoint that a text stands for.

        Raises:
            OperationError: it is no such text.
        """
        try:
            given = read_json(text.encode())
            positions = {str(shard): Position.read(position) for shard, position in given["shards"].items()}
            ended = {str(shard): float(at) for shard, at in given["ended"].items()}
            return cls(str(given["stream"]), positions, ended, float(given["at"]))
        except (ValueError, TypeError, LookupError, AttributeError):
            raise OperationError(
                f"start={text[:40]!r} is no checkpoint; write 'oldest', 'latest', a datetime, or what "
                "changes.checkpoint() returned"
            ) from None


class ItemChanges(EnteredByAsyncWith, IteratedByAsyncFor, Generic[M_co]):
    """The changes of a table's items, for ``async with session.changes(Tweet) as changes``.

    ``async for change in changes`` gives one after the other: those of each item in order, those of different items in
    any. A change counts as handled when the next one is asked for, or with ``done``.
    """

    def __init__(
        self,
        executor: Executor,
        decoder: ChangeDecoder,
        *,
        table: str,
        stream: str | None = None,
        start: Start = "oldest",
        on_gap: OnGap = "raise",
        idle_seconds: float = 1.0,
        until_idle: bool = False,
        clock: Callable[[], float],
    ) -> None:
        """Describe them; nothing is sent before they are entered.

        Args:
            executor: carries the requests out.
            decoder: makes changes of records.
            table: the full name, or the ARN, of the table.
            stream: the ARN of the stream; None for the table's latest one.
            start: where to begin.
            on_gap: what becomes of a place that is not kept any more.
            idle_seconds: how long one look at a shard comes after another at most.
            until_idle: whether they end when there is nothing new.
            clock: the time of day, in epoch seconds.

        Raises:
            OperationError: an argument cannot be.
        """
        self._begin: Final = _checked(start)
        check_reading(on_gap, idle_seconds)
        if decoder.definition.periods is not None and stream is None:
            name = decoder.definition.model.__name__
            raise OperationError(f"{name} has a table for each period, each with a stream of its own; write stream=ARN")
        self._executor: Final = executor
        self._decoder: Final = decoder
        self._requests: Final = StreamRequests(executor, table if stream is None else table_of_stream(stream))
        self._given_stream: Final = stream
        self._on_gap: Final[OnGap] = on_gap
        self._idle_seconds: Final = idle_seconds
        self._until_idle: Final = until_idle
        self._clock: Final = clock
        self._room: Final = Room()
        self._discovery: Discovery | None = None
        self._positions: dict[str, Position] = {}
        """Shard -> where reading it began."""
        self._passed: Final[dict[str, Mapping[str, Any]]] = {}
        """Shard -> the last change of it that was handled, from which its position is made when that is asked for."""
        self._ended: dict[str, float] = {}
        self._feeds: Final[dict[str, _Feed]] = {}
        self._ready: Final[deque[_WaitingPage]] = deque()
        self._current: tuple[ItemChange[Any], str] | None = None
        """The change that was given out last, with its shard, unless it is done."""
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._searches = 0
        """How many looks for the children of a shard are under way."""
        self._failures: Final[deque[tuple[Exception, Callable[[], object]]]] = deque()
        """What failed, with what goes on with it."""
        self._waiter: asyncio.Future[None] | None = None
        self._pace: Final = WorkPace(_PACE_CHANGES)
        self._given = 0
        """How many changes were given out since the last look at the clock."""
        self._advancing = False
        self._state: Literal["new", "open", "closed"] = "new"

    def __aiter__(self) -> Self:
        return self

    @property
    def _opened(self) -> Discovery:
        if self._discovery is None:
            raise SessionStateError("changes are followed inside of `async with session.changes(...) as changes`")
        return self._discovery

    async def __aenter__(self) -> Self:
        """Find the stream and its shards, and begin to read.

        Raises:
            OperationError: the table has no stream, or the checkpoint is of another one.
            ChangesLostError: the stream of the checkpoint is not kept any more.
            ResourceNotFoundError: there is no such table, or no such stream.
            ServiceError: DynamoDB refused a request.
            TransportError: no answer came.
        """
        if self._state != "new":
            raise SessionStateError("these changes were entered before; ask session.changes(...) for others")
        self._state = "open"
        try:
            await self._find()
            self._spawn(self._keep())
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End all that is under way. What was not handled is told by ``checkpoint``."""
        self._state = "closed"
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        with shielded():
            if tasks:
                await asyncio.wait(tasks)
            for feed in [*self._feeds.values()]:
                await feed.reader.close()
        self._wake()

    async def __anext__(self) -> ItemChange[M_co]:
        """Return the next change, and count the one before it as handled.

        Raises:
            ChangesLostError: changes were trimmed away before they were read; the next call tries again.
            ServiceError: DynamoDB refused a request, for five minutes if that could pass; the next call tries again.
            TransportError: no answer came for five minutes; the next call tries again.
            SessionStateError: another task waits for a change, or they were not entered.
            SessionClosedError: the session was closed.

        Cost:
            GetRecords, per shard: up to four a second while there are changes, five where they are over a minute old,
            and one in ``idle_seconds`` while there are none.
        """
        self._opened  # noqa: B018 - raises where they were not entered
        if self._advancing:
            raise SessionStateError("two tasks ask for changes at once; let one ask, and hand them to others")
        self._settle()
        self._advancing = True
        try:
            while self._state == "open":
                await self._let_others_run()
                if (change := self._next()) is not None:
                    return change
                if self._failures:
                    error, go_on = self._failures.popleft()
                    go_on()
                    raise error
                if self._until_idle and self._is_idle:
                    break
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
            raise StopAsyncIteration
        finally:
            self._advancing = False

    def done(self, change: ItemChange[Any], /) -> None:
        """Count a change as handled, before the next one is asked for: a checkpoint is then behind it.

        Args:
            change: the change that was given out last; of others nothing is changed.
        """
        if self._current is not None and self._current[0] is change:
            self._settle()

    def checkpoint(self) -> str:
        """Return how far the changes were handled, as text for ``start=``, at any time, also when they are closed.

        Raises:
            SessionStateError: they were not entered.
        """
        passed = {shard: _behind(change) for shard, change in self._passed.items()}
        return str(Checkpoint(self._opened.arn, self._positions | passed, self._ended, self._clock()))

    async def _find(self) -> None:
        """Find the stream, and where to begin with each of its shards."""
        begin = self._begin
        if isinstance(begin, Checkpoint):
            self._check_stream_of(begin)
        arn = begin.arn if isinstance(begin, Checkpoint) else self._given_stream or await self._requests.latest()
        if arn is None:
            model = self._decoder.definition.model.__name__
            raise OperationError(
                f"the table {self._requests.table!r} has no stream, so nothing tells the changes of {model}; declare "
                'settings=TableSettings(stream="new-and-old"), and apply it with `dynamap apply` or tables.apply'
            )
        discovery = self._discovery = Discovery(self._requests, arn, ShardGraph())
        now = self._clock()
        try:
            described = await discovery.refresh()
        except ResourceNotFoundError:
            if not isinstance(begin, Checkpoint):
                raise
            await self._lost_stream(begin)
            return
        if isinstance(begin, Checkpoint):
            self._positions, self._ended = begin.positions_at(now), dict(begin.ended)
            # What is not described any more may have had changes that were not handled: reading it says so.
            discovery.graph.add(StreamShard(shard) for shard in self._positions)
        elif begin == "latest":
            self._positions = dict.fromkeys(discovery.graph.leaves(), Position("latest", None, now))
            self._ended = {shard.id: now for shard in discovery.graph.shards if discovery.graph.has_closed(shard.id)}
        elif isinstance(begin, float) and begin > (described.created or 0.0):
            self._positions = {shard.id: Position("time", None, begin) for shard in described.shards}
        feeds = self._add_readable(is_new=begin == "latest")
        if begin == "latest":  # what is written from now on is to be seen
            await gather_all([feed.reader.open() for feed in feeds])
        for feed in feeds:
            self._read(feed)

    def _check_stream_of(self, begin: Checkpoint) -> None:
        """Refuse a checkpoint of another table, whose items would be taken for those of these models."""
        table, other = (each.rpartition("/")[2] for each in (self._requests.table, table_of_stream(begin.arn)))
        if other != table or self._given_stream not in (None, begin.arn):
            raise OperationError(
                f"the checkpoint is of the stream {begin.arn}, and what is followed is "
                f"{self._given_stream or f'the table {table!r}'}; give the checkpoint to whoever follows its stream"
            )

    async def _lost_stream(self, begin: Checkpoint) -> None:
        """Begin with the table's latest stream, as that of a checkpoint is not kept any more."""
        latest = await self._requests.latest()
        if self._on_gap == "raise" or latest is None or latest == begin.arn:
            shard, position = next(iter(begin.positions.items()), ("", Position()))
            raise ChangesLostError(
                f"the stream {begin.arn} is not kept any more: it was turned off more than 24 hours ago; "
                'on_gap="oldest" goes on with the latest stream of the table, after you have read the items that may '
                "have changed in between",
                stream_arn=begin.arn,
                shard_id=shard,
                sequence_number=None if position.sequence_number is None else str(position.sequence_number),
                at=None if position.at is None else datetime.fromtimestamp(position.at, UTC),
                oldest_sequence_number=None,
                oldest_at=None,
            )
        await self._change_to(latest)

    async def _change_to(self, arn: str) -> None:
        """Go on with another stream of the table, from its oldest change on."""
        discovery = self._discovery = Discovery(self._requests, arn, ShardGraph())
        self._positions, self._ended = {}, {}
        self._passed.clear()
        await discovery.refresh()
        self._open_readable()

    def _open_readable(self) -> None:
        """Begin to read the shards that may be read and are not."""
        for feed in self._add_readable():
            self._read(feed)

    def _add_readable(self, *, is_new: bool = False) -> list[_Feed]:
        """Return new feeds of the shards that may be read and are not.

        Args:
            is_new: whether ``latest`` means now.
        """
        added: list[_Feed] = []
        for shard in self._opened.graph.readable(self._ended):
            if shard in self._feeds:
                continue
            position = self._positions.setdefault(shard, Position())
            reader = ShardReader(
                self._requests,
                self._opened.arn,
                shard,
                position,
                room=self._room,
                clock=self._clock,
                tell=self._executor.tell,
                is_new=is_new,
                on_gap=self._on_gap,
                idle_seconds=self._idle_seconds,
            )
            feed = self._feeds[shard] = _Feed(reader, asyncio.Event())
            added.append(feed)
        return added

    def _read(self, feed: _Feed) -> None:
        self._spawn(self._pages(feed))

    async def _pages(self, feed: _Feed) -> None:
        """Have the pages of a shard wait to be given out, one at a time."""
        try:
            while True:
                page = await feed.next()
                if page.records or page.ended:
                    self._ready.append(_WaitingPage(feed, deque(page.records), page.ended))
                self._wake()
                if page.ended:
                    return
                await feed.taken.wait()
        except Exception as error:  # noqa: BLE001 - whoever asks for changes is told of it, whatever it is
            self._fail(error, lambda: self._read(feed))

    async def _keep(self) -> None:
        """Look for shards now and then, and for another stream of the table."""
        looks = 0
        try:
            while True:
                await asyncio.sleep(DISCOVERY_SECONDS)
                looks += 1
                try:
                    await self._look(for_stream=looks % _STREAM_EVERY == 0)
                except (ServiceError, TransportError) as error:
                    if not may_pass(error):
                        raise
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(error, lambda: self._spawn(self._keep()))

    async def _look(self, *, for_stream: bool, searching: int = 0) -> None:
        """Look for shards, and for another stream where all shards of this one were handled.

        Args:
            for_stream: whether another stream is looked for.
            searching: how many searches for children do not count: that which asks for this.
        """
        discovery = self._opened
        described = await discovery.refresh()
        known = {shard.id for shard in described.shards}
        forgotten = discovery.graph.forgettable(known, self._ended, self._clock() - RETENTION_SECONDS)
        discovery.graph.forget(shard for shard in forgotten if shard not in self._feeds)
        for shard in forgotten:
            self._ended.pop(shard, None)
        self._open_readable()
        if for_stream and self._is_over(searching) and self._given_stream is None:
            with contextlib.suppress(ResourceNotFoundError):  # the table is gone; its stream is kept for a day
                following = await self._requests.after(discovery.arn)
                # Another look may have found it meanwhile.
                if following is not None and self._discovery is discovery and self._is_over(searching):
                    await self._change_to(following)
        self._wake()

    def _is_over(self, searching: int) -> bool:
        """Return whether everything of all shards was handled, and none goes on from one of them, as far as is known.

        Args:
            searching: how many searches for children do not count.
        """
        return not self._feeds and not self._ready and self._searches <= searching

    @property
    def _is_idle(self) -> bool:
        """Whether nothing new has come for a while."""
        if self._ready or self._searches:
            return False
        return all(feed.idle_pages >= _IDLE_PAGES for feed in self._feeds.values())

    def _next(self) -> ItemChange[M_co] | None:
        """Return the next change that waits; None where none does."""
        decoder = self._decoder
        while self._ready:
            page = self._ready[0]
            shard = page.feed.reader.shard_id
            while page.records:
                record = page.records[0]
                change = decoder.change(record, shard) if decoder.concerns(record) else None
                page.records.popleft()  # not before: what cannot be decoded is not passed over
                if change is not None:
                    self._current = change, shard
                    return change
                self._pass(record, shard)
            self._ready.popleft()
            page.feed.taken.set()
            if page.ended:
                self._end(page.feed)
        return None

    def _settle(self) -> None:
        """Note that the change that was given out last is done."""
        if self._current is not None:
            (change, shard), self._current = self._current, None
            self._pass(change.wire_record, shard)

    def _pass(self, record: Any, shard: str) -> None:
        """Have the position of a shard pass a record."""
        change = record["dynamodb"]
        self._passed[shard] = change
        self._room.leave(1, change.get("SizeBytes") or 0)

    def _end(self, feed: _Feed) -> None:
        """Go on with the shards behind one of which everything is done."""
        shard = feed.reader.shard_id
        del self._feeds[shard]
        self._positions.pop(shard, None)
        self._passed.pop(shard, None)
        self._ended[shard] = self._clock()
        self._open_readable()
        self._searches += 1
        self._spawn(self._search(shard))

    async def _search(self, shard: str) -> None:
        """Look for the shards that go on from one that has ended."""
        try:
            await self._opened.children_of(shard)
            self._open_readable()
            if self._is_over(1):
                await self._look(for_stream=True, searching=1)
        except (ServiceError, TransportError):
            pass  # the next look at the whole stream finds them, or says what is wrong
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(error, lambda: None)
        finally:
            self._searches -= 1
        self._wake()

    async def _let_others_run(self) -> None:
        """Let other tasks have their turn now and then: whoever handles changes may never wait."""
        self._given += 1
        if self._given >= self._pace.items:
            if self._pace.is_over(self._given):
                await self._pace.pause()
            self._given = 0

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = new_task(work, Context())  # no part of the scope or span of whoever asks for changes
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _fail(self, error: Exception, go_on: Callable[[], object]) -> None:
        self._failures.append((error, go_on))
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _behind(change: Mapping[str, Any]) -> Position:
    return Position("after", int(change["SequenceNumber"]), change.get("ApproximateCreationDateTime"))


def _checked(start: Any) -> Literal["oldest", "latest"] | float | Checkpoint:
    """Return where to begin: a time in epoch seconds."""
    if start == "oldest":
        return "oldest"
    if start == "latest":
        return "latest"
    if isinstance(start, datetime):
        if start.tzinfo is None:
            raise OperationError(f"start={start!r} has no time zone; write datetime.now(UTC) - timedelta(minutes=10)")
        return start.timestamp()
    if isinstance(start, str):
        return Checkpoint.read(start)
    raise OperationError(f"start={start!r}: write 'oldest', 'latest', a datetime, or the text of a checkpoint")
