"""Budgets bind: a scope exceeds its budget by one request at the most, and loses nothing that it paid for."""

import asyncio
import random
from math import inf

import anyio
import pytest

from dynamap_async import Attr, Model, PartitionKey, Session, SortKey, attr
from dynamap_async.errors import CapacityBudgetExceededError


class Photo(Model, table="photos"):
    album: PartitionKey[str]
    number: SortKey[int]
    likes: Attr[int] = attr(default=0)


PAGE = 10
"""How many items a page has."""
LARGEST = 50.0
"""What a read of the largest item takes."""


class Table:
    """A table of which each item, each page and each write takes what a function of its number says."""

    max_connections = 64

    def __init__(self, units, pages=4):
        self.units, self.pages = units, pages
        self.taken, self.dearest, self.requests = 0.0, 0.0, []

    async def open(self): ...

    async def close(self): ...

    def take(self, number, *, most=inf):
        units = min(most, self.units(number))
        self.dearest = max(self.dearest, units)
        return units

    async def send(self, request):
        self.requests.append(request)
        await asyncio.sleep(0.01)
        answer, units = getattr(self, request.operation.lower())(request.body)
        self.taken += units
        told = {"TableName": "photos", "CapacityUnits": units, "Table": {"CapacityUnits": units}}
        return {**answer, "ConsumedCapacity": [told] if request.operation.startswith("Batch") else told}

    def getitem(self, body):
        return {"Item": body["Key"]}, self.take_item(body["Key"])

    def batchgetitem(self, body):
        keys = body["RequestItems"]["photos"]["Keys"]
        return {"Responses": {"photos": keys}}, sum(self.take_item(key) for key in keys)

    def take_item(self, key):
        return self.take(int(key["number"]["N"]), most=LARGEST)

    def batchwriteitem(self, body):
        puts = [each["PutRequest"]["Item"] for each in body["RequestItems"]["photos"]]
        return {}, sum(self.take(int(item["number"]["N"])) for item in puts)

    def putitem(self, body):
        return {}, self.take(int(body["Item"]["number"]["N"]))

    def updateitem(self, body):
        return {"Attributes": {**body["Key"], "likes": {"N": "1"}}}, self.take(int(body["Key"]["number"]["N"]))

    def query(self, body):
        values = body.get("ExpressionAttributeValues", {":0": {"S": str(body.get("Segment"))}})
        album = next(iter(values.values()))
        start = body.get("ExclusiveStartKey")
        first = 0 if start is None else int(start["number"]["N"]) + 1
        keys = [{"album": album, "number": {"N": str(n)}} for n in range(first, first + PAGE)]
        more = {"LastEvaluatedKey": keys[-1]} if first // PAGE + 1 < self.pages else {}
        answer = {"Items": keys, "Count": PAGE, "ScannedCount": PAGE, **more}
        return answer, self.take(first // PAGE)

    scan = query


async def outcomes(awaitables):
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    await asyncio.wait(tasks)
    return [task.exception() or task.result() for task in tasks]


def whole_album(session, album="a"):
    return session.query(Photo).where(Photo.album == album)


WORK = {
    "a query": lambda session: [whole_album(session)],
    "ten queries at once": lambda session: [whole_album(session, f"{n}") for n in range(10)],
    "300 gets at once": lambda session: [session.get(Photo, "a", n) for n in range(300)],
    "a read of 300 keys": lambda session: [session.get_many(Photo, [("a", n) for n in range(300)])],
    "a scan in 8 segments": lambda session: [session.scan(Photo).segments(8)],
    "a query of eight albums": lambda session: [
        session.query(Photo).where(Photo.album.is_in(*[f"{n}" for n in range(8)]))
    ],
}
WRITES = {
    "100 updates at once": lambda session: [session.update(Photo, "a", n).add(Photo.likes, 1) for n in range(100)],
    "a load": lambda session: [session.put_many(Photo(album="a", number=n) for n in range(200))],
}


def drawn(seed, most):
    """Return sizes that differ, up to so many units."""
    return lambda number: random.Random(f"{seed} {number}").randrange(1, 2 * most + 1) / 2


SIZES = {
    "0.5": lambda _: 0.5,
    "5": lambda _: 5.0,
    "128.5": lambda _: 128.5,
    "up to 8": drawn(1, 8),
    "up to 128": drawn(3, 128),
}


@pytest.mark.parametrize("budget", [2, 50, 300])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("work", WORK)
async def test_reads_in_a_fresh_session_exceed_a_budget_by_one_request_at_the_most(work, size, budget):
    table = Table(SIZES[size])
    async with Session(transport=table) as session, session.scope("handler", max_read_units=budget) as scope:
        await outcomes(WORK[work](session))
    assert table.taken == scope.usage.read_units
    assert table.taken < budget + table.dearest


@pytest.mark.parametrize("budget", [2, 50, 300])
@pytest.mark.parametrize("size", ["5", "128.5", "up to 8"])
@pytest.mark.parametrize("work", WRITES)
async def test_writes_in_a_fresh_session_exceed_a_budget_by_one_request_at_the_most(work, size, budget):
    table = Table(SIZES[size])
    async with Session(transport=table) as session, session.scope("handler", max_write_units=budget) as scope:
        await outcomes(WRITES[work](session))
    assert table.taken == scope.usage.write_units
    assert table.taken < budget + table.dearest


async def test_what_a_budget_allows_is_used_up():
    table = Table(lambda _: 5.0)
    async with Session(transport=table) as session, session.scope("handler", max_read_units=50):
        results = await outcomes(WORK["300 gets at once"](session))
    assert sum(isinstance(each, Photo) for each in results) == 10
    assert table.taken == 50


async def test_requests_of_a_known_kind_travel_together():
    table = Table(lambda _: 0.5)
    async with Session(transport=table) as session:
        async with session.scope("first", max_read_units=50):
            await outcomes(session.get(Photo, "a", n) for n in range(40))
        before = len(table.requests)
        async with session.scope("second", max_read_units=50):
            await outcomes(session.get(Photo, "a", n) for n in range(40))
        assert len(table.requests) - before == 1


async def test_a_fresh_session_needs_few_round_trips_to_know_a_kind():
    table = Table(lambda _: 0.5)
    async with Session(transport=table) as session, session.scope("handler", max_read_units=50):
        await outcomes(session.get(Photo, "a", n) for n in range(80))
    assert len(table.requests) <= 6


async def test_a_budget_far_away_holds_nothing_up():
    table = Table(lambda _: 0.5)
    async with Session(transport=table) as session, session.scope("handler", max_read_units=10_000):
        await outcomes(session.get(Photo, "a", n) for n in range(80))
    assert len(table.requests) == 1


async def test_scopes_share_what_is_left_of_the_budget_around_them():
    table = Table(lambda _: 128.5)

    async def inside(session, number):
        async with session.scope(f"{number}", max_read_units=1000):
            await whole_album(session, f"{number}")

    async with Session(transport=table) as session, session.scope("outer", max_read_units=200):
        results = await outcomes(inside(session, n) for n in range(5))
    assert all(isinstance(each, CapacityBudgetExceededError) for each in results)
    assert table.taken == 2 * 128.5


@pytest.mark.parametrize("work", ["a query", "a scan in 8 segments", "a query of eight albums"])
async def test_pages_that_were_paid_for_come_with_the_error(work):
    table = Table(lambda _: 20.0)
    async with Session(transport=table) as session, session.scope("handler", max_read_units=50):
        [error] = await outcomes(WORK[work](session))
    assert isinstance(error, CapacityBudgetExceededError)
    assert len(error.items) == PAGE * len(table.requests) == PAGE * 3
    assert all(isinstance(each, Photo) for each in error.items)


async def test_items_that_are_skipped_do_not_come_with_the_error():
    class Spoilt(Table):
        def query(self, body):
            answer, units = super().query(body)
            answer["Items"][1]["likes"] = {"S": "many"}
            return answer, units

    table = Spoilt(lambda _: 20.0)
    async with Session(transport=table) as session, session.scope("handler", max_read_units=50):
        [error] = await outcomes([WORK["a query of eight albums"](session)[0].invalid("skip")])
    assert len(error.items) == (PAGE - 1) * len(table.requests) == (PAGE - 1) * 3
    assert all(isinstance(each, Photo) for each in error.items)


async def test_a_stream_gives_out_what_was_paid_for_and_then_the_error():
    table, seen = Table(lambda _: 20.0), []

    async def look_at(photos):
        async for photo in photos:
            seen.append(photo)  # noqa: PERF401 - what was seen before the error counts

    async with Session(transport=table) as session, session.scope("handler", max_read_units=50):
        with pytest.raises(CapacityBudgetExceededError):
            await look_at(session.scan(Photo).segments(8).stream())
    assert len(seen) == PAGE * len(table.requests) == PAGE * 3


async def test_reads_of_another_scope_do_not_wait_for_a_budget():
    table = Table(lambda _: 1.0)
    async with Session(transport=table) as session:

        async def bounded():
            async with session.scope("bounded", max_read_units=3):
                return await outcomes(session.get(Photo, "a", n) for n in range(10))

        waiting = asyncio.create_task(bounded())
        await asyncio.sleep(0.001)
        begin = asyncio.get_running_loop().time()
        await outcomes(session.get(Photo, "a", n) for n in range(10))
        assert asyncio.get_running_loop().time() - begin < 0.015
        refused = [each for each in await waiting if isinstance(each, CapacityBudgetExceededError)]
    assert 0 < len(refused) < 10


async def test_handlers_with_budgets_of_their_own_share_a_read_of_one_key():
    table = Table(lambda _: 1.0)
    async with Session(transport=table) as session:

        async def handler(number):
            async with session.scope(f"{number}", max_read_units=60):
                return await session.get(Photo, "a", 1)

        await outcomes(handler(n) for n in range(50))
    assert len(table.requests) == 1


async def test_whoever_gives_up_waiting_for_a_budget_holds_up_nobody():
    table = Table(lambda _: 1.0)
    async with Session(transport=table) as session, session.scope("handler", max_read_units=4) as scope:
        first = asyncio.ensure_future(session.get(Photo, "a", 1))
        await asyncio.sleep(0.001)
        with anyio.move_on_after(0.001):
            await session.get(Photo, "a", 2)
        await outcomes([first, session.get(Photo, "a", 3)])
    assert scope.usage.read_units == 2.0


async def test_a_write_waits_for_its_budget_after_its_turn_among_the_writes_of_its_key():
    table = Table(lambda _: 1.0)
    async with Session(transport=table) as session, session.scope("outer", max_write_units=20):

        async def one(number):
            async with session.scope(f"{number}", max_write_units=5):
                await outcomes(session.update(Photo, "a", key).add(Photo.likes, 1) for key in (1, 2, number % 3))

        await asyncio.wait_for(outcomes(one(n) for n in range(6)), 5)
    assert table.taken == 18
