"""One stored form of times for all models of a hierarchy: ``times_stored_as=``."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import AwareDatetime

from dynamap_async import (
    EPOCH_MILLISECONDS,
    EPOCH_SECONDS,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    SortKey,
    TimeToLive,
    attr,
    template,
    time_text,
    to_wire,
)
from dynamap_async.errors import ModelDefinitionError

pytestmark = pytest.mark.asyncio

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
LOCAL = time_text("%Y-%m-%dT%H:%M:%S")


class Base(Model, abstract=True, times_stored_as=EPOCH_SECONDS):
    made: Attr[datetime] = NOON


class Visit(Base, table="visits"):
    page: PartitionKey[str]
    at: SortKey[datetime]
    left: Attr[datetime | None] = None
    checked: Attr[AwareDatetime | None] = None
    precise: Attr[datetime] = attr(stored_as=EPOCH_MILLISECONDS, default=NOON)
    expires: TimeToLive[datetime | None] = None
    by_left = GlobalIndex("by-left", partition_key="page", sort_key="left")


class Job(Base, table="jobs", times_stored_as=LOCAL):
    day: Attr[datetime]
    number: Attr[int]
    id: PartitionKey[str] = template("{day}#{number}")


class Plain(Model, table="plain"):
    id: PartitionKey[str]
    made: Attr[datetime] = NOON


async def test_all_times_of_a_model_have_the_form_of_its_base():
    found = to_wire(Visit(page="p", at=NOON, left=NOON, checked=NOON, expires=NOON))
    seconds = {"N": "1714564800"}
    assert {name: found[name] for name in ("made", "at", "left", "checked", "expires")} == dict.fromkeys(
        ("made", "at", "left", "checked", "expires"), seconds
    )
    assert found["precise"] == {"N": "1714564800000"}


async def test_subclass_may_name_another_form_which_keys_follow_too():
    assert to_wire(Job(day=NOON, number=3)) == {
        "id": {"S": "2024-05-01T12:00:00#3"},
        "day": {"S": "2024-05-01T12:00:00"},
        "made": {"S": "2024-05-01T12:00:00"},
        "number": {"N": "3"},
    }


async def test_other_models_are_as_they_were():
    assert to_wire(Plain(id="a"))["made"] == {"S": "2024-05-01T12:00:00.000000Z"}


async def test_items_are_read_queried_and_updated_in_that_form(session):
    await session.tables.create(Visit)
    visits = [
        Visit(page="p", at=NOON + timedelta(hours=n), left=NOON + timedelta(hours=n, minutes=1)) for n in range(3)
    ]
    await session.put_many(visits)
    assert await session.get(Visit, "p", NOON) == visits[0]
    later = session.query(Visit).where(Visit.page == "p", Visit.at > NOON)
    assert await later == visits[1:]
    assert await session.query(Visit).where(Visit.page == "p", Visit.left <= visits[1].left) == visits[:2]
    changed = await session.update(Visit, "p", NOON).set(Visit.checked, NOON)
    assert changed.checked == NOON
    assert await session.scan(Visit).where(Visit.checked == NOON) == [changed]


async def test_nested_model_is_refused_with_the_remedy():
    with pytest.raises(ModelDefinitionError, match=r"Inner: has times_stored_as, but no table.*attr\(stored_as"):

        class Inner(Base):
            at: Attr[datetime]


async def test_what_is_no_stored_form_is_refused():
    with pytest.raises(ModelDefinitionError, match="times_stored_as='seconds' is not a stored form; use EPOCH"):

        class Wrong(Model, table="wrong", times_stored_as="seconds"):
            id: PartitionKey[str]
