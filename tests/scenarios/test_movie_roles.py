"""Roles of actors, found by actor and by genre and year; users who are created once."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import ConditionalCheckFailedError
from dynamap_async.testing.faults import Faults

SCENARIO = "movie-roles"


class Address(Model):
    street: Attr[str] = attr(name="Street", alias="Street")
    city: Attr[str] = attr(name="City", alias="City")
    state: Attr[str] = attr(name="State", alias="State")


class User(Model, table="Users"):
    username: PartitionKey[str] = attr(name="Username")
    name: Attr[str] = attr(name="Name")
    interests: Attr[list[str]] = attr(name="Interests")
    address: Attr[Address] = attr(name="Address")


class MovieRole(Model, table="MovieRoles"):
    actor: PartitionKey[str] = attr(name="Actor")
    movie: SortKey[str] = attr(name="Movie")
    role: Attr[str] = attr(name="Role")
    year: Attr[int] = attr(name="Year")
    genre: Attr[str] = attr(name="Genre")

    by_genre = GlobalIndex("GenreYearIndex", partition_key="genre", sort_key="year")


MODELS = {"Users": User, "MovieRoles": MovieRole}

REQUESTS = {
    "by-actor": lambda session: session.query(MovieRole).where(MovieRole.actor == "Tom Hanks"),
    "by-genre": lambda session: session.query(MovieRole).where(MovieRole.genre == "Drama"),
    "genre-after-2005": lambda session: session.query(MovieRole).where(
        MovieRole.genre == "Drama", MovieRole.year > 2005
    ),
    "children": lambda session: session.query(MovieRole).where(MovieRole.genre == "Children's"),
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
async def test_four_roles_are_read_by_their_keys_in_the_order_asked(filled, items):
    roles = [item for item in items if isinstance(item, MovieRole)]
    keys = [(role.actor, role.movie) for role in roles]
    before = filled.statistics().requests
    assert await filled.get_many(MovieRole, [*reversed(keys), ("Tom Hanks", "Big")]) == [*reversed(roles), None]
    assert filled.statistics().requests - before == 1


@pytest.mark.asyncio(loop_scope="function")
async def test_a_user_is_created_once(session, items):
    await session.tables.create(User)
    first = next(item for item in items if isinstance(item, User))
    await session.create(first)
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.create(first.model_copy(update={"name": "Somebody Else"}))
    assert caught.value.item == first
    assert await session.get(User, first.username) == first


@pytest.mark.asyncio(loop_scope="function")
async def test_roles_that_a_batch_leaves_unprocessed_are_written_all_the_same(engine, prefix, items):
    faults = Faults()
    faults.on("BatchWriteItem", times=1).leave_unprocessed(2)
    roles = [item for item in items if isinstance(item, MovieRole)]
    retry = RetryPolicy(base_delay_seconds=0.001)
    async with faults.session(engine, table_prefix=f"{prefix}batch-", retry=retry) as session:
        await session.tables.create(MovieRole)
        await session.put_many(roles)
        assert [(each.items, each.fault) for each in faults.log if each.operation == "BatchWriteItem"] == [
            (4, "leave_unprocessed"),
            (2, None),
        ]
        assert await session.scan(MovieRole).count() == len(roles)
        await session.tables.delete(MovieRole)
