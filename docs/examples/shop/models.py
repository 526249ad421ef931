"""What the shop stores: four models in one table, with keys that are made of their fields.

==========  ==================  ============  ======================  =================
model       partition key       sort key      by-owner, partition     by-owner, sort
==========  ==================  ============  ======================  =================
Product     PRODUCT#assam       PRODUCT       CATEGORY#tea            PRODUCT#Assam
Customer    CUSTOMER#ada        CUSTOMER      not in the index
Order       ORDER#0198...       ORDER         CUSTOMER#ada            ORDER#2026-11-21T...
OrderLine   ORDER#0198...       LINE#01       not in the index
==========  ==================  ============  ======================  =================

An order and its lines share a partition: one query reads them together.
"""

from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated
from uuid import UUID, uuid4

from pydantic import Field

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Table, Version, attr, template

SHOP = Table(
    "shop",
    partition_key="pk",
    sort_key="sk",
    indexes=(GlobalIndex("by-owner", partition_key="owner", sort_key="place"),),
)

Price = Annotated[Decimal, Field(gt=0, max_digits=8, decimal_places=2)]
"""Money is decimal: DynamoDB and the library keep it exact."""


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

    pk: PartitionKey[str] = template("PRODUCT#{product_id}")
    sk: SortKey[str] = template("PRODUCT")
    owner: Attr[str] = template("CATEGORY#{category}")
    place: Attr[str] = template("PRODUCT#{name}")


class Customer(Model, table=SHOP, kind="customer"):
    """Who buys."""

    customer_id: Attr[str]
    name: Attr[str]

    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("CUSTOMER")


class Order(Model, table=SHOP, kind="order"):
    """What a customer bought at one time. It never changes once it is placed."""

    order_id: Attr[UUID] = attr(default_factory=uuid4)
    customer_id: Attr[str]
    placed: Attr[datetime] = attr(default_factory=lambda: datetime.now(UTC))
    total: Attr[Decimal]

    pk: PartitionKey[str] = template("ORDER#{order_id}")
    sk: SortKey[str] = template("ORDER")
    owner: Attr[str] = template("CUSTOMER#{customer_id}")
    place: Attr[str] = template("ORDER#{placed}")


class OrderLine(Model, table=SHOP, kind="line"):
    """One product of an order, at the price of that day."""

    order_id: Attr[UUID]
    number: Attr[int]
    product_id: Attr[str]
    count: Attr[int]
    price: Attr[Decimal]

    pk: PartitionKey[str] = template("ORDER#{order_id}")
    sk: SortKey[str] = template("LINE#{number:02d}")
