"""An engine that takes its time: what it does with items, and what other clients and other modes see of it."""

import asyncio
import random

import boto3
import pytest
from botocore.exceptions import ClientError

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Session
from dynamap_async.errors import ConfigurationError, ResourceInUseError, ResourceNotFoundError
from dynamap_async.testing import Durations, FrozenClock, LocalEngine, MotoEngine, VirtualClockLoop
from dynamap_async.testing.faults import Faults, FaultyServer
from dynamap_async.testing.slow_tables import SlowTables

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


@pytest.mark.virtual_clock
async def test_an_index_is_built_for_hours_in_no_time():
    with LocalEngine(durations=Durations(backfill=7200.0)) as engine:
        async with engine.session() as session:
            await session.tables.create(Bare)
            await session.put(Tweet(id="1", city="London"))
            await session.tables.ensure(Tweet, timeout_seconds=20_000)
            assert [tweet.id async for tweet in session.query(Tweet).where(Tweet.city == "London")] == ["1"]
            await session.tables.delete(Tweet)
            assert not await session.tables.exists(Tweet)
        assert engine.log[-1].after is None


@pytest.mark.virtual_clock
async def test_two_runs_with_one_seed_have_equal_logs():
    logs = []
    for seed in (11, 11, 12):
        random.seed(11)  # which draws the pauses of a session that waits
        clock = FrozenClock(1_772_366_400.0)
        with LocalEngine(clock=clock, seed=seed, durations=Durations()) as engine:
            async with engine.session() as session:
                await session.tables.create(Bare)
                await session.tables.ensure(Tweet, timeout_seconds=20_000)
            logs.append(engine.log)
    assert logs[0] == logs[1] != logs[2]
    assert len(logs[0]) > 6


@pytest.mark.virtual_clock
async def test_items_that_do_not_fit_are_left_out_of_a_new_index():
    with LocalEngine(durations=Durations()) as engine:
        async with engine.session() as session:
            await session.tables.create(Bare)
            await session.put_many([Bare(id=str(number), city=number if number % 3 else "x") for number in range(30)])
            await session.tables.ensure(Tweet, timeout_seconds=20_000)
            assert await session.scan(Tweet).index(Tweet.by_city).count() == 10
            found = [tweet async for tweet in session.query(Tweet).where(Tweet.city == "x")]
            assert sorted(int(tweet.id) for tweet in found) == list(range(0, 30, 3))


@pytest.mark.asyncio
async def test_other_clients_see_it_through_its_server():
    with LocalEngine(durations=QUICK) as engine:
        client = boto3.client(
            "dynamodb",
            endpoint_url=engine.endpoint_url,
            region_name="eu-west-1",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )
        async with engine.session(over="http") as session:
            await session.tables.create(Tweet, wait=False)
            with pytest.raises(ResourceInUseError):
                await session.tables.create(Tweet)
            await session.tables.ensure(Tweet)
            await session.put(Tweet(id="1", city="London"))
            assert [tweet.id async for tweet in session.query(Tweet).where(Tweet.city == "London")] == ["1"]
            with pytest.raises(ResourceNotFoundError):
                await session.tables.describe(Ghost)
        assert client.delete_table(TableName="slow")["TableDescription"]["TableStatus"] == "DELETING"
        with pytest.raises(ClientError, match="ResourceNotFoundException"):
            client.get_item(TableName="slow", Key={"id": {"S": "1"}})
        client.close()
        assert [entry.after for entry in engine.log if entry.index is None] == ["CREATING", "ACTIVE", "DELETING"]


@pytest.mark.asyncio
async def test_in_real_time_a_table_takes_its_time():
    loop = asyncio.get_running_loop()
    with LocalEngine(durations=QUICK) as engine:
        async with engine.session() as session:
            began = loop.time()
            await session.tables.create(Tweet)
            assert loop.time() - began >= 0.05


@pytest.mark.virtual_clock
async def test_faults_are_scripted_in_front_of_it():
    faults = Faults()
    faults.on("CreateTable", nth=1).lose_answer()
    with LocalEngine(durations=Durations()) as engine:
        async with Session(transport=faults.wrap(engine.transport())) as session:
            await session.tables.ensure(Tweet)
            await session.put(Tweet(id="1", city="London"))
    assert faults.unused == ()


@pytest.mark.asyncio
async def test_a_server_with_faults_stands_in_front_of_it():
    faults = Faults()
    faults.on("CreateTable", nth=1).lose_answer()
    with LocalEngine(durations=QUICK) as engine:
        async with FaultyServer(engine.endpoint_url, faults) as server, server.session() as session:
            await session.tables.ensure(Tweet)
        assert [entry.after for entry in engine.log if entry.index is None] == ["CREATING", "ACTIVE"]
    assert faults.unused == ()


def test_the_tables_of_models_are_there_at_once():
    durations = Durations(create_table=3600.0)
    with LocalEngine(models=[Tweet], durations=durations, clock=FrozenClock()) as engine:
        assert engine.items("slow") == []
        assert engine.log == ()
        with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
            runner.run(create_one(engine))


@pytest.mark.virtual_clock
async def test_the_tables_of_models_are_there_at_once_in_an_async_block_too():
    async with LocalEngine(models=[Tweet], durations=Durations(create_table=3600.0)) as engine:
        assert engine.log == ()
        await create_one(engine)


async def create_one(engine):
    """Put an item into a table that was there, and create one, which takes its time."""
    async with engine.session() as session:
        await session.put(Tweet(id="1", city="London"))
        began = engine.clock()
        await session.tables.create(Ghost, timeout_seconds=7200)
        assert engine.clock() - began >= 3600
    assert len(engine.items("slow")) == 1


@pytest.mark.virtual_clock
async def test_a_snapshot_takes_back_what_was_under_way():
    with LocalEngine(durations=Durations(lag=0.0, backfill=600.0)) as engine:
        async with engine.session() as session:
            await session.tables.create(Bare)
            before = engine.snapshot()
            building = asyncio.create_task(session.tables.ensure(Tweet, timeout_seconds=2000))
            await asyncio.sleep(300)
            building.cancel()
            assert engine.log[-1].after == "ACTIVE"
            engine.restore(before)
            assert (await session.tables.describe(Bare)).schema.indexes == ()
            await asyncio.sleep(1000)
            described = await session.tables.describe(Bare)
        assert (described.is_active, described.schema.indexes) == (True, ())
        assert [entry.after for entry in engine.log if entry.index] == ["CREATING", "BACKFILLING"]


@pytest.mark.virtual_clock
async def test_what_is_under_way_is_over_in_the_file_that_is_kept(tmp_path):
    file = tmp_path / "dev.json"
    with LocalEngine(data=file, durations=Durations()) as engine:
        async with engine.session() as session:
            await session.tables.create(Bare)
            await session.tables.create(Ghost)
            await session.tables.delete(Ghost, wait=False)
    with LocalEngine(data=file) as engine:
        async with engine.session() as session:
            assert (await session.tables.describe(Bare)).is_active
            assert not await session.tables.exists(Ghost)


def test_a_port_and_a_moved_clock_are_refused_together(free_port):
    engine = LocalEngine(port=free_port, clock=FrozenClock(), durations=Durations())
    with pytest.raises(ConfigurationError, match="sockets run in real time"):
        engine.__enter__()


@pytest.mark.asyncio
async def test_sockets_and_a_moved_clock_are_refused_together():
    with (
        LocalEngine(clock=FrozenClock(), durations=Durations()) as engine,
        pytest.raises(ConfigurationError, match="sockets run in real time"),
    ):
        engine.session(over="http")


@pytest.mark.virtual_clock
async def test_sockets_and_a_virtual_loop_are_refused_together():
    with (
        LocalEngine(durations=Durations()) as engine,
        pytest.raises(ConfigurationError, match="sockets run in real time"),
    ):
        _ = engine.endpoint_url


def test_a_moved_clock_needs_a_loop_that_follows():
    async def opened():
        async with engine.session():
            pass

    with LocalEngine(clock=FrozenClock(), durations=Durations()) as engine:
        with pytest.raises(ConfigurationError, match="VirtualClockLoop"):
            asyncio.run(opened())
        with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
            runner.run(opened())


@pytest.mark.parametrize("duration", [-1.0, (1.0, -1.0), [], "soon", True])
def test_a_duration_that_makes_no_sense_is_refused(duration):
    with pytest.raises(ConfigurationError, match="create_table"):
        LocalEngine(durations=Durations(create_table=duration))


@pytest.mark.virtual_clock
async def test_slow_tables_let_an_engine_take_its_time_and_say_what_to_write_instead():
    with LocalEngine(models=[Bare]) as engine:
        with pytest.warns(DeprecationWarning, match=r"write LocalEngine\(durations=Durations\(\.\.\.\)\)"):
            slow = SlowTables(engine, clock=FrozenClock(1_772_366_400.0), durations=Durations(backfill=600.0))
        async with slow.session() as session:
            await session.tables.ensure(Tweet, timeout_seconds=20_000)
        assert [entry.after for entry in slow.log if entry.index] == ["CREATING", "BACKFILLING", "ACTIVE"]
        assert slow.log == engine.log
        assert slow.now() >= 1_772_366_400.0 + 600


@pytest.mark.parametrize("engine", [None, MotoEngine()])
def test_slow_tables_stand_in_front_of_no_other_engine(engine):
    with (
        pytest.warns(DeprecationWarning, match="write LocalEngine"),
        pytest.raises(ConfigurationError, match="takes a LocalEngine"),
    ):
        SlowTables(engine)
