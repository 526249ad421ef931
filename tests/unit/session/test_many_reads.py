"""get_many, each, and the switch that keeps a read alone."""

import asyncio
import gc

import anyio
import pytest

from dynamap_async import BatchPolicy, Find, Get
from dynamap_async.errors import (
    AccessDeniedError,
    BatchError,
    EncodeError,
    ItemValidationError,
    OperationError,
    SessionClosedError,
    SessionStateError,
)


def keys(*numbers):
    return [("s", number) for number in numbers]


async def collect(pairs, seen):
    async for key, _item in pairs:
        seen.append(key)


def denied(operation, table="readings"):
    return AccessDeniedError("no", service_code="AccessDeniedException", operation=operation, table=table, status=400)


@pytest.mark.parametrize("count", [2, 100, 101, 250, 1000, 3000])
async def test_n_distinct_keys_are_one_call_for_each_hundred(open_session, service, stored, model, count):
    stored(count)
    async with open_session() as session:
        found = await session.get_many(model, keys(*range(count)))
    assert [item.value for item in found] == list(range(count))
    assert len(service.requests) == -(-count // 100)
    assert service.counts.get("GetItem", 0) == (count % 100 == 1)


async def test_nothing_that_was_read_waits_for_the_garbage_collector(open_session, stored, model):
    stored(250)
    async with open_session() as session:
        gc.collect()
        gc.disable()
        try:
            await session.get_many(model, keys(*range(250)))
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            waiting = sum(isinstance(each, (model, Find)) for each in gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert waiting == 0


async def test_no_key_sends_nothing_and_one_key_is_a_get_item(open_session, service, stored, model):
    stored(1)
    async with open_session() as session:
        assert await session.get_many(model, []) == []
        assert service.requests == []
        assert await session.get_many(model, keys(0)) == [model(sensor="s", at=0, value=0)]
    assert service.counts == {"GetItem": 1}


async def test_results_keep_the_order_of_the_keys_with_none_where_absent(open_session, stored, model):
    stored(3)
    async with open_session() as session:
        found = await session.get_many(model, keys(2, 7, 0, 1))
    assert [item and item.at for item in found] == [2, None, 0, 1]


async def test_equal_keys_are_sent_once_and_each_place_has_its_own_instance(open_session, service, stored, model):
    stored(2)
    async with open_session() as session:
        first, *_middle, last = await session.get_many(model, keys(0, *([1] * 300), 0))
    assert first == last
    assert first is not last
    assert [len(r.body["RequestItems"]["readings"]["Keys"]) for r in service.requests] == [2]


async def test_a_partition_key_alone_is_written_as_it_is(open_session, service, other_model):
    service.items["sensors", "roof"] = {"name": {"S": "roof"}, "place": {"S": "top"}}
    async with open_session() as session:
        found = await session.get_many(other_model, ["roof", ("cellar",)])
    assert found == [other_model(name="roof", place="top"), None]


async def test_several_models_share_a_call(open_session, service, stored, model, other_model):
    stored(2)
    service.items["sensors", "roof"] = {"name": {"S": "roof"}}
    async with open_session() as session:
        found = await session.get_many([Find(other_model, "roof"), Find(model, "s", 1), Find(other_model, "cellar")])
    assert found == [other_model(name="roof"), model(sensor="s", at=1, value=1), None]
    assert service.counts == {"BatchGetItem": 1}


async def test_consistent_and_eventual_reads_are_kept_apart(open_session, service, model):
    async with open_session() as session:
        await session.get_many(model, keys(0, 1), consistent_read=True)
        await session.get_many([Find(model, "s", 0), Find(model, "s", 1), Find(model, "s", 0, consistent_read=True)])
    one, *others = service.requests
    assert one.body["RequestItems"]["readings"]["ConsistentRead"] is True
    assert sorted(request.operation for request in others) == ["BatchGetItem", "GetItem"]


async def test_the_policys_number_of_keys_fills_the_calls(open_session, service, model):
    async with open_session(batching=BatchPolicy(max_keys=30)) as session:
        await session.get_many(model, keys(*range(90)))
    assert service.counts == {"BatchGetItem": 3}


async def test_a_bad_key_is_refused_and_its_neighbours_are_read(open_session, service, stored, model):
    stored(3)
    async with open_session() as session:
        with pytest.raises(BatchError, match="2 of 5 items failed; the first is number 1, with EncodeError") as caught:
            await session.get_many(model, [("s", 0), ("s", "x"), ("s", 1), "s", ("s", 2)])
    error = caught.value
    assert [item and item.at for item in error.results] == [0, None, 1, None, 2]
    assert [(failure.position, failure.subject, type(failure.error)) for failure in error.failures] == [
        (1, ("s", "x"), EncodeError),
        (3, "s", OperationError),
    ]
    assert (error.total, error.succeeded) == (5, 3)
    assert error.__cause__ is error.failures[0].error


async def test_an_item_that_does_not_fit_fails_in_each_of_its_places(open_session, service, stored, model):
    stored(2)
    service.items["readings", "s", "1"]["value"] = {"S": "many"}
    async with open_session() as session:
        with pytest.raises(BatchError) as caught:
            await session.get_many(model, keys(0, 1, 1))
    first, second = caught.value.failures
    assert isinstance(first.error, ItemValidationError)
    assert first.error is not second.error
    assert caught.value.results[0] == model(sensor="s", at=0, value=0)


async def test_a_refused_table_fails_its_own_keys_only(open_session, service, stored, model, other_model):
    stored(1)
    service.fault = lambda r: denied(r.operation, "sensors") if "sensors" in str(r.body) else None
    async with open_session() as session:
        with pytest.raises(BatchError) as caught:
            await session.get_many([Find(model, "s", 0), Find(other_model, "a"), Find(other_model, "a")])
    assert caught.value.results[0] is not None
    assert [failure.position for failure in caught.value.failures] == [1, 2]
    errors = [failure.error for failure in caught.value.failures]
    assert all(isinstance(error, AccessDeniedError) for error in errors)
    assert errors[0] is not errors[1]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda session, model: session.get_many(model, "abc"), "is not an iterable of keys"),
        (lambda session, model: session.get_many(model, 5), "is not an iterable of keys"),
        (lambda session, model: session.get_many(model), "the keys are missing"),
        (lambda session, model: session.get_many("readings", []), "is not a model"),
    ],
)
async def test_what_are_no_keys_is_refused_as_a_whole(open_session, service, model, wrong, match):
    async with open_session() as session:
        with pytest.raises(OperationError, match=match):
            await wrong(session, model)
    assert service.requests == []


async def test_what_is_no_find_operation_fails_by_itself(open_session, stored, model):
    stored(1)
    async with open_session() as session:
        with pytest.raises(BatchError, match="is not a Find operation") as caught:
            await session.get_many([("s", 1), Find(model, "s", 0)])
    assert caught.value.results[1] is not None


async def test_a_session_that_is_not_open_says_so(open_session, model):
    session = open_session()
    with pytest.raises(SessionStateError):
        await session.get_many(model, keys(1))
    with pytest.raises(SessionStateError):
        session.each(model, keys(1))


async def test_cancelling_get_many_withdraws_what_was_not_sent(open_session, service, model):
    service.gate = asyncio.Event()
    service.max_connections = 2
    async with open_session() as session:
        with anyio.move_on_after(1):
            await session.get_many(model, keys(*range(1000)))
        assert service.counts == {"BatchGetItem": 2}
        service.gate.set()
        assert await session.find(model, "s", 5000) is None
    assert service.counts == {"BatchGetItem": 2, "GetItem": 1}


async def test_closing_the_session_fails_the_reads_that_wait(open_session, service, model):
    service.gate = asyncio.Event()
    session = open_session()
    async with session:
        reading = asyncio.create_task(session.get_many(model, keys(0, 1)))
        await asyncio.sleep(1)
        await session.close()
        with pytest.raises(BatchError) as caught:
            await reading
    assert {type(failure.error) for failure in caught.value.failures} == {SessionClosedError}


async def test_a_read_that_is_not_to_coalesce_travels_alone(open_session, service, stored, model):
    stored(3)
    async with open_session() as session, asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(session.get(model, "s", 0)),
            group.create_task(session.get(model, "s", 1)),
            group.create_task(session.get(model, "s", 0, coalesce=False)),
            group.create_task(session.find(model, "s", 2, coalesce=False)),
            group.create_task(session.execute(Get(model, "s", 0, coalesce=False))),
        ]
    assert [task.result().at for task in tasks] == [0, 1, 0, 2, 0]
    assert service.counts == {"BatchGetItem": 1, "GetItem": 3}


async def test_each_yields_every_pair_as_answers_arrive(open_session, service, stored, model):
    stored(250)
    async with open_session() as session:
        found = {key: item async for key, item in session.each(model, keys(*range(251)))}
    assert {key: item and item.at for key, item in found.items()} == {
        ("s", at): at if at < 250 else None for at in range(251)
    }
    assert service.counts == {"BatchGetItem": 3}


async def test_each_takes_find_operations_on_several_models(open_session, service, stored, model, other_model):
    stored(1)
    finds = [Find(model, "s", 0), Find(other_model, "a")]
    async with open_session() as session:
        found = [pair async for pair in session.each(finds)]
    assert sorted(found, key=lambda pair: finds.index(pair[0])) == [
        (finds[0], model(sensor="s", at=0, value=0)),
        (finds[1], None),
    ]


async def test_each_of_nothing_sends_nothing(open_session, service, model):
    async with open_session() as session:
        assert [pair async for pair in session.each(model, [])] == []
    assert service.requests == []


async def test_a_slow_consumer_stops_the_requests(open_session, service, model):
    taken = []

    def endless():
        number = 0
        while True:
            taken.append(number)
            yield ("s", number)
            number += 1

    async with open_session() as session:
        pairs = session.each(model, endless())
        await anext(pairs)
        await asyncio.sleep(60)
        assert len(taken) == 1000
        assert service.counts == {"BatchGetItem": 10}
        for _ in range(100):
            await anext(pairs)
        assert len(taken) == 1100
        await pairs.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(pairs)


@pytest.mark.parametrize("how", ["with", "aclose", "drop"])
async def test_leaving_each_early_withdraws_what_was_not_sent(open_session, service, model, how):
    service.max_connections = 1
    service.latency = 1.0
    async with open_session() as session:
        pairs = session.each(model, keys(*range(1000)))
        if how == "with":
            async with pairs:
                async for _ in pairs:
                    break
        else:
            async for _ in pairs:
                break
        if how == "aclose":
            await pairs.aclose()
        del pairs
        gc.collect()
        await asyncio.sleep(60)
        assert len(service.requests) <= 2


@pytest.mark.parametrize("ticks", range(8))
async def test_each_gives_out_nothing_after_aclose(open_session, service, model, stored, ticks):
    stored(500)
    service.gate = asyncio.Event()
    async with open_session() as session:
        pairs = session.each(model, [("s", n) for n in range(500)])
        first = asyncio.create_task(anext(pairs))
        await asyncio.sleep(1)
        service.gate.set()
        for _ in range(ticks):
            await asyncio.sleep(0)
        await pairs.aclose()
        await asyncio.wait((first,))
        assert isinstance(first.exception(), StopAsyncIteration | None)
        with pytest.raises(StopAsyncIteration):
            await anext(pairs)


async def test_each_tells_of_failures_after_the_last_pair(open_session, stored, model):
    stored(3)
    async with open_session() as session:
        pairs = session.each(model, [("s", 0), ("s", "x"), ("s", 1)])
        seen = []
        with pytest.raises(BatchError) as caught:
            await collect(pairs, seen)
        assert sorted(seen) == [("s", 0), ("s", 1)]
        assert [failure.subject for failure in caught.value.failures] == [("s", "x")]
        assert caught.value.total == 3
        with pytest.raises(StopAsyncIteration):
            await anext(pairs)


async def test_a_cancelled_step_of_each_loses_nothing(open_session, service, stored, model):
    stored(150)
    service.latency = 1.0
    async with open_session() as session:
        pairs = session.each(model, keys(*range(150)))
        with anyio.move_on_after(0.5):
            await anext(pairs)
        assert len([pair async for pair in pairs]) == 150


async def test_two_tasks_cannot_share_one_iterator(open_session, service, model):
    service.latency = 1.0
    async with open_session() as session:
        pairs = session.each(model, keys(1, 2))
        async with asyncio.TaskGroup() as group:
            first = group.create_task(anext(pairs))
            await asyncio.sleep(0.1)
            with pytest.raises(SessionStateError):
                await anext(pairs)
        assert first.result()[1] is None
        await pairs.aclose()


async def test_each_over_a_closed_session_ends_with_its_error(open_session, model):
    async with open_session() as session:
        pairs = session.each(model, (("s", n) for n in range(5000)))
        await anext(pairs)
    with pytest.raises(SessionClosedError):
        [pair async for pair in pairs]


async def test_a_call_that_fails_when_nobody_looks_at_it_any_more_is_not_reported_as_lost(open_session, service, model):
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context["message"]))
    service.latency = 60.0
    async with open_session() as session:
        pairs = session.each(model, keys(*range(100)))
        with anyio.move_on_after(1):
            await anext(pairs)
    await pairs.aclose()
    gc.collect()
    assert reported == []
