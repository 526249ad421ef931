"""Attributes that no model declares: asked for, changed and selected beside those that one does."""

import pytest
import pytest_asyncio
from pydantic import ConfigDict

from dynamap_async import Attr, Model, PartitionKey, SortKey, attr, path

pytestmark = pytest.mark.asyncio


class Note(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str] = attr(default="")


class Open(Model, table="notes"):
    model_config = ConfigDict(extra="allow")

    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str] = attr(default="")


@pytest_asyncio.fixture
async def notes(session):
    """Return a session with three notes, two of which an older program gave a name."""
    await session.tables.create(Note)
    await session.put(Open(author="ada", number=0, name="zero", tags={"a", "b"}))
    await session.put(Open(author="ada", number=1, name="one"))
    await session.put(Note(author="ada", number=2))
    return session


OF_ADA = Note.author == "ada"


async def test_a_query_finds_by_it(notes):
    assert [n.number for n in await notes.query(Note).where(OF_ADA, path("name") == "one")] == [1]
    assert [n.number for n in await notes.query(Note).where(OF_ADA, path("name").missing())] == [2]
    assert [n.number for n in await notes.query(Note).where(OF_ADA, path("tags").contains("b"))] == [0]


async def test_it_is_selected_beside_fields(notes):
    found = await notes.query(Note).where(OF_ADA).select(Note.number, path("name"), path("tags"))
    assert found == [(0, "zero", {"a", "b"}), (1, "one", None), (2, None, None)]


async def test_a_migration_moves_it_into_a_field(notes):
    old = path("name")
    for number in (0, 1):
        note = await notes.update(Note, "ada", number).set(Note.title, old).remove(old).where(old.exists())
        assert note.title == ("zero", "one")[number]
    assert await notes.query(Note).where(OF_ADA, old.exists()).count() == 0


async def test_an_instance_stays_as_it_is_after_an_update_of_it(notes):
    note = await notes.get(Note, "ada", 0)
    await notes.update(note).set(path("name"), "new").set(Note.title, "t").returning("nothing")
    assert note.title == "t"
    note.title = "u"
    await notes.save(note)
    assert (await notes.get(Open, "ada", 0)).model_extra == {"name": "new", "tags": {"a", "b"}}


async def test_an_instance_that_keeps_extra_attributes_moves_on(notes):
    note = await notes.get(Open, "ada", 0)
    await notes.update(note).set(path("name"), "new").remove(path("tags")).returning("nothing")
    assert note.model_extra == {"name": "new"}
    note.title = "u"
    await notes.save(note)
    assert (await notes.get(Open, "ada", 0)).model_extra == {"name": "new"}


async def test_what_was_changed_of_it_is_given_back(notes):
    changed = await notes.update(Note, "ada", 2).set(path("name"), "two").set(Note.title, "t").returning("changed")
    assert changed == {"name": "two", "title": "t"}


async def test_a_put_guards_by_it(notes):
    await notes.put(Note(author="ada", number=1), where=path("name") == "one")
    assert (await notes.get(Open, "ada", 1)).model_extra == {}
