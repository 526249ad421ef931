"""A shard is read at the pace that it allows, from any position, and goes on after whatever fails for a moment."""

import asyncio
import functools
from collections import deque

import pytest

from dynamap_async.errors import (
    AccessDeniedError,
    ChangesLostError,
    ConnectionFailedError,
    ExpiredIteratorError,
    InternalServerError,
    Outcome,
    RequestRejectedError,
    ResourceNotFoundError,
    SessionClosedError,
    TrimmedDataAccessError,
)
from dynamap_async.streams.events import ChangesBehind, ChangesLost, ShardEnded, ShardOpened
from dynamap_async.streams.positions import Position
from dynamap_async.streams.reading import ShardReader
from dynamap_async.streams.room import Room
from dynamap_async.testing import VirtualClockLoop

NOW = 1_700_000_000.0
OLDEST = Position()


def virtually(test):
    """Run an async test on a loop whose waits take no time."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def record(number, at=NOW, size=100):
    change = {
        "Keys": {"id": {"S": str(number)}},
        "SequenceNumber": str(number),
        "ApproximateCreationDateTime": at,
        "SizeBytes": size,
    }
    return {"eventName": "INSERT", "dynamodb": change}


def page(*records, ends=False):
    return {"Records": list(records), "NextShardIterator": None if ends else "next"}


def refused(kind):
    return kind("no", service_code="Code", operation="GetRecords", table="things", status=400)


class Script:
    """Answers what the test says, in this order; then empty pages. Remembers what was asked, and when."""

    table = "things"

    def __init__(self, *answers, iterators=()):
        self.answers, self.iterators = deque(answers), deque(iterators)
        self.asked, self.times = [], []

    async def iterator(self, arn, shard, kind, **at):
        self.asked.append((kind, *at.values()))
        return self._next(self.iterators, "first")

    async def records(self, iterator, limit=None):
        self.times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0)
        return self._next(self.answers, page())

    @staticmethod
    def _next(answers, otherwise):
        answer = answers.popleft() if answers else otherwise
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def gaps(self):
        return [round(after - before, 6) for before, after in zip(self.times, self.times[1:], strict=False)]


class Reading:
    """A reader of a script, with what it tells."""

    def __init__(self, script, position=OLDEST, *, room=None, now=NOW, **more):
        self.events, self.room, self.script = [], room or Room(), script
        loop = asyncio.get_running_loop()
        begun = loop.time()
        self.reader = ShardReader(
            script,
            "arn",
            "shard",
            position,
            room=self.room,
            clock=lambda: now + loop.time() - begun,
            tell=self.events.append,
            **more,
        )

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await self.reader.close()

    async def numbers(self, pages):
        """Return the sequence numbers of the records of so many pages, each page handled at once."""
        found = []
        for _ in range(pages):
            got = await self.reader.next()
            self.room.leave(len(got.records), got.size_bytes)
            found.append([int(each["dynamodb"]["SequenceNumber"]) for each in got.records])
            if got.ended:
                break
        return found


@virtually
async def test_pages_come_in_order_until_there_is_no_next_iterator():
    script = Script(page(record(1), record(2)), page(), page(record(3)), page(record(4), ends=True))
    async with Reading(script) as reading:
        assert await reading.numbers(9) == [[1, 2], [], [3], [4]]
        assert reading.script.asked == [("TRIM_HORIZON",)]
    assert [type(event) for event in reading.events] == [ShardOpened, ShardEnded]
    assert reading.events[1].changes == 4


@pytest.mark.parametrize(
    ("position", "asked"),
    [
        (Position("after", 99, NOW), ("AFTER_SEQUENCE_NUMBER", "99")),
        (Position("time", None, NOW + 0.7), ("AT_TIMESTAMP", NOW)),
        (Position("latest", None, NOW + 0.7), ("AT_TIMESTAMP", NOW)),
        (Position("oldest"), ("TRIM_HORIZON",)),
    ],
)
@virtually
async def test_reading_begins_at_a_position(position, asked):
    async with Reading(Script(), position) as reading:
        await reading.numbers(1)
        assert reading.script.asked == [asked]


@virtually
async def test_latest_is_now_where_reading_begins_and_its_time_where_it_begins_again():
    script = Script(page(), refused(ExpiredIteratorError), page(record(5)), refused(ExpiredIteratorError))
    async with Reading(script, Position("latest", None, NOW), is_new=True) as reading:
        assert await reading.numbers(3) == [[], [5], []]
        assert script.asked == [("LATEST",), ("AT_TIMESTAMP", NOW), ("AFTER_SEQUENCE_NUMBER", "5")]


@virtually
async def test_where_a_time_cannot_be_asked_for_older_records_are_left_out():
    script = Script(
        page(record(1, NOW - 9), record(2, NOW)), page(record(3, NOW)), iterators=[refused(RequestRejectedError)]
    )
    async with Reading(script, Position("time", None, NOW + 0.5)) as reading:
        assert await reading.numbers(2) == [[2], [3]]
        assert script.asked == [("AT_TIMESTAMP", NOW), ("TRIM_HORIZON",)]


@virtually
async def test_there_are_four_calls_a_second_while_records_come():
    async with Reading(Script(*[page(record(number)) for number in range(1, 9)])) as reading:
        await reading.numbers(8)
    assert reading.script.gaps[:7] == [0.25] * 7


@virtually
async def test_there_are_five_calls_a_second_more_than_a_minute_behind():
    async with Reading(Script(*[page(record(number, NOW - 61)) for number in range(1, 9)])) as reading:
        await reading.numbers(8)
        assert reading.reader.lag_seconds > 61
    assert reading.script.gaps[1:7] == [0.2] * 6


@pytest.mark.parametrize(
    ("idle", "gaps"), [(1.0, [0.25, 0.5, 1.0, 1.0]), (4.0, [0.25, 0.5, 1.0, 2.0]), (0.1, [0.25, 0.25, 0.25, 0.25])]
)
@virtually
async def test_calls_without_records_become_rarer(idle, gaps):
    async with Reading(Script(), idle_seconds=idle) as reading:
        await reading.numbers(6)
    assert reading.script.gaps[:4] == gaps


@virtually
async def test_the_first_record_after_a_pause_makes_calls_frequent_again():
    async with Reading(Script(page(), page(), page(record(1)), page(record(2)))) as reading:
        await reading.numbers(5)
    assert reading.script.gaps[:4] == [0.25, 0.5, 0.25, 0.25]


@virtually
async def test_no_more_than_one_page_is_read_ahead():
    async with Reading(Script(*[page(record(number)) for number in range(1, 9)])) as reading:
        await reading.numbers(1)
        await asyncio.sleep(100)
        assert len(reading.script.times) == 2


@virtually
async def test_nothing_is_fetched_while_too_much_waits():
    room = Room(most_changes=3)
    async with Reading(Script(*[page(record(number), record(number + 1)) for number in (1, 3, 5)]), room=room) as it:
        await it.reader.next()
        await it.reader.next()
        await asyncio.sleep(100)
        assert (len(it.script.times), room.changes) == (2, 4)
        room.leave(2, 200)
        await asyncio.sleep(1)
        assert (len(it.script.times), room.changes) == (3, 4)


@virtually
async def test_too_many_bytes_are_too_much():
    room = Room(most_bytes=150)
    async with Reading(Script(page(record(1)), page(record(2)), page(record(3))), room=room) as it:
        await it.reader.next()
        await it.reader.next()
        await asyncio.sleep(100)
        assert (len(it.script.times), room.size_bytes) == (2, 200)


@virtually
async def test_closing_gives_back_the_room_of_what_was_not_given_out():
    reading = Reading(Script(page(record(1)), page(record(2))))
    got = await reading.reader.next()
    await asyncio.sleep(1)
    assert reading.room.changes == 2
    await reading.reader.close()
    assert (reading.room.changes, len(got.records)) == (1, 1)
    assert len(asyncio.all_tasks()) == 1
    with pytest.raises(SessionClosedError):
        await reading.reader.next()


@virtually
async def test_a_cancelled_call_loses_no_page():
    async with Reading(Script(page(record(1)), page(record(2)))) as reading:
        await reading.numbers(1)
        waiting = asyncio.create_task(reading.reader.next())
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.sleep(1)
        assert await reading.numbers(1) == [[2]]


@pytest.mark.parametrize(
    "failure",
    [
        refused(InternalServerError),
        ConnectionFailedError("lost", outcome=Outcome.UNKNOWN, operation="GetRecords", table="things"),
    ],
    ids=["refused", "lost"],
)
@virtually
async def test_what_fails_for_a_moment_is_tried_again(failure):
    script = Script(page(record(1)), failure, failure, page(record(2)))
    async with Reading(script) as reading:
        assert await reading.numbers(2) == [[1], [2]]
        assert reading.script.asked == [("TRIM_HORIZON",)]


@virtually
async def test_what_fails_for_five_minutes_is_raised():
    async with Reading(Script(*[refused(InternalServerError)] * 1000)) as reading:
        with pytest.raises(InternalServerError):
            await reading.numbers(1)
        assert 300 < reading.script.times[-1] - reading.script.times[0] < 310


@virtually
async def test_what_does_not_pass_is_raised_at_once_and_the_next_call_tries_again():
    async with Reading(Script(refused(AccessDeniedError), page(record(1)))) as reading:
        with pytest.raises(AccessDeniedError):
            await reading.numbers(1)
        assert await reading.numbers(1) == [[1]]


@pytest.mark.parametrize("position", [Position("after", 3, NOW - 90_000), Position("time", None, NOW - 90_000)])
@pytest.mark.parametrize("told_by", ["iterator", "records"])
@virtually
async def test_a_position_that_is_trimmed_away_is_an_error_with_both_places(position, told_by):
    trimmed = refused(TrimmedDataAccessError)
    oldest = page(record(7, NOW - 80_000))
    if told_by == "iterator":
        script = Script(oldest, iterators=[trimmed] if position.kind == "after" else [])
    else:
        script = Script(*([trimmed] if position.kind == "after" else []), oldest)
    async with Reading(script, position) as reading:
        with pytest.raises(ChangesLostError, match="the oldest that is kept is 7") as raised:
            await reading.numbers(1)
        error = raised.value
        number = None if position.sequence_number is None else "3"
        assert (error.sequence_number, error.oldest_sequence_number) == (number, "7")
        assert (error.at.timestamp(), error.oldest_at.timestamp()) == (NOW - 90_000, NOW - 80_000)
        assert not [event for event in reading.events if isinstance(event, ChangesLost)]


@virtually
async def test_a_gap_can_be_passed_over_and_is_told():
    script = Script(
        page(record(1)),
        refused(TrimmedDataAccessError),
        page(record(7, NOW - 80_000)),
        page(record(7, NOW - 80_000), record(8)),
    )
    async with Reading(script, on_gap="oldest") as reading:
        assert await reading.numbers(2) == [[1], [7, 8]]
        assert script.asked[-1] == ("TRIM_HORIZON",)
        [lost] = [event for event in reading.events if isinstance(event, ChangesLost)]
        assert (lost.sequence_number, lost.changed_at) == ("1", NOW)
        assert (lost.oldest_sequence_number, lost.oldest_changed_at) == ("7", NOW - 80_000)


@virtually
async def test_a_shard_that_is_not_kept_any_more_is_at_its_end():
    async with Reading(Script(iterators=[refused(ResourceNotFoundError)])) as reading:
        assert (await reading.reader.next()).ended


@virtually
async def test_a_shard_that_is_gone_before_it_was_read_to_its_end_has_lost_changes():
    script = Script(iterators=[refused(ResourceNotFoundError)] * 2)
    async with Reading(script, Position("after", 3, NOW - 90_000)) as reading:
        with pytest.raises(ChangesLostError, match="none of its changes is kept"):
            await reading.reader.next()
    script = Script(iterators=[refused(ResourceNotFoundError)])
    async with Reading(script, Position("after", 3, NOW - 90_000), on_gap="oldest") as reading:
        assert (await reading.reader.next()).ended
        assert [type(event) for event in reading.events] == [ChangesLost, ShardEnded]


@virtually
async def test_a_shard_that_is_far_behind_is_told_once():
    old = NOW - 19 * 3600
    async with Reading(Script(page(record(1, old)), page(record(2, old)), page(record(3)), page(record(4, old)))) as it:
        await it.numbers(4)
        behind = [event for event in it.events if isinstance(event, ChangesBehind)]
        assert [round(event.behind_seconds / 3600) for event in behind] == [19, 19]
