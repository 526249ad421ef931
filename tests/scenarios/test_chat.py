"""Chat rooms and comments in one table; an index lists the comments of a room by time.

Nothing is stored that says what an item is but its keys, so those tell the models. The sort key of a comment is no
template of its time of creation: the source's fourth item has another.
"""

from datetime import UTC, datetime

import pytest

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Parts,
    SortKey,
    Table,
    attr,
    template,
    time_text,
)
from dynamap_async.errors import ConditionalCheckFailedError

SCENARIO = "chat"

# The tables exist already, with times in milliseconds: our own form has microseconds.
ISO_MILLISECONDS = time_text("%Y-%m-%dT%H:%M:%S.%3fZ")

CHAT = Table(
    "Chat",
    partition_key="PK",
    sort_key="SK",
    indexes=(GlobalIndex("RoomID_Comment_IDX", partition_key="RoomID", sort_key="CreatedAt"),),
    discriminator=None,
)


class Comment(Model, table=CHAT):
    author: Attr[str] = attr(stored=False)
    sent_at: SortKey[datetime] = attr(stored_as=ISO_MILLISECONDS)
    room: Attr[str] = attr(name="RoomID")
    text: Attr[str] = attr(name="Comment")
    created_at: Attr[datetime] = attr(name="CreatedAt", stored_as=ISO_MILLISECONDS)

    pk: PartitionKey[str] = template("User:{author}")


class Room(Model, table=CHAT):
    name: Attr[str] = attr(stored=False)
    created_by: Attr[str] = attr(name="CreatedBy")

    pk: PartitionKey[str] = template("Room:{name}")
    sk: SortKey[str] = template("meta")


MODELS = {"Chat": CHAT}
NOON = datetime(2023, 4, 1, 12, tzinfo=UTC)

REQUESTS = {
    "all-in-room": lambda session: session.query(Comment).where(Comment.room == "Music"),
    "latest-10": lambda session: session.query(Comment).where(Comment.room == "Art").descending().limit(10),
    "from-position": lambda session: session.query(Comment).where(
        Comment.room == "Art", Comment.created_at > NOON.replace(second=5, microsecond=1000)
    ),
    "between": lambda session: session.query(Comment).where(
        Comment.room == "Music", Comment.created_at.between(NOON.replace(microsecond=1000), NOON.replace(second=30))
    ),
    "user-items": lambda session: session.query(Comment).where(Comment.author == "UserA"),
    "room-meta": lambda session: session.query(Room).where(Room.name == "Art"),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


@pytest.mark.parametrize("table", MODELS)
def test_created_table_has_the_published_keys_and_indexes(table, published, described):
    assert described(table) == published.tables[table]


@pytest.mark.parametrize("table", MODELS)
def test_stored_items_are_the_published_ones_to_the_letter(table, wire_items, stored, by_key):
    assert by_key(table, stored(table)) == by_key(table, wire_items[table])


@pytest.mark.asyncio(loop_scope="module")
async def test_index_order_follows_the_time_of_creation_not_the_sort_key_of_the_table(ask):
    first, second = await ask("all-in-room")
    assert (first.created_at, second.created_at) == (
        NOON.replace(microsecond=1000),
        NOON.replace(second=50, microsecond=1000),
    )
    assert second.sent_at == NOON.replace(hour=13, microsecond=1000)


@pytest.mark.asyncio(loop_scope="function")
async def test_room_is_created_once(session):
    await session.tables.create(CHAT)
    await session.create(Room(name="Books", created_by="UserA"))
    with pytest.raises(ConditionalCheckFailedError):
        await session.create(Room(name="Books", created_by="UserB"))
    assert await session.get(Room, Parts(name="Books")) == Room(name="Books", created_by="UserA")


@pytest.mark.asyncio(loop_scope="function")
async def test_room_is_deleted_by_its_creator_only(session):
    await session.tables.create(CHAT)
    await session.put(Room(name="Art", created_by="UserF"))
    key = Parts(name="Art")
    with pytest.raises(ConditionalCheckFailedError):
        await session.delete(Room, key, where=Room.created_by == "UserA")
    assert await session.find(Room, key) is not None
    await session.delete(Room, key, where=Room.created_by == "UserF")
    assert await session.find(Room, key) is None


@pytest.mark.asyncio(loop_scope="function")
async def test_room_never_appears_among_comments(session):
    await session.tables.create(CHAT)
    await session.put(Room(name="Art", created_by="UserF"))
    assert await session.query(Comment).where(Comment.room == "Art") == []
    assert await session.query(Comment).where(Comment.author == "Art") == []
    assert await session.scan(Comment) == []
