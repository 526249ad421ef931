"""Items of the first version, which programs that know no version store without one."""

import pytest
import pytest_asyncio

from dynamap_async import Attr, Model, PartitionKey, StoredItem, attr, downgrade, upgrade
from dynamap_async.errors import ConditionalCheckFailedError

pytestmark = pytest.mark.asyncio


class Before(Model, table="people"):
    """The release that knows no version."""

    number: PartitionKey[int]
    name: Attr[str]
    visits: Attr[int] = attr(default=0)


class Person(Model, abstract=True, schema_version=2):
    number: PartitionKey[int]
    given: Attr[str]
    family: Attr[str]
    visits: Attr[int] = attr(default=0)

    @upgrade(to=2, changes=("name", "given", "family"))
    @staticmethod
    def two_names(item: StoredItem) -> None:
        item["given"], item["family"] = item.pop("name").split(" ")

    @downgrade(to=1)
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('given')} {item.pop('family')}"


class During(Person, table="people", writes=1):
    """The release that can do both, and writes what the one before it reads."""


class After(Person, table="people"):
    """The release that writes the new form."""


@pytest_asyncio.fixture(loop_scope="function")
async def ada(session):
    await session.tables.create(Before)
    await session.put(Before(number=1, name="Ada King"))


async def stored(session):
    """Return the item in wire form."""
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.delete(Before, 1, where=Before.number == 0)
    return caught.value.wire_item


async def twice(session, model):
    """Return two instances of the item, as two processes read it."""
    return [await session.get(model, 1, coalesce=False) for _ in range(2)]


async def test_save_in_the_first_version_stores_no_version_where_there_is_none(session, ada):
    [one, _] = await twice(session, During)
    one.visits = 1
    await session.save(one)
    item = await stored(session)
    assert item == {"number": {"N": "1"}, "name": {"S": "Ada King"}, "visits": {"N": "1"}}


async def test_save_of_what_did_not_change_sends_nothing(session, ada):
    [one, _] = await twice(session, During)
    before = session.statistics().of("UpdateItem", "people").requests
    await session.save(one)
    assert session.statistics().of("UpdateItem", "people").requests == before


async def test_two_processes_save_parts_of_an_item_without_a_version(session, ada):
    one, other = await twice(session, During)
    one.visits = 1
    await session.save(one)
    other.family = "Byron"
    await session.save(other)
    item = await stored(session)
    assert item == {"number": {"N": "1"}, "name": {"S": "Ada Byron"}, "visits": {"N": "1"}}


async def test_version_that_is_stored_meanwhile_is_no_conflict_where_it_is_the_first(session, ada):
    [other, _] = await twice(session, During)
    await session.put(During(number=1, given="Ada", family="King"))
    item = await stored(session)
    assert item["schema_version"] == {"N": "1"}
    other.visits = 5
    await session.save(other)
    item = await stored(session)
    assert (item["visits"], item["schema_version"]) == ({"N": "5"}, {"N": "1"})


async def test_version_that_is_taken_meanwhile_is_no_conflict_where_it_is_the_first(session, ada):
    await session.put(During(number=1, given="Ada", family="King"))
    [one, _] = await twice(session, During)
    await session.put(Before(number=1, name="Ada King"))
    one.visits = 5
    await session.save(one)
    item = await stored(session)
    assert item["visits"] == {"N": "5"}


async def test_upgrade_meanwhile_is_a_conflict(session, ada):
    [other, _] = await twice(session, During)
    upgraded = await session.get(After, 1)
    upgraded.visits = 1
    await session.save(upgraded)
    other.visits = 5
    with pytest.raises(ConditionalCheckFailedError):
        await session.save(other)
