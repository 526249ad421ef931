"""The ledger of a session beside what the engine reports, with every operation that takes units."""

from collections import Counter

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Put,
    RequestAnswered,
    SortKey,
    Statement,
    attr,
)
from dynamap_async.capacity import Charge, page_charge, read_charge, write_charge

pytestmark = pytest.mark.asyncio


class Parcel(Model, table="parcels"):
    sender: PartitionKey[str]
    number: SortKey[int]
    city: Attr[str | None] = attr(default=None)
    weight: Attr[int] = attr(default=0)
    text: Attr[str] = attr(default="")

    by_city = GlobalIndex(partition_key="city")
    by_weight = LocalIndex(sort_key="weight")


def parcel(number, city=None, size=100):
    return Parcel(sender="ada", number=number, city=city, text="x" * size)


@pytest.fixture
def answers():
    return []


@pytest_asyncio.fixture
async def watched(session, engine, answers):
    """Return a session with its table, whose answers are kept."""
    await session.tables.create(Parcel)
    prefix = session.table_name(Parcel).removesuffix("parcels")

    def keep(event):
        if isinstance(event, RequestAnswered):
            answers.append(event)

    async with engine.session(table_prefix=prefix, observer=keep) as opened:
        yield opened


async def everything(session):
    """Send each operation that takes units."""
    await session.put(parcel(1, "Oslo", 3000))
    await session.put_many([parcel(n, "Rome") for n in range(2, 30)])
    await session.get(Parcel, "ada", 1, consistent_read=True)
    await session.get_many(Parcel, [("ada", n) for n in range(40)])
    await session.update(Parcel, "ada", 1).set(Parcel.city, "Rome")
    await session.query(Parcel).where(Parcel.city == "Rome")
    await session.query(Parcel).where(Parcel.sender == "ada", Parcel.weight < 5).index(Parcel.by_weight)
    await session.scan(Parcel)
    await session.delete(Parcel, "ada", 2)
    await session.transact_get((Parcel, "ada", 1), (Parcel, "ada", 3))


async def test_the_session_has_what_the_engine_reported_and_scopes_share_it_out(watched, answers):
    async with watched.scope("outer") as outer:
        await everything(watched)
        async with watched.scope("inner") as inner:
            await everything(watched)
    await everything(watched)
    reported = Counter()
    for answer in answers:
        for entry in answer.consumed_capacity:
            reported[entry["TableName"]] += entry["CapacityUnits"]
    usage = watched.usage
    assert usage.read_units + usage.write_units == reported.total() > 0
    assert (usage.requests, usage.unreported_requests) == (len(answers), 0)
    for name in ("read_halves", "write_halves"):
        own = [outer.own_usage, inner.own_usage, watched.unscoped_usage]
        assert sum(getattr(each, name) for each in own) == getattr(usage, name)
        assert getattr(outer.usage, name) == sum(getattr(each, name) for each in own[:2])


async def test_each_scope_pays_what_its_own_items_take_of_a_shared_batch(watched):
    sizes = {"small": [10, 20], "large": [5000, 10_000, 3000]}
    items = {name: [parcel(n, name, size) for n, size in enumerate(all_, all_[0])] for name, all_ in sizes.items()}

    async def put(name):
        async with watched.scope(name) as scope:
            await watched.gather(*[watched.put(item) for item in items[name]])
        return scope

    scopes = await watched.gather(*map(put, items))
    assert watched.usage.of("BatchWriteItem", watched.table_name(Parcel)).requests == 1
    for scope in scopes:
        charge = sum((write_charge(Parcel, None, item) for item in items[scope.name]), Charge())
        assert scope.usage.write_units == charge.units
        assert scope.usage.on(watched.table_name(Parcel), "by_city").write_units == charge.index_units["by_city"]


async def test_the_usage_of_reads_is_what_the_arithmetic_says(watched):
    items = [parcel(n, "Oslo", n * 700) for n in range(8)]
    await watched.put_many(items)
    async with watched.scope("reads") as scope:
        await watched.get_many(Parcel, [("ada", n) for n in range(8)])
        await watched.query(Parcel).where(Parcel.city == "Oslo")
    table, index = page_charge(Parcel, items, index="by_city"), scope.usage.on(watched.table_name(Parcel), "by_city")
    assert index.read_units == table.index_units["by_city"]
    reads = sum((read_charge(item) for item in items), Charge()).units
    assert scope.usage.on(watched.table_name(Parcel)).read_units == reads


async def test_statements_are_accounted_for(watched):
    await watched.put_many([parcel(n) for n in range(4)])
    table = watched.table_name(Parcel)
    async with watched.scope("statements") as scope:
        await watched.execute_statement(f'SELECT * FROM "{table}" WHERE "sender" = ?', ["ada"])
        one = f'SELECT * FROM "{table}" WHERE "sender" = ? AND "number" = ?'
        await watched.batch_execute_statement([Statement(one, ["ada", n]) for n in range(2)])
        await watched.execute_transaction(
            [Statement(f"INSERT INTO \"{table}\" VALUE {{'sender': ?, 'number': ?}}", ["eve", 1])]
        )
    usage = scope.usage
    assert (usage.requests, usage.unreported_requests) == (3, 0)
    assert usage.read_units == 1.5
    assert usage.write_units == 2.0


async def test_a_transaction_takes_twice_what_its_writes_take(watched):
    async with watched.scope("transaction") as scope:
        await watched.transact_write([Put(parcel(1)), Put(parcel(2))])
    # Two writes, doubled on the table; each is in the local index, and not in the global one.
    table = watched.table_name(Parcel)
    assert scope.usage.on(table).write_units == 4.0
    assert scope.usage.on(table, "by_weight").write_units == 2.0
    assert scope.usage.items == 2


class Page(Model, table="pages"):
    number: PartitionKey[int]
    text: Attr[str]


@pytest.mark.engine_fault("native", "counts the item that does not fit on a page of 1 MB any more among the evaluated")
async def test_a_scan_of_several_pages_counts_each_item_that_it_evaluated_once(session):
    await session.tables.create(Page)
    await session.put_many(Page(number=number, text="x" * 4000) for number in range(300))
    async with session.scope("scan") as scope:
        assert await session.scan(Page).count() == 300
    assert scope.usage.requests > 1
    assert scope.usage.items == 300
