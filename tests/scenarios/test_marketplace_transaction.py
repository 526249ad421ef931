"""Placing an order in a marketplace: the customer must exist, the product must be in stock, and both tables change."""

import asyncio
import json
from enum import StrEnum
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, Model, PartitionKey, attr, to_wire
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    IdempotentParameterMismatchError,
    ItemNotFoundError,
    ResourceNotFoundError,
    TransactionCanceledError,
)

SCENARIO = "marketplace-transaction"
SEED = json.loads((Path(__file__).parent / "data" / SCENARIO / "seed.json").read_text("utf-8"))

pytestmark = pytest.mark.asyncio(loop_scope="function")


class Status(StrEnum):
    IN_STOCK = "IN_STOCK"
    SOLD = "SOLD"


class Customer(Model, table="Customers"):
    id: PartitionKey[str] = attr(name="CustomerId")


class Product(Model, table="ProductCatalog"):
    id: PartitionKey[str] = attr(name="ProductId")
    status: Attr[Status] = attr(name="ProductStatus", default=Status.IN_STOCK)


class Order(Model, table="Orders"):
    id: PartitionKey[str] = attr(name="OrderId")
    product: Attr[str] = attr(name="ProductId")
    customer: Attr[str] = attr(name="CustomerId")
    status: Attr[str] = attr(name="OrderStatus")
    total: Attr[str] = attr(name="OrderTotal")


MODELS = {"Customers": Customer, "ProductCatalog": Product, "Orders": Order}
[CUSTOMER] = [entry["CustomerId"]["S"] for entry in SEED["Customers"]]
PUBLISHED = SEED["published_order"]
PRODUCT, ORDER = "p-1", "o-1"


def order(number=ORDER, total=PUBLISHED["OrderTotal"]):
    return Order(
        id=number, product=PRODUCT, customer=PUBLISHED["CustomerId"], status=PUBLISHED["OrderStatus"], total=total
    )


@pytest_asyncio.fixture
async def shop(session):
    """Return a session with the customer and a product in stock."""
    await session.tables.create(*MODELS.values())
    await session.put(Customer(id=CUSTOMER))
    await session.put(Product(id=PRODUCT))
    return session


async def place(session, placed, *, token=None):
    async with session.transaction(client_request_token=token) as tx:
        tx.check(Customer, placed.customer, where=Customer.id.exists())
        tx.update(Product, placed.product).set(Product.status, Status.SOLD).where(Product.status == Status.IN_STOCK)
        tx.create(placed)


@pytest.mark.parametrize("table", MODELS)
@pytest.mark.asyncio(loop_scope="module")
async def test_created_table_has_the_published_key(table, published, described):
    assert described(table) == published.tables[table]


async def test_order_is_placed_in_all_tables_at_once(shop):
    await place(shop, order())
    customer, product, placed = await shop.transact_get((Customer, CUSTOMER), (Product, PRODUCT), (Order, ORDER))
    assert customer == Customer(id=CUSTOMER)
    assert product.status is Status.SOLD
    assert (placed.status, placed.total, placed.customer) == tuple(
        PUBLISHED[name] for name in ("OrderStatus", "OrderTotal", "CustomerId")
    )


async def test_stored_items_are_the_published_ones_to_the_letter():
    assert [to_wire(Customer(id=CUSTOMER))] == SEED["Customers"]
    own = {"OrderId": {"S": ORDER}, "ProductId": {"S": PRODUCT}}  # the source names no values for these
    assert to_wire(order()) == own | {name: {"S": value} for name, value in PUBLISHED.items()}
    statuses = [to_wire(Product(id=PRODUCT, status=status))["ProductStatus"] for status in Status]
    assert statuses == [{"S": each} for each in SEED["product_status"]]


async def test_sold_product_cancels_the_order_and_is_shown(shop):
    await shop.put(Product(id=PRODUCT, status=Status.SOLD))
    with pytest.raises(TransactionCanceledError) as caught:
        await place(shop, order())
    assert [reason.code for reason in caught.value.reasons] == [None, "ConditionalCheckFailed", None]
    [sold] = caught.value.failures
    assert sold.item == Product(id=PRODUCT, status=Status.SOLD)
    assert isinstance(sold.error, ConditionalCheckFailedError)
    assert await shop.find(Order, ORDER) is None


async def test_unknown_customer_cancels_the_order(shop):
    await shop.delete(Customer, CUSTOMER)
    with pytest.raises(TransactionCanceledError) as caught:
        await place(shop, order())
    [unknown] = caught.value.failures
    assert (unknown.model, unknown.key, unknown.item) == ("Customer", {"id": CUSTOMER}, None)
    assert (await shop.get(Product, PRODUCT)).status is Status.IN_STOCK


async def test_order_number_that_is_taken_cancels_the_order(shop):
    await shop.put(order(total="5"))
    with pytest.raises(TransactionCanceledError) as caught:
        await place(shop, order())
    assert [reason.code for reason in caught.value.reasons] == [None, None, "ConditionalCheckFailed"]
    assert caught.value.reasons[2].item == order(total="5")
    assert (await shop.get(Product, PRODUCT)).status is Status.IN_STOCK


async def test_product_is_sold_to_one_of_many_who_order_it_at_once(shop):
    results = await asyncio.gather(  # noqa: TID251 - its errors are looked at
        *(place(shop, order(f"o-{number}")) for number in range(20)), return_exceptions=True
    )
    assert [type(result) for result in results if result is not None] == [TransactionCanceledError] * 19
    [placed] = await shop.scan(Order)
    assert placed == order(f"o-{results.index(None)}")


async def test_missing_table_is_not_a_cancellation(shop):
    await shop.tables.delete(Order)
    with pytest.raises(ResourceNotFoundError, match="Orders"):
        await place(shop, order())
    assert (await shop.get(Product, PRODUCT)).status is Status.IN_STOCK


async def test_same_order_with_the_same_token_succeeds_without_a_second_effect(shop):
    token = str(uuid4())  # an engine that is shared remembers those of other tests
    await place(shop, order(), token=token)
    await place(shop, order(), token=token)
    assert await shop.scan(Order) == [order()]


async def test_another_order_with_the_same_token_is_refused_and_the_first_stays(shop):
    token = str(uuid4())
    await place(shop, order(), token=token)
    with pytest.raises(IdempotentParameterMismatchError):
        await place(shop, order(total="7"), token=token)
    assert await shop.scan(Order) == [order()]


async def test_reading_back_keeps_the_place_of_what_is_missing(shop):
    assert await shop.transact_find((Product, PRODUCT), (Order, ORDER)) == (Product(id=PRODUCT), None)
    with pytest.raises(ItemNotFoundError, match="no Order with id='o-1'"):
        await shop.transact_get((Product, PRODUCT), (Order, ORDER))
