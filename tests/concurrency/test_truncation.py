"""A table that is emptied: few requests under way, beside what is more urgent, and nothing left when it is stopped."""

import asyncio
from collections import Counter

import pytest

from dynamap_async import CapacityPolicy, Model, PartitionKey, Priority, Session, Throughput
from dynamap_async.errors import AccessDeniedError, CapacityBudgetExceededError

PAGE = 90


class Order(Model, table="orders"):
    id: PartitionKey[str]


def paced(rate):
    return CapacityPolicy(limits=Throughput(read=1000, write=rate))


class Stored:
    """A table of items in order, that answers after a while and says what it took."""

    max_connections = 4

    def __init__(self, count, seconds=0.01, page=PAGE):
        self.items = {f"{number:06}": None for number in range(count)}
        self.seconds = seconds
        self.page = page
        self.requests = Counter()
        self.scans = []
        self.under_way = 0
        self.most_under_way = 0
        self.leaves_over = 0
        self.refusal = None

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        self.requests[request.operation] += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
            return getattr(self, request.operation)(request.body)
        finally:
            self.under_way -= 1

    def _check(self):
        if self.refusal is not None and self.requests["BatchWriteItem"] > 2:
            raise self.refusal

    def DescribeTable(self, body):  # noqa: N802 - the API's name
        return {
            "Table": {
                "TableName": body["TableName"],
                "TableStatus": "ACTIVE",
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
            }
        }

    def Scan(self, body):  # noqa: N802 - the API's name
        self.scans.append(body)
        after = body.get("ExclusiveStartKey", {"id": {"S": ""}})["id"]["S"]
        names = [name for name in sorted(self.items) if name > after]
        page = names[: self.page]
        more = {"LastEvaluatedKey": {"id": {"S": page[-1]}}} if len(names) > self.page else {}
        return {"Items": [{"id": {"S": name}} for name in page], "Count": len(page), **more, **consumed(2.0)}

    def BatchWriteItem(self, body):  # noqa: N802 - the API's name
        self._check()
        [entries] = body["RequestItems"].values()
        taken, over = entries[self.leaves_over :], entries[: self.leaves_over]
        self.leaves_over = 0
        for entry in taken:
            del self.items[entry["DeleteRequest"]["Key"]["id"]["S"]]
        left = {"UnprocessedItems": {"orders": over}} if over else {}
        spent = consumed(float(len(taken)))["ConsumedCapacity"]
        return {**left, "ConsumedCapacity": [spent]}

    def DeleteItem(self, body):  # noqa: N802 - the API's name
        self._check()
        del self.items[body["Key"]["id"]["S"]]
        return consumed(1.0)

    def PutItem(self, body):  # noqa: N802 - the API's name
        return consumed(1.0)


async def until(condition):
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it was not within 100 s of the loop's time")


def consumed(units):
    return {"ConsumedCapacity": {"TableName": "orders", "CapacityUnits": units, "Table": {"CapacityUnits": units}}}


async def test_calls_are_full_over_the_ends_of_pages():
    stored = Stored(1010)
    async with Session(transport=stored) as session:
        done = await session.tables.truncate(Order)
    assert not stored.items
    assert (done.items, done.write_units, done.read_units) == (1010, 1010.0, 2.0 * 12)
    assert stored.requests["BatchWriteItem"] == 41


async def test_only_keys_are_read_and_of_what_is_stored_now():
    stored = Stored(100)
    async with Session(transport=stored) as session:
        await session.tables.truncate(Order)
    assert {(each["ProjectionExpression"], each["ConsistentRead"]) for each in stored.scans} == {("#k0", True)}
    assert stored.scans[0]["ExpressionAttributeNames"] == {"#k0": "id"}


async def test_what_dynamodb_leaves_over_is_sent_again():
    stored = Stored(50)
    stored.leaves_over = 20
    async with Session(transport=stored) as session:
        assert (await session.tables.truncate(Order)).items == 50
    assert not stored.items


async def test_stopped_five_times_it_ends_with_two_calls_in_a_hundred_more():
    stored = Stored(20_000)
    calls = 0
    async with Session(transport=stored) as session:
        for _ in range(5):
            task = asyncio.create_task(session.tables.truncate(Order))
            calls += 100
            await until(lambda calls=calls: stored.requests["BatchWriteItem"] >= calls)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        left = len(stored.items)
        assert left > 0
        await session.tables.truncate(Order)
    assert not stored.items
    assert stored.requests["BatchWriteItem"] <= 1.02 * 20_000 / 25


async def test_stopped_it_reads_and_submits_nothing_more():
    stored = Stored(5_000, seconds=0.1, page=1_000)
    async with Session(transport=stored) as session:
        before = asyncio.all_tasks()
        task = asyncio.create_task(session.tables.truncate(Order))
        await until(lambda: stored.requests["BatchWriteItem"] >= 4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        sent = stored.requests.copy()
        await asyncio.sleep(10)
        assert stored.requests == sent
        assert stored.under_way == 0
        assert asyncio.all_tasks() == before
        assert session.statistics().queued == 0


async def test_a_deletion_that_is_refused_ends_it_with_that_error():
    stored = Stored(5_000)
    stored.refusal = AccessDeniedError(
        "no", operation="BatchWriteItem", table="orders", service_code="AccessDeniedException", status=400
    )
    async with Session(transport=stored) as session:
        with pytest.raises(AccessDeniedError):
            await session.tables.truncate(Order)
        sent = stored.requests.copy()
        await asyncio.sleep(10)
        assert stored.under_way == 0
        assert stored.requests["Scan"] == sent["Scan"]
        assert len(stored.items) >= 4_950


async def test_in_a_scope_of_low_priority_it_lets_others_pass():
    stored = Stored(2_000)
    async with (
        Session(transport=stored, capacity=paced(100)) as session,
        asyncio.TaskGroup() as group,
    ):
        await session.put(Order(id="known"))

        async def empty():
            async with session.scope("empty", priority=Priority.BACKGROUND):
                await session.tables.truncate(Order)

        task = group.create_task(empty())
        loop, seconds = asyncio.get_running_loop(), list[float]()
        for number in range(100):
            await asyncio.sleep(0.1)
            began = loop.time()
            await session.put(Order(id=f"new-{number}"))
            seconds.append(loop.time() - began)
        assert max(seconds) <= 1.5 * stored.seconds  # of which a put takes as much where nothing else is asked
        assert not task.done()
        assert stored.most_under_way <= stored.max_connections
        await task
    assert not stored.items


@pytest.mark.parametrize("rate", [10, 60, 400])
async def test_on_a_paced_table_calls_are_as_full_as_on_any_other(rate):
    stored = Stored(2_000)
    async with (
        Session(transport=stored, capacity=paced(rate)) as session,
        session.scope("empty", priority=Priority.BACKGROUND),
    ):
        done = await session.tables.truncate(Order)
    assert not stored.items
    assert done.items == done.write_units == 2_000
    assert stored.requests["BatchWriteItem"] + stored.requests["DeleteItem"] <= 1.02 * 2_000 / 25


class Short(Stored):
    """The same, which leaves a few items of each fifth call over."""

    def __init__(self, count):
        super().__init__(count)
        self.sizes = Counter()

    def BatchWriteItem(self, body):  # noqa: N802 - the API's name
        self.sizes[len(body["RequestItems"]["orders"])] += 1
        self.leaves_over = 0 if self.sizes.total() % 5 else 7
        return super().BatchWriteItem(body)


async def test_on_a_paced_table_what_is_left_over_fills_later_calls():
    short, told = Short(2_000), []
    async with (
        Session(transport=short, capacity=paced(400)) as session,
        session.scope("empty", priority=Priority.BACKGROUND),
    ):
        done = await session.tables.truncate(Order, watch=told.append)
    assert not short.items
    assert (done.items, told[-1], max(told)) == (2_000, 2_000, 2_000)
    assert short.sizes.total() - short.sizes[25] <= 3
    assert not short.requests["DeleteItem"]


async def test_stopped_while_something_was_left_over_it_sends_nothing_more():
    short = Short(2_000)
    async with Session(transport=short, capacity=paced(400)) as session:
        task = asyncio.create_task(session.tables.truncate(Order))
        await until(lambda: short.sizes.total() >= 20)  # of which the answer is with its waiters a moment later
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(1)
        sent = short.sizes.total()
        await asyncio.sleep(10)
        assert short.sizes.total() == sent
        assert session.statistics().queued == 0
        await session.tables.truncate(Order)
    assert not short.items


async def test_on_a_paced_table_it_is_as_fast_as_the_pace():
    stored, loop = Stored(2_000), asyncio.get_running_loop()
    async with Session(transport=stored, capacity=paced(100)) as session:
        began = loop.time()
        await session.tables.truncate(Order)
    assert 2_000 / 100 * 0.9 <= loop.time() - began <= 2_000 / 100 * 1.1


async def test_stopped_on_a_paced_table_it_sends_nothing_more():
    stored = Stored(2_000)
    async with Session(transport=stored, capacity=paced(100)) as session:
        task = asyncio.create_task(session.tables.truncate(Order))
        await asyncio.sleep(2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(1)
        sent = stored.requests["BatchWriteItem"]
        await asyncio.sleep(10)
        assert stored.requests["BatchWriteItem"] == sent
        assert session.statistics().queued == 0
        await session.tables.truncate(Order)
    assert not stored.items


async def test_it_tells_how_many_items_are_deleted():
    stored, told = Stored(110), []
    async with Session(transport=stored) as session:
        await session.tables.truncate(Order, watch=told.append)
    assert told == [25, 50, 75, 100, 110]


async def test_where_its_units_end_what_they_are_enough_for_is_done_and_nothing_more_is_sent():
    stored, told = Stored(50), []
    async with Session(transport=stored) as session:
        async with session.scope("short", max_write_units=10):
            with pytest.raises(CapacityBudgetExceededError):
                await session.tables.truncate(Order, watch=told.append)
        sent = stored.requests.copy()
        assert told == [50 - len(stored.items)]
        assert 0 < told[0] <= 10
        await asyncio.sleep(10)
        assert stored.requests == sent
        assert session.statistics().queued == 0
