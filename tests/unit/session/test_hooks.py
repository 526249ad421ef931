"""Hooks around the writes and reads of a session."""

import asyncio
from typing import ClassVar

import pytest

from dynamap_async import (
    Attr,
    Delete,
    Model,
    PartitionKey,
    Put,
    SortKey,
    WriteKind,
    after_read,
    attr,
    before_write,
)
from dynamap_async.errors import BatchError, ConfigurationError, SessionStateError


class RefusedError(Exception):
    """What hooks refuse with."""


class Hooked(Model, table="readings"):
    sensor: PartitionKey[str]
    at: SortKey[int]
    value: Attr[int] = attr(default=0)

    told: ClassVar[list[str]] = []

    @before_write
    async def double(self, write: WriteKind) -> None:
        await asyncio.sleep(1)
        self.told.append(f"model {write} {self.at}")
        if self.value < 0:
            raise RefusedError(f"{self.value} is negative")
        if write != "delete":
            self.value *= 2

    @after_read
    def note(self) -> None:
        self.told.append(f"model read {self.at}")
        if self.value == 13:
            raise RefusedError("13")


class Plain(Model, table="readings"):
    sensor: PartitionKey[str]
    at: SortKey[int]


@pytest.fixture(autouse=True)
def told():
    Hooked.told.clear()
    return Hooked.told


def hooked(*ats, value=0):
    return [Hooked(sensor="s", at=at, value=value) for at in ats]


async def test_before_a_write_the_models_hooks_run_first_and_what_they_change_is_written(open_session, service, told):
    async def later(item, write):
        told.append(f"session {write} {item.value}")
        item.value += 1

    async with open_session(before_write=[later]) as session:
        [item] = hooked(1, value=4)
        await session.put(item)
    assert told == ["model put 1", "session put 8"]
    assert service.items["readings", "s", "1"]["value"] == {"N": "9"}
    assert item.value == 9


async def test_after_a_read_the_sessions_hooks_run_first(open_session, stored, told):
    stored(2)
    async with open_session(after_read=[lambda item: told.append(f"session read {item.at}")]) as session:
        await session.get(Hooked, "s", 1)
    assert told == ["session read 1", "model read 1"]


@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (lambda session, item: session.put(item), "put"),
        (lambda session, item: session.execute(Put(item)), "put"),
        (lambda session, item: session.create(item), "create"),
        (lambda session, item: session.delete(item), "delete"),
        (lambda session, item: session.put_many([item]), "put"),
        (lambda session, item: session.delete_many([item]), "delete"),
    ],
)
async def test_a_hook_is_told_what_kind_of_write_it_is(open_session, told, act, kind):
    async with open_session() as session:
        await act(session, *hooked(1))
    assert told == [f"model {kind} 1"]


async def test_what_a_hook_raises_reaches_the_caller_and_nothing_is_sent(open_session, service):
    async with open_session() as session:
        with pytest.raises(RefusedError, match="-1 is negative"):
            await session.put(*hooked(1, value=-1))
    assert service.requests == []


async def test_an_instance_that_a_hook_refused_can_be_written_later(open_session, service):
    async with open_session() as session:
        [item] = hooked(1, value=-1)
        with pytest.raises(RefusedError):
            await session.put(item)
        item.value = 1
        await session.put(item)
    assert service.items["readings", "s", "1"]["value"] == {"N": "2"}


async def test_of_put_many_only_what_a_hook_refuses_fails(open_session, service):
    async with open_session() as session:
        with pytest.raises(BatchError) as failed:
            await session.put_many([*hooked(1), *hooked(2, value=-1), *hooked(3)])
    [failure] = failed.value.failures
    assert (failure.position, type(failure.error)) == (1, RefusedError)
    assert {place[2] for place in service.items} == {"1", "3"}


async def test_a_refused_put_of_a_batch_raises_at_once_and_the_batch_goes_on(open_session, service):
    async with open_session() as session, session.batch() as batch:
        with pytest.raises(RefusedError):
            await batch.put(*hooked(1, value=-1))
        await batch.put(*hooked(2))
    assert {place[2] for place in service.items} == {"2"}


async def test_hooks_that_wait_leave_batches_full(open_session, service):
    async with open_session() as session:
        await session.put_many(hooked(*range(50)))
    assert service.counts == {"BatchWriteItem": 2}


async def test_items_before_one_whose_hook_waited_are_sent_when_the_block_pauses(open_session, service):
    async with open_session() as session, session.batch() as batch:
        await batch.put(Plain(sensor="s", at=1))
        with pytest.raises(RefusedError):
            await batch.put(*hooked(2, value=-1))
        await asyncio.sleep(1)
        assert batch.done == 1


async def test_writes_by_key_run_no_hooks(open_session, stored, told):
    stored(2)
    async with open_session(before_write=[lambda item, write: told.append("session")]) as session:
        await session.delete(Hooked, "s", 0)
        await session.execute(Delete(Hooked, "s", 1))
    assert told == []


async def test_hooks_run_once_for_each_instance_that_is_given_out(open_session, stored, told):
    stored(3)
    async with open_session() as session:
        await session.get_many(Hooked, [("s", 0), ("s", 9), ("s", 0), ("s", 2)])
        assert sorted(told) == ["model read 0", "model read 0", "model read 2"]
        told.clear()
        async for _key, item in session.each(Hooked, [("s", 1), ("s", 7)]):
            assert item is None or told == ["model read 1"]
        assert told == ["model read 1"]
        told.clear()
        assert await session.find(Hooked, "s", 8) is None
        assert told == []


async def test_hooks_that_wait_leave_the_batches_of_get_many_full(open_session, stored, service):
    stored(300)
    pauses = []

    async def pause(item):
        pauses.append(item.at)
        await asyncio.sleep(0.5)

    async with open_session(after_read=[pause]) as session:
        await session.get_many(Hooked, [("s", at) for at in range(100, 300)])
    assert len(pauses) == 200
    assert service.counts == {"BatchGetItem": 2}


async def test_an_error_after_a_read_is_that_items_own_in_calls_for_many(open_session, stored):
    stored(20)
    async with open_session() as session:
        with pytest.raises(RefusedError):
            await session.get(Hooked, "s", 13)
        with pytest.raises(BatchError) as failed:
            await session.get_many(Hooked, [("s", 12), ("s", 13), ("s", 14)])
        assert [found and found.at for found in failed.value.results] == [12, None, 14]
        async with session.each(Hooked, [("s", 12), ("s", 13), ("s", 14)]) as answers:
            seen = [(await anext(answers))[1].at for _ in range(2)]
            with pytest.raises(BatchError) as failed:
                await anext(answers)
        assert (sorted(seen), len(failed.value.failures)) == ([12, 14], 1)


class ForbiddenError(Exception):
    """An error whose arguments are not its constructor's, as that of a web framework."""

    def __init__(self, *, status):
        super().__init__()
        self.status = status


async def test_an_error_after_a_read_of_a_repeated_key_is_each_places_own(open_session, stored):
    def deny(item):
        raise ForbiddenError(status=403)

    stored(1)
    async with open_session(after_read=[deny]) as session:
        with pytest.raises(BatchError) as failed:
            await session.get_many(Hooked, [("s", 0), ("s", 0)])
    errors = [failure.error for failure in failed.value.failures]
    assert [error.status for error in errors] == [403, 403]
    assert errors[0] is not errors[1]


async def test_a_cancelled_hook_loses_no_pair(open_session, stored):
    stored(1)
    entered = []

    async def pause(item):
        entered.append(item.at)
        await asyncio.sleep(60 if len(entered) == 1 else 0)

    async with open_session(after_read=[pause]) as session, session.each(Hooked, [("s", 0)]) as answers:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(answers), 10)
        key, item = await anext(answers)
    assert (key, item.at, entered) == (("s", 0), 0, [0, 0])


async def test_a_hook_may_use_the_session_also_where_every_connection_is_needed(open_session, stored, service):
    stored(3)
    service.max_connections = 1
    found = []

    async def also_read(item):
        if item.at < 2:
            found.append((await session.without_hooks().get(Hooked, "s", item.at + 1)).at)

    async with open_session(after_read=[also_read]) as session:
        await session.gather(*(session.get(Hooked, "s", at) for at in range(3)))
    assert sorted(found) == [1, 2]


async def test_without_hooks_none_runs_and_all_else_is_shared(open_session, stored, service, told):
    stored(1)
    async with open_session(before_write=[lambda item, write: told.append("session")]) as session:
        plain = session.without_hooks()
        [item] = hooked(5, value=-4)
        await plain.put(item)
        await plain.get(Hooked, "s", 0)
        assert told == []
        with pytest.raises(SessionStateError, match="a session can be opened once"):
            await plain.__aenter__()
    assert service.items["readings", "s", "5"]["value"] == {"N": "-4"}


async def test_a_plain_function_may_return_something_to_await(open_session, told):
    async def later():
        told.append("later")

    async with open_session(before_write=[lambda item, write: later()]) as session:
        await session.put(*hooked(1))
    assert told == ["model put 1", "later"]


@pytest.mark.parametrize("given", [print, [print, "x"], [None]])
def test_hooks_that_are_no_list_of_functions_are_refused(open_session, given):
    with pytest.raises(ConfigurationError, match="is not a list of functions"):
        open_session(after_read=given)
