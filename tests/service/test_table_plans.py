"""A table with items is changed by a plan, on engines as they are and behind slow tables: nothing is lost."""

from contextlib import nullcontext
from datetime import UTC, datetime

import anyio
import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, TimeToLive, attr
from dynamap_async.testing import FrozenClock
from dynamap_async.testing.slow_tables import SlowTables


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


@pytest.fixture(autouse=True)
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
async def test_on_an_engine_as_it_is(engine):
    await change(engine.session)


@pytest.mark.virtual_clock
@pytest.mark.parametrize("killed_after_seconds", [None, 1.0, 100.0, 1000.0])
async def test_behind_slow_tables(engine, killed_after_seconds):
    slow = SlowTables(engine, clock=FrozenClock(datetime(2026, 3, 1, tzinfo=UTC)))
    await change(slow.session, killed_after_seconds)
    built = [entry for entry in slow.log if entry.index == "day-index" and entry.before is None]
    assert len(built) == 1
