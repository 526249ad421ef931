"""A scan in segments is one iterator: in step with its consumer, exact wherever it stops and goes on."""

import asyncio
import gc
import random
import uuid

import pytest
from pydantic import BaseModel

from dynamap_async import BoundCollection, Collection, Query, RetryPolicy, Scan
from dynamap_async.errors import (
    CursorError,
    ItemValidationError,
    OperationError,
    OutOfRangeError,
    SessionClosedError,
    ThrottledError,
)

ONCE = RetryPolicy(max_attempts=1)


class Instant(BaseModel):
    at: int


class Segmented:
    """The readings 0 to ``count - 1``, dealt out to the segments, answered a page at a time."""

    def __init__(self, table, count, *, page=10, latency=None):
        self.table, self.count, self.page = table, count, page
        self.pages = {}

    def items(self, segment, total):
        return self.table(self.count).items[segment::total]

    def __call__(self, request):
        body = request.body
        segment, total = body["Segment"], body["TotalSegments"]
        items = self.items(segment, total)
        start = body.get("ExclusiveStartKey")
        first = 0 if start is None else int(start["at"]["N"]) // total + 1
        size = min(self.page, body.get("Limit", self.page))
        page = items[first : first + size]
        answer = {"Items": page, "Count": len(page), "ScannedCount": len(page)}
        if page and len(page) == size:
            answer["LastEvaluatedKey"] = {name: page[-1][name] for name in ("sensor", "at")}
        if body.get("Select") == "COUNT":
            del answer["Items"]
        return answer


@pytest.fixture
def segmented(table):
    return lambda count, **settings: Segmented(table, count, **settings)


def throttled():
    return ThrottledError("slow down", service_code="ThrottlingException", operation="Scan", table="t", status=400)


def numbers(items):
    return [item.at for item in items]


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("segments", [1, 2, 7, 40])
async def test_a_list_holds_every_item_once(transport, segmented, open_session, model, segments):
    transport.otherwise = segmented(100)
    async with open_session() as session:
        assert sorted(numbers(await session.scan(model).segments(segments))) == list(range(100))
    asked = {(request.body["Segment"], request.body["TotalSegments"]) for request in transport.requests}
    assert asked == {(number, segments) for number in range(segments)}


async def test_the_segments_are_read_at_the_same_time(transport, segmented, open_session, model):
    transport.otherwise, transport.latency = segmented(95), 1.0
    async with open_session() as session:
        begun = asyncio.get_running_loop().time()
        assert len(await session.scan(model).segments(10)) == 95
        assert asyncio.get_running_loop().time() - begun == pytest.approx(2)  # a full page, and after it
    assert transport.most_under_way == 10


async def test_a_slow_consumer_stops_the_requests(transport, segmented, open_session, model):
    transport.otherwise = segmented(400)
    async with open_session() as session:
        stream = session.scan(model).segments(4).stream()
        for taken in range(1, 101):
            await anext(stream)
            await asyncio.sleep(1000)
            pages_given_out = (taken - 1) // 10 + 1
            assert len(transport.requests) == pages_given_out + 4
        await stream.aclose()


async def test_no_more_segments_are_begun_than_there_are_connections(transport, segmented, open_session, model):
    transport.max_connections = 3
    transport.otherwise, transport.latency = segmented(50), 1.0
    async with open_session() as session:
        stream = session.scan(model).segments(1_000_000).stream()
        assert (await anext(stream)).at == 0
        assert len(transport.requests) <= 7
        await stream.aclose()
    assert transport.most_under_way == 3


async def test_every_segment_has_the_same_filter_index_and_page_size(transport, segmented, open_session, model):
    transport.otherwise = segmented(60)
    async with open_session() as session:
        found = await session.scan(model).where(model.value >= 0).page_size(4).segments(3).select(model.at)
    assert sorted(found) == [(number,) for number in range(60)]
    for request in transport.requests:
        assert request.body["Limit"] == 4
        assert request.body["FilterExpression"] == transport.requests[0].body["FilterExpression"]
        assert request.body["ProjectionExpression"] == transport.requests[0].body["ProjectionExpression"]


async def test_a_limit_is_for_all_segments_together(transport, segmented, open_session, model):
    transport.otherwise, transport.latency = segmented(200), 1.0
    async with open_session() as session:
        found = await session.scan(model).segments(4).limit(25)
        assert len(set(numbers(found))) == 25
        assert transport.under_way == 0
        assert await session.scan(model).segments(4).limit(25).count() == 25
        assert await session.scan(model).segments(4).count() == 200
        assert (await session.scan(model).segments(4).first()).sensor == "s"


async def test_a_loop_that_is_left_early_leaves_no_task_and_no_request(transport, segmented, open_session, model):
    transport.otherwise, transport.latency = segmented(200), 1.0
    async with open_session() as session:
        async for _ in session.scan(model).segments(4):
            await asyncio.sleep(0.5)
            assert transport.under_way > 0
            break
        await settle()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert transport.under_way == 0
        sent = len(transport.requests)
        await asyncio.sleep(100)
        assert len(transport.requests) == sent


async def test_aclose_returns_when_the_requests_have_ended(transport, segmented, open_session, model):
    transport.otherwise, transport.latency = segmented(200), 1.0
    async with open_session() as session:
        stream = session.scan(model).segments(4).stream()
        waiting = asyncio.create_task(anext(stream, None))
        await asyncio.sleep(0.5)
        assert transport.under_way == 4
        await stream.aclose()
        assert transport.under_way == 0
        assert await waiting is None
        assert await anext(stream, None) is None


async def test_nothing_is_under_way_when_a_limit_was_reached(transport, segmented, open_session, model):
    answers, under_way = segmented(200), []

    async def send(request):
        under_way.append(request)
        try:
            await asyncio.sleep(1 if request.body["Segment"] == 0 else 9)
            return answers(request)
        finally:
            under_way.remove(request)

    transport.send = send
    async with open_session() as session:
        assert len(await session.scan(model).segments(4).limit(20)) == 20
        assert under_way == []


async def test_a_closed_session_ends_the_stream(transport, segmented, open_session, model):
    transport.otherwise, transport.latency = segmented(200), 1.0
    async with open_session() as session:
        stream = session.scan(model).segments(4).stream()
        await anext(stream)
    with pytest.raises(SessionClosedError):
        async for _ in stream:
            pass
    del stream
    gc.collect()
    await settle()


async def test_a_failing_segment_raises_and_the_stream_goes_on(transport, segmented, open_session, model):
    answers, chance = segmented(300, page=7), random.Random(3)
    transport.otherwise = lambda request: throttled() if chance.random() < 0.3 else answers(request)
    found, failures = [], 0
    async with open_session(retry=ONCE) as session:
        stream = session.scan(model).segments(5).stream()
        while True:
            try:
                async for item in stream:
                    found.append(item.at)  # noqa: PERF401
                break
            except ThrottledError:
                failures += 1
    assert sorted(found) == list(range(300))
    assert failures > 5


async def test_a_cancelled_call_loses_nothing(transport, segmented, open_session, model):
    transport.otherwise, transport.latency = segmented(60), 1.0
    found = []
    async with open_session() as session:
        stream = session.scan(model).segments(3).stream()
        while True:
            waiting = asyncio.create_task(anext(stream, None))
            await asyncio.sleep(0.3)
            if not waiting.done():
                waiting.cancel()
                await asyncio.wait((waiting,))
                continue
            if waiting.result() is None:
                break
            found.append(waiting.result().at)
    assert sorted(found) == list(range(60))


@pytest.mark.parametrize("stop", [0, 1, 9, 10, 11, 37, 59, 60])
async def test_a_checkpoint_goes_on_exactly_after_the_item_given_out_last(
    transport, segmented, open_session, model, stop
):
    transport.otherwise = segmented(60)
    async with open_session(cursor_secret="0123456789abcdef") as session:
        scan = session.scan(model).segments(4)
        async with scan.stream() as stream:
            before = [(await anext(stream)).at for _ in range(stop)]
            checkpoint = stream.checkpoint()
        assert stream.checkpoint() == checkpoint
        after = numbers(await scan.resume(checkpoint))
        assert sorted([*before, *after]) == list(range(60))
        assert await scan.resume(checkpoint).count() == 60 - stop


@pytest.mark.parametrize("seed", range(20))
async def test_any_number_of_stops_failures_and_limits_lose_and_repeat_nothing(
    transport, segmented, open_session, model, seed
):
    chance = random.Random(seed)
    answers = segmented(chance.randint(0, 120), page=chance.randint(1, 9))
    transport.otherwise = lambda request: throttled() if chance.random() < 0.1 else answers(request)
    found, checkpoint = [], None
    async with open_session(retry=ONCE) as session:
        scan = session.scan(model).segments(chance.randint(1, 6))
        while len(found) < answers.count:
            step = scan.limit(chance.randint(1, 30)) if chance.random() < 0.5 else scan
            async with step.resume(checkpoint).stream() as stream:
                try:
                    async for item in stream:
                        found.append(item.at)
                        if chance.random() < 0.1:
                            break
                except ThrottledError:
                    pass
                checkpoint = stream.checkpoint()
        rest = []
        while True:
            try:
                rest += numbers(await scan.resume(checkpoint))
                break
            except ThrottledError:
                pass
    assert sorted(found) == list(range(answers.count))
    assert rest == []


async def test_a_checkpoint_passes_the_page_of_an_item_that_does_not_fit(transport, segmented, open_session, model):
    answers = segmented(30)
    transport.otherwise = lambda request: broken(answers(request)) if request.body["Segment"] == 1 else answers(request)

    def broken(answer):
        return {**answer, "Items": [{**item, "value": {"S": "broken"}} for item in answer["Items"]]}

    async with open_session() as session:
        stream = session.scan(model).segments(3).stream()
        found = []
        with pytest.raises(ItemValidationError):
            found += [item.at async for item in stream]
        checkpoint = stream.checkpoint()
        rest = [item.at async for item in stream]
        assert sorted(numbers(await session.scan(model).segments(3).resume(checkpoint))) == sorted(rest)


@pytest.mark.parametrize("segments", [200, 1_000_000])
async def test_a_checkpoint_is_short_however_many_segments_there_are(transport, open_session, model, segments):
    chance, asked = random.Random(0), []

    def endless(request):
        asked.append(request.body["Segment"])
        key = {"sensor": {"S": str(uuid.UUID(int=chance.getrandbits(128)))}, "at": {"N": str(chance.randrange(10**9))}}
        return {"Items": [{**key, "value": {"N": "0"}}], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": key}

    transport.otherwise = endless
    async with open_session(cursor_secret="0123456789abcdef") as session:
        scan = session.scan(model).segments(segments)
        async with scan.stream() as stream:
            for _ in range(500):
                await anext(stream)
            checkpoint = stream.checkpoint()
        assert len(set(asked)) == transport.max_connections
        assert len(checkpoint) < 4096
        asked.clear()
        async with scan.resume(checkpoint).stream() as stream:
            await anext(stream)
            assert sorted(asked) == list(range(transport.max_connections))
            assert stream.checkpoint() != checkpoint


async def test_a_checkpoint_of_another_scan_is_refused(transport, segmented, open_session, model):
    transport.otherwise = segmented(60)
    async with open_session(cursor_secret="0123456789abcdef") as session:
        scan = session.scan(model).segments(4)
        async with scan.stream() as stream:
            await anext(stream)
            checkpoint = stream.checkpoint()
        with pytest.raises(CursorError, match=r"has 4 segments, and the scan has 5; write \.segments\(4\)"):
            await session.scan(model).segments(5).resume(checkpoint)
        with pytest.raises(CursorError, match="another query"):
            await scan.where(model.value > 1).resume(checkpoint)
        with pytest.raises(CursorError, match="another query"):
            await session.scan(model).page(size=5, after=checkpoint)
        with pytest.raises(CursorError, match="not made by this library"):
            await scan.resume(checkpoint[:-3])
    async with open_session(cursor_secret="fedcba9876543210") as session:
        with pytest.raises(CursorError, match="another cursor_secret"):
            await session.scan(model).segments(4).resume(checkpoint)


async def test_what_segments_cannot_be_is_refused_with_a_remedy(transport, open_session, model, table):
    transport.otherwise = table(3)
    async with open_session() as session:
        scan = session.scan(model)
        for wrong, error in (
            (0, OutOfRangeError),
            (-1, OutOfRangeError),
            *((each, OperationError) for each in (True, 2.0, "2")),
        ):
            with pytest.raises(error, match="whole number from 1 up"):
                scan.segments(wrong)
        with pytest.raises(OperationError, match="1 to 1,000,000, not 1,000,001"):
            scan.segments(1_000_001)
        with pytest.raises(OperationError, match=r"keep stream\.checkpoint\(\) for \.resume\(\)"):
            await scan.segments(2).page(size=3)
        with pytest.raises(OperationError, match=r"segments\(n\)\.resume\(checkpoint\)"):
            scan.resume("x")
        with pytest.raises(OperationError, match="to continue later"):
            scan.stream().checkpoint()


@pytest.mark.parametrize("method", ["segments", "resume"])
async def test_only_scans_are_read_in_segments(open_session, model, method):
    async with open_session() as session:
        for query in (session.query(model), Query(model), session.query(model).select(model.at)):
            assert not hasattr(query, method)
        for scan in (session.scan(model), Scan(model)):
            for each in (scan, scan.where(model.value > 1), scan.select(model.at), scan.into(Instant)):
                assert hasattr(each, method)
    assert not hasattr(Collection, method)
    assert not hasattr(BoundCollection, method)


async def test_the_plan_says_how_many_segments(open_session, model):
    async with open_session() as session:
        plan = session.scan(model).segments(8).explain()
    assert plan.segments == 8
    assert str(plan).startswith("Scan Reading in 'readings', through the table, in 8 segments\n")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (lambda scan: scan.segment(-1, 4), "a number from 0 to 3, not -1"),
        (lambda scan: scan.segment(4, 4), "a number from 0 to 3, not 4"),
        (lambda scan: scan.segment(True, 4), "a number from 0 to 3, not True"),
        (lambda scan: scan.segment(0, "4"), "segment"),
        (lambda scan: scan.segment(0, 1_000_001), "a total of 1 to 1,000,000"),
        (lambda scan: scan.segment(0, 4).segments(4), "drop one of the two"),
        (lambda scan: scan.segments(4).segment(0, 4), "drop one of the two"),
    ],
)
def test_a_segment_that_none_is_is_refused(model, wrong, problem):
    with pytest.raises(OperationError, match=problem):
        wrong(Scan(model))


def test_a_scan_of_one_segment_of_none_is_refused(model):
    with pytest.raises(OutOfRangeError, match="whole number from 1 up"):
        Scan(model).segment(0, 0)


def test_a_scan_of_one_segment_says_which_in_its_request(model):
    body = Scan(model).segment(2, 5).explain().body
    assert (body["Segment"], body["TotalSegments"]) == (2, 5)
