"""Callers that wait for numbers at the same time share an allocation, and each of them has its own fate."""

import asyncio

import pytest

from dynamap_async import Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import AccessDeniedError, ConnectionFailedError, Outcome, SessionClosedError

LOST = ConnectionFailedError("lost", outcome=Outcome.UNKNOWN, operation="UpdateItem", table="dynamap")


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)


class Comment(Model, table="comments"):
    post: PartitionKey[str]
    number: SortKey[int] = attr(autoincrement=True)


class Counters:
    """Counts by UpdateItem; takes every PutItem."""

    def __init__(self):
        self.last = {}
        self.allocations = []
        self.puts = []
        self.refusals = []
        """Raised instead of counting."""
        self.losses = []
        """Raised after counting."""

    def __call__(self, request):
        if request.operation == "PutItem":
            self.puts.append(request.body["Item"]["number"]["N"])
            return {}
        name = request.body["Key"]["pk"]["S"]
        count = int(request.body["ExpressionAttributeValues"][":count"]["N"])
        self.allocations.append(count)
        if self.refusals:
            raise self.refusals.pop()
        self.last[name] = self.last.get(name, 0) + count
        if self.losses:
            raise self.losses.pop()
        return {"Attributes": {"n": {"N": str(self.last[name])}}}


@pytest.fixture
def counters(transport):
    transport.otherwise = Counters()
    return transport.otherwise


@pytest.fixture
def slow(transport, counters):
    transport.latency = 1.0
    return counters


async def test_those_that_wait_at_the_same_time_share_an_allocation(counters, open_session):
    async with open_session() as session:
        await session.gather(*(session.create(Ticket()) for _ in range(50)))
    assert counters.allocations == [50]
    assert sorted(map(int, counters.puts)) == list(range(1, 51))


async def test_those_that_come_during_an_allocation_share_the_next(slow, open_session):
    async with open_session() as session:
        first = asyncio.create_task(session.create(Ticket()))
        await asyncio.sleep(0.5)
        later = [asyncio.create_task(session.create(Ticket())) for _ in range(3)]
        tickets = [await task for task in (first, *later)]
    assert slow.allocations == [1, 3]
    assert [ticket.number for ticket in tickets] == [1, 2, 3, 4]


async def test_each_counter_is_asked_by_itself(counters, open_session):
    async with open_session() as session:
        await session.gather(*(session.create(Comment(post=post)) for post in "abab"))
    assert counters.allocations == [2, 2]


async def test_items_of_one_transaction_share_an_allocation(transport, counters, open_session):
    transport.otherwise = lambda request: {} if request.operation == "TransactWriteItems" else counters(request)
    tickets = [Ticket() for _ in range(5)]
    async with open_session() as session, session.transaction() as tx:
        for ticket in tickets:
            tx.put(ticket)
    assert counters.allocations == [5]
    assert [ticket.number for ticket in tickets] == [1, 2, 3, 4, 5]


async def test_a_caller_that_is_cancelled_takes_no_number_from_the_others(slow, open_session):
    async with open_session() as session:
        tasks = [asyncio.create_task(session.create(Ticket())) for _ in range(3)]
        await asyncio.sleep(0.5)
        tasks[1].cancel()
        await asyncio.wait(tasks)
    assert tasks[1].cancelled()
    assert [tasks[0].result().number, tasks[2].result().number] == [1, 3]


async def test_a_caller_that_is_cancelled_before_the_request_is_not_counted(counters, open_session):
    async with open_session() as session:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await session.create(Ticket())
        assert (await session.create(Ticket())).number == 1
    assert counters.allocations == [1]


async def test_every_caller_gets_its_own_error_and_the_next_ones_go_on(counters, open_session):
    denied = AccessDeniedError("no", service_code="x", operation="UpdateItem", table="dynamap", status=400)
    counters.refusals = [denied]
    async with open_session() as session:
        tasks = [asyncio.create_task(session.create(Ticket())) for _ in range(3)]
        await asyncio.wait(tasks)
        errors = [task.exception() for task in tasks]
        assert (await session.create(Ticket())).number == 1
    assert [type(error) for error in errors] == [AccessDeniedError] * 3
    assert len(set(map(id, errors))) == 3


async def test_an_allocation_whose_answer_was_lost_is_made_again_and_leaves_a_gap(counters, open_session):
    counters.losses = [LOST]
    async with open_session() as session:
        tickets = [Ticket() for _ in range(3)]
        await session.gather(*map(session.create, tickets))
    assert counters.allocations == [3, 3]
    assert [ticket.number for ticket in tickets] == [4, 5, 6]


async def test_without_retries_a_lost_allocation_is_an_error(counters, open_session):
    counters.losses = [LOST]
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        with pytest.raises(ConnectionFailedError):
            await session.create(Ticket())
    assert counters.puts == []


async def test_closing_the_session_waits_for_the_allocation_and_leaves_no_task(slow, open_session):
    async with open_session() as session:
        task = asyncio.create_task(session.create(Ticket()))
        await asyncio.sleep(0.5)
    assert len(asyncio.all_tasks()) <= 2  # the test, and the caller
    with pytest.raises(SessionClosedError):
        await task
    assert slow.allocations == [1]
    assert slow.puts == []
