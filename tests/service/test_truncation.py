"""All items of a table deleted, with few requests, by whoever runs it last."""

import asyncio

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Table, TableSettings, Unique, attr
from dynamap_async.errors import OperationError, ResourceNotFoundError, TableProtectedError

pytestmark = pytest.mark.asyncio


class Order(Model, table="orders"):
    shop: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(name="Name", default="")  # a reserved word of DynamoDB's

    by_text = GlobalIndex(partition_key="text")


class Refund(Model, table="orders"):
    shop: PartitionKey[str]
    number: SortKey[int]
    amount: Attr[int]


class User(Model, table="users"):
    id: PartitionKey[str]
    email: Attr[str]

    by_email = Unique("email")


class Reserved(Model, table="reserved"):
    id: PartitionKey[str] = attr(name="Name")


def orders(count, text="x"):
    return [Order(shop=f"s{number % 7}", number=number, text=text) for number in range(count)]


def requests_of(session, operation):
    return sum(each.requests for each in session.statistics().by_operation if each.operation == operation)


@pytest_asyncio.fixture(loop_scope="function")
async def filled(session):
    await session.tables.create(Order)
    await session.put_many(orders(310))
    return session


async def left(session):
    return await session.scan(Order).count()


async def test_all_items_go_whoever_wrote_them_and_the_table_stays(filled):
    await filled.put(Refund(shop="other", number=-1, amount=2))
    done = await filled.tables.truncate(Order)
    assert (done.items, done.table.endswith("orders")) == (311, True)
    assert await left(filled) == 0
    assert await filled.tables.exists(Order)


async def test_it_takes_a_call_for_each_25_items_and_tells_the_units(filled):
    before = requests_of(filled, "BatchWriteItem")
    async with filled.scope("all") as scope:
        done = await filled.tables.truncate(Order)
    assert requests_of(filled, "BatchWriteItem") - before == 13
    assert requests_of(filled, "DeleteItem") == 0
    assert (done.read_units, done.write_units) == (scope.usage.read_units, scope.usage.write_units)
    assert done.read_units >= 1
    assert done.write_units >= 13


async def test_items_of_several_pages_share_their_calls(filled):
    await filled.put_many(
        orders(60, text="x" * 1500) + [Order(shop="l", number=n, text="y" * 1900) for n in range(700)]
    )
    before = requests_of(filled, "BatchWriteItem"), requests_of(filled, "Scan")
    done = await filled.tables.truncate(Order)
    assert done.items == 310 + 700
    assert requests_of(filled, "Scan") - before[1] >= 2
    assert requests_of(filled, "BatchWriteItem") - before[0] == 41
    assert await left(filled) == 0


async def test_an_empty_table_is_no_error(session):
    await session.tables.create(Order)
    done = await session.tables.truncate(Order)
    assert (done.items, done.write_units) == (0, 0.0)


async def test_a_key_may_be_a_reserved_word(session):
    await session.tables.create(Reserved)
    await session.put(Reserved(id="a"))
    assert (await session.tables.truncate(Reserved)).items == 1


async def test_cancelled_and_called_again_it_goes_on_with_the_rest(filled):
    task = asyncio.create_task(filled.tables.truncate(Order))
    for _ in range(1_000_000):
        await asyncio.sleep(0)
        if requests_of(filled, "Scan"):  # it was sent, and no item is deleted yet
            break
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await filled.tables.truncate(Order)
    assert await left(filled) == 0


async def test_a_protected_table_keeps_its_items_unless_they_are_to_go_all_the_same(session):
    table = Table("kept", partition_key="pk", settings=TableSettings(deletion_protection=True))

    class Kept(Model, table=table):
        id: PartitionKey[str] = attr(name="pk")

    await session.tables.create(table)
    await session.put(Kept(id="a"))
    with pytest.raises(TableProtectedError, match="kept is protected against deletion"):
        await session.tables.truncate(Kept)
    assert await session.get(Kept, "a") == Kept(id="a")
    assert (await session.tables.truncate(table, force=True)).items == 1
    assert (await session.tables.describe(table)).is_protected
    await session.tables.delete(table, force=True)


async def test_unique_values_would_stay_taken_so_it_is_refused(session):
    await session.tables.create(User)
    await session.put(User(id="a", email="a@b"), read_first=True)
    with pytest.raises(OperationError, match="User has unique fields, and their values would stay taken"):
        await session.tables.truncate(User)
    assert await session.get(User, "a") is not None


async def test_a_table_that_is_not_there_is_refused_by_its_name(session):
    with pytest.raises(ResourceNotFoundError, match="orders"):
        await session.tables.truncate(Order)
