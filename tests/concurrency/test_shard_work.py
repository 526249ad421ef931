"""The work at one shard: no position passes a change that was not handled, however the work ends."""

import asyncio

from dynamap_async import Model, PartitionKey, TableSettings
from dynamap_async.errors import ThrottledError
from dynamap_async.streams.changes import ChangeDecoder
from dynamap_async.streams.checkpoints import MemoryCheckpoints
from dynamap_async.streams.group import Group, ShardLease
from dynamap_async.streams.positions import Position
from dynamap_async.streams.reading import ShardPage
from dynamap_async.streams.requests import StreamDescription, StreamRequests
from dynamap_async.streams.room import Room
from dynamap_async.streams.shards import StreamShard
from dynamap_async.streams.work import KeyedChanges, ListedChanges, Rules, ShardWork, WorkCounts, WorkerRun

SHARD = "shardId-1"
OLDEST = Position()


class Reading(Model, table="readings", settings=TableSettings(stream="new-and-old")):
    sensor: PartitionKey[str]


def page(*numbers, ended=False):
    records = [
        {"eventName": "INSERT", "dynamodb": {"SequenceNumber": str(number), "Keys": {"sensor": {"S": sensor}}}}
        for sensor, number in numbers
    ]
    return ShardPage(records, 0, ended)


class Stream(StreamRequests):
    """A stream of one shard."""

    async def latest(self):
        return "arn"

    async def describe(self, arn):
        return StreamDescription(arn, "readings", "", True, "", None, (StreamShard(SHARD),))


class Pages:
    """A reader whose pages come when the test says so."""

    def __init__(self):
        self._pages = asyncio.Queue()
        self.give = self._pages.put_nowait

    async def next(self):
        return await self._pages.get()

    async def close(self):
        """Hold nothing."""


def group_of(owner, checkpoints, start=OLDEST, stream=Stream):
    requests = stream(None, "readings")
    return Group("g", requests, checkpoints, owner=owner, seconds=10.0, start=start, clock=lambda: 0.0)


class Works:
    """A worker at one shard, and what is stored of it."""

    def __init__(self, function, *, make_queue=KeyedChanges, on_failure=None, checkpoints=None, stream=None):
        self.checkpoints = checkpoints or MemoryCheckpoints()
        self.pages = Pages()
        self._function = function
        self._make_queue = make_queue
        self._on_failure = on_failure
        self._stream = stream or Stream

    async def start(self):
        rules = Rules(
            group="g",
            concurrency=8,
            attempts=1,
            on_failure=self._on_failure,
            lease_seconds=10.0,
            handover_seconds=30.0,
            close_seconds=10.0,
        )
        group = group_of("me", self.checkpoints, stream=self._stream)
        run = WorkerRun(
            rules=rules,
            checkpoints=self.checkpoints,
            group=group,
            decoder=ChangeDecoder((Reading,)),
            room=Room(),
            slots=asyncio.Semaphore(8),
            enter=lambda: None,
            tell=None,
            clock=lambda: 0.0,
            counts=WorkCounts(),
        )
        record = await self.checkpoints.take(SHARD, None, owner="me", seconds=10.0)
        self.work = ShardWork(run, ShardLease(SHARD, record), self.pages, OLDEST, self._function, self._make_queue)
        return asyncio.create_task(self.work.run())

    async def position(self):
        return (await self.checkpoints.find_all([SHARD]))[SHARD].position


class Gate:
    """A function of changes that waits until it may go on."""

    def __init__(self):
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.handled = []

    async def __call__(self, change, error=None):
        self.begun.set()
        await self.open.wait()
        self.handled.append(change.sequence_number)


async def test_a_page_that_comes_when_the_shard_is_given_away_is_not_handled_before_what_was_dropped():
    handle = Gate()
    works = Works(handle)
    task = await works.start()
    works.pages.give(page(("a", 1), ("a", 2), ("a", 3)))
    await handle.begun.wait()
    works.pages.give(page(("b", 4)))  # in the same turn of the loop
    works.work.stop()
    handle.open.set()
    await task
    assert handle.handled == ["1"]
    assert await works.position() == "after 1"


async def test_a_shard_that_is_given_away_while_a_failure_is_told_ends_behind_the_change_that_failed():
    async def refuse(changes):
        raise ValueError(changes[0].sequence_number)

    on_failure = Gate()
    works = Works(refuse, make_queue=lambda *parts: ListedChanges(*parts, size=2, seconds=0.0), on_failure=on_failure)
    task = await works.start()
    works.pages.give(page(("a", 1), ("b", 2), ("c", 3)))
    await on_failure.begun.wait()
    works.work.stop()
    on_failure.open.set()
    await task
    assert on_failure.handled == ["1"]
    assert await works.position() == "after 1"


class Throttled(Stream):
    """A stream whose children are not told for a while."""

    async def children(self, arn, shard_id):
        raise ThrottledError("no", service_code="Code", operation="DescribeStream", table="readings", status=400)


async def test_a_shard_is_done_though_its_children_could_not_be_asked_for():
    handle = Gate()
    handle.open.set()
    works = Works(handle, stream=Throttled)
    task = await works.start()
    works.pages.give(page(("a", 1), ended=True))
    await task
    assert (await works.checkpoints.find_all([SHARD]))[SHARD].state == "done"


class Broken(MemoryCheckpoints):
    """A store whose own error comes with a renewal."""

    async def renew(self, held, *, position=None, values=None, beats=1):
        raise ZeroDivisionError("of the store")


async def test_an_error_of_a_store_of_ones_own_ends_the_work_at_the_shard():
    works = Works(Gate(), checkpoints=Broken())
    task = await works.start()
    await asyncio.wait((task,), timeout=60)
    assert isinstance(task.exception(), ZeroDivisionError)


async def test_latest_is_the_time_that_is_stored_once_another_worker_had_the_shard_since():
    checkpoints = MemoryCheckpoints()
    one, other = (group_of(owner, checkpoints, Position("latest")) for owner in ("one", "other"))
    await one.begin()
    await other.begin()
    [taken] = await other.look()
    await checkpoints.renew(taken.record, values={"owner": None})
    [again] = await one.look()
    assert not one.is_new(again)
    assert one.position(again) == Position("latest", at=0.0)


async def test_latest_is_now_for_who_recorded_it_and_takes_it_first():
    group = group_of("one", MemoryCheckpoints(), Position("latest"))
    await group.begin()
    [taken] = await group.look()
    assert group.is_new(taken)


class Splitting(Stream):
    """A stream of which shards end all the time. It remembers how often it was described."""

    descriptions = 0

    async def describe(self, arn):
        type(self).descriptions += 1
        return await super().describe(arn)

    async def children(self, arn, shard_id):
        return [StreamShard(f"{shard_id}-1", shard_id)]


async def test_all_shards_are_looked_for_twice_a_minute_however_often_one_ends():
    checkpoints, ended = MemoryCheckpoints(), SHARD
    workers = [group_of(owner, checkpoints, stream=Splitting) for owner in ("one", "other")]
    for worker in workers:
        await worker.begin()
    Splitting.descriptions = 0
    for _ in range(60):
        for worker in workers:
            await worker.look()
        await workers[0].find_children(ended)
        ended += "-1"
        await asyncio.sleep(5)
    assert 8 <= Splitting.descriptions <= 10
