"""Laws of admission: in a whole session, whatever is asked for, cancelled or refused ends, and no unit stays reserved.

Each program runs on a virtual clock, over a service that reports more or less than was expected. The order of those who
wait is the governor's: see test_governor_model.
"""

import asyncio
import random
from collections import Counter
from itertools import product
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    CapacityPolicy,
    GlobalIndex,
    Model,
    PartitionKey,
    Priority,
    Put,
    RetryPolicy,
    Session,
    SortKey,
    Throughput,
    attr,
)
from dynamap_async.errors import ConnectionFailedError, DynamapError, Outcome, ThrottledError
from dynamap_async.executor.consumed import TableOrIndex
from dynamap_async.executor.pacing import governor as governors

LONGEST_SECONDS = 20_000


class Parcel(Model, table="parcels"):
    box: PartitionKey[str]
    number: SortKey[int]
    city: Attr[str] = attr(default="Oslo")
    text: Attr[str] = attr(default="")

    by_city = GlobalIndex(partition_key="city", projection=KEYS_ONLY)


class Stamp(Model, table="stamps"):
    box: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")


MODELS = (Parcel, Stamp)
PLACES = [TableOrIndex(*place, writes) for place in (("parcels", None), ("parcels", "by_city"), ("stamps", None))
          for writes in (False, True)]  # fmt: skip


class Service:
    """Answers everything, and remembers what it reported of each place, in halves of a unit."""

    max_connections = 3

    def __init__(self, faults, seed):
        self.faults = list(faults)
        self.chance = random.Random(seed)
        self.reported = Counter()

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        fault = self.faults.pop() if self.faults else "none"
        await asyncio.sleep(0.5)
        if fault == "throttled":
            raise ThrottledError("no", service_code="No", operation=request.operation, table=request.table, status=400)
        if fault in ("lost", "refused"):
            outcome = Outcome.UNKNOWN if fault == "lost" else Outcome.NOT_SENT
            raise ConnectionFailedError("lost", outcome=outcome, operation=request.operation, table=request.table)
        nothing = {"Query": {"Items": [], "Count": 0, "ScannedCount": 0}, "BatchGetItem": {"Responses": {}}}
        answer = dict(nothing.get(request.operation, {}))
        if fault == "partial" and request.operation == "BatchWriteItem":
            asked = request.body["RequestItems"]
            answer["UnprocessedItems"] = {table: entries[1:] for table, entries in asked.items() if entries[1:]}
        return answer if fault == "silent" else {**answer, "ConsumedCapacity": self.report(request)}

    def report(self, request):
        entries = []
        for table in request.table.split(", "):
            places = [None, "by_city"] if table == "parcels" and request.writes else [request.index]
            entry = {"TableName": table, "CapacityUnits": 0.0}
            for index in places:
                halves = self.chance.randrange(1, 12)
                self.reported[TableOrIndex(table, index, request.writes)] += halves
                entry["CapacityUnits"] += halves / 2
                units = {"CapacityUnits": halves / 2}
                entry |= {"Table": units} if index is None else {"GlobalSecondaryIndexes": {index: units}}
            entries.append(entry)
        return entries if request.operation.startswith(("Batch", "Transact")) else entries[0]


async def operate(session, operation, number):
    model = MODELS[number % 2]
    match operation:
        case "get":
            await session.find(model, "a", number)
        case "put":
            await session.put(model(box="a", number=number, text="x" * 1500 * number))
        case "put many":
            await session.put_many([model(box="a", number=each) for each in range(number + 1)])
        case "query":
            await session.query(Parcel).where(Parcel.city == "Oslo")
        case "transact":
            await session.transact_write([Put(each(box="a", number=number)) for each in MODELS])


async def run(steps, service, policy):
    random.seed(1)
    retry = RetryPolicy(max_attempts=3, base_delay_seconds=1.0, budget=20)
    async with Session(transport=service, retry=retry, capacity=policy, close_timeout_seconds=1000) as session:
        admission, begun = session._executor._admission, asyncio.get_running_loop().time()
        if isinstance(policy.limits, Throughput):
            for place in PLACES:
                admission.governor.bucket(place, begun)

        async def inside(priority, operation, number):
            async with session.scope("step", priority=priority):
                await operate(session, operation, number)

        tasks = []
        for operation, number, priority, pause, cancel_after in steps:
            tasks.append(asyncio.create_task(inside(priority, operation, number)))
            if cancel_after is not None:
                asyncio.get_running_loop().call_later(cancel_after, tasks[-1].cancel)
            if pause is not None:
                await asyncio.sleep(pause)
        _, waiting = await asyncio.wait(tasks, timeout=LONGEST_SECONDS)
        assert waiting == set(), "somebody waits for ever"
    errors = [task.exception() for task in tasks if not task.cancelled() and task.exception()]
    assert [error for error in errors if not isinstance(error, DynamapError)] == []
    assert admission.held_up == 0
    assert not admission.governor.waiting
    return admission.governor, asyncio.get_running_loop().time() - begun


# Every step there is, so that a step takes one draw.
STEPS = list(
    product(
        ["get", "get", "put", "put", "put many", "query", "transact"],
        range(8),
        Priority,
        [None, None, None, 0.0, 0.3, 2.0],
        [None, None, None, 0.0, 0.2, 0.7, 4.0],
    )
)
PROGRAMS = st.lists(st.sampled_from(STEPS), min_size=1, max_size=25)
FAULTS = st.lists(
    st.sampled_from(["none", "none", "none", "silent", "throttled", "lost", "refused", "partial"]), max_size=20
)
POLICIES = [
    CapacityPolicy(),
    CapacityPolicy(limits=Throughput(read=1, write=2)),  # much is larger than these buckets
    CapacityPolicy(limits=Throughput(read=30, write=30), share=0.25),
]


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(steps=PROGRAMS, faults=FAULTS, policy=st.sampled_from(POLICIES), seed=st.integers(0, 2**16))
def test_whoever_waits_for_units_is_served_fails_or_was_cancelled(virtual_clock, steps, faults, policy, seed):
    with asyncio.Runner(loop_factory=virtual_clock) as runner:
        runner.run(run(steps, Service(faults, seed), policy))


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(steps=PROGRAMS, rate=st.sampled_from([2, 15]), seed=st.integers(0, 2**16))
def test_in_the_end_every_unit_is_there_that_was_not_reported_as_spent(virtual_clock, steps, rate, seed):
    service, policy = Service([], seed), CapacityPolicy(limits=Throughput(read=rate, write=rate))
    with mock.patch.object(governors, "_KEPT_SECONDS", 1e6), asyncio.Runner(loop_factory=virtual_clock) as runner:
        governor, seconds = runner.run(run(steps, service, policy))
        now = runner.get_loop().time()
    for place in PLACES:
        bucket = governor.bucket(place, now)
        bucket.fill(now)
        there = bucket.tokens + bucket._kept
        left = rate * seconds - service.reported[place] / 2
        if place.writes:
            assert there == pytest.approx(left, abs=1e-6), place
        else:  # a read that is broken off took units that nobody knows; it counts as what was expected of it
            assert there <= left + 1e-6, place
