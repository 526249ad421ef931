"""Versioned writes whose answers are lost: never success by number alone, never a blind second change."""

from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, CapacityPolicy, ExactlyOnce, Model, PartitionKey, RetryPolicy, Save, Version, attr
from dynamap_async.errors import VersionConflictError
from dynamap_async.testing.faults import Faults

PATIENT = RetryPolicy(max_attempts=5, base_delay_seconds=0.001, max_delay_seconds=0.01)
UNPACED = CapacityPolicy(enabled=False)  # refusals come at random here, whatever the rate


class Page(Model, table="pages"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


@pytest.fixture
def faults():
    return Faults()


@pytest.fixture
def prefix():
    return f"t{uuid4().hex[:12]}-"


@pytest_asyncio.fixture
async def plain(engine, prefix):
    """A session that no fault reaches, with the table."""
    async with engine.session(table_prefix=prefix) as opened:
        await opened.tables.create(Page)
        yield opened


@pytest_asyncio.fixture
async def faulty(engine, plain, faults, prefix):
    """A session whose requests go through the script."""
    async with faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as opened:
        yield opened


async def _change(session, page):
    page.text = "changed"
    return await session.save(page)


@pytest.mark.asyncio
@pytest.mark.parametrize("verb", ["save", "put", "delete"])
async def test_a_versioned_write_with_a_lost_answer_is_no_success(plain, faulty, faults, verb):
    page = await plain.create(Page(name="p"))
    page.text = "changed"
    faults.on({"save": "UpdateItem", "put": "PutItem", "delete": "DeleteItem"}[verb], times=1).lose_answer()

    with pytest.raises(VersionConflictError) as caught:
        await getattr(faulty, verb)(page)

    assert caught.value.outcome_unknown is True
    assert (caught.value.expected, caught.value.stored) == (1, None if verb == "delete" else 2)
    assert caught.value.item == (await plain.find(Page, "p"))
    assert page.version == 1


@pytest.mark.asyncio
async def test_a_conflict_of_unknown_outcome_is_not_tried_again(plain, faulty, faults):
    await plain.create(Page(name="p"))
    faults.on("UpdateItem", times=1).lose_answer()
    attempts = []

    async def edit():
        page = await plain.get(Page, "p")
        page.text += "x"
        attempts.append(page)
        await faulty.save(page)

    with pytest.raises(VersionConflictError):
        await faulty.retry_on_conflict(edit)

    assert len(attempts) == 1
    assert (await plain.get(Page, "p")).text == "x"


@pytest.mark.asyncio
async def test_a_change_that_is_saved_exactly_once_survives_a_lost_answer(plain, faulty, faults):
    await plain.create(Page(name="p"))
    faults.on("TransactWriteItems", times=1).lose_answer()

    async def edit():
        page = await plain.get(Page, "p")
        page.text += "x"
        await faulty.execute(ExactlyOnce(Save(page)))
        return page

    page = await faulty.retry_on_conflict(edit)

    assert (page.text, page.version) == ("x", 2)
    assert await plain.get(Page, "p") == page


@pytest.mark.asyncio
async def test_a_save_that_never_arrived_is_sent_again(plain, faulty, faults):
    page = await plain.create(Page(name="p"))
    faults.on("UpdateItem", times=2).reset()
    await _change(faulty, page)
    assert await plain.get(Page, "p") == page
    assert page.version == 2
