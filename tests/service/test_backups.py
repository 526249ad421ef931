"""Backups and restores, on the engine that has them: a restored table has the items and the settings of its model."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    Encryption,
    GlobalIndex,
    LocalIndex,
    Model,
    OnDemand,
    PartitionKey,
    Recovery,
    SortKey,
    TableSettings,
    Throughput,
    TimeToLive,
    attr,
)
from dynamap_async.errors import OperationError, ResourceInUseError, ResourceNotFoundError
from dynamap_async.testing import LocalEngine

pytestmark = pytest.mark.asyncio

SETTINGS = TableSettings(
    stream="new-and-old", recovery=Recovery(days=7), deletion_protection=True, tags={"team": "shop"}
)


class Order(Model, table="orders", settings=SETTINGS):
    id: PartitionKey[str]
    city: Attr[str]
    expires_at: TimeToLive[datetime | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city")


class Restored(Order, table="orders-restored"): ...


class Other(Model, table="others"):
    id: PartitionKey[str]


@pytest.fixture(scope="module")
def engine(running):
    return running(LocalEngine)


@pytest_asyncio.fixture(loop_scope="function")
async def filled(session):
    await session.tables.create(Order)
    await session.put_many([Order(id=f"o{n}", city=f"c{n % 3}") for n in range(60)])
    return session


async def digest(session, model):
    items = sorted([item.model_dump_json() async for item in session.scan(model)])
    return hashlib.sha256("".join(items).encode()).hexdigest(), len(items)


async def test_a_restored_table_has_the_settings_of_its_model_and_the_same_items(filled):
    done = await filled.tables.backups.restore(Order, to="orders-restored", count=True)
    assert {step.kind for step in done.settings} == {
        "set-time-to-live",
        "set-stream",
        "set-tags",
        "set-point-in-time-recovery",
        "set-deletion-protection",
    }
    assert (done.items, done.source_items) == (60, 60)
    assert await digest(filled, Restored) == await digest(filled, Order)
    await filled.tables.verify(Restored)


async def test_a_restore_that_was_stopped_goes_on_with_the_same_table(filled):
    await filled.tables.backups.restore(Order, to="orders-restored")
    await filled.tables.untag(Restored, ["team"])
    done = await filled.tables.backups.restore(Order, to="orders-restored")
    assert [step.kind for step in done.settings] == ["set-tags"]
    assert (done.items, done.source_items) == (None, None)


async def test_another_table_of_the_name_is_refused(filled):
    await filled.tables.create(Other)
    with pytest.raises(ResourceInUseError):
        await filled.tables.backups.restore(Order, to="others")
    backup = await filled.tables.backups.create(Order, "first")
    await filled.tables.backups.restore(Order, to="orders-restored")
    with pytest.raises(ResourceInUseError):
        await filled.tables.backups.restore(Order, to="orders-restored", backup=backup)
    with pytest.raises(ResourceInUseError):
        await filled.tables.backups.restore(Order, to="orders-restored", at=datetime.now(UTC) - timedelta(days=2))


async def test_a_backup_is_made_listed_restored_and_deleted(filled):
    backups = filled.tables.backups
    made = [await backups.create(Order, name) for name in ("first", "second")]
    listed = await backups.of(Order)
    assert [(each.arn, each.name, each.kind) for each in listed] == [(each.arn, each.name, "USER") for each in made]
    assert listed[0].table.endswith("orders")
    await filled.delete_many([Order(id="o1", city="c1")])
    done = await backups.restore(Order, to="orders-restored", backup=made[0], count=True)
    assert (done.items, done.source_items) == (60, 59)
    assert len(done.settings) == 5
    await filled.tables.verify(Restored)
    await backups.delete(made[0])
    assert [each.name for each in await backups.of(Order)] == ["second"]
    with pytest.raises(ResourceNotFoundError):
        await backups.delete(made[0])


async def test_a_table_without_backups_has_none(filled):
    await filled.tables.create(Other)
    await filled.tables.backups.create(Order, "first")
    assert await filled.tables.backups.of(Other) == ()


async def test_recovery_tells_from_when_to_when_a_table_can_be_restored(filled):
    await filled.tables.create(Other)
    window = await filled.tables.backups.recovery(Order)
    assert window.days == 7
    assert window.earliest <= window.latest
    assert window.latest.tzinfo is UTC
    assert await filled.tables.backups.recovery(Other) is None


async def test_a_table_that_is_not_there_is_refused_by_its_name(session):
    with pytest.raises(ResourceNotFoundError):
        await session.tables.backups.create(Other, "first")


async def test_a_moment_without_a_time_zone_or_beside_a_backup_is_refused(filled):
    backup = await filled.tables.backups.create(Order, "first")
    with pytest.raises(OperationError, match="has no time zone; give it one"):
        await filled.tables.backups.restore(Order, to="more", at=datetime(2026, 1, 1))  # noqa: DTZ001 - it is refused
    with pytest.raises(OperationError, match="backup are given; give one of them"):
        await filled.tables.backups.restore(Order, to="more", at=datetime(2026, 1, 1, tzinfo=UTC), backup=backup)


class Visit(Model, table="visits", settings=TableSettings(recovery=Recovery())):
    page: PartitionKey[str]
    at: SortKey[int]
    city: Attr[str]
    size: Attr[int]

    by_city = GlobalIndex(partition_key="city")
    by_size = GlobalIndex(partition_key="size", throughput=Throughput(read=2, write=3))
    largest = LocalIndex(sort_key="size")


async def restored(session, *, from_backup=False, **overrides):
    await session.tables.create(Visit)
    await session.put(Visit(page="/", at=1, city="Bern", size=3))
    backup = await session.tables.backups.create(Visit, "first") if from_backup else None
    done = await session.tables.backups.restore(Visit, to="visits-restored", backup=backup, count=True, **overrides)
    assert done.items == 1

    class RestoredVisit(Visit, table="visits-restored"): ...

    return await session.tables.describe(RestoredVisit)


@pytest.mark.parametrize("from_backup", [False, True])
async def test_a_restored_table_is_paid_for_as_the_call_says(session, from_backup):
    found = await restored(session, from_backup=from_backup, billing=Throughput(read=5, write=6))

    assert found.schema.throughput == Throughput(read=5, write=6)
    assert {each.name: each.throughput for each in found.schema.indexes} == {
        "by_city": Throughput(read=5, write=6),
        "by_size": Throughput(read=2, write=3),
        "largest": None,
    }


async def test_a_restored_table_that_is_on_demand_has_the_maxima_of_the_call(session):
    found = await restored(session, billing=OnDemand(max_write=50))

    assert (found.billing, found.on_demand.max_write) == ("on-demand", 50)


async def test_a_provisioned_table_is_restored_on_demand(session):
    class Provisioned(Visit, table="visits", throughput=Throughput(read=7, write=8)): ...

    class RestoredVisit(Visit, table="visits-restored"): ...

    await session.tables.create(Provisioned)
    await session.tables.backups.restore(Visit, to="visits-restored", billing=OnDemand())
    found = await session.tables.describe(RestoredVisit)

    assert found.billing == "on-demand"
    assert {each.throughput for each in found.schema.indexes} == {None}


@pytest.mark.parametrize("from_backup", [False, True])
@pytest.mark.parametrize(
    ("left_out", "kept"),
    [
        ({"by_city"}, {"by_size", "largest"}),
        ({"largest", "by_size"}, {"by_city"}),
        ({"by_city", "by_size", "largest"}, set()),
    ],
)
async def test_a_restored_table_lacks_the_indexes_that_are_left_out(session, from_backup, left_out, kept):
    found = await restored(session, from_backup=from_backup, without_indexes=left_out)

    assert {each.name for each in found.schema.indexes} == kept


async def test_a_provisioned_table_that_is_restored_without_an_index_keeps_the_units_of_the_others(session):
    class Provisioned(Visit, table="visits", throughput=Throughput(read=7, write=8)): ...

    class RestoredVisit(Visit, table="visits-restored"): ...

    await session.tables.create(Provisioned)
    await session.tables.backups.restore(Visit, to="visits-restored", without_indexes=["by_city"])
    found = await session.tables.describe(RestoredVisit)

    assert found.schema.throughput == Throughput(read=7, write=8)
    assert {each.name: each.throughput for each in found.schema.indexes} == {
        "by_size": Throughput(read=2, write=3),
        "largest": None,
    }


async def test_a_restored_table_is_encrypted_with_the_key_of_the_call(session):
    key = "arn:aws:kms:eu-west-1:111122223333:key/abc"
    found = await restored(session, encryption=Encryption(kms_key=key))

    assert found.settings.encryption == Encryption(kms_key=key)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"billing": "on-demand"}, r"billing='on-demand': write billing=OnDemand\(\)"),
        ({"billing": OnDemand(warm_read=20_000)}, "takes no warm throughput; leave warm_read and warm_write out"),
        ({"without_indexes": "by_city"}, "'by_city' is no list of names"),
        ({"without_indexes": ["by_name"]}, "visits has no index 'by_name'; its indexes are largest, by_city, by_size"),
        ({"encryption": "alias/own"}, "encryption='alias/own': write encryption="),
    ],
)
async def test_what_a_restored_table_cannot_have_is_refused(session, overrides, message):
    with pytest.raises(OperationError, match=message):
        await restored(session, **overrides)
