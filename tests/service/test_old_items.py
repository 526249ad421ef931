"""What a put replaced and what a delete removed, given back on request."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    Delete,
    Model,
    Old,
    PartitionKey,
    Put,
    TimeToLive,
    Unique,
    Update,
    Version,
    after_read,
    attr,
    before_write,
)
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ItemValidationError,
    OperationError,
    Outcome,
    TransportError,
    VersionConflictError,
)
from dynamap_async.testing.faults import Faults

pytestmark = pytest.mark.asyncio


class Page(Model, table="pages"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")


class Edited(Model, table="edited"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


class User(Model, table="users"):
    name: PartitionKey[str]
    email: Attr[str] = attr(default="")
    by_email = Unique("email")


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)
    ends: TimeToLive[datetime | None] = attr(default=None)


class Hooked(Model, table="hooked"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")

    @before_write
    def mark(self, write):
        self.text += f" {write}"

    @after_read
    def shout(self):
        self.text = self.text.upper()


class Strict(Model, table="pages"):
    name: PartitionKey[str]
    text: Attr[int] = attr(default=0)


@pytest.fixture
def prefix():
    return f"t{uuid4().hex[:12]}-"


@pytest_asyncio.fixture
async def session(engine, prefix):
    async with engine.session(table_prefix=prefix) as opened:
        await opened.tables.create(Page, Edited, User, Ticket, Hooked)
        yield opened


async def test_a_put_gives_back_what_it_replaced(session):
    assert await session.put(Page(name="a", text="old"), returning="old") is None
    assert await session.put(Page(name="a", text="new"), returning="old") == Page(name="a", text="old")
    assert await session.get(Page, "a") == Page(name="a", text="new")


async def test_a_delete_gives_back_what_it_removed(session):
    page = await session.put(Page(name="a", text="old"))
    assert await session.delete(Page, "a", returning="old") == page
    assert await session.delete(Page, "a", returning="old") is None
    await session.put(page)
    assert await session.delete(page, returning="old") == page
    assert await session.find(Page, "a") is None


async def test_what_is_given_back_can_be_saved_no_more_and_be_written_again(session):
    await session.put(Page(name="a", text="old"))
    old = await session.delete(Page, "a", returning="old")
    await session.put(old)
    assert await session.get(Page, "a") == old


async def test_a_condition_of_such_a_write_holds(session):
    await session.put(Page(name="a", text="old"))
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.put(Page(name="a"), where=Page.text == "other", returning="old")
    assert caught.value.item == Page(name="a", text="old")
    assert await session.delete(Page, "a", where=Page.text == "old", returning="old") == caught.value.item


async def test_such_a_write_checks_and_counts_the_version(session):
    page = await session.create(Edited(name="a", text="old"))
    stale = page.model_copy()
    page.text = "new"
    assert await session.put(page, returning="old") == stale
    assert page.version == 2
    with pytest.raises(VersionConflictError):
        await session.delete(stale, returning="old")
    assert await session.delete(page, returning="old") == page


async def test_such_a_write_runs_the_hooks_of_a_write_and_of_a_read(session):
    await session.put(Hooked(name="a", text="old"))
    new = Hooked(name="a", text="new")
    assert await session.put(new, returning="old") == Hooked(name="a", text="OLD PUT")
    assert new.text == "new put"
    assert await session.delete(new, returning="old") == Hooked(name="a", text="NEW PUT")


async def test_such_a_put_numbers_a_new_item(session):
    ticket = Ticket(ends=datetime.now(UTC) + timedelta(days=1))
    assert await session.put(ticket, returning="old") is None
    assert ticket.number == 1
    assert await session.put(Ticket(number=1), returning="old") == ticket


async def test_an_old_item_that_does_not_fit_says_that_the_write_was_done(session):
    await session.put(Page(name="a", text="no number"))
    with pytest.raises(ItemValidationError) as caught:
        await session.put(Strict(name="a", text=5), returning="old")
    assert caught.value.__notes__ == ["the put was done, but the old item does not fit the model"]
    assert (await session.get(Strict, "a")).text == 5


async def test_a_model_with_unique_values_gives_back_nothing_and_is_not_written(session):
    user = await session.create(User(name="a", email="e"))
    with pytest.raises(OperationError, match=r'drop returning="old", and read the item before'):
        await session.delete(user, returning="old")
    assert await session.get(User, "a") == user


async def test_what_replaces_nothing_gives_nothing_back(session):
    for write in (Update(Page, "a").set(Page.text, "x"), Old(Put(Page(name="a"))), Page(name="a")):
        with pytest.raises(OperationError, match="works for Put and Delete only"):
            Old(write)
    with pytest.raises(OperationError, match="is not possible; put and delete return"):
        await session.put(Page(name="a"), returning="new")


@pytest.mark.parametrize("write", [Old(Put(Page(name="a", text="new"))), Old(Delete(Page, "a"))])
async def test_such_a_write_whose_answer_was_lost_is_not_sent_again(session, engine, prefix, write):
    await session.put(Page(name="a", text="old"))
    faults = Faults()
    faults.on(times=1).lose_answer()
    async with faults.session(engine, table_prefix=prefix) as unlucky:
        with pytest.raises(TransportError) as caught:
            await unlucky.execute(write)
    assert (caught.value.outcome, caught.value.attempts) == (Outcome.UNKNOWN, 1)
    found = await session.find(Page, "a")
    assert found is None or found.text == "new"


async def test_a_versioned_one_whose_answer_was_lost_is_sent_again_and_conflicts(session, engine, prefix):
    page = await session.create(Edited(name="a"))
    faults = Faults()
    faults.on("PutItem", times=1).lose_answer()
    async with faults.session(engine, table_prefix=prefix) as unlucky:
        with pytest.raises(VersionConflictError) as caught:
            await unlucky.put(page, returning="old")
    assert caught.value.outcome_unknown
    assert page.version == 1
