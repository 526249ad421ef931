"""A table that is named by its ARN is read, written and counted like any other."""

import asyncio

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Put, TransactWrite
from dynamap_async.errors import ConfigurationError, OperationError
from dynamap_async.testing import FrozenClock, LocalEngine, RequestLog
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.prepared import EngineEndpoint, Prepared

pytestmark = pytest.mark.asyncio

ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/visits"


OTHERS = "arn:aws:dynamodb:eu-west-1:444455556666:table/orders"


class Order(Model, table=OTHERS):
    order_id: PartitionKey[str]


class OwnersOrder(Model, table="orders"):
    """What the owner of that table declares."""

    order_id: PartitionKey[str]


class Visit(Model, table="visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex("by-page", partition_key="page")


@pytest_asyncio.fixture
async def db(log):
    with LocalEngine(models=[Visit, OwnersOrder]) as engine:
        async with engine.session(table_names={"visits": ARN}, observer=log) as session:
            yield session


@pytest.fixture
def log():
    return RequestLog()


async def test_items_of_such_a_table_are_written_and_read_by_every_way(db):
    await db.put(Visit(visit_id="1", page="/"))
    await db.put_many([Visit(visit_id=str(number), page="/shop") for number in range(2, 30)])
    async with db.transaction() as tx:
        tx.put(Visit(visit_id="30", page="/"))
    await db.update(Visit, "1").set(Visit.page, "/new")

    assert (await db.get(Visit, "1")).page == "/new"
    assert len(await db.get_many(Visit, [str(number) for number in range(1, 31)])) == 30
    assert [visit.page for visit in await db.query(Visit).where(Visit.visit_id == "30")] == ["/"]
    assert await db.query(Visit).index(Visit.by_page).where(Visit.page == "/shop").count() == 28
    assert await db.scan(Visit).count() == 30


async def test_what_such_a_table_took_is_counted_under_its_arn(db):
    await db.put(Visit(visit_id="1", page="/"))

    assert [each.table for each in db.statistics().by_operation if each.operation == "PutItem"] == [ARN]


async def test_such_a_table_is_described_and_not_created(db):
    assert (await db.tables.describe(Visit)).schema.keys.names == ("visit_id",)
    with pytest.raises(OperationError, match="is named by its ARN"):
        await db.tables.create(Visit)


async def test_requests_to_two_accounts_share_no_call(db, log):
    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(db.find(Visit, str(number)))
            group.create_task(db.find(Order, str(number)))

    assert sorted((each.operation, each.tables) for each in log.sent) == [
        ("BatchGetItem", (ARN,)),
        ("BatchGetItem", (OTHERS,)),
    ]


async def test_a_transaction_over_two_accounts_is_refused_before_it_is_sent(db, log):
    both = TransactWrite([Put(Visit(visit_id="1", page="/")), Put(Order(order_id="1"))])

    with pytest.raises(
        OperationError, match="a transaction is of one account and region, and .*visits and .*orders are"
    ):
        await db.execute(both)
    assert log.sent == ()


class TheirVisit(Model, table=ARN):
    """What a program of another account declares of the table of ``Visit``."""

    visit_id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex("by-page", partition_key="page")


async def test_an_engine_in_the_process_makes_such_a_table_under_its_own_name():
    async with LocalEngine(models=[TheirVisit, Order]) as engine, engine.session() as session:
        await session.put(TheirVisit(visit_id="1", page="/"))
        assert engine.tables() == {"visits", "orders"}
        assert await session.query(TheirVisit).where(TheirVisit.page == "/").count() == 1


async def test_one_table_is_made_for_its_owner_and_for_another_account():
    with LocalEngine(models=[Visit, TheirVisit]) as engine:
        assert engine.tables() == {"visits"}


async def test_an_engine_in_the_process_knows_a_table_by_its_arn():
    with LocalEngine(models=[Visit]) as engine:
        engine.load(ARN, [{"visit_id": {"S": "1"}, "page": {"S": "/"}}])
        assert engine.items(ARN) == engine.items("visits") != []
        engine.forget([ARN])
        with pytest.raises(ConfigurationError, match="has no table 'arn:aws:.*/visits'; it has: none"):
            engine.items(ARN)


async def test_two_tables_that_would_be_one_in_the_engine_are_refused():
    class Elsewhere(Model, table=ARN.replace("111122223333", "444455556666")):
        visit_id: PartitionKey[str]

    with pytest.raises(ConfigurationError, match="one set of tables for all accounts .* named 'visits'"):
        LocalEngine(models=[TheirVisit, Elsewhere]).__enter__()


async def test_fixtures_make_such_a_table_for_each_test():
    with LocalEngine() as engine:
        place, later = EngineEndpoint(engine), Visit(visit_id="2", page="/")
        for settings, model in (({}, TheirVisit), ({"table_names": {"visits": ARN}}, Visit), ({}, TheirVisit)):
            item = model(visit_id="1", page="/")
            test = Prepared(
                place=place,
                settings=settings,
                models=[model, Order],
                seeds=[[item]],
                faults=Faults(),
                requests=RequestLog(),
                clock=FrozenClock(),
            )
            async with test.open() as session:
                assert await session.find(model, "1") == item
                await session.put(model(visit_id="2", page=later.page))
                assert len(engine.items(session.table_name(model))) == 2
            assert engine.tables() == set()


async def test_fixtures_use_such_a_table_that_the_engine_has_and_leave_it_as_it_was():
    with LocalEngine(models=[TheirVisit]) as engine:
        test = Prepared(
            place=EngineEndpoint(engine),
            settings={},
            models=[TheirVisit],
            seeds=[],
            faults=Faults(),
            requests=RequestLog(),
            clock=FrozenClock(),
        )
        async with test.open() as session:
            await session.put(TheirVisit(visit_id="1", page="/"))
            assert len(engine.items("visits")) == 1
        assert engine.items("visits") == []
