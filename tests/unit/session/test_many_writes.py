"""put_many, delete_many and bulk loads."""

import asyncio

import anyio
import pytest

from dynamap_async import Model, PartitionKey
from dynamap_async.errors import (
    AccessDeniedError,
    BatchError,
    EncodeError,
    OperationError,
    Outcome,
    RequestRejectedError,
    SessionClosedError,
    SessionStateError,
)
from dynamap_async.models import definition_of
from dynamap_async.native.json_text import Spliced, write_json
from dynamap_async.planning import Context
from dynamap_async.session.bulk import PlainPuts
from dynamap_async.session.runner import Runner


def rejected(request):
    facts = {"service_code": "ValidationException", "operation": request.operation, "table": request.table}
    return RequestRejectedError("no", status=400, **facts)


def places(service):
    return [int(place[2]) for place, _item in service.writes]


async def load(session, items, error=None, *, batch=None, deleting=None):
    """Put all items in one batch, and fail in its block."""
    async with batch or session.batch() as opened:
        for item in items:
            await opened.put(item)
        if deleting is not None:
            await opened.delete(*deleting)
        if error is not None:
            await asyncio.sleep(1)
            raise error


@pytest.fixture
def readings(model):
    return lambda *numbers: [model(sensor="s", at=at, value=at) for at in numbers]


@pytest.mark.parametrize("count", [2, 25, 26, 1000])
async def test_n_items_are_one_call_for_each_twenty_five(open_session, service, readings, count):
    async with open_session() as session:
        assert await session.put_many(readings(*range(count))) == count
    assert len(service.requests) == -(-count // 25)
    assert service.counts.get("PutItem", 0) == (count % 25 == 1)
    assert len(service.items) == count


def test_our_own_transport_is_given_the_json_of_items_and_others_the_items(readings):
    several = readings(1, 2, 3)
    runners = [Runner(None, Context(splices=each), None, None) for each in (False, True)]
    puts = [PlainPuts(definition_of(type(several[0])), runner) for runner in runners]
    whole, spliced = (each.entries([each.part(reading) for reading in several]) for each in puts)
    assert (type(whole), type(spliced)) == (list, Spliced)
    assert write_json(spliced) == write_json(whole)
    assert [each["PutRequest"]["Item"]["at"]["N"] for each in whole] == ["1", "2", "3"]


async def test_nothing_to_write_sends_nothing(open_session, service):
    async with open_session() as session:
        assert await session.put_many([]) == 0
        assert await session.delete_many([]) == 0
        async with session.batch():
            pass
    assert service.requests == []


async def test_asynchronous_iterables_and_generators_are_taken(open_session, service, readings):
    async def arriving():
        for item in readings(*range(50)):
            yield item

    async with open_session() as session:
        assert await session.put_many(arriving()) == 50
        assert await session.put_many(item for item in readings(*range(50, 60))) == 10
    assert service.counts == {"BatchWriteItem": 3}


async def test_items_of_a_source_that_pauses_are_not_held_back(open_session, service, readings):
    async def trickle():
        for item in readings(*range(3)):
            yield item
            await asyncio.sleep(1)
            assert len(service.items) == item.at + 1

    async with open_session() as session:
        await session.put_many(trickle())
    assert service.counts == {"PutItem": 3}


async def test_memory_is_bounded_however_many_items_come(open_session, service, readings, model):
    service.gate = asyncio.Event()
    taken = []

    def endless():
        while True:
            taken.append(len(taken))
            yield model(sensor="s", at=len(taken))

    async with open_session() as session:
        with anyio.move_on_after(1):
            await session.put_many(endless())
        assert 64 * 25 <= len(taken) <= 6_402
        service.gate.set()


async def test_large_items_are_bounded_by_their_size(open_session, service):
    class Large(Model, table="readings"):
        sensor: PartitionKey[str]
        text: str = "x" * 300_000

    service.gate = asyncio.Event()
    taken = []
    async with open_session() as session:
        with anyio.move_on_after(1):
            await session.put_many(taken.append(n) or Large(sensor=str(n)) for n in range(1000))
        assert 100 <= len(taken) <= 115
        service.gate.set()


async def test_progress_tells_how_many_are_done(open_session, readings):
    told = []
    async with open_session() as session:
        await session.put_many(readings(*range(1000)), progress=told.append)
    assert told[-1] == 1000
    assert told == sorted(set(told))
    assert len(told) > 1


async def test_later_writes_of_an_equal_key_stay(open_session, service, model):
    async with open_session() as session:
        await session.put_many(model(sensor="s", at=n % 7, value=n) for n in range(100))
        assert [(await session.get(model, "s", at)).value for at in range(7)] == [98, 99, 93, 94, 95, 96, 97]


async def test_items_and_keys_are_deleted(open_session, service, stored, readings, model, other_model):
    stored(100)
    service.items["sensors", "roof"] = {"name": {"S": "roof"}}
    async with open_session() as session:
        assert await session.delete_many(readings(*range(50))) == 50
        assert await session.delete_many(model, [("s", at) for at in range(50, 99)]) == 49
        assert await session.delete_many(other_model, ["roof", "never there"]) == 2
    assert list(service.items) == [("readings", "s", "99")]
    assert service.counts == {"BatchWriteItem": 5}


async def test_a_bad_item_fails_by_itself(open_session, service, readings, model):
    items = readings(0, 1, 2)
    items[1] = model.model_construct(sensor="", at=1, value=1)
    async with open_session() as session:
        with pytest.raises(BatchError, match="2 of 4 items failed; the first is number 1") as caught:
            await session.put_many([*items, "no item"])
    first, second = caught.value.failures
    assert (first.position, first.subject, type(first.error)) == (1, items[1], EncodeError)
    assert (second.position, second.subject, type(second.error)) == (3, "no item", OperationError)
    assert (caught.value.total, caught.value.succeeded, caught.value.results) == (4, 2, ())
    assert places(service) == [0, 2]


async def test_an_item_that_the_service_rejects_fails_by_itself(open_session, service, readings):
    service.fault = lambda request: rejected(request) if "'at': {'N': '13'}" in str(request.body) else None
    async with open_session() as session:
        with pytest.raises(BatchError) as caught:
            await session.put_many(readings(*range(25)))
    assert [failure.position for failure in caught.value.failures] == [13]
    assert isinstance(caught.value.failures[0].error, RequestRejectedError)
    assert len(service.items) == 24


async def test_each_failure_says_what_is_known_of_its_write(open_session, service, readings):
    session = open_session(close_timeout_seconds=1)
    service.max_connections = 1
    service.gate = asyncio.Event()
    async with session:
        writing = asyncio.create_task(session.put_many(readings(*range(50))))
        await asyncio.sleep(1)
    with pytest.raises(BatchError) as caught:
        await writing
    assert len(caught.value.failures) == 50
    outcomes = [failure.error.outcome for failure in caught.value.failures]
    assert outcomes == [Outcome.UNKNOWN] * 25 + [Outcome.NOT_SENT] * 25


@pytest.mark.parametrize(
    "wrong",
    [
        lambda session, model: session.put_many(model(sensor="s", at=1)),
        lambda session, model: session.put_many("abc"),
        lambda session, model: session.put_many(None),
        lambda session, model: session.delete_many(model),
        lambda session, model: session.delete_many(model, "abc"),
        lambda session, model: session.delete_many("readings", []),
    ],
)
async def test_what_are_not_several_items_is_refused(open_session, service, model, wrong):
    async with open_session() as session:
        with pytest.raises(OperationError):
            await wrong(session, model)
    assert service.requests == []


async def test_a_key_of_too_many_values_fails_by_itself(open_session, stored, service, model):
    stored(1)
    async with open_session() as session:
        with pytest.raises(BatchError, match=r"is not a key of Reading") as caught:
            await session.delete_many(model, [("s", 0, 0), (), ("s", 0)])
    assert caught.value.succeeded == 1
    assert service.items == {}


async def test_cancelling_put_many_withdraws_what_was_not_sent(open_session, service, readings):
    service.max_connections = 2
    service.latency = 2.0
    async with open_session() as session:
        with anyio.move_on_after(1):
            await session.put_many(readings(*range(1000)))
        await asyncio.sleep(60)
        assert sorted(places(service)) == list(range(50))


async def test_a_source_that_fails_ends_the_call_with_its_error(open_session, service, readings):
    service.max_connections = 2
    service.latency = 2.0

    async def failing():
        for item in readings(*range(100)):
            yield item
        await asyncio.sleep(1)
        raise LookupError("the file is damaged")

    async with open_session() as session:
        with pytest.raises(LookupError, match="damaged") as caught:
            await session.put_many(failing())
        assert sorted(places(service)) == list(range(50))
    (note,) = caught.value.__notes__
    assert note.startswith("the batch ended early: of 100 items given to it, 50 were written, 0 failed, 50 were withdr")


async def test_a_progress_callback_that_fails_ends_the_call(open_session, readings):
    def progress(done):
        raise LookupError(done)

    async with open_session() as session:
        with pytest.raises(LookupError):
            await session.put_many(readings(*range(100)), progress=progress)


async def test_a_batch_returns_at_once_and_waits_at_its_end(open_session, service, readings, model, other_model):
    service.latency = 1.0
    async with open_session() as session:
        async with session.batch() as batch:
            for item in readings(*range(100)):
                await batch.put(item)
            await batch.put(other_model(name="roof"))
            await batch.delete(readings(5)[0])
            await batch.delete(model, "s", 6)
            assert (batch.given, batch.done, service.items) == (103, 0, {})
        assert (batch.given, batch.done, batch.failures) == (103, 103, ())
    assert len(service.items) == 99


async def test_a_batch_that_pauses_sends_what_it_has(open_session, service, readings):
    async with open_session() as session, session.batch() as batch:
        await batch.put(readings(0)[0])
        await asyncio.sleep(1)
        assert batch.done == 1


async def test_a_batch_tells_of_all_failures_at_its_end(open_session, service, readings, model):
    service.fault = lambda request: rejected(request) if "'at': {'N': '3'}" in str(request.body) else None
    async with open_session() as session:
        batch = session.batch()
        with pytest.raises(BatchError) as caught:
            await load(session, readings(*range(10)), batch=batch, deleting=(model, "s", 3))
    assert [(failure.position, failure.subject) for failure in caught.value.failures] == [
        (3, model(sensor="s", at=3, value=3)),
        (10, ("s", 3)),
    ]
    assert (caught.value.total, len(batch.failures)) == (11, 2)


async def test_a_batch_refuses_a_bad_item_where_it_is_given(open_session, service, readings, model):
    async with open_session() as session, session.batch() as batch:
        await batch.put(readings(0)[0])
        with pytest.raises(EncodeError):
            await batch.put(model.model_construct(sensor="", at=1, value=1))
        with pytest.raises(OperationError):
            await batch.delete(model)
        await batch.put(readings(1)[0])
    assert sorted(places(service)) == [0, 1]


async def test_many_tasks_may_fill_one_batch_and_keep_their_order(open_session, service, model):
    async with open_session() as session, session.batch() as batch, asyncio.TaskGroup() as group:
        for n in range(100):
            group.create_task(batch.put(model(sensor="s", at=0, value=n)))
    assert [int(item["value"]["N"]) for _place, item in service.writes] == list(range(100))


async def test_an_exception_in_the_block_withdraws_the_unsent_and_waits_for_the_sent(open_session, service, readings):
    service.max_connections = 1
    service.latency = 2.0
    async with open_session() as session:
        with pytest.raises(LookupError) as caught:
            await load(session, readings(*range(60)), LookupError("enough"))
        assert places(service) == list(range(25))
        assert "25 were written, 0 failed, 35 were withdrawn" in caught.value.__notes__[0]
        await asyncio.sleep(60)
    assert len(service.writes) == 25


async def test_a_cancelled_block_does_not_wait(open_session, service, readings):
    service.max_connections = 1
    service.latency = 2.0
    loop = asyncio.get_running_loop()
    async with open_session() as session:
        begun = loop.time()
        with anyio.move_on_after(1):
            await load(session, readings(*range(60)))
        assert loop.time() - begun == 1
        await asyncio.sleep(60)
    assert places(service) == list(range(25))


async def test_a_batch_is_used_once_and_only_inside_its_block(open_session, readings):
    (item,) = readings(1)
    session = open_session()
    with pytest.raises(SessionStateError):
        session.batch()
    async with session:
        batch = session.batch()
        with pytest.raises(SessionStateError, match="only inside"):
            await batch.put(item)
        async with batch:
            pass
        with pytest.raises(SessionStateError, match="only inside"):
            await batch.delete(item)
        with pytest.raises(SessionStateError, match="used once"):
            await batch.__aenter__()


async def fill(session, items, *, forgotten):
    """Put items in a batch, and forget to await some."""
    async with session.batch() as opened:
        for item in items:
            await opened.put(item)
        for item in forgotten:
            with pytest.warns(RuntimeWarning, match="never awaited"):
                opened.put(item)


@pytest.mark.parametrize(("count", "text"), [(1, "1 call of put or delete was"), (2, "2 calls of put or delete were")])
async def test_a_put_that_is_not_awaited_is_told_at_the_end_of_the_batch(open_session, service, readings, count, text):
    async with open_session() as session:
        with pytest.raises(OperationError, match=f"^{text} not awaited in the batch.*await batch.put"):
            await fill(session, readings(1, 2, 3), forgotten=readings(*range(10, 10 + count)))
    assert len(service.items) == 3


async def test_a_delete_that_is_not_awaited_is_told_at_the_end_of_the_batch(open_session, model):
    async with open_session() as session:
        batch = session.batch()
        await batch.__aenter__()
        for key in [(model, "s", 1), (model(sensor="s", at=1, value=1),)]:
            with pytest.warns(RuntimeWarning, match="never awaited"):
                batch.delete(*key)
        with pytest.raises(OperationError, match="^2 calls"):
            await batch.__aexit__(None, None, None)


async def test_another_error_of_the_block_is_told_before_what_was_not_awaited(open_session, readings):
    async with open_session() as session:
        batch = session.batch()
        await batch.__aenter__()
        with pytest.warns(RuntimeWarning, match="never awaited"):
            batch.put(*readings(1))
        await batch.__aexit__(ValueError, ValueError("mine"), None)


async def test_a_batch_of_a_closed_session_says_so(open_session, service, readings):
    first, second = readings(1, 2)
    async with open_session() as session:
        batch = await session.batch().__aenter__()
        await batch.put(first)
        await session.close()
        with pytest.raises(SessionClosedError):
            await batch.put(second)
        with pytest.raises(BatchError, match="1 of 1 items failed"):
            await batch.__aexit__(None, None, None)
    assert [type(failure.error) for failure in batch.failures] == [SessionClosedError]


async def test_a_refused_table_fails_every_item_with_an_error_of_its_own(open_session, service, readings):
    facts = {"service_code": "AccessDeniedException", "table": "readings", "status": 400}
    service.fault = lambda request: AccessDeniedError("no", operation=request.operation, **facts)
    async with open_session() as session:
        with pytest.raises(BatchError) as caught:
            await session.put_many(readings(0, 1, 2))
    assert len({id(failure.error) for failure in caught.value.failures}) == 3


async def test_other_tasks_run_while_items_are_encoded(open_session, readings):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    async with open_session() as session:
        ticking = asyncio.create_task(tick())
        await session.put_many(readings(*range(3000)))
        ticking.cancel()
    assert ticks > 5


async def test_a_batch_says_what_to_write_for_a_keyword(open_session, model):
    reading = model(sensor="s", at=1, value=1)
    async with open_session() as session, session.batch() as batch:
        for call, message in (
            (lambda: batch.put(model, at=1), "put() takes no keyword 'at'; write put(Reading(at=1))"),
            (lambda: batch.put(reading, where=1), "put() takes no keyword 'where'; it takes read_first"),
            (
                lambda: batch.put(reading, reads_first=1),
                "put() takes no keyword 'reads_first'; did you mean read_first?",
            ),
            (lambda: batch.delete(model, at=1), "delete() takes no keyword 'at'; write delete(Reading, sensor, 1)"),
        ):
            with pytest.raises(TypeError) as caught:
                await call()
            assert str(caught.value) == message
        assert batch.given == 0
