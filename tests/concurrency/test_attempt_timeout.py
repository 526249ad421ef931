"""An attempt has a total time, whatever the transport does with it. All times are virtual."""

import asyncio
import math

import anyio
import pytest

from dynamap_async import RetryPolicy
from dynamap_async.errors import ConnectionFailedError, Outcome, RequestTimeoutError
from dynamap_async.executor import gather_all


def now():
    return asyncio.get_running_loop().time()


@pytest.fixture
def served(transport, service):
    transport.otherwise = service
    return service


@pytest.fixture
def mute(transport, served):
    """Make the transport answer after a day."""
    transport.latency = 86_400.0
    return transport


async def test_a_mute_server_costs_a_read_two_attempts_of_30_seconds(mute, open_session, model, no_jitter):
    async with open_session() as session:
        begun = now()
        with pytest.raises(RequestTimeoutError, match="no complete answer arrived within 30 s"):
            await session.get(model, "s", 1)
        assert (round(now() - begun, 3), len(mute.requests)) == (60.05, 2)


async def test_short_attempts_are_made_as_often_as_the_policy_says(mute, open_session, model, no_jitter):
    async with open_session(retry=RetryPolicy(attempt_timeout_seconds=1)) as session:
        with pytest.raises(RequestTimeoutError) as raised:
            await session.get(model, "s", 1)
    assert (raised.value.attempts, len(mute.requests)) == (8, 8)


@pytest.mark.parametrize("write", ["put", "create", "update"])
async def test_the_outcome_of_a_write_that_took_too_long_is_unknown(mute, open_session, model, write):
    calls = {
        "put": lambda session: session.put(model(sensor="s", at=1)),
        "create": lambda session: session.create(model(sensor="s", at=1)),
        "update": lambda session: session.increment(model, "s", 1, model.value),
    }
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        with pytest.raises(RequestTimeoutError) as raised:
            await calls[write](session)
    assert raised.value.outcome is Outcome.UNKNOWN


async def test_an_increment_that_took_too_long_is_not_sent_again(mute, open_session, model):
    async with open_session() as session:
        with pytest.raises(RequestTimeoutError):
            await session.increment(model, "s", 1, model.value)
    assert len(mute.requests) == 1


async def test_a_page_and_a_batch_that_take_too_long_end_too(mute, open_session, model, readings):
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        calls = [readings(session), session.get(model, "s", 1), session.get(model, "s", 2)]
        tasks = [asyncio.ensure_future(call) for call in calls]
        await asyncio.wait(tasks)
    errors = [task.exception() for task in tasks]
    assert [type(error) for error in errors] == [RequestTimeoutError] * 3
    assert errors[1] is not errors[2]


async def test_each_attempt_has_its_own_time(mute, open_session, model):
    async def ended(session, number, after):
        await asyncio.sleep(after)
        with pytest.raises(RequestTimeoutError):
            await session.find(model, "s", number, coalesce=False)
        return now()

    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        begun = now()
        times = await gather_all([ended(session, number, 10.0 * number) for number in range(3)])
    assert [time - begun for time in times] == [30, 40, 50]


async def test_an_answer_in_time_is_given_however_long_others_take(transport, served, open_session, model):
    transport.latency = 29.0
    async with open_session() as session:
        for number in range(3):
            assert await session.find(model, "s", number) is None
    assert len(transport.requests) == 3


async def test_an_earlier_deadline_of_the_caller_wins(mute, open_session, readings):
    async with open_session() as session:
        begun = now()
        with pytest.raises(TimeoutError) as raised, anyio.fail_after(5):
            await readings(session)
        assert now() - begun == 5
    assert not isinstance(raised.value, RequestTimeoutError)


async def test_a_cancellation_in_the_same_moment_is_the_callers(mute, open_session, readings):
    async with open_session() as session:
        task = asyncio.ensure_future(readings(session))
        asyncio.get_running_loop().call_later(30.0, task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(mute.requests) == 1


async def test_the_task_of_the_caller_goes_on_uncancelled(mute, open_session, readings):
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        with pytest.raises(RequestTimeoutError):
            await readings(session)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(1)


async def test_closing_leaves_no_timer(mute, open_session, model):
    async with open_session(close_timeout_seconds=1) as session:
        task = asyncio.ensure_future(session.put(model(sensor="s", at=1)))
        await asyncio.sleep(0.5)
    with pytest.raises(ConnectionFailedError):
        await task
    assert not [timer for timer in asyncio.get_running_loop()._scheduled if not timer.cancelled()]


async def test_infinity_is_no_limit(transport, served, open_session, model):
    transport.latency = 86_400.0
    async with open_session(retry=RetryPolicy(attempt_timeout_seconds=math.inf)) as session:
        assert await session.find(model, "s", 1) is None


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
async def test_an_attempt_without_time_is_refused(seconds):
    with pytest.raises(ValueError, match="attempt_timeout_seconds"):
        RetryPolicy(attempt_timeout_seconds=seconds)
