"""ULIDs as keys, as parts of keys and as attributes, on engines: every call takes them as it takes UUIDs."""

from typing import Any

import httpx
import pydantic_extra_types.ulid
import pytest
import pytest_asyncio
import ulid
from fastapi import FastAPI

from dynamap_async import Attr, GlobalIndex, LocalIndex, Model, PartitionKey, SortKey, Unique, attr, template
from dynamap_async.errors import ItemNotFoundError, UniqueViolationError
from dynamap_async.integrations.fastapi import OpenSession, add_error_handlers, current_session

pytestmark = pytest.mark.asyncio

# In the order of their times, and of one time in the order of their random part.
IDS = [
    ulid.ULID.from_str(text)
    for text in (
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "01BX5ZZKBKACTAV9WEVGEMMVRY",
        "01BX5ZZKBKACTAV9WEVGEMMVRZ",
        "01M8H8GZWVNA9EP8R7H7XR4KZQ",
        "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
    )
]


class Event(Model, table="events"):
    owner: PartitionKey[ulid.ULID]
    at: SortKey[ulid.ULID]
    about: Attr[ulid.ULID | None] = attr(default=None)
    seen: Attr[set[ulid.ULID]] = attr(default_factory=set)
    times: Attr[dict[ulid.ULID, int]] = attr(default_factory=dict)

    by_about = GlobalIndex("by-about", partition_key="about", sort_key="at")
    own_by_about = LocalIndex("own-by-about", sort_key="about")


class Line(Model, table="lines"):
    shop: Attr[str]
    order: Attr[pydantic_extra_types.ulid.ULID] = attr(stored=False)
    text: Attr[str] = ""
    pk: PartitionKey[str] = template("SHOP#{shop}")
    sk: SortKey[str] = template("ORDER#{order}#LINE")


class Holder(Model, table="holders"):
    id: PartitionKey[ulid.ULID]
    token: Attr[ulid.ULID]

    by_token = Unique("token")


@pytest_asyncio.fixture
async def events(session) -> list[Any]:
    await session.tables.create(Event)
    made = [Event(owner=IDS[0], at=each, about=IDS[at % 2]) for at, each in enumerate(IDS)]
    await session.put_many(made)
    return made


async def test_items_are_read_by_ulids_alone_and_together(session, events):
    assert await session.get(Event, IDS[0], IDS[3]) == events[3]
    keys = [(IDS[0], each) for each in (*reversed(IDS), IDS[1])]
    assert await session.get_many(Event, keys) == [*reversed(events), events[1]]
    with pytest.raises(ItemNotFoundError, match=f"{IDS[4]}"):
        await session.get(Event, IDS[4], IDS[4])


async def test_a_query_is_in_the_order_of_the_ulids(session, events):
    found = [each.at async for each in session.query(Event).where(Event.owner == IDS[0])]
    assert found == sorted(IDS) == IDS
    assert not session.query(Event).where(Event.owner == IDS[0]).explain().hazards


async def test_ranges_of_ulids_are_in_the_key(session, events):
    query = session.query(Event).where(Event.owner == IDS[0])
    assert await query.where(Event.at > IDS[2]).count() == 2
    assert [each.at for each in await query.where(Event.at.between(IDS[1], IDS[2]))] == IDS[1:3]
    assert [each.at for each in await query.where(Event.at.begins_with("01BX"))] == IDS[1:3]
    assert query.where(Event.at > IDS[2]).explain().filters == ()


async def test_pages_go_on_after_a_ulid(session, events):
    query, found, after = session.query(Event).where(Event.owner == IDS[0]), [], None
    while True:
        page = await query.page(size=2, after=after)
        found += [each.at for each in page.items]
        after = page.cursor
        if after is None:
            break
    assert found == IDS


async def test_indexes_of_ulids_are_asked(session, events):
    query = session.query(Event).where(Event.about == IDS[1], Event.at < IDS[4])
    assert [each.at for each in await query] == [IDS[1], IDS[3]]
    own = session.query(Event).where(Event.owner == IDS[0], Event.about >= IDS[1])
    assert await own.index(Event.own_by_about).count() == 2


async def test_updates_and_conditions_take_ulids(session, events):
    key = (Event, IDS[0], IDS[1])
    await session.update(*key).set(Event.about, IDS[4]).where(Event.about == IDS[1])
    await session.update(*key).add(Event.seen, {IDS[2], IDS[3]})
    await session.update(*key).set(Event.times, {IDS[2]: 1})
    await session.update(*key).add(Event.times[IDS[2]], 4).where(Event.seen.contains(IDS[2]), Event.about > IDS[3])
    event = await session.get(*key)
    assert (event.about, event.seen, event.times) == (IDS[4], {IDS[2], IDS[3]}, {IDS[2]: 5})
    event.about = IDS[0]
    await session.save(event)
    assert (await session.get(*key)).about == IDS[0]
    await session.delete(*key)
    assert await session.find(*key) is None


async def test_a_part_of_a_key_is_asked_for_and_read_back(session):
    await session.tables.create(Line)
    lines = [Line(shop="a", order=each) for each in IDS]
    await session.put_many(lines)
    query = session.query(Line).where(Line.shop == "a")
    assert list(await query) == lines
    assert await query.where(Line.order == IDS[2]).first() == lines[2]
    assert list(await query.where(Line.order > IDS[1], Line.order <= IDS[3])) == lines[2:4]
    assert await session.scan(Line).where(Line.sk == lines[0].sk).count() == 1


async def test_unique_ulids_are_kept_unique_in_transactions_too(session):
    await session.tables.create(Holder)
    async with session.transaction() as transaction:
        transaction.create(Holder(id=IDS[0], token=IDS[1]))
    with pytest.raises(UniqueViolationError, match=f"{IDS[1]}"):
        await session.create(Holder(id=IDS[2], token=IDS[1]))
    assert [each.id async for each in session.scan(Holder)] == [IDS[0]]


async def test_paths_of_fastapi_take_ulids(session, events):
    app = FastAPI()
    add_error_handlers(app)
    app.dependency_overrides[current_session] = lambda: session

    @app.get("/events/{owner}/{at}")
    async def read(owner: ulid.ULID, at: ulid.ULID, opened: OpenSession) -> Event:
        return await opened.get(Event, owner, at)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        found = await client.get(f"/events/{IDS[0]}/{IDS[1]}")
        wrong = await client.get(f"/events/{IDS[0]}/abc")
    assert found.json() == events[1].model_dump(mode="json")
    assert wrong.status_code == 422
