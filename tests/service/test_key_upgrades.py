"""Upgrades that change keys, on real engines: each item is moved once, and is at no time in two places or in none."""

import asyncio
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    CapacityPolicy,
    Model,
    PartitionKey,
    RetryPolicy,
    Session,
    SortKey,
    StoredItem,
    Unique,
    Version,
    attr,
    template,
    upgrade,
)
from dynamap_async.errors import (
    ItemsNotUpgradedError,
    ItemUpgradeError,
    ItemValidationError,
    TransactionCanceledError,
    UniqueViolationError,
)
from dynamap_async.testing.engine import CREDENTIALS, REGION
from dynamap_async.testing.faults import Faults, FaultyTransport
from dynamap_async.transport import Connection, WireTransport

pytestmark = pytest.mark.asyncio

PATIENT = RetryPolicy(max_attempts=20, base_delay_seconds=0.001, max_delay_seconds=0.01, budget=10_000)
UNPACED = CapacityPolicy(enabled=False)
TOTAL = 12


class Raw(Model, table="visits"):
    """Every attribute of the visits' table, as it is stored."""

    guest: PartitionKey[str]
    visit: SortKey[str]
    memo: Attr[str | None] = attr(default=None)
    nights: Attr[int] = attr(default=0)
    moves: Attr[int] = attr(default=0)
    schema_version: Attr[int | None] = attr(default=None)


class Visit(Model, table="visits", schema_version=3):
    guest: PartitionKey[str]
    visit: SortKey[str]
    nights: Attr[int] = attr(default=0)

    @upgrade(to=2)
    @staticmethod
    def count_moves(item: StoredItem) -> None:
        item["moves"] = item.get("moves", 0) + 1

    @upgrade(to=3, new_key=True)
    @staticmethod
    def padded(item: StoredItem) -> None:
        item["visit"] = item["visit"].zfill(6)


def old(number, **values):
    return Raw(guest="ada", visit=str(number), memo="kept", **values)


def moved(number, **values):
    return Raw(guest="ada", visit=f"{number:06}", memo="kept", moves=1, schema_version=3, **values)


class Watched(FaultyTransport):
    """Does something else before the nth transaction is sent, as if another program had done it."""

    max_connections = 4

    def __init__(self, engine, faults):
        connection = Connection(endpoint_url=engine.endpoint_url, region=REGION, credentials=CREDENTIALS)
        super().__init__(WireTransport(connection), faults)
        self.actions = {}
        self.transactions = 0
        self.turn = asyncio.Lock()

    async def send(self, request):
        async with self.turn:
            if request.operation == "TransactWriteItems":
                self.transactions += 1
                if action := self.actions.pop(self.transactions, None):
                    await action()
        return await super().send(request)


@pytest.fixture
def faults():
    return Faults(seed=7)


@pytest.fixture
def beside(engine, faults):
    return Watched(engine, faults)


@pytest_asyncio.fixture
async def opened(engine, beside):
    prefix = f"t{uuid4().hex[:12]}-"
    async with (
        Session(transport=beside, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session,
        engine.session(table_prefix=prefix) as other,
    ):
        await other.tables.create(Raw)
        await other.put_many(old(number) for number in range(TOTAL))
        yield session, other


async def stored(session, model=Raw):
    return sorted(await session.scan(model).consistent(), key=lambda each: each.visit)


async def test_every_item_gets_its_new_key_and_keeps_what_the_model_does_not_know(opened, beside):
    session, other = opened
    report = await session.upgrade(Visit)
    assert await stored(other) == [moved(number) for number in range(TOTAL)]
    assert (report.upgraded, report.failed, report.remaining) == (TOTAL, 0, 0)
    assert beside.transactions == TOTAL
    assert (await session.upgrade(Visit)).behind == 0


async def test_an_item_whose_key_stays_is_written_where_it_is(opened, beside):
    session, other = opened
    await other.delete_many(Raw, [("ada", str(number)) for number in range(TOTAL)])
    await other.put(Raw(guest="ada", visit="000001"))
    assert (await session.upgrade(Visit)).upgraded == 1
    assert beside.transactions == 0


async def test_reading_an_item_that_is_to_be_moved_is_refused_and_names_the_pass(opened):
    session, _ = opened
    with pytest.raises(ItemUpgradeError, match=r"changed 'visit'.*session\.upgrade\(Visit\) does"):
        await session.get(Visit, "ada", "1")
    await session.upgrade(Visit)
    assert (await session.get(Visit, "ada", "000001")).visit == "000001"


async def test_a_dry_run_moves_nothing_and_tells_the_units_of_both_places(opened, beside):
    session, other = opened
    dry = await session.upgrade(Visit, dry_run=True)
    assert (dry.upgraded, dry.write_units, beside.transactions) == (TOTAL, 4 * TOTAL, 0)
    assert "visit: '0' -> '000000'" in " ".join(dry.examples)
    assert await stored(other) == sorted((old(number) for number in range(TOTAL)), key=lambda each: each.visit)


async def test_a_change_made_since_an_item_was_read_goes_with_it(opened, beside):
    session, other = opened

    async def stay_longer():
        for number in range(TOTAL):
            await other.update(Raw, "ada", str(number)).set(Raw.nights, 5)

    beside.actions[1] = stay_longer
    report = await session.upgrade(Visit, segments=1)
    assert await stored(other) == [moved(number, nights=5) for number in range(TOTAL)]
    assert (report.upgraded, report.conflicts) == (TOTAL, TOTAL)


async def test_an_item_that_was_deleted_since_it_was_read_stays_deleted(opened, beside):
    session, other = opened

    async def delete():
        await other.delete_many(Raw, [("ada", str(number)) for number in range(TOTAL)])

    beside.actions[1] = delete
    report = await session.upgrade(Visit, segments=1)
    assert await stored(other) == []
    assert (report.upgraded, report.failed, report.remaining) == (0, 0, 0)


async def test_two_passes_at_once_move_each_item_once(opened):
    session, other = opened
    reports = await session.gather(session.upgrade(Visit), other.upgrade(Visit, segments=3))
    assert await stored(other) == [moved(number) for number in range(TOTAL)]
    assert sum(report.upgraded for report in reports) == TOTAL


async def test_an_item_whose_new_key_is_taken_stays_and_is_told(opened):
    session, other = opened
    taken = Raw(guest="ada", visit="000004", memo="another", schema_version=3)
    await other.put(taken)
    with pytest.raises(ItemsNotUpgradedError, match=r"another item is stored under .*000004"):
        await session.upgrade(Visit)
    found = await stored(other)
    assert old(4) in found
    assert taken in found
    assert len(found) == TOTAL + 1


async def test_a_lost_answer_moves_nothing_twice_and_counts_once(opened, faults):
    session, other = opened
    faults.on("TransactWriteItems", nth=1).lose_answer()
    report = await session.upgrade(Visit)
    assert await stored(other) == [moved(number) for number in range(TOTAL)]
    assert (report.upgraded, report.failed) == (TOTAL, 0)


async def test_a_refusal_that_names_no_reasons_fails_the_item_and_not_the_pass(opened, beside):
    session, other = opened

    async def refuse():
        raise TransactionCanceledError(
            "no reasons",
            service_code="TransactionCanceledException",
            operation="TransactWriteItems",
            table="visits",
            status=400,
        )

    beside.actions[1] = refuse
    with pytest.raises(ItemsNotUpgradedError) as raised:
        await session.upgrade(Visit)
    [failure] = raised.value.failures
    assert isinstance(failure.error, TransactionCanceledError)
    assert sum(each.schema_version == 3 for each in await stored(other)) == TOTAL - 1


@pytest.mark.parametrize("nth", [1, 5, TOTAL])
async def test_a_pass_that_is_cancelled_leaves_each_item_in_one_place(opened, beside, nth):
    session, other = opened
    task = asyncio.create_task(session.upgrade(Visit, segments=2))

    async def cancel():
        task.cancel()

    beside.actions[nth] = cancel
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await stored(other)) == TOTAL
    await session.upgrade(Visit)
    assert await stored(other) == [moved(number) for number in range(TOTAL)]


class RawMember(Model, table="members"):
    pk: PartitionKey[str]
    number: Attr[int]
    email: Attr[str]
    version: Attr[int] = attr(default=3)


class OldMember(Model, table="members"):
    pk: PartitionKey[str] = template("m#{number}")
    number: Attr[int]
    email: Attr[str]
    version: Version[int] = attr(default=0)
    by_email = Unique("email")


class Member(Model, table="members", schema_version=2):
    pk: PartitionKey[str] = template("member#{number:06}")
    number: Attr[int]
    email: Attr[str]
    version: Version[int] = attr(default=0)
    by_email = Unique("email")

    @upgrade(to=2, new_key=True)
    @staticmethod
    def another_template(item: StoredItem) -> None:
        item["pk"] = f"member#{int(item['number']):06}"


async def test_a_key_of_another_template_is_moved_with_its_guards_and_its_version_goes_on(opened):
    session, other = opened
    await other.tables.create(OldMember)
    await other.put(OldMember(number=7, email="a@b"))
    dry = await session.upgrade(Member, dry_run=True)
    assert dry.write_units == 4 + 2
    await session.upgrade(Member)
    member = await other.get(Member, "member#000007")
    assert (member.pk, member.version) == ("member#000007", 2)
    with pytest.raises(UniqueViolationError):
        await other.create(Member(number=8, email="a@b"))
    await other.delete(member)
    await other.create(Member(number=8, email="a@b"))


async def test_a_move_whose_unique_value_is_another_items_is_told_as_that(opened):
    session, other = opened
    await other.tables.create(OldMember)
    await other.put(OldMember(number=7, email="a@b"))
    await other.put(RawMember(pk="m#9", number=9, email="a@b"))
    with pytest.raises(ItemsNotUpgradedError, match="is taken") as raised:
        await session.upgrade(Member)
    assert [failure.subject["pk"] for failure in raised.value.failures] == ["m#9"]


class Careless(Model, table="visits", schema_version=2):
    guest: PartitionKey[str]
    visit: SortKey[str]

    @upgrade(to=2)
    @staticmethod
    def padded(item: StoredItem) -> None:
        item["visit"] = item["visit"].zfill(6)


async def test_an_upgrade_that_does_not_say_that_it_changes_the_key_is_refused(opened):
    session, other = opened
    with pytest.raises(ItemsNotUpgradedError, match="changed 'visit'") as raised:
        await session.upgrade(Careless)
    assert all(isinstance(failure.error, ItemValidationError) for failure in raised.value.failures)
    assert len(await stored(other)) == TOTAL
