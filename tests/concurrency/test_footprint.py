"""What a request costs where nobody looks at it: no task, no object and no call that it does not need.

What nobody watches is counted in a shorter way, so here is also the promise that the counts are the same.
"""

import asyncio
import sys
from collections import Counter
from pathlib import Path

import pytest

import dynamap_async
from dynamap_async import BatchPolicy
from dynamap_async.errors import SessionClosedError

PACKAGE = str(Path(dynamap_async.__file__).parent)
CLOCK = str(Path(PACKAGE) / "testing")
"""What a test runs on, and no request."""
UNSHARED = BatchPolicy(enabled=False)


@pytest.fixture
def answered(transport, service):
    """Let the transport play the service, and report what each request takes."""

    def answer(request):
        keys = request.body.get("RequestItems", {"readings": [None]})["readings"]
        units = 1.0 if request.writes else len(keys["Keys"] if isinstance(keys, dict) else keys) / 2
        spent = {"TableName": "readings", "CapacityUnits": units, "Table": {"CapacityUnits": units}}
        batch = "RequestItems" in request.body
        return {**service(request), "ConsumedCapacity": [spent] if batch else spent}

    transport.otherwise = answer
    service.fill(50)
    return transport


async def calls_of(operation):
    """Return how often each function of the package is called by an operation that was carried out before."""
    await operation()
    calls = Counter()

    def count(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE) and not file.startswith(CLOCK):
            calls[f"{Path(file).stem}.{frame.f_code.co_name}"] += 1

    sys.setprofile(count)
    try:
        await operation()
    finally:
        sys.setprofile(None)
    return calls


async def at_once(*coroutines):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in coroutines]
    return [task.result() for task in tasks]


async def mixed(session, model):
    """Carry out a little of everything, alone and at the same time."""
    for n in range(3):
        await session.get(model, "s", n, coalesce=False)
        await session.put(model(sensor="s", at=n))
    await at_once(*[session.get(model, "s", n % 20) for n in range(30)])
    await at_once(*[session.put(model(sensor="s", at=n)) for n in range(20)])
    await session.delete(model, "s", 49)
    await session.query(model).where(model.sensor == "s")


async def test_a_read_that_is_not_shared_needs_no_task(answered, open_session, model):
    tasks = []
    async with open_session() as session:
        before = asyncio.all_tasks()
        answer = answered.otherwise
        answered.otherwise = lambda request: (tasks.append(asyncio.all_tasks()), answer(request))[1]
        await session.get(model, "s", 1, coalesce=False)
        assert tasks == [before]


@pytest.mark.counts_turns
async def test_a_write_that_is_not_shared_is_sent_before_the_loop_has_turned_twice(answered, open_session, model):
    async with open_session(batching=UNSHARED) as session:
        write = asyncio.create_task(session.put(model(sensor="s", at=1)))
        await asyncio.sleep(0)
        assert answered.requests == []
        await asyncio.sleep(0)
        assert len(answered.requests) == 1
        await write


async def test_requests_that_share_nothing_are_sent_in_the_order_in_which_they_came(answered, open_session, model):
    async with open_session(batching=UNSHARED) as session:
        await at_once(*[session.put(model(sensor="s", at=n)) for n in range(100)])
    assert [request.body["Item"]["at"]["N"] for request in answered.requests] == [str(n) for n in range(100)]


@pytest.mark.parametrize(
    ("name", "most"), [("get", 70), ("put", 86)], ids=["a read that is not shared", "a write that is not shared"]
)
async def test_a_request_alone_takes_few_calls(answered, open_session, model, name, most):
    item = model(sensor="s", at=1)
    async with open_session(batching=UNSHARED) as session:
        operations = {"get": lambda: session.get(model, "s", 1, coalesce=False), "put": lambda: session.put(item)}
        calls = await calls_of(operations[name])
    assert sum(calls.values()) <= most, calls.most_common()


@pytest.mark.parametrize(("name", "most"), [("get", 72), ("put", 80)])
async def test_a_request_that_is_shared_takes_few_calls(answered, open_session, model, name, most):
    items = [model(sensor="s", at=n) for n in range(50)]

    async with open_session() as session:
        operations = {
            "get": lambda: at_once(*[session.get(model, "s", n) for n in range(50)]),
            "put": lambda: at_once(*[session.put(item) for item in items]),
        }
        calls = await calls_of(operations[name])
    assert sum(calls.values()) / 50 <= most, calls.most_common()


async def test_whoever_is_answered_finds_the_slot_free(answered, open_session, model):
    answered.max_connections, item = 1, model(sensor="s", at=1)
    async with open_session(batching=UNSHARED) as session:
        calls = await calls_of(lambda: session.put(item))
    assert not calls.keys() & {"batches.of", "batches.take", "lanes.wake"}


@pytest.mark.parametrize("name", ["get", "put"])
async def test_nothing_is_found_out_twice_about_a_request(answered, open_session, model, name):
    item = model(sensor="s", at=1)
    async with open_session(batching=UNSHARED) as session:
        operations = {"get": lambda: session.get(model, "s", 1, coalesce=False), "put": lambda: session.put(item)}
        calls = await calls_of(operations[name])
    once = ("key.identity_of_any", "ledger.queued", "ledger.sent", "ledger.answered", "consumed.metered")
    assert {each: calls[each] for each in once} == dict.fromkeys(once, 1)
    assert not calls.keys() & {
        "ledger.tell",
        "admission.settled",
        "calls.divided",
        "admission.verdict_of",
        "ledger.payer",
    }


async def test_what_nobody_watches_is_counted_like_what_somebody_watches(answered, open_session, model):
    async with open_session() as plain:
        await mixed(plain, model)
    async with open_session(observer=lambda _: None) as watched:
        await mixed(watched, model)
    assert plain.statistics() == watched.statistics()
    assert plain.usage == watched.usage
    assert plain.usage.read_units > 0
    assert plain.usage.write_units > 0


@pytest.mark.parametrize("form", ["absent", "unknown"])
async def test_an_answer_that_reports_no_units_is_counted_as_such(transport, open_session, model, form):
    transport.otherwise = {} if form == "absent" else {"ConsumedCapacity": {"CapacityUnits": "many"}}
    async with open_session() as session:
        await session.find(model, "s", 1, coalesce=False)
        assert session.usage.unreported_requests == 1
        assert session.usage.items == 1


async def test_a_request_that_was_sent_before_the_first_scope_counts_for_the_session_alone(
    answered, open_session, model
):
    answered.latency = 1.0
    async with open_session() as session:
        read = asyncio.create_task(session.get(model, "s", 1, coalesce=False))
        await asyncio.sleep(0.5)
        async with session.scope("late") as scope:
            await read
        assert scope.usage.requests == 0
        assert session.usage == session.unscoped_usage
        assert session.usage.requests == session.usage.items == 1
        assert session.usage.read_units == 0.5


async def test_a_read_that_is_given_up_leaves_its_task_uncancelled(answered, open_session, model):
    answered.latency = 60

    async def read(session):
        with pytest.raises(SessionClosedError):
            await session.get(model, "s", 1, coalesce=False)
        await asyncio.sleep(1)
        return asyncio.current_task().cancelling()

    async with open_session() as session:
        task = asyncio.create_task(read(session))
        await asyncio.sleep(1)
    assert await task == 0


async def test_a_task_cancelled_while_its_read_is_given_up_stays_cancelled(answered, open_session, model):
    answered.latency = 60
    session = await open_session().__aenter__()
    task = asyncio.create_task(session.get(model, "s", 1, coalesce=False))
    await asyncio.sleep(1)
    task.cancel()
    await session.close()
    with pytest.raises(asyncio.CancelledError):
        await task
