"""Fields that may be ``MISSING``, on engines: written by everything that writes, asked, and read back."""

from typing import Any

import pydantic_core
import pytest
import pytest_asyncio
from pydantic import BaseModel

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, attr, computed_attr
from dynamap_async.errors import ConditionalCheckFailedError

if not hasattr(pydantic_core, "MISSING"):
    pytest.skip("this Pydantic has no MISSING", allow_module_level=True)
MISSING: Any = pydantic_core.MISSING
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Home(Model):
    city: Attr[str]
    zip: Attr[str | MISSING] = attr(default=MISSING)


class User(Model, table="missing-users"):
    id: PartitionKey[str]
    nick: Attr[str | MISSING] = attr(default=MISSING)
    age: Attr[int | MISSING | None] = attr(default=MISSING)
    home: Attr[Home | MISSING] = attr(default=MISSING)

    by_nick = GlobalIndex("by-nick", partition_key="nick")


class Described(Model, table="missing-users"):
    id: PartitionKey[str]
    nick: Attr[str]
    age: Attr[int | MISSING | None] = attr(default=MISSING)

    @computed_attr(depends=("nick", "age"))
    def description(self) -> str:
        return f"{self.nick} {self.age}"


class Stored(Model, table="missing-users"):
    id: PartitionKey[str]
    nick: Attr[Any] = attr(default="absent")
    age: Attr[Any] = attr(default="absent")
    home: Attr[Any] = attr(default="absent")


class Card(Model):
    id: str
    nick: str | MISSING = MISSING
    age: int | MISSING | None = MISSING


class Change(BaseModel):
    nick: str | MISSING = MISSING
    age: int | MISSING | None = MISSING


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def opened(engine):
    async with engine.session(table_prefix="missing-") as session:
        await session.tables.create(User, timeout_seconds=30)
        yield session
        await session.tables.delete(User)


@pytest_asyncio.fixture(loop_scope="module")
async def session(opened):
    yield opened
    await opened.delete_many([user async for user in opened.scan(User).consistent()])


def full(name: str = "a") -> User:
    return User(id=name, nick="ada", age=None, home=Home(city="York", zip="Y1"))


async def absent(session: Any, name: str = "a") -> tuple[Any, ...]:
    found = await session.get(Stored, name, consistent_read=True)
    return found.nick, found.age, found.home


NOTHING = ("absent", "absent", "absent")


async def test_put_create_bulk_and_transactions_store_no_attribute(session) -> None:
    await session.put(User(id="a"))
    await session.create(User(id="b"))
    await session.put_many([User(id="c"), User(id="d")])
    async with session.transaction() as transaction:
        transaction.put(User(id="e"))
    async with session.batch() as batch:
        await batch.put(User(id="f"))
    for name in "abcdef":
        assert await absent(session, name) == NOTHING
        assert await session.get(User, name) == User(id=name)


async def test_a_save_removes_what_has_become_missing_and_keeps_none(session) -> None:
    await session.put(full())
    user = await session.get(User, "a")
    user.nick, user.home.zip = MISSING, MISSING
    await session.save(user)
    assert await absent(session) == ("absent", None, {"city": "York"})
    user.age = user.home = MISSING
    await session.save(user)
    assert await absent(session) == NOTHING


async def test_updates_remove_what_is_set_to_missing(session) -> None:
    await session.put(full())
    user = await session.update(User, "a").set(User.nick, MISSING).set(User.home["zip"], MISSING)
    assert user == User(id="a", age=None, home=Home(city="York"))
    async with session.transaction() as transaction:
        transaction.update(User, "a").set(User.age, MISSING)
    assert await session.update(User, "a").set_fields({"home": MISSING}) == User(id="a")
    assert await absent(session) == NOTHING


async def test_an_update_of_an_instance_moves_it_on(session) -> None:
    await session.put(user := full())
    await session.update(user).set(User.nick, MISSING).returning("nothing")
    assert user.nick is MISSING
    await session.save(user)
    assert await absent(session) == ("absent", None, {"city": "York", "zip": "Y1"})


async def test_an_upsert_makes_an_item_without_it(session) -> None:
    assert await session.update(User, "a").set(User.age, 3).upsert() == User(id="a", age=3)
    assert await absent(session) == ("absent", 3, "absent")


async def test_a_patch_sets_what_was_sent(session) -> None:
    await session.put(full())
    change = Change.model_validate_json('{"age": 7}')
    assert (await session.update(User, "a").set_fields(change.model_dump())).nick == "ada"
    change = Change.model_validate_json('{"age": null, "nick": "b"}')
    user = await session.update(User, "a").set_fields(change.model_dump())
    assert (user.nick, user.age) == ("b", None)


async def test_conditions_tell_missing_from_none(session) -> None:
    await session.put_many([full("a"), User(id="b"), User(id="c", age=3)])

    async def ids(condition: Any) -> set[str]:
        return {user.id async for user in session.scan(User).where(condition).consistent()}

    assert await ids(User.age == MISSING) == {"b"}
    assert await ids(User.age != MISSING) == {"a", "c"}
    assert await ids(User.age == None) == {"a"}  # noqa: E711
    assert await ids(User.age.is_in(3, MISSING)) == {"b", "c"}
    assert await ids(User.home["zip"] == MISSING) == {"b", "c"}
    await session.put(User(id="b", nick="x"), where=User.nick == MISSING)


@pytest.mark.parametrize(("read", "then"), [(MISSING, None), (None, MISSING)])
async def test_what_is_computed_is_not_stored_where_another_writer_changed_it(session, read, then) -> None:
    await session.put(Described(id="a", nick="ada", age=read))
    user, same = await session.get(Described, "a"), await session.get(Described, "a")
    await session.update(User, "a").set(User.age, then)
    user.nick = "bob"
    with pytest.raises(ConditionalCheckFailedError):
        await session.save(user)
    with pytest.raises(ConditionalCheckFailedError):
        await session.update(same).set(Described.nick, "bob")


async def test_the_index_has_those_items_only_that_have_its_key(session) -> None:
    await session.put_many([full("a"), User(id="b")])
    assert [user.id for user in await session.query(User).where(User.nick == "ada")] == ["a"]
    assert [user.id async for user in session.scan(User).index(User.by_nick)] == ["a"]


async def test_selected_fields_and_other_models_have_it_too(session) -> None:
    await session.put(User(id="a"))
    asked = session.query(User).where(User.id == "a")
    assert await asked.select(User.nick, User.age) == [(MISSING, MISSING)]
    assert await asked.into(Card) == [Card(id="a")]
