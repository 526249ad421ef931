"""Expired items that the engine still holds, hidden from every read; and time to live, turned on and off."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    Find,
    GlobalIndex,
    Model,
    PartitionKey,
    SortKey,
    TimeToLive,
    attr,
)
from dynamap_async.errors import ConditionalCheckFailedError, ItemNotFoundError, OperationError, ResourceNotFoundError

pytestmark = pytest.mark.asyncio

NOW = 1_800_000_000


class Login(Model, table="logins", hide_expired=True):
    user: PartitionKey[str]
    number: SortKey[int]
    device: Attr[str] = attr(default="tv")
    ends: TimeToLive[datetime | None] = attr(name="ttl", default=None)

    by_device = GlobalIndex(partition_key="device", sort_key="number")
    by_end = GlobalIndex(partition_key="device", sort_key="ends")


class Stored(Model, table="logins"):
    """The same items, expired ones included."""

    user: PartitionKey[str]
    number: SortKey[int]
    device: Attr[str] = attr(default="tv")
    ends: TimeToLive[datetime | None] = attr(name="ttl", default=None)


class Clock:
    def __init__(self):
        self.time = NOW + 0.5

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


def in_seconds(seconds):
    return datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=seconds)


@pytest_asyncio.fixture
async def logins(engine, clock):
    """A session whose table holds items 0 to 9 of ada and bob: the odd ones are expired, 8 never expires."""
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-", clock=clock) as opened:
        await opened.tables.create(Login, Stored)
        ends = {number: in_seconds(-number if number % 2 else number) for number in range(8)}
        ends |= {8: None, 9: in_seconds(-9)}
        await opened.put_many(
            Login(user=user, number=number, ends=ends[number]) for user in ("ada", "bob") for number in range(10)
        )
        yield opened


LIVING = [0, 2, 4, 6, 8]


def numbers(items):
    return [item.number for item in items]


def of_ada(session):
    return session.query(Login).where(Login.user == "ada")


async def test_an_expired_item_is_not_found(logins):
    assert await logins.find(Login, "ada", 1) is None
    with pytest.raises(ItemNotFoundError):
        await logins.get(Login, "ada", 1)


async def test_an_item_is_found_to_the_end_of_its_last_second(logins, clock):
    assert (await logins.get(Login, "ada", 0)).ends == in_seconds(0)
    clock.time = NOW + 1
    assert await logins.find(Login, "ada", 0) is None


async def test_an_expired_item_is_still_stored(logins):
    assert (await logins.get(Stored, "ada", 1)).ends == in_seconds(-1)


async def test_many_reads_leave_out_expired_items(logins):
    keys = [("ada", number) for number in range(10)]
    assert [item and item.number for item in await logins.get_many(Login, keys)] == [
        number if number in LIVING else None for number in range(10)
    ]
    found = await logins.get_many([Find(Login, "ada", 1), Find(Login, "bob", 2)])
    assert [item and item.number for item in found] == [None, 2]


async def test_reads_as_they_arrive_leave_out_expired_items(logins):
    keys = [("ada", number) for number in range(10)]
    found = {key[1]: item async for key, item in logins.each(Login, keys)}
    assert sorted(number for number, item in found.items() if item) == LIVING


async def test_a_query_leaves_out_expired_items(logins):
    assert numbers(await of_ada(logins)) == LIVING
    assert numbers([item async for item in of_ada(logins).descending()]) == LIVING[::-1]


async def test_limits_and_counts_are_of_living_items(logins):
    assert numbers(await of_ada(logins).limit(3)) == LIVING[:3]
    assert await of_ada(logins).count() == len(LIVING)
    assert await of_ada(logins).limit(2).count() == 2
    assert (await of_ada(logins).where(Login.number >= 5).first()).number == 6
    assert (await of_ada(logins).where(Login.number >= 7).one()).number == 8
    assert await of_ada(logins).where(Login.number == 7).one_or_none() is None


async def test_a_selection_without_the_time_to_live_leaves_out_expired_items(logins):
    assert await of_ada(logins).select(Login.number) == [(number,) for number in LIVING]


async def test_pages_are_full_of_living_items(logins, clock):
    first = await of_ada(logins).page(size=2)
    clock.time += 0.6
    second = await of_ada(logins).page(size=2, after=first.cursor)
    assert (numbers(first.items), numbers(second.items)) == ([0, 2], [4, 6])


async def test_several_partitions_leave_out_expired_items(logins):
    query = logins.query(Login).where(Login.user.is_in("ada", "bob"))
    assert numbers(await query) == sorted(LIVING * 2)
    assert await query.count() == 2 * len(LIVING)


async def test_scans_leave_out_expired_items(logins):
    assert sorted(numbers(await logins.scan(Login))) == sorted(LIVING * 2)
    assert sorted(numbers(await logins.scan(Login).segments(3))) == sorted(LIVING * 2)
    assert await logins.scan(Login).count() == 2 * len(LIVING)


async def test_an_index_leaves_out_expired_items(logins):
    query = logins.query(Login).where(Login.device == "tv").index(Login.by_device)
    assert numbers(await query) == sorted(LIVING * 2)


async def test_an_index_sorted_by_expiry_leaves_out_expired_items(logins):
    query = logins.query(Login).where(Login.device == "tv").index(Login.by_end)
    living = [number for number in LIVING if number != 8 for _ in "ab"]  # 8 never expires, so it is not in the index
    assert numbers(await query) == living
    assert numbers(await query.page_size(3)) == living
    assert numbers([item async for item in query.descending().limit(3)]) == [6, 6, 4]
    assert await query.count() == len(living)
    assert await query.limit(3).count() == 3
    assert (await query.first()).number == 0
    assert await query.select(Login.number) == [(number,) for number in living]


async def test_an_index_sorted_by_expiry_is_read_page_by_page(logins):
    query = logins.query(Login).where(Login.device == "tv").index(Login.by_end)
    found, cursor = [], None
    while True:
        page = await query.page(size=3, after=cursor)
        found += numbers(page.items)
        cursor = page.cursor
        if cursor is None:
            break
    assert found == [number for number in LIVING if number != 8 for _ in "ab"]


async def test_a_new_item_takes_the_place_of_an_expired_one(logins):
    await logins.create(Login(user="ada", number=1, device="phone"))
    assert (await logins.get(Login, "ada", 1)).device == "phone"


async def test_a_new_item_does_not_take_the_place_of_a_living_one(logins):
    for number in (2, 8):
        with pytest.raises(ConditionalCheckFailedError):
            await logins.create(Login(user="ada", number=number, device="phone"))


async def test_a_new_item_does_not_take_the_place_of_an_expired_one_that_is_not_hidden(logins):
    with pytest.raises(ConditionalCheckFailedError):
        await logins.create(Stored(user="ada", number=1))


async def test_an_expired_item_is_saved_anew(logins):
    await logins.save(Login(user="ada", number=1, device="phone"))
    assert (await logins.get(Login, "ada", 1)).device == "phone"
    with pytest.raises(ConditionalCheckFailedError):
        await logins.save(Login(user="ada", number=2, device="phone"))


async def test_a_transaction_reads_and_creates_as_if_expired_items_were_gone(logins):
    found = await logins.transact_find((Login, "ada", 1), (Login, "ada", 2))
    assert [item and item.number for item in found] == [None, 2]
    async with logins.transaction() as tx:
        tx.create(Login(user="ada", number=1, device="phone"))
    assert (await logins.get(Login, "ada", 1)).device == "phone"


async def test_an_instance_whose_item_has_expired_is_not_refreshed(logins, clock):
    item = await logins.get(Login, "ada", 2)
    clock.time = NOW + 60
    with pytest.raises(ItemNotFoundError):
        await logins.refresh(item)


class Plain(Model, table="logins"):
    user: PartitionKey[str]
    number: SortKey[int]


async def described(session):
    found = await session.tables.describe(Plain)
    return found.ttl_status, found.schema.ttl_attribute


async def test_time_to_live_of_an_existing_table_is_turned_on_once_and_off_again(session):
    await session.tables.create(Plain)
    assert await described(session) == ("DISABLED", None)
    for _ in range(2):
        await session.tables.update_time_to_live(Stored)
        assert await described(session) == ("ENABLED", "ttl")
    for _ in range(2):
        await session.tables.update_time_to_live(Plain, enabled=False)
        assert (await described(session))[0] == "DISABLED"


async def test_time_to_live_is_not_moved_to_another_attribute(session):
    class Other(Model, table="logins"):
        user: PartitionKey[str]
        number: SortKey[int]
        until: TimeToLive[datetime | None] = attr(default=None)

    await session.tables.create(Other)
    with pytest.raises(OperationError, match="is on for 'until'"):
        await session.tables.update_time_to_live(Stored)
    assert await described(session) == ("ENABLED", "until")


async def test_time_to_live_of_a_missing_table_is_refused(session):
    with pytest.raises(ResourceNotFoundError):
        await session.tables.update_time_to_live(Stored)


async def test_a_query_with_expired_items_gives_all(logins):
    assert numbers(await of_ada(logins).with_expired()) == list(range(10))
    assert await logins.scan(Login).with_expired().count() == 20
    by_end = logins.query(Login).where(Login.device == "tv").index(Login.by_end).with_expired()
    assert await by_end.count() == 18
