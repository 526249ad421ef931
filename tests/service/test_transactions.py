"""Transactions on real engines: all or nothing, with a reason for each action, and done once."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    CapacityPolicy,
    Check,
    Create,
    Model,
    PartitionKey,
    Put,
    RetryPolicy,
    SortKey,
    TimeToLive,
    TransactWrite,
    Unique,
    Update,
    Version,
    attr,
    before_write,
)
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    IdempotentParameterMismatchError,
    ItemNotFoundError,
    OperationError,
    OutOfRangeError,
    ResourceNotFoundError,
    TransactionCanceledError,
    TransportError,
    UniqueViolationError,
    VersionConflictError,
)
from dynamap_async.operations import Save
from dynamap_async.testing.faults import Faults

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATIENT = RetryPolicy(max_attempts=30, base_delay_seconds=0.001, max_delay_seconds=0.01, budget=100_000)
UNPACED = CapacityPolicy(enabled=False)  # refusals come at random here, whatever the rate

pytestmark = pytest.mark.asyncio


class Account(Model, table="accounts"):
    owner: PartitionKey[str]
    balance: Attr[int] = attr(default=0)
    active: Attr[bool] = attr(default=True)


class Entry(Model, table="entries"):
    owner: PartitionKey[str]
    number: SortKey[int]
    amount: Attr[int] = attr(default=0)
    version: Version[int] = attr(default=0)


class Elsewhere(Model, table="elsewhere"):
    id: PartitionKey[str]


@pytest.fixture
def prefix():
    return f"t{uuid4().hex[:12]}-"


@pytest_asyncio.fixture
async def tables(engine, prefix):
    """Return a session whose tables hold three accounts and one entry."""
    accounts = [Account(owner="ada", balance=10), Account(owner="bob"), Account(owner="eve", active=False)]
    async with engine.session(table_prefix=prefix) as session:
        await session.tables.create(Account, Entry)
        await session.put_many(accounts)
        await session.put(Entry(owner="eve", number=1, amount=5))
        yield session


async def balances(session):
    found = await session.get_many(Account, ["ada", "bob", "eve"])
    return [account and account.balance for account in found]


async def test_put_update_delete_and_check_are_done_together(tables):
    async with tables.transaction() as tx:
        tx.put(Entry(owner="ada", number=1, amount=-3))
        tx.update(Account, "ada").add(Account.balance, -3)
        tx.update(Account, "bob").add(Account.balance, 3).where(Account.active.is_(True))
        tx.check(Account, "eve", where=Account.active.is_(False))
        tx.delete(Entry, "eve", 1)
    assert await balances(tables) == [7, 3, 0]
    assert (await tables.get(Entry, "ada", 1)).version == 1
    assert await tables.find(Entry, "eve", 1) is None


async def test_one_refusal_refuses_all_and_tells_of_each(tables):
    actions = [
        Update(Account, "ada").add(Account.balance, -30).where(Account.balance >= 30),
        Put(Entry(owner="ada", number=1)),
        Check(Account, "eve", where=Account.active.is_(True)),
        Create(Account(owner="zoe")),
    ]
    with pytest.raises(TransactionCanceledError) as caught:
        await tables.transact_write(actions)
    first, second, third, fourth = caught.value.reasons
    assert [second.code, second.error, fourth.code, fourth.item] == [None] * 4
    assert first.item == Account(owner="ada", balance=10)
    assert first.key == {"owner": "ada"}
    assert third.item == Account(owner="eve", active=False)
    assert isinstance(third.error, ConditionalCheckFailedError)
    assert [reason.operation for reason in caught.value.reasons] == [
        "UpdateItem",
        "PutItem",
        "ConditionCheck",
        "PutItem",
    ]
    assert caught.value.attempts == 1
    assert await balances(tables) == [10, 0, 0]
    assert await tables.find(Entry, "ada", 1) is None
    assert await tables.find(Account, "zoe") is None


async def test_versions_are_checked_and_counted_on_as_outside(tables):
    entry = Entry(owner="ada", number=1)
    async with tables.transaction() as tx:
        tx.put(entry)
        assert entry.version == 0
    assert entry.version == 1
    stale = entry.model_copy()
    async with tables.transaction() as tx:
        tx.put(entry)
    assert entry.version == 2
    with pytest.raises(TransactionCanceledError) as caught:
        await tables.transact_write([Put(stale), Update(Account, "ada").add(Account.balance, 1)])
    conflict = caught.value.reasons[0].error
    assert isinstance(conflict, VersionConflictError)
    assert (conflict.expected, conflict.stored) == (1, 2)
    assert conflict.item == entry
    assert stale.version == 1
    with pytest.raises(TransactionCanceledError):
        await tables.transact_write([Check(Account, "bob", where=Account.balance == 0), Put(stale)])
    async with tables.transaction() as tx:
        tx.delete(entry)
    assert await tables.find(Entry, "ada", 1) is None


async def test_update_of_an_absent_item_refuses_the_transaction(tables):
    with pytest.raises(TransactionCanceledError, match="there is no such item") as caught:
        await tables.transact_write([Update(Account, "nobody").set(Account.balance, 1), Put(Account(owner="zoe"))])
    assert isinstance(caught.value.reasons[0].error, ItemNotFoundError)
    assert await tables.transact_find((Account, "nobody"), (Account, "zoe")) == (None, None)


async def test_table_that_does_not_exist_is_not_a_cancellation(tables):
    with pytest.raises(ResourceNotFoundError, match="elsewhere"):
        await tables.transact_write([Put(Elsewhere(id="a")), Put(Entry(owner="ada", number=1))])
    assert await tables.find(Entry, "ada", 1) is None


async def test_hundred_actions_are_one_transaction(tables):
    await tables.transact_write(Put(Entry(owner="ada", number=n)) for n in range(100))
    assert await tables.query(Entry).where(Entry.owner == "ada").count() == 100
    with pytest.raises(OutOfRangeError, match="101"):
        await tables.transact_write(Put(Entry(owner="ada", number=n)) for n in range(101))


async def test_hundred_items_are_read_as_one(tables):
    await tables.put_many(Entry(owner="ada", number=n) for n in range(100))
    found = await tables.transact_get(*((Entry, "ada", n) for n in range(100)))
    assert [entry.number for entry in found] == list(range(100))
    with pytest.raises(OutOfRangeError, match="101"):
        await tables.transact_find(*((Entry, "ada", n) for n in range(101)))


async def test_exception_inside_the_block_writes_nothing(tables):
    with pytest.raises(ZeroDivisionError):
        async with tables.transaction() as tx:
            tx.put(Entry(owner="ada", number=1 // len(tx.actions)))
    assert await tables.find(Entry, "ada", 1) is None


async def test_reads_keep_their_places(tables):
    ada, entry = await tables.transact_get((Account, "ada"), (Entry, "eve", 1))
    assert (ada.balance, entry.amount) == (10, 5)
    assert await tables.transact_find((Entry, "eve", 9), (Account, "bob")) == (None, Account(owner="bob"))
    with pytest.raises(ItemNotFoundError, match="no Entry with owner='eve', number=9"):
        await tables.transact_get((Account, "ada"), (Entry, "eve", 9))


async def test_given_token_does_a_transaction_once(tables):
    token = str(uuid4())
    for _ in range(2):
        async with tables.transaction(client_request_token=token) as tx:
            tx.update(Account, "ada").add(Account.balance, 1)
    assert await balances(tables) == [11, 0, 0]
    with pytest.raises(IdempotentParameterMismatchError):
        async with tables.transaction(client_request_token=token) as tx:
            tx.update(Account, "ada").add(Account.balance, 2)
    assert await balances(tables) == [11, 0, 0]


async def test_one_transaction_as_a_value_is_carried_out_as_often_as_it_is_executed(tables):
    transaction = TransactWrite([Put(Entry(owner="ada", number=1))])
    await tables.execute(transaction)
    with pytest.raises(TransactionCanceledError):  # its item has a version, which is no longer 0
        await tables.execute(transaction)


async def test_save_in_a_transaction_writes_what_changed_or_checks_that_nothing_did(tables):
    ada, bob = await tables.get(Account, "ada"), await tables.get(Account, "bob")
    ada.balance -= 1
    async with tables.transaction() as tx:
        tx.save(ada)
        tx.save(bob)
    assert await balances(tables) == [9, 0, 0]
    await tables.delete(Account, "bob")
    ada.balance -= 1
    with pytest.raises(TransactionCanceledError) as caught:
        await tables.transact_write([Save(ada), Save(bob)])
    assert isinstance(caught.value.reasons[1].error, ItemNotFoundError)
    assert await balances(tables) == [9, None, 0]


async def test_check_alone_is_refused(tables):
    with pytest.raises(OperationError, match="works only in a transaction"):
        await tables.execute(Check(Account, "ada", where=Account.balance == 10))


async def test_two_hundred_concurrent_transactions_on_two_counters_add_up(tables):
    async def transfer(number):
        async with tables.transaction() as tx:
            tx.update(Account, "ada").add(Account.balance, -1)
            tx.update(Account, "bob").add(Account.balance, 1)
            tx.create(Entry(owner="ada", number=number))

    async with asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(transfer(number))
    assert await balances(tables) == [-190, 200, 0]
    assert await tables.query(Entry).where(Entry.owner == "ada").count() == 200


async def test_transactions_of_several_sessions_add_up(engine, prefix, tables):

    async def transfer(session):
        for _ in range(10):
            async with session.transaction() as tx:
                tx.update(Account, "ada").add(Account.balance, -1)
                tx.update(Account, "bob").add(Account.balance, 1)

    async with (
        engine.session(table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as one,
        engine.session(table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as two,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(transfer(one))
        await group.create_task(transfer(two))
    assert await balances(tables) == [-10, 20, 0]


async def test_put_and_transaction_of_one_item_keep_their_order(tables):
    for number in range(20):
        async with asyncio.TaskGroup() as group:
            group.create_task(tables.put(Account(owner="ada", balance=number)))
            group.create_task(tables.transact_write([Put(Account(owner="ada", balance=number + 100))]))
            group.create_task(tables.put(Account(owner="bob", balance=number)))
        assert await balances(tables) == [number + 100, number, 0]


async def test_transaction_whose_answer_is_lost_is_done_once(engine, prefix, tables):
    faults = Faults()
    faults.on("TransactWriteItems", times=2).lose_answer()
    async with (
        faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session,
        session.transaction() as tx,
    ):
        tx.update(Account, "ada").add(Account.balance, 1)
        tx.create(Entry(owner="ada", number=1))
    assert await balances(tables) == [11, 0, 0]
    assert faults.requests["TransactWriteItems"] == 3


async def test_counter_that_is_counted_exactly_once_is_exact_under_random_faults(engine, prefix, tables):
    faults = Faults.random(share=0.4, seed=7)
    async with faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session:

        async def count():
            for _ in range(10):
                await session.update(Account, "ada").add(Account.balance, 1).exactly_once()

        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(count())
    assert sum(entry.fault is not None for entry in faults.log) > 100
    assert await balances(tables) == [210, 0, 0]


async def test_write_done_exactly_once_gives_nothing_unless_it_is_read_behind(tables):
    assert await tables.update(Account, "ada").add(Account.balance, 1).exactly_once() is None
    read = await tables.update(Account, "ada").add(Account.balance, 1).exactly_once().then_get()
    assert read == Account(owner="ada", balance=12)
    entry = Entry(owner="ada", number=1)
    assert await tables.execute(Put(entry).exactly_once().then_get()) == entry
    assert entry.version == 1


async def test_write_done_exactly_once_fails_as_the_write_itself(tables):
    with pytest.raises(ItemNotFoundError):
        await tables.update(Account, "nobody").add(Account.balance, 1).exactly_once()
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await tables.update(Account, "ada").add(Account.balance, 1).where(Account.balance > 99).exactly_once()
    assert caught.value.item == Account(owner="ada", balance=10)
    assert isinstance(caught.value.__cause__, TransactionCanceledError | ConditionalCheckFailedError)


async def test_plain_counter_is_never_counted_twice_but_may_end_unknown(engine, prefix, tables):
    faults = Faults()
    faults.on("UpdateItem", nth=1).lose_answer()
    async with faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session:
        with pytest.raises(TransportError):
            await session.update(Account, "ada").add(Account.balance, 1)
    assert await balances(tables) == [11, 0, 0]


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)
    title: Attr[str] = attr(default="untitled")
    closes_at: TimeToLive[datetime | None] = attr(default=None)
    changed_at: Attr[datetime] = attr(on_update=lambda: NOW)
    version: Version[int] = attr(default=0)


class Member(Model, table="members"):
    name: PartitionKey[str]
    email: Attr[str]

    unique = Unique("email")

    @before_write
    def lower(self, kind):
        self.email = self.email.lower()


async def test_numbers_defaults_times_versions_hooks_and_unique_values_work_as_outside(session):
    await session.tables.create(Ticket, Member)
    first, second = Ticket(), Ticket(title="b", closes_at=datetime.now(UTC) + timedelta(days=1))
    async with session.transaction() as tx:
        tx.put(first)
        tx.put(second)
        tx.create(Member(name="ada", email="ADA@example.org"))
    assert sorted([first.number, second.number]) == [1, 2]
    assert (first.version, first.changed_at) == (1, NOW)
    stored_first, stored_second, ada = await session.transact_get(
        (Ticket, first.number), (Ticket, second.number), (Member, "ada")
    )
    assert stored_first == first
    assert stored_first.title == "untitled"
    assert stored_second == second
    assert second.closes_at.microsecond == 0
    assert ada.email == "ada@example.org"

    with pytest.raises(TransactionCanceledError, match="email='ada@example.org' is taken") as caught:
        await session.transact_write([Create(Member(name="bob", email="Ada@example.org")), Put(first)])
    assert [type(reason.error) for reason in caught.value.failures] == [UniqueViolationError]
    assert first.version == 1
    assert await session.find(Member, "bob") is None
