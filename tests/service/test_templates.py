"""Computed keys as DynamoDB itself stores, sorts and finds them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, attr, template
from dynamap_async.errors import ConditionalCheckFailedError, ItemNotFoundError, OperationError

pytestmark = pytest.mark.asyncio

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


class Store(Model, table="stores"):
    country: Attr[str]
    region: Attr[str]
    city: Attr[str]
    number: Attr[int]
    manager: Attr[str | None] = attr(default=None)
    opened: Attr[datetime] = attr(default=NOON)
    pk: PartitionKey[str] = template("country:{country}")
    sk: SortKey[str] = template("{region}#{city}#{number:06d}")
    managed: Attr[str | None] = template("manager:{manager:lower}")
    history: Attr[str] = template("{region}#{opened}")
    by_manager = GlobalIndex(partition_key="managed", sort_key="history")


class Reading(Model, table="readings"):
    sensor: Attr[str] = attr(stored=False)
    degrees: Attr[int] = attr(stored=False)
    note: Attr[str] = attr(default="")
    pk: PartitionKey[str] = template("sensor:{sensor}")
    sk: SortKey[str] = template("heat:{degrees:+06d}")


class Profile(Model, table="profiles"):
    user_id: Attr[str]
    name: Attr[str] = attr(default="")
    pk: PartitionKey[str] = template("USER#{user_id}")
    sk: SortKey[str] = template("PROFILE")


LONDON = Parts(country="GB", region="London", city="Camden", number=7)


@pytest_asyncio.fixture
async def shop(session) -> Any:
    await session.tables.create(Store, Reading, Profile)
    await session.put(Store(country="GB", region="London", city="Camden", number=7, manager="Ann"))
    return session


async def test_an_item_is_found_by_its_parts_and_by_its_ready_made_key(shop):
    by_parts = await shop.get(Store, LONDON)
    assert by_parts == await shop.get(Store, "country:GB", "London#Camden#000007")
    assert by_parts == await shop.get(Store, "country:GB", Parts(region="London", city="Camden", number=7))
    assert await shop.find(Store, Parts(country="GB", region="London", city="Camden", number=8)) is None


async def test_many_items_are_found_by_their_parts(shop):
    other = Parts(country="GB", region="London", city="Camden", number=8)
    found = await shop.get_many(Store, [LONDON, other, ("country:GB", "London#Camden#000007")])
    assert [item and item.number for item in found] == [7, None, 7]


async def test_an_item_that_is_not_there_is_named_by_its_key(shop):
    with pytest.raises(ItemNotFoundError, match="pk='country:GB', sk='London#Camden#000008'"):
        await shop.get(Store, Parts(country="GB", region="London", city="Camden", number=8))


async def test_part_of_a_key_is_refused_before_anything_is_sent(shop):
    with pytest.raises(OperationError, match="is made of country, region, city, number"):
        await shop.get(Store, Parts(country="GB", region="London"))


async def test_an_item_is_deleted_and_updated_by_its_parts(shop):
    updated = await shop.update(Store, LONDON).set(Store.manager, "Bob")
    assert (updated.manager, updated.managed) == ("Bob", "manager:bob")
    await shop.delete(Store, LONDON)
    assert await shop.find(Store, LONDON) is None


async def test_an_item_enters_and_leaves_an_index_with_its_part(shop):
    async def managed(name):
        return [item.number for item in await shop.query(Store).where(Store.managed == f"manager:{name}")]

    assert await managed("ann") == [7]
    await shop.update(Store, LONDON).set(Store.manager, None)
    assert await managed("ann") == []
    await shop.update(Store, LONDON).set(Store.manager, "BOB")
    assert await managed("bob") == [7]
    item = await shop.get(Store, LONDON)
    item.manager = "Cy"
    await shop.save(item)
    assert (await managed("bob"), await managed("cy")) == ([], [7])


async def test_numbers_and_times_sort_as_they_are(shop):
    for degrees in (10, -2, 9, 0, -10, 100):
        await shop.put(Reading(sensor="a", degrees=degrees))
    found = await shop.query(Reading).where(Reading.pk == "sensor:a")
    assert [each.degrees for each in found] == [-10, -2, 0, 9, 10, 100]
    for days in (3, 1, 2):
        at = NOON + timedelta(days=days)
        await shop.put(Store(country="FR", region="r", city="c", number=days, manager="Zoe", opened=at))
    found = await shop.query(Store).where(Store.managed == "manager:zoe", Store.history.begins_with("r#"))
    assert [each.number for each in found] == [1, 2, 3]


async def test_parts_that_are_not_stored_come_back_from_the_key(shop):
    put = await shop.put(Reading(sensor="a", degrees=-3, note="x"))
    found = await shop.get(Reading, Parts(sensor="a", degrees=-3))
    assert found == put
    found.note = "y"
    await shop.save(found)
    assert (await shop.get(Reading, "sensor:a", "heat:099997")).note == "y"


async def test_a_namespace_does_not_hold_that_of_a_longer_word(shop):
    for city in ("Madison", "Madisonville"):
        await shop.put(Store(country="US", region="r", city=city, number=1))
    found = await shop.query(Store).where(Store.pk == "country:US", Store.sk.begins_with("r#Madison#"))
    assert [each.city for each in found] == ["Madison"]


async def test_a_sort_key_may_be_constant(shop):
    await shop.put(Profile(user_id="7", name="Ann"))
    assert (await shop.get(Profile, Parts(user_id="7"))).name == "Ann"
    assert (await shop.get(Profile, "USER#7", "PROFILE")).name == "Ann"


async def test_a_key_is_not_rewritten_with_a_part_that_another_writer_changed(shop):
    mine = await shop.get(Store, LONDON)
    later = NOON + timedelta(days=1)
    mine.opened = later
    await shop.update(Store, LONDON).set(Store.manager, "Bob")
    await shop.save(mine)
    stored = await shop.get(Store, LONDON)
    assert (stored.manager, stored.history) == ("Bob", "London#2024-06-02T12:00:00.000000Z")


async def test_an_upsert_of_parts_stores_what_create_would(shop):
    key = Parts(country="GB", region="Kent", city="Dover", number=1)
    made = await shop.update(Store, key).set(Store.manager, "Ann").upsert()
    assert made == Store(country="GB", region="Kent", city="Dover", number=1, manager="Ann")
    await shop.delete(made)
    assert await shop.create(made) == made


async def test_a_transaction_takes_parts_too(shop):
    async with shop.transaction() as tx:
        tx.update(Store, LONDON).set(Store.manager, "Bob")
        tx.create(Profile(user_id="7"))
    assert (await shop.get(Store, LONDON)).managed == "manager:bob"
    assert await shop.find(Profile, Parts(user_id="7")) is not None


class Task(Model, table="tasks"):
    id: PartitionKey[str]
    state: Attr[str] = attr(default="new")
    level: Attr[int] = attr(default=1)
    ranked: Attr[str] = template("{state}#{level:02d}")


async def test_a_rewritten_key_demands_that_its_other_parts_are_as_they_were_read(session):
    await session.tables.create(Task)
    item = await session.put(Task(id="a"))
    await session.update(Task, "a").set(Task.state, "done").set(Task.level, 1)
    with pytest.raises(ConditionalCheckFailedError):
        await session.update(item).set(Task.level, 5)
    item.level = 5
    with pytest.raises(ConditionalCheckFailedError):
        await session.save(item)
    assert (await session.get(Task, "a")).ranked == "done#01"


async def stored_old(session: Any) -> Any:
    """Return an item as it was stored before it had a level and a lane, read by a model that has both."""

    class Old(Model, table="tasks"):
        id: PartitionKey[str]
        state: Attr[str]

    class Task(Model, table="tasks"):
        id: PartitionKey[str]
        state: Attr[str]
        level: Attr[int] = attr(default=1)
        place: Attr[str] = template("{state}#{level:02d}")
        by_place = GlobalIndex(partition_key="place")

    await session.tables.create(Task)
    await session.put(Old(id="a", state="new"))
    return await session.get(Task, "a")


async def test_an_update_takes_a_part_that_an_old_item_lacks_for_its_default(session):
    task = await stored_old(session)
    assert (await session.update(task).set(type(task).state, "done")).place == "done#01"
    assert [each.id for each in await session.query(type(task)).where(type(task).place == "done#01")] == ["a"]
    assert (await session.update(task).set(type(task).state, "new")).place == "new#01"


async def test_a_save_takes_a_part_that_an_old_item_lacks_for_its_default(session):
    task = await stored_old(session)
    task.state = "done"
    await session.save(task)
    assert [each.id for each in await session.query(type(task)).where(type(task).place == "done#01")] == ["a"]


async def test_removing_a_part_with_a_default_leaves_the_item_in_the_index(session):
    task = await stored_old(session)
    await session.update(task).set(type(task).level, 5)
    await session.update(task).remove(type(task).level)
    assert [each.level for each in await session.query(type(task)).where(type(task).place == "new#01")] == [1]


class Ticket(Model, table="tickets"):
    number: PartitionKey[int]
    team: Attr[str]
    status: Attr[str] = attr(default="open")
    waiting: Attr[str | None] = template("TEAM#{team}", when={"status": ["open", "held"]})
    by_team = GlobalIndex(partition_key="waiting", sort_key="number")


async def test_a_key_on_a_condition_comes_and_goes_with_put_save_update_and_transactions(session):
    await session.tables.create(Ticket)
    waiting = session.query(Ticket).where(Ticket.team == "a", Ticket.status.is_in("open", "held"))

    async def numbers():
        return [ticket.number for ticket in await waiting]

    await session.put_many([Ticket(number=1, team="a"), Ticket(number=2, team="a", status="done")])
    assert (await numbers(), waiting.explain().index) == ([1], "by_team")
    ticket = await session.get(Ticket, 2)
    ticket.status = "held"
    await session.save(ticket)
    assert await numbers() == [1, 2]
    ticket.status = "done"
    await session.save(ticket)
    assert await numbers() == [1]
    await session.update(Ticket, 1).set(Ticket.status, "done")
    assert await numbers() == []
    await session.update(Ticket, 1).set(Ticket.status, "open").set(Ticket.team, "a")
    assert await numbers() == [1]
    async with session.transaction() as tx:
        tx.update(await session.get(Ticket, 1)).set(Ticket.team, "b")
        tx.update(await session.get(Ticket, 2)).set(Ticket.status, "held")
    assert await numbers() == [2]
