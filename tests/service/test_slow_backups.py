"""Backups and restores that take their time; nothing of a restore is done twice."""

import hashlib
import math
from contextlib import ExitStack, nullcontext
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
    TableWaitTimeoutError,
)
from dynamap_async.testing import Durations, FrozenClock, LocalEngine
from dynamap_async.testing.faults import Faults

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


class Silent(Model, table="orders"):
    """The same table, without a word on its settings."""

    id: PartitionKey[str]


class Plain(Model, table="plain"):
    id: PartitionKey[str]


@pytest.fixture
def slow():
    with LocalEngine(clock=FrozenClock(NOON), durations=Durations()) as engine:
        yield engine


@pytest.fixture
def durations_are():
    """Return a function that starts an engine with some durations."""
    with ExitStack() as engines:
        yield lambda **durations: engines.enter_context(
            LocalEngine(clock=FrozenClock(NOON), durations=Durations(**durations))
        )


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
        began = slow.clock()
        done = await session.tables.backups.restore(Order, to="orders-restored", count=True)
        assert slow.clock() - began >= 300
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
    async with Session(transport=faults.wrap(slow.transport()), clock=slow.clock, retry=patient) as session:
        with anyio.move_on_after(40_000):
            await session.tables.backups.restore(Order, to="orders-restored", timeout_seconds=100_000)
    assert faults.unused == ()
    async with slow.session() as session:
        # Tags come last: with them nothing is left to do.
        through = (operation, applied) == ("TagResource", True)
        refused = pytest.raises(ResourceInUseError, match="was restored before.* nothing is left to do")
        with refused if through else nullcontext():
            await session.tables.backups.restore(Order, to="orders-restored")
        await session.tables.verify(Restored)
        assert await digest(session, Restored) == await digest(session, Order)
    assert statuses(slow, "orders-restored").count("CREATING") == 1


@pytest.mark.parametrize("applied", [False, True])
async def test_a_restore_whose_request_or_answer_is_lost_is_asked_for_again(slow, applied):
    faults = Faults()
    faults.on("RestoreTableToPointInTime", nth=1).delay(50_000.0, applied=applied)
    async with Session(transport=faults.wrap(slow.transport()), clock=slow.clock) as session:
        await fill(session)
        began = slow.clock()
        await session.tables.backups.restore(Order, to="orders-restored")
        assert slow.clock() - began < 10_000
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
        assert made.status == "AVAILABLE"
        assert await backups.of(Order) == (made,)
        await session.delete_many([Order(id="o1", city="c1")])
        done = await backups.restore(Order, to="orders-restored", backup=made, count=True)
        assert (done.items, done.source_items) == (60, 59)
        assert {step.kind for step in done.settings} == LEFT_OFF
        await session.tables.verify(Restored)
        with pytest.raises(ResourceInUseError, match="already exists.* Choose another name, or delete that table"):
            await backups.restore(Order, to="orders", backup=made)
        await backups.delete(made)
        assert await backups.of(Order) == ()
        with pytest.raises(ResourceNotFoundError, match=r"not found: .*backups.of\(Model\)` returns the backups"):
            await backups.delete(made)


async def test_a_backup_that_is_being_made_is_not_restored_and_goes_on_by_itself(durations_are):
    async with durations_are(backup=30.0).session() as session:
        await fill(session)
        backups = session.tables.backups
        with pytest.raises(TableWaitTimeoutError, match="the backup 'first' .* DynamoDB goes on") as caught:
            await backups.create(Order, "first", timeout_seconds=10)
        assert (caught.value.status, caught.value.timeout_seconds) == ("CREATING", 10)
        [made] = await backups.of(Order)
        for call in (backups.restore(Order, to="orders-restored", backup=made), backups.delete(made)):
            with pytest.raises(ResourceInUseError, match=r"is being created: .* Wait until no backup .*backups\.of"):
                await call
        await anyio.sleep(30)
        assert (await backups.restore(Order, to="orders-restored", backup=made)).at == made.created_at


async def test_a_backup_that_is_not_known_yet_is_asked_for_again(slow):
    faults = Faults()
    faults.on("DescribeBackup", nth=1).error("BackupNotFoundException")
    async with Session(transport=faults.wrap(slow.transport()), clock=slow.clock) as session:
        await fill(session)
        assert (await session.tables.backups.create(Order, "first")).status == "AVAILABLE"
    assert faults.unused == ()


async def test_the_latest_state_is_not_taken_from_a_table_that_was_restored_before(slow):
    async with slow.session() as session:
        await fill(session)
        restore = session.tables.backups.restore
        await anyio.sleep(3600)
        done = await restore(Order, to="orders-restored")
        await session.put(Order(id="new", city="c1"))
        with pytest.raises(ResourceInUseError, match="was restored before.* choose another name") as caught:
            await restore(Order, to="orders-restored")
        assert f"orders-restored was restored before: it has the items of orders as of {done.at}" in str(caught.value)
        again = await restore(Order, to="orders-restored", at=done.at, count=True)
        assert (again.at, again.settings, again.items, again.source_items) == (done.at, (), 60, 61)
        assert str(again) == (f"orders-restored: the items of orders as of {done.at}\n  60 items; its source has 61")


async def test_a_restore_whose_answer_is_lost_is_not_taken_for_an_earlier_one(durations_are):
    slow = durations_are(restore=0.0)
    faults = Faults()
    faults.on("RestoreTableToPointInTime", nth=1).lose_answer()
    async with Session(transport=faults.wrap(slow.transport()), clock=slow.clock) as session:
        await fill(session)
        done = await session.tables.backups.restore(Silent, to="orders-restored")
        assert (done.table, done.settings) == ("orders-restored", ())
    assert faults.unused == ()


async def test_a_restore_needs_continuous_backups_and_a_moment_of_theirs(slow):
    async with slow.session() as session:
        await session.tables.create(Order, Plain)
        backups = session.tables.backups
        with pytest.raises(RecoveryUnavailableError, match="Turn its continuous backups on"):
            await backups.restore(Plain, to="more")
        for moment in (datetime.fromtimestamp(slow.clock(), UTC) + timedelta(days=days) for days in (-2, 1)):
            window = await backups.recovery(Order)
            with pytest.raises(RequestRejectedError, match=r"is not between.*backups\.recovery\(Model\)") as caught:
                await backups.restore(Order, to="more", at=moment)
            told = f"it can be restored as it was from {window.earliest} to {window.latest}"
            assert caught.value.__notes__ == [told]
        await anyio.sleep(3600)
        moment = datetime.fromtimestamp(slow.clock() - 600, UTC)
        assert (await backups.restore(Order, to="orders-restored", at=moment)).table == "orders-restored"
        with pytest.raises(ResourceInUseError):
            await backups.restore(Order, to="orders-restored", at=moment - timedelta(minutes=5))
