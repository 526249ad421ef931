"""Stores of shopping malls in one table with composite keys, found by mall, by building and by the end of the lease."""

from datetime import date
from enum import Enum
from typing import Annotated

import pytest
import pytest_asyncio
from pydantic import Field

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, attr
from dynamap_async.errors import EncodeError, ItemNotFoundError, OperationError

Money = Annotated[str, Field(pattern=r"^\d+\.\d{2}$")]


class Category(Enum):
    SPITE_STORE = "spite store"
    COFFEE = "food/coffee"
    MEAL = "food/meal"
    CLOTHING = "clothing"
    ELECTRONICS = "electronics"
    DEPARTMENT = "department"
    OTHER = "misc"


class StoreLocation(Model, table="mall-directory"):
    city_and_mall: PartitionKey[str]
    building_and_store: SortKey[str]
    mall: Attr[str]
    building_and_unit: Attr[str]
    store: Attr[str]
    category: Attr[Category]
    lease_ends: Attr[date]
    rent: Attr[Money]
    discount: Attr[Money] = attr(default="0.00")

    units = GlobalIndex(partition_key="mall", sort_key="building_and_unit")
    leases = GlobalIndex(partition_key="store", sort_key="lease_ends")


KEY = ("Atlanta1#EastPointe", "BuildingA1#LatteLarrys")
STORE = StoreLocation(
    city_and_mall=KEY[0],
    building_and_store=KEY[1],
    mall="EastPointe",
    building_and_unit="BuildingA1#B47",
    store="LatteLarrys",
    category=Category.SPITE_STORE,
    lease_ends=date(2020, 2, 29),
    rent="5000.00",
)
# The mall's other building, whose name begins with the first one's.
NEIGHBOUR = STORE.model_copy(
    update={"building_and_store": "BuildingA10#Mocha", "building_and_unit": "BuildingA10#B47", "store": "Mocha"}
)

UNITS = [
    pytest.param((), 2, id="mall"),
    pytest.param((StoreLocation.building_and_unit.begins_with("BuildingA1#"),), 1, id="building"),
    pytest.param((StoreLocation.building_and_unit == "BuildingA1#B47",), 1, id="unit"),
    pytest.param((StoreLocation.category == Category.COFFEE,), 0, id="category"),
]

YEAR_2020 = StoreLocation.lease_ends.between(date(2020, 1, 1), date(2020, 12, 31))
LEASES = [
    pytest.param((StoreLocation.lease_ends < date(2020, 4, 1),), 1, id="before April"),
    pytest.param((StoreLocation.lease_ends.between(date(2020, 10, 1), date(2020, 12, 31)),), 0, id="fourth quarter"),
    pytest.param((YEAR_2020, StoreLocation.category == Category.SPITE_STORE), 1, id="spite stores of a year"),
]


@pytest_asyncio.fixture
async def mall(session):
    await session.tables.create(StoreLocation)
    await session.create(STORE)
    await session.create(NEIGHBOUR)
    return session


@pytest.mark.asyncio
@pytest.mark.parametrize(("conditions", "found"), UNITS)
async def test_units_are_found_by_mall_and_by_building_but_not_by_its_longer_namesake(mall, conditions, found):
    query = mall.query(StoreLocation).where(StoreLocation.mall == "EastPointe", *conditions)
    assert query.explain().index == "units"
    assert (await query)[:1] == [STORE][:found]
    assert await query.count() == found


@pytest.mark.asyncio
@pytest.mark.parametrize(("conditions", "found"), LEASES)
async def test_leases_are_found_by_their_end(mall, conditions, found):
    query = mall.query(StoreLocation).where(StoreLocation.store == "LatteLarrys", *conditions)
    assert query.explain().index == "leases"
    assert await query == [STORE][:found]


@pytest.mark.asyncio
async def test_new_end_of_a_lease_moves_its_one_entry_in_the_index(mall):
    await mall.update(StoreLocation, *KEY).set(StoreLocation.lease_ends, date(2021, 2, 28))
    leases = mall.query(StoreLocation).where(StoreLocation.store == "LatteLarrys")
    assert await leases.where(StoreLocation.lease_ends < date(2020, 4, 1)) == []
    year = StoreLocation.lease_ends.between(date(2021, 1, 1), date(2021, 12, 31))
    assert [store.lease_ends for store in await leases.where(year)] == [date(2021, 2, 28)]
    assert await leases.count() == 1


@pytest.mark.asyncio
async def test_update_of_a_store_that_does_not_exist_leaves_no_half_of_one(mall):
    missing = mall.update(StoreLocation, KEY[0], "BuildingB#Nobody").set(StoreLocation.rent, "1.00")
    with pytest.raises(ItemNotFoundError):
        await missing
    assert await mall.find(StoreLocation, KEY[0], "BuildingB#Nobody") is None


@pytest.mark.asyncio
async def test_rent_that_is_no_amount_is_refused_before_it_is_sent(mall):
    with pytest.raises(EncodeError, match=r"StoreLocation\.rent"):
        await mall.update(StoreLocation, *KEY).set(StoreLocation.rent, "free")
    assert await mall.get(StoreLocation, *KEY) == STORE


@pytest.mark.asyncio
async def test_deleted_store_is_gone_from_every_index(mall):
    await mall.delete(STORE)
    assert await mall.find(StoreLocation, *KEY) is None
    assert await mall.query(StoreLocation).where(StoreLocation.mall == "EastPointe") == [NEIGHBOUR]
    assert await mall.query(StoreLocation).where(StoreLocation.store == "LatteLarrys") == []


@pytest.mark.asyncio
async def test_half_a_key_is_refused_before_it_is_sent(mall):
    with pytest.raises(OperationError, match="building_and_store"):
        await mall.get(StoreLocation, KEY[0])
