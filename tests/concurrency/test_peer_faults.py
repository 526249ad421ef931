"""What was found broken in other batchers and mappers, and must never be in this one."""

import asyncio

import pytest

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import ConditionalCheckFailedError, ConnectionFailedError, InternalServerError

TRANSIENT = RetryPolicy(max_attempts=1)


class Note(Model, table="readings"):
    """Another model of the table of readings."""

    sensor: PartitionKey[str]
    at: SortKey[int]
    words: Attr[str] = attr(default="")


def keys_of(request):
    return [key["at"]["N"] for entry in request.body["RequestItems"].values() for key in entry["Keys"]]


async def settled(tasks):
    await asyncio.wait(tasks)
    return [asyncio.CancelledError if task.cancelled() else task.exception() or task.result() for task in tasks]


@pytest.fixture
def served(transport, service):
    service.fill(10)
    transport.otherwise = service
    return service


# A DataLoader's three faults.


@pytest.mark.parametrize("ticks", [2, 3, 10])
async def test_a_dispatch_that_is_cancelled_leaves_no_waiter_pending(transport, served, open_session, model, ticks):
    transport.latency = 60.0
    async with open_session() as session:
        waiting = [asyncio.create_task(session.get(model, "s", n)) for n in range(3)]
        for _ in range(ticks):
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task(), *waiting}:
            task.cancel()
        async with asyncio.timeout(10):
            assert {type(error) for error in await settled(waiting)} == {ConnectionFailedError}
        transport.latency = 0.0
        assert (await session.get(model, "s", 1)).at == 1


async def test_a_failure_that_passes_is_not_kept_for_later_callers(transport, served, open_session, model, refusal):
    transport.script(refusal(InternalServerError), refusal(InternalServerError))
    async with open_session(retry=TRANSIENT) as session:
        for count in (1, 2):
            failed = [asyncio.create_task(session.get(model, "s", n)) for n in range(count)]
            assert {type(error) for error in await settled(failed)} == {InternalServerError}
        again = [asyncio.create_task(session.get(model, "s", n)) for n in range(2)]
        assert [item.at for item in await settled(again)] == [0, 1]


@pytest.mark.parametrize("coalesce", [True, False])
async def test_equal_keys_never_share_a_call(transport, served, open_session, model, coalesce):
    async with open_session() as session:
        asked = [session.get(model, "s", n, coalesce=coalesce or n > 7) for n in (7, 7, 7, 8, 9)]
        found = await settled([asyncio.ensure_future(each) for each in asked])
    assert [item.at for item in found] == [7, 7, 7, 8, 9]
    for request in transport.requests:
        if request.operation == "BatchGetItem":
            assert len(set(keys_of(request))) == len(keys_of(request))


async def test_a_key_that_waits_to_be_sent_again_does_not_share_a_call_with_its_like(
    transport, served, open_session, model, no_jitter
):
    served.limit = 1
    transport.max_connections = 1
    async with open_session(retry=RetryPolicy(base_delay_seconds=1.0, max_delay_seconds=1.0)) as session:
        early = [asyncio.create_task(session.get(model, "s", n)) for n in range(3)]
        await asyncio.sleep(0.5)
        transport.latency = 2.0
        busy = asyncio.create_task(session.get(model, "s", 9))
        await asyncio.sleep(0.1)
        late = [asyncio.create_task(session.get(model, "s", n)) for n in range(3)]
        served.limit = None
        assert [item.at for item in await settled([*early, busy, *late])] == [0, 1, 2, 9, 0, 1, 2]
    for request in transport.requests:
        if request.operation == "BatchGetItem":
            assert len(set(keys_of(request))) == len(keys_of(request))


# Faults of mappers that concern how requests are carried out.


async def test_other_tasks_run_while_a_request_waits_to_be_sent_again(
    transport, served, open_session, model, throttled, no_jitter
):
    transport.script(throttled())
    ticks = []

    async def tick():
        while True:
            ticks.append(asyncio.get_running_loop().time())
            await asyncio.sleep(1)

    async with open_session(retry=RetryPolicy(base_delay_seconds=100, max_delay_seconds=100)) as session:
        ticking = asyncio.create_task(tick())
        await session.get(model, "s", 1)
        ticking.cancel()
        await settled([ticking])
    assert len(ticks) >= 100


async def test_a_loop_that_is_left_early_leaves_no_request_ahead(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(50), 1.0
    async with open_session() as session:
        async with readings(session).stream() as stream:
            await anext(stream)
            await asyncio.sleep(0)
        assert transport.under_way == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_failed_condition_is_an_error(transport, open_session, model, refusal):
    transport.script(refusal(ConditionalCheckFailedError))
    async with open_session() as session:
        with pytest.raises(ConditionalCheckFailedError):
            await session.put(model(sensor="s", at=1), where=model.value == 5)


@pytest.mark.parametrize("many", [False, True], ids=["gets", "each"])
async def test_two_models_of_one_table_share_a_call_and_stay_themselves(served, transport, open_session, model, many):
    async with open_session() as session:
        if many:
            finds = [session.each(each, [("s", n)]) for n, each in enumerate((model, Note))]
            reading, note = [(await anext(pairs))[1] for pairs in finds]
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(session.get(each, "s", n)) for n, each in enumerate((model, Note))]
            reading, note = (task.result() for task in tasks)
            assert [request.operation for request in transport.requests] == ["BatchGetItem"]
    assert (type(reading), reading.at, type(note), note.at) == (model, 0, Note, 1)


@pytest.mark.parametrize("operation", ["put", "get"])
async def test_what_is_left_unprocessed_is_not_sent_again_without_a_pause_or_an_end(
    transport, served, open_session, model, no_jitter, operation
):
    served.limit = 0
    policy = RetryPolicy(max_attempts=4, base_delay_seconds=1.0)
    async with open_session(retry=policy) as session:
        run = {"get": lambda n: session.get(model, "s", n), "put": lambda n: session.put(model(sensor="s", at=n))}
        await settled([asyncio.ensure_future(run[operation](n)) for n in range(3)])
    assert transport.waits == [1.0, 2.0, 4.0]
