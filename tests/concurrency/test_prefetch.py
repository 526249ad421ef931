"""Streams and lists fetch one page ahead, never more, and leave nothing behind however they end."""

import asyncio
import contextvars
import gc
import threading

import pytest

from dynamap_async import RetryPolicy
from dynamap_async.errors import ItemValidationError, SessionStateError, ThrottledError

ONCE = RetryPolicy(max_attempts=1)


def throttled():
    return ThrottledError("slow down", service_code="ThrottlingException", operation="Query", table="t", status=400)


def numbers(items):
    return [item.at for item in items]


async def collect(stream, seen):
    async for item in stream:
        seen.append(item.at)


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_list_holds_every_page(transport, table, open_session, readings):
    transport.otherwise = table(35)
    async with open_session() as session:
        assert numbers(await readings(session)) == list(range(35))
    assert len(transport.requests) == 4


async def test_one_page_is_fetched_while_the_one_before_is_consumed_and_no_more(
    transport, table, open_session, readings
):
    transport.otherwise = table(50)
    async with open_session() as session:
        stream = readings(session).stream()
        seen = []
        async for item in stream:
            seen.append(item.at)
            await asyncio.sleep(1)
            assert len(transport.requests) == min(item.at // 10 + 2, 6)
        assert seen == list(range(50))
    assert transport.most_under_way == 1


async def test_the_page_ahead_arrives_while_the_one_before_is_consumed(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(30), 5.0
    async with open_session() as session:
        begun = asyncio.get_running_loop().time()
        async for _ in readings(session):
            await asyncio.sleep(0.5)
        # A first page of 5 s, then ten items of 0.5 s beside each of the next three requests.
        assert asyncio.get_running_loop().time() - begun == pytest.approx(20)


@pytest.mark.parametrize(("limit", "sizes"), [(5, [5]), (10, [10]), (11, [11, 1]), (25, [25, 15, 5])])
async def test_no_request_asks_for_more_than_the_limit_still_needs(
    transport, table, open_session, readings, limit, sizes
):
    transport.otherwise = table(100)
    async with open_session() as session:
        assert len(await readings(session).limit(limit)) == limit
    assert [request.body["Limit"] for request in transport.requests] == sizes


async def test_a_page_size_bounds_the_requests_and_a_limit_the_items(transport, table, open_session, readings):
    transport.otherwise = table(100)
    async with open_session() as session:
        assert numbers([item async for item in readings(session).page_size(4).limit(10)]) == list(range(10))
    assert [request.body["Limit"] for request in transport.requests] == [4, 4, 2]


async def test_a_loop_that_is_left_early_leaves_no_task_and_sends_nothing_more(
    transport, table, open_session, readings
):
    transport.otherwise, transport.latency = table(50), 1.0
    async with open_session() as session:
        async for item in readings(session):
            if item.at == 3:
                break
        await settle()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await asyncio.sleep(100)
        assert len(transport.requests) == 1  # the page ahead was ended before it was sent
        assert transport.under_way == 0


async def test_a_loop_that_is_left_during_the_request_ahead_ends_that_request(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(50), 1.0
    async with open_session() as session:
        async for _ in readings(session):
            await asyncio.sleep(0.5)
            break
        await settle()
        assert transport.under_way == 0
        await asyncio.sleep(100)
        assert len(transport.requests) == 2


async def test_a_loop_that_raises_leaves_no_task(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(50), 1.0

    async def fail(session):
        async for _ in readings(session):
            raise LookupError

    async with open_session() as session:
        with pytest.raises(LookupError):
            await fail(session)
        gc.collect()  # the traceback held the stream
        await settle()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert transport.under_way == 0


async def test_aclose_returns_when_the_request_ahead_has_ended(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(50), 1.0
    async with open_session() as session:
        stream = readings(session).stream()
        await anext(stream)
        await asyncio.sleep(0.5)
        assert transport.under_way == 1
        await stream.aclose()
        assert transport.under_way == 0
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        await stream.aclose()


async def test_the_end_of_async_with_ends_the_request_ahead(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(50), 1.0
    async with open_session() as session:
        async with readings(session).stream() as items:
            assert (await anext(items)).at == 0
            await asyncio.sleep(0.5)
        assert transport.under_way == 0


async def test_a_stream_closed_while_another_task_waits_for_it_fetches_no_further_page(
    transport, table, open_session, readings
):
    transport.otherwise, transport.latency = table(50), 1.0
    async with open_session() as session:
        stream = readings(session).stream()
        waiting = asyncio.create_task(anext(stream))
        await asyncio.sleep(0.5)
        await stream.aclose()
        assert (await waiting).at == 0
        await asyncio.sleep(10)
        assert len(transport.requests) == 1


async def test_a_stream_dropped_by_another_thread_ends_its_request(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(50), 5.0
    async with open_session() as session:
        held = [readings(session).stream()]
        await anext(held[0])
        await asyncio.sleep(1)
        assert transport.under_way == 1
        dropping = threading.Thread(target=held.clear)
        dropping.start()
        dropping.join()
        await settle()
        assert transport.under_way == 0


async def test_a_cancelled_request_for_an_item_loses_nothing(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(25), 1.0
    seen = []
    async with open_session() as session:
        stream = readings(session).stream()
        while True:
            waiting = asyncio.create_task(anext(stream, None))
            await asyncio.sleep(0.3)
            if not waiting.done():
                waiting.cancel()
                await asyncio.wait((waiting,))
                waiting = asyncio.create_task(anext(stream, None))
            item = await waiting
            if item is None:
                break
            seen.append(item.at)
    assert seen == list(range(25))


async def test_an_item_stream_cancelled_while_it_decodes_loses_nothing(
    transport, table, open_session, readings, monkeypatch
):
    ticks = iter(range(10**6))
    monkeypatch.setattr("dynamap_async.turns.time.perf_counter", lambda: next(ticks))
    transport.otherwise = table(200, page=200)
    async with open_session() as session:
        stream = readings(session).stream()
        cancelled = 0
        while True:
            waiting = asyncio.create_task(anext(stream))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if waiting.done():
                break
            cancelled += waiting.cancel()
            await asyncio.wait((waiting,))
        rest = [item.at async for item in stream]
        assert [waiting.result().at, *rest] == list(range(200))
        assert cancelled > 2


async def test_a_failed_page_is_asked_for_again_by_the_next_call(transport, table, open_session, readings):
    page = table(25)
    transport.script(page, throttled(), page, throttled(), throttled(), page)
    seen = []
    async with open_session(retry=ONCE) as session:
        stream = readings(session).stream()
        failures = 0
        while failures < 10:
            try:
                seen += [item.at async for item in stream]
                break
            except ThrottledError:
                failures += 1
    assert failures == 3
    assert sorted(seen) == seen
    assert len(transport.requests) == 6


async def test_items_before_a_failed_page_were_given_out(transport, table, open_session, readings):
    transport.script(table(25), throttled(), table(25), table(25))
    seen = []
    async with open_session(retry=ONCE) as session:
        stream = readings(session).stream()
        with pytest.raises(ThrottledError):
            await collect(stream, seen)
        assert seen == list(range(10))
        assert [item.at async for item in stream] == list(range(10, 25))


async def test_a_failed_page_ahead_that_nobody_asks_for_is_not_reported(transport, table, open_session, readings):
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    transport.script(table(25), throttled())
    async with open_session(retry=ONCE) as session:
        async for _ in readings(session):
            await asyncio.sleep(1)
            break
        gc.collect()
        await settle()
    assert reported == []


async def test_an_item_that_does_not_fit_brings_the_rest_of_its_page_and_the_stream_goes_on(
    transport, table, open_session, readings
):
    pages = table(30)
    pages.items[13]["value"] = {"S": "broken"}
    transport.otherwise = pages
    async with open_session() as session:
        stream = readings(session).stream()
        seen = []
        with pytest.raises(ItemValidationError) as caught:
            await collect(stream, seen)
        assert seen == list(range(10))
        assert numbers(caught.value.items) == [10, 11, 12, 14, 15, 16, 17, 18, 19]
        assert caught.value.key == {"sensor": "s", "at": 13}
        assert [item.at async for item in stream] == list(range(20, 30))


async def test_a_list_with_an_item_that_does_not_fit_brings_everything_read_so_far(
    transport, table, open_session, readings
):
    pages = table(30)
    pages.items[13]["value"] = pages.items[15]["value"] = {"S": "broken"}
    transport.otherwise = pages
    async with open_session() as session:
        with pytest.raises(ItemValidationError) as caught:
            await readings(session)
    assert numbers(caught.value.items) == [n for n in range(20) if n not in (13, 15)]
    assert [failure.key["at"] for failure in caught.value.failures] == [13, 15]


async def test_two_tasks_on_one_stream_are_refused(transport, table, open_session, readings):
    transport.otherwise, transport.latency = table(25), 1.0
    async with open_session() as session:
        stream = readings(session).stream()
        first = asyncio.create_task(anext(stream))
        await asyncio.sleep(0)
        with pytest.raises(SessionStateError, match="its own stream"):
            await anext(stream)
        assert (await first).at == 0


async def test_empty_pages_are_passed_over(transport, table, open_session, readings):
    def empty(request):
        return {
            "Items": [],
            "Count": 0,
            "ScannedCount": 10,
            "LastEvaluatedKey": {"sensor": {"S": "s"}, "at": {"N": "-1"}},
        }

    transport.script(empty, empty, empty, table(3))
    async with open_session() as session:
        assert numbers([item async for item in readings(session)]) == [0, 1, 2]
    assert len(transport.requests) == 4


@pytest.mark.parametrize(("ask", "result"), [("first", 0), ("one_or_none", 0), ("count", 1)])
async def test_an_empty_page_is_not_the_end_for_a_single_result(transport, table, open_session, readings, ask, result):
    transport.script({"Items": [], "Count": 0, "LastEvaluatedKey": {"sensor": {"S": "s"}, "at": {"N": "-1"}}}, table(1))
    async with open_session() as session:
        found = await getattr(readings(session), ask)()
    assert getattr(found, "at", found) == result


async def test_the_page_ahead_is_fetched_without_the_callers_context(transport, table, open_session, readings):
    marked = contextvars.ContextVar("marked", default=None)
    seen = []

    def answering(request):
        seen.append(marked.get())
        return table(25)(request)

    transport.otherwise = answering
    async with open_session() as session:
        marked.set("of the first waiter")
        async for _ in readings(session):
            await asyncio.sleep(0)
    assert seen == ["of the first waiter", None, None]


async def test_a_large_page_is_decoded_with_pauses(
    transport, table, open_session, readings, turns_of_others, monkeypatch
):
    """A clock that moves 0.9 ms with each look at it: every third slice of 32 items is over 2 ms."""
    ticks = iter(range(10**6))
    monkeypatch.setattr("dynamap_async.turns.time.perf_counter", lambda: next(ticks) * 0.0009)
    transport.otherwise = table(9600, page=10**6)
    async with open_session() as session, turns_of_others() as turns:
        assert len(await readings(session)) == 9600
    assert len(turns) >= 300 / 3
