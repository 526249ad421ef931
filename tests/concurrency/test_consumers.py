"""Consumers: each change is handled at least once, those of an item in order, by one worker of a group at a time.

On the virtual clock, over an engine whose streams have shards that close and split.
"""

import asyncio
from collections import Counter, defaultdict
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import pytest

from dynamap_async import Attr, Model, PartitionKey, TableSettings
from dynamap_async.errors import (
    ChangeFailedError,
    ChangesLostError,
    OperationError,
    ResourceNotFoundError,
    SessionStateError,
)
from dynamap_async.request import Request
from dynamap_async.session import runner_of
from dynamap_async.streams.checkpoints import ShardRecord, in_own_table
from dynamap_async.streams.recorded import RecordedGroups
from dynamap_async.testing import FrozenClock, LocalEngine, StreamShards

NOON = 1_772_366_400.0  # of 1 March 2026, UTC


class Reading(Model, table="readings", settings=TableSettings(stream="new-and-old")):
    sensor: PartitionKey[str]
    value: Attr[int]


class Plain(Model, table="plain"):
    id: PartitionKey[str]


@pytest.fixture
def engine():
    with LocalEngine(clock=FrozenClock(NOON), seed=5, streams=StreamShards()) as engine:
        yield engine


class Log:
    """What was handled, by whom, in order."""

    def __init__(self):
        self.values = defaultdict(list)
        self.by = Counter()
        self.grown = asyncio.Event()

    def of(self, worker, pause=0.0):
        async def handle(change):
            await asyncio.sleep(pause)
            self.values[change.key["sensor"]].append(change.new.value)
            self.by[worker] += 1
            self.grown.set()

        return handle

    @property
    def total(self):
        return sum(map(len, self.values.values()))

    @property
    def distinct(self):
        return sum(len(set(values)) for values in self.values.values())

    async def until(self, total, within=600, *, repeated=True):
        """Wait until so many changes were handled; without ``repeated`` a change that was handled again counts once."""
        async with asyncio.timeout(within):
            while (self.total if repeated else self.distinct) < total:
                self.grown.clear()
                await self.grown.wait()


SELDOM = {"idle_seconds": 300.0, "lease_seconds": 900.0}
"""Options of workers that wait for hours, so that they do not ask a thousand times meanwhile."""


async def ends(task):
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.result()


@asynccontextmanager
async def running(engine, handle, *, group="search", concurrency=32, **options):
    """Run a worker with a session of its own while the block runs."""
    async with engine.session() as session:
        consumer = session.consumer(Reading, group=group, **options)
        task = asyncio.create_task(consumer.run(handle, concurrency=concurrency))
        try:
            yield consumer
        finally:
            await ends(task)


async def write(session, keys, first, last):
    for value in range(first, last):
        await session.put_many([Reading(sensor=f"s{key}", value=value) for key in range(keys)])


async def test_every_change_is_handled_once_and_those_of_an_item_in_order(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 20, 0, 10)
        async with running(engine, log.of("one")):
            await log.until(200)
            await write(session, 20, 10, 15)
            await log.until(300)
            await asyncio.sleep(60)
    assert log.values == {f"s{key}": list(range(15)) for key in range(20)}


async def test_a_worker_goes_on_where_the_last_one_stopped(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 5, 0, 20)
        async with running(engine, log.of("one")):
            await log.until(100)
        await write(session, 5, 20, 30)
        async with running(engine, log.of("two")):
            await log.until(150)
            await asyncio.sleep(60)
    assert log.values == {f"s{key}": list(range(30)) for key in range(5)}
    assert log.by == {"one": 100, "two": 50}


async def test_a_group_of_another_name_gets_every_change_too(engine):
    log, other = Log(), Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 3, 0, 5)
        async with running(engine, log.of("one")), running(engine, other.of("two"), group="mails"):
            await log.until(15)
            await other.until(15)
    assert log.values == other.values


async def test_reset_begins_where_the_group_begins(engine):
    log, again = Log(), Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 3, 0, 5)
        async with running(engine, log.of("one")):
            await log.until(15)
        async with running(engine, again.of("one"), reset=True):
            await again.until(15)
    assert again.values == log.values


@pytest.mark.parametrize("quiet", [1.0, 1200.0, 5 * 3600.0])
async def test_latest_begins_with_what_comes_after_the_start_however_late_that_is(engine, quiet):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 10, 0, 3)
        await asyncio.sleep(5)
        async with running(engine, log.of("one"), start="latest", **SELDOM):
            await asyncio.sleep(quiet)
            await write(session, 10, 3, 4)
            await log.until(10, within=1200)
            await asyncio.sleep(60)
    assert log.values == {f"s{key}": [3] for key in range(10)}


async def test_a_group_that_began_with_latest_goes_on_from_then_after_a_restart_without_a_change(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 10, 0, 3)
        await asyncio.sleep(5)
        async with running(engine, log.of("one"), start="latest"):
            await asyncio.sleep(30)
        await write(session, 10, 3, 4)
        await asyncio.sleep(5 * 3600)  # its shards have closed by then
        async with running(engine, log.of("two"), start="latest"):
            await log.until(10)
            await asyncio.sleep(60)
    assert log.values == {f"s{key}": [3] for key in range(10)}


async def test_a_time_begins_with_what_was_changed_then_or_later(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 10, 0, 3)
        await asyncio.sleep(5 * 3600)
        since = datetime.fromtimestamp(engine.clock(), UTC)
        await write(session, 10, 3, 6)
        async with running(engine, log.of("one"), start=since):
            await log.until(30)
            await asyncio.sleep(60)
    assert log.values == {f"s{key}": [3, 4, 5] for key in range(10)}


async def test_shards_that_close_and_split_are_followed_for_days(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        async with running(engine, log.of("one"), **SELDOM):
            for hour in range(30):
                await write(session, 5, hour, hour + 1)
                await asyncio.sleep(3600)
            await log.until(150, within=3600)
    assert log.values == {f"s{key}": list(range(30)) for key in range(5)}


async def test_records_of_shards_are_kept_a_day_after_the_stream_does_not_show_them_any_more(engine):
    log = Log()

    async def kept(session):
        return {each.pk.rpartition("#")[2] for each in await session.scan(ShardRecord) if "shardId" in each.pk}

    async with engine.session() as session:
        await session.tables.create(Reading)
        async with running(engine, log.of("one"), **SELDOM):
            await asyncio.sleep(60)
            first = await kept(session)
            await asyncio.sleep(27 * 3600)
            assert first <= await kept(session)
            await asyncio.sleep(2 * 3600)
            assert not first & await kept(session)
    assert len(first) == 4


# Failures


async def fails(engine, values, *, times=99, **options):
    """Run a worker whose function fails on some values, so many times each; return what was raised, and its log."""
    log, tried = Log(), Counter()
    good = log.of("one")

    async def handle(change):
        tried[change.new.value] += 1
        if change.new.value in values and tried[change.new.value] <= times:
            raise ValueError(f"no {change.new.value}")
        await good(change)

    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 1, 0, 5)
        task = asyncio.create_task(session.consumer(Reading, group="g", **options).run(handle))
        await asyncio.wait((task,), timeout=60)
        if task.done():
            return task.exception(), log, tried
        await ends(task)
        return None, log, tried


async def test_a_change_that_fails_is_tried_again_before_those_behind_it(engine):
    error, log, tried = await fails(engine, [2], times=4)
    assert error is None
    assert log.values["s0"] == [0, 1, 2, 3, 4]
    assert tried == {0: 1, 1: 1, 2: 5, 3: 1, 4: 1}


async def test_a_change_that_fails_for_good_stops_the_run_and_is_the_first_one_the_next_time(engine):
    error, log, tried = await fails(engine, [2])
    assert isinstance(error, ChangeFailedError)
    assert error.change.new.value == 2
    assert str(error.__cause__) == "no 2"
    assert tried[2] == 5
    async with running(engine, log.of("two"), group="g"):
        await log.until(5)
    assert log.values["s0"] == [0, 1, 2, 3, 4]


async def test_who_is_told_of_failures_has_the_change_done(engine):
    told = []

    async def keep(change, error):
        told.append((change.new.value, str(error)))

    error, log, tried = await fails(engine, [2, 4], attempts=2, on_failure=keep)
    assert error is None
    assert log.values["s0"] == [0, 1, 3]
    assert told == [(2, "no 2"), (4, "no 4")]
    assert tried[2] == tried[4] == 2


async def test_a_failure_of_who_is_told_of_failures_stops_the_run(engine):
    async def keep(change, error):
        raise OSError("the disk is full")

    error, log, _ = await fails(engine, [2], attempts=1, on_failure=keep)
    assert isinstance(error, OSError)
    assert log.values["s0"] == [0, 1]


async def test_who_is_told_of_failures_has_failed_by_awaiting_what_was_cancelled(engine):
    async def keep(change, error):
        cancelled = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        await cancelled

    error, log, _ = await fails(engine, [2], attempts=1, on_failure=keep)
    assert isinstance(error, OperationError)
    assert log.values["s0"] == [0, 1]


async def test_the_error_of_a_change_says_what_the_function_raised(engine):
    error, _, _ = await fails(engine, [2])
    assert "ValueError('no 2')" in str(error)


async def test_statistics_count_what_was_done(engine):
    log, consumer = Log(), None
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 10, 0, 10)
        async with running(engine, log.of("one")) as consumer:
            await log.until(100)
            await asyncio.sleep(5)
            told = consumer.statistics()
        assert consumer.statistics().shards == ()
    assert (told.changes, told.retries, told.failures) == (100, 0, 0)
    assert len(told.shards) == 4
    assert all((each.waiting, each.lag_seconds) == (0, 0.0) and each.calls > 3 for each in told.shards)


# Lists


class Lists:
    """What was handled in lists."""

    def __init__(self, fail=()):
        self.given = []
        self.done = []
        self.fail = list(fail)
        self.grown = asyncio.Event()

    async def __call__(self, changes):
        values = [change.new.value for change in changes]
        self.given.append((changes[0].shard_id, values))
        bad = next((change for change in changes if change.new.value in self.fail), None)
        if bad is not None:
            self.fail.remove(bad.new.value)
            changes.failed(bad, ValueError(f"no {bad.new.value}"))
            values = values[: values.index(bad.new.value)]
        self.done += values
        self.grown.set()

    async def until(self, total):
        while len(self.done) < total:
            self.grown.clear()
            await self.grown.wait()


async def lists_of(engine, lists, total, *, keys=1, values=10, seconds=120.0, options=None, **how):
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, keys, 0, values)
        consumer = session.consumer(Reading, group="g", **(options or {}))
        task = asyncio.create_task(consumer.run_batches(lists, **how))
        async with asyncio.timeout(seconds):
            await lists.until(total)
        await ends(task)


async def test_lists_are_of_one_shard_in_order_and_no_longer_than_asked_for(engine):
    lists = Lists()
    await lists_of(engine, lists, 300, keys=10, values=30, size=7)
    assert sorted(lists.done) == sorted(list(range(30)) * 10)
    assert max(len(values) for _, values in lists.given) == 7
    by_shard = defaultdict(list)
    for shard, values in lists.given:
        by_shard[shard] += values
    assert all(values == sorted(values) for values in by_shard.values())


async def test_a_list_that_is_not_full_waits_no_longer_than_asked_for(engine):
    lists, loop = Lists(), asyncio.get_running_loop()
    async with engine.session() as session:
        await session.tables.create(Reading)
        task = asyncio.create_task(session.consumer(Reading, group="g").run_batches(lists, size=100, seconds=20.0))
        await asyncio.sleep(5)
        await write(session, 1, 0, 3)
        began = loop.time()
        await lists.until(3)
        waited = loop.time() - began
        await ends(task)
    assert lists.given[0][1] == [0, 1, 2]
    assert 20 <= waited < 23


async def test_a_change_of_a_list_that_fails_has_those_before_it_done_and_comes_first_again(engine):
    lists = Lists(fail=[3])
    await lists_of(engine, lists, 10)
    assert lists.done == list(range(10))
    assert [values[0] for _, values in lists.given] == [0, 3]


async def test_a_list_whose_change_fails_for_good_goes_on_behind_it(engine):
    told = []

    async def keep(change, error):
        told.append((change.new.value, str(error)))

    lists = Lists(fail=[3, 3, 8, 8])
    await lists_of(engine, lists, 8, options={"attempts": 2, "on_failure": keep})
    assert lists.done == [0, 1, 2, 4, 5, 6, 7, 9]
    assert told == [(3, "no 3"), (8, "no 8")]


# Gaps, and streams that change


async def behind(engine, log, **options):
    """Have a group handle a change, and come back when the next ones are trimmed away."""
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 1, 0, 3)
        async with running(engine, log.of("one")):
            await log.until(3)
        await write(session, 1, 3, 6)
        await asyncio.sleep(25 * 3600)
        await write(session, 1, 6, 9)
        task = asyncio.create_task(session.consumer(Reading, group="search", **options).run(log.of("two")))
        await asyncio.wait((task,), timeout=120)
        failed = task.done()
        if failed:
            return task.exception()
        await ends(task)
        return None


async def test_changes_that_are_gone_are_an_error_with_what_was_handled_last(engine):
    log = Log()
    error = await behind(engine, log)
    assert isinstance(error, ChangesLostError)
    assert error.at is not None
    assert log.values["s0"] == [0, 1, 2]


async def test_with_on_gap_oldest_exactly_those_that_are_gone_are_missing(engine):
    log = Log()
    assert await behind(engine, log, on_gap="oldest") is None
    assert log.values["s0"] == [0, 1, 2, 6, 7, 8]


async def test_a_stream_that_was_turned_off_and_on_is_read_to_its_end_before_the_new_one(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        async with running(engine, log.of("one")):
            await asyncio.sleep(1)
        await write(session, 3, 0, 5)
        await turn(session, on=False)
        await write(session, 3, 5, 6)  # of which no stream tells
        await turn(session, on=True)
        await write(session, 3, 6, 9)
        await turn(session, on=False)
        await turn(session, on=True)
        await write(session, 3, 9, 12)
        async with running(engine, log.of("one")):
            await log.until(33, within=900)
            await turn(session, on=False)
            await turn(session, on=True)
            await write(session, 3, 12, 13)
            await log.until(36, within=900)
    assert log.values == {f"s{key}": [*range(5), *range(6, 13)] for key in range(3)}


async def test_a_stream_that_is_gone_is_passed_over_where_that_is_said(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 1, 0, 1)
        async with running(engine, log.of("one")):
            await log.until(1)
        await turn(session, on=False)
        await asyncio.sleep(30 * 3600)
        await turn(session, on=True)
        await write(session, 1, 1, 2)
        async with running(engine, log.of("one"), on_gap="oldest"):
            await log.until(2)
    assert log.values == {"s0": [0, 1]}


async def turn(session, *, on):
    specification = {"StreamEnabled": on, **({"StreamViewType": "NEW_AND_OLD_IMAGES"} if on else {})}
    body = {"TableName": "readings", "StreamSpecification": specification}
    await runner_of(session).executor.send(Request(operation="UpdateTable", body=body, table="readings"))
    await asyncio.sleep(2)


async def test_a_table_without_a_stream_is_an_error_that_says_so(engine):
    async with engine.session() as session:
        await session.tables.create(Plain)
        with pytest.raises(OperationError, match="the table plain has no stream; declare it with"):
            await session.consumer(Plain, group="g").run(print)


async def test_a_scope_that_ends_a_run_lets_what_is_in_the_function_end(engine):
    log, begun = Log(), asyncio.Event()
    slow = log.of("one", pause=2)

    async def handle(change):
        begun.set()
        await slow(change)

    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 1, 0, 3)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.consumer(Reading, group="search").run, handle)
            await begun.wait()
            tasks.cancel_scope.cancel()
        assert log.values == {"s0": [0]}
        async with running(engine, log.of("two")):
            await log.until(3)
            await asyncio.sleep(60)
    assert log.values == {"s0": [0, 1, 2]}


@pytest.mark.parametrize("cancels", [1, 2])
async def test_a_cancelled_run_ends_though_its_function_never_does(engine, cancels):
    begun = asyncio.Event()

    async def handle(change):
        begun.set()
        await asyncio.Event().wait()

    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 1, 0, 1)
        before = asyncio.all_tasks()
        task = asyncio.create_task(session.consumer(Reading, group="search").run(handle))
        await begun.wait()
        for _ in range(cancels):
            task.cancel()
            await asyncio.wait((task,), timeout=0.1)
        async with asyncio.timeout(60):
            await asyncio.wait((task,))
        assert asyncio.all_tasks() <= before


async def test_a_function_that_awaits_what_was_cancelled_has_failed(engine):
    calls = 0
    cancelled = asyncio.get_running_loop().create_future()
    cancelled.cancel()

    async def handle(change):
        nonlocal calls
        calls += 1
        await cancelled

    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 1, 0, 1)
        async with asyncio.timeout(600):
            with pytest.raises(ChangeFailedError, match="failed 3 times"):
                await session.consumer(Reading, group="search", attempts=3).run(handle)
    assert calls == 3


# What a consumer is told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": "a#b"}, "give a name without '#'"),
        ({"start": "newest"}, "write 'oldest' or 'latest'"),
        ({"start": datetime(2026, 1, 1)}, "a datetime with a time zone"),  # noqa: DTZ001 - that is what is refused
        ({"attempts": 0}, "a number from 1 on"),
        ({"on_failure": "skip"}, "write 'stop', or give"),
        ({"lease_seconds": 0}, "a number of seconds above 0"),
        ({"on_gap": "newest"}, "write 'raise' or 'oldest'"),
        ({"idle_seconds": float("inf")}, "give seconds from 0.25 to 300"),
    ],
)
async def test_an_option_that_cannot_be_is_refused(engine, options, message):
    async with engine.session() as session:
        with pytest.raises(OperationError, match=message):
            session.consumer(Reading, **{"group": "g", **options})


async def test_a_consumer_runs_once_at_a_time(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        async with running(engine, log.of("one")) as consumer:
            await asyncio.sleep(1)
            with pytest.raises(SessionStateError, match="runs already"):
                await consumer.run(log.of("one"))


async def test_checkpoints_in_memory_leave_the_library_table_alone(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 3, 0, 5)
        async with running(engine, log.of("one"), checkpoints="memory"):
            await log.until(15)
        with pytest.raises(ResourceNotFoundError):
            await session.scan(ShardRecord)


async def test_a_function_that_writes_to_the_table_it_follows_is_warned_of_once(engine, caplog):
    async with engine.session() as session:
        await session.tables.create(Reading)
        await write(session, 1, 0, 3)

        async def handle(change):
            if change.new.value < 5:
                await session.put(Reading(sensor=change.new.sensor, value=5))

        consumer = session.consumer(Reading, group="g")
        task = asyncio.create_task(consumer.run(handle))
        await asyncio.sleep(60)
        await ends(task)
    told = [record.message for record in caplog.records if "whose changes it gets" in record.message]
    assert len(told) == 1


async def test_a_shard_that_waited_longer_than_changes_are_kept_is_no_silent_gap(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        async with running(engine, log.of("one"), **SELDOM):
            await asyncio.sleep(30)
        await write(session, 20, 0, 1)
        await asyncio.sleep(25 * 3600)
        await write(session, 20, 1, 2)
        with pytest.raises(ChangesLostError):
            await session.consumer(Reading, group="search", **SELDOM).run(log.of("two"))


# What is recorded, for people


async def test_what_is_recorded_tells_who_has_which_shard_and_how_far_it_is(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        runner = runner_of(session)
        groups = RecordedGroups(in_own_table(runner.executor, runner.context))
        await write(session, 20, 0, 2)
        async with running(engine, log.of("one")):
            await log.until(40)
            await asyncio.sleep(5)
            held = await groups.shards("search", "readings")
        free = await groups.shards("search", "readings")
        assert await groups.shards("another", "readings") is None
    assert [each.state for each in held] == ["held"] * 4
    assert len({each.owner for each in held}) == 1
    assert all(each.at is not None and NOON <= each.at < NOON + 10 for each in held)
    assert [(each.state, each.owner) for each in free] == [("free", None)] * 4


async def test_a_released_group_has_its_shards_taken_at_once_by_who_is_there(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        runner = runner_of(session)
        groups = RecordedGroups(in_own_table(runner.executor, runner.context))
        async with running(engine, log.of("one")):
            await asyncio.sleep(5)
            assert await groups.release("search", "readings") == 4
            await write(session, 5, 0, 2)
            await log.until(10, repeated=False)
        assert await groups.release("search", "readings") == 0
    assert {key: sorted(set(values)) for key, values in log.values.items()} == {f"s{key}": [0, 1] for key in range(5)}


async def test_a_group_that_was_reset_begins_anew(engine):
    log = Log()
    async with engine.session() as session:
        await session.tables.create(Reading)
        runner = runner_of(session)
        groups = RecordedGroups(in_own_table(runner.executor, runner.context))
        await write(session, 5, 0, 2)
        async with running(engine, log.of("one")):
            await log.until(10)
        assert await groups.reset("search", "readings") == 4
        assert await groups.reset("search", "readings") == 0
        async with running(engine, log.of("two")):
            await log.until(20)
    assert log.values == {f"s{key}": [0, 1, 0, 1] for key in range(5)}
