"""Items that are upgraded when they are read, and stored so in the background, on real engines."""

import asyncio
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    RetryPolicy,
    Session,
    StoredItem,
    attr,
    include,
    upgrade,
)
from dynamap_async.errors import ConfigurationError, SessionClosedError
from dynamap_async.leases import LeasedTransport
from dynamap_async.session import session_through, transport_of, write_back
from dynamap_async.testing.engine import CREDENTIALS, REGION
from dynamap_async.testing.faults import Faults

pytestmark = pytest.mark.asyncio


class Raw(Model, table="customers"):
    number: PartitionKey[int]
    first: Attr[str | None] = attr(default=None)
    last: Attr[str | None] = attr(default=None)
    name: Attr[str | None] = attr(default=None)
    city: Attr[str | None] = attr(default=None)
    schema_version: Attr[int | None] = attr(default=None)


class Customer(Model, table="customers", schema_version=2):
    number: PartitionKey[int]
    name: Attr[str]
    city: Attr[str | None] = attr(default=None)
    by_city = GlobalIndex(partition_key="city", projection=include("name", "schema_version", "first", "last"))

    @upgrade(to=2, needs=("first", "last"))
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"


def old(number):
    return Raw(number=number, first="Ada", last=f"L{number}", city="York")


def present(number):
    return Raw(number=number, name=f"Ada L{number}", city="York", schema_version=2)


@pytest_asyncio.fixture
async def opened(engine):
    """A session that stores what it upgrades, and one that does not."""
    prefix = f"t{uuid4().hex[:12]}-"
    settings = {"endpoint_url": engine.endpoint_url, "region": REGION, "credentials": CREDENTIALS}
    async with (
        Session(**settings, table_prefix=prefix, upgrade_on_read="write") as session,
        engine.session(table_prefix=prefix) as other,
    ):
        await other.tables.create(Customer)
        await other.put_many(old(number) for number in range(6))
        yield session, other


async def written(session):
    """Wait until nothing waits any more to be stored."""
    async with asyncio.timeout(20):
        while session._write_back._task is not None:
            await asyncio.wait((session._write_back._task,))


async def stored(session):
    return sorted(await session.scan(Raw).consistent(), key=lambda each: each.number)


@pytest.mark.parametrize("way", ["get", "many", "scan", "index", "stream"])
async def test_what_is_read_in_an_older_version_is_stored_in_the_present_one(opened, way):
    session, other = opened
    if way == "get":
        await session.get(Customer, 0)
    elif way == "many":
        await session.get_many(Customer, [0])
    elif way == "scan":
        await session.scan(Customer).where(Customer.number == 0)
    elif way == "index":
        await session.query(Customer).where(Customer.city == "York", Customer.number == 0)
    else:
        async for _ in session.scan(Customer).where(Customer.number == 0):
            pass
    await written(session)
    assert await stored(other) == [present(0), *map(old, range(1, 6))]


async def test_without_the_setting_nothing_is_written(opened):
    _, other = opened
    await other.scan(Customer)
    assert await stored(other) == list(map(old, range(6)))


async def test_an_item_that_was_changed_since_it_was_read_is_left_alone(opened, monkeypatch):
    session, other = opened
    found = await session.get(Customer, 0)  # the task that stores it has not begun
    changed = old(0).model_copy(update={"first": "Grace"})
    task, session._write_back._task = session._write_back._task, None
    task.cancel()
    await asyncio.wait((task,))
    await other.put(changed)
    session._write_back._waiting.clear()
    session._write_back(found)
    await written(session)
    assert (await stored(other))[0] == changed


async def test_a_full_queue_leaves_items_out(opened, monkeypatch):
    session, other = opened
    monkeypatch.setattr(write_back, "_WAITING", 2)
    # In one turn of the event loop, as a page that is decoded in one slice: no write makes room in between.
    for customer in await other.scan(Customer):
        session._write_back(customer)
    await written(session)
    assert [each.schema_version for each in await stored(other)].count(2) == 2


async def test_refused_writes_are_told_to_nobody(engine, opened):
    _, other = opened
    faults = Faults(seed=1)
    faults.on("UpdateItem", times=100).fail(500)
    prefix = other._runner.context.tables.prefix
    settings = {"retry": RetryPolicy(max_attempts=1), "upgrade_on_read": "write"}
    async with faults.session(engine, table_prefix=prefix, **settings) as session:
        assert (await session.get(Customer, 0)).name == "Ada L0"
        await written(session)
        assert (await session.get(Customer, 0)).name == "Ada L0"
    assert await stored(other) == list(map(old, range(6)))


async def test_closing_the_session_leaves_no_task_and_what_waits_unwritten(engine, opened):
    session, _ = opened
    before = asyncio.all_tasks()
    await session.scan(Customer)
    await session.close()
    assert asyncio.all_tasks() <= before


async def test_another_word_for_it_is_refused():
    with pytest.raises(ConfigurationError, match='"write"'):
        Session(upgrade_on_read="always")


async def test_a_session_whose_closing_is_cancelled_is_closed_all_the_same(opened):
    session, _ = opened
    await session.scan(Customer)
    closing = asyncio.create_task(session.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    with pytest.raises(SessionClosedError):
        await session.get(Customer, 0)


async def test_what_is_read_in_the_last_moment_begins_no_task(opened):
    session, _ = opened
    found = await session.get(Customer, 0)
    await written(session)
    await session.close()
    before = asyncio.all_tasks()
    session._write_back(found)
    assert asyncio.all_tasks() == before


async def test_closing_a_session_like_it_leaves_to_the_first_what_waits_to_be_stored(opened):
    session, other = opened
    await session.scan(Customer)
    async with session_through(session, LeasedTransport(transport_of(session), None)):
        pass
    await written(session)
    assert await stored(other) == list(map(present, range(6)))
