"""Login sessions and their children, found by session, by customer and by child through an inverted index.

Nothing is stored that says what an item is but its keys, so those tell the models.
"""

from datetime import datetime

import pytest
from pydantic import NaiveDatetime

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Parts,
    SortKey,
    StoredForm,
    Table,
    attr,
    template,
)
from dynamap_async.errors import ItemNotFoundError

SCENARIO = "session-management"


# The source stores local times without a zone, in whole seconds.
LOCAL_SECONDS = StoredForm(
    name="local time in seconds",
    tag="S",
    encode=lambda moment: moment.isoformat(timespec="seconds"),
    decode=datetime.fromisoformat,
)


SESSIONS = Table(
    "session_store",
    partition_key="PK",
    sort_key="SK",
    indexes=(GlobalIndex("GSI1_inverse", partition_key="SK", sort_key="PK"),),
    discriminator=None,
)


class Login(Model, table=SESSIONS):
    session: Attr[str] = attr(stored=False)
    customer: Attr[str] = attr(stored=False)
    access_token: Attr[str]
    state: Attr[str] = attr(name="session_state")
    last_login: Attr[NaiveDatetime] = attr(name="last_login_time", stored_as=LOCAL_SECONDS)

    pk: PartitionKey[str] = template("suuid#{session}")
    sk: SortKey[str] = template("c#{customer}")


class Child(Model, table=SESSIONS):
    session: Attr[str] = attr(stored=False)
    child: Attr[str] = attr(stored=False)
    access_token: Attr[str]
    state: Attr[str] = attr(name="session_state")

    pk: PartitionKey[str] = template("suuid#{session}")
    sk: SortKey[str] = template("child#suuid#{child}")


MODELS = {"session_store": SESSIONS}

REQUESTS = {
    "children": lambda session: session.query(Child).where(Child.session == "c342etj3"),
    "session-by-child": lambda session: session.query(Child).where(Child.child == "ljy22tf0"),
    "sessions-by-customer": lambda session: session.query(Login).where(Login.customer == "ABC"),
    # Both keys are named, so the table would answer as well; the source asks the index.
    "one-session-of-customer": lambda session: (
        session.query(Login)
        .where(Login.customer == "ABC", Login.session == "d0004tj2")
        .index(SESSIONS.index("GSI1_inverse"))
    ),
    "last-login": lambda session: session.query(Login).where(Login.customer == "ABC").limit(1),
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
    query = filled.query(Login).where(Login.customer == "ABC")
    first = await query.page(size=1)
    assert [login.session for login in first.items] == ["c342etj3"]
    assert first.cursor is not None
    rest = await query.page(size=10, after=first.cursor)
    assert [login.session for login in rest.items] == ["d0004tj2"]
    assert rest.cursor is None


@pytest.mark.asyncio(loop_scope="module")
async def test_partition_gives_the_login_and_its_children_each_as_its_own_model(filled):
    found = await filled.query(Login, Child).where(Login.session == "c342etj3")
    assert [(type(each), each.session) for each in found] == [(Login, "c342etj3")] + [(Child, "c342etj3")] * 2


@pytest.mark.asyncio(loop_scope="function")
async def test_expired_session_is_gone_and_its_children_stay(session, items):
    await session.tables.create(SESSIONS)
    await session.put_many(items)
    key = Parts(session="c342etj3", customer="ABC")
    login = await session.get(Login, key)
    assert login.last_login == datetime(2023, 5, 12, 11, 30)  # noqa: DTZ001 - the source stores no zone

    await session.delete(login)

    with pytest.raises(ItemNotFoundError):
        await session.get(Login, key)
    left = await session.query(Login, Child).where(Child.session == "c342etj3")
    assert [child.child for child in left] == ["ert54fbgn", "kljhfytf23"]
    [other] = await session.query(Login).where(Login.customer == "ABC")
    assert other.session == "d0004tj2"
