"""The records of one shard, page after page, one page ahead of whoever takes them, as often as a shard may be read.

Invariant: no record is left out. Reading goes on after the last record that was fetched, whatever becomes of iterators
and answers; what was trimmed away before it was read is told. A cancelled ``next`` loses no page, and there is at most
one request at a time. Only an answer without a next iterator ends a shard: an empty page does not, nor does anything
that a description says.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from dynamap_async.errors import (
    ChangesLostError,
    ExpiredIteratorError,
    OperationError,
    RequestRejectedError,
    ResourceNotFoundError,
    ServiceError,
    SessionClosedError,
    TransportError,
    TrimmedDataAccessError,
)
from dynamap_async.events import Event
from dynamap_async.streams.events import ChangesBehind, ChangesLost, ShardEnded, ShardOpened
from dynamap_async.streams.positions import Position
from dynamap_async.streams.requests import StreamRequests
from dynamap_async.streams.room import Room
from dynamap_async.turns import new_task
from dynamap_async.wire import Body

OnGap: TypeAlias = Literal["raise", "oldest"]
"""What becomes of a place in a stream that is not kept any more: an error, or the oldest change that is."""

RETENTION_SECONDS: Final = 24 * 3600.0
"""For how long DynamoDB keeps changes."""
_SECONDS: Final = 0.25
"""How long one request comes after another while there are records."""
_SECONDS_BEHIND: Final = 0.2
"""The same where the records are older than ``_BEHIND_SECONDS``: a shard may be asked five times a second."""
_BEHIND_SECONDS: Final = 60.0
_TOLD_BEHIND_SECONDS: Final = 18 * 3600.0
_PATIENCE_SECONDS: Final = 300.0
"""For how long what fails is tried again, beyond what the session's retries do."""
_LONGEST_PAUSE_SECONDS: Final = 5.0


def check_reading(on_gap: object, idle_seconds: float) -> None:
    """Refuse what nobody can be told who reads shards.

    Args:
        on_gap: what becomes of a place that is not kept any more.
        idle_seconds: how long one look at a shard comes after another at most.

    Raises:
        OperationError: one of them cannot be.
    """
    if on_gap not in get_args(OnGap):
        raise OperationError(f"on_gap={on_gap!r}: write 'raise' or 'oldest'")
    if not 0.25 <= idle_seconds <= 300:
        raise OperationError(f"idle_seconds={idle_seconds!r}: give seconds from 0.25 to 300")


class ShardPage(NamedTuple):
    """What one answer brought."""

    records: list[dict[str, Any]]
    """The records in the order in which they were made; none where there was nothing new."""
    size_bytes: int
    """How large the changes are, as DynamoDB counts them."""
    ended: bool
    """Whether there will never be more of this shard."""


class ShardReader:
    """Reads one shard, from a position on.

    Args:
        requests: asks the service.
        arn: the ARN of the stream.
        shard_id: the shard.
        position: where to begin.
        room: keeps count of the changes that wait; whoever handles those of a page has them leave it.
        clock: the time of day, in epoch seconds.
        tell: called with what happens.
        is_new: whether ``latest`` is meant as now. If not, it is the time of ``position``: reading goes on.
        on_gap: what becomes of a position that is not kept any more.
        idle_seconds: how long one request comes after another at most, where there is nothing new.
    """

    def __init__(
        self,
        requests: StreamRequests,
        arn: str,
        shard_id: str,
        position: Position,
        *,
        room: Room,
        clock: Callable[[], float],
        tell: Callable[[Event], object] = lambda event: None,
        is_new: bool = False,
        on_gap: OnGap = "raise",
        idle_seconds: float = 1.0,
    ) -> None:
        self.arn: Final = arn
        self.shard_id: Final = shard_id
        self._requests: Final = requests
        self._room: Final = room
        self._clock: Final = clock
        self._tell: Final = tell
        self._on_gap: Final[OnGap] = on_gap
        self._idle_seconds: Final = idle_seconds
        self._fetched = position
        """Behind the last record that was fetched."""
        self._begins_now = is_new and position.kind == "latest"
        self._skip_before: float | None = None
        """Records that are older are left out, where the engine cannot find a time by itself."""
        self._iterator: str | None = None
        self._not_before = 0.0
        """When the next request may be sent, by the event loop's clock."""
        self._pause = 0.0
        """How long the last empty page was waited after."""
        self._task: asyncio.Task[ShardPage] | None = None
        self._is_lost = False
        """Whether the place where reading goes on is known not to be kept any more."""
        self._is_told = False
        self._is_behind = False
        self._closed = False
        self.lag_seconds: float = 0.0
        """How old the newest change was when it was fetched; 0 where there was nothing new."""
        self.changes: int = 0
        """How many records were fetched."""
        self.calls: int = 0
        """How many GetRecords were sent."""

    async def open(self) -> None:
        """Fix where reading begins: ``latest`` is the moment at which this is called. It is optional.

        Raises:
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
        """
        with suppress(ResourceNotFoundError):  # ``next`` sees to that
            await self._opened()

    async def next(self) -> ShardPage:
        """Return the next page, which may be empty, and begin to fetch the one after it. Not after one that ended.

        Raises:
            ChangesLostError: what reading was to go on after is not kept any more.
            ServiceError: DynamoDB refused the request, for five minutes if that could pass.
            TransportError: no answer came for five minutes.
            SessionClosedError: the session, or this reader, was closed.
        """
        task = self._task = self._task or self._start()
        await asyncio.wait((task,))  # if this is cancelled, the task goes on: the next call has its page
        self._check_open()
        self._task = None
        page = task.result()
        if not page.ended:
            self._task = self._start()
        return page

    async def close(self) -> None:
        """End what is under way. What was fetched and not given out leaves the room."""
        self._closed = True
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled() and task.exception() is None:
            page = task.result()
            self._room.leave(len(page.records), page.size_bytes)

    def _check_open(self) -> None:
        if self._closed:
            raise SessionClosedError(f"the reader of shard {self.shard_id} was closed; open another one")

    def _start(self) -> asyncio.Task[ShardPage]:
        self._check_open()
        # A context of its own: what goes on between two pages is no part of the scope or span of whoever takes them.
        task = new_task(self._fetch(), Context())
        task.add_done_callback(_forget)
        return task

    async def _fetch(self) -> ShardPage:
        """Return the next page, when it is time for it; errors are those of ``next``."""
        loop = asyncio.get_running_loop()
        failing_since: float | None = None
        pause = _SECONDS
        while True:
            await self._room.until_there()
            if (wait := self._not_before - loop.time()) > 0:
                await asyncio.sleep(wait)
            self._not_before = loop.time() + self._seconds
            try:
                return self._page(await self._answer())
            except ExpiredIteratorError:
                self._iterator = None
            except TrimmedDataAccessError:
                self._iterator, self._is_lost = None, True
            except ResourceNotFoundError:
                return self._gone()
            except (ServiceError, TransportError) as error:
                failing_since = failing_since or loop.time()
                if not error.retryable or loop.time() - failing_since > _PATIENCE_SECONDS:
                    raise
                self._not_before = loop.time() + pause
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    @property
    def _seconds(self) -> float:
        return _SECONDS_BEHIND if self.lag_seconds > _BEHIND_SECONDS else _SECONDS

    async def _answer(self) -> Body:
        """Return the answer of one GetRecords, after an iterator was asked for if there is none."""
        if self._is_lost:
            await self._lost()
        iterator = await self._opened()
        self.calls += 1
        return await self._requests.records(iterator)

    async def _opened(self) -> str:
        """Return the iterator for the next page, after it was asked for if there is none."""
        if self._iterator is None:
            self._iterator = await self._open()
            if not self._is_told:
                self._is_told = True
                self._tell(ShardOpened(at=_now(), position=str(self._fetched), **self._place))
        return self._iterator

    async def _open(self) -> str:
        """Return an iterator for the place where reading goes on."""
        position = self._fetched
        if self._begins_now:
            iterator = await self._iterator_of("LATEST")
            self._begins_now = False
            return iterator
        if position.kind == "after":
            return await self._iterator_of("AFTER_SEQUENCE_NUMBER", SequenceNumber=str(position.sequence_number))
        if position.at is None or position.kind == "oldest":
            return await self._iterator_of("TRIM_HORIZON")
        if self._clock() - position.at > RETENTION_SECONDS:
            await self._lost()
            return await self._iterator_of("TRIM_HORIZON")
        since = math.floor(position.at)  # as the times of records are whole seconds
        if self._skip_before is None:
            with suppress(RequestRejectedError):
                return await self._iterator_of("AT_TIMESTAMP", Timestamp=since)
        self._skip_before = since
        return await self._iterator_of("TRIM_HORIZON")

    async def _iterator_of(self, kind: str, **at: Any) -> str:
        return await self._requests.iterator(self.arn, self.shard_id, kind, **at)

    def _page(self, answer: Body) -> ShardPage:
        """Return what an answer brought, and see to what comes next."""
        records: list[dict[str, Any]] = answer["Records"]
        self._iterator = answer.get("NextShardIterator") or None
        ended = self._iterator is None
        if records:
            self._pause = 0.0
            self._fetched = _behind(records[-1])
            self.changes += len(records)
            self._note_lag()
            if (since := self._skip_before) is not None:
                records = [each for each in records if (_time(each) or since) >= since]
        else:
            self._pause = min(2 * self._pause or _SECONDS, max(self._idle_seconds, _SECONDS))
            self._not_before += self._pause - self._seconds
            self.lag_seconds = 0.0
        page = ShardPage(records, sum(each["dynamodb"].get("SizeBytes") or 0 for each in records), ended)
        self._room.enter(len(records), page.size_bytes)
        if ended:
            self._tell(ShardEnded(at=_now(), changes=self.changes, **self._place))
        return page

    def _note_lag(self) -> None:
        at = self._fetched.at
        self.lag_seconds = 0.0 if at is None else max(0.0, self._clock() - at)
        is_behind = self.lag_seconds > _TOLD_BEHIND_SECONDS
        if is_behind and not self._is_behind:
            self._tell(ChangesBehind(at=_now(), behind_seconds=self.lag_seconds, **self._place))
        self._is_behind = is_behind

    def _gone(self) -> ShardPage:
        """Return the end of a shard that is not kept any more: whoever had not begun with it has lost nothing."""
        if self._fetched.kind != "oldest" and not self._begins_now:
            self._tell_lost(None)
        self._tell(ShardEnded(at=_now(), changes=self.changes, **self._place))
        return ShardPage([], 0, ended=True)

    async def _lost(self) -> None:
        """Go on with the oldest change that is kept, and tell that others are not; errors are those of ``next``."""
        if self._fetched.kind != "oldest":  # else nothing of it was read yet
            self._tell_lost(await self._oldest())
        self._fetched, self._is_lost = Position("oldest"), False

    def _tell_lost(self, oldest: Position | None) -> None:
        """Tell that changes were lost.

        Args:
            oldest: the position of the oldest one that is kept; None where none is.

        Raises:
            ChangesLostError: reading is not to go on.
        """
        lost = self._fetched
        number = None if lost.sequence_number is None else str(lost.sequence_number)
        oldest_number = None if oldest is None else str(oldest.sequence_number)
        oldest_at = None if oldest is None else oldest.at
        if self._on_gap == "raise":
            raise self._lost_error(number, lost.at, oldest_number, oldest_at)
        self._tell(
            ChangesLost(
                at=_now(),
                sequence_number=number,
                changed_at=lost.at,
                oldest_sequence_number=oldest_number,
                oldest_changed_at=oldest_at,
                **self._place,
            )
        )

    async def _oldest(self) -> Position | None:
        """Return the position of the oldest record that is kept; None where there is none, or it is not known."""
        iterator = await self._iterator_of("TRIM_HORIZON")
        self.calls += 1
        records = (await self._requests.records(iterator, limit=1))["Records"]
        self._not_before = asyncio.get_running_loop().time() + _SECONDS
        return _behind(records[0]) if records else None

    def _lost_error(
        self, number: str | None, at: float | None, oldest_number: str | None, oldest_at: float | None
    ) -> ChangesLostError:
        where = f"after {number}" if number is not None else "from its time on"
        was = "" if at is None else f", which is of {_moment(at)}"
        kept = "none of its changes is kept" if oldest_number is None else f"the oldest that is kept is {oldest_number}"
        when = "" if oldest_at is None else f", of {_moment(oldest_at)}"
        return ChangesLostError(
            f"shard {self.shard_id} of {self._requests.table!r} was to be read {where}{was}, and {kept}{when}: "
            'DynamoDB keeps changes for 24 hours; on_gap="oldest" goes on with the oldest, after you have read the '
            "items that may have changed in between",
            stream_arn=self.arn,
            shard_id=self.shard_id,
            sequence_number=number,
            at=None if at is None else _moment(at),
            oldest_sequence_number=oldest_number,
            oldest_at=None if oldest_at is None else _moment(oldest_at),
        )

    @property
    def _place(self) -> dict[str, Any]:
        return {"stream_arn": self.arn, "shard_id": self.shard_id}


def _behind(record: dict[str, Any]) -> Position:
    return Position("after", int(record["dynamodb"]["SequenceNumber"]), _time(record))


def _time(record: dict[str, Any]) -> float | None:
    found: float | None = record["dynamodb"].get("ApproximateCreationDateTime")
    return found


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _forget(task: asyncio.Task[ShardPage]) -> None:
    """Have asyncio not complain that nobody asked what became of a page that was not wanted any more."""
    if not task.cancelled():
        task.exception()
