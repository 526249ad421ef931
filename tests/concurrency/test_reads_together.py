"""Items that come in one answer are read together, yet each caller has its own instance, error and context."""

import asyncio
from contextvars import ContextVar

import pytest
from pydantic import field_validator

from dynamap_async import Attr, Model, PartitionKey, SortKey, TimeToLive, attr
from dynamap_async.errors import ItemNotFoundError, ItemValidationError
from dynamap_async.models.items import ItemCodec

USER = ContextVar("user", default=None)


@pytest.fixture
def read(monkeypatch):
    """Return a list that grows by the number of items of each call of a codec."""
    calls, decode = [], ItemCodec.decode

    def counting(self, items, **settings):
        calls.append(len(items))
        return decode(self, items, **settings)

    monkeypatch.setattr(ItemCodec, "decode", counting)
    return calls


@pytest.fixture
def reading(read):
    """Return a class of items that nobody has read yet."""

    class Reading(Model, table="readings"):
        sensor: PartitionKey[str]
        at: SortKey[int]
        value: Attr[int]
        tags: Attr[set[str]] = attr(default_factory=set)

    return Reading


@pytest.fixture
def session(transport, service, open_session):
    service.fill(10)
    transport.otherwise = service
    return open_session()


def started(awaitables):
    return [asyncio.ensure_future(each) for each in awaitables]


async def ended(awaitables):
    tasks = started(awaitables)
    await asyncio.wait(tasks)
    return [task.exception() or task.result() for task in tasks]


async def test_what_one_answer_brings_is_read_in_one_call(transport, session, reading, read):
    async with session:
        found = await ended(session.get(reading, "s", at) for at in range(10))
    assert [item.at for item in found] == [*range(10)]
    assert len(transport.requests) == 1
    assert read == [10]


async def test_callers_of_one_key_have_instances_of_their_own(session, reading):
    async with session:
        found = await ended(session.get(reading, "s", at) for at in (1, 1, 2, 1))
        found[0].tags.add("mine")
        assert [item.at for item in found] == [1, 1, 2, 1]
        assert len({id(item) for item in found}) == 4
        assert found[1].tags == found[3].tags == set()


async def test_an_instance_that_was_read_with_others_is_saved_by_its_changes(transport, session, reading):
    async with session:
        first, second = await ended(session.get(reading, "s", at) for at in (1, 2))
        first.value = 7
        await session.save(second)
        assert len(transport.requests) == 1
        transport.script({})
        await session.save(first)
    assert transport.requests[-1].operation == "UpdateItem"


async def test_an_item_that_does_not_fit_is_its_callers_error_only(service, session, reading):
    for value in service.items.values():
        if value["at"]["N"] == "3":
            value["value"] = {"S": "much"}
    async with session:
        found = await ended(session.get(reading, "s", at) for at in range(5))
    error = found.pop(3)
    assert isinstance(error, ItemValidationError)
    assert [item.at for item in found] == [0, 1, 2, 4]


async def test_what_is_not_there_is_its_callers_error_only(service, session, reading):
    async with session:
        found = await ended(session.get(reading, "s", at) for at in (1, 77, 2))
    assert isinstance(found.pop(1), ItemNotFoundError)
    assert [item.at for item in found] == [1, 2]


@pytest.mark.parametrize("which", [0, 2, 4])
async def test_a_caller_that_leaves_when_the_answer_is_there_takes_nothing_from_others(session, reading, which, read):
    async with session:
        tasks = started(session.get(reading, "s", at) for at in range(5))
        while not read:
            await asyncio.sleep(0)
            if any(task._fut_waiter is not None and task._fut_waiter.done() for task in tasks):
                tasks[which].cancel()
                break
        await asyncio.wait(tasks)
    assert [task.result().at for n, task in enumerate(tasks) if n != which] == [n for n in range(5) if n != which]


async def test_models_of_one_table_are_read_each_by_itself(session, reading, read):
    class Other(Model, table="readings"):
        sensor: PartitionKey[str]
        at: SortKey[int]
        value: Attr[float]

    async with session:
        found = await ended(session.get(reading if at % 2 else Other, "s", at) for at in range(6))
        both = await ended(session.get(each, "s", 9) for each in (reading, Other))
    assert [type(item) for item in found] == [Other, reading] * 3
    assert [type(item) for item in both] == [reading, Other]
    assert read == [3, 3, 1, 1]


async def test_expired_items_are_hidden_from_their_callers(service, transport, open_session, read):
    class Visit(Model, table="readings", hide_expired=True):
        sensor: PartitionKey[str]
        at: SortKey[int]
        value: TimeToLive[int]

    service.fill(2)
    service.items["readings", "s", "1"]["value"] = {"N": "2000"}
    transport.otherwise = service
    async with open_session(clock=lambda: 1000.0) as session:
        found = await ended(session.find(Visit, "s", at) for at in (0, 1))
    assert found[0] is None
    assert found[1].at == 1


async def test_validators_run_in_the_context_of_the_caller(session, read):
    class Watched(Model, table="readings"):
        sensor: PartitionKey[str]
        at: SortKey[int]

        @field_validator("at")
        @classmethod
        def check(cls, value):
            assert USER.get() == value
            return value

    async def get(at):
        USER.set(at)
        return await session.get(Watched, "s", at)

    async with session:
        found = await ended(get(at) for at in range(4))
    assert [item.at for item in found] == [*range(4)]
    assert read == [1, 1, 1, 1]
