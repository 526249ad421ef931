"""The pass over all items on real engines: every item once, whatever breaks it off and whoever writes beside it."""

import asyncio
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    CapacityPolicy,
    GlobalIndex,
    Model,
    PartitionKey,
    RetryPolicy,
    Session,
    SortKey,
    StoredItem,
    Table,
    Unique,
    Version,
    attr,
    template,
    upgrade,
)
from dynamap_async.errors import (
    CapacityBudgetExceededError,
    CursorError,
    InternalServerError,
    ItemsNotUpgradedError,
    ItemUpgradeError,
    ItemValidationError,
    ItemVersionError,
    OperationError,
    OutOfRangeError,
    SessionStateError,
    UniqueViolationError,
    VersionConflictError,
)
from dynamap_async.testing.engine import CREDENTIALS, REGION
from dynamap_async.testing.faults import Faults, FaultyTransport
from dynamap_async.transport import Connection, WireTransport

pytestmark = pytest.mark.asyncio

PATIENT = RetryPolicy(max_attempts=20, base_delay_seconds=0.001, max_delay_seconds=0.01, budget=10_000)
UNPACED = CapacityPolicy(enabled=False)  # refusals come at random here, whatever the rate
TOTAL = 24


class Raw(Model, table="customers"):
    """Every attribute of the customers' table, as it is stored."""

    number: PartitionKey[int]
    first: Attr[str | None] = attr(default=None)
    last: Attr[str | None] = attr(default=None)
    name: Attr[str | None] = attr(default=None)
    memo: Attr[str | None] = attr(default=None)
    upgrades: Attr[int] = attr(default=0)
    visits: Attr[int] = attr(default=0)
    schema_version: Attr[int | None] = attr(default=None)


class Customer(Model, table="customers", schema_version=3):
    number: PartitionKey[int]
    name: Attr[str]
    upgrades: Attr[int] = attr(default=0)
    visits: Attr[int] = attr(default=0)

    @upgrade(to=2)
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"

    @upgrade(to=3)
    @staticmethod
    def count_itself(item: StoredItem) -> None:
        item["upgrades"] = item.get("upgrades", 0) + 1


def old(number, **values):
    return Raw(number=number, first="Ada", last=f"Lovelace {number}", memo="kept", **values)


def upgraded(number, **values):
    return Raw(number=number, name=f"Ada Lovelace {number}", memo="kept", upgrades=1, schema_version=3, **values)


class Beside(FaultyTransport):
    """Does something else before some request is sent, as if another program had done it. Few requests travel."""

    max_connections = 4

    def __init__(self, engine, faults):
        connection = Connection(endpoint_url=engine.endpoint_url, region=REGION, credentials=CREDENTIALS)
        super().__init__(WireTransport(connection), faults)
        self.actions = {}
        self.sent = []
        self.turn = asyncio.Lock()

    def before(self, operation, nth, action):
        self.actions[operation, nth] = action

    async def send(self, request):
        self.sent.append(request)
        nth = sum(each.operation == request.operation for each in self.sent)
        async with self.turn:  # what is sent meanwhile has to wait
            if action := self.actions.pop((request.operation, nth), None):
                await action()
        return await super().send(request)

    def count(self, operation):
        return sum(each.operation == operation for each in self.sent)


@pytest.fixture
def faults():
    return Faults(seed=7)


@pytest.fixture
def beside(engine, faults):
    return Beside(engine, faults)


@pytest_asyncio.fixture
async def opened(engine, beside):
    """A session through the transport above, and one beside it, over customers of all versions."""
    prefix = f"t{uuid4().hex[:12]}-"
    async with (
        Session(transport=beside, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session,
        engine.session(table_prefix=prefix) as other,
    ):
        await other.tables.create(Raw)
        await other.put_many(old(number) for number in range(TOTAL))
        yield session, other


async def stored(session, model=Raw):
    return sorted(await session.scan(model).consistent(), key=lambda each: each.number)


async def test_every_older_item_is_stored_as_a_present_one_with_what_the_model_does_not_know(opened):
    session, other = opened
    await other.put(Raw(number=1, name="middle", schema_version=2))
    report = await session.upgrade(Customer)
    assert await stored(other) == [
        Raw(number=1, name="middle", upgrades=1, schema_version=3) if number == 1 else upgraded(number)
        for number in range(TOTAL)
    ]
    assert (report.finished, report.remaining, report.failed) == (True, 0, 0)
    assert (report.by_version, report.behind, report.upgraded) == ({1: TOTAL - 1, 2: 1}, TOTAL, TOTAL)
    assert str(report) == "Customer to version 3: 24 seen, 24 behind, 24 upgraded, 0 failed, 0 left"


async def test_a_report_has_the_count_that_dynamodb_keeps_of_the_table(opened):
    session, _ = opened
    run = session.upgrade(Customer, segments=1, page_size=5)
    assert run.report.table_items is None
    report = await anext(run)
    assert (report.behind, report.table_items) == (5, TOTAL)
    await run.aclose()


async def test_a_policy_that_denies_describing_the_table_leaves_that_count_out(opened, faults):
    session, _ = opened
    faults.on("DescribeTable").deny_access()
    report = await session.upgrade(Customer)
    assert (report.table_items, report.upgraded) == (None, TOTAL)


async def test_present_items_are_not_written_so_that_a_second_pass_costs_no_writes(opened, beside):
    session, _ = opened
    await session.upgrade(Customer)
    first = beside.count("UpdateItem")
    report = await session.upgrade(Customer)
    assert (first, beside.count("UpdateItem")) == (TOTAL, TOTAL)
    assert (report.seen, report.behind, report.upgraded, report.write_units) == (TOTAL, 0, 0, 0)


async def test_a_pass_records_what_it_has_proved_so_that_explain_warns_no_more(opened):
    session, other = opened
    query, own = (each.scan(Customer).where(Customer.name == "Ada") for each in (other, session))
    await other.tables.create(Guarded)  # which makes the library's own table
    assert await other.complete_since(Customer) is None
    await session.upgrade(Customer, verify=False)
    assert await other.complete_since(Customer) is None
    assert any("before version 3" in each for each in query.explain().hazards)
    await session.upgrade(Customer)
    assert await other.complete_since(Customer) == 3
    assert not any("before version 3" in each for each in query.explain().hazards)
    assert not any("before version 3" in each for each in own.explain().hazards)
    await session.upgrade(Earlier)
    assert await other.complete_since(Customer) == 3


async def test_a_pass_that_leaves_items_behind_records_nothing(opened):
    session, other = opened
    await other.tables.create(Guarded)
    await other.put(Raw(number=3, first="no last"))
    with pytest.raises(ItemsNotUpgradedError):
        await session.upgrade(Customer)
    assert await other.complete_since(Customer) is None


class Odd(Model, table="customers"):
    number: PartitionKey[int]
    schema_version: Attr[Any]


@pytest.mark.parametrize("version", ["1", "3", True, Decimal("3.5"), Decimal("2.5"), 0, [], {"a": 1}, b"3", {"3"}])
async def test_an_item_whose_version_is_none_is_told_and_is_behind(opened, version):
    session, other = opened
    await other.tables.create(Guarded)
    await other.put(Odd(number=3, schema_version=version))
    for dry_run in (True, False):
        run = session.upgrade(Customer, dry_run=dry_run)
        if dry_run:
            [failure] = (await run).failures
        else:
            with pytest.raises(ItemsNotUpgradedError) as caught:
                await run
            [failure] = caught.value.failures
            assert caught.value.remaining == 1
        assert (failure.subject, type(failure.error)) == ({"number": 3}, ItemVersionError)
        assert "is not a version" in str(failure.error)
    assert await other.complete_since(Customer) is None
    with pytest.raises(ItemVersionError):
        await session.get(Customer, 3)


async def test_without_the_librarys_own_table_a_pass_ends_as_with_it(opened):
    session, other = opened
    assert (await session.upgrade(Customer)).finished
    assert await other.complete_since(Customer) is None


class Guarded(Model, table="guarded"):
    number: PartitionKey[int]
    email: Attr[str]
    by_email = Unique("email")


class Earlier(Model, table="customers", schema_version=2):
    """An older release, which knows one version less."""

    number: PartitionKey[int]

    @upgrade(to=2)
    @staticmethod
    def nothing(item: StoredItem) -> None:
        pass


async def test_what_upgrade_on_read_gives_is_what_the_pass_stores(opened):
    session, other = opened
    before = await stored(other, Customer)
    await session.upgrade(Customer)
    assert await stored(other, Customer) == before


async def test_a_dry_run_writes_nothing_and_foretells_the_pass(opened, beside):
    session, other = opened
    await other.put(Raw(number=7, first="Ada", last="x" * 3000))
    dry = await session.upgrade(Customer, dry_run=True)
    assert beside.count("UpdateItem") == 0
    real = await session.upgrade(Customer)
    assert (dry.upgraded, dry.by_version) == (real.upgraded, real.by_version) == (TOTAL, {1: TOTAL})
    assert dry.growth_bytes == real.growth_bytes
    assert dry.write_units == TOTAL - 1 + 3
    assert dry.remaining is None


async def test_a_dry_run_shows_examples_and_every_item_that_could_not_be_upgraded(opened):
    session, other = opened
    await other.put_many(Raw(number=number, name="no first") for number in range(12))
    report = await session.upgrade(Customer, dry_run=True, segments=1)
    assert len(report.examples) == 10
    assert all("first: 'Ada' -> nothing" in each and "nothing -> 'Ada Lovelace " in each for each in report.examples)
    for each in report.examples:
        names = [change.partition(":")[0] for change in each.partition("}: ")[2].split(", ")]
        assert names == sorted(names)  # DynamoDB gives attributes in any order
    assert (report.upgraded, report.failed) == (TOTAL - 12, 12)
    assert {failure.subject["number"] for failure in report.failures} == set(range(12))


async def test_a_change_made_since_an_item_was_read_is_upgraded_with_it(opened, beside):
    session, other = opened

    async def rename():
        for number in range(TOTAL):
            await other.update(Raw, number).set(Raw.first, "Grace")

    beside.before("UpdateItem", 1, rename)
    report = await session.upgrade(Customer, segments=1)
    assert {each.name for each in await stored(other)} == {f"Grace Lovelace {number}" for number in range(TOTAL)}
    assert (report.upgraded, report.conflicts) == (TOTAL, TOTAL)


async def test_a_change_of_what_no_upgrade_looks_at_is_no_conflict_and_stays(opened, beside):
    session, other = opened

    async def visit():
        for number in range(TOTAL):
            await other.update(Raw, number).set(Raw.visits, 5)

    beside.before("UpdateItem", 1, visit)
    report = await session.upgrade(Customer, segments=1)
    assert await stored(other) == [upgraded(number, visits=5) for number in range(TOTAL)]
    assert report.conflicts == 0


async def test_an_item_that_was_deleted_since_it_was_read_stays_deleted(opened, beside):
    session, other = opened

    async def delete():
        await other.delete_many(Raw, range(TOTAL))

    beside.before("UpdateItem", 1, delete)
    report = await session.upgrade(Customer, segments=1)
    assert await stored(other) == []
    assert (report.upgraded, report.failed, report.remaining) == (0, 0, 0)


async def test_an_item_is_not_made_anew_by_an_upgrade_that_looks_at_nothing_of_it(opened, beside):
    session, other = opened
    await other.tables.create(Event)
    await other.put(OldEvent(source="a", number=1))
    beside.before("UpdateItem", 1, lambda: other.delete(OldEvent, "a", 1))
    assert (await session.upgrade(Event)).upgraded == 0
    assert await other.scan(OldEvent).consistent() == []


async def test_an_item_that_never_stays_as_it_was_read_fails_after_five_attempts(opened, beside):
    session, other = opened
    await other.delete_many(Raw, range(1, TOTAL))

    async def rename():
        await other.update(Raw, 0).set(Raw.first, str(beside.count("UpdateItem")))

    for nth in range(1, 6):
        beside.before("UpdateItem", nth, rename)
    with pytest.raises(ItemsNotUpgradedError, match="number.*0.*ConditionalCheckFailed"):
        await session.upgrade(Customer)
    assert beside.count("UpdateItem") == 5


async def test_two_passes_at_once_upgrade_each_item_once(opened):
    session, other = opened
    reports = await session.gather(session.upgrade(Customer), other.upgrade(Customer, segments=3))
    assert await stored(other) == [upgraded(number) for number in range(TOTAL)]
    assert sum(report.upgraded for report in reports) == TOTAL


@pytest.mark.parametrize("pages", [1, 2, 5])
async def test_a_pass_that_is_left_goes_on_at_its_checkpoint(opened, beside, pages):
    session, other = opened
    checkpoint, rounds = None, 0
    while True:
        rounds += 1
        async with session.upgrade(Customer, segments=3, page_size=7, checkpoint=checkpoint) as run:
            for _ in range(pages):
                report = await anext(run, None)
                if report is None or report.finished:
                    break
                checkpoint = report.checkpoint
        if run.report.finished:
            break
    assert await stored(other) == [upgraded(number) for number in range(TOTAL)]
    assert beside.count("UpdateItem") == TOTAL
    assert rounds >= 4 // pages
    assert run.report.remaining == 0


@pytest.mark.parametrize("nth", [1, 2, 13, TOTAL])
async def test_a_pass_that_is_cancelled_leaves_no_task_and_the_next_one_finishes(opened, beside, nth):
    session, other = opened
    before = asyncio.all_tasks()
    task = asyncio.create_task(session.upgrade(Customer, page_size=9, segments=2))

    async def cancel():
        task.cancel()

    beside.before("UpdateItem", nth, cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    sent = len(beside.sent)
    if left := asyncio.all_tasks() - before:  # those of requests that were on the wire
        await asyncio.wait(left, timeout=10)
    assert asyncio.all_tasks() - before == set()
    assert len(beside.sent) == sent
    await session.upgrade(Customer)
    assert await stored(other) == [upgraded(number) for number in range(TOTAL)]


async def test_a_step_that_is_cancelled_is_gone_on_with_by_the_next(opened, beside):
    session, other = opened
    run = session.upgrade(Customer, segments=1, page_size=12)
    step = asyncio.ensure_future(anext(run))

    async def cancel():
        step.cancel()

    beside.before("UpdateItem", 3, cancel)
    with pytest.raises(asyncio.CancelledError):
        await step
    async for report in run:
        assert report.by_version[1] == min(report.seen, report.by_version[1])
    assert await stored(other) == [upgraded(number) for number in range(TOTAL)]
    assert run.report.behind == TOTAL


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_faults_change_nothing_of_the_end(engine, seed):
    prefix = f"t{uuid4().hex[:12]}-"
    faults = Faults.random(share=0.2, seed=seed)
    async with (
        faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session,
        engine.session(table_prefix=prefix) as other,
    ):
        await other.tables.create(Raw)
        await other.put_many(old(number) for number in range(TOTAL))
        report = await session.upgrade(Customer, page_size=11)
        assert await stored(other) == [upgraded(number) for number in range(TOTAL)]
        assert (report.upgraded, report.failed) == (TOTAL, 0)


async def test_a_write_whose_answer_was_lost_counts_as_done(opened, faults):
    session, other = opened
    faults.on("UpdateItem", nth=1).lose_answer()
    report = await session.upgrade(Customer)
    assert (report.upgraded, report.conflicts) == (TOTAL, 0)
    assert await stored(other) == [upgraded(number) for number in range(TOTAL)]


async def test_a_page_that_cannot_be_read_is_asked_for_again_by_the_next_step(engine, opened, faults):
    session, other = opened
    faults.on("Scan", times=25).fail(500)
    run = session.upgrade(Customer, segments=1)
    with pytest.raises(InternalServerError):
        await anext(run)
    async for _ in run:
        pass
    assert await stored(other) == [upgraded(number) for number in range(TOTAL)]


async def test_items_that_cannot_be_upgraded_are_told_by_key_and_cause_and_stay_as_they_were(opened):
    session, other = opened
    await other.put_many(Raw(number=number, first="no last") for number in (3, 4))
    run = session.upgrade(Customer)
    with pytest.raises(ItemsNotUpgradedError, match=r"2 of 24 .*number.*one_name.*KeyError.*'last'") as caught:
        await run
    assert {failure.subject["number"] for failure in caught.value.failures} == {3, 4}
    assert all(isinstance(failure.error, ItemUpgradeError) for failure in caught.value.failures)
    assert (caught.value.total, caught.value.failed, caught.value.succeeded) == (TOTAL, 2, TOTAL - 2)
    assert caught.value.remaining == run.report.remaining == 2
    kept = [Raw(number=number, first="no last") if number in (3, 4) else upgraded(number) for number in range(TOTAL)]
    assert await stored(other) == kept


async def test_the_pass_stops_after_so_many_failures(opened, beside):
    session, other = opened
    await other.put_many(Raw(number=number) for number in range(TOTAL))
    with pytest.raises(ItemsNotUpgradedError, match="stopped there") as caught:
        await session.upgrade(Customer, max_failures=2, segments=1, page_size=5)
    assert 2 <= caught.value.failed <= 5
    assert caught.value.remaining is None
    with pytest.raises(ItemsNotUpgradedError) as caught:
        await session.upgrade(Customer, max_failures=None)
    assert (caught.value.failed, caught.value.remaining) == (TOTAL, TOTAL)


class Strict(Model, table="customers", schema_version=2):
    number: PartitionKey[int]
    name: Attr[str]

    @upgrade(to=2)
    @staticmethod
    def forget_the_name(item: StoredItem) -> None:
        item.pop("first")


async def test_what_would_not_fit_the_model_is_not_written(opened, beside):
    session, _ = opened
    with pytest.raises(ItemsNotUpgradedError) as caught:
        await session.upgrade(Strict)
    assert all(isinstance(failure.error, ItemValidationError) for failure in caught.value.failures)
    assert beside.count("UpdateItem") == 0


async def test_items_that_older_programs_write_behind_the_pass_are_told_at_its_end(opened):
    session, other = opened
    report = await session.upgrade(Customer)
    await other.put(old(5))
    run = session.upgrade(Customer, checkpoint=report.checkpoint)
    with pytest.raises(ItemsNotUpgradedError, match=r"1 items of Customer.*older programs") as caught:
        await run
    assert (caught.value.remaining, caught.value.failures) == (1, ())
    assert (await session.upgrade(Customer)).upgraded == 1


async def test_without_verifying_nothing_is_counted(opened, beside):
    session, _ = opened
    report = await session.upgrade(Customer, verify=False, segments=2)
    assert (report.remaining, beside.count("Scan")) == (None, 2)


async def test_checkpoints_of_other_passes_are_refused(opened):
    session, _ = opened
    report = await session.upgrade(Customer, segments=2)
    with pytest.raises(CursorError, match="version 2"):
        session.upgrade(Strict, checkpoint=report.checkpoint)
    with pytest.raises(CursorError):
        session.upgrade(Customer, checkpoint="3.nonsense", segments=2)
    with pytest.raises(CursorError):
        session.upgrade(Customer, checkpoint=report.checkpoint, segments=3)


async def test_an_item_of_a_later_version_is_left_alone(opened):
    session, other = opened
    await other.put(Raw(number=1, name="later", schema_version=4))
    assert (await session.upgrade(Customer)).upgraded == TOTAL - 1
    with pytest.raises(ItemVersionError):
        await session.get(Customer, 1)


async def test_a_budget_ends_the_pass_which_then_goes_on(opened):
    session, other = opened
    async with session.scope("tonight", max_write_units=8):
        run = session.upgrade(Customer, segments=1, page_size=6)
        with pytest.raises(CapacityBudgetExceededError):
            await run
    done = sum(each.schema_version == 3 for each in await stored(other))
    assert 0 < done < TOTAL
    rest = await session.upgrade(Customer, segments=1, checkpoint=run.report.checkpoint)
    assert await stored(other) == [upgraded(number) for number in range(TOTAL)]
    assert rest.upgraded == TOTAL - done


async def test_a_scope_around_the_pass_has_what_it_took(opened):
    session, _ = opened
    async with session.scope("upgrade") as scope:
        report = await session.upgrade(Customer)
    assert (report.read_units, report.write_units) == (scope.usage.read_units, scope.usage.write_units)
    assert report.read_units > 0


async def test_two_tasks_cannot_go_through_one_pass(opened):
    session, _ = opened
    run = session.upgrade(Customer)
    one = asyncio.ensure_future(anext(run))
    await asyncio.sleep(0)
    with pytest.raises(SessionStateError):
        await anext(run)
    await one
    await run.aclose()


async def test_a_pass_that_is_never_awaited_warns(opened):
    session, _ = opened
    with pytest.warns(RuntimeWarning, match="upgrade of Customer was never awaited"):
        session.upgrade(Customer)


async def test_models_without_versions_are_refused(opened):
    session, _ = opened
    with pytest.raises(OperationError, match="Raw has no schema_version"):
        session.upgrade(Raw)
    with pytest.raises(OutOfRangeError, match="max_failures"):
        session.upgrade(Customer, max_failures=0)


class RawCounted(Model, table="counted"):
    key: PartitionKey[str]
    euros: Attr[int]
    version: Version[int] = attr(default=0)


class Counted(Model, table="counted", schema_version=2):
    key: PartitionKey[str]
    cents: Attr[int]
    version: Version[int] = attr(default=0)

    @upgrade(to=2)
    @staticmethod
    def in_cents(item: StoredItem) -> None:
        item["cents"] = item.pop("euros") * 100


async def test_the_version_of_an_item_is_counted_up_so_that_who_read_it_before_has_a_conflict(session):
    await session.tables.create(Counted)
    before = await session.put(RawCounted(key="a", euros=3))
    await session.upgrade(Counted)
    found = await session.get(Counted, "a")
    assert (found.cents, found.version) == (300, 2)
    before.euros = 4
    with pytest.raises(VersionConflictError):
        await session.save(before)


class RawAccount(Model, table="accounts"):
    number: PartitionKey[int]
    mail: Attr[str]


class Account(Model, table="accounts", schema_version=2):
    number: PartitionKey[int]
    email: Attr[str]
    domain: Attr[str]
    by_email = Unique("email")
    sk: Attr[str] = template("{domain}#{email}")
    by_domain = GlobalIndex(partition_key="domain", sort_key="sk")

    @upgrade(to=2)
    @staticmethod
    def lower(item: StoredItem) -> None:
        item["email"] = item.pop("mail").lower()
        item["domain"] = item["email"].partition("@")[2]


async def test_computed_keys_of_indexes_appear_with_what_they_are_made_of(session):
    await session.tables.create(Account)
    await session.put(RawAccount(number=1, mail="Ada@Example.org"))
    await session.upgrade(Account)
    [found] = await session.query(Account).where(Account.domain == "example.org", Account.email == "ada@example.org")
    assert found.number == 1


async def test_unique_values_are_claimed_and_a_second_owner_is_told(session):
    await session.tables.create(Account)
    await session.put_many([RawAccount(number=1, mail="Ada@x.org"), RawAccount(number=2, mail="ADA@x.org")])
    with pytest.raises(ItemsNotUpgradedError) as caught:
        await session.upgrade(Account)
    [failure] = caught.value.failures
    assert isinstance(failure.error, UniqueViolationError)
    with pytest.raises(UniqueViolationError):
        await session.create(Account(number=3, email="ada@x.org", domain="x.org"))


ZOO, SAME_ZOO = (Table("zoo", partition_key="id", discriminator="kind") for _ in range(2))


class RawAnimal(Model, table=SAME_ZOO):
    id: PartitionKey[str]
    schema_version: Attr[int | None] = attr(default=None)


class RawCat(RawAnimal, kind="cat"):
    pass


class RawDog(RawAnimal, kind="dog"):
    pass


class RawFish(RawAnimal, kind="fish"):
    pass


class RawBird(RawAnimal, kind="bird"):
    pass


class Animal(Model, table=ZOO):
    id: PartitionKey[str]


class Cat(Animal, kind="cat", schema_version=3):
    lives: Attr[int] = attr(default=9)

    @upgrade(to=2)
    @staticmethod
    def more_lives(item: StoredItem) -> None:
        item["lives"] = item.get("lives", 7) + 1

    @upgrade(to=3)
    @staticmethod
    def still_more(item: StoredItem) -> None:
        item["lives"] += 1


class Dog(Animal, kind="dog", schema_version=2):
    barks: Attr[bool] = attr(default=False)

    @upgrade(to=2)
    @staticmethod
    def bark(item: StoredItem) -> None:
        item["barks"] = True


class Fish(Animal, kind="fish"):
    pass


async def test_each_kind_of_a_shared_table_has_its_own_version(session):
    await session.tables.create(Animal)
    await session.put_many([RawCat(id="tom"), RawDog(id="rex"), RawBird(id="another model's")])
    await session.put_many([Cat(id="new"), Dog(id="new dog"), Fish(id="fish")])
    report = await session.upgrade(Animal)
    assert (report.upgraded, report.remaining, report.behind) == (2, 0, 2)
    assert (await session.upgrade(Dog)).behind == 0
    versions = {each.id: each.schema_version for each in await session.scan(RawAnimal).consistent()}
    assert versions == {"another model's": None, "new": 3, "new dog": 2, "fish": None, "tom": 3, "rex": 2}
    assert (await session.get(Cat, "tom")).lives == 9


class OldEvent(Model, table="events"):
    source: PartitionKey[str]
    number: SortKey[int]


class Event(Model, table="events", schema_version=2, schema_attribute="v"):
    source: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")

    @upgrade(to=2)
    @staticmethod
    def say_so(item: StoredItem) -> None:
        item["text"] = "x"


async def test_the_version_may_be_stored_under_another_name(session):
    await session.tables.create(Event)
    await session.put_many(OldEvent(source="a", number=number) for number in range(5))
    assert (await session.upgrade(Event)).upgraded == 5
    assert (await session.upgrade(Event)).behind == 0
    assert {each.text for each in await session.query(Event).where(Event.source == "a")} == {"x"}
