"""Nested models that leave out members that are None, as other programs write them: ``absent_when_none=``."""

import pytest
import pytest_asyncio

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.errors import ConditionalCheckFailedError

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Address(Model, absent_when_none=True):
    city: Attr[str | None] = attr(default=None)
    street: Attr[str | None] = attr(default=None)


class Person(Model, table="persons"):
    id: PartitionKey[str]
    home: Attr[Address]
    others: Attr[list[Address]] = attr(default_factory=list)


class Place(Model):
    city: Attr[str | None] = attr(default=None)
    country: Attr[str | None] = attr(default="GB")


class Shop(Model, table="persons"):
    id: PartitionKey[str]
    place: Attr[Place]
    places: Attr[list[Place]] = attr(default_factory=list)


class Unfilled(Model, table="persons"):
    id: PartitionKey[str]
    place: Attr[dict[str, str]]
    places: Attr[list[dict[str, str]]]


class Stored(Model, table="persons"):
    id: PartitionKey[str]
    home: Attr[dict[str, str | None]]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def opened(engine):
    async with engine.session(table_prefix="absent-members-") as session:
        await session.tables.create(Person, timeout_seconds=30)
        yield session
        await session.tables.delete(Person)


async def test_a_put_of_what_was_read_leaves_the_item_as_another_program_wrote_it(opened) -> None:
    await opened.put(Stored(id="read", home={"city": "York"}))
    person = await opened.get(Person, "read")
    await opened.put(person)
    assert (await opened.get(Stored, "read")).home == {"city": "York"}


async def test_a_save_removes_a_member_that_has_become_none(opened) -> None:
    person = await opened.put(Person(id="saved", home=Address(city="York", street="x")))
    person.home.street = None
    await opened.save(person)
    assert (await opened.get(Stored, "saved")).home == {"city": "York"}


async def test_an_update_to_none_removes_the_member(opened) -> None:
    await opened.put(Person(id="updated", home=Address(city="York", street="x")))
    updated = await opened.update(Person, "updated").set(Person.home.street, None)
    assert updated.home == Address(city="York")
    assert (await opened.get(Stored, "updated")).home == {"city": "York"}


async def test_conditions_find_none_in_both_forms(opened) -> None:
    await opened.put(Person(id="absent", home=Address(city="Kent")))
    await opened.put(Stored(id="null", home={"city": "Kent", "street": None}))
    of_kent = opened.scan(Person).where(Person.home.city == "Kent")
    found = await of_kent.where(Person.home.street == None)  # noqa: E711 - a condition
    assert sorted(person.id for person in found) == ["absent", "null"]
    assert await of_kent.where(Person.home.street.missing()).count() == 1


async def test_none_of_a_member_with_another_default_is_found_where_it_is_stored_and_nowhere_else(opened) -> None:
    await opened.put(Unfilled(id="shop without", place={}, places=[{}]))
    await opened.put(Shop(id="shop of none", place=Place(country=None), places=[Place(country=None)]))
    assert (await opened.get(Shop, "shop without")).place == Place(country="GB")
    shops = opened.scan(Shop).where(Shop.id.begins_with("shop"))
    for country in (Shop.place.country, Shop.places[0].country):
        assert [each.id for each in await shops.where(country == None)] == ["shop of none"]  # noqa: E711 - a condition
        assert [each.id for each in await shops.where(country != None)] == ["shop without"]  # noqa: E711 - a condition
        assert [each.id for each in await shops.where(country.missing())] == ["shop without"]
    with pytest.raises(ConditionalCheckFailedError):
        await opened.update(Shop, "shop without").set(Shop.place.country, "FR").where(Shop.place.country.is_(None))
