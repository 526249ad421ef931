"""However large what is read, other tasks have their turn after little of it. Work is counted in items, not timed."""

import asyncio
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, SortKey, StoredItem, upgrade
from dynamap_async.errors import CapacityBudgetExceededError, ItemsNotUpgradedError

SECONDS = {"tiny": 0.00002, "nested": 0.0003, "huge": 0.002}
WORK = SimpleNamespace(now=0.0, seconds=0.0)
"""A clock that is moved by the decoding of items alone."""


def decoded(value):
    WORK.now += WORK.seconds
    return value


class Line(BaseModel):
    sku: Annotated[str, AfterValidator(decoded)]


class Order(Model, table="orders"):
    owner: PartitionKey[str]
    number: SortKey[int]
    line: Attr[Line]
    by_number = GlobalIndex(partition_key="owner", sort_key="number", projection=KEYS_ONLY)


def wire(owner, number):
    return {"owner": {"S": owner}, "number": {"N": str(number)}, "line": {"M": {"sku": {"S": "a"}}}}


def answer(request):
    """Answer with every key of a batch, or with 400 items."""
    if request.operation == "BatchGetItem":
        [(table, entry)] = request.body["RequestItems"].items()
        return {"Responses": {table: [wire(key["owner"]["S"], key["number"]["N"]) for key in entry["Keys"]]}}
    if request.operation == "GetItem":
        return {"Item": wire(request.body["Key"]["owner"]["S"], request.body["Key"]["number"]["N"])}
    items = [wire("ada", number) for number in range(400)]
    return {"Items": items, "Count": 400, "ScannedCount": 400}


@pytest.fixture(params=SECONDS)
def longest(request, monkeypatch, transport):
    """Return what makes the longest work between two turns of another task, in the time that an item takes, or 1 ms."""
    WORK.now, WORK.seconds = 0.0, SECONDS[request.param]
    clock = SimpleNamespace(perf_counter=lambda: WORK.now)
    for module in ("stored.flow", "turns"):
        monkeypatch.setattr(f"dynamap_async.{module}.time", clock)
    transport.otherwise = answer
    found = []

    async def watch():
        since = WORK.now
        while True:
            await asyncio.sleep(0)
            found.append(WORK.now - since)
            since = WORK.now

    async def measured(reading):
        watching = asyncio.create_task(watch())
        await asyncio.sleep(0)
        await reading
        await asyncio.sleep(0)
        watching.cancel()
        await asyncio.wait((watching,))
        return max(found)

    return measured


MOST_SECONDS = 0.004
"""A slice of 2 ms, and what was begun when it ended: items that take some 1 ms, or one that takes longer."""


async def all_of(answers):
    async for _ in answers:
        pass


@pytest.mark.parametrize(
    "read",
    [
        lambda s: s.get_many(Order, [("ada", n) for n in range(1000)]),
        lambda s: s.get_many(Order, [("ada", n % 900) for n in range(1000)]),
        lambda s: all_of(s.each(Order, [("ada", n) for n in range(1000)])),
        lambda s: s.query(Order).where(Order.owner == "ada"),
        lambda s: all_of(s.query(Order).where(Order.owner == "ada")),
        lambda s: s.scan(Order).segments(4),
        lambda s: s.query(Order).where(Order.owner.is_in("ada", "bob")),
        lambda s: s.query(Order).where(Order.owner == "ada").index(Order.by_number),
        lambda s: s.execute_statement('SELECT * FROM "orders"', into=Order),
    ],
    ids=["get_many", "keys twice", "each", "query", "stream", "segments", "partitions", "completed", "statement"],
)
async def test_other_tasks_have_their_turn_after_little_work(longest, open_session, read):
    async with open_session() as session:
        most = await longest(read(session))
    assert WORK.now > 0
    assert most <= max(MOST_SECONDS, 3 * WORK.seconds)


async def test_a_stream_of_partitions_that_is_cancelled_while_it_merges_loses_nothing(
    transport, open_session, monkeypatch
):
    looks = count()
    monkeypatch.setattr("dynamap_async.turns.time", SimpleNamespace(perf_counter=lambda: next(looks) / 1000))
    transport.otherwise = answer
    async with open_session() as session:
        stream = session.query(Order).where(Order.owner.is_in("ada", "bob")).stream()
        cancelled = 0
        for turns in count():
            waiting = asyncio.create_task(anext(stream))
            for _ in range(turns):
                await asyncio.sleep(0)
            if waiting.done():
                break
            cancelled += waiting.cancel()
            await asyncio.wait((waiting,))
        numbers = [waiting.result().number, *[order.number async for order in stream]]
    assert numbers == [number for number in range(400) for _ in range(2)]
    assert cancelled


class Note(Model, table="notes", schema_version=2):
    number: PartitionKey[int]
    text: Attr[str]

    @upgrade(to=2)
    @staticmethod
    def renamed(item: StoredItem) -> None:
        item["text"] = item.pop("body")


class Notes:
    """Answers a pass: one page of older notes, and each write."""

    def __init__(self, number):
        self.items = [{"number": {"N": str(each)}, "body": {"S": "a"}} for each in range(number)]
        self.written = []
        self.turns = ()
        self.written_at = []

    def __call__(self, request):
        if request.operation == "Scan":
            items, self.items = self.items, []
            return {"Items": items, "Count": len(items), "ScannedCount": len(items)}
        if request.operation == "UpdateItem":
            self.written.append(int(request.body["Key"]["number"]["N"]))
            self.written_at.append(len(self.turns))
            return {}
        key = {"AttributeName": "number"}
        table = {
            "TableName": "notes",
            "TableStatus": "ACTIVE",
            "KeySchema": [{**key, "KeyType": "HASH"}],
            "AttributeDefinitions": [{**key, "AttributeType": "N"}],
            "ItemCount": len(self.items),
        }
        return {"Table": table}


async def test_other_tasks_have_their_turns_between_two_items_that_a_pass_upgrades(
    transport, open_session, turns_of_others
):
    notes = transport.otherwise = Notes(200)
    async with open_session() as session, turns_of_others() as turns:
        notes.turns = turns
        await session.upgrade(Note, verify=False)
    assert sorted(notes.written) == list(range(200))
    assert min(later - earlier for earlier, later in pairwise(notes.written_at)) >= 4


async def test_other_tasks_have_their_turns_while_a_pass_counts_what_is_behind_at_its_end(
    transport, open_session, turns_of_others
):
    notes, nothing = Notes(10_000), Notes(0)
    transport.otherwise = lambda request: (notes if request.body.get("ConsistentRead") else nothing)(request)
    async with open_session() as session, turns_of_others() as turns:
        with pytest.raises(ItemsNotUpgradedError, match="10,000 items of Note have an older version"):
            await session.upgrade(Note)
    assert len(turns) >= 20


async def test_a_pass_that_is_cancelled_while_it_looks_at_a_page_loses_none_of_it(transport, open_session, monkeypatch):
    looks = count()
    monkeypatch.setattr("dynamap_async.turns.time", SimpleNamespace(perf_counter=lambda: next(looks) / 1000))
    cancelled = 0
    for turns in range(1, 45):
        notes = transport.otherwise = Notes(40)
        async with open_session() as session, session.upgrade(Note, verify=False) as passing:
            waiting = asyncio.create_task(anext(passing))
            for _ in range(turns):
                await asyncio.sleep(0)
            cancelled += not notes.items and not notes.written
            waiting.cancel()
            await asyncio.wait((waiting,))
            await all_of(passing)
        assert sorted(notes.written) == list(range(40))
        assert passing.report.by_version == {1: 40}
    assert cancelled > 10


async def test_a_pass_that_a_budget_ends_finishes_what_it_has_begun(transport, open_session):
    notes = transport.otherwise = Notes(20)
    transport.latency = 1.0  # so that all are on their way when one finds no units left
    async with open_session() as session:
        passing = session.upgrade(Note, verify=False)
        with pytest.raises(CapacityBudgetExceededError):
            async with session.scope("tonight", max_write_units=8):
                await passing
        assert transport.under_way == 0
        assert passing.report.upgraded == len(notes.written)
        await asyncio.sleep(2)
        assert passing.report.upgraded == len(notes.written)
