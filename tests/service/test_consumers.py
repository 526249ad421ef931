"""Consumers over each running engine, of which one has a single shard for ever: a group handles what was written."""

import asyncio
from collections import Counter, defaultdict

import pytest

from dynamap_async import Attr, Model, PartitionKey, TableSettings
from dynamap_async.errors import ChangeFailedError

pytestmark = pytest.mark.asyncio


class Reading(Model, table="readings", settings=TableSettings(stream="new-and-old")):
    sensor: PartitionKey[str]
    value: Attr[int]


class Log:
    """What was handled, by whom, in order."""

    def __init__(self):
        self.values = defaultdict(list)
        self.by = Counter()
        self.grown = asyncio.Event()

    def of(self, worker):
        async def handle(change):
            self.values[change.key["sensor"]].append(change.new.value)
            self.by[worker] += 1
            self.grown.set()

        return handle

    async def until(self, total):
        async with asyncio.timeout(60):
            while self.by.total() < total:
                self.grown.clear()
                await self.grown.wait()


async def write(session, first, last):
    for value in range(first, last):
        await session.put_many([Reading(sensor=f"s{key}", value=value) for key in range(10)])


def started(session, function):
    return asyncio.create_task(session.consumer(Reading, group="g", lease_seconds=300.0).run(function))


async def ended(task):
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()


async def test_a_worker_goes_on_where_the_last_one_stopped(session):
    log = Log()
    await session.tables.create(Reading)
    await write(session, 0, 10)
    first = started(session, log.of("one"))
    await log.until(100)
    await ended(first)
    await write(session, 10, 15)
    second = started(session, log.of("two"))
    await log.until(150)
    await ended(second)
    assert log.values == {f"s{key}": list(range(15)) for key in range(10)}
    assert log.by == {"one": 100, "two": 50}


async def test_workers_beside_each_other_handle_each_change_once(session):
    log = Log()
    await session.tables.create(Reading)
    both = [started(session, log.of(name)) for name in "ab"]
    await write(session, 0, 10)
    await log.until(100)
    for each in both:
        await ended(each)
    assert log.values == {f"s{key}": list(range(10)) for key in range(10)}


async def test_a_change_that_fails_for_good_comes_first_the_next_time(session):
    good = Log()
    await session.tables.create(Reading)
    await write(session, 0, 1)

    async def fail(change):
        raise ValueError("no")

    with pytest.raises(ChangeFailedError):
        await session.consumer(Reading, group="g", attempts=1).run(fail)
    task = started(session, good.of("one"))
    await good.until(10)
    await ended(task)
    assert good.values == {f"s{key}": [0] for key in range(10)}
