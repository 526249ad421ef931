"""An engine with ``capacity=`` refuses what its tables have no units for, and sessions see that as from DynamoDB."""

import asyncio
import random

import pytest

from dynamap_async import (
    Attr,
    CapacityPolicy,
    GlobalIndex,
    Model,
    PartitionKey,
    Put,
    RetryPolicy,
    Session,
    Throughput,
    attr,
)
from dynamap_async.errors import ConfigurationError, ThrottledError, TransactionCanceledError
from dynamap_async.testing import Capacity, Durations, FrozenClock, LocalEngine, VirtualClockLoop

ONCE = RetryPolicy(max_attempts=1)
UNPACED = {"capacity": CapacityPolicy(enabled=False), "retry": RetryPolicy(max_attempts=100)}
NOTHING_SAVED = Capacity(burst_seconds=1)


class Thing(Model, table="things", throughput=Throughput(read=5, write=5)):
    id: PartitionKey[str]
    city: Attr[str | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city", throughput=Throughput(read=5, write=2))


class Note(Model, table="notes"):
    id: PartitionKey[str]


async def put_six(session: Session, city: str | None) -> None:
    for number in range(6):
        await session.put(Thing(id=f"{number}", city=city))


@pytest.mark.asyncio
@pytest.mark.parametrize("over", ["process", "http"])
@pytest.mark.parametrize(("city", "reason"), [(None, "Table"), ("Rome", "Index")])
async def test_a_provisioned_table_refuses_what_is_above_its_units_and_says_what_was_short(over, city, reason):
    with LocalEngine(models=[Thing], capacity=NOTHING_SAVED, clock=FrozenClock()) as engine:
        async with engine.session(over=over, retry=ONCE) as session:
            with pytest.raises(ThrottledError) as caught:
                await put_six(session, city)
    [why] = caught.value.reasons
    assert f"{reason}WriteProvisionedThroughputExceeded" in why
    assert ":table/things" in why


@pytest.mark.asyncio
async def test_an_on_demand_table_can_be_tried_with_few_units():
    with LocalEngine(models=[Note], capacity=Capacity(units=2, burst_seconds=1), clock=FrozenClock()) as engine:
        async with engine.session(retry=ONCE) as session:
            await session.put(Note(id="a"))
            with pytest.raises(TransactionCanceledError, match="ThrottlingError"):
                await session.transact_write([Put(Note(id="b"))])
            await session.put(Note(id="c"))
            with pytest.raises(ThrottledError, match="maximum OnDemandThroughput"):
                await session.put(Note(id="d"))
        assert {item["id"]["S"] for item in engine.items("notes")} == {"a", "c"}
        assert [(each.table, each.index) for each in engine.refusals] == [("notes", None)] * 2


def loaded(seed: int) -> tuple[list[object], float]:
    """Load 40 items on a clock that jumps; return what was refused meanwhile, and how long it took."""

    async def load() -> tuple[list[object], float]:
        random.seed(seed)  # of which sessions draw how long they wait
        loop = asyncio.get_running_loop()
        with LocalEngine(models=[Thing], capacity=NOTHING_SAVED, clock=FrozenClock(), seed=seed) as engine:
            async with engine.session(**UNPACED) as session:
                began = loop.time()
                async with asyncio.TaskGroup() as group:
                    for number in range(40):
                        group.create_task(session.put(Thing(id=f"{number}")))
            first = engine.refusals[0].at
            return [(each.at - first, each.table, each.reason) for each in engine.refusals], loop.time() - began

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        return runner.run(load())


def test_on_a_virtual_clock_two_runs_of_one_seed_have_one_log_of_refusals():
    refusals, seconds = loaded(3)
    assert len(refusals) > 10
    assert (refusals, seconds) == loaded(3)
    assert 7 <= seconds < 60  # 40 units, of which 5 were there


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"units": 0}, "units=0 is no number from 1 on; leave it out for what DynamoDB does"),
        ({"burst_seconds": 0.5}, "burst_seconds=0.5 is no number from 1 on"),
        ({"partitions": 1.5}, "partitions=1.5 is no whole number from 1 on"),
        ({"partition_write_units": "many"}, "partition_write_units='many' is no number"),
        ({"partition_read_units": None}, "partition_read_units=None is no number"),
        ({"split_seconds": float("nan")}, "split_seconds=nan is no number from 0 on"),
    ],
)
def test_a_capacity_that_cannot_be_is_refused(wrong, text):
    with pytest.raises(ConfigurationError, match=text):
        LocalEngine(capacity=Capacity(**wrong))


@pytest.mark.virtual_clock
async def test_refusals_are_told_in_seconds_since_the_first_request_as_changes_of_a_state_are():
    durations = Durations(create_table=10, lag=0)
    with LocalEngine(models=[Thing], capacity=NOTHING_SAVED, durations=durations, clock=FrozenClock()) as engine:
        await asyncio.sleep(1000)
        began = engine.clock()
        async with engine.session(**{**UNPACED, "retry": ONCE}) as session:
            await session.tables.create(Note)
            with pytest.raises(ThrottledError):
                await put_six(session, None)
        assert [entry.at for entry in engine.log] == [0.0, 10.0]
        assert [each.at for each in engine.refusals] == pytest.approx([engine.clock() - began])
        assert engine.refusals[0].at >= 10


@pytest.mark.virtual_clock
async def test_units_that_take_their_time_to_change_hold_when_the_change_is_done():
    durations = Durations(create_table=0, update_table=60, lag=0)
    with LocalEngine(capacity=NOTHING_SAVED, durations=durations) as engine:
        async with engine.session(retry=ONCE, capacity=CapacityPolicy(enabled=False)) as session:
            await session.tables.create(Note)
            await session.tables.update_throughput(Note, throughput=Throughput(read=3, write=3), wait=False)
            assert await stored(session, 10) == 10
            await asyncio.sleep(61)
            assert await stored(session, 10) == 3


async def stored(session: Session, most: int) -> int:
    """Put notes one by one until one is refused, and return how many are stored."""
    for number in range(most):
        try:
            await session.put(Note(id=f"{number}"))
        except ThrottledError:
            return number
    return most
