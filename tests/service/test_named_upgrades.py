"""Passes with a name on real engines go on where their place was stored; and what a pass may leave as it is."""

import time
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, Model, PartitionKey, StoredItem, TimeToLive, attr, upgrade
from dynamap_async.errors import CapacityBudgetExceededError, ConfigurationError, ItemsNotUpgradedError, OperationError
from dynamap_async.session import upgrade_place
from dynamap_async.session.upgrade_place import StoredPlace

pytestmark = pytest.mark.asyncio

TOTAL = 24
PLACE = "checkpoint#upgraded#letters#nightly"


class Raw(Model, table="letters"):
    """Every attribute of the letters' table, as it is stored."""

    number: PartitionKey[int]
    text: Attr[str | None] = attr(default=None)
    expires: TimeToLive[int | None] = attr(default=None)
    schema_version: Attr[int | None] = attr(default=None)


class Letter(Model, table="letters", schema_version=2):
    number: PartitionKey[int]
    text: Attr[str]
    expires: TimeToLive[int | None] = attr(default=None)

    @upgrade(to=2)
    @staticmethod
    def capitals(item: StoredItem) -> None:
        item["text"] = item["text"].upper()


class NextLetter(Letter, schema_version=3):
    """As the next release has it."""

    @upgrade(to=3)
    @staticmethod
    def nothing(item: StoredItem) -> None:
        pass


class Plain(Model, table="plain", schema_version=2):
    number: PartitionKey[int]

    @upgrade(to=2)
    @staticmethod
    def nothing(item: StoredItem) -> None:
        pass


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Let a place be stored after each page."""
    monkeypatch.setattr(upgrade_place, "STORED_ITEMS", 1)


@pytest_asyncio.fixture
async def session(engine):
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-") as opened:
        await opened.tables.create(Raw)
        await opened.put_many(Raw(number=number, text="a") for number in range(TOTAL))
        yield opened


async def versions(session):
    found = await session.scan(Raw).consistent()
    return {each.number: each.schema_version for each in found}


async def left_after(session, pages, **settings):
    """Go over some pages, and leave the pass as a process does that is killed: nothing is closed in order."""
    run = session.upgrade(Letter, segments=1, page_size=5, name="nightly", **settings)
    for _ in range(pages):
        await anext(run)
    await run.aclose()
    return run.report


async def test_a_pass_that_was_left_is_gone_on_with_by_the_next_of_its_name(session):
    left = await left_after(session, 2)
    assert (await session.get(StoredPlace, PLACE)).checkpoint == left.checkpoint
    rest = await session.upgrade(Letter, segments=1, page_size=5, name="nightly")
    assert rest.upgraded == TOTAL - left.upgraded
    assert rest.seen == TOTAL - left.behind
    assert set((await versions(session)).values()) == {2}


async def test_the_place_is_forgotten_at_the_end_so_that_the_next_pass_begins_anew(session):
    await left_after(session, 2)
    await session.upgrade(Letter, segments=1, name="nightly")
    assert await session.find(StoredPlace, PLACE) is None
    await session.put(Raw(number=3, text="again"))
    assert (await session.upgrade(Letter, segments=1, name="nightly")).upgraded == 1


async def test_it_is_forgotten_also_where_items_failed_which_lie_before_it(session):
    await session.put(Raw(number=3))
    with pytest.raises(ItemsNotUpgradedError):
        await session.upgrade(Letter, segments=1, page_size=5, name="nightly")
    assert await session.find(StoredPlace, PLACE) is None
    await session.put(Raw(number=3, text="mended"))
    assert (await session.upgrade(Letter, segments=1, name="nightly")).upgraded == 1


async def test_a_pass_of_another_name_begins_at_the_beginning(session):
    left = await left_after(session, 2)
    other = await session.upgrade(Letter, segments=1, name="weekly")
    assert (other.seen, other.upgraded) == (TOTAL, TOTAL - left.upgraded)


@pytest.mark.parametrize(
    ("model", "settings"), [(NextLetter, {"segments": 1}), (Letter, {"segments": 2})], ids=["version", "segments"]
)
async def test_a_place_of_another_version_or_in_other_segments_counts_for_none(session, model, settings):
    await left_after(session, 2)
    assert (await session.upgrade(model, name="nightly", **settings)).seen == TOTAL


async def test_places_are_stored_after_so_many_items_and_not_with_each_page(session, monkeypatch):
    monkeypatch.setattr(upgrade_place, "STORED_ITEMS", 16)
    monkeypatch.setattr(upgrade_place, "STORED_SECONDS", float("inf"))
    await left_after(session, 2)  # ten items, and five that are read ahead
    assert await session.find(StoredPlace, PLACE) is None
    await left_after(session, 4)
    assert await session.find(StoredPlace, PLACE) is not None


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"dry_run": True}, "dry_run=True, which stores nothing"),
        ({"name": "a#b"}, "name='a#b' cannot be the name of a pass"),
        ({"name": ""}, "name='' cannot be"),
    ],
)
async def test_what_is_no_name_or_contradicts_one_is_refused(session, settings, problem):
    with pytest.raises(OperationError, match=problem):
        session.upgrade(Letter, **{"name": "nightly", **settings})


async def test_a_name_and_a_checkpoint_exclude_each_other(session):
    report = await session.upgrade(Letter)
    with pytest.raises(OperationError, match="checkpoint=, which says where to begin"):
        session.upgrade(Letter, checkpoint=report.checkpoint, name="nightly")


async def test_expired_items_may_stay_as_they_are(session):
    now = int(time.time())
    await session.put(Raw(number=1, text="a", expires=now - 1000))
    await session.put(Raw(number=2, text="a", expires=now + 1000))
    report = await session.upgrade(Letter, skip_expired=True)
    assert (report.upgraded, report.remaining) == (TOTAL - 1, 0)
    assert (await versions(session))[1] is None
    assert (await session.upgrade(Letter)).upgraded == 1


async def test_a_pass_that_leaves_expired_items_proves_nothing_of_all(session):
    await session.tables.create(StoredPlace)  # the library's own table
    await session.upgrade(Letter, skip_expired=True)
    assert await session.complete_since(Letter) is None


async def test_a_model_of_which_nothing_expires_has_no_expired_items_to_leave(session):
    with pytest.raises(OperationError, match="Plain has no TimeToLive field"):
        session.upgrade(Plain, skip_expired=True)


async def test_a_pass_takes_no_more_write_units_than_it_may(session):
    with pytest.raises(CapacityBudgetExceededError, match="upgrade Letter"):
        await session.upgrade(Letter, segments=1, page_size=5, max_write_units=8)
    done = sum(version == 2 for version in (await versions(session)).values())
    assert 0 < done < TOTAL
    assert (await session.upgrade(Letter, max_write_units=TOTAL)).upgraded == TOTAL - done
    with pytest.raises(ConfigurationError, match="max_write_units"):
        session.upgrade(Letter, max_write_units=-1)
