"""Whole items of an index of keys only: fetched in batches while the index is read on, in order, and no others."""

import asyncio
import gc
from itertools import pairwise

import pytest

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import SessionClosedError, ThrottledError

ONCE = RetryPolicy(max_attempts=1)


class Note(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    topic: Attr[str]
    text: Attr[str] = attr(default="")

    by_topic = GlobalIndex(partition_key="topic", sort_key="number", projection=KEYS_ONLY)


def key(number):
    return {"author": {"S": f"a{number % 3}"}, "number": {"N": str(number)}}


class Notes:
    """A table of notes on one topic, and its index; ``gone`` are only in the index."""

    def __init__(self, count, *, page=10, gone=()):
        self.numbers = range(count)
        self.page = page
        self.gone = set(gone)

    def __call__(self, request):
        answer = {"GetItem": self.get, "BatchGetItem": self.batch, "Query": self.index, "Scan": self.index}
        return answer[request.operation](request.body)

    def item(self, key):
        number = int(key["number"]["N"])
        return None if number in self.gone else {**key, "topic": {"S": "t"}, "text": {"S": f"no. {number}"}}

    def get(self, body):
        item = self.item(body["Key"])
        return {} if item is None else {"Item": item}

    def batch(self, body):
        found = [item for each in body["RequestItems"]["notes"]["Keys"] if (item := self.item(each)) is not None]
        return {"Responses": {"notes": found[::-1]}, "UnprocessedKeys": {}}

    def index(self, body):
        every, first = body.get("TotalSegments", 1), body.get("Segment", 0)
        numbers = [number for number in self.numbers if number % every == first]
        topic = body.get("ExpressionAttributeValues", {}).get(":v0", {"S": "t"})
        numbers = numbers if topic["S"] == "t" else []
        if "ScanIndexForward" in body:
            numbers.reverse()
        if (start := body.get("ExclusiveStartKey")) is not None:
            numbers = numbers[numbers.index(int(start["number"]["N"])) + 1 :]
        page = numbers[: min(self.page, body.get("Limit", self.page))]
        entries = [{**key(number), "topic": {"S": "t"}} for number in page]
        answer = {"Items": entries, "Count": len(entries), "ScannedCount": len(entries)}
        return answer if len(page) == len(numbers) else {**answer, "LastEvaluatedKey": entries[-1]}


def notes(session):
    return session.query(Note).where(Note.topic == "t")


def numbers(items):
    assert all(item.text == f"no. {item.number}" for item in items)
    return [item.number for item in items]


def asked(transport):
    return [request.operation for request in transport.requests]


async def settle():
    for _ in range(6):
        await asyncio.sleep(0)


async def test_every_page_is_completed_by_one_call_in_the_order_of_the_index(transport, open_session):
    transport.otherwise = Notes(250, page=100)
    async with open_session() as session:
        assert numbers(await notes(session)) == list(range(250))
        statistics = session.statistics()
    assert sorted(asked(transport)) == ["BatchGetItem"] * 3 + ["Query"] * 3
    assert statistics.of("BatchGetItem", "notes").requests == 3


async def test_a_large_page_is_completed_by_full_calls(transport, open_session):
    transport.otherwise = Notes(1234, page=5000)
    async with open_session() as session:
        assert numbers(await notes(session)) == list(range(1234))
    sizes = [
        len(request.body["RequestItems"]["notes"]["Keys"])
        for request in transport.requests
        if request.operation == "BatchGetItem"
    ]
    assert sizes == [100] * 12 + [34]


async def test_one_item_is_completed_by_a_plain_get(transport, open_session):
    transport.otherwise = Notes(10)
    async with open_session() as session:
        assert (await notes(session).first()).text == "no. 0"
    assert asked(transport) == ["Query", "GetItem"]
    assert transport.requests[0].body["Limit"] == 1


async def test_a_count_and_a_selection_are_not_completed(transport, open_session):
    transport.otherwise = Notes(10)
    async with open_session() as session:
        assert await notes(session).count() == 10
        assert await notes(session).select(Note.number) == [(number,) for number in range(10)]
    assert asked(transport) == ["Query", "Query"]


async def test_the_next_page_of_the_index_is_fetched_during_the_completion_of_this_one(transport, open_session):
    transport.otherwise, transport.latency = Notes(50), 1.0
    async with open_session() as session:
        begun = asyncio.get_running_loop().time()
        assert len(await notes(session)) == 50
        # The first page, then five completions, with the other four pages beside them.
        assert asyncio.get_running_loop().time() - begun == pytest.approx(6)
    assert transport.most_under_way == 2


async def test_the_calls_of_one_page_are_under_way_at_the_same_time(transport, open_session):
    transport.otherwise, transport.latency = Notes(1000, page=1000), 1.0
    async with open_session() as session:
        begun = asyncio.get_running_loop().time()
        assert len(await notes(session)) == 1000
        assert asyncio.get_running_loop().time() - begun == pytest.approx(2)


async def test_no_slot_is_held_while_items_are_completed(transport, open_session):
    transport.max_connections = 1
    transport.otherwise, transport.latency = Notes(30), 1.0
    async with open_session() as session:
        found = await session.gather(*(notes(session) for _ in range(3)))
        assert [numbers(each) for each in found] == [list(range(30))] * 3
    assert transport.most_under_way == 1


async def test_a_stream_asks_for_few_items_ahead_at_first_and_then_for_more(transport, open_session):
    transport.otherwise = Notes(3000, page=3000)
    async with open_session() as session:
        stream, counts = notes(session).stream(), []
        for taken in range(2500):
            item = await anext(stream)
            assert item.number == taken
            if taken % 100 == 0:
                await asyncio.sleep(1)
                counts.append(asked(transport).count("BatchGetItem"))
        await stream.aclose()
    assert counts[:5] == [2, 4, 7, 12, 15]
    assert all(later - earlier <= 8 for earlier, later in pairwise(counts))
    assert max(number - position for position, number in enumerate(counts)) == 11


async def test_a_loop_that_is_left_early_leaves_no_task_and_no_request(transport, open_session):
    transport.otherwise, transport.latency = Notes(500, page=300), 1.0
    async with open_session() as session:
        async for _ in notes(session):
            await asyncio.sleep(0.5)
            assert transport.under_way == 1  # the next batch; the index's next page is there already
            break
        await settle()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert transport.under_way == 0
        sent = len(transport.requests)
        await asyncio.sleep(100)
        assert len(transport.requests) == sent


async def test_aclose_returns_when_the_requests_have_ended(transport, open_session):
    transport.otherwise, transport.latency = Notes(500, page=300), 1.0
    async with open_session() as session:
        stream = notes(session).stream()
        waiting = asyncio.create_task(anext(stream, None))
        await asyncio.sleep(1.5)
        assert transport.under_way == 2
        await stream.aclose()
        assert transport.under_way == 0
        assert await waiting is None


async def test_a_cancelled_list_leaves_no_request(transport, open_session):
    transport.otherwise, transport.latency = Notes(500, page=300), 1.0
    async with open_session() as session:
        task = asyncio.create_task(notes(session))
        await asyncio.sleep(1.5)
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()
        assert transport.under_way == 0


async def test_a_cancelled_call_loses_nothing(transport, open_session):
    transport.otherwise, transport.latency = Notes(35), 1.0
    found = []
    async with open_session() as session:
        stream = notes(session).stream()
        while True:
            try:
                found.append(await asyncio.wait_for(anext(stream), 1.5))
            except TimeoutError:
                continue
            except StopAsyncIteration:
                break
    assert numbers(found) == list(range(35))


async def test_a_failed_completion_raises_and_is_tried_again_by_the_next_call(transport, open_session, throttled):
    answers, failures = Notes(35), [False, True, True, False, True]

    def answer(request):
        fails = request.operation == "BatchGetItem" and failures and failures.pop(0)
        return throttled(request_id=None) if fails else answers(request)

    transport.otherwise = answer
    found, errors = [], 0
    async with open_session(retry=ONCE) as session:
        stream = notes(session).stream()
        while True:
            try:
                found.append(await anext(stream))
            except ThrottledError:
                errors += 1
            except StopAsyncIteration:
                break
    assert (numbers(found), errors) == (list(range(35)), 3)


async def test_a_failure_of_what_was_asked_for_ahead_is_not_reported_as_lost(transport, open_session, throttled):
    answers, reported = Notes(300, page=300), []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))

    def answer(request):
        ahead = request.operation == "BatchGetItem" and len(transport.requests) > 2
        return throttled(request_id=None) if ahead else answers(request)

    transport.otherwise = answer
    async with open_session(retry=ONCE) as session:
        stream = notes(session).stream()
        await anext(stream)
        await asyncio.sleep(1)
        await stream.aclose()
    del stream
    gc.collect()
    assert reported == []


async def test_a_closed_session_ends_the_stream(transport, open_session):
    transport.otherwise = Notes(500, page=300)
    async with open_session() as session:
        stream = notes(session).stream()
        await anext(stream)
    with pytest.raises(SessionClosedError):
        async for _ in stream:
            pass


GONE = {
    "none": (),
    "the first": (0,),
    "at the end of a page": (8, 9),
    "a whole page": range(10, 20),
    "every other": range(0, 50, 2),
    "the last": (49,),
}


@pytest.mark.parametrize("gone", GONE.values(), ids=GONE.keys())
@pytest.mark.parametrize("limit", [1, 7, 10, 25, 60])
async def test_what_is_gone_is_left_out_and_the_limit_is_filled_all_the_same(transport, open_session, gone, limit):
    transport.otherwise = Notes(50, gone=gone)
    expected = [number for number in range(50) if number not in gone]
    async with open_session() as session:
        assert numbers(await notes(session).limit(limit)) == expected[:limit]
        assert numbers([item async for item in notes(session).limit(limit)]) == expected[:limit]
        assert numbers(await notes(session).where().descending().limit(limit)) == expected[::-1][:limit]
        merged = session.query(Note).where(Note.topic.is_in("t", "other", "t")).limit(limit)
        assert numbers(await merged) == expected[:limit]
        several = await session.scan(Note).index(Note.by_topic).segments(3).limit(limit)
        assert sorted(numbers(several)) == sorted(set(numbers(several)))
        assert len(several) == min(limit, len(expected))


@pytest.mark.parametrize("gone", GONE.values(), ids=GONE.keys())
@pytest.mark.parametrize("size", [1, 4, 10, 33])
async def test_pages_are_full_whatever_is_gone(transport, open_session, gone, size):
    transport.otherwise = Notes(50, gone=gone)
    expected = [number for number in range(50) if number not in gone]
    found, cursor = [], None
    async with open_session() as session:
        while True:
            page = await notes(session).page(size=size, after=cursor)
            assert len(page.items) == size or page.cursor is None
            found += numbers(page.items)
            cursor = page.cursor
            if cursor is None:
                break
    assert found == expected


async def test_no_request_of_the_index_asks_for_more_than_the_limit_still_needs(transport, open_session):
    transport.otherwise = Notes(50, gone=(2, 5))
    async with open_session() as session:
        assert numbers(await notes(session).limit(12)) == [0, 1, 3, 4, *range(6, 14)]
    assert [request.body["Limit"] for request in transport.requests if request.operation == "Query"] == [12, 2, 2]


@pytest.mark.parametrize("taken", [0, 1, 9, 10, 15, 40])
@pytest.mark.parametrize("gone", [(), (0, 3, 4, 12), range(0, 50, 2)])
async def test_a_checkpoint_goes_on_after_the_item_given_out_last(transport, open_session, taken, gone):
    transport.otherwise = Notes(50, gone=gone)
    async with open_session() as session:
        scan = session.scan(Note).index(Note.by_topic).segments(3)
        stream = scan.stream()
        found = [item.number async for _, item in _first(stream, taken)]
        checkpoint = stream.checkpoint()
        await stream.aclose()
        assert stream.checkpoint() == checkpoint
        rest = [item.number async for item in scan.resume(checkpoint)]
    assert sorted(found + rest) == [number for number in range(50) if number not in gone]


async def _first(stream, number):
    for position in range(number):
        item = await anext(stream, None)
        if item is not None:
            yield position, item


async def test_equal_items_of_concurrent_queries_are_fetched_once(transport, open_session):
    transport.otherwise = Notes(10)
    async with open_session() as session:
        one, other = await session.gather(notes(session), notes(session))
    assert numbers(one) == numbers(other) == list(range(10))
    assert one[0] is not other[0]
    assert asked(transport) == ["Query", "Query", "BatchGetItem"]
