"""Pacing does no harm: where refusals have other reasons than the rate, where it knows too little, to whoever waits."""

import asyncio
import contextlib
import random

import pytest

from dynamap_async import (
    Attr,
    CapacityPolicy,
    GlobalIndex,
    Model,
    PartitionKey,
    Priority,
    RetryPolicy,
    Session,
    Throughput,
    attr,
)
from dynamap_async.errors import ConditionalCheckFailedError, ServiceError, ThrottledError
from dynamap_async.executor.lanes import Lane

LEARNED, UNPACED = CapacityPolicy(), CapacityPolicy(enabled=False)
KNOWN = CapacityPolicy(limits=Throughput(read=50_000, write=50_000))


class Counter(Model, table="counters"):
    name: PartitionKey[str]
    value: Attr[int] = attr(default=0)


class Table:
    """So many write units a second, and some kept; it refuses a part of all requests besides, or all for a while."""

    max_connections = 64

    def __init__(self, rate, *, kept=0.0, unrelated=0.0, outage=None, seed=1):
        self.rate, self.tokens, self.unrelated, self.outage = rate, kept, unrelated, outage
        self.most = max(kept, rate)
        self.chance = random.Random(seed)
        random.seed(seed)  # of which sessions draw how long they wait
        self.at = None
        self.served, self.refused = [], 0

    async def open(self):
        pass

    async def close(self):
        pass

    def take(self, units=1.0):
        now = asyncio.get_running_loop().time()
        self.tokens = min(self.most, self.tokens + (now - (self.at or now)) * self.rate)
        self.at = now
        out = self.outage is not None and self.outage[0] <= now - 1000 < self.outage[1]
        if out or self.tokens < min(units, self.rate) or self.chance.random() < self.unrelated:
            self.refused += 1
            return False
        self.tokens -= units
        self.served.append(now)
        return True

    async def send(self, request):
        await asyncio.sleep(self.chance.uniform(0.02, 0.04))
        if request.operation == "BatchWriteItem":
            entries = request.body["RequestItems"]["counters"]
            left = [entry for entry in entries if not self.take()]
            if len(left) == len(entries):
                raise refusal()
            units = float(len(entries) - len(left))
            return {"UnprocessedItems": {"counters": left} if left else {}, "ConsumedCapacity": [taken(units)]}
        if not self.take():
            raise refusal()
        return {"ConsumedCapacity": taken(1.0), "Attributes": {**request.body.get("Key", {}), "value": {"N": "1"}}}

    def between(self, begin, end):
        return sum(begin <= at - 1000 < end for at in self.served) / (end - begin)


def taken(units):
    return {"TableName": "counters", "CapacityUnits": units, "Table": {"CapacityUnits": units}}


def refusal():
    return ThrottledError("no units", service_code="Throttled", operation="?", table="counters", status=400)


def now():
    return asyncio.get_running_loop().time()


async def together(calls):
    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(call)


async def work(session, until, number):
    while now() < until:
        await session.update(Counter, f"{number}").add(Counter.value, 1)


async def updated(table, policy, seconds, tasks=8):
    """Return how often tasks that do nothing else have updated an item."""
    async with Session(transport=table, capacity=policy) as session, asyncio.TaskGroup() as group:
        for number in range(tasks):
            group.create_task(work(session, now() + seconds, number))
    return len(table.served)


@pytest.mark.parametrize("share", [0.003, 0.1, 0.2])
async def test_refusals_that_have_nothing_to_do_with_the_rate_cost_no_more_than_their_part(share):
    learned, known, unpaced = [
        sum([await updated(Table(1e6, unrelated=share, seed=seed), policy, 3.0) for seed in range(1, 7)])
        for policy in (LEARNED, KNOWN, UNPACED)
    ]
    assert learned >= (1 - 2 * share) * unpaced
    assert known >= (1 - 2 * share) * unpaced


class Guarded(Table):
    """A table on which all conditions fail that it looks at."""

    async def send(self, request):
        await super().send(request)
        raise ConditionalCheckFailedError(
            "it is there",
            service_code="ConditionalCheckFailedException",
            operation=request.operation,
            table=request.table,
            status=400,
        )


async def tried(table, policy, seconds, tasks=8):
    """Return how many conditions were looked at while tasks do nothing but to create items that are there."""

    async def work_on(session, number):
        until = now() + seconds
        while now() < until:
            with contextlib.suppress(ServiceError):
                await session.create(Counter(name=f"{number}"))

    async with Session(transport=table, capacity=policy) as session:
        await together(work_on(session, number) for number in range(tasks))
    return len(table.served)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
async def test_conditions_that_fail_are_not_taken_for_a_table_that_serves_nothing(share):
    learned, known, unpaced = [
        sum([await tried(Guarded(1e6, unrelated=share, seed=seed), policy, 3.0) for seed in range(1, 7)])
        for policy in (LEARNED, KNOWN, UNPACED)
    ]
    assert learned >= (1 - 2 * share) * unpaced
    assert known >= (1 - 2 * share) * unpaced


@pytest.mark.parametrize("limits", ["throttles", Throughput(read=100, write=100)], ids=["learned", "known"])
async def test_a_table_that_recovers_is_used_within_a_second_and_nothing_has_failed(limits):
    table = Table(100, outage=(3.0, 5.0))
    async with (
        Session(transport=table, capacity=CapacityPolicy(limits=limits)) as session,
        asyncio.TaskGroup() as group,
    ):
        for number in range(8):
            group.create_task(work(session, now() + 8.0, number))
    assert table.between(5.0, 6.0) >= 0.8 * table.between(1.0, 3.0)


async def test_urgent_work_spends_what_a_table_has_saved_without_waiting_for_a_limit_that_is_known():
    async with Session(
        transport=Table(5, kept=1500.0), capacity=CapacityPolicy(limits=Throughput(read=5, write=5))
    ) as s:
        begin = now()
        await together(s.put(Counter(name=f"{number}")) for number in range(40))
        assert now() - begin < 0.1


@pytest.mark.parametrize("limits", ["throttles", Throughput(read=5, write=5)], ids=["learned", "known"])
async def test_a_small_table_takes_a_load_in_about_the_time_it_needs_and_no_item_fails(limits):
    async with Session(transport=Table(5), capacity=CapacityPolicy(limits=limits)) as session:
        begin = now()
        await session.put_many(Counter(name=f"{number}") for number in range(60))
        assert now() - begin < 1.2 * 60 / 5


async def test_single_puts_beyond_a_small_table_wait_and_do_not_fail():
    async with Session(transport=Table(5)) as session:
        begin = now()
        await together(session.put(Counter(name=f"{number}")) for number in range(60))
        assert now() - begin < 2 * 60 / 5


async def push(table, requests_per_second):
    """Ask without pause, whatever is answered; what that takes is nobody's."""
    while True:
        await asyncio.sleep(table.chance.expovariate(requests_per_second))
        if table.take():
            table.served.pop()


async def written_beside(rate, pushed, tasks, policy, seed):
    """Return how often tasks have updated an item beside a client that pushes; whose call fails, calls again."""
    table = Table(rate, seed=seed)

    async def work_on(session, until, number):
        while now() < until:
            with contextlib.suppress(ServiceError):
                await session.update(Counter, f"{number}").add(Counter.value, 1)

    async with Session(transport=table, capacity=policy) as session:
        pushing = asyncio.create_task(push(table, pushed))
        await together(work_on(session, now() + 10, number) for number in range(tasks))
        pushing.cancel()
    return len(table.served)


@pytest.mark.parametrize(("rate", "pushed", "tasks"), [(5, 10, 4), (25, 100, 8)])
async def test_beside_a_client_that_never_waits_a_session_gets_about_what_it_gets_without_pacing(rate, pushed, tasks):
    learned, known, unpaced = [
        sum([await written_beside(rate, pushed, tasks, policy, seed) for seed in range(1, 5)])
        for policy in (LEARNED, CapacityPolicy(limits=Throughput(read=rate, write=rate)), UNPACED)
    ]
    assert learned >= 0.8 * unpaced
    assert known >= 0.8 * unpaced


async def test_a_table_that_serves_nothing_fails_a_request_after_its_attempts():
    async with Session(transport=Table(5, outage=(0.0, 1e9))) as session:
        with pytest.raises(ThrottledError) as failed:
            await session.put(Counter(name="a"))
    assert failed.value.attempts == 8


async def test_a_load_in_the_background_is_held_to_a_known_limit_and_spends_no_savings_at_once():
    table = Table(100, kept=30_000.0)
    policy = CapacityPolicy(limits=Throughput(read=100, write=100))
    async with (
        Session(transport=table, capacity=policy) as session,
        session.scope("load", priority=Priority.BACKGROUND),
    ):
        await asyncio.sleep(600)
        begin = now()
        await session.put_many(Counter(name=f"{number}") for number in range(500))
        assert 3.5 < now() - begin < 5.5


async def test_without_retries_a_refusal_fails_at_once_though_others_are_served():
    table = Table(5, kept=5.0)
    async with Session(transport=table, retry=RetryPolicy(max_attempts=1)) as session:
        for number in range(5):
            await session.put(Counter(name=f"{number}"))
        with pytest.raises(ServiceError) as failed:
            await session.put(Counter(name="one more"))
    assert failed.value.attempts == 1
    assert table.refused == 1


class Place(Model, table="places", throughput=Throughput(read=1000, write=1000)):
    name: PartitionKey[str]
    city: Attr[str | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city", throughput=Throughput(read=10, write=10))


class Indexed(Table):
    """A table of 1,000 units with an index of 10, or so many."""

    def __init__(self, index=10):
        super().__init__(1000)
        self.index = Table(index)

    async def send(self, request):
        await asyncio.sleep(0.02)
        entries = request.body["RequestItems"]["places"] if "RequestItems" in request.body else None
        items = [request.body["Item"]] if entries is None else [each["PutRequest"]["Item"] for each in entries]
        left, indexed = [], 0
        for item in items:
            if "city" in item and not self.index.take():
                left.append(item)
                continue
            indexed += "city" in item
            self.take()
        if len(left) == len(items):
            error = refusal()
            error.reasons = ("IndexWriteProvisionedThroughputExceeded arn:aws:table/places/index/by_city",)
            raise error
        units = float(len(items) - len(left))
        told = {"TableName": "places", "CapacityUnits": units + indexed, "Table": {"CapacityUnits": units}}
        if indexed:
            told["GlobalSecondaryIndexes"] = {"by_city": {"CapacityUnits": float(indexed)}}
        if entries is None:
            return {"ConsumedCapacity": told}
        again = [{"PutRequest": {"Item": item}} for item in left]
        return {"UnprocessedItems": {"places": again} if again else {}, "ConsumedCapacity": [told]}


@pytest.mark.parametrize("limits", ["throttles", "declared"])
async def test_a_put_without_an_entry_in_an_index_does_not_wait_for_that_index(limits):
    async with Session(transport=Indexed(), capacity=CapacityPolicy(limits=limits)) as session:
        waiting = asyncio.create_task(session.put_many(Place(name=f"{n}", city="Oslo") for n in range(200)))
        await asyncio.sleep(5)
        assert session._runner.executor.held_up > 0
        times = []
        for number in range(20):
            begin = now()
            await session.put_many(Place(name=f"elsewhere {number} {each}") for each in range(3))
            times.append(now() - begin)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert max(times) < 0.05


class Town(Model, table="places", throughput=Throughput(read=1000, write=1000)):
    name: PartitionKey[str]
    city: Attr[str | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city", throughput=Throughput(read=500, write=500))


@pytest.mark.parametrize("every", [1, 2])
async def test_calls_wait_as_a_whole_for_an_index_where_all_their_items_are_in_it(monkeypatch, every):
    alone, submit = 0, Lane.submit

    def submit_one(lane, *args, **kwargs):
        nonlocal alone
        alone += 1
        return submit(lane, *args, **kwargs)

    monkeypatch.setattr(Lane, "submit", submit_one)
    table = Indexed(500)
    async with Session(transport=table, capacity=CapacityPolicy(limits="declared")) as session:
        towns = [Town(name=f"{n}", city=None if n % every else "Oslo") for n in range(3000)]
        await session.put_many(towns[:500])  # what it takes of the index is known then
        alone = 0
        assert await session.put_many(towns[500:]) == 2500
    assert (alone == 0) == (every == 1)
