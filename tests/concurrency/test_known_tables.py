"""What a session knows of tables is bounded: tenants may make up any number of names, and no count is lost by that."""

import asyncio
import gc
from collections import Counter, deque
from functools import partial
from types import CellType, FunctionType, MethodType

import pytest

from dynamap_async import (
    Attr,
    CapacityPolicy,
    Model,
    PartitionKey,
    Put,
    Session,
    SortKey,
    Statement,
    Throughput,
    attr,
)
from dynamap_async.errors import DynamapError, ResourceNotFoundError
from dynamap_async.executor import accounts, admission, batches, carrier
from dynamap_async.executor.batches import Sizes
from dynamap_async.executor.carrier import UnbatchedTables
from dynamap_async.executor.consumed import TableOrIndex
from dynamap_async.executor.pacing import estimates, governor
from dynamap_async.executor.pacing.estimates import Estimates
from dynamap_async.executor.pacing.heat import Heat, Partition
from dynamap_async.request import Request
from dynamap_async.statistics import OTHER_TABLES

GUESSES = 8

TABLE = {
    "TableName": "orders",
    "TableStatus": "ACTIVE",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
}


class Order(Model, table="orders_{tenant}"):
    tenant: PartitionKey[str]
    number: SortKey[int]
    state: Attr[str] = attr(default="")


class Tables:
    """A service that has the tables which ``exists`` says, and answers what each request took."""

    max_connections = 8

    def __init__(self, exists=lambda table: False):
        self.exists = exists
        self.sent = Counter()
        self.units = 0.0

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.sent[request.operation] += 1
        await asyncio.sleep(0)
        tables = request.table.split(", ")
        if not all(map(self.exists, tables)):
            raise refusal(ResourceNotFoundError, request)
        if request.operation == "DescribeTable":
            units = {"ReadCapacityUnits": 50, "WriteCapacityUnits": 50}
            return {"Table": {**TABLE, "ProvisionedThroughput": units}}
        taken = [{"TableName": each, "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}} for each in tables]
        self.units += len(taken)
        several = request.operation.startswith(("Batch", "Transact"))
        found = {"Responses": {}} if request.operation == "BatchGetItem" else {}
        return {**found, "ConsumedCapacity": taken if several else taken[0]}


def refusal(kind, request):
    return kind(kind.__name__, service_code=kind.__name__, operation=request.operation, table=request.table, status=400)


FOLLOWED = (dict, list, tuple, set, frozenset, deque, partial, MethodType, CellType)


def texts_of(root):
    """Return the texts that the library's objects keep alive."""
    texts, seen, left = set(), {}, [root]
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, type):
            continue
        seen[id(each)] = each
        if isinstance(each, str):
            texts.add(each)
        elif isinstance(each, FunctionType):
            left += [each.__closure__, each.__defaults__]
        elif isinstance(each, FOLLOWED) or type(each).__module__.startswith("dynamap_async"):
            left += gc.get_referents(each)
    return texts


async def outcome(awaitable):
    """Return the error in which something ends; None for none."""
    try:
        await awaitable
    except DynamapError as error:
        return type(error)


async def transact(session, tenant):
    async with session.transaction() as tx:
        tx.put(Order(tenant=tenant, number=1))
        tx.put(Order(tenant=f"{tenant}x", number=1))


USES = {
    "find": lambda session, tenant: session.find(Order, tenant, 1),
    "put": lambda session, tenant: session.put(Order(tenant=tenant, number=1)),
    "update": lambda session, tenant: session.update(Order, tenant, 1).set(Order.state, "x"),
    "query": lambda session, tenant: session.query(Order).where(Order.tenant == tenant),
    "statement": lambda session, tenant: session.execute(Statement(f'SELECT * FROM "orders_{tenant}"')),
    "get_many": lambda session, tenant: session.get_many(Order, [(tenant, 1), (f"{tenant}x", 1)]),
    "transaction": transact,
}
POLICIES = {
    "throttles": CapacityPolicy(),
    "describe": CapacityPolicy(limits="describe"),
    "declared": CapacityPolicy(limits="declared"),
    "given": CapacityPolicy(limits=Throughput(read=1000, write=1000)),
    "hot partitions": CapacityPolicy(hot_partition_units_per_second=100),
}


def same_sums(session):
    """Check that what is told by table adds up to the totals."""
    statistics, usage = session.statistics(), session.usage
    for name in ("accepted", "failures", "requests"):
        assert sum(getattr(each, name) for each in statistics.by_operation) >= getattr(statistics, name)
    assert sum(each.read_halves + each.write_halves for each in usage.by_operation) == (
        usage.read_halves + usage.write_halves
    )
    assert sum(each.read_halves for each in usage.by_index) == usage.read_halves


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("use", USES)
async def test_nothing_is_kept_of_a_table_that_does_not_exist(use, policy, observed):
    tables = Tables()
    observers = [lambda event: None] if observed else []
    async with Session(transport=tables, capacity=POLICIES[policy], observer=observers) as session:
        for number in range(GUESSES):
            assert await outcome(USES[use](session, f"guess{number}")) is not None
        await asyncio.sleep(0)
        assert not {text for text in texts_of(session) if "guess" in text}
        statistics = session.statistics()
        assert statistics.requests == statistics.failures == session.usage.requests == sum(tables.sent.values())
        assert {each.table for each in statistics.by_operation} == {OTHER_TABLES}
        assert {each.table for each in session.usage.by_operation} == {OTHER_TABLES}
        same_sums(session)


async def test_guesses_at_the_same_time_leave_nothing_behind():
    async with Session(transport=Tables()) as session:
        finds = [session.find(Order, f"guess{number % 5}", number) for number in range(GUESSES)]
        await session.gather(*map(outcome, finds))
        assert not {text for text in texts_of(session) if "guess" in text}
        assert session.statistics().accepted == GUESSES


async def test_counts_of_a_table_that_was_answered_stay_its_own_when_it_is_deleted():
    tables = Tables(lambda table: True)
    async with Session(transport=tables) as session:
        await session.find(Order, "real", 1)
        tables.exists = lambda table: False
        with pytest.raises(ResourceNotFoundError):
            await session.find(Order, "real", 1)
        counted = session.statistics().of("GetItem", "orders_real")
        assert (counted.requests, counted.failures) == (2, 1)
        assert session.usage.of("GetItem", "orders_real").read_units == 1


async def test_a_transaction_with_a_table_that_does_not_exist_leaves_the_other_one_alone():
    tables = Tables(lambda table: "guess" not in table)
    async with Session(transport=tables) as session:
        async with session.transaction() as tx:
            tx.put(Order(tenant="real", number=1))
        writes = [Put(Order(tenant=tenant, number=1)) for tenant in ("real", "guess")]
        with pytest.raises(ResourceNotFoundError):
            await session.transact_write(writes)
        await asyncio.sleep(0)
        assert session.statistics().of("TransactWriteItems", "orders_real").requests == 2
        assert not {text for text in texts_of(session) if "guess" in text}


@pytest.fixture
def few(monkeypatch):
    """Let sessions know few tables."""
    monkeypatch.setattr(accounts, "MOST_COUNTS", 40)
    monkeypatch.setattr(admission, "MOST_TABLES", 20)
    monkeypatch.setattr(batches, "MOST_TABLES", 20)
    for module in (estimates, governor):
        monkeypatch.setattr(module, "MOST_KINDS", 20)


@pytest.mark.parametrize("scoped", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
async def test_what_is_known_of_tables_is_bounded_and_every_unit_is_counted(few, policy, scoped):
    tables = Tables(lambda table: True)
    async with Session(transport=tables, capacity=POLICIES[policy]) as session, session.scope("all") as scope:
        for number in range(100):
            if scoped:
                await session.find(Order, f"tenant{number}", 1)
                await session.find(Order, "busy", number)
            else:
                await session.gather(session.find(Order, f"tenant{number}", 1), session.find(Order, "busy", number))
            await asyncio.sleep(5)  # what was used in the last minute is in use
        known = {text for text in texts_of(session) if text.startswith("orders_tenant")}
        assert len(known) <= 60
        usage, statistics = session.usage, session.statistics()
        assert usage.read_units == scope.usage.read_units == tables.units
        assert statistics.accepted == 200 + tables.sent["DescribeTable"]
        assert usage.requests == statistics.requests == sum(tables.sent.values())
        assert statistics.of("GetItem", "orders_busy").accepted == 100
        same_sums(session)


async def test_counts_of_what_is_under_way_are_not_lost_where_room_is_made(few):
    tables = Tables(lambda table: True)
    async with Session(transport=tables) as session:
        await session.gather(*(session.find(Order, f"tenant{number % 150}", number) for number in range(600)))
        assert session.usage.read_units == tables.units
        assert session.usage.items == 600
        assert session.statistics().accepted == 600
        same_sums(session)


async def test_queued_requests_are_told_of_where_their_counts_were_folded(few):
    async with Session(transport=Tables(lambda table: True)) as session:
        finds = [asyncio.create_task(session.find(Order, f"tenant{number}", 1)) for number in range(100)]
        await asyncio.sleep(0)
        statistics = session.statistics()
        assert sum(each.queued + each.in_flight for each in statistics.by_operation) == 100
        await session.gather(*finds)


async def test_the_pace_of_a_table_in_use_is_kept_however_many_others_there_are(few):
    tables = Tables(lambda table: True)
    async with Session(transport=tables) as session:
        await session.find(Order, "busy", 0)
        paced = session._executor._admission.governor
        place, now = TableOrIndex("orders_busy", None, writes=False), asyncio.get_running_loop().time()
        for late in (0.0, 0.01):
            paced.refuse([], [place], 30, now + late)
        bucket = paced.bucket(place, now)
        for number in range(100):
            await session.find(Order, f"tenant{number}", 1)
            await session.find(Order, "busy", number)
        assert paced.governed == {"orders_busy"}
        assert paced.bucket(TableOrIndex("orders_busy", None, writes=False), 0.0) is bucket
        assert len(paced.buckets) <= 21


async def test_a_table_that_was_forgotten_is_described_again(few):
    tables = Tables(lambda table: True)
    async with Session(transport=tables, capacity=POLICIES["describe"]) as session:
        await session.find(Order, "first", 1)
        for number in range(60):
            await session.find(Order, f"tenant{number}", 1)
            await asyncio.sleep(5)
        described = tables.sent["DescribeTable"]
        await session.find(Order, "first", 1)
        await asyncio.sleep(1)
        assert tables.sent["DescribeTable"] == described + 1


async def test_tables_that_are_refused_in_batches_are_bounded(monkeypatch):
    monkeypatch.setattr(carrier, "MOST_TABLES", 10)
    known = UnbatchedTables()
    for number in range(100):
        known.remember(f"t{number}")
        assert f"t{number}" in known
        assert len(known.until) <= 10


def test_sizes_of_tables_are_bounded(few):
    known = Sizes()
    for number in range(100):
        known.learn(f"t{number}", [{"id": {"S": "x" * 5_000}}])
        assert known.of(f"t{number}") > 5_000
        assert len(known.known) <= 20
    before = dict(known.known)
    known.learn("t99", [{"id": {"S": "x" * 5_000}}])
    assert known.known.keys() == before.keys()


def test_estimates_are_bounded_and_those_in_use_stay(monkeypatch):
    monkeypatch.setattr(estimates, "MOST_KINDS", 10)
    known = Estimates()

    def learn(table):
        request = Request(operation="Query", body={}, table=table)
        known.learn([known.of(request)], {TableOrIndex(table, None, writes=False): 7.0})
        return known.of(request)

    for number in range(100):
        kind = learn(f"t{number}").kind
        assert learn("busy").units == {TableOrIndex("busy", None, writes=False): pytest.approx(7.0)}
        assert known.answered(kind) == 1
    assert known.answered(learn("busy").kind) == 101
    assert known.answered(known.of(Request(operation="Query", body={}, table="t5")).kind) == 0


def test_partitions_of_tables_that_are_not_used_any_more_are_forgotten():
    heat = Heat()
    for number in range(100):
        heat.add(Partition(f"t{number}", "k", writes=True), 1.0, now=60.0 * number)
        assert len(heat) == 1
