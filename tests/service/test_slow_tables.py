"""Slow tables before real engines: what they keep of items, what they pass on, and what other clients see."""

import asyncio
import random

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Session
from dynamap_async.errors import ConfigurationError, ResourceInUseError, ResourceNotFoundError
from dynamap_async.request import Request
from dynamap_async.testing import FrozenClock
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.slow_tables import Durations, SlowTables

QUICK = Durations(
    create_table=0.05, update_table=0.05, delete_table=0.05, allocate_index=0.05, backfill=0.1, delete_index=0.05, lag=0
)


class Bare(Model, table="slow"):
    id: PartitionKey[str]
    city: Attr[str | int | None] = None
    note: Attr[str] = ""


class Ghost(Model, table="ghost"):
    id: PartitionKey[str]


class Tweet(Model, table="slow"):
    id: PartitionKey[str]
    city: Attr[str]
    note: Attr[str] = ""

    by_city = GlobalIndex("city-index", partition_key="city")


@pytest.fixture(autouse=True)
def forgets(engine):
    """Leave no table behind: these have one name in all tests."""
    yield
    engine.reset()


@pytest.mark.virtual_clock
async def test_an_index_is_built_for_hours_in_no_time(engine):
    slow = SlowTables(engine, durations=Durations(backfill=7200.0))
    async with slow.session() as session:
        await session.tables.create(Bare)
        await session.put(Tweet(id="1", city="London"))
        await session.tables.ensure(Tweet, timeout_seconds=20_000)
        assert [tweet.id async for tweet in session.query(Tweet).where(Tweet.city == "London")] == ["1"]
        await session.tables.delete(Tweet)
        assert not await session.tables.exists(Tweet)
    assert slow.log[-1].after is None


@pytest.mark.virtual_clock
async def test_two_runs_on_an_engine_have_equal_logs(engine):
    logs = []
    for _ in range(2):
        random.seed(11)  # which draws the pauses of a session that waits
        slow = SlowTables(engine, clock=FrozenClock(1_772_366_400.0), seed=11)
        async with slow.session() as session:
            await session.tables.create(Bare)
            await session.tables.ensure(Tweet, timeout_seconds=20_000)
        logs.append(slow.log)
        engine.reset()
    assert logs[0] == logs[1]
    assert len(logs[0]) > 6


@pytest.mark.virtual_clock
async def test_items_that_do_not_fit_are_left_out_of_a_new_index(engine):
    slow = SlowTables(engine)
    async with slow.session() as session:
        await session.tables.create(Bare)
        await session.put_many([Bare(id=str(number), city=number if number % 3 else "x") for number in range(30)])
        await session.tables.ensure(Tweet, timeout_seconds=20_000)
        assert await session.scan(Tweet).index(Tweet.by_city).count() == 10
        found = [tweet async for tweet in session.query(Tweet).where(Tweet.city == "x")]
        assert sorted(int(tweet.id) for tweet in found) == list(range(0, 30, 3))


@pytest.mark.asyncio
async def test_other_clients_see_slow_tables_through_a_server(engine):
    slow = SlowTables(engine, durations=QUICK)
    async with slow.server() as server, server.session() as session:
        await session.tables.create(Tweet, wait=False)
        with pytest.raises(ResourceInUseError):
            await session.tables.create(Tweet)
        await session.tables.ensure(Tweet)
        await session.put(Tweet(id="1", city="London"))
        assert [tweet.id async for tweet in session.query(Tweet).where(Tweet.city == "London")] == ["1"]
        with pytest.raises(ResourceNotFoundError):
            await session.tables.describe(Ghost)
    assert [entry.after for entry in slow.log if entry.index is None] == ["CREATING", "ACTIVE"]


@pytest.mark.asyncio
async def test_in_real_time_a_table_takes_its_time(engine):
    slow = SlowTables(engine, durations=QUICK)
    loop = asyncio.get_running_loop()
    async with slow.session() as session:
        began = loop.time()
        await session.tables.create(Tweet)
        assert loop.time() - began >= 0.05


@pytest.mark.virtual_clock
async def test_faults_and_slow_tables_work_together(engine):
    slow, faults = SlowTables(engine), Faults()
    faults.on("CreateTable", nth=1).lose_answer()
    async with Session(transport=faults.wrap(slow.transport())) as session:
        await session.tables.ensure(Tweet)
        await session.put(Tweet(id="1", city="London"))
    assert faults.unused == ()


@pytest.mark.virtual_clock
async def test_a_table_from_before_can_be_changed(engine):
    slow = SlowTables(engine)
    async with slow.session() as session:
        await session.tables.create(Bare)
    later = SlowTables(engine)
    async with later.session() as session:
        await session.tables.ensure(Tweet, timeout_seconds=20_000)
        assert (await session.tables.describe(Tweet)).is_active
    assert [entry.after for entry in later.log if entry.index] == ["CREATING", "BACKFILLING", "ACTIVE"]


@pytest.mark.virtual_clock
async def test_an_engine_s_error_comes_through(engine):
    transport = SlowTables(engine).transport()
    await transport.open()
    with pytest.raises(ResourceNotFoundError):
        await transport.send(Request(operation="Scan", body={"TableName": "ghost"}, table="ghost"))
    await transport.close()


@pytest.mark.asyncio
async def test_a_server_and_a_moved_clock_are_refused_together(engine):
    with pytest.raises(ConfigurationError, match="sockets run in real time"):
        async with SlowTables(engine, clock=FrozenClock()).server():
            pass
