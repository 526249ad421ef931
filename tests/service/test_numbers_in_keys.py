"""Numbers that are parts of computed keys: ``template("ORDER#{number:06d}")``."""

from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, Model, PartitionKey, Put, SortKey, Table, Unique, attr, template
from dynamap_async.errors import EncodeError, ModelDefinitionError, OperationError, UnassignedFieldError

pytestmark = pytest.mark.asyncio

SHOP = Table("shop", partition_key="pk", sort_key="sk", discriminator=None)


class Order(Model, table=SHOP):
    customer: Attr[str]
    number: Attr[int] = attr(autoincrement=True, default=...)
    mail: Attr[str] = ""
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("ORDER#{number:03d}")


class Invoice(Model, table=SHOP):
    customer: Attr[str]
    number: Attr[int] = attr(autoincrement=True, default=...)
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("INVOICE#{number}")


class Case(Model, table="cases"):
    number: Attr[int] = attr(autoincrement=True, default=...)
    court: Attr[str]
    title: Attr[str] = ""
    pk: PartitionKey[str] = template("CASE#{number:04d}#{court}")
    one_title = Unique("title")


@pytest_asyncio.fixture(loop_scope="function")
async def shop(engine):
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-") as session:
        await session.tables.create(SHOP, Case)
        yield session


async def test_key_of_a_new_item_is_made_when_it_gets_its_number(shop):
    order = Order(customer="ann")
    with pytest.raises(UnassignedFieldError, match=r"Order\.sk"):
        _ = order.sk
    await shop.create(order)
    assert (order.number, order.sk) == (1, "ORDER#001")
    assert await shop.get(Order, order.pk, order.sk) == order
    assert await shop.query(Order).where(Order.customer == "ann", Order.number == 1) == [order]


async def test_sort_key_counts_in_each_partition_and_for_each_template(shop):
    made = [await shop.put(model(customer=name)) for name in ("ann", "ann", "bob") for model in (Order, Invoice)]
    assert [each.sk for each in made] == [
        "ORDER#001",
        "INVOICE#1",
        "ORDER#002",
        "INVOICE#2",
        "ORDER#001",
        "INVOICE#1",
    ]


async def test_many_items_and_transactions_get_their_numbers(shop):
    orders = [Order(customer="ann") for _ in range(30)]
    await shop.put_many(orders)
    more = [Order(customer="ann"), Order(customer="bob")]
    await shop.transact_write([Put(each) for each in more])
    assert sorted(order.number for order in orders) == list(range(1, 31))
    assert [each.sk for each in more] == ["ORDER#031", "ORDER#001"]


async def test_number_that_an_item_has_is_skipped(shop):
    await shop.put_many([Order(customer="ann", number=number) for number in (1, 2)])
    assert (await shop.create(Order(customer="ann"))).sk == "ORDER#003"
    assert await shop.reserve(Order, 2, "CUSTOMER#ann") == range(4, 6)


async def test_part_of_the_partition_key_is_counted_across_the_table(shop):
    cases = [await shop.put(Case(court=court, title=court), read_first=True) for court in ("x", "y")]
    assert [each.pk for each in cases] == ["CASE#0001#x", "CASE#0002#y"]
    with pytest.raises(OperationError, match="Case.number is a part of the partition key, so there is one counter"):
        await shop.reserve(Case, 1, "CASE#0001#x")


async def test_number_that_does_not_fit_into_the_key_is_refused(shop):
    await shop.reserve(Order, 999, "CUSTOMER#ann")
    with pytest.raises(EncodeError, match="make the form wider"):
        await shop.create(Order(customer="ann"))
    assert await shop.query(Order).where(Order.customer == "ann") == []


async def test_number_that_no_key_holds_is_refused():
    with pytest.raises(ModelDefinitionError, match=r"Loose\.number: has autoincrement=True but is not in the key"):

        class Loose(Model, table="loose"):
            number: Attr[int] = attr(autoincrement=True, default=...)
            id: PartitionKey[str]
            other: Attr[str | None] = template("N#{number}")


async def test_partition_that_gets_its_value_late_is_refused():
    with pytest.raises(ModelDefinitionError, match=r"Late\.number: has autoincrement=True in the sort key.*made has"):

        class Late(Model, table="late"):
            made: Attr[str] = attr(on_create=lambda: "x", default=...)
            number: Attr[int] = attr(autoincrement=True, default=...)
            pk: PartitionKey[str] = template("P#{made}")
            sk: SortKey[str] = template("N#{number}")
