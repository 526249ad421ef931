"""One table per period on real engines: tables made and deleted, items written and read across them."""

from datetime import UTC, date, datetime, timedelta

import pytest
import pytest_asyncio

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, SortKey, Throughput, TimeToLive, attr
from dynamap_async.errors import (
    BatchError,
    CursorError,
    ItemNotFoundError,
    OperationError,
    ResourceInUseError,
    ResourceNotFoundError,
)

pytestmark = pytest.mark.asyncio

START = datetime(2026, 11, 20, tzinfo=UTC)
DAYS = [START + timedelta(days=number) for number in range(3)]
END = DAYS[-1] + timedelta(days=1)


class Reading(Model, table="readings_{at:day}"):
    device_id: PartitionKey[str]
    at: SortKey[datetime]
    value: Attr[int] = attr(default=0)
    place: Attr[str] = attr(default="lab")

    by_place = GlobalIndex(partition_key="place", sort_key="value", projection=KEYS_ONLY)


class Event(Model, table="events_{at:month}"):
    id: PartitionKey[str]
    at: SortKey[datetime]
    expires_at: TimeToLive[datetime | None] = attr(default=None)


class User(Model, table="users"):
    id: PartitionKey[str]


READINGS = [
    Reading(
        device_id="d1" if number % 3 else "d2",
        at=START + timedelta(hours=2 * number),
        value=number * 7 % 36,
        place="lab" if number % 2 else "roof",
    )
    for number in range(36)
]
D1 = [reading for reading in READINGS if reading.device_id == "d1"]


@pytest_asyncio.fixture
async def readings(session):
    """The session, with the tables of three days and their readings."""
    for day in DAYS:
        await session.tables.create(Reading, period=day)
    await session.put_many(READINGS)
    return session


async def test_the_tables_of_periods_are_made_described_and_deleted(session):
    november = date(2026, 11, 30)
    await session.tables.create(Event, User, period=november)
    assert await session.tables.exists(Event, period=START)
    assert not await session.tables.exists(Event, period=date(2026, 12, 1))
    described = await session.tables.describe(Event, period=START)
    assert described.schema.name == session.table_name(Event, period=november)
    assert described.schema.name.endswith("events_2026-11")
    assert described.schema.ttl_attribute == "expires_at"
    with pytest.raises(ResourceInUseError):
        await session.tables.create(Event, period=START)
    await session.tables.delete(Event, period=START)
    assert not await session.tables.exists(Event, period=START)


async def test_the_throughput_of_one_period_is_changed(session):
    low, high = Throughput(read=5, write=1), Throughput(read=50, write=100)
    await session.tables.create(Reading, period=DAYS[0], throughput=high)
    await session.tables.create(Reading, period=DAYS[1])
    await session.tables.update_throughput(Reading, period=DAYS[0], throughput=low)
    await session.tables.update_throughput(Reading, period=DAYS[0], throughput=low)
    assert (await session.tables.describe(Reading, period=DAYS[0])).schema.throughput == low
    assert (await session.tables.describe(Reading, period=DAYS[1])).billing == "on-demand"
    await session.tables.update_throughput(Reading, period=DAYS[0], throughput=None)
    assert (await session.tables.describe(Reading, period=DAYS[0])).billing == "on-demand"


@pytest.mark.engine_fault("native", "it keeps the throughput of an index when that is updated")
async def test_the_throughput_of_the_indexes_is_changed_too(session):
    low, high = Throughput(read=5, write=1), Throughput(read=50, write=100)
    await session.tables.create(Reading, period=DAYS[0], throughput=high)
    await session.tables.update_throughput(Reading, period=DAYS[0], throughput=low)
    assert (await session.tables.describe(Reading, period=DAYS[0])).schema.index("by_place").throughput == low


async def test_which_period_is_meant_has_to_be_said(session):
    with pytest.raises(OperationError, match=r"Event has one table per period, named '.*events_\{at:month\}'.*period="):
        await session.tables.create(Event)
    with pytest.raises(OperationError, match="period=.*, but User has one table for all time"):
        await session.tables.exists(User, period=START)
    with pytest.raises(OperationError, match="Event has one table per period"):
        session.table_name(Event)


async def test_an_item_without_a_table_of_its_period_names_the_remedy(session):
    with pytest.raises(ResourceNotFoundError) as caught:
        await session.put(READINGS[0], where=Reading.value.missing())
    assert "session.tables.create(Reading, period=...)" in str(caught.value.__notes__)
    with pytest.raises(ResourceNotFoundError) as caught:
        await session.find(Reading, "d1", START)
    assert "session.tables.create(Reading, period=...)" in str(caught.value.__notes__)


async def test_items_are_written_read_changed_and_deleted_in_the_table_of_their_period(readings):
    first, last = READINGS[0], READINGS[-1]
    assert await readings.get(Reading, first.device_id, first.at) == first
    keys = [(each.device_id, each.at) for each in READINGS]
    assert await readings.get_many(Reading, keys) == READINGS
    changed = await readings.update(Reading, last.device_id, last.at).set(Reading.value, 99)
    assert changed.value == 99
    changed.place = "roof"
    await readings.save(changed)
    assert (await readings.get(Reading, last.device_id, last.at)).place == "roof"
    async with readings.transaction() as tx:
        tx.delete(first)
        tx.check(Reading, last.device_id, last.at, where=Reading.value == 99)
    with pytest.raises(ItemNotFoundError):
        await readings.get(Reading, first.device_id, first.at)
    assert await readings.delete_many(READINGS[1:]) == 35


async def test_a_batch_tells_which_items_have_no_table(readings):
    late = Reading(device_id="d1", at=END)
    with pytest.raises(BatchError) as caught:
        await readings.put_many([READINGS[0], late])
    [failure] = caught.value.failures
    assert failure.subject is late
    assert isinstance(failure.error, ResourceNotFoundError)


async def paged(query, size):
    """Return all items, read page by page."""
    found, cursor = [], None
    while True:
        page = await query.page(size=size, after=cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


async def test_a_range_is_read_from_all_tables_that_it_covers_in_order(readings):
    query = readings.query(Reading).where(Reading.device_id == "d1", Reading.at.between(START, END))
    with pytest.raises(ResourceNotFoundError, match="readings_2026-11-23") as caught:
        await query
    assert "skip_missing_tables" in str(caught.value.__notes__)
    query = query.skip_missing_tables()
    assert await query == D1
    assert await query.descending() == D1[::-1]
    assert await query.count() == len(D1)
    assert await query.limit(20) == D1[:20]
    assert await query.descending().first() == D1[-1]
    assert [reading async for reading in query.descending().limit(20)] == D1[::-1][:20]
    some = query.where(Reading.value > 10).select(Reading.value)
    assert await some == [(reading.value,) for reading in D1 if reading.value > 10]


@pytest.mark.parametrize("size", [1, 5, 24])
async def test_pages_go_on_from_table_to_table(readings, size):
    query = readings.query(Reading).where(
        Reading.device_id == "d1", Reading.at.between(START, END - timedelta(hours=1))
    )
    assert await paged(query, size) == D1
    assert await paged(query.descending(), size) == D1[::-1]


async def test_a_cursor_is_bound_to_the_tables_that_are_read(readings):
    query = readings.query(Reading).where(Reading.device_id == "d1")
    page = await query.where(Reading.at.between(START, DAYS[1])).page(size=3)
    with pytest.raises(CursorError):
        await query.where(Reading.at.between(START, DAYS[2])).page(size=3, after=page.cursor)


async def test_an_index_is_merged_by_its_own_sort_key_and_completed_from_each_table(readings):
    query = readings.query(Reading).where(Reading.place == "lab", Reading.at.between(DAYS[1], END - timedelta(hours=1)))
    want = [reading for reading in READINGS if reading.place == "lab" and reading.at >= DAYS[1]]
    found = await query
    assert [reading.value for reading in found] == sorted(reading.value for reading in want)
    assert sorted(found, key=lambda reading: reading.at) == want


async def test_chosen_periods_are_read_whatever_the_conditions_say(readings):
    today = readings.query(Reading).where(Reading.device_id == "d1").period(DAYS[2], date(2026, 11, 20))
    assert await today == [reading for reading in D1 if reading.at.day != DAYS[1].day]


async def test_a_scan_reads_the_tables_that_it_covers(readings):
    in_two = readings.scan(Reading).where(Reading.at >= DAYS[1], Reading.at < END)
    want = [reading for reading in READINGS if reading.at >= DAYS[1]]
    assert sorted(await in_two, key=lambda reading: reading.at) == want
    assert len(await in_two.limit(13)) == 13
    assert sorted(await paged(in_two, 7), key=lambda reading: reading.at) == want
    day = await readings.scan(Reading).period(START).segments(2)
    assert sorted(day, key=lambda reading: reading.at) == READINGS[:12]
