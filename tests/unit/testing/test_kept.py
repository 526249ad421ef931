"""Tables that one test hands on to the next: as they were made, and without items."""

import asyncio
import contextlib

import pytest

from dynamap_async import Attr, Model, PartitionKey, SortKey, Throughput, TimeToLive, Unique, attr
from dynamap_async.errors import BatchError, ConnectionFailedError, Outcome
from dynamap_async.request import Request
from dynamap_async.testing import FrozenClock, LocalEngine, NativeEngine, RequestLog
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.kept import Kept, KeptTables, WatchedTransport, emptied
from dynamap_async.testing.prepared import EngineEndpoint, Prepared

pytestmark = pytest.mark.asyncio


class Account(Model, table="accounts"):
    owner: PartitionKey[str]
    balance: Attr[int] = attr(default=0)


class Entry(Model, table="entries"):
    account: PartitionKey[str]
    number: SortKey[int]
    expires_at: TimeToLive[int | None] = attr(default=None)


class User(Model, table="users"):
    user_id: PartitionKey[str]
    email: Attr[str]

    by_email = Unique("email")


@pytest.fixture
def place(engine):
    return EngineEndpoint(engine)


@pytest.fixture
def elsewhere(running, native_executable):
    """Return the native engine, which is in another process."""
    return running(NativeEngine, native_executable)


@pytest.fixture
def local():
    with LocalEngine() as engine:
        yield engine


@pytest.fixture
def names(tables_at, engine):
    return lambda: set(tables_at(engine.endpoint_url))


def prepared(place, *models, seeds=(), passed=lambda: True, **settings):
    facts = {"faults": Faults(), "requests": RequestLog(), "clock": FrozenClock()}
    return Prepared(place=place, models=models, settings=settings, seeds=seeds, passed=passed, **facts).open()


async def test_tables_of_the_same_models_are_made_once(place, names):
    before = names()
    async with prepared(place, Account, Entry):
        made = names() - before
    assert {name.partition("-")[2] for name in made} == {"accounts", "entries"}
    async with prepared(place, Entry, Account):
        assert names() - before == made


async def test_nothing_of_one_test_is_seen_by_the_next(place):
    async with prepared(place, Account, Entry, seeds=[Account(owner="seeded")]) as session:
        await session.put(Account(owner="ada"))
        await session.put_many([Entry(account="ada", number=number) for number in range(5)])
    async with prepared(place, Account, Entry) as session:
        assert await session.scan(Account) == []
        assert await session.scan(Entry) == []


async def test_what_another_client_wrote_is_removed_too(place, engine):
    async with prepared(place, Account) as session, engine.session(table_prefix=session.tables._names.prefix) as other:
        await other.put(Account(owner="ada"))
    async with prepared(place, Account) as session:
        assert await session.scan(Account) == []


async def test_unique_values_of_one_test_are_free_in_the_next(place, names):
    async with prepared(place, User) as session:
        await session.create(User(user_id="ada", email="ada@example.org"))
        made = names()
    async with prepared(place, User) as session:
        await session.create(User(user_id="bob", email="ada@example.org"))
        assert names() == made


async def test_more_items_than_a_batch_removes_are_gone_as_well(place):
    async with prepared(place, Entry) as session:
        await session.put_many([Entry(account="ada", number=number) for number in range(26)])
    async with prepared(place, Entry) as session:
        assert await session.scan(Entry) == []


async def test_other_models_have_other_tables(place, names):
    class Same(Model, table="accounts"):
        owner: PartitionKey[bytes]

    async with prepared(place, Account):
        made = names()
    async with prepared(place, Same) as session:
        assert len(names() - made) == 1
        await session.put(Same(owner=b"ada"))


async def create_another(session):
    await session.tables.create(User)


async def delete(session):
    await session.tables.delete(Account)


async def make_anew(session):
    await session.tables.delete(Account)
    await session.tables.create(Account, throughput=Throughput(read=1, write=1))


CHANGES = [create_another, delete, make_anew]


@pytest.mark.parametrize("change", CHANGES)
async def test_tables_of_a_test_that_changed_one_are_dropped_elsewhere(elsewhere, tables_at, change):
    before = tables_at(elsewhere.endpoint_url)
    async with prepared(EngineEndpoint(elsewhere), Account) as session:
        await change(session)
    assert tables_at(elsewhere.endpoint_url) == before


async def test_tables_that_another_client_deleted_are_not_handed_on(place, engine):
    async with prepared(place, Account) as session, engine.session(table_prefix=session.tables._names.prefix) as other:
        await other.tables.delete(Account)
    async with prepared(place, Account) as session:
        assert await session.scan(Account) == []


async def test_tables_of_a_test_that_did_not_pass_are_dropped_elsewhere(elsewhere, tables_at):
    before = tables_at(elsewhere.endpoint_url)
    async with prepared(EngineEndpoint(elsewhere), Account, passed=lambda: False):
        pass
    assert tables_at(elsewhere.endpoint_url) == before


async def test_tables_are_dropped_elsewhere_where_the_seeds_fail(elsewhere, tables_at):
    before = tables_at(elsewhere.endpoint_url)
    with pytest.raises(BatchError):
        async with prepared(EngineEndpoint(elsewhere), Account, seeds=[Entry(account="ada", number=1)]):
            pass
    assert tables_at(elsewhere.endpoint_url) == before


async def test_tables_that_the_settings_name_are_made_for_each_test(place, names):
    before = names()
    async with prepared(place, Account, table_prefix="named-"):
        assert names() - before == {"named-accounts"}
    assert names() == before


async def test_tables_of_another_region_are_made_for_each_test(place, names):
    before = names()
    async with prepared(place, Account, region="us-east-1"):
        pass
    assert names() == before


async def test_an_engine_that_runs_elsewhere_keeps_nothing(engine, names):
    before = names()
    async with prepared(EngineEndpoint(engine.endpoint_url), Account):
        assert names() != before
    assert names() == before


def held(engine):
    """Return what an engine holds: of each table its settings and its items."""
    return {name: (dict(engine._service.table(name).settings), engine.items(name)) for name in engine.tables()}


async def give_other_settings(session):
    await session.tables.update_time_to_live(Entry, enabled=False)
    await session.tables.protect(Account)
    await session.tables.tag(Account, {"team": "books"})
    await session.tables.update_throughput(Account, throughput=Throughput(read=1, write=1))


async def write_and_fail(session):
    await session.put_many([Entry(account="ada", number=number) for number in range(30)])
    raise LookupError


@pytest.mark.parametrize("change", [create_another, delete, make_anew, give_other_settings, write_and_fail])
async def test_the_engine_in_this_process_is_afterwards_what_it_was_whatever_a_test_does(local, change):
    place = EngineEndpoint(local)
    async with prepared(place, Account, Entry):
        expected = held(local)
    with contextlib.suppress(LookupError):
        async with prepared(place, Account, Entry, seeds=[Account(owner="seeded")]) as session:
            await change(session)
    assert held(local) == expected


async def test_what_a_test_does_to_other_tables_of_the_engine_in_this_process_is_undone(local):
    async with local.session() as other:
        await other.tables.create(Account)
        await other.put(Account(owner="ada"))
        async with prepared(EngineEndpoint(local)) as session:
            local.reset()
            await session.tables.create(User)
        assert await other.scan(Account) == [Account(owner="ada")]


async def test_a_test_may_go_back_to_what_the_engine_held_before_it_began(local):
    place, empty = EngineEndpoint(local), local.snapshot()
    for models in ([Account], [Entry], [Account], [Entry]):
        async with prepared(place, *models) as session:
            assert await session.scan(models[0]) == []
            local.restore(empty)
        assert not local.tables()


async def test_tables_that_were_removed_between_two_tests_are_made_anew(local):
    place = EngineEndpoint(local)
    for _ in range(2):
        async with prepared(place, Account) as session:
            assert await session.scan(Account) == []
        local.reset()


async def test_a_test_that_ends_undoes_nothing_of_one_that_began_later(local):
    place = EngineEndpoint(local)
    first, second = prepared(place, Account), prepared(place, Entry)
    await first.__aenter__()
    session = await second.__aenter__()
    await session.put(Entry(account="ada", number=1))
    await first.__aexit__(None, None, None)
    assert len(await session.scan(Entry)) == 1
    await second.__aexit__(None, None, None)
    async with prepared(place, Entry) as session:
        assert await session.scan(Entry) == []


async def test_as_many_sets_of_tables_are_kept_as_fit_and_the_oldest_is_given_up():
    tables = KeptTables()
    given_up = [tables.keep([number], Kept("t-", {str(number): ("id",)})) for number in range(34)]
    assert given_up == [{}] * 32 + [{"0": ("id",)}, {"1": ("id",)}]
    assert tables.take([0]) is None
    assert tables.take([33]) is not None
    assert tables.take([33]) is None


LOST = ConnectionFailedError("lost", outcome=Outcome.UNKNOWN, operation="PutItem", table="t")


@pytest.mark.parametrize("error", [asyncio.CancelledError(), LOST])
async def test_a_request_without_an_answer_leaves_its_tables_unsettled(inner, error):
    inner.errors["PutItem"] = error
    watched = WatchedTransport(inner, {})
    with pytest.raises(type(error)):
        await watched.send(Request(operation="PutItem", body={}, table="t", writes=True))
    assert not watched.settled
    assert not watched.changed_tables


async def test_a_table_whose_creation_got_no_answer_may_be_there(inner):
    inner.errors["CreateTable"] = asyncio.CancelledError()
    keys = {}
    watched = WatchedTransport(inner, keys)
    with pytest.raises(asyncio.CancelledError):
        await watched.send(
            Request(operation="CreateTable", body={"KeySchema": [{"AttributeName": "id"}]}, table="t", writes=True)
        )
    assert keys == {"t": ("id",)}


@pytest.mark.parametrize(
    "answers",
    [
        {"Scan": {"Items": [{"id": {"S": "a"}}], "LastEvaluatedKey": {"id": {"S": "a"}}}},
        {"Scan": {"Items": [{"id": {"S": "a"}}]}, "BatchWriteItem": {"UnprocessedItems": {"t": [{}]}}},
    ],
)
async def test_tables_that_one_batch_does_not_empty_are_not_empty(inner, answers):
    inner.answers = answers
    assert not await emptied(inner, {"t": ("id",)})
