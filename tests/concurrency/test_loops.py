"""On every event loop that asyncio programs use, and with tasks that begin at once, the executor does the same."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from dynamap_async import Model, PartitionKey, RetryPolicy, attr
from dynamap_async.errors import ConnectionFailedError, Outcome, SessionClosedError


@pytest.fixture
def run(loop_factory, transport, service, open_session):
    """Return a function that runs a program with a session on an event loop, and asserts that it leaves no task."""
    transport.otherwise = service
    service.fill(1000)

    def run(program, **settings):
        async def main():
            async with open_session(**settings) as session:
                result = await program(session)
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            return result

        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(main())

    return run


async def together(awaitables):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in awaitables]
    return [task.result() for task in tasks]


def operations(transport):
    return [request.operation for request in transport.requests]


def test_gets_of_distinct_keys_fill_their_calls(run, transport, model):
    found = run(lambda session: together(session.get(model, "s", n) for n in range(1000)))
    assert [item.at for item in found] == list(range(1000))
    assert operations(transport) == ["BatchGetItem"] * 10


def test_gets_of_one_key_are_one_request(run, transport, model):
    run(lambda session: together(session.get(model, "s", 1) for _ in range(1000)))
    assert operations(transport) == ["GetItem"]


def test_loads_fill_their_calls_and_read_each_key_once(run, transport, model):
    async def program(session):
        loader = session.loader(model)
        keys = [("s", n % 200) for n in range(400)]
        return await together(loader.load(key) for key in keys) + await loader.load_many(keys)

    assert [item.at for item in run(program)] == [n % 200 for n in range(400)] * 2
    assert operations(transport) == ["BatchGetItem"] * 2


def test_puts_fill_their_calls(run, transport, service, model):
    run(lambda session: together(session.put(model(sensor="t", at=n)) for n in range(1000)))
    assert operations(transport) == ["BatchWriteItem"] * 40
    assert len(service.items) == 2000


def test_each_item_gets_a_number(run, transport):
    class Ticket(Model, table="tickets"):
        number: PartitionKey[int] = attr(autoincrement=True)

    taken = []

    def counter(request):
        if request.operation != "UpdateItem":
            return {}
        taken.append(int(request.body["ExpressionAttributeValues"][":count"]["N"]))
        return {"Attributes": {"n": {"N": str(sum(taken))}}}

    transport.otherwise = counter
    tickets = run(lambda session: together(session.create(Ticket()) for _ in range(3)))
    assert sorted(ticket.number for ticket in tickets) == [1, 2, 3]
    assert taken == [3]


def test_writes_of_one_key_keep_their_order(run, service, model):
    service.history.clear()
    run(lambda session: together(session.put(model(sensor="s", at=1, value=n)) for n in range(20)))
    assert service.values(1) == list(range(20))


def test_many_items_are_written_and_read(run, transport, model):
    async def program(session):
        await session.put_many(model(sensor="t", at=n) for n in range(100))
        return await session.get_many(model, [("t", n) for n in range(100)])

    assert [item.at for item in run(program)] == list(range(100))
    assert operations(transport) == ["BatchWriteItem"] * 4 + ["BatchGetItem"]


def test_what_failed_is_sent_again(run, transport, model, throttled):
    transport.script(throttled(), throttled())
    policy = RetryPolicy(base_delay_seconds=0.0)
    found = run(lambda session: together(session.get(model, "s", n) for n in range(3)), retry=policy)
    assert [item.at for item in found] == [0, 1, 2]
    assert len(transport.requests) == 3


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_cancelled_waiter_cancels_nobody_else(run, transport, model, which):
    transport.latency = 0.001

    async def program(session):
        tasks = [asyncio.create_task(session.get(model, "s", n)) for n in range(3)]
        tasks[which].cancel()
        await asyncio.wait(tasks)
        assert tasks.pop(which).cancelled()
        return [task.result().at for task in tasks]

    assert run(program) == sorted({0, 1, 2} - {which})
    assert len(transport.requests) == 1


def test_when_all_are_cancelled_nothing_is_sent(run, transport, model):
    async def program(session):
        tasks = [asyncio.create_task(session.get(model, "s", n)) for n in range(3)]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    run(program)
    assert transport.requests == []


async def _timeout_of_asyncio(awaitable):
    async with asyncio.timeout(0.001):
        await awaitable


async def _timeout_of_anyio(awaitable):
    with anyio.fail_after(0.001):
        await awaitable


@pytest.mark.parametrize("hurried", [_timeout_of_asyncio, _timeout_of_anyio])
def test_a_timeout_ends_one_waiter_only(run, transport, model, hurried):
    transport.latency = 0.1

    async def program(session):
        late = asyncio.create_task(hurried(session.get(model, "s", 1)))
        found = await session.get(model, "s", 2)
        return late.exception(), found.at

    late, found = run(program)
    assert isinstance(late, TimeoutError)
    assert found == 2
    assert len(transport.requests) == 1


def test_a_stream_that_is_left_early_leaves_no_task(run, transport, table, readings):
    transport.otherwise = table(500)
    transport.latency = 0.001

    async def program(session):
        async for item in readings(session):
            if item.at == 25:
                break
        async with readings(session).stream() as stream:
            await anext(stream)
        return len(await asyncio.create_task(readings(session)))

    assert run(program) == 500
    assert transport.under_way == 0


def test_gathered_queries_run_together(run, transport, table, readings):
    transport.otherwise = table(30)
    results = run(lambda session: session.gather(readings(session), readings(session), readings(session).count()))
    assert [len(results[0]), len(results[1]), results[2]] == [30, 30, 30]


def test_closing_tells_reads_and_writes_what_is_known(run, transport, model):
    transport.latency = 60.0
    tasks = []

    async def program(session):
        tasks.extend(
            asyncio.create_task(each) for each in (session.find(model, "s", 1), session.put(model(sensor="s", at=1)))
        )
        for _ in range(10):
            await asyncio.sleep(0)
        assert transport.under_way == 2

    run(program, close_timeout_seconds=0.0)
    read, write = (task.exception() for task in tasks)
    assert isinstance(read, SessionClosedError)
    assert isinstance(write, ConnectionFailedError)
    assert write.outcome is Outcome.UNKNOWN


async def put(session, item):
    await session.put(item)


async def create(session, item):
    await session.create(item)


async def transaction(session, item):
    async with session.transaction() as tx:
        tx.put(item)
        tx.put(type(item)(sensor="t", at=item.at))


@pytest.mark.parametrize("write", [put, create, transaction])
def test_writes_that_wait_in_line_are_not_sent_when_the_session_gives_up(run, transport, model, write):
    transport.latency = 60.0
    tasks = []

    async def program(session):
        tasks.extend(asyncio.create_task(write(session, model(sensor="s", at=1, value=n))) for n in range(4))
        while not transport.under_way:  # noqa: ASYNC110 - only a few turns of the loop
            await asyncio.sleep(0)

    run(program, close_timeout_seconds=0.0)
    assert [task.exception().outcome for task in tasks] == [Outcome.UNKNOWN, *[Outcome.NOT_SENT] * 3]
    assert len(transport.requests) == 1


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_a_read_that_is_asked_for_just_before_closing_is_given_up(run, transport, model, turns):
    transport.latency = 60.0
    tasks, closed = [], []

    async def program(session):
        tasks.append(asyncio.create_task(session.find(model, "s", 1)))
        for _ in range(turns):
            await asyncio.sleep(0)
        transport.otherwise = lambda request: closed.append(transport.closed) or {}

    run(program)
    assert isinstance(tasks[0].exception(), SessionClosedError)
    assert closed == []


async def test_a_call_from_another_thread_is_no_part_of_a_test_that_passes():
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor() as threads, pytest.raises(RuntimeError, match="Non-thread-safe operation"):
        threads.submit(loop.call_soon, print).result()
