"""Login sessions and their children, found by session, by customer and by child through an inverted index."""

from datetime import datetime

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, StoredForm, attr
from dynamap_async.errors import ItemNotFoundError

SCENARIO = "session-management"


# The source stores local times without a zone, in whole seconds.
LOCAL_SECONDS = StoredForm(
    name="local time in seconds",
    tag="S",
    encode=lambda moment: moment.isoformat(timespec="seconds"),
    decode=datetime.fromisoformat,
)


class SessionEntry(Model, table="session_store"):
    session: PartitionKey[str] = attr(name="PK")
    member: SortKey[str] = attr(name="SK")
    access_token: Attr[str]
    state: Attr[str] = attr(name="session_state")
    last_login: Attr[datetime | None] = attr(name="last_login_time", stored_as=LOCAL_SECONDS, default=None)

    by_member = GlobalIndex("GSI1_inverse", partition_key="member", sort_key="session")


MODELS = {"session_store": SessionEntry}

REQUESTS = {
    "children": lambda session: session.query(SessionEntry).where(
        SessionEntry.session == "suuid#c342etj3", SessionEntry.member.begins_with("child#")
    ),
    "session-by-child": lambda session: session.query(SessionEntry).where(
        SessionEntry.member == "child#suuid#ljy22tf0"
    ),
    "sessions-by-customer": lambda session: session.query(SessionEntry).where(SessionEntry.member == "c#ABC"),
    # Both keys are named, so the table would answer as well; the source asks the index.
    "one-session-of-customer": lambda session: (
        session.query(SessionEntry)
        .where(SessionEntry.member == "c#ABC", SessionEntry.session == "suuid#d0004tj2")
        .index(SessionEntry.by_member)
    ),
    "last-login": lambda session: session.query(SessionEntry).where(SessionEntry.member == "c#ABC").limit(1),
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
async def test_limited_page_gives_a_cursor_that_leads_to_the_rest(filled):
    query = filled.query(SessionEntry).where(SessionEntry.member == "c#ABC")
    first = await query.page(size=1)
    assert [entry.session for entry in first.items] == ["suuid#c342etj3"]
    assert first.cursor is not None
    rest = await query.page(size=10, after=first.cursor)
    assert [entry.session for entry in rest.items] == ["suuid#d0004tj2"]
    assert rest.cursor is None


@pytest.mark.asyncio(loop_scope="function")
async def test_expired_session_is_gone_and_its_children_stay(session, items):
    await session.tables.create(SessionEntry)
    for entry in items:
        await session.put(entry)
    login = await session.get(SessionEntry, "suuid#c342etj3", "c#ABC")
    assert login.last_login == datetime(2023, 5, 12, 11, 30)  # noqa: DTZ001 - the source stores no zone

    await session.delete(login)

    with pytest.raises(ItemNotFoundError):
        await session.get(SessionEntry, "suuid#c342etj3", "c#ABC")
    left = await session.query(SessionEntry).where(SessionEntry.session == "suuid#c342etj3")
    assert [entry.member for entry in left] == ["child#suuid#ert54fbgn", "child#suuid#kljhfytf23"]
    [other] = await session.query(SessionEntry).where(SessionEntry.member == "c#ABC")
    assert other.session == "suuid#d0004tj2"
