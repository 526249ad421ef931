"""Models of tables in an engine: the sample is bounded, and what is made of it opens what is there."""

import random
import sys
from types import ModuleType
from typing import Annotated
from uuid import uuid4

import pytest
import pytest_asyncio
from pydantic import Field

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Table, TimeToLive, attr, template
from dynamap_async.errors import OperationError, ResourceNotFoundError
from dynamap_async.generate import infer, take_sample

pytestmark = pytest.mark.asyncio

SHOP = Table(
    "shop-to-infer",
    partition_key="pk",
    sort_key="sk",
    indexes=(GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="gsi1sk"),),
    discriminator="type",
    time_to_live="expires",
)


class Customer(Model, table=SHOP, kind="customer"):
    customer: Attr[str]
    name: Attr[str]
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("CUSTOMER#{customer}")


class Order(Model, table=SHOP, kind="order"):
    customer: Attr[str]
    number: Attr[int]
    status: Attr[str]
    expires: TimeToLive[int | None] = attr(default=None)
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("ORDER#{number:05d}")
    gsi1pk: Attr[str] = template("STATUS#{status}")
    gsi1sk: Attr[str] = template("ORDER#{number:05d}")


@pytest_asyncio.fixture
async def shop(engine):
    """Return a session with a filled table."""
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-") as session:
        await session.tables.create(SHOP)
        await session.put_many([Customer(customer=f"c{n}", name=f"Name {n}") for n in range(40)])
        states = ["open", "paid"]
        await session.put_many(
            [Order(customer=f"c{n % 40}", number=n, status=states[n % 2], expires=1_700_000_000) for n in range(160)]
        )
        yield session


async def test_design_is_that_of_the_table(shop):
    design = await infer(shop, SHOP.name)
    assert design.complete
    assert [(model.name, model.kind, model.count) for model in design.models] == [
        ("Order", "order", 160),
        ("Customer", "customer", 40),
    ]
    order = design.models[0]
    patterns = {field.attribute: field.pattern.text for field in order.fields if field.pattern}
    assert patterns == {
        "pk": "CUSTOMER#{customer}",
        "sk": "ORDER#{number:05d}",
        "gsi1pk": "STATUS#{status}",
        "gsi1sk": "ORDER#{number:05d}",
    }
    assert [index.name for index in design.schema.indexes] == ["gsi1"]


HELD = Table(
    "held-to-infer",
    partition_key="pk",
    sort_key="sk",
    indexes=(GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="sk"),),
    discriminator="type",
)


class Held(Model, table=HELD, kind="order"):
    """An order, which is in the index while it waits."""

    customer: Attr[int]
    number: Attr[int]
    status: Attr[str]
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("ORDER#{number:05d}")
    gsi1pk: Attr[str | None] = template("STATUS#{status}", when={"status": ["open", "held"]})


class Holder(Model, table=HELD, kind="customer"):
    customer: Attr[int]
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("PROFILE")


async def test_a_put_by_a_generated_model_adds_no_item_to_an_index_that_leaves_such_items_out(engine, monkeypatch):
    prefix = f"t{uuid4().hex[:12]}-"
    async with engine.session(table_prefix=prefix) as session:
        await session.tables.create(HELD)
        await session.put_many([Holder(customer=n) for n in range(20)])
        states = ("open", "held", "paid", "sent")
        await session.put_many([Held(customer=n % 20, number=n, status=states[n % 4]) for n in range(120)])
        module = ModuleType("generated_from_a_table")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec((await infer(session, HELD.name)).source().replace(prefix, ""), module.__dict__)
        generated = module.__dict__["Order"]
        await session.put_many([generated(customer=1, number=1_000 + n, status=states[n % 4]) for n in range(40)])
        found = await session.scan(Held).index(HELD.index("gsi1"))
        assert sorted({item.status for item in found}) == ["held", "open"]
        assert len(found) == 60 + 20


SALES = Table("sales-to-infer", partition_key="pk", sort_key="sk", discriminator=None)
OrderId = Annotated[str, Field(pattern="^[0-9a-z]*$")]


class Sale(Model, table=SALES):
    customer: Attr[str] = attr(stored=False)
    number: Attr[OrderId] = attr(stored=False)
    total: Attr[int]
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("ORDER#{number}")


class SaleLine(Model, table=SALES):
    customer: Attr[str] = attr(stored=False)
    number: Attr[str] = attr(stored=False)
    line: Attr[str] = attr(stored=False)
    product: Attr[str]
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("ORDER#{number}#ITEM#{line}")


async def test_generated_models_of_orders_and_their_lines_answer_queries_about_each_and_both(engine, monkeypatch):
    prefix = f"t{uuid4().hex[:12]}-"
    async with engine.session(table_prefix=prefix) as session:
        await session.tables.create(SALES)
        await session.put_many([Sale(customer=f"c{n % 5}", number=f"o{n}", total=n) for n in range(20)])
        await session.put_many(
            [
                SaleLine(customer=f"c{n % 5}", number=f"o{n}", line=f"k{k}", product="p")
                for n in range(20)
                for k in (1, 2)
            ]
        )
        module = ModuleType("generated_from_sales")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec((await infer(session, SALES.name)).source().replace(prefix, ""), module.__dict__)
        order, line = (module.__dict__[name] for name in ("CustomerOrder", "CustomerOrderItem"))
        orders = await session.query(order).where(order.customer == "c1")
        assert [(each.order, each.total) for each in orders] == [("o1", 1), ("o11", 11), ("o16", 16), ("o6", 6)]
        lines = await session.query(line).where(line.customer == "c1", line.order == "o1")
        assert [(each.order, each.item) for each in lines] == [("o1", "k1"), ("o1", "k2")]
        both = await session.query(order, line).where(order.customer == "c1")
        assert [type(each).__name__ for each in both] == ["CustomerOrder", "CustomerOrderItem", "CustomerOrderItem"] * 4
        before = await session.scan(Sale), await session.scan(SaleLine)
        await session.put_many([*await session.scan(order), *await session.scan(line)])
        assert (await session.scan(Sale), await session.scan(SaleLine)) == before


async def test_sample_ends_with_its_items(shop):
    found = await take_sample(shop, SHOP.name, sample=30, chance=random.Random(1))
    assert len(found.items) == 30
    assert not found.complete


async def test_sample_ends_with_its_read_units(shop):
    found = await take_sample(shop, SHOP.name, sample=190, max_read_units=2, chance=random.Random(1))
    assert found.read_units <= 3
    assert len(found.items) < 190


async def test_table_that_is_not_there_is_named(shop):
    with pytest.raises(ResourceNotFoundError):
        await infer(shop, "no-such-table")


@pytest.mark.parametrize("bound", [{"sample": 0}, {"max_read_units": 0}])
async def test_empty_sample_is_refused(shop, bound):
    with pytest.raises(OperationError, match="ask for at least 1 item, and more than 0 units"):
        await infer(shop, SHOP.name, **bound)
