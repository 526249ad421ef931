"""One query over several partitions: concurrent, merged, with one cursor."""

import asyncio
import random

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import CursorError, OperationError, OutOfRangeError, ThrottledError

ONCE = RetryPolicy(max_attempts=1)


class Wide(Model, table="wide"):
    id: PartitionKey[str]
    shard: Attr[int] = attr(default=0)
    kind: Attr[str] = attr(default="")

    by_both = GlobalIndex(partition_key=("shard", "kind"))


class Journal(Model, table="journals"):
    owner: PartitionKey[str]
    entry: SortKey[str]


class Answers:
    """Each sensor's readings at its own times, answered a page at a time."""

    def __init__(self, times, *, page=10):
        self.times, self.page = times, page
        self.asked = []

    def __call__(self, request):
        body = request.body
        [value] = body["ExpressionAttributeValues"].values()
        sensor = value["S"]
        self.asked.append(sensor)
        times = sorted(self.times[sensor], reverse=not body.get("ScanIndexForward", True))
        if "ExclusiveStartKey" in body:
            after = int(body["ExclusiveStartKey"]["at"]["N"])
            times = times[times.index(after) + 1 :]
        page = times[: min(self.page, body.get("Limit", self.page))]
        items = [{"sensor": value, "at": {"N": str(at)}, "value": {"N": "0"}} for at in page]
        answer = {"Items": items, "Count": len(items), "ScannedCount": len(items)}
        if len(page) < len(times):
            answer["LastEvaluatedKey"] = {"sensor": value, "at": {"N": str(page[-1])}}
        if body.get("Select") == "COUNT":
            del answer["Items"]
        return answer


SENSORS = {"a": range(0, 90, 3), "b": range(1, 90, 3), "c": range(2, 90, 3), "d": []}


@pytest.fixture
def query(model):
    return lambda session: session.query(model).where(model.sensor.is_in("a", "b", "c", "d", "a"))


def times(items):
    return [item.at for item in items]


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_partitions_are_read_at_the_same_time_and_merged(transport, open_session, query):
    transport.otherwise, transport.latency = Answers(SENSORS, page=100), 1.0
    async with open_session() as session:
        begun = asyncio.get_running_loop().time()
        assert times(await query(session)) == list(range(90))
        assert asyncio.get_running_loop().time() - begun == pytest.approx(1)
        assert times(await query(session).descending()) == list(range(90))[::-1]
    assert sorted(transport.otherwise.asked) == sorted("abcdabcd")
    assert transport.most_under_way == 4


async def test_no_more_queries_are_under_way_than_there_are_slots(transport, open_session, query):
    transport.max_connections = 2
    transport.otherwise, transport.latency = Answers(SENSORS), 1.0
    async with open_session() as session:
        assert times(await query(session)) == list(range(90))
    assert transport.most_under_way == 2


async def test_a_slow_consumer_stops_the_requests(transport, open_session, query):
    transport.otherwise = Answers({name: range(n, 900, 3) for n, name in enumerate("abc")} | {"d": []})
    async with open_session() as session:
        stream = query(session).stream()
        await anext(stream)
        await asyncio.sleep(1000)
        assert len(transport.requests) == 4 + 3
        await stream.aclose()


async def test_nothing_is_under_way_when_a_limit_was_reached(transport, open_session, query):
    answers, under_way, pages = Answers(SENSORS, page=2), [], iter(range(100))

    async def send(request):
        under_way.append(request)
        try:
            await asyncio.sleep(next(pages))
            return answers(request)
        finally:
            under_way.remove(request)

    transport.send = send
    async with open_session() as session:
        assert len(await query(session).limit(3)) == 3
        assert under_way == []


async def test_leaving_early_leaves_no_task_and_no_request(transport, open_session, query):
    transport.otherwise, transport.latency = Answers(SENSORS), 1.0
    async with open_session() as session:
        async for _ in query(session):
            await asyncio.sleep(0.5)
            break
        await settle()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert transport.under_way == 0


async def test_pages_of_every_size_lose_and_repeat_nothing(transport, open_session, query):
    transport.otherwise = Answers(SENSORS, page=4)
    async with open_session(cursor_secret="0123456789abcdef") as session:
        for size in (1, 2, 7, 30, 89, 90, 91):
            found, cursor = [], None
            while True:
                page = await query(session).page(size=size, after=cursor)
                found += times(page.items)
                cursor = page.cursor
                if cursor is None:
                    break
            assert found == list(range(90))


async def test_a_failed_partition_fails_the_query_and_a_stream_goes_on(transport, open_session, query):
    answers = Answers(SENSORS)
    failing = {3, 6, 7}
    transport.otherwise = lambda request: throttled() if len(transport.requests) in failing else answers(request)
    found, failures = [], 0
    async with open_session(retry=ONCE) as session:
        stream = query(session).stream()
        while True:
            try:
                async for item in stream:
                    found.append(item.at)  # noqa: PERF401
                break
            except ThrottledError:
                failures += 1
    assert found == list(range(90))
    assert failures


def throttled():
    return ThrottledError("slow down", service_code="ThrottlingException", operation="Query", table="t", status=400)


async def test_a_cancelled_call_loses_nothing(transport, open_session, query):
    transport.otherwise, transport.latency = Answers(SENSORS), 1.0
    found = []
    async with open_session() as session:
        stream = query(session).stream()
        for turn in range(1000):
            waiting = asyncio.create_task(anext(stream, None))
            await asyncio.sleep(0.3 if turn % 5 else 3)
            if not waiting.done():
                waiting.cancel()
                await asyncio.wait((waiting,))
                continue
            if waiting.result() is None:
                break
            found.append(waiting.result().at)
    assert found == list(range(90))


async def test_a_count_a_first_a_limit_and_a_selection(transport, open_session, query, model):
    transport.otherwise = Answers(SENSORS)
    async with open_session() as session:
        assert await query(session).count() == 90
        assert await query(session).limit(7).count() == 7
        assert (await query(session).first()).at == 0
        assert (await query(session).descending().first()).at == 89
        assert await query(session).limit(3).select(model.at) == [(0,), (1,), (2,)]


async def test_one_value_is_one_plain_query(transport, open_session, model):
    transport.otherwise = Answers(SENSORS)
    async with open_session() as session:
        query = session.query(model).where(model.sensor.is_in("b", "b"))
        assert times(await query) == list(range(1, 90, 3))
        assert query.explain().queries == 1


async def test_the_plan_says_how_many_queries(open_session, query):
    async with open_session() as session:
        plan = query(session).explain()
    assert plan.queries == 4
    assert str(plan).startswith("Query Reading in 'readings', through the table, in 4 queries, merged\n")
    assert "key condition  Reading.sensor.is_in('a', 'b', 'c', 'd')" in str(plan)


async def test_a_key_that_one_query_answers_goes_before(open_session):
    async with open_session() as session:
        query = session.query(Wide).where(Wide.id == "x", Wide.shard.is_in(1, 2))
        assert (query.explain().queries, query.explain().index) == (1, None)
        other = session.query(Wide).where(Wide.id.is_in("x", "y"), Wide.shard == 1, Wide.kind == "k")
        assert (other.explain().queries, other.explain().index) == (1, "by_both")


async def test_several_attributes_multiply_up_to_100_queries(open_session):
    async with open_session() as session:
        query = session.query(Wide).where(Wide.shard.is_in(*range(10)))
        assert query.where(Wide.kind.is_in(*"abcdefghij")).explain().queries == 100
        assert query.where(Wide.kind == "a").explain().queries == 10
        with pytest.raises(OutOfRangeError, match="110 combinations of values.*ask for fewer values at a time"):
            query.where(Wide.kind.is_in(*"abcdefghijk")).explain()


async def test_a_cursor_over_4_kb_is_refused_with_a_remedy(transport, open_session):
    chance = random.Random(0)

    def answer(request):
        [owner] = request.body["ExpressionAttributeValues"].values()
        key = {"owner": owner, "entry": {"S": f"{chance.getrandbits(256):064x}"}}
        return {"Items": [key], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": key}

    transport.otherwise = answer
    async with open_session() as session:
        owners = [str(n) for n in range(100)]
        few = session.query(Journal).where(Journal.owner.is_in(*owners[:50]))
        assert len((await few.page(size=500)).cursor) < 4096
        many = session.query(Journal).where(Journal.owner.is_in(*owners))
        with pytest.raises(
            OperationError, match="the 100 positions would take .* a cursor has at most .*fewer partitions at a time"
        ):
            await many.page(size=1000)


async def test_a_cursor_is_bound_to_its_partitions(transport, open_session, query, model):
    transport.otherwise = Answers(SENSORS)
    async with open_session() as session:
        page = await query(session).page(size=5)
        for other in (("a", "b", "c"), ("a", "b", "c", "e"), ("b", "a", "c", "d")):
            with pytest.raises(CursorError, match="another query"):
                await session.query(model).where(model.sensor.is_in(*other)).page(size=5, after=page.cursor)
        with pytest.raises(CursorError, match="another query"):
            await session.query(model).where(model.sensor == "a").page(size=5, after=page.cursor)
