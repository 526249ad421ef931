"""Assets and what happens to them: a constant sort key beside times, and a path of categories in an index.

An asset has the keys of its place's index while it is at a place; one that is checked out has none, though it has a
category.
"""

from datetime import UTC, datetime

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, Table, attr, template, time_text

SCENARIO = "asset-management"
LOCAL = time_text("%Y-%m-%dT%H:%M:%S")

ASSETS = Table(
    "data",
    partition_key="PK",
    sort_key="SK",
    discriminator="type",
    indexes=(GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),),
)


class OfAsset(Model, table=ASSETS, abstract=True):
    asset: Attr[str] = attr(stored=False)
    sk: SortKey[str]

    pk: PartitionKey[str] = template("{asset}")


class Asset(OfAsset, kind="asset"):
    category: Attr[str] = attr(name="typeCode")
    size: Attr[str] = attr(name="sizeCode")
    name: Attr[str]
    state: Attr[str]
    place: Attr[str | None] = attr(name="GSI1PK", default=None)

    sk: SortKey[str] = template("A")
    category_at_place: Attr[str | None] = template("{category}", name="GSI1SK", when={"place": ...})


class Event(OfAsset, kind="event"):
    event: Attr[str] = attr(name="leid")
    since: Attr[datetime] = attr(name="fromDate", stored_as=LOCAL)
    until: Attr[datetime] = attr(name="toDate", stored_as=LOCAL)
    place: Attr[str] = attr(name="lid")
    person: Attr[str] = attr(name="pid")
    status: Attr[str]

    sk: SortKey[str] = template("{since}#{event}")
    at_place: Attr[str] = template("{place}", name="GSI1PK")
    at_place_since: Attr[str] = template("{since}", name="GSI1SK")


MODELS = {"data": ASSETS}
JUNE = datetime(2021, 6, 1, tzinfo=UTC)

REQUESTS = {
    "asset-and-events": lambda session: session.query(Asset, Event).where(Asset.asset == "A2"),
    "asset": lambda session: session.query(Asset).where(Asset.asset == "A2"),
    "events-since": lambda session: session.query(Event).where(Event.asset == "A2", Event.since >= JUNE),
    "assets-at-place": lambda session: session.query(Asset).where(
        Asset.place == "L2", Asset.category.begins_with("/C1/ST1/")
    ),
    "events-at-place": lambda session: session.query(Event).where(Event.place == "L2", Event.since >= JUNE),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("data") == published.tables["data"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    assert by_key("data", stored("data")) == by_key("data", wire_items["data"])


@pytest.mark.asyncio(loop_scope="function")
async def test_an_asset_enters_the_index_with_its_place_and_leaves_it_without(session, items):
    await session.tables.create(ASSETS)
    await session.put_many(items)
    at_place = session.query(Asset).where(Asset.place == "L3", Asset.category == "/C1/ST1/T1")
    await (
        session.update(Asset, Parts(asset="A2"))
        .set(Asset.place, "L3")
        .set(Asset.state, "offline")
        .set(Asset.category, "/C1/ST1/T1")
    )
    assert [each.asset for each in await at_place] == ["A2"]
    key = Parts(asset="A2")
    await session.update(Asset, key).set(Asset.place, "L3").set(Asset.category, "/C1/ST1/T1")
    assert [each.asset for each in await at_place] == ["A2"]
    await session.update(Asset, key).remove(Asset.place)
    assert await at_place == []
    assert (await session.get(Asset, key)).category_at_place is None
