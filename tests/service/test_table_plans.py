"""A table with items is changed by a plan, on engines as they are and on one that takes its time: nothing is lost."""

from contextlib import nullcontext
from datetime import UTC, datetime

import anyio
import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, TimeToLive, attr
from dynamap_async.capacity import page_charge
from dynamap_async.testing import Durations, FrozenClock, LocalEngine, NativeEngine


class Visit(Model, table="plan-visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]
    day: Attr[str]

    by_page = GlobalIndex("page-index", partition_key="page")


class DailyVisit(Model, table="plan-visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]
    day: Attr[str]
    expires_at: TimeToLive[datetime | None] = attr(default=None)

    by_day = GlobalIndex("day-index", partition_key="day")


@pytest.fixture
def forgets(engine):
    """Leave no table behind: it has one name in all tests."""
    yield
    engine.reset()


async def change(make, killed_after_seconds=None):
    """Follow the how-to: expand, contract; killed on the way where a time is given."""
    async with make() as session:
        await session.tables.create(Visit)
        await session.put_many([Visit(visit_id=str(n), page="home", day=f"day-{n % 3}") for n in range(30)])
        plan = await session.tables.plan(DailyVisit, delete_unknown_indexes=True)
        with nullcontext() if killed_after_seconds is None else anyio.move_on_after(killed_after_seconds):
            await session.tables.apply(plan.expand, allow={"ttl-deletes-now"})
    async with make() as session:
        plan = await session.tables.plan(DailyVisit, delete_unknown_indexes=True)
        await session.tables.apply(plan, allow={"ttl-deletes-now", "index-deleted"})
        await session.tables.verify(DailyVisit, extra_indexes="fail")
        assert (await session.tables.plan(DailyVisit)).is_empty
        found = [visit async for visit in session.query(DailyVisit).where(DailyVisit.day == "day-1")]
        assert len(found) == 10
        assert len([visit async for visit in session.scan(DailyVisit)]) == 30


@pytest.mark.asyncio
@pytest.mark.usefixtures("forgets")
async def test_on_an_engine_as_it_is(engine):
    await change(engine.session)


@pytest.mark.asyncio
@pytest.mark.usefixtures("forgets")
async def test_what_an_engine_does_not_have_is_asked_for_once_and_not_listed(engine):
    async with engine.session() as session:
        await session.tables.create(Visit)
        before = session.statistics().requests
        plan = await session.tables.plan(Visit)
        assert session.statistics().requests - before == 5
    assert [told for told in plan.not_managed if "Kinesis" in told or "Insights" in told or "policy" in told] == []


@pytest.mark.asyncio
async def test_a_resource_policy_is_listed(running, asking):
    engine = running(LocalEngine)
    async with engine.session() as session:
        await session.tables.create(Visit)
        arn = (await session.tables.describe(Visit)).arn
        await asking(engine)("PutResourcePolicy", ResourceArn=arn, Policy="{}")
        assert "plan-visits: its resource policy" in (await session.tables.plan(Visit)).not_managed
    engine.reset()


@pytest.mark.virtual_clock
@pytest.mark.parametrize("killed_after_seconds", [None, 1.0, 100.0, 1000.0])
async def test_on_an_engine_that_takes_its_time(killed_after_seconds):
    with LocalEngine(clock=FrozenClock(datetime(2026, 3, 1, tzinfo=UTC)), durations=Durations()) as slow:
        await change(slow.session, killed_after_seconds)
        built = [entry for entry in slow.log if entry.index == "day-index" and entry.before is None]
    assert len(built) == 1


MANY, UNFIT = 10_000, {"wrong type": 100, "too long": 30, "empty": 7}


class Numbered(Model, table="plan-places"):
    place_id: PartitionKey[str]
    city: Attr[int]


class Named(Model, table="plan-places"):
    place_id: PartitionKey[str]
    city: Attr[str]


class Place(Model, table="plan-places"):
    place_id: PartitionKey[str]
    city: Attr[str]

    by_city = GlobalIndex(partition_key="city")


def places():
    """Return many places, of which some do not fit into the index."""
    cities = [1] * 100 + ["x" * 2049] * 30 + [""] * 7
    cities += [f"city {number % 50}" for number in range(MANY - len(cities))]
    return [
        (Named if isinstance(city, str) else Numbered)(place_id=f"{number:05d}", city=city)
        for number, city in enumerate(cities)
    ]


@pytest.fixture
def native(running, native_executable):
    """The engine that counts what requests take, empty at the end."""
    engine = running(NativeEngine, native_executable)
    yield engine
    engine.reset()


@pytest.mark.asyncio
async def test_every_item_that_an_index_would_leave_out_is_found_at_the_foreseen_cost(native):
    items = places()
    async with native.session() as session:
        await session.tables.create(Named)
        await session.put_many(items)
        report = await session.tables.check_index(Place.by_city)
        [step] = (await session.tables.plan(Place)).steps
    assert (report.items, report.violations, report.left_out) == (MANY, 137, UNFIT)
    assert report.read_units == pytest.approx(page_charge(Named, items).units, rel=0.01)
    assert (step.estimate.entries, step.estimate.is_complete) == (MANY - 137, True)
    [hazard] = step.hazards
    assert (hazard.code, hazard.message.split(" that ")[0]) == ("index-violations", "137 of 10,000 items")
