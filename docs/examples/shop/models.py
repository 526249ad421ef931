"""What the shop stores: five models in one table, with keys that are made of their fields.

==========  ==================  ============  ======================  =================
model       partition key       sort key      by-owner, partition     by-owner, sort
==========  ==================  ============  ======================  =================
Product     PRODUCT#assam       PRODUCT       CATEGORY#tea            PRODUCT#Assam
Customer    CUSTOMER#ada        CUSTOMER      not in the index
BasketLine  CUSTOMER#ada        BASKET#assam  not in the index
Order       ORDER#0198...       ORDER         CUSTOMER#ada            ORDER#2026-11-21T...
OrderLine   ORDER#0198...       LINE#01       not in the index
==========  ==================  ============  ======================  =================

An order and its lines share a partition: one query reads them together. The models are also what the API answers with:
``exclude=True`` keeps the keys out of it.
"""

from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from uuid import UUID, uuid4

from pydantic import Field

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    SortKey,
    StoredItem,
    Table,
    Version,
    attr,
    template,
    upgrade,
)
from shop.money import Money, Price

SHOP = Table(
    "shop",
    partition_key="pk",
    sort_key="sk",
    indexes=(GlobalIndex("by-owner", partition_key="owner", sort_key="place"),),
)

Count = Annotated[int, Field(ge=1, le=99)]


class Category(StrEnum):
    """Where a product stands."""

    TEA = "tea"
    COFFEE = "coffee"
    CHOCOLATE = "chocolate"


class Product(Model, table=SHOP, kind="product"):
    """What the shop sells. Everybody may change it, so it has a version."""

    product_id: Attr[str]
    category: Attr[Category]
    name: Attr[str]
    price: Attr[Price]
    stock: Attr[int]
    version: Version[int] = attr(default=0)

    pk: PartitionKey[str] = template("PRODUCT#{product_id}", exclude=True)
    sk: SortKey[str] = template("PRODUCT", exclude=True)
    owner: Attr[str] = template("CATEGORY#{category}", exclude=True)
    place: Attr[str] = template("PRODUCT#{name}", exclude=True)


class Customer(Model, table=SHOP, kind="customer"):
    """Who buys."""

    customer_id: Attr[str]
    name: Attr[str]

    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}", exclude=True)
    sk: SortKey[str] = template("CUSTOMER", exclude=True)


class BasketLine(Model, table=SHOP, kind="basket"):
    """One product that a customer is about to order."""

    customer_id: Attr[str]
    product_id: Attr[str]
    count: Attr[Count]

    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}", exclude=True)
    sk: SortKey[str] = template("BASKET#{product_id}", exclude=True)


class Order(Model, table=SHOP, kind="order"):
    """What a customer bought at one time. It never changes once it is placed."""

    order_id: Attr[UUID] = attr(default_factory=uuid4)
    customer_id: Attr[str]
    placed: Attr[datetime] = attr(default_factory=lambda: datetime.now(UTC))
    total: Attr[Money]

    pk: PartitionKey[str] = template("ORDER#{order_id}", exclude=True)
    sk: SortKey[str] = template("ORDER", exclude=True)
    owner: Attr[str] = template("CUSTOMER#{customer_id}", exclude=True)
    place: Attr[str] = template("ORDER#{placed}", exclude=True)


class OrderLine(Model, table=SHOP, kind="line", schema_version=2):
    """One product of an order, at the price of that day."""

    order_id: Attr[UUID]
    number: Attr[int]
    product_id: Attr[str]
    count: Attr[Count]
    price: Attr[Money]

    pk: PartitionKey[str] = template("ORDER#{order_id}", exclude=True)
    sk: SortKey[str] = template("LINE#{number:02d}", exclude=True)

    @upgrade(to=2, changes=("cents", "price"))
    @staticmethod
    def price_of_cents(item: StoredItem) -> None:
        """Read the lines of the shop's first year, which hold whole cents."""
        item["price"] = Decimal(item.pop("cents")) / 100
