"""Several kinds of item in one index attribute, each in its own namespace: addresses, and the animals of a zoo."""

from datetime import UTC, date, datetime

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Table, attr, template
from dynamap_async.errors import NoIndexError

pytestmark = pytest.mark.asyncio

ZOO = Table(
    "zoo",
    partition_key="zoo",
    sort_key="animal",
    indexes=[GlobalIndex("index1", partition_key="zoo", sort_key="index1")],
)


class Dog(Model, table=ZOO):
    zoo: PartitionKey[str]
    animal: SortKey[str] = template("dog:{name}")
    name: Attr[str]
    born: Attr[date]
    command: Attr[str | None] = attr(default=None)
    index1: Attr[str | None] = template("dog:command:{command}")


class Cat(Model, table=ZOO):
    zoo: PartitionKey[str]
    animal: SortKey[str] = template("cat:{name}")
    name: Attr[str]
    born: Attr[date]
    tree: Attr[str]
    index1: Attr[str] = template("cat:treeclimbed:{tree}")


class Parrot(Model, table=ZOO):
    zoo: PartitionKey[str]
    animal: SortKey[str] = template("parrot:{name}")
    name: Attr[str]
    born: Attr[date]
    words: Attr[int]
    index1: Attr[str] = template("parrot:words:{words:06d}")


INDEX1 = ZOO.index("index1")
BORN = date(2020, 5, 1)
ANIMALS = [
    *(Dog(zoo="London", name=name, born=BORN, command=name) for name in ("roll over", "sit", "beg")),
    Dog(zoo="London", name="pup", born=BORN),
    *(Cat(zoo="London", name=name, born=BORN, tree=name) for name in ("spruce", "elm", "oak")),
    *(Parrot(zoo="London", name=str(words), born=BORN, words=words) for words in (3, 5, 101, 201)),
    Parrot(zoo="Paris", name="4", born=BORN, words=4),
]


@pytest_asyncio.fixture
async def zoo(session):
    await session.tables.create(ZOO)
    await session.put_many(ANIMALS)
    return session


async def test_each_kind_has_its_own_namespace_in_one_index(zoo):
    dogs = zoo.query(Dog).where(Dog.zoo == "London").index(INDEX1)
    cats = zoo.query(Cat).where(Cat.zoo == "London").index(INDEX1)
    assert [dog.command for dog in await dogs] == ["beg", "roll over", "sit"]
    assert [cat.tree for cat in await cats] == ["elm", "oak", "spruce"]


async def test_a_namespace_alone_is_read_and_paid_for(zoo):
    plan = zoo.query(Dog).where(Dog.zoo == "London").index(INDEX1).explain()
    assert plan.body["ExpressionAttributeValues"][":v1"] == {"S": "dog:command:"}
    assert "begins_with" in plan.body["KeyConditionExpression"]


async def test_an_animal_without_the_attribute_is_not_in_the_index(zoo):
    assert await zoo.query(Dog).where(Dog.zoo == "London").index(INDEX1).count() == 3
    assert [dog.name for dog in await zoo.query(Dog).where(Dog.zoo == "London")] == ["beg", "pup", "roll over", "sit"]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        pytest.param(Parrot.words.between(2, 5), [3, 5], id="both ends of between belong to it"),
        pytest.param(Parrot.words > 5, [101, 201], id="greater"),
        pytest.param(Parrot.words >= 5, [5, 101, 201], id="greater or equal"),
        pytest.param(Parrot.words < 5, [3], id="less"),
        pytest.param(Parrot.words <= 5, [3, 5], id="less or equal"),
        pytest.param(Parrot.words == 101, [101], id="equal"),
    ],
)
async def test_a_range_of_numbers_stays_inside_its_namespace(zoo, condition, words):
    query = zoo.query(Parrot).where(Parrot.zoo == "London", condition).index(INDEX1)
    assert [parrot.words for parrot in await query] == words
    assert [parrot.words for parrot in await query.descending()] == words[::-1]
    assert "words" not in query.explain().body["ExpressionAttributeNames"].values()  # the key decides, not a filter


async def test_all_namespaces_are_one_query_on_several_models_or_one_each(zoo):
    animals = await zoo.query(Dog, Cat, Parrot).where(Dog.zoo == "London")
    assert [type(animal) for animal in animals] == [Cat] * 3 + [Dog] * 4 + [Parrot] * 4
    assert {animal.born for animal in animals} == {BORN}


class Address(Model, table="addresses"):
    country: PartitionKey[str]
    city: Attr[str]
    district: Attr[str]
    place: Attr[str]
    where: SortKey[str] = template("{city}:{district}:{place}")


ADDRESSES = [
    ("London", "Westminster", "Buckingham Palace"),
    ("London", "Westminster", "Downing St:10"),
    ("London", "Camden", "High St:1"),
    ("Londonderry", "Waterside", "Duke St:1"),
]


@pytest_asyncio.fixture
async def addresses(session):
    await session.tables.create(Address)
    await session.put_many(
        [Address(country="UK", city=city, district=district, place=place) for city, district, place in ADDRESSES]
    )
    return session


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        pytest.param((Address.city == "London",), [2, 0, 1], id="city, and not its longer namesake"),
        pytest.param((Address.city == "London", Address.district == "Westminster"), [0, 1], id="district"),
        pytest.param(
            (Address.city == "London", Address.district == "Westminster", Address.place.begins_with("Downing St:")),
            [1],
            id="street",
        ),
        pytest.param((Address.city.begins_with("London"),), [2, 0, 1, 3], id="beginning of a city's name"),
    ],
)
async def test_a_hierarchy_is_read_from_its_most_general_level(addresses, conditions, found):
    query = addresses.query(Address).where(Address.country == "UK", *conditions)
    assert [(each.city, each.district, each.place) for each in await query] == [ADDRESSES[at] for at in found]
    assert query.explain().filters == ()


class Limbed(Model, table="limbed"):
    zoo: PartitionKey[str]
    legs: Attr[int]
    whiskers: Attr[int]
    number: SortKey[str] = template("animal:legs:{legs:02d}:whiskers:{whiskers:02d}")


async def test_a_later_part_alone_is_a_filter_or_one_query_for_each_value_of_the_earlier_one(session):
    await session.tables.create(Limbed)
    await session.put_many(
        [Limbed(zoo="London", legs=legs, whiskers=whiskers) for legs in (2, 4) for whiskers in (0, 8)]
    )
    whiskers = session.query(Limbed).where(Limbed.zoo == "London", Limbed.whiskers == 8)
    assert [each.legs for each in await whiskers] == [2, 4]
    assert [str(each) for each in whiskers.explain().filters] == ["Limbed.whiskers == 8"]
    spread = whiskers.where(Limbed.legs.is_in(2, 4))
    assert [each.legs for each in await spread] == [2, 4]
    assert spread.explain().queries == 2
    assert spread.explain().filters == ()


class Visit(Model, table="visits"):
    zoo: PartitionKey[str]
    at: Attr[datetime]
    visit: SortKey[str] = template("visit:{at}")


async def test_times_in_utc_are_a_range_whatever_zone_they_are_given_in(session):
    await session.tables.create(Visit)
    hours = [datetime(2024, 6, 1, hour, tzinfo=UTC) for hour in (8, 12, 16)]
    await session.put_many([Visit(zoo="London", at=at) for at in hours])
    noon = datetime.fromisoformat("2024-06-01T14:00:00+02:00")
    assert [visit.at for visit in await session.query(Visit).where(Visit.zoo == "London", Visit.at >= noon)] == hours[
        1:
    ]


async def test_a_partition_key_is_equal_and_nothing_else(zoo):
    with pytest.raises(NoIndexError):
        await zoo.query(Parrot).where(Parrot.zoo > "A")
