"""A session is opened once, on one event loop, and closing it leaves nothing running."""

import asyncio
import contextlib
import gc
import warnings

import anyio
import pytest
import trio

from dynamap_async import RetryPolicy, Session
from dynamap_async.errors import (
    BatchError,
    ConfigurationError,
    ConnectionFailedError,
    Outcome,
    SessionClosedError,
    SessionStateError,
    ThrottledError,
)


def throttled():
    return ThrottledError("slow down", service_code="ThrottlingException", operation="PutItem", table="t", status=400)


async def test_a_transport_without_connections_is_refused_and_closed(transport, open_session):
    transport.max_connections = 0
    with pytest.raises(ConfigurationError, match="max_pool_connections=0"):
        async with open_session():
            pass
    assert transport.closed == 1


async def use(session, model):
    await session.find(model, "s", 1)


def stream(session, model):
    return session.query(model).where(model.sensor == "s").stream()


async def test_a_session_opens_and_closes_its_transport_once(transport, open_session):
    async with open_session() as session:
        assert (transport.opened, transport.closed) == (1, 0)
    await session.close()
    assert (transport.opened, transport.closed) == (1, 1)


async def test_nothing_is_opened_before_the_session_is_entered(transport, open_session):
    session = open_session()
    assert transport.opened == 0
    await session.close()
    assert transport.closed == 0


@pytest.mark.parametrize("ask", [use, stream], ids=["request", "stream"])
async def test_use_before_opening_is_refused(transport, open_session, model, ask):
    with pytest.raises(SessionStateError, match="not open; use it inside `async with Session"):
        await ask(open_session(), model)
    assert transport.requests == []


@pytest.mark.parametrize("ask", [use, stream], ids=["request", "stream"])
async def test_use_after_closing_is_refused(transport, open_session, model, ask):
    async with open_session() as session:
        pass
    with pytest.raises(SessionClosedError, match="open a new one"):
        await ask(session, model)
    assert transport.requests == []


async def test_a_stream_begun_before_closing_is_refused_afterwards(transport, table, open_session, readings):
    transport.otherwise = table(30)
    async with open_session() as session:
        items = readings(session).stream()
        await anext(items)
    with pytest.raises(SessionClosedError):
        async for _ in items:
            pass


async def test_a_session_cannot_be_opened_twice(transport, open_session):
    async with open_session() as session:
        with pytest.raises(SessionStateError, match="make a new Session"):
            await session.__aenter__()
    with pytest.raises(SessionStateError, match="make a new Session"):
        await session.__aenter__()
    assert (transport.opened, transport.closed) == (1, 1)


async def test_a_session_closed_before_it_was_opened_cannot_be_opened(transport, open_session):
    session = open_session()
    await session.close()
    with pytest.raises(SessionStateError, match="make a new Session"):
        await session.__aenter__()
    assert transport.opened == 0


@pytest.mark.parametrize(
    "ask", [use, stream, lambda session, model: session.close()], ids=["request", "stream", "close"]
)
def test_use_from_another_event_loop_is_refused(transport, open_session, model, ask):
    with asyncio.Runner() as first, asyncio.Runner() as second:
        session = open_session()
        first.run(session.__aenter__())

        async def elsewhere():
            await ask(session, model)

        with pytest.raises(SessionStateError, match=r"another event loop.*httpx\.ASGITransport\(app\).*lifespan"):
            second.run(elsewhere())
        first.run(session.close())
    assert transport.closed == 1


def test_a_session_is_refused_under_trio(open_session, model):
    async def main():
        async with open_session():
            pytest.fail("opened")

    with pytest.raises(SessionStateError, match="asyncio"):
        trio.run(main)


def test_an_open_session_is_refused_under_trio(transport, open_session, model):
    with asyncio.Runner() as runner:
        session = open_session()
        runner.run(session.__aenter__())
        with pytest.raises(SessionStateError, match="asyncio"):
            trio.run(use, session, model)
        runner.run(session.close())


def test_a_stream_begun_in_plain_code_is_refused(open_session, model):
    with asyncio.Runner() as runner:
        session = open_session()
        runner.run(session.__aenter__())
        with pytest.raises(SessionStateError, match="asyncio"):
            stream(session, model)
        runner.run(session.close())


async def test_a_session_may_be_opened_in_one_task_and_closed_in_another(transport, table, open_session, readings):
    transport.otherwise = table(15)
    session = open_session()
    await asyncio.create_task(session.__aenter__())
    assert len(await asyncio.create_task(readings(session))) == 15
    await asyncio.create_task(session.__aexit__(None, None, None))
    assert transport.closed == 1


class RefusedTransport:
    max_connections = 1

    def __init__(self, error):
        self.error = error
        self.closed = 0

    async def open(self):
        await asyncio.sleep(1)
        raise self.error

    async def send(self, request):
        pytest.fail("a transport that is not open was used")

    async def close(self):
        await asyncio.sleep(1)
        self.closed += 1


async def test_a_transport_that_fails_to_open_is_closed_and_its_error_raised(model):
    refused = RefusedTransport(ConfigurationError("no region"))
    session = Session(transport=refused)
    with pytest.raises(ConfigurationError, match="no region"):
        await session.__aenter__()
    assert refused.closed == 1
    await session.close()
    assert refused.closed == 1
    with pytest.raises(SessionStateError):
        await use(session, model)


async def test_a_session_cancelled_while_it_opens_closes_the_transport():
    refused = RefusedTransport(ConfigurationError("never raised"))
    with anyio.move_on_after(0.5):
        await Session(transport=refused).__aenter__()
    assert refused.closed == 1


async def test_closing_fails_reads_at_once(transport, open_session, model):
    transport.latency = 60
    transport.otherwise = {}
    async with open_session() as session:
        reads = [asyncio.create_task(session.find(model, "s", n)) for n in range(3)]
        await asyncio.sleep(1)
        begun = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() == begun
    for read in reads:
        with pytest.raises(SessionClosedError, match="GetItem on readings was under way"):
            await read


async def test_closing_fails_reads_that_wait_to_be_sent_again(transport, open_session, model):
    transport.otherwise = throttled()
    async with open_session(retry=RetryPolicy(base_delay_seconds=1e9, max_delay_seconds=1e9)) as session:
        read = asyncio.create_task(session.find(model, "s", 1))
        await asyncio.sleep(0.1)
    with pytest.raises(SessionClosedError):
        await read


@pytest.mark.parametrize(
    "ask",
    [
        lambda session, model: session.find(model, "s", 1),
        lambda session, model: session.find(model, "s", 1, coalesce=False),
        lambda session, model: session.transact_find((model, "s", 1), (model, "s", 2)),
        lambda session, model: session.get_many(model, [("s", 1), ("s", 2)]),
        lambda session, model: session.query(model).where(model.sensor == "s"),
        lambda session, model: session.create(model(sensor="s", at=1)),
        lambda session, model: session.put(model(sensor="s", at=1)),
        lambda session, model: session.update(model, "s", 1).set(model.value, 2),
        lambda session, model: session.put_many([model(sensor="s", at=1)]),
    ],
    ids=["find", "find alone", "transact_find", "get_many", "query", "create", "put", "update", "put_many"],
)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_who_is_cancelled_in_the_turn_in_which_a_session_gives_up_stays_cancelled(
    transport, open_session, model, monkeypatch, ask, before
):
    transport.latency, transport.otherwise = 60, {}

    async def call(session):
        await ask(session, model)

    async with open_session(close_timeout_seconds=0) as session:
        task = asyncio.create_task(call(session))
        await asyncio.sleep(1)
        lane = session._executor._writes if transport.requests[0].writes else session._executor._reads
        abandon = lane.abandon

        def abandon_in_the_same_turn():
            if before:
                task.cancel()
            abandon()
            if not before:
                task.cancel()

        monkeypatch.setattr(lane, "abandon", abandon_in_the_same_turn)
    await asyncio.wait((task,))
    assert task.cancelled()
    assert task.cancelling() == 1


async def test_a_task_is_not_left_cancelled_by_a_session_whose_transport_answers_all_the_same(
    transport, open_session, model
):
    async def answer(request):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        return {}

    transport.send = answer
    async with open_session() as session:
        task = asyncio.create_task(session.find(model, "s", 1))
        await asyncio.sleep(1)
    assert await task is None
    assert task.cancelling() == 0


async def test_closing_lets_writes_finish(transport, open_session, model):
    transport.latency, transport.otherwise = 3.0, {}
    async with open_session(close_timeout_seconds=5) as session:
        writes = [asyncio.create_task(session.put(model(sensor="s", at=n))) for n in range(3)]
        await asyncio.sleep(0.1)
        begun = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - begun == pytest.approx(2.9)
    assert [(await write).at for write in writes] == [0, 1, 2]
    assert transport.closed == 1


async def test_closing_lets_accepted_writes_be_sent_again(transport, open_session, model):
    transport.script(throttled(), {})
    async with open_session(close_timeout_seconds=5, retry=RetryPolicy(base_delay_seconds=2)) as session:
        write = asyncio.create_task(session.put(model(sensor="s", at=1)))
        await asyncio.sleep(0.001)
    assert (await write).at == 1


async def test_a_write_sent_but_not_answered_when_closing_gives_up_has_an_unknown_outcome(
    transport, open_session, model
):
    transport.latency, transport.otherwise = 60, {}
    async with open_session(close_timeout_seconds=5) as session:
        write = asyncio.create_task(session.put(model(sensor="s", at=1)))
        await asyncio.sleep(1)
        begun = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - begun == pytest.approx(5)
    with pytest.raises(ConnectionFailedError, match="close_timeout_seconds") as caught:
        await write
    assert caught.value.outcome is Outcome.UNKNOWN
    assert caught.value.attempts == 1
    assert transport.under_way == 0


async def test_a_write_waiting_to_be_sent_when_closing_gives_up_was_not_sent(transport, open_session, model, no_jitter):
    transport.otherwise = throttled()
    policy = RetryPolicy(base_delay_seconds=100, max_delay_seconds=100)
    async with open_session(close_timeout_seconds=5, retry=policy) as session:
        write = asyncio.create_task(session.put(model(sensor="s", at=1)))
        await asyncio.sleep(1)
    with pytest.raises(ConnectionFailedError) as caught:
        await write
    assert caught.value.outcome is Outcome.NOT_SENT


async def test_each_caller_of_an_unanswered_write_gets_an_error_of_its_own(transport, open_session, model):
    transport.latency, transport.otherwise = 60, {}
    async with open_session(close_timeout_seconds=0) as session:
        writes = [asyncio.create_task(session.put(model(sensor="s", at=n))) for n in range(2)]
        await asyncio.sleep(1)
    errors = [(await asyncio.wait((write,)))[0].pop().exception() for write in writes]
    assert len(set(map(id, errors))) == 2


async def test_closing_ends_the_requests_of_abandoned_streams(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(50), 5.0
    abandoned = []
    async with open_session() as session:
        abandoned.append(readings(session).stream())
        await anext(abandoned[0])
        await asyncio.sleep(1)
        assert transport.under_way == 1
    assert transport.under_way == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_closing_ends_a_page_ahead_that_was_not_begun(transport, table, open_session, readings):
    transport.otherwise = table(50)
    async with open_session() as session:
        items = readings(session).stream()
        await anext(items)
    assert len(transport.requests) == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_closing_twice_at_once_waits_for_the_same_end(transport, open_session, model):
    transport.latency, transport.otherwise = 3.0, {}
    session = await open_session().__aenter__()
    write = asyncio.create_task(session.put(model(sensor="s", at=1)))
    await asyncio.sleep(1)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(session.close())
    assert write.done()
    assert transport.closed == 1


async def _cancelled_natively(closing):
    task = asyncio.create_task(closing)
    for _ in range(3):
        await asyncio.sleep(0.5)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _cancelled_by_anyio(closing):
    with anyio.move_on_after(0.5) as scope:
        await closing
    assert scope.cancel_called


async def _timed_out(closing):
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(closing, 0.5)


@pytest.mark.parametrize("cancelled", [_cancelled_natively, _cancelled_by_anyio, _timed_out])
async def test_closing_goes_on_though_its_caller_is_cancelled(transport, open_session, model, cancelled):
    transport.latency, transport.otherwise = 3.0, {}
    session = await open_session().__aenter__()
    write = asyncio.create_task(session.put(model(sensor="s", at=1)))
    await asyncio.sleep(0.1)
    await cancelled(session.close())
    assert (await write).at == 1
    assert transport.closed == 1


async def test_a_body_cancelled_by_anyio_still_closes_the_session(transport, open_session, model):
    transport.latency, transport.otherwise = 60, {}
    with anyio.move_on_after(1):
        async with open_session() as session:
            await session.find(model, "s", 1)
    assert transport.closed == 1
    assert transport.under_way == 0


async def test_the_error_of_the_body_is_raised_as_it_is(transport, open_session):
    with pytest.raises(LookupError):
        async with open_session():
            raise LookupError
    assert transport.closed == 1


def test_a_program_that_ends_during_closing_leaves_no_connection(transport, open_session, model):
    transport.latency, transport.otherwise = 60, {}

    async def main():
        session = await open_session().__aenter__()
        await asyncio.wait((asyncio.create_task(session.put(model(sensor="s", at=1))),), timeout=0.01)
        closing = asyncio.create_task(session.close())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return closing

    asyncio.run(main())
    assert transport.closed == 1


def test_no_coroutine_is_left_without_having_been_awaited(transport, table, open_session, readings):
    transport.otherwise = table(30)

    async def main():
        async with open_session() as session:
            readings(session)
            async for _ in readings(session):
                break
            asyncio.create_task(readings(session)).cancel()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert caught == []


async def test_an_empty_cursor_secret_is_refused():
    with pytest.raises(ConfigurationError, match="cursor_secret"):
        Session(cursor_secret="")


@pytest.mark.parametrize("closing", [False, True])
async def test_the_rest_of_a_chunk_is_finished_before_what_comes_after_it(
    transport, open_session, model, no_jitter, closing
):
    items = [model(sensor="s", at=at) for at in range(25)]  # as many as fill a call

    def leave(request):
        [(table, requests)] = request.body["RequestItems"].items()
        return {"UnprocessedItems": {table: requests[24:]}}

    transport.script(leave, {}, {})
    async with open_session(retry=RetryPolicy(base_delay_seconds=5), close_timeout_seconds=0) as session:
        load = asyncio.create_task(session.put_many(items))
        await asyncio.sleep(1)
        after = asyncio.create_task(session.put(items[24]))
        if not closing:
            await asyncio.wait((load, after))
            assert load.result() == 25
            assert after.exception() is None
            assert [request.operation for request in transport.requests] == ["BatchWriteItem", "PutItem", "PutItem"]
            return
        await asyncio.sleep(0)
    assert load.done()
    assert isinstance(load.exception(), BatchError)
    assert after.exception().outcome is Outcome.NOT_SENT
