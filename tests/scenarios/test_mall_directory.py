"""Stores of shopping malls in one table with composite keys, found by mall, by building and by the end of the lease."""

import json
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated

import pytest
import pytest_asyncio
from pydantic import Field

from dynamap_async import (
    Attr,
    BoundQuery,
    Condition,
    GlobalIndex,
    Model,
    PartitionKey,
    Parts,
    Session,
    SortKey,
    attr,
    template,
)
from dynamap_async.errors import ConditionalCheckFailedError, EncodeError, ItemNotFoundError, OperationError
from dynamap_async.expressions import path_of
from dynamap_async.models.templates import DeclaredTemplate, names_in

SCENARIO = "mall-directory"
DATA = Path(__file__).parent / "data" / SCENARIO
KEYS, RECORD = (json.loads((DATA / f"{name}.json").read_text("utf-8")) for name in ("keys", "record"))

Money = Annotated[str, Field(pattern=KEYS["validate"]["rent"])]


class Category(Enum):
    SPITE_STORE = "spite store"
    COFFEE = "food/coffee"
    MEAL = "food/meal"
    CLOTHING = "clothing"
    ELECTRONICS = "electronics"
    DEPARTMENT = "department"
    OTHER = "misc"


class StoreLocation(Model, table="mall-directory"):
    city: Attr[str] = attr(name="cityId")
    mall: Attr[str] = attr(name="mallId")
    building: Attr[str] = attr(name="buildingId")
    store: Attr[str] = attr(name="storeId")
    unit: Attr[str] = attr(name="unitId")
    category: Attr[Category]
    lease_ends: Attr[date] = attr(name="leaseEndDate")
    rent: Attr[Money]
    discount: Attr[Money] = attr(default=KEYS["defaults"]["discount"])

    pk: PartitionKey[str] = template("stores#{city}#{mall}")
    sk: SortKey[str] = template("{building}#{store}")
    units_pk: Attr[str] = template("mall#{mall}", name="gsi1pk")
    units_sk: Attr[str] = template("{building}#{unit}", name="gsi1sk")
    leases_pk: Attr[str] = template("store#{store}", name="gsi2pk")
    leases_sk: Attr[str] = template("{lease_ends}", name="gsi2sk")

    units = GlobalIndex(partition_key="units_pk", sort_key="units_sk")
    leases = GlobalIndex(partition_key="leases_pk", sort_key="leases_sk")


MODELS = {"mall-directory": StoreLocation}
KEY = Parts(city="Atlanta1", mall="EastPointe", building="BuildingA1", store="LatteLarrys")
# The mall's other building, whose name begins with the first one's, with a unit of the same number.
NEIGHBOUR = StoreLocation(
    city="Atlanta1",
    mall="EastPointe",
    building="BuildingA10",
    unit="B47",
    store="Mocha",
    category=Category.CLOTHING,
    lease_ends=date(2020, 2, 29),
    rent="4000.00",
)
YEAR_2020 = StoreLocation.lease_ends.between(date(2020, 1, 1), date(2020, 12, 31))


def units(session: Session, *conditions: Condition) -> BoundQuery[StoreLocation, StoreLocation]:
    return session.query(StoreLocation).where(StoreLocation.mall == "EastPointe", *conditions)


def leases(session: Session, *conditions: Condition) -> BoundQuery[StoreLocation, StoreLocation]:
    return session.query(StoreLocation).where(StoreLocation.store == "LatteLarrys", *conditions)


REQUESTS = {
    "mall": units,
    "building": lambda session: units(session, StoreLocation.building == "BuildingA1"),
    "unit": lambda session: units(session, StoreLocation.building == "BuildingA1", StoreLocation.unit == "B47"),
    "category": lambda session: units(session, StoreLocation.category == Category.COFFEE),
    "lease-lt": lambda session: leases(session, StoreLocation.lease_ends < date(2020, 4, 1)),
    "lease-q4": lambda session: leases(
        session, StoreLocation.lease_ends.between(date(2020, 10, 1), date(2020, 12, 31))
    ),
    "lease-2020-spite": lambda session: leases(session, YEAR_2020, StoreLocation.category == Category.SPITE_STORE),
}
CHANGES = {"after-patch"}
KEY_CONDITIONS = {
    "mall": ["units_pk == 'mall#EastPointe'"],
    "building": ["units_pk == 'mall#EastPointe'", "units_sk.begins_with('BuildingA1#')"],
    "unit": ["units_pk == 'mall#EastPointe'", "units_sk == 'BuildingA1#B47'"],
    "category": ["units_pk == 'mall#EastPointe'"],
    # The last text before that of the day itself.
    "lease-lt": ["leases_pk == 'store#LatteLarrys'", r"leases_sk <= '2020-04-00\U0010ffff'"],
    "lease-q4": ["leases_pk == 'store#LatteLarrys'", "leases_sk.between('2020-10-01', '2020-12-31')"],
    "lease-2020-spite": ["leases_pk == 'store#LatteLarrys'", "leases_sk.between('2020-01-01', '2020-12-31')"],
}


@pytest.fixture(scope="module")
def store(read_item):
    """Return the one that is published."""
    return read_item(StoreLocation, {name: {"S": text} for name, text in RECORD.items()})


@pytest.fixture(scope="module")
def items(store):
    return [store, NEIGHBOUR]


@pytest_asyncio.fixture
async def mall(session, items):
    await session.tables.create(StoreLocation)
    await session.put_many(items)
    return session


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() | CHANGES == published.requests.keys() == KEY_CONDITIONS.keys() | CHANGES
    assert [each.value for each in Category] == KEYS["category"]


@pytest.mark.parametrize(
    ("place", "fields"),
    [("table", ("pk", "sk")), ("units", ("units_pk", "units_sk")), ("leases", ("leases_pk", "leases_sk"))],
    ids=["table", "units", "leases"],
)
def test_keys_are_made_of_the_published_parts(place, fields):
    for kind, field in zip(("pk", "sk"), fields, strict=True):
        [declared] = [each for each in StoreLocation.model_fields[field].metadata if isinstance(each, DeclaredTemplate)]
        parts = [path_of(getattr(StoreLocation, name)).attribute for name in names_in(declared.pattern)]
        assert parts == KEYS[place][kind]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_store_or_none(name, filled, published, store):
    said, query = published.requests[name], REQUESTS[name](filled)
    assert query.explain().index == said["index"]
    shown = [str(each).removeprefix("StoreLocation.") for each in query.explain().key_conditions]
    assert shown == KEY_CONDITIONS[name]
    found = await query
    assert (store in found) is said["hit"]
    assert len(found) == (2 if name == "mall" else said["hit"])


def test_stored_item_holds_the_published_record_and_its_keys(stored):
    [item] = [each for each in stored("mall-directory") if each["storeId"]["S"] == "LatteLarrys"]
    keys = {
        "pk": "stores#Atlanta1#EastPointe",
        "sk": "BuildingA1#LatteLarrys",
        "gsi1pk": "mall#EastPointe",
        "gsi1sk": "BuildingA1#B47",
        "gsi2pk": "store#LatteLarrys",
        "gsi2sk": "2020-02-29",
    }
    assert item == {name: {"S": text} for name, text in (RECORD | KEYS["defaults"] | keys).items()}


@pytest.mark.asyncio(loop_scope="module")
async def test_range_of_units_stays_inside_of_its_building(filled, store):
    in_building = units(filled, StoreLocation.building == "BuildingA1")
    assert await in_building.where(StoreLocation.unit >= "A") == [store]
    assert await in_building.where(StoreLocation.unit > "B47") == []
    buildings = units(filled, StoreLocation.building.is_in("BuildingA1", "BuildingA10"), StoreLocation.unit == "B47")
    assert [each.building for each in await buildings] == ["BuildingA1", "BuildingA10"]


@pytest.mark.asyncio(loop_scope="module")
async def test_unit_without_its_building_is_a_filter_and_says_so(filled):
    query = units(filled, StoreLocation.unit == "B47")
    assert [str(each) for each in query.explain().filters] == ["StoreLocation.unit == 'B47'"]
    assert any("building before it is not fixed" in hazard for hazard in query.explain().hazards)
    assert len(await query) == 2


@pytest.mark.asyncio
async def test_store_is_created_once(mall, store):
    with pytest.raises(ConditionalCheckFailedError):
        await mall.create(store.model_copy(update={"rent": "1.00"}))
    assert await mall.get(StoreLocation, KEY) == store


@pytest.mark.asyncio
async def test_new_end_of_a_lease_moves_its_one_entry_in_the_index(mall):
    await mall.update(StoreLocation, KEY).set(StoreLocation.lease_ends, date(2021, 2, 28))
    assert await leases(mall, StoreLocation.lease_ends < date(2020, 4, 1)) == []
    year = StoreLocation.lease_ends.between(date(2021, 1, 1), date(2021, 12, 31))
    assert [each.leases_sk for each in await leases(mall, year)] == ["2021-02-28"]
    assert await leases(mall).count() == 1


@pytest.mark.asyncio
async def test_store_that_moves_to_another_unit_moves_in_the_index(mall):
    await mall.update(StoreLocation, KEY).set(StoreLocation.unit, "B50")
    in_building = units(mall, StoreLocation.building == "BuildingA1")
    assert await in_building.where(StoreLocation.unit == "B47") == []
    [moved] = await in_building.where(StoreLocation.unit == "B50")

    moved.unit = "B51"
    await mall.save(moved)
    assert [each.units_sk for each in await in_building] == ["BuildingA1#B51"]


@pytest.mark.asyncio
async def test_update_of_a_store_that_does_not_exist_leaves_no_half_of_one(mall):
    nobody = Parts(city="Atlanta1", mall="EastPointe", building="BuildingB", store="Nobody")
    with pytest.raises(ItemNotFoundError):
        await mall.update(StoreLocation, nobody).set(StoreLocation.lease_ends, date(2021, 2, 28))
    assert await mall.find(StoreLocation, nobody) is None


@pytest.mark.asyncio
async def test_rent_that_is_no_amount_is_refused_before_it_is_sent(mall, store):
    with pytest.raises(EncodeError, match=r"StoreLocation\.rent"):
        await mall.update(StoreLocation, KEY).set(StoreLocation.rent, "free")
    assert await mall.get(StoreLocation, KEY) == store


@pytest.mark.asyncio
async def test_deleted_store_is_gone_from_every_index(mall):
    await mall.delete(StoreLocation, KEY)
    assert await mall.find(StoreLocation, KEY) is None
    assert await units(mall) == [NEIGHBOUR]
    assert await leases(mall) == []


@pytest.mark.asyncio
async def test_key_without_one_of_its_parts_is_refused_before_it_is_sent(mall):
    before = mall.statistics().requests
    with pytest.raises(OperationError, match="store"):
        await mall.get(StoreLocation, Parts(city="Atlanta1", mall="EastPointe", building="BuildingA1"))
    with pytest.raises(OperationError):
        mall.query(StoreLocation).where(StoreLocation.city == "Atlanta1").explain()
    assert mall.statistics().requests == before
