"""Hooks after a write: they run when the write has happened, and undo nothing."""

import asyncio
import re
from typing import ClassVar
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    Create,
    Model,
    PartitionKey,
    Put,
    SortKey,
    Unique,
    Version,
    WriteKind,
    after_write,
    attr,
    before_write,
)
from dynamap_async.errors import (
    AfterWriteError,
    BatchError,
    ConditionalCheckFailedError,
    ModelDefinitionError,
    TransactionCanceledError,
)

pytestmark = pytest.mark.asyncio


class FullError(Exception):
    """What the hook fails with."""


class Parcel(Model, table="parcels"):
    place: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = ""

    told: ClassVar[list[str]] = []

    @after_write
    async def tell(self, write: WriteKind) -> None:
        await asyncio.sleep(0)
        self.told.append(f"{write} {self.number}")
        if self.text == "bad":
            raise FullError("the queue is full")

    @after_write
    def tell_again(self, write: WriteKind) -> None:
        self.told.append("again")


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)
    seat: Attr[str]
    version: Version[int] = attr(default=0)
    one_seat = Unique("seat")

    told: ClassVar[list[tuple[int, int]]] = []

    @after_write
    def tell(self, write: WriteKind) -> None:
        self.told.append((self.number, self.version))


@pytest.fixture
def prefix():
    return f"t{uuid4().hex[:12]}-"


@pytest_asyncio.fixture(loop_scope="function")
async def parcels(engine, prefix):
    async with engine.session(table_prefix=prefix) as session:
        await session.tables.create(Parcel, Ticket)
        await session.without_hooks().put_many([Parcel(place="a", number=number) for number in range(3)])
        Parcel.told.clear()
        Ticket.told.clear()
        yield session


def parcel(number=7, text=""):
    return Parcel(place="a", number=number, text=text)


async def save(session, item):
    await session.without_hooks().put(item)
    item.text += "!"
    await session.save(item)


async def update(session, item):
    await session.without_hooks().put(item)
    await session.update(item).set(Parcel.text, item.text)


async def in_transaction(session, item):
    async with session.transaction() as transaction:
        transaction.put(item)


async def in_batch(session, item):
    async with session.batch() as batch:
        await batch.put(item)


WRITES = {
    "put": (lambda session, item: session.put(item), "put"),
    "create": (lambda session, item: session.create(item), "create"),
    "save": (save, "save"),
    "delete": (lambda session, item: session.delete(item), "delete"),
    "update": (update, "update"),
    "put_many": (lambda session, item: session.put_many([item]), "put"),
    "delete_many": (lambda session, item: session.delete_many([item]), "delete"),
    "batch": (in_batch, "put"),
    "transaction": (in_transaction, "put"),
}


@pytest.mark.parametrize(("write", "kind"), WRITES.values(), ids=WRITES)
async def test_hooks_run_once_after_each_write_of_an_item(parcels, write, kind):
    await write(parcels, parcel())
    assert Parcel.told == [f"{kind} 7", "again"]


async def test_session_tells_its_own_hooks_before_the_models(engine, prefix, parcels):
    stored = []

    async def look(item, write):
        stored.append(await parcels.find(Parcel, item.place, item.number))
        Parcel.told.append(f"session {write}")

    async with engine.session(table_prefix=prefix, after_write=[look]) as session:
        await session.put(parcel())
    assert Parcel.told == ["session put", "put 7", "again"]
    assert stored == [parcel()]


NO_HOOK = {
    "by key": lambda session: session.delete(Parcel, "a", 1),
    "update by key": lambda session: session.update(Parcel, "a", 1).set(Parcel.text, "x"),
    "without hooks": lambda session: session.without_hooks().put(parcel()),
}


@pytest.mark.parametrize("write", NO_HOOK.values(), ids=NO_HOOK)
async def test_no_hook_runs_after_a_write_without_an_instance(parcels, write):
    await write(parcels)
    assert Parcel.told == []


async def test_no_hook_runs_where_nothing_was_written(parcels):
    stored = await parcels.get(Parcel, "a", 1)
    await parcels.save(stored)
    with pytest.raises(ConditionalCheckFailedError):
        await parcels.create(parcel(1))
    with pytest.raises(TransactionCanceledError):
        await parcels.transact_write([Put(parcel()), Create(parcel(1))])
    assert Parcel.told == []


@pytest.mark.parametrize("kind", ["put", "create", "transaction"])
async def test_error_of_a_hook_says_that_the_item_is_written(parcels, kind):
    write, verb = WRITES[kind]
    item = parcel(text="bad")
    message = (
        f"the {verb} of Parcel(place='a', number=7) was done, but its hook Parcel.tell raised FullError: the queue is "
        "full"
    )
    with pytest.raises(AfterWriteError, match=re.escape(message)) as raised:
        await write(parcels, item)
    assert isinstance(raised.value.__cause__, FullError)
    assert (raised.value.item, raised.value.write, raised.value.failures) == (item, verb, 1)
    assert Parcel.told == [f"{verb} 7"]
    assert await parcels.get(Parcel, "a", 7) == item


async def test_hooks_of_all_items_of_a_transaction_run_although_some_fail(parcels):
    writes = [Put(parcel(number, text)) for number, text in ((7, "bad"), (8, ""), (9, "bad"))]
    with pytest.raises(AfterWriteError, match=r"the put of Parcel.*number=7") as raised:
        await parcels.transact_write(writes)
    assert Parcel.told == ["put 7", "put 8", "again", "put 9"]
    assert raised.value.failures == 2


async def test_many_items_are_written_and_each_failed_hook_is_told(parcels):
    items = [parcel(number, "bad" if number == 20 else "") for number in range(10, 40)]
    with pytest.raises(BatchError) as raised:
        await parcels.put_many(items)
    [failure] = raised.value.failures
    assert (failure.position, type(failure.error)) == (10, AfterWriteError)
    assert len(await parcels.get_many(Parcel, [("a", number) for number in range(10, 40)])) == 30
    assert sorted(Parcel.told) == sorted([*(f"put {number}" for number in range(10, 40)), *["again"] * 29])


async def test_many_items_with_hooks_share_calls(parcels):
    before = parcels.statistics().requests
    await parcels.put_many([parcel(number) for number in range(10, 60)])
    assert parcels.statistics().requests - before < 25  # how many join each call depends on how fast answers come


async def test_hook_sees_the_number_and_the_version_that_the_item_got(parcels):
    ticket = await parcels.put(Ticket(seat="1a"), read_first=True)
    ticket.seat = "1b"
    await parcels.save(ticket)
    assert Ticket.told == [(1, 1), (1, 2)]


async def test_conflict_that_a_hook_meets_does_not_repeat_the_write(engine, prefix, parcels):
    ticket = await parcels.create(Ticket(seat="1a"))
    stale = ticket.model_copy()
    ticket.seat = "1b"
    await parcels.save(ticket)
    attempts = []

    async def save_stale(item, write):
        stale.seat = "1c"
        await parcels.save(stale)

    async with engine.session(table_prefix=prefix, after_write=[save_stale]) as session:

        async def change():
            attempts.append(1)
            await session.put(parcel())

        with pytest.raises(AfterWriteError, match="VersionConflictError"):
            await session.retry_on_conflict(change)
    assert attempts == [1]


async def test_what_a_hook_refuses_before_a_write_runs_none_after_it(engine, prefix, parcels):
    def refuse(item, write):
        raise FullError

    async with engine.session(table_prefix=prefix, before_write=[refuse]) as session:
        with pytest.raises(FullError):
            await session.put(parcel())
    assert Parcel.told == []


async def test_hook_that_takes_no_kind_is_refused():
    with pytest.raises(
        ModelDefinitionError, match=re.escape("is marked @after_write, so it must take (self, write: Write")
    ):

        class Wrong(Model, table="wrong"):
            id: PartitionKey[str]

            @after_write
            def tell(self) -> None: ...


async def test_one_method_may_run_before_and_after(parcels):
    class Both(Parcel, table="parcels"):
        @before_write
        @after_write
        def note(self, write: WriteKind) -> None:
            self.told.append("note")

    await parcels.put(Both(place="b", number=1))
    assert Both.told == ["note", "put 1", "again", "note"]
