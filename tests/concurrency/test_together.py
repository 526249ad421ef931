"""Several awaitables of a session at once: results in order, the first failure as itself, nothing left behind."""

import asyncio
import gc
import warnings

import anyio
import pytest

from dynamap_async import CapacityPolicy, Query, RetryPolicy
from dynamap_async.errors import ItemNotFoundError, OperationError, ThrottledError

ONCE = RetryPolicy(max_attempts=1)


def throttled():
    return ThrottledError("slow down", service_code="ThrottlingException", operation="Query", table="t", status=400)


async def after(seconds, result):
    await asyncio.sleep(seconds)
    if isinstance(result, BaseException):
        raise result
    return result


async def test_queries_and_calls_are_under_way_together_and_answered_in_order(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(5), 1.0
    async with open_session() as session:
        begun = asyncio.get_running_loop().time()
        items, number, first = await session.gather(readings(session), readings(session).count(), after(0, "first"))
        assert asyncio.get_running_loop().time() - begun == pytest.approx(1)
    assert [item.at for item in items] == list(range(5))
    assert (number, first) == (5, "first")
    assert transport.most_under_way == 2


async def test_nothing_gathered_is_an_empty_tuple(open_session):
    async with open_session() as session:
        assert await session.gather() == ()


async def test_one_query_object_may_be_gathered_twice(transport, table, open_session, readings):
    transport.otherwise = table(3)
    async with open_session() as session:
        query = readings(session)
        one, other = await session.gather(query, query)
        assert one == other
        assert one is not other


async def test_tasks_are_taken_too(open_session):
    async with open_session() as session:
        assert await session.gather(asyncio.create_task(after(1, "a")), after(2, "b")) == ("a", "b")


async def test_the_first_failure_is_raised_as_itself_and_ends_the_others(transport, table, open_session, readings):
    transport.script(throttled())
    transport.otherwise, transport.latency = table(5), 1.0
    async with open_session(retry=ONCE) as session:
        waiting = asyncio.create_task(session.gather(readings(session), after(50, "late"), after(1.5, KeyError("x"))))
        with pytest.raises(ThrottledError, match="slow down"):
            await waiting
        assert transport.under_way == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_of_two_failures_the_earlier_one_is_raised_whatever_the_order_of_the_arguments(open_session):
    async with open_session() as session:
        with pytest.raises(LookupError, match="early"):
            await session.gather(after(2, ValueError("late")), after(1, LookupError("early")))
        with pytest.raises(LookupError, match="early"):
            await session.gather(after(1, LookupError("early")), after(1, ValueError("in the same moment")))


async def test_one_that_was_cancelled_by_others_ends_the_rest(open_session):
    async with open_session() as session:
        cancelled = asyncio.create_task(after(50, None))
        asyncio.get_running_loop().call_later(1, cancelled.cancel)
        with pytest.raises(asyncio.CancelledError):
            await session.gather(cancelled, after(10, None))
        assert asyncio.get_running_loop().time() == pytest.approx(1001)


async def test_a_cancellation_ends_all(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(5), 10.0
    async with open_session() as session:
        waiting = asyncio.create_task(session.gather(readings(session), readings(session).count()))
        await asyncio.sleep(1)
        assert transport.under_way == 2
        waiting.cancel()
        await asyncio.wait((waiting,))
        assert waiting.cancelled()
        assert transport.under_way == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_timeout_around_it_ends_all(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(5), 10.0
    async with open_session() as session:
        with anyio.move_on_after(1) as scope:
            await session.gather(readings(session), readings(session))
        assert scope.cancelled_caught
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await session.gather(readings(session), readings(session))
        assert transport.under_way == 0


async def test_a_deadline_around_it_ends_retries_in_time(transport, open_session, readings):
    transport.otherwise = lambda request: throttled()
    patient = RetryPolicy(max_attempts=1000, base_delay_seconds=5, max_delay_seconds=5, budget=10_000)
    unpaced = CapacityPolicy(enabled=False)  # who waits for units at the deadline is cancelled, without a word of it
    async with open_session(retry=patient, capacity=unpaced) as session:
        with anyio.move_on_after(20), pytest.raises(ThrottledError) as caught:
            await session.gather(readings(session))
        assert "deadline" in "".join(caught.value.__notes__)


async def test_gets_that_are_gathered_share_a_call(transport, open_session, model):
    def batch(request):
        keys = request.body["RequestItems"]["readings"]["Keys"]
        return {"Responses": {"readings": [{**key, "value": {"N": "7"}} for key in keys]}}

    transport.otherwise = batch
    async with open_session() as session:
        found = await session.gather(*(session.get(model, "s", number) for number in range(20)))
    assert [item.at for item in found] == list(range(20))
    assert [request.operation for request in transport.requests] == ["BatchGetItem"]


async def test_an_item_that_is_missing_is_the_failure(transport, open_session, model):
    transport.otherwise = {"Responses": {}}
    async with open_session() as session:
        with pytest.raises(ItemNotFoundError):
            await session.gather(session.get(model, "s", 1), session.get(model, "s", 2))


async def test_a_plain_operation_is_refused_and_the_others_are_not_begun(transport, open_session, readings, model):
    async with open_session() as session:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(OperationError, match=r"session\.execute"):
                await session.gather(session.get(model, "s", 1), Query(model))
            gc.collect()
    assert transport.requests == []


async def test_what_is_gathered_shares_the_connections_of_the_session(transport, table, open_session, readings):
    transport.otherwise, transport.latency, transport.max_connections = table(30), 1.0, 2
    async with open_session() as session:
        results = await session.gather(*(readings(session) for _ in range(10)))
    assert [len(result) for result in results] == [30] * 10
    assert transport.most_under_way == 2
