"""Expired items that DynamoDB cannot filter out: pages of them neither end a read nor count."""

from datetime import datetime

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, TimeToLive, attr

NOW = 1_800_000_000


class Login(Model, table="logins", hide_expired=True):
    user: PartitionKey[str]
    device: Attr[str] = attr(default="tv")
    ends: TimeToLive[datetime | None] = attr(default=None)
    by_end = GlobalIndex(partition_key="device", sort_key="ends")


def login(user, ends):
    return {"user": {"S": user}, "device": {"S": "tv"}, "ends": {"N": str(NOW + ends)}}


def answer(*items, last=False):
    return {"Items": list(items), "Count": len(items)} | ({} if last else {"LastEvaluatedKey": items[-1]})


PAGES = (
    answer(login("a", -9), login("b", -8)),
    answer(login("c", -7), login("d", 0)),
    answer(login("e", -1), login("f", -1)),
    answer(login("g", 1), login("h", 2), last=True),
)


@pytest.fixture
def logins(transport, open_session):
    """Return a session whose service answers the pages, and the query of them."""
    transport.script(*PAGES)
    session = open_session(clock=lambda: NOW)
    return session, session.query(Login).where(Login.device == "tv").index(Login.by_end)


def users(items):
    return [item.user for item in items]


async def test_pages_of_expired_items_are_passed_over(logins):
    session, query = logins
    async with session:
        assert users(await query) == ["d", "g", "h"]


async def test_pages_of_expired_items_do_not_end_a_stream(logins):
    session, query = logins
    async with session:
        assert users([item async for item in query]) == ["d", "g", "h"]


async def test_expired_items_are_not_counted(logins):
    session, query = logins
    async with session:
        assert await query.count() == 3


async def test_a_limit_is_met_by_living_items_and_ends_the_requests(logins, transport):
    session, query = logins
    async with session:
        assert users(await query.limit(1)) == ["d"]
    assert len(transport.requests) == 2


async def test_a_page_ends_at_its_last_living_item(logins, transport):
    session, query = logins
    async with session:
        page = await query.page(size=2)
        transport.script(answer(login("h", 2), last=True))
        rest = await query.page(size=2, after=page.cursor)
    assert (users(page.items), users(rest.items), rest.cursor) == (["d", "g"], ["h"], None)
    assert transport.requests[-1].body["ExclusiveStartKey"] == login("g", 1)
