"""Workers of one group: shards move by agreement, those of a worker that is gone are taken, nothing is left out.

On the virtual clock, over an engine whose streams have shards that close and split. What a worker does is a task here,
which is cut off from the engine where a process would be killed or frozen.
"""

import asyncio
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from dynamap_async import Attr, Model, PartitionKey, TableSettings
from dynamap_async.session import runner_of
from dynamap_async.streams.checkpoints import ShardRecord, in_own_table
from dynamap_async.streams.events import LeaseLost, LeaseTaken
from dynamap_async.testing import FrozenClock, LocalEngine, StreamShards
from dynamap_async.testing.faults import Faults

NOON = 1_772_366_400.0  # of 1 March 2026, UTC
LOOK_SECONDS = 10 / 3
"""How long one look at the leases comes after another at most, where leases last 10 seconds."""


class Reading(Model, table="readings", settings=TableSettings(stream="new-and-old")):
    sensor: PartitionKey[str]
    value: Attr[int]


def engine_of(**rules):
    return LocalEngine(clock=FrozenClock(NOON), seed=5, streams=StreamShards(**rules))


class Group:
    """Workers of one group, and what they have handled."""

    def __init__(self, engine, *, pause=0.05, at_once=False, faults=None, line=None, **options):
        self.engine = engine
        self.options = options
        self.pause = pause
        self.at_once = at_once
        self.faults = faults
        self.line = line
        self.values = defaultdict(list)
        self.by = Counter()
        self.events = []
        self.cancelled = 0
        self.workers = {}
        self.consumers = {}
        self.lines = {}
        self.grown = asyncio.Event()

    async def start(self, name):
        """Begin a worker with a session of its own."""
        begun = asyncio.Event()
        self.workers[name] = asyncio.create_task(self._work(name, begun))
        await begun.wait()

    async def _work(self, name, begun):
        transport = self.engine.transport()
        if self.faults is not None:
            transport = self.faults.wrap(transport)
        if self.line is not None:
            transport = self.line(transport)
        async with self.engine.session(transport=transport, observer=self._observe) as session:
            begun.set()
            self.consumers = {
                **getattr(self, "consumers", {}),
                name: session.consumer(Reading, group="g", **self.options),
            }
            self.lines = {**getattr(self, "lines", {}), name: transport}
            await self.consumers[name].run(self._handler(name), concurrency=16)

    def _handler(self, name):
        async def handle(change):
            if self.at_once:  # handled from here on, whether it ends or not
                self.values[change.key["sensor"]].append(change.new.value)
            try:
                await asyncio.sleep(self.pause * (1 + change.new.value % 5))
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            if not self.at_once:
                self.values[change.key["sensor"]].append(change.new.value)
            self.by[name] += 1
            self.grown.set()

        return handle

    def _observe(self, event):
        if isinstance(event, LeaseTaken | LeaseLost):
            self.events.append(event)

    def lost(self):
        return [event for event in self.events if isinstance(event, LeaseLost)]

    def shards(self):
        """Return how many shards each worker has."""
        return {name: len(each.statistics().shards) for name, each in self.consumers.items() if name in self.workers}

    async def stop(self, name):
        task = self.workers.pop(name)
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            task.result()

    async def stop_all(self):
        for name in list(self.workers):
            await self.stop(name)

    async def until(self, total, within=900):
        async with asyncio.timeout(within):
            while sum(map(len, self.values.values())) < total:
                self.grown.clear()
                await self.grown.wait()

    async def until_balanced(self, shards, within=300):
        """Wait until the workers have as many shards as each other, all of them together."""
        async with asyncio.timeout(within):
            while not self._is_balanced(shards):  # noqa: ASYNC110 - on the virtual clock that costs nothing
                await asyncio.sleep(1)

    def _is_balanced(self, shards):
        counts = self.shards().values()
        return sum(counts) == shards and max(counts) - min(counts) <= 1


async def write(session, keys, first, last):
    for value in range(first, last):
        await session.put_many([Reading(sensor=f"s{key}", value=value) for key in range(keys)])


def expected(keys, values):
    return {f"s{key}": list(range(values)) for key in range(keys)}


def in_order(values):
    """Return whether the first handling of each change comes in order."""
    seen, firsts = set(), []
    for value in values:
        if value not in seen:
            seen.add(value)
            firsts.append(value)
    return firsts == sorted(firsts)


async def test_workers_that_start_together_have_as_many_shards_as_each_other():
    with engine_of(shards=8) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine)
            for name in "abcd":
                await group.start(name)
            await group.until_balanced(8)
            assert group.shards() == {"a": 2, "b": 2, "c": 2, "d": 2}
            await write(session, 40, 0, 10)
            await group.until(400)
            assert all(group.by[name] > 0 for name in "abcd")
            await group.stop_all()
    assert group.values == expected(40, 10)
    assert group.lost() == []


async def test_no_change_is_handled_twice_while_workers_join_and_leave_by_agreement():
    with engine_of(shards=6, splits=(30.0, 60.0, 90.0)) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group, value = Group(engine, pause=0.3, at_once=True), 0
            await group.start("first")
            for turn in range(20):
                await group.start(f"w{turn}")
                for _ in range(6):
                    await write(session, 30, value, value + 1)
                    value += 1
                    await asyncio.sleep(1)
                await group.stop(f"w{turn}")
            await group.until(30 * value)
            await asyncio.sleep(30)
            await group.stop_all()
    assert group.values == expected(30, value)
    assert sum(number for name, number in group.by.items() if name != "first") > 200
    assert group.lost() == []


async def test_the_shards_of_a_worker_that_is_gone_are_taken_within_three_lease_times(line_over):
    with engine_of(shards=4) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine, line=line_over)
            await group.start("gone")
            await group.start("left")
            await group.until_balanced(4)
            group.lines["gone"].whole.clear()  # what it sends does not arrive any more
            began = asyncio.get_running_loop().time()
            await write(session, 40, 0, 3)
            await group.until(120)
            taken = asyncio.get_running_loop().time() - began
            assert group.shards()["left"] == 4
            group.lines["gone"].whole.set()
            await group.stop_all()
    assert 10 <= taken <= 30
    assert {sensor: sorted(set(values)) for sensor, values in group.values.items()} == expected(40, 3)
    assert all(map(in_order, group.values.values()))


async def test_to_ask_a_worker_that_is_gone_for_a_shard_does_not_have_others_wait_longer_for_it(line_over):
    with engine_of(shards=4) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine, line=line_over)
            await group.start("gone")
            await group.until_balanced(4)
            group.lines["gone"].whole.clear()
            began = asyncio.get_running_loop().time()
            for name in "ab":  # each asks for a shard
                await group.start(name)
                await asyncio.sleep(8)
            await asyncio.sleep(60)
            takes = [event for event in reversed(group.events) if isinstance(event, LeaseTaken) and event.at > began]
            taken = {event.shard_id: event.at - began for event in takes}
            group.lines["gone"].whole.set()
            await group.stop_all()
    # Each worker looks for the first time when it begins.
    assert len(taken) == 4
    assert max(taken.values()) <= 12 + 2 * LOOK_SECONDS


async def test_a_worker_that_cannot_renew_cancels_what_it_handles_before_another_one_has_the_shard(line_over):
    with engine_of(shards=1) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine, line=line_over, pause=1000.0)
            await write(session, 3, 0, 1)
            await group.start("cut off")
            await asyncio.sleep(2)
            group.lines["cut off"].whole.clear()
            await group.start("other")
            await asyncio.sleep(60)
            assert group.cancelled == 3
            lost, taken = group.lost()[0].at, group.events[-1].at
            group.lines["cut off"].whole.set()
            await group.stop_all()
    assert group.cancelled == 6
    assert [type(event) for event in group.events] == [LeaseTaken, LeaseLost, LeaseTaken]
    assert lost < taken
    assert [event.fence for event in group.events] == [1, 1, 2]


async def test_a_worker_that_was_frozen_has_none_of_its_positions_accepted(line_over):
    with engine_of(shards=1) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            await write(session, 5, 0, 4)
            group = Group(engine, line=line_over, lease_seconds=10.0)
            await group.start("frozen")
            await group.until(20)
            await asyncio.sleep(5)
            # Another one has it, while this one takes itself for its owner.
            runner = runner_of(session)
            records = await session.scan(ShardRecord).consistent()
            held = next(each for each in records if "shardId" in each.pk)
            store = in_own_table(runner.executor, runner.context)
            taken = await store.take(held.pk.removeprefix("consumer#"), held, owner="other", seconds=10)
            await write(session, 5, 4, 5)
            await asyncio.sleep(5)
            assert len(group.lost()) == 1
            after = (await store.find_all([held.pk.removeprefix("consumer#")]))[held.pk.removeprefix("consumer#")]
            assert (after.fence, after.position, after.owner) == (taken.fence, taken.position, "other")
            await group.stop_all()


async def test_children_are_read_after_the_last_change_of_their_parent_whoever_reads_that():
    with engine_of(shards=2, splits=(20.0, 40.0, 60.0, 80.0), lifetime=100.0) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine, pause=2.0)
            for name in "abc":
                await group.start(name)
            for value in range(20):
                await write(session, 20, value, value + 1)
                await asyncio.sleep(5)
            await group.until(400, within=3000)
            await group.stop_all()
    assert group.values == expected(20, 20)
    assert group.lost() == []


async def test_a_child_that_is_known_early_waits_for_what_another_worker_handles_of_its_parent():
    with engine_of(shards=2, splits=(20.0, 21.0)) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine, pause=20.0)
            for name in "abc":
                await group.start(name)
            await group.until_balanced(2)
            await write(session, 20, 4, 5)  # each is handled for 100 seconds
            await asyncio.sleep(30)  # by now the parents are closed
            await write(session, 20, 5, 6)  # each for 20: these would end first
            await group.until(40)
            await group.stop_all()
    assert group.values == {f"s{key}": [4, 5] for key in range(20)}
    assert len(group.by) >= 2
    assert group.lost() == []


async def test_a_worker_that_stops_gives_its_shards_back_at_once():
    with engine_of(shards=4) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine)
            await group.start("a")
            await group.until_balanced(4)
            began = asyncio.get_running_loop().time()
            await group.stop("a")
            assert asyncio.get_running_loop().time() - began < 5
            records = [each for each in await session.scan(ShardRecord).consistent() if "shardId" in each.pk]
            assert [each.owner for each in records] == [None] * 4


async def test_a_stopped_worker_that_cannot_give_back_ends_within_the_close_timeout(line_over):
    with engine_of(shards=4) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine, line=line_over)
            await group.start("a")
            await group.until_balanced(4)
            group.lines["a"].whole.clear()
            loop = asyncio.get_running_loop()
            began = loop.time()
            task = group.workers.pop("a")
            task.cancel()
            await asyncio.wait((task,))
            assert loop.time() - began <= 10.0  # five seconds to give back, and as many to close the session
            group.lines["a"].whole.set()


async def test_a_hand_over_waits_for_what_is_handled_no_longer_than_it_may():
    with engine_of(shards=2) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            await write(session, 4, 0, 1)
            group = Group(engine, pause=10_000.0, handover_seconds=30.0)
            await group.start("slow")
            await group.until_balanced(2)
            await group.start("new")
            await asyncio.sleep(60)
            assert group.shards() == {"slow": 1, "new": 1}
            assert group.lost() == []
            await group.stop_all()


@pytest.mark.parametrize("share", [0.2])
async def test_no_lease_is_lost_while_the_library_table_refuses_one_request_in_five(share):
    with engine_of(shards=16) as engine:
        faults = Faults(seed=3)
        faults.on("UpdateItem", table="dynamap", share=share).throttle()
        faults.on("GetItem", table="dynamap", share=share).throttle()
        faults.on("BatchGetItem", table="dynamap", share=share).throttle()
        async with engine.session() as session:
            await session.tables.create(Reading)
            await session.tables.create(ShardRecord)
            group = Group(engine, faults=faults)
            for number in range(8):
                await group.start(f"w{number}")
            await group.until_balanced(16)
            for value in range(30):
                await write(session, 30, value, value + 1)
                await asyncio.sleep(4)
            await group.until(900)
            await group.stop_all()
    assert group.lost() == []
    assert group.values == expected(30, 30)


async def test_the_limits_of_the_service_hold_and_a_shard_has_one_reader():
    with engine_of(shards=4, splits=(30.0, 60.0, 90.0, 120.0, 150.0)) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine, pause=0.0)
            for name in "abc":
                await group.start(name)
            for value in range(50):
                await write(session, 20, value, value + 1)
                await asyncio.sleep(4)
            await group.until(1000)
            calls = engine.stream_calls
            await group.stop_all()
    assert group.values == expected(20, 50)
    reads = [each for each in calls if each.operation == "GetRecords"]
    assert len(reads) >= 9
    assert max(each.most_per_second for each in reads) <= 5
    # Right after a shard has moved, the request of the worker before it may be less than a second ago.
    assert max(each.most_readers for each in reads) <= 2
    assert [each for each in calls if each.refused] == []
    assert max(each.most_per_second for each in calls if each.operation == "DescribeStream") <= 10


async def test_an_idle_group_asks_each_shard_once_a_second_at_most():
    with engine_of(shards=4) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
            group = Group(engine)
            for name in "ab":
                await group.start(name)
            await group.until_balanced(4)
            before = {each.shard_id: each.calls for each in engine.stream_calls if each.operation == "GetRecords"}
            await asyncio.sleep(100)
            after = {each.shard_id: each.calls for each in engine.stream_calls if each.operation == "GetRecords"}
            await group.stop_all()
    assert all(90 <= after[shard] - before[shard] <= 101 for shard in after), (before, after)


async def test_after_a_fifth_of_all_requests_failed_nothing_is_missing():
    with engine_of(shards=4, splits=(30.0, 60.0)) as engine:
        faults = Faults(seed=11)
        for operation in ("GetRecords", "GetShardIterator", "DescribeStream"):
            faults.on(operation, share=0.07).lose_answer()
            faults.on(operation, share=0.07).error("InternalServerError", status=500)
        faults.on("GetRecords", share=0.07).error("ExpiredIteratorException")
        for operation in ("UpdateItem", "GetItem", "BatchGetItem"):
            faults.on(operation, share=0.07).lose_answer()
            faults.on(operation, share=0.13).throttle()
        async with engine.session() as session:
            await session.tables.create(Reading)
            await session.tables.create(ShardRecord)
            group = Group(engine, pause=0.0, faults=faults)
            for turn in range(4):
                await group.start(f"w{turn}")
                await write(session, 50, turn * 10, turn * 10 + 10)
                await asyncio.sleep(30)
                await group.stop(f"w{turn}")
            await group.start("last")
            await group.until(2000)
            await group.stop_all()
    assert {sensor: sorted(set(values)) for sensor, values in group.values.items()} == expected(50, 40)
    assert all(map(in_order, group.values.values()))
    assert all(later - earlier <= 1 for values in group.values.values() for earlier, later in pairwise(values))
