"""Stored computed fields on engines: every write stores them, queries find by them, and differences are told."""

from typing import Any

import pytest
import pytest_asyncio

from dynamap_async import Attr, ComputedAttributeDiffers, GlobalIndex, Model, PartitionKey, Version, attr, computed_attr
from dynamap_async.errors import ConditionalCheckFailedError, OperationError

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Person(Model, table="computed-persons"):
    id: PartitionKey[str]
    first: Attr[str]
    last: Attr[str] = attr(default="")
    visits: Attr[int] = attr(default=0)

    @computed_attr(depends=("first", "last"))
    def full_name(self) -> str:
        return f"{self.first} {self.last}"

    @computed_attr(depends=("visits",))
    def regular(self) -> str | None:
        return "regular" if self.visits > 9 else None

    by_name = GlobalIndex("by-name", partition_key="full_name")
    regulars = GlobalIndex("regulars", partition_key="regular", sort_key="full_name")


class Stored(Model, table="computed-persons"):
    id: PartitionKey[str]
    last: Attr[str] = attr(default="")
    full_name: Attr[str | None] = attr(default=None)


class Card(Model):
    id: str
    full_name: str


class Counted(Model, table="computed-persons"):
    id: PartitionKey[str]
    name: Attr[str]
    version: Version[int] = attr(default=0)

    @computed_attr(depends=("name",))
    def loud(self) -> str:
        return self.name.upper()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def opened(engine):
    events: list[Any] = []
    async with engine.session(table_prefix="computed-attr-", observer=events.append) as session:
        await session.tables.create(Person, timeout_seconds=30)
        yield session, events
        await session.tables.delete(Person)


@pytest_asyncio.fixture(loop_scope="module")
async def session(opened):
    session, events = opened
    events.clear()
    yield session
    await session.delete_many([each async for each in session.scan(Stored).consistent()])


def told(opened: Any) -> list[tuple[Any, ...]]:
    found = [each for each in opened[1] if isinstance(each, ComputedAttributeDiffers)]
    opened[1].clear()
    return [(each.model, each.table, each.fields, each.key) for each in found]


async def test_each_write_stores_it(session, opened) -> None:
    await session.put(Person(id="a", first="A"))
    await session.create(Person(id="b", first="A"))
    await session.put_many([Person(id="c", first="A"), Person(id="d", first="A")])
    async with session.transaction() as transaction:
        transaction.put(Person(id="e", first="A"))
    await session.replace(Person(id="f", first="A"))
    await session.save(Person(id="g", first="A"))
    found = await session.query(Person).where(Person.full_name == "A ")
    assert {each.id for each in found} == set("abcdefg")
    assert told(opened) == []


async def test_a_save_stores_what_follows_from_what_changed(session) -> None:
    await session.put(Person(id="a", first="A", visits=9))
    person = await session.get(Person, "a")
    person.last, person.visits = "B", 10
    await session.save(person)
    assert [each.id for each in await session.query(Person).where(Person.regular == "regular")] == ["a"]
    assert (await session.get(Stored, "a", consistent_read=True)).full_name == "A B"
    person.visits = 0
    await session.save(person)
    assert await session.query(Person).where(Person.regular == "regular") == []


async def test_a_save_is_refused_where_another_writer_changed_what_it_computed_from(session) -> None:
    await session.put(Person(id="a", first="A", last="B"))
    person = await session.get(Person, "a")
    await session.update(Stored, "a").set(Stored.last, "C")
    person.first = "D"
    with pytest.raises(ConditionalCheckFailedError):
        await session.save(person)


async def test_an_update_of_an_instance_computes_it_anew(session) -> None:
    await session.put(person := Person(id="a", first="A", last="B"))
    assert await session.update(person).set(Person.first, "D") is person
    assert person.full_name == "D B"
    async with session.transaction() as transaction:
        transaction.update(person).set(Person.visits, 10)
    await session.update(person).set(Person.last, "E").returning("nothing")
    assert person.full_name == "D E"
    assert await session.query(Person).where(Person.regular == "regular", Person.full_name == "D E").count() == 1
    await session.save(person)


async def test_an_update_of_an_instance_is_refused_where_another_writer_changed_what_it_computes_from(session) -> None:
    await session.put(person := Person(id="a", first="A", last="B"))
    await session.update(Stored, "a").set(Stored.last, "C")
    with pytest.raises(ConditionalCheckFailedError):
        await session.update(person).set(Person.first, "D")


async def test_updates_by_key_are_refused_in_transactions_too(session) -> None:
    await session.put(Person(id="a", first="A"))
    with pytest.raises(OperationError, match="computed from first, last"):
        await session.update(Person, "a").set(Person.first, "B")
    with pytest.raises(OperationError, match="computed from first, last"):
        async with session.transaction() as transaction:
            transaction.update(Person, "a").set(Person.first, "B")


async def test_a_versioned_item_is_updated_with_it(session) -> None:
    await session.put(counted := Counted(id="a", name="a"))
    await session.update(counted).set(Counted.name, "b")
    assert [each.version async for each in session.scan(Counted).where(Counted.loud == "B").consistent()] == [2]


async def test_filters_selections_and_other_models_use_it(session) -> None:
    await session.put_many([Person(id="a", first="A"), Person(id="b", first="B", visits=10)])
    assert [each.id async for each in session.scan(Person).where(Person.full_name.begins_with("B"))] == ["b"]
    asked = session.query(Person).where(Person.id == "b")
    assert await asked.select(Person.full_name, Person.regular) == [("B ", "regular")]
    assert await asked.into(Card) == [Card(id="b", full_name="B ")]
    await session.put(Person(id="a", first="C"), where=Person.full_name == "A ")


@pytest.mark.parametrize("stored", ["old", None])
async def test_observers_are_told_of_another_stored_value_and_a_save_mends_it(session, opened, stored) -> None:
    await session.put(Person(id="a", first="A", last="B"))
    await session.update(Stored, "a").set(Stored.full_name, stored)
    difference = ("Person", "computed-attr-computed-persons", ("full_name",), {"id": "a"})
    person = await session.get(Person, "a", consistent_read=True)
    assert person.full_name == "A B"
    assert told(opened) == [difference]
    assert [each.id async for each in session.scan(Person).consistent()] == ["a"]
    assert told(opened) == [difference]
    await session.get_many(Person, ["a"])
    assert told(opened) == [difference]
    await session.save(person)
    await session.get(Person, "a", consistent_read=True)
    assert told(opened) == []
    assert (await session.get(Stored, "a", consistent_read=True)).full_name == "A B"


async def test_a_key_of_an_index_that_is_read_by_its_keys_alone_is_no_difference(session, opened) -> None:
    await session.put(Person(id="a", first="A"))
    assert await session.query(Person).where(Person.full_name == "A ").select(Person.id) == [("a",)]
    assert told(opened) == []
