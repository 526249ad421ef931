"""Versions, unique values, numbers, hooks, times and expiry in one model, and writes one after the other."""

import pickle
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import pytest_asyncio
from pydantic import Field

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Save,
    SortKey,
    TimeToLive,
    Unique,
    Version,
    WriteKind,
    attr,
    before_write,
)
from dynamap_async.errors import (
    BatchError,
    ConditionalCheckFailedError,
    ExpressionError,
    ItemNotFoundError,
    ServiceError,
    TransactionCanceledError,
    UniqueViolationError,
    VersionConflictError,
)
from dynamap_async.testing import Engine

pytestmark = pytest.mark.asyncio

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A time of day that the test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now.timestamp()

    def pass_seconds(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)


CLOCK = Clock()


class Part(Model):
    name: str = ""
    amounts: list[int] = Field(default_factory=list)


class WiderPart(Part):
    color: str = ""


class Order(Model, table="orders"):
    """Everything that a session does with a write, in one model."""

    shop: PartitionKey[str]
    number: SortKey[int] = attr(autoincrement=True)
    reference: Attr[str]
    label: Attr[str] = attr(default="")
    parts: Attr[list[Part]] = attr(default_factory=list)
    state: Attr[str | None] = attr(default=None)
    made: Attr[datetime] = attr(on_create=lambda: CLOCK.now)
    changed: Attr[datetime] = attr(on_update=lambda: CLOCK.now)
    revision: Version[int] = attr(name="v", default=0)

    by_reference = Unique("reference")
    by_state = GlobalIndex("state-index", partition_key="state", sort_key="number")

    @before_write
    def trim(self, write: WriteKind) -> None:
        self.label = self.label.strip()


class WiderOrder(Order, table="orders"):
    parts: Attr[list[WiderPart]] = attr(default_factory=list)  # type: ignore[assignment]
    motto: Attr[str] = attr(default="")


class Lease(Model, table="leases", hide_expired=True):
    """As much as goes with expiry, which excludes unique values."""

    id: PartitionKey[int] = attr(autoincrement=True)
    holder: Attr[str] = attr(default="")
    changed: Attr[datetime] = attr(on_update=lambda: CLOCK.now)
    ends: TimeToLive[datetime | None] = attr(default=None)
    version: Version[int] = attr(default=0)

    @before_write
    def name(self, write: WriteKind) -> None:
        self.holder = self.holder.title()


class Frozen(Model, table="frozen", frozen=True):
    id: PartitionKey[str]
    label: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


@pytest.fixture(autouse=True)
def clock():
    CLOCK.now = START
    return CLOCK


@pytest_asyncio.fixture
async def session(engine):
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-", clock=CLOCK) as opened:
        await opened.tables.create(Order, Lease, Frozen)
        yield opened


async def test_one_model_has_versions_numbers_unique_values_hooks_and_times_at_once(session, clock):
    order = Order(shop="ada", reference="r1", label=" first ")
    await session.create(order)
    assert (order.number, order.label, order.revision, order.made, order.changed) == (1, "first", 1, START, START)

    clock.pass_seconds(5)
    order.reference, order.parts = "r2", [Part(name="a", amounts=[1])]
    await session.save(order)

    assert await session.get(Order, "ada", 1) == order
    assert (order.revision, order.made, order.changed) == (2, START, clock.now)
    reused = await session.create(Order(shop="ada", reference="r1"))
    assert (reused.number, reused.revision) == (2, 1)


async def test_a_refused_write_of_such_a_model_moves_nothing_on(session, clock):
    first = await session.create(Order(shop="ada", reference="r1"))
    clock.pass_seconds(5)
    second = Order(shop="ada", reference="r1")
    with pytest.raises(UniqueViolationError):
        await session.create(second)
    assert second.revision == 0
    assert not {"number", "made", "changed"} & second.model_dump().keys()

    third = await session.create(Order(shop="ada", reference="r3"))
    clock.pass_seconds(5)
    before = third.model_copy(deep=True)
    third.reference = "r1"
    with pytest.raises(UniqueViolationError):
        await session.save(third)
    assert third == before.model_copy(update={"reference": "r1"})

    third.reference = "r4"
    await session.save(third)  # after a failed save
    assert await session.get(Order, "ada", third.number) == third
    assert first.revision == 1


async def test_a_stale_version_takes_no_unique_value(session):
    order = await session.create(Order(shop="ada", reference="r1"))
    stale = order.model_copy(deep=True)
    order.reference = "r2"
    await session.save(order)
    stale.reference = "r9"
    with pytest.raises(VersionConflictError) as caught:
        await session.save(stale)
    assert (caught.value.expected, caught.value.stored, caught.value.item) == (1, 2, order)
    with pytest.raises(VersionConflictError):
        await session.delete(stale)
    await session.create(Order(shop="bob", reference="r9"))


async def test_a_transaction_of_two_saves_of_which_one_conflicts_changes_neither_instance(session, clock):
    one = await session.create(Order(shop="ada", reference="r1"))
    other = await session.create(Order(shop="ada", reference="r2"))
    fresh = await session.get(Order, "ada", other.number)
    fresh.label = "theirs"
    await session.save(fresh)
    clock.pass_seconds(5)
    one.label, one.reference, other.label, other.reference = "mine", "r3", "mine", "r4"
    before = one.model_copy(deep=True), other.model_copy(deep=True)

    with pytest.raises(TransactionCanceledError) as caught:
        await session.transact_write([Save(one), Save(other)])

    [failure] = caught.value.failures
    assert isinstance(failure.error, VersionConflictError)
    assert (failure.position, failure.error.expected, failure.error.stored) == (1, 1, 2)
    assert (one, other) == before
    await session.save(one)
    assert await session.get(Order, "ada", one.number) == one
    assert (await session.get(Order, "ada", other.number)) == fresh


async def test_a_transaction_writes_two_such_items_as_outside(session, clock):
    one = await session.create(Order(shop="ada", reference="r1"))
    clock.pass_seconds(5)
    one.label, one.reference = " x ", "r2"
    new = Order(shop="ada", reference="r1")

    async with session.transaction() as tx:
        tx.save(one)
        tx.create(Order(shop="bob", reference="r5"))

    await session.create(new)
    assert (one.label, one.revision, one.changed) == ("x", 2, clock.now)
    assert (new.number, new.revision) == (2, 1)
    assert [await session.get(Order, "ada", n) for n in (1, 2)] == [one, new]
    assert (await session.get(Order, "bob", 1)).revision == 1


async def test_bulk_calls_take_such_items(session):
    orders = [Order(shop="ada", reference=f"r{n}", label=" x ") for n in range(30)]
    assert await session.put_many(orders, read_first=True) == 30
    assert sorted(order.number for order in orders) == list(range(1, 31))
    assert {(order.revision, order.label) for order in orders} == {(1, "x")}
    taken = Order(shop="bob", reference="r7")
    stale = orders[3].model_copy(deep=True)
    orders[3].label = "y"
    await session.save(orders[3])
    with pytest.raises(BatchError) as caught:
        await session.put_many([taken, stale, orders[4]], read_first=True)
    assert sorted(type(failure.error).__name__ for failure in caught.value.failures) == [
        "UniqueViolationError",
        "VersionConflictError",
    ]
    assert (orders[4].revision, stale.revision, taken.revision) == (2, 1, 0)

    with pytest.raises(BatchError) as caught:
        await session.delete_many([*orders, stale])
    assert [failure.subject for failure in caught.value.failures] == [stale]
    assert await session.scan(Order) == []
    await session.create(Order(shop="bob", reference="r7"))


async def test_a_block_of_a_batch_takes_such_items(session):
    orders = [Order(shop="ada", reference=f"r{n}") for n in range(5)]
    async with session.batch() as batch:
        for order in orders:
            await batch.put(order, read_first=True)
    async with session.batch() as batch:
        for order in orders:
            await batch.delete(order)
    assert await session.scan(Order) == []


async def test_leases_with_versions_and_numbers_end_and_begin_again(session, clock):
    lease = await session.create(Lease(holder="ada", ends=clock.now + timedelta(seconds=10)))
    assert (lease.id, lease.version, lease.holder) == (1, 1, "Ada")
    clock.pass_seconds(5)
    lease.ends = clock.now + timedelta(seconds=10)
    await session.save(lease)  # a save changes the time to live
    clock.pass_seconds(6)
    assert await session.get(Lease, 1) == lease

    clock.pass_seconds(10)
    assert await session.find(Lease, 1) is None
    again = await session.create(Lease(id=1, holder="bob"))
    assert again.version == 1
    with pytest.raises(VersionConflictError):
        await session.delete(lease)
    assert await session.get(Lease, 1) == again


async def test_the_update_of_an_item_with_changes_inside_then_a_save(session):
    order = await session.create(Order(shop="ada", reference="r1", parts=[Part(name="a", amounts=[1, 2])]))
    updated = await session.update(order).set(Order.parts[0].name, "b").set(Order.label, "x")
    assert updated is order
    assert (order.parts[0].name, order.label, order.revision) == ("b", "x", 2)
    order.parts[0].amounts.append(3)
    await session.save(order)
    assert (await session.get(Order, "ada", 1)) == order
    assert order.parts == [Part(name="b", amounts=[1, 2, 3])]
    assert order.revision == 3


async def test_an_item_from_a_query_changed_inside_keeps_what_the_model_does_not_know(session):
    wide = WiderOrder(shop="ada", reference="r1", motto="go", parts=[WiderPart(name="a", color="red")])
    await session.create(wide)
    [narrow] = await session.query(Order).where(Order.shop == "ada")
    narrow.parts[0].amounts.append(1)
    narrow.parts.append(Part(name="b"))
    narrow.reference = "r2"
    await session.save(narrow)
    found = await session.get(WiderOrder, "ada", 1)
    assert found.motto == "go"
    assert found.parts == [WiderPart(name="a", color="red", amounts=[1]), WiderPart(name="b")]
    assert (found.reference, found.revision) == ("r2", 2)


async def test_a_pickled_item_is_saved_by_another_session(session, engine: Engine):
    order = await session.create(Order(shop="ada", reference="r1", parts=[Part(name="a")]))
    text = pickle.dumps(await session.get(Order, "ada", 1))
    prefix = session._runner.context.tables.prefix
    async with engine.session(table_prefix=prefix, clock=CLOCK) as other:
        copy = pickle.loads(text)
        copy.parts[0].amounts.append(4)
        copy.reference = "r2"
        await other.save(copy)
        await other.save(copy)
    assert await session.get(Order, "ada", 1) == copy
    assert copy.revision == 2
    order.label = "late"
    with pytest.raises(VersionConflictError):
        await session.save(order)
    await session.create(Order(shop="bob", reference="r1"))


async def test_a_subclass_of_the_model_in_the_same_table_keeps_the_guards(session):
    await session.create(Order(shop="ada", reference="r1"))
    with pytest.raises(UniqueViolationError) as caught:
        await session.create(WiderOrder(shop="ada", reference="r1"))
    assert caught.value.owner == {"shop": "ada", "number": 1}


async def test_an_index_key_set_to_none_leaves_the_index(session):
    order = await session.create(Order(shop="ada", reference="r1", state="open"))
    assert await session.query(Order).where(Order.state == "open") == [order]
    order.state = None
    await session.save(order)
    assert await session.query(Order).where(Order.state == "open") == []
    await session.update(order).set(Order.state, "open")
    await session.update(order).set(Order.state, None)
    assert await session.query(Order).where(Order.state == "open") == []
    assert await session.get(Order, "ada", 1) == order


async def test_saving_such_an_item_that_was_deleted_says_so_and_takes_no_value(session):
    order = await session.create(Order(shop="ada", reference="r1"))
    await session.delete(Order, "ada", 1, read_first=True)
    order.label, order.reference = "x", "r2"
    with pytest.raises(ItemNotFoundError):
        await session.save(order)
    await session.create(Order(shop="bob", reference="r1"))
    await session.create(Order(shop="bob", reference="r2"))


async def test_a_version_and_a_condition_of_the_callers_are_told_apart(session):
    order = await session.create(Order(shop="ada", reference="r1", label="x"))
    order.label = "y"
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.save(order, where=Order.state == "open")
    assert not isinstance(caught.value, VersionConflictError)
    assert caught.value.item.label == "x"
    assert order.revision == 1
    with pytest.raises(ExpressionError, match=r"Order\.revision"):
        await session.update(order).set(Order.revision, 9)


ADA = "Order with shop='ada', number=1"
NOTHING = "there is no such item"
CHOOSE = "Nothing was written; choose another value."
AGAIN = "Nothing was written; read the item again"
DECIDE = f"{AGAIN} before deciding what to do."
RETRY = f"{AGAIN}, decide, and write then (session.retry_on_conflict does so)."
EXISTS = (
    "the item exists already; `item` of this error is the stored one. Nothing was written; update() changes an item, "
    "put() replaces it."
)
ABSENT = f"its condition does not hold; {NOTHING}. {DECIDE}"
REFUSALS = {
    "create": (
        lambda session: session.create(Order(shop="ada", number=1, reference="r2")),
        f"PutItem of {ADA} on table 'orders': {EXISTS}",
    ),
    "version of nothing": (
        lambda session: session.put(Frozen(id="a", version=4)),
        f"PutItem of Frozen with id='a' on table 'frozen': it is based on version 4, but {NOTHING}. {RETRY}",
    ),
    "condition": (
        lambda session: session.delete(Frozen, "a", where=Frozen.label == "x"),
        f"DeleteItem of Frozen with id='a' on table 'frozen': {ABSENT}",
    ),
    "version": (
        lambda session: session.update(Order, "ada", 1).set(Order.label, "x").expect_version(7),
        f"UpdateItem of {ADA} on table 'orders': it is based on version 7, but the stored one has version 1. {RETRY}",
    ),
    "unique": (
        lambda session: session.create(Order(shop="bob", reference="r1")),
        f"Order.by_reference: reference='r1' is taken by the item with {ADA[11:]}. {CHOOSE}",
    ),
}


@pytest.mark.parametrize("kind", REFUSALS)
async def test_a_refusal_names_the_model_the_key_and_the_remedy(session, kind):
    write, message = REFUSALS[kind]
    await session.create(Order(shop="ada", reference="r1"))
    with pytest.raises(ServiceError) as caught:
        await write(session)
    assert str(caught.value).replace(session._runner.context.tables.prefix, "") == message


async def test_an_update_of_an_item_drops_what_was_not_saved_and_without_its_answer_keeps_it(session):
    order = await session.create(Order(shop="ada", reference="r1"))
    order.label = "unsaved"
    await session.update(order).set(Order.state, "open").returning("nothing")
    assert (order.label, order.state, order.revision) == ("unsaved", "open", 2)
    await session.update(order).set(Order.state, "closed")
    assert (order.label, order.state, order.revision) == ("", "closed", 3)


async def test_a_transaction_updates_and_saves_such_items_by_instance_and_key(session, clock):
    one = await session.create(Order(shop="ada", reference="r1"))
    other = await session.create(Order(shop="ada", reference="r2"))
    lease = await session.create(Lease(holder="x", ends=clock.now + timedelta(seconds=9)))
    clock.pass_seconds(5)
    async with session.transaction() as tx:
        tx.update(one).set(Order.state, "open")
        tx.update(Order, "ada", 2).set(Order.reference, "r3").expect_version(1).read_first()
        tx.delete(lease)
        tx.check(Order, "ada", 3, where=Order.shop.missing())
    assert (one.state, one.revision, one.changed) == ("open", 2, clock.now)
    assert await session.get(Order, "ada", 1) == one
    found = await session.get(Order, "ada", 2)
    assert (found.reference, found.revision, found.changed) == ("r3", 2, clock.now)
    assert await session.find(Lease, 1) is None
    await session.create(Order(shop="bob", reference="r2"))
    with pytest.raises(VersionConflictError):
        await session.delete(other)


async def test_a_lease_that_has_expired_is_renewed_by_nobody_who_did_not_see_it(session, clock):
    lease = await session.create(Lease(ends=clock.now + timedelta(seconds=5)))
    clock.pass_seconds(10)
    assert await session.query(Lease).where(Lease.id == 1) == []
    with pytest.raises(ItemNotFoundError):
        await session.refresh(lease)
    lease.ends = clock.now + timedelta(seconds=5)
    await session.save(lease)  # it is stored still, in the version that this instance knows
    assert await session.get(Lease, 1) == lease
