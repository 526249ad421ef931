"""The lock on applying plans: one process at a time changes tables, whoever dies or stands still."""

import asyncio
from uuid import uuid4

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Session, Unique
from dynamap_async.errors import (
    AccessDeniedError,
    LeaseLostError,
    LeaseTakenError,
    PlanOutOfDateError,
    ResourceNotFoundError,
)
from dynamap_async.leases import Lease, LeaseItem
from dynamap_async.session import runner_of
from dynamap_async.tables.apply_lock import LEASE
from dynamap_async.testing import Durations, LocalEngine

SLOW = Durations(
    lag=0.0, create_table=0.0, update_table=5.0, allocate_index=20.0, backfill=100.0, delete_index=5.0, delete_table=0.0
)


class Bare(Model, table="notes"):
    id: PartitionKey[str]


class Note(Model, table="notes"):
    id: PartitionKey[str]
    city: Attr[str]
    text: Attr[str]

    by_city = GlobalIndex(partition_key="city")
    by_text = GlobalIndex(partition_key="text")


class User(Model, table="users"):
    id: PartitionKey[str]
    email: Attr[str]

    by_email = Unique("email")


@pytest.fixture
def slow():
    with LocalEngine(durations=SLOW) as engine:
        yield engine


@pytest.fixture
def process(slow, line_over):
    """Return a function that makes a session as that of another process, with its line."""
    prefix = f"t{uuid4().hex[:12]}-"

    def made():
        line = line_over(slow.transport())
        return Session(transport=line, table_prefix=prefix), line

    return made


def builds(slow):
    return [entry.index for entry in slow.log if entry.index is not None and entry.after == "CREATING"]


async def killed(session):
    """Take the lock, and do nothing more: as a process that was killed."""
    runner = runner_of(session)
    await Lease(runner.executor, runner.context, LEASE)._take()


async def test_a_second_apply_waits_and_then_finds_its_plan_out_of_date(process, slow, caplog):
    (one, _), (two, line) = process(), process()
    async with one, two:
        await one.tables.create(Bare, LeaseItem)
        plans = [await each.tables.plan(Note) for each in (one, two)]
        first = asyncio.create_task(asyncio.wait_for(one.tables.apply(plans[0]), None))
        await asyncio.sleep(10)
        with pytest.raises(PlanOutOfDateError):
            await two.tables.apply(plans[1])
        assert first.done()
        assert len((await first).done) == 2
        assert "UpdateTable" not in line.sent
        assert (await two.tables.plan(Note)).is_empty
    assert builds(slow) == ["by_city", "by_text"]
    assert "changes tables: waiting until that has ended" in caplog.text


async def test_the_lock_of_a_process_that_was_killed_is_free_within_twenty_seconds(process, slow):
    (one, _), (two, _) = process(), process()
    loop = asyncio.get_running_loop()
    async with two:
        async with one:
            await one.tables.create(Bare, LeaseItem)
            await killed(one)
            began = loop.time()
        sent = []
        plan = await two.tables.plan(Note)
        await two.tables.apply(plan, watch=lambda event: event.state == "sent" and sent.append(loop.time()))
        assert 15 <= sent[0] - began <= 20
    assert builds(slow) == ["by_city", "by_text"]


async def test_who_stands_still_sends_nothing_more(process, slow):
    (one, line), (two, _) = process(), process()
    async with one, two:
        await one.tables.create(Bare, LeaseItem)
        applying = asyncio.create_task(asyncio.wait_for(one.tables.apply(await one.tables.plan(Note)), None))
        await asyncio.sleep(1)
        line.whole.clear()
        sent = line.sent.count("UpdateTable")
        assert sent == 1
        await two.tables.apply(await two.tables.plan(Note))
        with pytest.raises(LeaseLostError, match="'tables' was lost"):
            await applying
        line.whole.set()
        assert line.sent.count("UpdateTable") == sent
    assert builds(slow) == ["by_city", "by_text"]


async def test_whoever_has_the_lock_is_named_after_the_timeout(process):
    (one, _), (two, line) = process(), process()
    loop = asyncio.get_running_loop()
    async with one, two:
        await one.tables.create(Bare, LeaseItem)
        runner = runner_of(one)
        async with Lease(runner.executor, runner.context, LEASE) as lease:
            plan, began = await two.tables.plan(Note), loop.time()
            with pytest.raises(LeaseTakenError) as refused:
                await two.tables.apply(plan, timeout_seconds=100)
            assert 100 <= loop.time() - began <= 101
        assert refused.value.holder == lease.owner
        assert "UpdateTable" not in line.sent


async def test_without_the_library_s_table_there_is_no_lock(process):
    one, line = process()
    async with one:
        await one.tables.create(Bare)
        await one.tables.apply(await one.tables.plan(Note))
        assert (await one.tables.plan(Note)).is_empty
    assert line.sent.count("GetItem") == 1
    assert "UpdateItem" not in line.sent


async def test_the_table_is_made_where_a_lock_is_wanted(process):
    one, line = process()
    async with one:
        await one.tables.create(Bare)
        done = await one.tables.apply(await one.tables.plan(Note), lock=True)
        assert len(done.done) == 2
        assert await one.tables.exists(LeaseItem)
    assert "UpdateItem" in line.sent


async def test_a_plan_that_makes_the_table_itself_is_applied_with_the_lock(process):
    one, line = process()
    async with one:
        plan = await one.tables.plan(User)
        assert [step.kind for step in plan.steps] == ["create-table", "create-table"]
        done = await one.tables.apply(plan, lock=True)
        assert {step.table for step in done.done} == {step.table for step in plan.steps}
        assert (await one.tables.plan(User)).is_empty
    assert "UpdateItem" in line.sent


async def test_whom_the_policy_denies_the_table_goes_on_without_unless_the_lock_is_wanted(process):
    (one, line), (two, _) = process(), process()
    async with one, two:
        await two.tables.create(Bare, LeaseItem)
        plan = await one.tables.plan(Note)
        line.denied = True
        with pytest.raises(AccessDeniedError):
            await one.tables.apply(plan, lock=True)
        await one.tables.apply(plan)
        assert (await two.tables.plan(Note)).is_empty


async def test_without_a_lock_nothing_is_asked_of_the_table(process):
    one, line = process()
    async with one:
        await one.tables.create(Bare, LeaseItem)
        await killed(one)
        before = len(line.sent)
        await one.tables.apply(await one.tables.plan(Note), lock=False)
    assert not {"GetItem", "UpdateItem"} & {*line.sent[before:]}


async def test_an_error_of_a_step_gives_the_lock_back(process):
    (one, _), (two, _) = process(), process()
    async with one, two:
        await one.tables.create(Bare, LeaseItem)
        plan = await one.tables.plan(Note)
        await two.tables.delete(Bare)
        with pytest.raises(PlanOutOfDateError):
            await one.tables.apply(plan)
        with pytest.raises(ResourceNotFoundError):
            await one.tables.describe(Bare)
        runner = runner_of(two)
        async with Lease(runner.executor, runner.context, LEASE, wait=False) as lease:
            assert lease.fence == 2


async def test_without_a_lock_an_error_of_a_step_has_nothing_to_do_with_the_table_of_the_lock(process):
    (one, _), (two, _) = process(), process()
    async with one, two:
        await one.tables.create(Bare)
        plan = await one.tables.plan(Note)
        await two.tables.delete(Bare)
        with pytest.raises(PlanOutOfDateError) as refused:
            await one.tables.apply(plan)
    assert refused.value.__context__ is None
