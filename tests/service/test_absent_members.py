"""Nested models that leave out members that are None, as other programs write them: ``absent_when_none=``."""

from typing import Any

import pytest
import pytest_asyncio
from pydantic import ConfigDict

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


class Kept(Model):
    place: Attr[Place] = attr(default=Place(country="FR", city="Lyon"))


class Held(Model, table="persons"):
    """Holders with defaults, in which members are None or not, and whose own defaults are None or not."""

    id: PartitionKey[str]
    french: Attr[Place] = attr(default=Place(country="FR", city="Lyon"))
    nowhere: Attr[Place] = attr(default_factory=lambda: Place(country=None))
    usual: Attr[Place] = attr(default=Place())
    kept: Attr[Kept] = attr(default=Kept())
    empty: Attr[Kept] = attr(default_factory=lambda: Kept(place=Place(country=None)))
    listed: Attr[list[Place]] = attr(default=[Place(country="FR", city="Lyon"), Place(country=None)])


class Unfilled(Model, table="persons"):
    id: PartitionKey[str]
    place: Attr[dict[str, str]]
    places: Attr[list[dict[str, str]]]


class Stored(Model, table="persons"):
    id: PartitionKey[str]
    home: Attr[dict[str, str | None]]


class Free(Model, table="persons"):
    model_config = ConfigDict(extra="allow")
    id: PartitionKey[str]


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


MEMBERS = [{}, {"city": None}, {"country": None}, {"city": "York", "country": "GB"}]
HOLDERS = {
    "french": MEMBERS,
    "nowhere": MEMBERS,
    "usual": MEMBERS,
    "kept": [{}, *({"place": each} for each in MEMBERS)],
    "empty": [{}, *({"place": each} for each in MEMBERS)],
    "listed": [[each, each] for each in MEMBERS],
}
"""Name of a holder -> what it holds in some stored items, besides the one without it."""


def read_of(item: Held, name: str) -> list[Place]:
    held = getattr(item, name)
    return held if isinstance(held, list) else [held if isinstance(held, Place) else held.place]


@pytest.mark.parametrize("name", HOLDERS)
async def test_none_of_a_member_is_found_exactly_where_it_reads_so_whatever_its_holder_defaults_to(
    opened, name
) -> None:
    await opened.put_many(
        [Free(id=f"{name} {at}", **held) for at, held in enumerate([{}, *({name: each} for each in HOLDERS[name])])]
    )
    items = [each async for each in opened.scan(Held).where(Held.id.begins_with(f"{name} "))]
    assert len(items) == len(HOLDERS[name]) + 1
    holder: Any = getattr(Held, name)
    inside = {"kept": lambda: [holder.place], "empty": lambda: [holder.place], "listed": lambda: [holder[0], holder[1]]}
    held = inside.get(name, lambda: [holder])()
    for place, path in enumerate(held):
        for member in ("city", "country"):
            asked = opened.scan(Held).where(Held.id.begins_with(f"{name} "))
            found = {each.id async for each in asked.where(getattr(path, member) == None)}  # noqa: E711 - a condition
            others = {each.id async for each in asked.where(getattr(path, member) != None)}  # noqa: E711 - a condition
            expected = {each.id for each in items if getattr(read_of(each, name)[place], member) is None}
            assert (found, others) == (expected, {each.id for each in items} - expected), (name, member)
