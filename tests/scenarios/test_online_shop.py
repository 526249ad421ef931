"""An online shop: nine kinds in one table, items of equal keys, and shipments whose prefix begins that of their parts.

What an order's index keys say of its customer and its day is stored nowhere else, so these parts live in keys alone.
"""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, Table, attr, template

SCENARIO = "online-shop"

SHOP = Table(
    "OnlineShop",
    partition_key="PK",
    sort_key="SK",
    discriminator="EntityType",
    indexes=(
        GlobalIndex("GSI1", partition_key="GSI1-PK", sort_key="GSI1-SK"),
        GlobalIndex("GSI2", partition_key="GSI2-PK", sort_key="GSI2-SK"),
    ),
)


class Place(Model):
    country: Attr[str] = attr(name="Country", alias="Country")
    county: Attr[str] = attr(name="County", alias="County")
    city: Attr[str] = attr(name="City", alias="City")
    street: Attr[str] = attr(name="Street", alias="Street")
    number: Attr[str] = attr(name="Number", alias="Number")
    code: Attr[str] = attr(name="ZipCode", alias="ZipCode")


class Customer(Model, table=SHOP, kind="customer"):
    customer: Attr[str] = attr(stored=False)
    email: Attr[str] = attr(name="Email")
    name: Attr[str] = attr(name="Name")

    pk: PartitionKey[str] = template("c#{customer}")
    sk: SortKey[str] = template("c#{customer}")


class Product(Model, table=SHOP, kind="product"):
    product: Attr[str] = attr(stored=False)
    detail: Attr[dict[str, str]] = attr(name="Detail")
    price: Attr[str] = attr(name="Price")

    pk: PartitionKey[str] = template("p#{product}")
    sk: SortKey[str] = template("p#{product}")


class Warehouse(Model, table=SHOP, kind="warehouse"):
    warehouse: Attr[str] = attr(stored=False)
    address: Attr[Place] = attr(name="Address")

    pk: PartitionKey[str] = template("w#{warehouse}")
    sk: SortKey[str] = template("w#{warehouse}")


class Stock(Model, table=SHOP, kind="warehouseItem"):
    product: Attr[str] = attr(stored=False)
    warehouse: Attr[str] = attr(stored=False)
    quantity: Attr[str] = attr(name="Quantity")

    pk: PartitionKey[str] = template("p#{product}")
    sk: SortKey[str] = template("w#{warehouse}")
    kept_in: Attr[str] = template("w#{warehouse}", name="GSI2-PK")
    kept: Attr[str] = template("p#{product}", name="GSI2-SK")


class OfOrder(Model, table=SHOP, abstract=True):
    order: Attr[str] = attr(stored=False)
    sk: SortKey[str]

    pk: PartitionKey[str] = template("o#{order}")


class Ordered(OfOrder, kind="orderItem"):
    product: Attr[str] = attr(stored=False)
    customer: Attr[str] = attr(stored=False)
    date: Attr[str] = attr(stored=False)
    quantity: Attr[str] = attr(name="Quantity")
    price: Attr[str] = attr(name="Price")

    sk: SortKey[str] = template("p#{product}")
    sold: Attr[str] = template("p#{product}", name="GSI1-PK")
    sold_at: Attr[str] = template("{date}", name="GSI1-SK")
    buyer: Attr[str] = template("c#{customer}", name="GSI2-PK")
    bought_at: Attr[str] = template("p#{date}", name="GSI2-SK")


class Invoice(OfOrder, kind="invoice"):
    invoice: Attr[str] = attr(stored=False)
    customer: Attr[str] = attr(stored=False)
    date: Attr[str] = attr(stored=False)
    amount: Attr[str] = attr(name="Amount")

    sk: SortKey[str] = template("i#{invoice}")
    number: Attr[str] = template("i#{invoice}", name="GSI1-PK")
    number_again: Attr[str] = template("i#{invoice}", name="GSI1-SK")
    buyer: Attr[str] = template("c#{customer}", name="GSI2-PK")
    issued_at: Attr[str] = template("i#{date}", name="GSI2-SK")


class Payment(OfOrder, kind="payment"):
    payment: Attr[str] = attr(stored=False)
    invoice: Attr[str] = attr(stored=False)
    type: Attr[str] = attr(name="Type")
    amount: Attr[str] = attr(name="Amount")
    date: Attr[str] = attr(name="Date")

    sk: SortKey[str] = template("pmn#{payment}")
    of_invoice: Attr[str] = template("i#{invoice}", name="GSI1-PK")
    number: Attr[str] = template("pmn#{payment}", name="GSI1-SK")


class Shipment(OfOrder, kind="shipment"):
    shipment: Attr[str] = attr(stored=False)
    warehouse: Attr[str] = attr(stored=False)
    address: Attr[Place] = attr(name="Address")
    type: Attr[str] = attr(name="Type")
    date: Attr[str] = attr(name="Date")

    sk: SortKey[str] = template("sh#{shipment}")
    number: Attr[str] = template("sh#{shipment}", name="GSI1-PK")
    number_again: Attr[str] = template("sh#{shipment}", name="GSI1-SK")
    sent_from: Attr[str] = template("w#{warehouse}", name="GSI2-PK")
    sent: Attr[str] = template("sh#{shipment}", name="GSI2-SK")


class Shipped(OfOrder, kind="shipmentItem"):
    item: Attr[str] = attr(stored=False)
    shipment: Attr[str] = attr(stored=False)
    product: Attr[str] = attr(stored=False)
    quantity: Attr[str] = attr(name="Quantity")

    sk: SortKey[str] = template("shp#{item}")
    of_shipment: Attr[str] = template("sh#{shipment}", name="GSI1-PK")
    shipped: Attr[str] = template("p#{product}", name="GSI1-SK")


MODELS = {"OnlineShop": SHOP}

REQUESTS = {
    "inventory-of-product": lambda session: session.query(Stock).where(Stock.product == "99887"),
    "whole-order": lambda session: session.query(OfOrder).where(OfOrder.order == "12345"),
    "products-of-order": lambda session: session.query(Ordered).where(Ordered.order == "12345"),
    "invoice-of-order": lambda session: session.query(Invoice).where(Invoice.order == "12345"),
    "shipments-of-order": lambda session: session.query(Shipment).where(Shipment.order == "12345"),
    "shipments-and-parts": lambda session: session.query(Shipment, Shipped).where(Shipment.order == "12345"),
    "orders-of-product": lambda session: session.query(Ordered).where(
        Ordered.product == "99887", Ordered.date.between("2020-06-21T00:00:00", "2020-06-21T23:59:00")
    ),
    "invoice": lambda session: session.query(Invoice).where(Invoice.invoice == "55443"),
    "invoice-and-payments": lambda session: session.query(Invoice, Payment).where(Invoice.invoice == "55443"),
    "shipment-detail": lambda session: session.query(Shipment, Shipped).where(Shipment.shipment == "98765"),
    "shipments-of-warehouse": lambda session: session.query(Shipment).where(Shipment.warehouse == "12345"),
    "inventory-of-warehouse": lambda session: session.query(Stock).where(Stock.warehouse == "12345"),
    "invoices-of-customer": lambda session: session.query(Invoice).where(
        Invoice.customer == "12345", Invoice.date.between("2020-06-01", "2020-06-30")
    ),
    "products-of-customer": lambda session: session.query(Ordered).where(
        Ordered.customer == "12345", Ordered.date.between("2020-06-01", "2020-06-30")
    ),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("OnlineShop") == published.tables["OnlineShop"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    assert by_key("OnlineShop", stored("OnlineShop")) == by_key("OnlineShop", wire_items["OnlineShop"])


@pytest.mark.asyncio(loop_scope="module")
async def test_root_items_are_named_by_one_part_for_both_keys(filled):
    keys = [(Customer, Parts(customer="23456")), (Warehouse, Parts(warehouse="12376"))]
    customer, warehouse = [await filled.get(model, key) for model, key in keys]
    assert (customer.name, warehouse.address.city) == ("Kathleen", "Boras")


@pytest.mark.asyncio(loop_scope="function")
async def test_an_invoice_of_another_day_moves_in_the_index_of_its_customer(session, items):
    await session.tables.create(SHOP)
    await session.put_many(items)
    [invoice] = await session.query(Invoice).where(Invoice.order == "12345")
    await session.update(invoice).set(Invoice.date, "2020-07-01T08:00:00")
    july = session.query(Invoice).where(Invoice.customer == "12345", Invoice.date >= "2020-07")
    assert [each.invoice for each in await july] == ["55443"]
