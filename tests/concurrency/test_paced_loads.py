"""A load that waits for units gives way to others after little work, and its calls are full all the same."""

import asyncio
from collections import Counter
from itertools import pairwise

import pytest

from dynamap_async import Attr, CapacityPolicy, Model, PartitionKey, Priority, Session, SortKey, Throughput, attr
from dynamap_async.stored import flow


class Reading(Model, table="paced-readings", throughput=Throughput(read=1000, write=1000)):
    sensor: PartitionKey[str]
    at: SortKey[int]
    value: Attr[int] = attr(default=0)


class Note(Model, table="notes"):
    id: PartitionKey[int]


class Unlimited:
    """Carries out everything, and says that an item took a unit."""

    max_connections = 8

    def __init__(self):
        self.sizes = {"paced-readings": Counter(), "notes": Counter()}
        self.sent_at = Counter()
        """The event loop's time -> how many requests were sent then."""

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        entries = request.body.get("RequestItems", {}).get(request.table, [None])
        self.sizes[request.table][len(entries)] += 1
        self.sent_at[asyncio.get_running_loop().time()] += 1
        await asyncio.sleep(0.005)
        units = {"CapacityUnits": float(len(entries))}
        spent = {"TableName": request.table, **units, "Table": units}
        if request.operation == "BatchWriteItem":
            return {"ConsumedCapacity": [spent]}
        return {"ConsumedCapacity": spent, "Attributes": request.body.get("Key", {})}


async def load(session, items):
    async with session.scope("load", priority=Priority.BACKGROUND):
        await session.put_many(items)


@pytest.fixture
def every_item_gives_way(monkeypatch):
    monkeypatch.setattr(flow, "_PACED_SLICE_SECONDS", -1.0)
    monkeypatch.setattr(flow, "SLICE_SECONDS", 3600.0)


async def test_a_load_that_waits_for_units_gives_way_item_by_item_and_its_calls_are_full(every_item_gives_way):
    transport, loop, turns = Unlimited(), asyncio.get_running_loop(), [0]

    def items():
        for number in range(500):
            if not turns[-1]:
                loop.call_soon(turns.append, 0)
            turns[-1] += 1
            yield Reading(sensor="s", at=number)

    async with Session(transport=transport, capacity=CapacityPolicy(limits="declared")) as session:
        await load(session, items())
    at_once = [number for number in turns if number > 1]
    assert len(at_once) <= 2  # before anything waits
    assert sum(turns) == 500
    assert sum(transport.sizes["paced-readings"].values()) <= 25


async def test_a_load_to_a_table_that_nobody_waits_for_fills_its_calls_before_it_submits_them(every_item_gives_way):
    transport = Unlimited()
    async with (
        Session(transport=transport, capacity=CapacityPolicy(limits="declared")) as session,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(load(session, [Reading(sensor="s", at=number) for number in range(500)]))
        await asyncio.sleep(0.1)
        assert session._runner.executor.held_up
        await load(session, [Note(id=number) for number in range(250)])
        assert session._runner.executor.held_up
    assert transport.sizes["notes"] == {25: 10}


async def test_updates_in_the_background_are_let_in_one_by_one_because_they_share_no_call():
    transport = Unlimited()
    transport.max_connections = 64
    async with (
        Session(transport=transport, capacity=CapacityPolicy(limits="declared")) as session,
        session.scope("pass", priority=Priority.BACKGROUND),
        asyncio.TaskGroup() as group,
    ):
        for number in range(500):
            group.create_task(session.update(Reading, "s", number).add(Reading.value, 1))
    assert sum(transport.sent_at.values()) == 500
    alone = Counter(transport.sent_at.values())[1]
    assert alone > 400  # all but those for which there were units at the beginning


class Paged:
    """Answers each page with an item, another page after it, and ten units; each get with half a unit."""

    max_connections = 8

    def __init__(self):
        self.pages = []

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        scanned = request.operation == "Scan"
        if scanned:
            self.pages.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.005)
        units = {"CapacityUnits": 10.0 if scanned else 0.5}
        answer = {"ConsumedCapacity": {"TableName": "paced-readings", **units, "Table": units}}
        if scanned:
            key = {"sensor": {"S": "s"}, "at": {"N": "1"}}
            answer |= {"Items": [{**key, "value": {"N": "1"}}], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": key}
        return answer


async def test_pages_that_wait_for_units_go_one_by_one_for_they_share_no_call():
    transport = Paged()

    async def scan(session):
        async with session.scope("scan", priority=Priority.BACKGROUND):
            await session.scan(Reading).segments(4)

    limits = CapacityPolicy(limits=Throughput(read=100, write=100))
    async with Session(transport=transport, capacity=limits) as session:
        scanning = asyncio.create_task(scan(session))
        for number in range(500):
            await session.find(Reading, "s", number)
            await asyncio.sleep(0.005)
        scanning.cancel()
        await asyncio.wait([scanning])
    waited = transport.pages[8:]
    assert len(waited) > 10
    assert all(later - earlier > 0.05 for earlier, later in pairwise(waited))
