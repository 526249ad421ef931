"""Cancelling one waiter, or closing the session, with batches queued, on their way and in backoff."""

import asyncio

import pytest

from dynamap_async import BatchPolicy, RetryPolicy
from dynamap_async.errors import ConnectionFailedError, Outcome, SessionClosedError

LONG = RetryPolicy(base_delay_seconds=1e6, max_delay_seconds=1e6)


def started(awaitables):
    return [asyncio.ensure_future(each) for each in awaitables]


async def ended(tasks):
    await asyncio.wait(tasks)
    return [asyncio.CancelledError if task.cancelled() else task.exception() or task.result() for task in tasks]


def gets(session, model, count):
    return started(session.get(model, "s", n) for n in range(count))


def puts(session, model, *keys):
    return started(session.put(model(sensor="s", at=at, value=n)) for n, at in enumerate(keys))


@pytest.fixture
def served(transport, service):
    service.fill(10)
    transport.otherwise = service
    return service


@pytest.fixture
def idle():
    """Return a function that asserts that the executor of a session holds nothing any more."""

    async def check(session, transport):
        await asyncio.sleep(0)
        executor = session._executor
        assert not executor._reads.open
        assert not executor._writes.open
        assert not executor._writes._rules.lines
        assert not any(executor._reads._rules.joinable)
        assert executor._slots.free == transport.max_connections

    return check


@pytest.mark.parametrize("ticks", range(5), ids=lambda ticks: f"{ticks} ticks")
@pytest.mark.parametrize("which", [0, 3, 9], ids=["the opener", "one of many", "the last"])
async def test_a_cancelled_waiter_cancels_nobody_else(transport, served, open_session, model, idle, ticks, which):
    transport.latency = 1.0
    async with open_session() as session:
        tasks = gets(session, model, 10)
        for _ in range(ticks):
            await asyncio.sleep(0)
        tasks[which].cancel()
        results = await ended(tasks)
        assert results.pop(which) is asyncio.CancelledError
        assert sorted(item.at for item in results) == sorted(set(range(10)) - {which})
        assert len(transport.requests) == 1
        await idle(session, transport)


@pytest.mark.parametrize(
    "ticks", [0, 1, pytest.param(2, marks=pytest.mark.counts_turns)], ids=lambda ticks: f"{ticks} ticks"
)
@pytest.mark.parametrize("begin", [gets, lambda *of, **_: puts(*of[:2], 1, 1, 2)], ids=["reads", "writes"])
async def test_when_all_are_cancelled_nothing_is_sent(transport, served, open_session, model, idle, ticks, begin):
    async with open_session() as session:
        tasks = begin(session, model, 5)
        for _ in range(ticks):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        assert set(await ended(tasks)) == {asyncio.CancelledError}
        await asyncio.sleep(1)
        assert transport.requests == []
        await idle(session, transport)


async def test_one_of_two_who_wait_for_one_item_may_leave(transport, served, open_session, model):
    transport.latency = 1.0
    async with open_session() as session:
        tasks = started(session.get(model, "s", 1) for _ in range(2))
        await asyncio.sleep(0.5)
        tasks[0].cancel()
        assert (await ended(tasks))[1].at == 1
    assert len(transport.requests) == 1


async def test_reads_that_nobody_waits_for_are_broken_off(transport, served, open_session, model, idle):
    transport.latency = 60.0
    async with open_session() as session:
        tasks = gets(session, model, 3)
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        await ended(tasks)
        await asyncio.sleep(0.001)  # over a connection, the other end has to notice
        assert transport.under_way == 0
        await idle(session, transport)


async def test_a_cancelled_write_that_was_sent_completes_and_keeps_its_place(transport, served, open_session, model):
    transport.latency = 1.0
    async with open_session() as session:
        first, second = puts(session, model, 77, 77)
        await asyncio.sleep(0.5)
        first.cancel()
        assert (await ended([first, second]))[1].value == 1
    assert served.values(77) == [0, 1]


@pytest.mark.parametrize("withdrawn", [0, 1], ids=["next", "later"])
async def test_a_cancelled_write_that_was_not_sent_is_withdrawn(transport, served, open_session, model, withdrawn):
    transport.latency, transport.max_connections = 1.0, 1
    async with open_session() as session:
        busy = started([session.get(model, "s", 1)])
        await asyncio.sleep(0.1)
        tasks = puts(session, model, 77, 77, 77)
        await asyncio.sleep(0.1)
        tasks[withdrawn].cancel()
        await ended([*busy, *tasks])
    assert served.values(77) == [n for n in range(3) if n != withdrawn]


async def test_a_write_cancelled_in_its_backoff_delays_nobody(
    transport, served, open_session, model, throttled, no_jitter, idle
):
    transport.script(throttled())
    async with open_session(retry=LONG) as session:
        begun = asyncio.get_running_loop().time()
        first, second = puts(session, model, 77, 77)
        await asyncio.sleep(1)
        first.cancel()
        assert (await ended([first, second]))[1].value == 1
        assert asyncio.get_running_loop().time() == begun + 1
        await idle(session, transport)
    assert asyncio.get_running_loop().time() == begun + 1


async def test_a_timeout_of_asyncio_works_by_cancellation_only(
    transport, served, open_session, model, throttled, no_jitter
):
    transport.script(throttled())
    async with open_session(retry=RetryPolicy(base_delay_seconds=5.0)) as session:
        begun = asyncio.get_running_loop().time()

        async def hurried():
            async with asyncio.timeout(3):
                await session.get(model, "s", 0)

        first, second = await ended(started([hurried(), session.get(model, "s", 1)]))
        # Its deadline is not known beforehand, so the wait begins, and ends as a cancellation: no throttle is told.
        assert isinstance(first, TimeoutError)
        assert second.at == 1
    assert transport.times == [begun, begun + 5]
    assert [request.operation for request in transport.requests] == ["BatchGetItem", "GetItem"]


async def _within(awaitable, delay):
    async with asyncio.timeout(delay):
        await awaitable


@pytest.mark.parametrize("way", [asyncio.wait_for, _within])
async def test_a_write_that_timed_out_on_its_way_completes(transport, served, open_session, model, way):
    transport.latency = 2.0
    async with open_session() as session:
        with pytest.raises(TimeoutError):
            await way(session.put(model(sensor="s", at=77)), 1.0)
        assert served.values(77) == []
    assert served.values(77) == [0]


async def test_a_task_of_the_executor_cancelled_from_outside_leaves_nobody_waiting(
    transport, served, open_session, model, idle
):
    transport.latency = 20.0
    async with open_session() as session:
        tasks = [*gets(session, model, 3), *puts(session, model, 77, 78, 77)]
        for _ in range(3):
            await asyncio.sleep(0)
        for task in [*session._executor._reads.tasks, *session._executor._writes.tasks]:
            task.cancel()
        *failed, last = await ended(tasks)
        assert {type(error) for error in failed} == {ConnectionFailedError}
        assert last.value == 2
        await idle(session, transport)


@pytest.mark.counts_turns
async def test_a_task_cancelled_before_it_begins_leaves_nobody_waiting(transport, served, open_session, model, idle):
    async with open_session() as session:
        tasks = puts(session, model, 77, 78)
        for _ in range(2):
            await asyncio.sleep(0)
        assert session._executor._writes.tasks
        for task in session._executor._writes.tasks:
            task.cancel()
        errors = await ended(tasks)
        assert [error.outcome for error in errors] == [Outcome.NOT_SENT] * 2
        assert transport.requests == []
        await idle(session, transport)


async def test_closing_tells_each_writer_of_a_batch_what_is_known(transport, served, open_session, model):
    transport.latency, transport.max_connections = 60.0, 1
    async with open_session(close_timeout_seconds=5) as session:
        tasks = puts(session, model, 77, 78, 77)
        await asyncio.sleep(1)
        tasks += puts(session, model, 79, 80)
        await asyncio.sleep(1)
    errors = await ended(tasks)
    unknown, not_sent = Outcome.UNKNOWN, Outcome.NOT_SENT
    assert [error.outcome for error in errors] == [unknown, unknown, not_sent, not_sent, not_sent]
    assert len(set(map(id, errors))) == 5


async def test_reads_do_not_keep_accepted_writes_from_being_sent(transport, served, open_session, model):
    transport.latency, transport.max_connections = 4.0, 1
    async with open_session(close_timeout_seconds=5) as session:
        reads = gets(session, model, 3)
        await asyncio.sleep(0.1)
        writes = puts(session, model, 77)
        await asyncio.sleep(0.1)
    assert {type(error) for error in await ended(reads)} == {SessionClosedError}
    assert (await ended(writes))[0].at == 77


async def test_closing_leaves_no_timer(transport, open_session, model, throttled, no_jitter):
    transport.otherwise = throttled()
    async with open_session(retry=LONG, close_timeout_seconds=1) as session:
        tasks = [*gets(session, model, 3), *puts(session, model, 1, 2)]
        await asyncio.sleep(1)
    await ended(tasks)
    assert [timer for timer in asyncio.get_running_loop()._scheduled if not timer.cancelled()] == []


async def test_a_window_that_is_open_when_the_session_closes_is_closed(transport, served, open_session, model):
    async with open_session(batching=BatchPolicy(window_seconds=2.0), close_timeout_seconds=5) as session:
        tasks = [*gets(session, model, 2), *puts(session, model, 77)]
        await asyncio.sleep(0.1)
    first, second, third = await ended(tasks)
    assert type(first) is type(second) is SessionClosedError
    assert third.at == 77
