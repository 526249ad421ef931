"""Times that other programs stored without a zone: each write of what was read leaves them as they are stored."""

from datetime import datetime

import pytest
import pytest_asyncio
from pydantic import NaiveDatetime

from dynamap_async import Attr, Model, PartitionKey, SortKey, Version, attr

pytestmark = pytest.mark.asyncio(loop_scope="module")

STORED = {
    "at": "2026-01-02T03:04:05",
    "local": "2026-01-02 03:04",
    "several": ["2026-01-02T03:04:05", "2026-01-03T00:00"],
}


class Raw(Model, table="zoneless"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    at: Attr[str]
    local: Attr[str]
    several: Attr[list[str]]
    version: Attr[int] = attr(default=1)


class Note(Model, table="zoneless"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    at: Attr[datetime]
    local: Attr[NaiveDatetime]
    several: Attr[list[datetime]]
    text: Attr[str] = attr(default="")


class Versioned(Model, table="zoneless"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    at: Attr[datetime]
    local: Attr[NaiveDatetime]
    several: Attr[list[datetime]]
    text: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


async def put(session, notes):
    for note in notes:
        await session.put(note)


async def put_read_first(session, notes):
    for note in notes:
        await session.put(note, returning="old")


async def side_by_side(session, notes):
    await session.gather(*(session.put(note) for note in notes))


async def put_many(session, notes):
    await session.put_many(notes)


async def batch(session, notes):
    async with session.batch() as batch:
        for note in notes:
            await batch.put(note)


async def transaction(session, notes):
    async with session.transaction() as tx:
        for note in notes:
            tx.put(note)


async def replace(session, notes):
    for note in notes:
        await session.replace(note)


async def save(session, notes):
    for note in notes:
        await session.save(note)


async def create_again(session, notes):
    for note in notes:
        await session.delete(note)
        await session.create(note)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def session(engine):
    async with engine.session() as session:
        await session.tables.create(Note)
        yield session


@pytest.mark.parametrize("model", [Note, Versioned])
@pytest.mark.parametrize(
    "write", [put, put_read_first, side_by_side, put_many, batch, transaction, replace, save, create_again]
)
async def test_a_write_of_what_was_read_leaves_its_times_as_they_are_stored(session, model, write):
    await session.delete_many(session.query(Raw).where(Raw.pk == "a"))
    await session.put_many(Raw(pk="a", sk=f"{number}", **STORED) for number in range(3))
    notes = await session.query(model).where(model.pk == "a")
    for text in ("first", "second"):
        for note in notes:
            note.text = text
        await write(session, notes)
    assert [note.text for note in await session.query(model).where(model.pk == "a")] == ["second"] * 3
    found = await session.query(Raw).where(Raw.pk == "a")
    assert [{name: getattr(each, name) for name in STORED} for each in found] == [STORED] * 3
