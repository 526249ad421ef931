"""Fields that keep their first value: ``attr(frozen=True)``."""

import re
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from dynamap_async import Attr, Model, PartitionKey, Version, attr
from dynamap_async.errors import ExpressionError, ModelDefinitionError, OperationError

pytestmark = pytest.mark.asyncio

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Letter(Model, table="letters"):
    id: PartitionKey[str]
    author: Attr[str] = attr(frozen=True, default="unknown")
    sent: Attr[datetime] = attr(frozen=True, on_create=lambda: NOON, default=...)
    stamps: Attr[list[str]] = attr(frozen=True, default_factory=list)
    text: Attr[str] = ""


@pytest.fixture
def letter():
    return Letter(id="a", author="ann", stamps=["first"])


CHANGES = {
    "set": lambda update: update.set(Letter.author, "bob"),
    "to another field": lambda update: update.set(Letter.author, Letter.text),
    "a part": lambda update: update.set(Letter.stamps[0], "second"),
    "remove": lambda update: update.remove(Letter.author),
    "append": lambda update: update.set(Letter.stamps, Letter.stamps.append(["second"])),
    "PATCH": lambda update: update.set_fields({"text": "x", "author": "bob"}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_update_of_a_frozen_field_is_refused_with_the_remedy(session, change):
    with pytest.raises(ExpressionError, match=r"Letter\.\S+ is frozen: a stored item keeps it; set it with .*put\(\)"):
        change(session.update(Letter, "a"))


async def test_update_gives_a_frozen_field_to_an_item_without_it_only(session, letter):
    await session.tables.create(Letter)
    await session.put(letter)
    kept = await session.update(Letter, "a").set(Letter.author, Letter.author.if_not_exists("bob"))
    new = await session.update(Letter, "b").set(Letter.author, Letter.author.if_not_exists("bob")).upsert()
    assert (kept.author, new.author, new.sent) == ("ann", "bob", NOON)


async def test_assignment_is_refused_by_pydantic(letter):
    with pytest.raises(ValidationError, match="Field is frozen"):
        letter.author = "bob"


@pytest.mark.parametrize("changed", [{"author": "bob"}, {"stamps": []}, {"sent": datetime(2020, 1, 1, tzinfo=UTC)}])
async def test_save_of_a_changed_frozen_field_is_refused_before_anything_is_sent(session, letter, changed):
    await session.tables.create(Letter)
    read = (await session.put(letter)).model_copy(update=changed)
    before = session.statistics().requests
    [name] = changed
    with pytest.raises(OperationError, match=rf"Letter\.{name} is frozen, but was changed. .* put\(\) or replace\(\)"):
        await session.save(read)
    assert session.statistics().requests == before


async def test_save_refuses_a_frozen_list_that_was_changed_in_place(session, letter):
    await session.tables.create(Letter)
    read = await session.put(letter)
    read.stamps.append("second")
    with pytest.raises(OperationError, match=r"Letter\.stamps is frozen"):
        await session.save(read)


async def test_save_of_other_fields_and_of_a_new_item_is_not_refused(session, letter):
    await session.tables.create(Letter)
    await session.save(letter)
    assert letter.sent == NOON
    letter.text = "hello"
    await session.save(letter)
    assert await session.get(Letter, "a") == letter


async def test_create_put_and_replace_write_frozen_fields(session, letter):
    await session.tables.create(Letter)
    await session.create(letter)
    for verb, author in ((session.put, "bob"), (session.replace, "cid")):
        await verb(letter.model_copy(update={"author": author}))
        assert (await session.get(Letter, "a")).author == author


async def test_transaction_refuses_the_same(session, letter):
    with pytest.raises(ExpressionError, match=re.escape("Letter.author is frozen")):
        async with session.transaction() as transaction:
            transaction.update(Letter, "a").set(Letter.author, "bob")


async def test_field_that_every_write_changes_is_not_frozen():
    with pytest.raises(ModelDefinitionError, match=r"Wrong\.changed: has on_update and frozen=True"):

        class Wrong(Model, table="wrong"):
            id: PartitionKey[str]
            changed: Attr[datetime] = attr(frozen=True, on_update=lambda: NOON, default=...)

    with pytest.raises(
        ModelDefinitionError, match=r"Counted\.version: is frozen, but a Version changes with every write"
    ):

        class Counted(Model, table="counted"):
            id: PartitionKey[str]
            version: Version[int] = attr(frozen=True, default=0)
