"""Backups and restores that take their time, behind slow tables on every engine; nothing of a restore is done twice."""

import hashlib
import math
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Recovery, Session, TableSettings, TimeToLive, attr
from dynamap_async.config import RetryPolicy
from dynamap_async.errors import (
    RecoveryUnavailableError,
    RequestRejectedError,
    ResourceInUseError,
    ResourceNotFoundError,
)
from dynamap_async.testing import FrozenClock
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.slow_tables import SlowTables

pytestmark = pytest.mark.virtual_clock

NOON = 1_772_366_400.0  # of 1 March 2026, UTC
SETTINGS = TableSettings(
    stream="new-and-old", recovery=Recovery(days=7), deletion_protection=True, tags={"team": "shop"}
)
LEFT_OFF = {
    "set-time-to-live",
    "set-stream",
    "set-tags",
    "set-point-in-time-recovery",
    "set-deletion-protection",
}


class Order(Model, table="orders", settings=SETTINGS):
    id: PartitionKey[str]
    city: Attr[str]
    expires_at: TimeToLive[datetime | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city")


class Restored(Order, table="orders-restored"): ...


class Plain(Model, table="plain"):
    id: PartitionKey[str]


@pytest.fixture(autouse=True)
def forgets(engine):
    """Leave no table behind: these have one name in all tests."""
    yield
    engine.reset()


@pytest.fixture
def slow(engine):
    return SlowTables(engine, clock=FrozenClock(NOON))


async def fill(session):
    await session.tables.create(Order)
    await session.put_many([Order(id=f"o{n}", city=f"c{n % 3}") for n in range(60)])


async def digest(session, model):
    items = sorted([item.model_dump_json() async for item in session.scan(model)])
    return hashlib.sha256("".join(items).encode()).hexdigest(), len(items)


def statuses(slow, table):
    return [entry.after for entry in slow.log if entry.table == table and entry.index is None]


async def test_a_restored_table_has_the_settings_of_its_model_and_the_same_items(slow):
    async with slow.session() as session:
        await fill(session)
        began = slow.now()
        done = await session.tables.backups.restore(Order, to="orders-restored", count=True)
        assert slow.now() - began >= 300
        assert {step.kind for step in done.settings} == LEFT_OFF
        assert (done.items, done.source_items) == (60, 60)
        assert await digest(session, Restored) == await digest(session, Order)
        assert len([order async for order in session.query(Restored).where(Restored.city == "c1")]) == 20
        await session.tables.verify(Restored)
    assert statuses(slow, "orders-restored")[:2] == ["CREATING", "ACTIVE"]


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize(
    "operation",
    [
        "RestoreTableToPointInTime",
        "DescribeTable",
        "UpdateTimeToLive",
        "UpdateTable",
        "TagResource",
        "UpdateContinuousBackups",
    ],
)
async def test_a_restore_that_is_killed_is_gone_on_with(slow, operation, applied):
    async with slow.session() as session:
        await fill(session)
    faults = Faults()
    faults.on(operation, nth=1).delay(
        50_000.0, applied=applied
    )  # the process is killed while it waits for this request
    patient = RetryPolicy(attempt_timeout_seconds=math.inf)
    async with Session(transport=faults.wrap(slow.transport()), clock=slow.now, retry=patient) as session:
        with anyio.move_on_after(40_000):
            await session.tables.backups.restore(Order, to="orders-restored", timeout_seconds=100_000)
    assert faults.unused == ()
    async with slow.session() as session:
        await session.tables.backups.restore(Order, to="orders-restored")
        await session.tables.verify(Restored)
        assert await digest(session, Restored) == await digest(session, Order)
    assert statuses(slow, "orders-restored").count("CREATING") == 1


@pytest.mark.parametrize("applied", [False, True])
async def test_a_restore_whose_request_or_answer_is_lost_is_asked_for_again(slow, applied):
    faults = Faults()
    faults.on("RestoreTableToPointInTime", nth=1).delay(50_000.0, applied=applied)
    async with Session(transport=faults.wrap(slow.transport()), clock=slow.now) as session:
        await fill(session)
        began = slow.now()
        await session.tables.backups.restore(Order, to="orders-restored")
        assert slow.now() - began < 10_000
        await session.tables.verify(Restored)
    assert statuses(slow, "orders-restored").count("CREATING") == 1


async def test_a_restore_that_is_begun_again_at_once_waits_for_the_table_to_be_known(slow):
    async with slow.session() as session:
        await fill(session)
        with anyio.move_on_after(0.05):  # descriptions are late by more than that
            await session.tables.backups.restore(Order, to="orders-restored")
        done = await session.tables.backups.restore(Order, to="orders-restored")
        assert {step.kind for step in done.settings} == LEFT_OFF
        await session.tables.verify(Restored)
    assert statuses(slow, "orders-restored").count("CREATING") == 1


async def test_a_backup_has_the_items_of_its_moment(slow):
    async with slow.session() as session:
        await fill(session)
        backups = session.tables.backups
        made = await backups.create(Order, "first")
        assert made.status == "CREATING"
        with pytest.raises(ResourceInUseError, match="is being created"):
            await backups.restore(Order, to="orders-restored", backup=made)
        with pytest.raises(ResourceInUseError):
            await backups.delete(made)
        await anyio.sleep(61)
        assert [each.status for each in await backups.of(Order)] == ["AVAILABLE"]
        await session.delete_many([Order(id="o1", city="c1")])
        done = await backups.restore(Order, to="orders-restored", backup=made, count=True)
        assert (done.items, done.source_items) == (60, 59)
        assert {step.kind for step in done.settings} == LEFT_OFF
        await session.tables.verify(Restored)
        with pytest.raises(ResourceInUseError, match="already exists"):
            await backups.restore(Order, to="orders", backup=made)
        await backups.delete(made)
        assert await backups.of(Order) == ()
        with pytest.raises(ResourceNotFoundError):
            await backups.delete(made)


async def test_a_restore_needs_continuous_backups_and_a_moment_of_theirs(slow):
    async with slow.session() as session:
        await session.tables.create(Order, Plain)
        backups = session.tables.backups
        with pytest.raises(RecoveryUnavailableError):
            await backups.restore(Plain, to="more")
        for moment in (datetime.fromtimestamp(slow.now(), UTC) + timedelta(days=days) for days in (-2, 1)):
            with pytest.raises(RequestRejectedError, match="is not between"):
                await backups.restore(Order, to="more", at=moment)
        await anyio.sleep(3600)
        moment = datetime.fromtimestamp(slow.now() - 600, UTC)
        assert (await backups.restore(Order, to="orders-restored", at=moment)).table == "orders-restored"
        with pytest.raises(ResourceInUseError):
            await backups.restore(Order, to="orders-restored", at=moment - timedelta(minutes=5))
