"""A write that is cancelled, or cut off by closing, while it is under way: the instance stays what it was."""

import asyncio
import copy
import pickle

import pytest

from dynamap_async import Attr, Model, PartitionKey, Unique, Version, attr
from dynamap_async.errors import ConnectionFailedError, Outcome, TransportError
from dynamap_async.models.state import UNVALIDATED

CLOCK = iter(range(1_000_000))


class Page(Model, table="pages"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")
    links: Attr[list[str]] = attr(default_factory=list)
    touched: Attr[int] = attr(on_update=lambda: next(CLOCK))
    version: Version[int] = attr(default=0)


class Member(Model, table="members"):
    name: PartitionKey[str]
    email: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)
    by_email = Unique("email")


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)
    text: Attr[str] = attr(default="")


STORED = {"name": {"S": "p"}, "text": {"S": "old"}, "touched": {"N": "1"}, "version": {"N": "4"}}
MEMBER = {"name": {"S": "p"}, "email": {"S": "old"}, "version": {"N": "4"}}


def answer(request):
    if request.operation == "GetItem":
        return {"Item": dict(MEMBER if request.table == "members" else STORED)}
    if request.table == "dynamap":
        return {"Attributes": {"n": {"N": "1"}}}
    if request.body.get("ReturnValues") == "UPDATED_NEW":
        return {"Attributes": {"version": {"N": "9"}}}
    if request.body.get("ReturnValues") == "ALL_NEW":
        return {"Attributes": {**STORED, "text": {"S": "other"}, "version": {"N": "5"}}}
    return {}


async def in_a_transaction(session, item):
    async with session.transaction() as tx:
        tx.save(item)


WRITES = {
    "put": lambda session, item: session.put(item),
    "save": lambda session, item: session.save(item),
    "replace": lambda session, item: session.replace(item),
    "delete": lambda session, item: session.delete(item),
    "update": lambda session, item: session.update(item).set(Page.text, "other"),
    "transaction": in_a_transaction,
    "put_many": lambda session, item: session.put_many([item]),
}


def state(item):
    """Return all that there is of an instance, what it remembers included.

    That its values were validated by a write stays true, whatever becomes of the write.
    """
    dumped = {name: value for name, value in item.__getstate__().items() if name != UNVALIDATED}
    return copy.deepcopy(vars(item)), item.model_fields_set.copy(), pickle.dumps(dumped)


@pytest.fixture
def slow(transport):
    """Let every answer but those of reads take ten virtual seconds."""

    async def send(request, send=transport.send):
        transport.latency = 0.0 if request.operation == "GetItem" else 10.0
        return await send(request)

    transport.otherwise = answer
    transport.send = send
    return transport


async def begun(session, write, model=Page):
    """Return an instance that was read and changed, and the task of a write of it that is under way."""
    item = await session.get(model, "p")
    if model is Page:
        item.text = "new"
        item.links.append("a")
    else:
        item.email = "new"
    before = state(item)
    task = asyncio.ensure_future(write(session, item))
    await asyncio.sleep(1)
    return item, before, task


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_an_instance_whose_write_is_cancelled_while_it_is_under_way_stays_as_it_was(slow, open_session, write):
    async with open_session() as session:
        item, before, task = await begun(session, write)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert state(item) == before
    assert state(item) == before
    assert len(slow.requests) == 2


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_an_instance_whose_write_is_cut_off_by_closing_stays_as_it_was(slow, open_session, write):
    async with open_session(close_timeout_seconds=1.0) as session:
        item, before, task = await begun(session, write)
    await asyncio.wait([task])
    error = task.exception()
    error = error.failures[0].error if hasattr(error, "failures") else error
    assert isinstance(error, ConnectionFailedError)
    assert error.outcome is Outcome.UNKNOWN
    assert state(item) == before


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
async def test_an_instance_moves_on_when_closing_waits_for_its_write(slow, open_session, write):
    async with open_session(close_timeout_seconds=60.0) as session:
        item, before, task = await begun(session, write)
    await task
    assert (state(item) == before) is (write is WRITES["delete"])


async def test_a_save_after_a_cancelled_one_sends_the_same_change_on_the_same_version(slow, open_session):
    async with open_session() as session:
        item, _, task = await begun(session, WRITES["save"])
        task.cancel()
        await session.save(item)
    _, first, second = slow.requests
    values = [list(request.body["ExpressionAttributeValues"].values()) for request in (first, second)]
    assert {"N": "4"} in values[0]
    assert {"N": "4"} in values[1]
    assert {"S": "new"} in values[1]
    assert item.version == 5


@pytest.mark.parametrize("kind", ["save", "delete", "transaction"])
async def test_a_member_whose_guarded_write_is_cancelled_or_cut_off_stays_as_it_was(slow, open_session, kind):
    async with open_session(close_timeout_seconds=1.0) as session:
        item, before, task = await begun(session, WRITES[kind], Member)
        other, before_other, cut_off = await begun(session, WRITES[kind], Member)
        task.cancel()
        await asyncio.wait([task])
        assert state(item) == before
    await asyncio.wait([cut_off])
    assert isinstance(cut_off.exception(), TransportError)
    assert state(other) == before_other


async def test_an_item_whose_numbering_is_cancelled_has_no_number_and_can_be_written(slow, open_session):
    ticket = Ticket(text="a")
    async with open_session() as session:
        task = asyncio.ensure_future(session.create(ticket))
        await asyncio.sleep(15)  # the counter has answered, the item is under way
        task.cancel()
        await asyncio.wait([task])
        assert not hasattr(ticket, "number")
        await session.create(ticket)
    assert ticket.number == 1
