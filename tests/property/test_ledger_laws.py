"""Laws of the ledger: whatever is shared, resent, refused, lost or cancelled, the accounts add up to what was reported.

Each program runs on a virtual clock, over a service that reports units at random.
"""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from itertools import product

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey, Put, RetryPolicy, Session, SortKey, attr
from dynamap_async.errors import (
    ConnectionFailedError,
    DynamapError,
    InternalServerError,
    Outcome,
    ThrottledError,
)
from dynamap_async.executor.calls import divide

INDEXES = (None, "GlobalSecondaryIndexes", "LocalSecondaryIndexes")


class Letter(Model, table="letters"):
    box: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")


class Stamp(Model, table="stamps"):
    box: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")


MODELS = (Letter, Stamp)


class Service:
    """Answers everything, and remembers what it reported: (table, index, whether written) -> halves of a unit."""

    max_connections = 3

    def __init__(self, faults, seed):
        self.faults = list(faults)
        self.chance = random.Random(seed)
        self.reported = Counter()
        self.requests = self.unreported = 0

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        self.requests += 1
        fault = self.faults.pop() if self.faults else "none"
        # Counted at once: an exchange that is broken off gets no report.
        self.unreported += 1
        await asyncio.sleep(0.5)
        if fault == "refused":
            self.unreported -= 1
            raise lost(request, Outcome.NOT_SENT)
        if fault == "lost":
            raise lost(request, Outcome.UNKNOWN)
        if fault in ("throttled", "failed"):
            kind = ThrottledError if fault == "throttled" else InternalServerError
            raise kind(fault, service_code=fault, operation=request.operation, table=request.table, status=400)
        answer = self.answer(request, partial=fault == "partial")
        if fault != "silent":
            self.unreported -= 1
            self.report(request, answer)
        return answer

    def answer(self, request, *, partial):
        asked = request.body.get("RequestItems", {})
        match request.operation:
            case "BatchGetItem":
                left = {table: {"Keys": entry["Keys"][1:]} for table, entry in asked.items() if entry["Keys"][1:]}
                return {
                    "Responses": {
                        table: [self.item(key) for key in entry["Keys"][: 1 if partial else None]]
                        for table, entry in asked.items()
                    },
                    "UnprocessedKeys": left if partial else {},
                }
            case "BatchWriteItem":
                left = {table: entries[1:] for table, entries in asked.items() if entries[1:]}
                return {"UnprocessedItems": left if partial else {}}
            case "GetItem":
                return {"Item": self.item(request.body["Key"])}
            case "UpdateItem":
                return {"Attributes": self.item(request.body["Key"])}
            case "Query":
                start = int(request.body.get("ExclusiveStartKey", {"number": {"N": "0"}})["number"]["N"])
                keys = [{"box": {"S": "a"}, "number": {"N": str(start + step)}} for step in (1, 2)]
                page = {"Items": [self.item(key) for key in keys], "Count": 2, "ScannedCount": 5}
                return page if start > 3 else {**page, "LastEvaluatedKey": keys[1]}
        return {}

    def item(self, key):
        return {**key, "text": {"S": "x" * self.chance.randrange(20_000)}}

    def report(self, request, answer):
        entries = []
        for table in request.table.split(", "):
            entry = {"TableName": table, "CapacityUnits": 0.0}
            for kind in INDEXES:
                halves = self.chance.randrange(40)
                if kind is None:
                    entry["Table"] = {"CapacityUnits": halves / 2}
                elif self.chance.random() < 0.5 and request.operation != "BatchGetItem":
                    entry[kind] = {f"by-{kind}": {"CapacityUnits": halves / 2}}
                else:
                    continue
                entry["CapacityUnits"] += halves / 2
                self.reported[table, kind and f"by-{kind}", request.writes] += halves
            entries.append(entry)
        several = request.operation.startswith(("Batch", "Transact"))
        assert request.body["ReturnConsumedCapacity"] == "INDEXES"
        answer["ConsumedCapacity"] = entries if several else entries[0]


def lost(request, outcome):
    return ConnectionFailedError("lost", outcome=outcome, operation=request.operation, table=request.table)


async def operate(session, operation, number):
    model = MODELS[number % 2]
    match operation:
        case "get":
            await session.find(model, "a", number)
        case "get many":
            await session.get_many(model, [("a", n) for n in range(number + 1)])
        case "put":
            await session.put(model(box="a", number=number, text="x" * 700 * number))
        case "put many":
            await session.put_many([each(box="a", number=n) for n in range(number + 1) for each in MODELS])
        case "update":
            await session.update(model, "a", number).set(model.text, "y")
        case "query":
            await session.query(model).where(model.box == "a")
        case "transact":
            await session.transact_write([Put(each(box="a", number=number)) for each in MODELS])


SCOPES = ("", "a", "b", "a/c", "a/c/d")
"""Where something is awaited: in scopes inside of each other, or in none."""


async def run(steps, faults, seed, limits):
    service = Service(faults, seed)
    random.seed(seed)
    scopes = {}
    retry = RetryPolicy(max_attempts=3, base_delay_seconds=1.0, budget=20)
    async with Session(transport=service, retry=retry) as session:

        async def inside(place, operation, number):
            async with AsyncExitStack() as stack:
                for depth in range(1, 1 + len(place.split("/")) if place else 1):
                    name = "/".join(place.split("/")[:depth])
                    scope = await stack.enter_async_context(session.scope(name, **limits))
                    scopes.setdefault(name, []).append(scope)
                await operate(session, operation, number)

        tasks = []
        for place, operation, number, pause, cancel_after in steps:
            task = asyncio.create_task(inside(place, operation, number))
            tasks.append(task)
            if cancel_after is not None:
                asyncio.get_running_loop().call_later(cancel_after, task.cancel)
            if pause is not None:
                await asyncio.sleep(pause)
        await asyncio.wait(tasks)
        errors = [task.exception() for task in tasks if not task.cancelled() and task.exception()]
    assert [error for error in errors if not isinstance(error, DynamapError)] == []
    check(session, service, scopes)


def units(usage):
    return Counter(
        {
            (entry.table, entry.index, writes): halves
            for entry in usage.by_index
            for writes, halves in ((False, entry.read_halves), (True, entry.write_halves))
        }
    )


def check(session, service, scopes):
    every = [scope for same in scopes.values() for scope in same]
    assert units(session.usage) == +service.reported
    assert sum((units(scope.own_usage) for scope in every), units(session.unscoped_usage)) == +service.reported
    for usage in (session.usage, session.unscoped_usage, *(scope.usage for scope in every)):
        assert usage.read_halves == sum(entry.read_halves for entry in usage.by_operation)
        assert usage.write_halves == sum(entry.write_halves for entry in usage.by_index)
    for name in ("a", "a/c"):
        whole = sum((units(scope.usage) for scope in scopes.get(name, [])), Counter())
        below = [each for other, same in scopes.items() if other.startswith(name) for each in same]
        assert whole == sum((units(scope.own_usage) for scope in below), Counter())
    assert session.usage.requests == service.requests
    assert session.usage.unreported_requests == service.unreported
    for scope in every:
        budget = scope._account.budget
        assert (budget._reads, budget._writes) == (0, 0), "something stays reserved"
        assert (budget._most_reads, budget._most_writes) == (0, 0), "something stays set aside"
        assert not scope._account.line, "somebody waits for a budget"


# Every step there is, so that a step takes one draw.
STEPS = list(
    product(
        SCOPES,
        ["get", "get", "get many", "put", "put many", "update", "query", "transact"],
        range(6),
        [None, None, None, 0.0, 0.3, 2.0],
        [None, None, None, 0.0, 0.2, 0.7, 1.5],
    )
)
FAULTS = ["none", "none", "none", "silent", "throttled", "failed", "lost", "refused", "partial"]


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=20),
    faults=st.lists(st.sampled_from(FAULTS), max_size=20),
    seed=st.integers(0, 2**16),
    # Without limits, a bulk call's requests are one thing; where they are near, requests wait for each other.
    limits=st.sampled_from([{}, {"max_read_units": 10**6}, {"max_read_units": 40, "max_write_units": 60}]),
)
def test_the_accounts_add_up_to_what_was_reported_to_half_a_unit(virtual_clock, steps, faults, seed, limits):
    with asyncio.Runner(loop_factory=virtual_clock) as runner:
        runner.run(run(steps, faults, seed, limits))


@given(st.integers(0, 10_000), st.lists(st.integers(0, 500), min_size=1, max_size=100))
def test_parts_add_up_and_each_is_less_than_one_from_its_share(total, weights):
    parts = divide(total, weights)
    assert sum(parts) == total
    if weight := sum(weights):
        assert all(abs(part - total * each / weight) < 1 for part, each in zip(parts, weights, strict=True))
