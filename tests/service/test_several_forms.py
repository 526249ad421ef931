"""Items that hold a field in different stored forms: one query finds them all, and a write settles the form."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import EPOCH_SECONDS, Attr, Model, PartitionKey, RetryPolicy, SortKey, attr

pytestmark = pytest.mark.asyncio

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Reading(Model, table="readings"):
    meter: PartitionKey[str]
    number: SortKey[int]
    value: Attr[int] = attr(also_stored_as="S", default=0)
    checked: Attr[bool] = attr(also_stored_as=("S", "N"), default=False)
    at: Attr[datetime] = attr(also_stored_as=EPOCH_SECONDS, default=AT)
    codes: Attr[set[int]] = attr(also_stored_as="SS", default_factory=set)


class AsText(Model, table="readings"):
    meter: PartitionKey[str]
    number: SortKey[int]
    value: Attr[str] = attr(default="0")
    checked: Attr[str] = attr(default="false")
    at: Attr[datetime] = attr(stored_as=EPOCH_SECONDS, default=AT)
    codes: Attr[set[str]] = attr(default_factory=set)


async def fill(session: Any) -> None:
    """Store two readings in the forms of the model, and two in those of an older program."""
    await session.tables.create(Reading)
    later = datetime(2026, 2, 1, tzinfo=UTC)
    await session.put(Reading(meter="m", number=0, value=7, checked=True, at=AT, codes={7, 8}))
    await session.put(Reading(meter="m", number=1, value=8, checked=False, at=later))
    await session.put(AsText(meter="m", number=2, value="7", checked="true", at=AT, codes={"7", "8"}))
    await session.put(AsText(meter="m", number=3, value="8", at=later))


@pytest_asyncio.fixture
async def mixed(session: Any) -> Any:
    await fill(session)
    return session


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (Reading.value == 7, [0, 2]),
        (Reading.value != 7, [1, 3]),
        (Reading.value.is_in(7, 9), [0, 2]),
        (Reading.checked.is_(True), [0, 2]),
        (~Reading.checked.is_(True), [1, 3]),
        (Reading.codes.contains(8), [0, 2]),
        (Reading.codes == {7, 8}, [0, 2]),
    ],
)
async def test_a_filter_finds_the_items_of_every_form(mixed, condition, found):
    items = await mixed.query(Reading).where(Reading.meter == "m", condition)
    assert [item.number for item in items] == found


@pytest.mark.parametrize(("condition", "found"), [(Reading.at > AT, [1, 3]), (Reading.at.between(AT, AT), [0, 2])])
async def test_a_range_finds_the_items_of_every_form(engine, condition, found):
    prefix = f"t{uuid4().hex[:12]}-"
    async with engine.session(table_prefix=prefix, retry=RetryPolicy(max_attempts=1)) as session:
        await fill(session)
        items = await session.query(Reading).where(Reading.meter == "m", condition)
    assert [item.number for item in items] == found


async def test_a_guarded_update_takes_either_form_and_writes_the_first(mixed):
    update = mixed.update(Reading, "m", 2).where(Reading.value == 7).set(Reading.value, 9)
    assert (await update).value == 9
    assert await mixed.query(Reading).where(Reading.meter == "m", Reading.value.has_type("S")).count() == 1


async def test_saving_leaves_the_form_of_what_did_not_change(mixed):
    item = await mixed.get(Reading, "m", 2)
    item.checked = False
    await mixed.save(item)
    assert await mixed.query(Reading).where(Reading.meter == "m", Reading.value.has_type("S")).count() == 2
    assert (await mixed.get(Reading, "m", 2)).checked is False
