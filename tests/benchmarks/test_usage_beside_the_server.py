"""What a session says that it took is what the server has sold, also where no answer told it."""

import asyncio
import random

import pytest

from dynamap_async import Attr, Model, PartitionKey, Put, RetryPolicy, Session, SortKey, Update, attr
from dynamap_async.errors import DynamapError


class Page(Model, table="pages"):
    book: PartitionKey[str]
    number: SortKey[int]
    reads: Attr[int] = attr(default=0)
    text: Attr[str] = attr(default="")


@pytest.fixture
def library():
    """A table with four books of 60 pages, some longer than others. Its clock stands still."""
    from benchmarks.acceptance.service import CountingService

    made = CountingService(lambda: 1000.0)
    made.answer(
        "CreateTable",
        {
            "TableName": "pages",
            "KeySchema": [
                {"AttributeName": "book", "KeyType": "HASH"},
                {"AttributeName": "number", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": "book", "AttributeType": "S"},
                {"AttributeName": "number", "AttributeType": "N"},
            ],
            "ProvisionedThroughput": {"ReadCapacityUnits": 10**7, "WriteCapacityUnits": 10**7},
        },
    )
    for number in range(240):
        key = {"book": {"S": f"{number % 4}"}, "number": {"N": str(number // 4)}}
        item = {**key, "reads": {"N": "1"}, "text": {"S": "x" * (number * 37 % 9000)}}
        made.answer("PutItem", {"TableName": "pages", "Item": item})
    made.counts.reset()
    return made


def one(session, chance):
    """Return something that is done with a page, or several."""
    book, number = f"{chance.randrange(4)}", chance.randrange(60)
    match chance.choice(["get", "get", "get many", "query", "put", "add", "create", "guarded", "together"]):
        case "get":
            return session.get(Page, book, number)
        case "get many":
            return session.get_many(Page, [(book, each) for each in range(number % 20)])
        case "query":
            return session.query(Page).where(Page.book == book).limit(20)
        case "put":
            return session.put(Page(book=book, number=number, text="x" * chance.randrange(5000)))
        case "add":
            return session.update(Page, book, number).add(Page.reads, 1)
        case "create":  # which is there already
            return session.create(Page(book=book, number=number, text="x" * chance.randrange(9000)))
        case "guarded":
            return session.update(Page, book, number).add(Page.reads, 1).where(Page.reads < 0)
        case _:
            wrong = Update(Page, "0", 1).set(Page.reads, 1).where(Page.reads < 0)
            return session.transact_write([Put(Page(book=book, number=number + 100, text="x" * 3000)), wrong])


async def outcome(awaitable, cancel_after):
    task = asyncio.ensure_future(awaitable)
    if cancel_after is not None:
        asyncio.get_running_loop().call_later(cancel_after, task.cancel)
    await asyncio.wait([task])
    return None if task.cancelled() else task.exception()


@pytest.mark.parametrize(("cancelled", "lost", "unsent"), [(0.03, 0.0, 0.0), (0.0, 0.02, 0.02), (0.02, 0.01, 0.01)])
def test_usage_is_within_half_a_percent_of_what_the_server_sold(virtual_clock, library, wire, cancelled, lost, unsent):
    with asyncio.Runner(loop_factory=virtual_clock) as runner:  # without asyncio's debug mode: a thousand operations
        runner.run(used(library, cancelled, wire(library, lost=lost, unsent=unsent)))


async def used(library, cancelled, transport):
    chance = random.Random(7)
    async with Session(transport=transport, retry=RetryPolicy(base_delay_seconds=0.001)) as session:

        async def work():
            for _ in range(100):
                error = await outcome(one(session, chance), 0.004 if chance.random() < cancelled else None)
                assert error is None or isinstance(error, DynamapError)

        async with session.scope("work") as scope, asyncio.TaskGroup() as group:
            for _ in range(16):
                group.create_task(work())
    sold = library.counts.total
    for usage in (session.usage, scope.usage):
        assert usage.estimated_write_units > 0
        assert usage.read_units + usage.estimated_read_units == pytest.approx(sold.read_units, rel=0.005)
        assert usage.write_units + usage.estimated_write_units == pytest.approx(sold.write_units, rel=0.005)


@pytest.mark.virtual_clock
async def test_reads_that_were_cancelled_under_way_are_counted_as_an_estimate(library, wire):
    async with Session(transport=wire(library)) as session, session.scope("handler") as scope:
        tasks = [asyncio.ensure_future(session.get(Page, "1", 0, coalesce=False)) for _ in range(50)]
        await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert scope.usage.read_units == 0
    assert scope.usage.estimated_read_units == library.counts.total.read_units == 25
    assert scope.usage.unreported_requests == 50


@pytest.mark.virtual_clock
async def test_queries_under_way_take_no_part_in_what_one_is_supposed_to_take(library, wire):
    async with Session(transport=wire(library)) as session:
        await session.query(Page).where(Page.book == "1")
        tasks = [asyncio.ensure_future(_whole(session)) for _ in range(20)]
        await asyncio.sleep(0.001)
        tasks[0].cancel()
        await asyncio.wait(tasks)
    used = session.usage
    assert used.read_units + used.estimated_read_units == library.counts.total.read_units


async def _whole(session):
    return await session.query(Page).where(Page.book == "1")


@pytest.mark.virtual_clock
async def test_a_failed_condition_is_counted_as_the_larger_of_both_items(library, wire):
    async with Session(transport=wire(library)) as session:
        for text in ("", "x" * 12_000):
            with pytest.raises(DynamapError):
                await session.create(Page(book="3", number=50, text=text))
    assert session.usage.estimated_write_units == library.counts.total.write_units
    assert session.usage.write_units == 0


@pytest.mark.virtual_clock
async def test_a_refusal_for_want_of_capacity_is_counted_as_nothing(library, wire):
    library.answer(
        "UpdateTable",
        {"TableName": "pages", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
    )
    library.spend_burst()
    async with Session(transport=wire(library), retry=RetryPolicy(max_attempts=1)) as session:
        with pytest.raises(DynamapError):
            await session.transact_write([Put(Page(book="9", number=each)) for each in range(20)])
    assert session.usage.estimated_write_units == library.counts.total.write_units == 0
