"""Pacing costs next to nothing while nothing is short: counted in function calls, which no machine's load changes."""

import asyncio
from types import SimpleNamespace

import pytest

from dynamap_async import Attr, CapacityPolicy, Model, PartitionKey, Session, Throughput, attr

POLICIES = {
    "learned": CapacityPolicy(),
    "known": CapacityPolicy(limits=Throughput(read=10**7, write=10**7)),
    "none": CapacityPolicy(enabled=False),
}


class Item(Model, table="items"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")


class Ample:
    """A table that has units for everything."""

    max_connections = 64

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        await asyncio.sleep(0)
        batch = request.operation == "BatchWriteItem"
        units = float(len(request.body["RequestItems"]["items"])) if batch else 1.0
        told = {"TableName": "items", "CapacityUnits": units, "Table": {"CapacityUnits": units}}
        return {"UnprocessedItems": {}, "ConsumedCapacity": [told]} if batch else {"ConsumedCapacity": told}


async def many(session, items):
    await session.put_many(items)


async def one_by_one(session, items):
    for item in items:
        await session.put(item)


async def side_by_side(session, items):
    async with asyncio.TaskGroup() as group:  # what comes together shares calls
        for item in items:
            group.create_task(session.put(item))


async def calls(policy, write, noting_calls):
    """Return how many functions are called for each item, when a session is warm."""
    items = [Item(name=f"{number}", text="x" * 500) for number in range(200)]
    called = 0

    def count(_frame):
        nonlocal called
        called += 1

    async with Session(transport=Ample(), capacity=policy) as session:
        await write(session, items)
        await asyncio.sleep(0.05)  # a second's units are there, as far as these items need them
        with noting_calls(count):
            await write(session, items)
    return called / len(items)


@pytest.mark.parametrize("write", [many, one_by_one, side_by_side])
@pytest.mark.parametrize("name", ["learned", "known"])
def test_pacing_costs_a_tenth_at_the_most_while_nothing_is_short(virtual_clock, noting_calls, monkeypatch, name, write):
    # Work pauses after a time that it took, so that a slow machine would call more functions.
    for module in ("turns", "stored.flow"):
        monkeypatch.setattr(f"dynamap_async.{module}.time", SimpleNamespace(perf_counter=lambda: 0.0))

    def measured(policy):
        with asyncio.Runner(loop_factory=virtual_clock, debug=False) as runner:
            return runner.run(calls(policy, write, noting_calls))

    assert measured(POLICIES[name]) <= 1.1 * measured(POLICIES["none"])
