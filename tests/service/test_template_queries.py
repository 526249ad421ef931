"""Queries by the parts of templated keys, as DynamoDB itself answers them."""

from typing import Any

import pytest
import pytest_asyncio
from pydantic import BaseModel

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    Grouped,
    Model,
    PartitionKey,
    SortKey,
    Table,
    attr,
    template,
)
from dynamap_async.errors import ExpressionError

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Store(Model, table="stores"):
    country: Attr[str]
    region: Attr[str]
    city: Attr[str]
    number: Attr[int]
    manager: Attr[str | None] = attr(default=None)
    pk: PartitionKey[str] = template("{country}")
    sk: SortKey[str] = template("{region}#{city}#{number:04d}")
    managed: Attr[str | None] = template("manager:{manager:lower}", name="gsi1pk")
    place: Attr[str] = template("{country}#{region}", name="gsi1sk")
    by_manager = GlobalIndex(partition_key="managed", sort_key="place")
    by_place = GlobalIndex(partition_key="place", sort_key="number", projection=KEYS_ONLY)


class Pet(Model, table="pets"):
    owner: PartitionKey[str]
    animal: Attr[str] = attr(stored=False)
    words: Attr[int] = attr(stored=False)
    sk: SortKey[str] = template("{animal}:words:{words:06d}")


SHOP = Table(
    "shop",
    partition_key="pk",
    sort_key="sk",
    indexes=(GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="gsi1sk"),),
)


class Customer(Model, table=SHOP, kind="customer"):
    customer_id: Attr[str]
    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("!PROFILE")


class Order(Model, table=SHOP, kind="order"):
    customer_id: Attr[str]
    number: Attr[int]
    status: Attr[str] = attr(default="open")
    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("ORDER#{number:04d}")
    gsi1pk: Attr[str] = template("ORDERS")
    gsi1sk: Attr[str] = template("{status}#{number:04d}")


class Line(Model, table=SHOP, kind="line"):
    customer_id: Attr[str]
    number: Attr[int]
    line: Attr[int]
    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("ORDER#{number:04d}#LINE#{line:02d}")


class Place(BaseModel):
    city: str


STORES = [
    Store(country="GB", region="London", city="Bow", number=1, manager="Ann"),
    Store(country="GB", region="London", city="Camden", number=2, manager="Bob"),
    Store(country="GB", region="Londonderry", city="Bow", number=3, manager="ANN"),
    Store(country="US", region="Madison", city="Huntsville", number=4),
    Store(country="US", region="Madisonville", city="Covington", number=5),
]
PETS = [
    Pet(owner="ada", animal=animal, words=words)
    for animal, words in [("parrot", 5), ("parrot", 6), ("parrot", 40), ("cat", 9), ("dog", 3), ("dog", 70)]
]
ORDERS: list[Any] = [Customer(customer_id="7")]
for each in range(1, 6):
    ORDERS.append(Order(customer_id="7", number=each, status="paid" if each % 2 else "open"))
    ORDERS.append(Line(customer_id="7", number=each, line=1))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(engine):
    async with engine.session(table_prefix="templates-") as opened:
        await opened.tables.create(Store, Pet, SHOP, timeout_seconds=30)
        await opened.put_many([*STORES, *PETS, *ORDERS, Customer(customer_id="70"), Order(customer_id="70", number=1)])
        yield opened
        await opened.tables.delete(Store, Pet, SHOP)


def numbers(items):
    return [item.number for item in items]


async def test_a_namespace_is_closed_by_its_separator(session):
    found = await session.query(Store).where(Store.country == "US", Store.region == "Madison")
    assert [store.region for store in found] == ["Madison"]
    found = await session.query(Store).where(Store.country == "US", Store.region.begins_with("Madison"))
    assert [store.region for store in found] == ["Madison", "Madisonville"]


async def test_each_level_of_a_hierarchy_is_one_query(session):
    query = session.query(Store).where(Store.country == "GB", Store.region == "London")
    assert numbers(await query) == [1, 2]
    assert numbers(await query.where(Store.city == "Camden")) == [2]
    assert numbers(await query.where(Store.city.begins_with("B"))) == [1]
    assert (await query.where(Store.city == "Camden", Store.number == 2).one()).manager == "Bob"


async def test_parrots_with_more_than_five_words_are_a_range_inside_of_their_namespace(session):
    parrots = session.query(Pet).where(Pet.owner == "ada", Pet.animal == "parrot")
    assert [pet.words for pet in await parrots.where(Pet.words > 5)] == [6, 40]
    assert [pet.words for pet in await parrots.where(Pet.words >= 5, Pet.words < 40)] == [5, 6]
    assert [pet.words for pet in await parrots.where(Pet.words.between(6, 40)).descending()] == [40, 6]
    assert await parrots.where(Pet.words < 6).count() == 1


async def test_several_kinds_of_animal_are_several_queries_merged_in_order(session):
    query = session.query(Pet).where(Pet.owner == "ada", Pet.animal.is_in("parrot", "dog"), Pet.words > 4)
    assert query.explain().queries == 2
    assert [(pet.animal, pet.words) for pet in await query] == [
        ("dog", 70),
        ("parrot", 5),
        ("parrot", 6),
        ("parrot", 40),
    ]
    assert [pet.words for pet in await query.limit(2)] == [70, 5]
    assert await query.count() == 4
    first = await query.page(size=3)
    rest = await query.page(size=3, after=first.cursor)
    assert [pet.words for pet in first.items + rest.items] == [70, 5, 6, 40]


async def test_several_partitions_are_several_queries(session):
    query = session.query(Store).where(Store.country.is_in("US", "GB"), Store.region.is_in("London", "Madison"))
    assert query.explain().queries == 4
    assert numbers(await query) == [1, 2, 4]
    assert numbers([store async for store in query.descending()]) == [4, 2, 1]


async def test_a_part_in_one_case_finds_what_is_stored_as_it_was_asked(session):
    assert numbers(await session.query(Store).where(Store.manager == "Ann")) == [1]
    assert numbers(await session.query(Store).where(Store.managed == "manager:ann")) == [1, 3]


async def test_an_index_that_is_made_of_parts_is_chosen_and_its_results_completed(session):
    query = session.query(Store).where(Store.country == "GB", Store.region == "London")
    assert query.explain().index is None
    newer = query.where(Store.number > 1)
    assert (newer.explain().index, newer.explain().filters) == ("by_place", ())
    assert newer.explain().completion is not None
    assert [store.city for store in await newer] == ["Camden"]


async def test_some_fields_of_what_parts_find_are_read_alone(session):
    query = session.query(Store).where(Store.country == "GB", Store.region == "London")
    assert await query.select(Store.city, Store.number).descending() == [("Camden", 2), ("Bow", 1)]
    assert [place.city for place in await query.into(Place)] == ["Bow", "Camden"]
    with pytest.raises(ExpressionError, match="stored in the key sk only"):
        session.query(Pet).select(Pet.words)


async def test_pages_of_a_namespace_go_on_where_they_ended(session):
    query = session.query(Store).where(Store.country == "GB", Store.region == "London")
    first = await query.page(size=1)
    second = await query.page(size=5, after=first.cursor)
    assert numbers([*first.items, *second.items]) == [1, 2]


async def test_a_model_of_a_shared_table_reads_its_own_namespace(session):
    query = session.query(Order).where(Order.customer_id == "7")
    assert numbers(await query) == [1, 2, 3, 4, 5]
    assert numbers(await query.where(Order.number.between(2, 3)).descending()) == [3, 2]
    assert await query.where(Order.number > 3).count() == 2
    assert (await session.query(Customer).where(Customer.customer_id == "7").one()).customer_id == "7"


async def test_a_first_item_is_found_behind_those_of_other_models(session):
    lines = session.query(Line).where(Line.customer_id == "7", Line.number == 3)
    assert (await lines.first()).line == 1
    found = [line async for line in session.query(Line).where(Line.customer_id == "7").limit(3)]
    assert numbers(found) == [1, 2, 3]


async def test_a_constant_partition_of_an_index_holds_all_items_of_a_model(session):
    assert sorted(numbers(await session.query(Order))) == [1, 1, 2, 3, 4, 5]
    assert numbers(await session.query(Order).where(Order.status == "paid")) == [1, 3, 5]
    assert numbers(await session.query(Order).where(Order.status == "open", Order.number < 4).descending()) == [2, 1]


async def test_a_collection_reads_a_partition_by_the_part_that_all_models_have(session):
    query = session.query(Customer, Order, Line).where(Customer.customer_id == "7")
    assert await query == ORDERS
    groups = Grouped(await query.limit(4))
    assert (len(groups[Customer]), numbers(groups[Order]), numbers(groups[Line])) == (1, [1, 2], [1])


async def test_a_collection_reads_a_namespace_that_its_models_have_in_common(session):
    query = session.query(Order, Line).where(Order.customer_id == "7", Order.number == 3)
    assert [str(each) for each in query.explain().sort_conditions] == ["Order.sk.begins_with('ORDER#0003')"]
    assert [type(item) for item in await query] == [Order, Line]
    pages = [await query.page(size=1)]
    pages.append(await query.page(size=1, after=pages[0].cursor))
    assert [type(page.items[0]) for page in pages] == [Order, Line]
