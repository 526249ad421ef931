"""Keys with shards on real engines: writes spread, reads gather, and keys find their items with one request."""

import pytest
import pytest_asyncio

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Shards,
    SortKey,
    Unique,
    Version,
    attr,
    template,
)
from dynamap_async.errors import ConditionalCheckFailedError, UniqueViolationError

pytestmark = pytest.mark.asyncio


class Reading(Model, table="readings"):
    day: PartitionKey[str] = attr(shards=4)
    number: SortKey[int]
    site: Attr[str] = attr(default="x")
    status: Attr[str | None] = attr(default=None, shards=5)
    ranked: Attr[str] = template("site:{site}", shards=Shards(3, by="value"))
    value: Attr[int] = attr(default=0)
    version: Version[int] = attr(default=0)

    by_status = GlobalIndex(partition_key="status", sort_key="value", projection=KEYS_ONLY)
    by_site = GlobalIndex(partition_key="ranked", sort_key="value")


def readings():
    return [
        Reading(day=f"d{n % 2}", number=n, status="open" if n % 3 else None, value=n * 31 % 97, site="xy"[n % 5 == 0])
        for n in range(40)
    ]


@pytest_asyncio.fixture
async def stored(session):
    """The session, with the readings stored."""
    await session.tables.create(Reading)
    await session.put_many(readings())
    return session


def plain(chosen, rank):
    return [(item.day, item.number) for item in sorted(filter(chosen, readings()), key=rank)]


async def keys(query):
    return [(item.day, item.number) for item in await query]


async def test_the_shards_of_a_table_are_gathered_in_order(stored):
    query = stored.query(Reading).where(Reading.day == "d1", Reading.number >= 5)
    want = plain(lambda item: item.day == "d1" and item.number >= 5, lambda item: item.number)
    assert await keys(query) == want
    assert await keys(query.descending().limit(3)) == want[::-1][:3]
    assert await query.count() == len(want)
    first = await query.page(size=4)
    rest = await query.page(size=100, after=first.cursor)
    assert [(item.day, item.number) for item in (*first.items, *rest.items)] == want


async def test_the_shards_of_an_index_are_gathered_and_completed(stored):
    found = await stored.query(Reading).where(Reading.status == "open", Reading.value < 50)
    assert [item.value for item in found] == sorted(
        item.value for item in readings() if item.status == "open" and item.value < 50
    )
    assert {item.status for item in found} == {"open"}


async def test_the_shards_of_a_templated_key_are_gathered(stored):
    query = stored.query(Reading).where(Reading.site == "y")
    assert [item.value for item in await query] == sorted(item.value for item in readings() if item.site == "y")
    one = stored.query(Reading).where(Reading.site == "y", Reading.value == 0)
    assert one.explain().queries == 1
    assert [item.number for item in await one] == [0]


async def test_keys_find_their_items(stored):
    assert (await stored.get(Reading, "d1", 7)).day == "d1"
    assert [item and item.number for item in await stored.get_many(Reading, [("d1", 7), ("d0", 7), ("d0", 8)])] == [
        7,
        None,
        8,
    ]
    await stored.delete(Reading, "d1", 7)
    assert await stored.find(Reading, "d1", 7) is None


async def test_filters_and_selections_are_plain(stored):
    found = (
        await stored.scan(Reading)
        .where(Reading.status == "open", Reading.day != "d0")
        .select(Reading.day, Reading.number, Reading.status)
    )
    assert sorted(found) == sorted(
        (item.day, item.number, "open") for item in readings() if item.status and item.day == "d1"
    )


async def test_updates_and_saves_move_items_among_shards(stored):
    done = stored.query(Reading).where(Reading.status == "done")
    item = await stored.update(Reading, "d1", 7).set(Reading.status, "done")
    assert (item.status, await keys(done)) == ("done", [("d1", 7)])
    item.value = 500
    await stored.save(item)
    assert await keys(stored.query(Reading).where(Reading.site == "x", Reading.value == 500)) == [("d1", 7)]
    await stored.update(item).set(Reading.value, 600).set(Reading.status, None)
    assert (item.value, item.status, await done) == (600, None, [])
    assert await keys(stored.query(Reading).where(Reading.site == "x", Reading.value == 600)) == [("d1", 7)]
    assert await stored.get(Reading, "d1", 7, consistent_read=True) == item


async def test_conditions_of_writes_are_plain(stored):
    item = await stored.get(Reading, "d1", 7)
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await stored.update(item).set(Reading.value, 1).where(Reading.status == "done")
    assert caught.value.item == item
    await stored.update(item).set(Reading.value, 1).where(Reading.status == "open", Reading.day == "d1")
    await stored.put(item, where=Reading.status.is_in("done", "open"))
    await stored.delete(item, where=Reading.status != "done")


async def test_transactions_write_and_read_in_shards(stored):
    async with stored.transaction() as tx:
        tx.create(Reading(day="d9", number=1))
        tx.update(Reading, "d1", 7).set(Reading.status, "done")
        tx.check(Reading, "d0", 8, where=Reading.status == "open")
        tx.delete(Reading, "d0", 10)
    new, changed = await stored.transact_get((Reading, "d9", 1), (Reading, "d1", 7))
    assert (new.day, changed.status) == ("d9", "done")
    assert await stored.find(Reading, "d0", 10) is None


async def test_unique_values_are_kept_beside_shards(session):
    class Seat(Model, table="seats"):
        train: PartitionKey[str] = attr(shards=3)
        number: SortKey[int]
        passenger: Attr[str]
        state: Attr[str] = attr(default="taken", shards=3)
        one_each = Unique("passenger")
        by_state = GlobalIndex(partition_key="state")

    await session.tables.create(Seat)
    seat = await session.create(Seat(train="t1", number=1, passenger="ann"))
    with pytest.raises(UniqueViolationError) as caught:
        await session.create(Seat(train="t1", number=2, passenger="ann"))
    assert caught.value.owner == {"train": "t1", "number": 1}
    seat.passenger, seat.state = "bob", "left"
    await session.save(seat)
    await session.create(Seat(train="t1", number=2, passenger="ann"))
    assert await session.query(Seat).where(Seat.state == "left") == [seat]


class Before(Model, table="moved"):
    id: PartitionKey[str]
    status: Attr[str] = attr(default="open", shards=Shards(3, by="region"))
    region: Attr[str] = attr(default="eu")
    by_status = GlobalIndex(partition_key="status")


class After(Model, table="moved"):
    id: PartitionKey[str]
    status: Attr[str] = attr(default="open", shards=Shards(7, by="region", before=3))
    region: Attr[str] = attr(default="eu")
    by_status = GlobalIndex(partition_key="status")


async def test_items_are_found_while_the_number_of_shards_changes(session):
    await session.tables.create(Before)
    regions = [f"r{n}" for n in range(12)]
    await session.put_many([Before(id=region, region=region) for region in regions])
    await session.put_many([After(id=f"new-{region}", region=region) for region in regions])
    assert await session.query(After).where(After.status == "open").count() == 24
    for region in regions:
        found = session.query(After).where(After.status == "open", After.region == region)
        assert sorted(item.id for item in await found) == [f"new-{region}", region]
        assert found.explain().queries <= 2
    async for item in session.scan(After):
        await session.put(item)
    moved = [item.id for item in await session.query(Before).where(Before.status == "open", Before.region == "r1")]
    assert set(moved) <= {"r1", "new-r1"}
    assert await session.query(After).where(After.status == "open").count() == 24
