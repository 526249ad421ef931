"""Leases: one process at a time has one, whoever freezes or dies; what was late is refused. On the virtual clock."""

import asyncio
from uuid import uuid4

import pytest

from dynamap_async import Attr, Model, PartitionKey, Session, attr
from dynamap_async.errors import (
    LeaseLostError,
    LeaseTakenError,
    MigrationFailedError,
    OperationError,
    TransactionCanceledError,
    TransactionConflictError,
)
from dynamap_async.executor import gather_all
from dynamap_async.leases import Lease, LeaseItem, LeaseRecords
from dynamap_async.migrations import Migrations, migration
from dynamap_async.session import runner_of
from dynamap_async.testing import FrozenClock, LocalEngine


class Note(Model, table="notes"):
    number: PartitionKey[int]
    text: Attr[str] = attr(default="")


@pytest.fixture(scope="module")
def engine(running):
    return running(LocalEngine)


@pytest.fixture
def process(engine, line_over):
    """Return a function that makes a session as that of another process, with its line, and clocks of its own."""
    prefix = f"t{uuid4().hex[:12]}-"

    def made(**settings):
        line = line_over(engine.transport())
        return Session(transport=line, table_prefix=prefix, **settings), line

    return made


def lease_of(session, **settings):
    runner = runner_of(session)
    return Lease(runner.executor, runner.context, "work", **settings)


def records_of(session):
    runner = runner_of(session)
    return LeaseRecords(runner.executor, runner.context, LeaseItem)


async def stored(session):
    return {each.number: each.text for each in await session.scan(Note).consistent()}


async def test_a_second_holder_waits_until_the_first_one_gives_it_back(process):
    (one, _), (two, _) = process(), process()
    order, told = [], []
    async with one, two:
        await one.tables.create(LeaseItem)

        async def second():
            async with lease_of(two, waiting_for=told.append) as lease:
                order.append(("two", lease.fence))

        async with lease_of(one) as lease:
            waiting = asyncio.create_task(second())
            await asyncio.sleep(100)  # far beyond what the lease lasts without being renewed
            order.append(("one", lease.fence))
        await waiting
    assert order == [("one", 1), ("two", 2)]
    assert told == [lease.owner]


async def test_who_does_not_wait_is_told_who_has_it(process):
    (one, _), (two, _) = process(), process()
    async with one, two:
        await one.tables.create(LeaseItem)
        async with lease_of(one) as lease:
            with pytest.raises(
                LeaseTakenError, match="process .* holds the lease 'work'; wait until it is done"
            ) as refused:
                await lease_of(two, wait=False).__aenter__()
    assert refused.value.holder == lease.owner


async def test_a_lease_of_a_process_that_died_is_free_a_little_after_its_time(process):
    (one, _), (two, _) = process(), process()
    loop = asyncio.get_running_loop()
    async with two:
        async with one:
            await one.tables.create(LeaseItem)
            await records_of(one).take("work", None, owner="dead", seconds=15)  # and nothing more: it was killed
            began = loop.time()
        async with lease_of(two) as lease:
            waited = loop.time() - began
    assert 18 <= waited <= 30
    assert lease.fence == 2


async def test_the_fence_goes_up_also_after_the_lease_was_given_back(process):
    one, _ = process()
    async with one:
        await one.tables.create(LeaseItem)
        fences = []
        for _ in range(3):
            async with lease_of(one) as lease:
                fences.append(lease.fence)
    assert fences == [1, 2, 3]


async def test_of_many_that_take_a_free_lease_at_once_one_has_it(process):
    sessions = [process()[0] for _ in range(5)]
    inside, most, fences = 0, 0, []

    async def work(session):
        nonlocal inside, most
        async with lease_of(session) as lease:
            inside += 1
            most = max(most, inside)
            fences.append(lease.fence)
            await asyncio.sleep(7)
            inside -= 1

    async with sessions[0], sessions[1], sessions[2], sessions[3], sessions[4]:
        await sessions[0].tables.create(LeaseItem)
        await gather_all([work(each) for each in sessions])
    assert (most, sorted(fences)) == (1, [1, 2, 3, 4, 5])


async def test_a_holder_that_cannot_renew_it_is_cancelled_before_another_one_has_it(process):
    (one, line), (two, _) = process(), process()
    loop = asyncio.get_running_loop()
    ended = began = None

    async def first():
        nonlocal ended
        try:
            async with lease_of(one):
                line.whole.clear()
                await asyncio.sleep(1_000)
        finally:
            ended = loop.time()

    async with one, two:
        await one.tables.create(LeaseItem)
        working = asyncio.create_task(first())
        await asyncio.sleep(1)
        async with lease_of(two):
            began = loop.time()
        with pytest.raises(LeaseLostError, match="The work was broken off"):
            await working
        line.whole.set()
    assert ended < began


async def test_a_cancelled_holder_gives_it_back_at_once(process):
    (one, _), (two, _) = process(), process()
    async with one, two:
        await one.tables.create(LeaseItem)

        async def first():
            async with lease_of(one):
                await asyncio.sleep(1_000)

        working = asyncio.create_task(first())
        await asyncio.sleep(1)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        async with lease_of(two, wait=False) as lease:
            assert lease.fence == 2


async def test_an_error_of_the_holder_is_its_own_and_gives_it_back(process):
    (one, _), (two, _) = process(), process()
    async with one, two:
        await one.tables.create(LeaseItem)
        with pytest.raises(TimeoutError, match="its own"):
            async with lease_of(one):
                raise TimeoutError("its own")
        async with lease_of(two, wait=False) as lease:
            assert lease.fence == 2


# Records


async def test_a_lease_that_was_never_taken_is_found_to_be_none(process):
    async with process()[0] as session:
        await session.tables.create(LeaseItem)
        assert await records_of(session).find("work") is None


async def test_of_two_that_take_a_lease_as_both_found_it_one_has_it(process):
    async with process()[0] as session:
        await session.tables.create(LeaseItem)
        records = records_of(session)
        first = await records.take("work", None, owner="first", seconds=15)
        assert (first.owner, first.fence, first.beat) == ("first", 1, 0)
        assert await records.take("work", None, owner="second", seconds=15) is None
        second = await records.take("work", first, owner="second", seconds=15)
        assert (second.owner, second.fence) == ("second", 2)


async def test_a_lease_that_was_renewed_since_it_was_found_is_not_taken(process):
    async with process()[0] as session:
        await session.tables.create(LeaseItem)
        records = records_of(session)
        found = await records.take("work", None, owner="first", seconds=15)
        assert (await records.renew(found)).beat == 1
        assert await records.take("work", found, owner="second", seconds=15) is None


async def test_a_renewal_stores_how_far_the_work_has_come(process):
    async with process()[0] as session:
        await session.tables.create(LeaseItem)
        records = records_of(session)
        held = await records.take("work", None, owner="first", seconds=15)
        assert held.position is None
        assert (await records.renew(held, position="7")).position == "7"
        assert (await records.renew(held)).position == "7"


async def test_the_next_holder_goes_on_at_the_position_of_the_last(process):
    async with process()[0] as session:
        await session.tables.create(LeaseItem)
        records = records_of(session)
        held = await records.renew(await records.take("work", None, owner="first", seconds=15), position="7")
        assert await records.give_back(held)
        found = await records.find("work")
        assert (found.owner, found.fence) == (None, 1)
        assert (await records.take("work", found, owner="second", seconds=15)).position == "7"


async def test_what_a_holder_writes_that_lost_its_lease_is_refused(process):
    async with process()[0] as session:
        await session.tables.create(LeaseItem)
        records = records_of(session)
        lost = await records.take("work", None, owner="first", seconds=15)
        await records.take("work", lost, owner="second", seconds=15)
        assert await records.renew(lost, position="7") is None
        assert not await records.give_back(lost)
        found = await records.find("work")
        assert (found.owner, found.position) == ("second", None)


# Migrations


async def migrating(session, *declared, **settings):
    return await Migrations(session, declared, **settings).run()


async def test_of_two_that_migrate_at_once_one_runs_and_the_other_finds_nothing_left(process):
    (one, _), (two, _) = process(), process()
    runs, waited = [], []

    @migration("2026-01-slow")
    async def slow(session, run):
        runs.append(run.id)
        await asyncio.sleep(60)

    async with one, two:
        runs_of_both = [migrating(one, slow), migrating(two, slow, waiting_for=waited.append)]
        first, second = await gather_all(runs_of_both)
    assert runs == ["2026-01-slow"]
    assert [len(first), len(second)] in ([1, 0], [0, 1])
    assert len(waited) <= 1


async def frozen(process, fenced):
    """Freeze a process between two writes for twice the lease, while another one takes its place; then let it go on."""
    clock = FrozenClock(0.0)
    (one, line), (two, _) = process(clock=clock), process()
    going_on, failures, at_work = asyncio.Event(), [], asyncio.Event()

    @migration("2026-01-count", fenced=fenced)
    async def count(session, run):
        if session_is_first := not at_work.is_set():
            await session.put(Note(number=1, text="before"))
            at_work.set()
            while not going_on.is_set():  # frozen: nothing that happens reaches it
                try:
                    await going_on.wait()
                except asyncio.CancelledError:
                    continue
        await session.put(Note(number=1, text="first" if session_is_first else "second"))

    async def first():
        try:
            await migrating(one, count)
        except (LeaseLostError, asyncio.CancelledError) as error:
            failures.append(error)

    async with one, two:
        await one.tables.create(Note)
        working = asyncio.create_task(first())
        await at_work.wait()
        line.whole.clear()
        done = await migrating(two, count)
        sent = len(line.sent)
        line.whole.set()
        going_on.set()
        await working
        return await stored(two), done, failures, line.sent[sent:]


@pytest.mark.parametrize("fenced", [False, True])
async def test_the_next_write_of_a_process_that_was_frozen_is_refused(process, fenced):
    notes, done, failures, sent = await frozen(process, fenced)
    assert notes == {1: "second"}
    assert [each.state for each in done] == ["done"]
    assert len(failures) == 1
    assert "PutItem" not in sent
    assert "TransactWriteItems" not in sent


async def test_a_clock_of_the_session_that_went_on_is_enough_to_refuse_a_write(process):
    clock = FrozenClock(0.0)
    one, _ = process(clock=clock)

    @migration("2026-01-suspended")
    async def suspended(session, run):
        clock.advance(60)  # the machine slept, and the loop's clock with it
        await session.put(Note(number=1))

    async with one:
        await one.tables.create(Note)
        with pytest.raises(LeaseLostError, match="Nothing was sent"):
            await migrating(one, suspended)
        assert await stored(one) == {}


async def late(process, fenced):
    """Hold a write on its way until another process has run the migration; return what is stored, and its error."""
    (one, line), (two, _) = process(), process()
    entered = asyncio.Event()
    second = False

    @migration("2026-01-late", fenced=fenced)
    async def write(session, run):
        if not second:
            line.whole.clear()
            entered.set()
        await session.put(Note(number=1, text="second" if second else "first"))

    async with one, two:
        await one.tables.create(Note)
        working = asyncio.create_task(Migrations(one, [write], lease_seconds=1_000).run())
        await entered.wait()
        await asyncio.sleep(1)  # the write has passed the check, and waits on its way
        other = records_of(two)
        found = await other.find("migrations")
        second = True
        assert await other.take("migrations", found, owner="other", seconds=15)  # as after the time of the lease
        await Migrations(two, []).status()
        await two.put(Note(number=1, text="second"))
        line.whole.set()
        await asyncio.wait((working,))
        return await stored(two), working.exception()


async def test_a_write_that_arrives_late_is_refused_by_dynamodb_where_the_migration_is_fenced(process):
    notes, error = await late(process, fenced=True)
    assert notes == {1: "second"}
    assert isinstance(error, LeaseLostError)


async def test_a_write_that_arrives_late_is_carried_out_where_it_is_not_as_the_page_says(process):
    notes, _ = await late(process, fenced=False)
    assert notes == {1: "first"}


async def test_every_way_of_writing_carries_the_fence(process):
    one, line = process()

    @migration("2026-01-ways", fenced=True)
    async def ways(session, run):
        await session.create(Note(number=1))
        note = await session.get(Note, 1)
        note.text = "saved"
        await session.save(note)
        assert (await session.update(Note, 1).set(Note.text, "updated")).text == "updated"
        await session.update(note).set(Note.text, "once").exactly_once()
        await session.put_many(Note(number=number) for number in range(2, 6))
        await session.delete_many(Note, [4])
        async with session.batch() as batch:
            await batch.put(Note(number=6))
        async with session.transaction() as tx:
            tx.put(Note(number=7))
        await session.without_hooks().delete(Note, 5)

    async with one:
        await one.tables.create(Note)
        await migrating(one, ways)
        assert await stored(one) == {1: "once", 2: "", 3: "", 6: "", 7: ""}
    unfenced = {"DeleteItem", "BatchWriteItem"}
    assert unfenced.isdisjoint(line.sent)
    assert line.sent.count("TransactWriteItems") == 12


async def test_a_demand_of_a_lease_that_fails_for_another_reason_than_its_loss_says_that_reason(process):
    async with process()[0] as session:
        conflict = TransactionConflictError(
            "busy", service_code="TransactionConflict", status=400, operation="TransactWriteItems", table="dynamap"
        )
        assert lease_of(session).condition().failed(conflict) is conflict


async def test_a_fenced_transaction_that_is_cancelled_for_another_reason_keeps_the_cause(process, monkeypatch):
    one, line = process()
    answer, cause = line.send, ValueError("what the client of the transport raised")

    async def send(request):
        try:
            return await answer(request)
        except TransactionCanceledError as error:
            raise error from cause

    monkeypatch.setattr(line, "send", send)

    @migration("2026-01-cancelled", fenced=True)
    async def cancelled(session, run):
        async with session.transaction() as tx:
            tx.put(Note(number=1))
            tx.create(Note(number=2))

    async with one:
        await one.tables.create(Note)
        await one.put(Note(number=2))
        with pytest.raises(MigrationFailedError) as failed:
            await migrating(one, cancelled)
    error = failed.value.__cause__
    assert isinstance(error, TransactionCanceledError)
    assert error.__cause__ is cause


@pytest.mark.parametrize("returning", ["put", "update", "statement"])
async def test_what_no_fence_can_go_with_is_refused(process, returning):
    one, _ = process()

    @migration("2026-01-refused", fenced=True)
    async def refused(session, run):
        if returning == "put":
            await session.put(Note(number=1), returning="old")
        elif returning == "update":
            await session.update(Note, 1).set(Note.text, "x").returning("old")
        else:
            await session.execute_statement(f"INSERT INTO \"{session.table_name(Note)}\" VALUE {{'number': 1}}")

    async with one:
        await one.tables.create(Note)
        with pytest.raises(MigrationFailedError) as failed:
            await migrating(one, refused)
        assert isinstance(failed.value.__cause__, OperationError)
        assert await stored(one) == {}


async def test_a_place_is_stored_every_five_seconds_where_items_take_long(process):
    one, _ = process()
    kept = []

    @migration("2026-01-long")
    async def long(session, run):
        async for _ in run.scan(Note):
            await asyncio.sleep(2)
            [status] = await Migrations(one, [long]).status()
            kept.append(sum(status.items.values()))

    async with one:
        await one.tables.create(Note)
        await one.put_many([Note(number=number) for number in range(8)])
        await migrating(one, long)
    assert kept == [0, 0, 0, 3, 3, 3, 6, 6]
