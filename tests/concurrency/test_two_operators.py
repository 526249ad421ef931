"""Two plans carried out at the same time, without the lock: what one has done, the other finds done."""

import anyio
import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Recovery, Table, TableSettings, TimeToLive, attr
from dynamap_async.errors import ResourceNotFoundError
from dynamap_async.testing import Durations, FrozenClock, LocalEngine
from dynamap_async.testing.faults import Faults

QUICK_BUT_SHOWN_LATE = Durations(lag=5.0, create_table=0.1, update_table=0.1, delete_index=0.1, delete_table=0.1)


class Note(Model, table="notes"):
    id: PartitionKey[str]
    author: Attr[str]

    by_author = GlobalIndex(partition_key="author")


class Bare(Model, table="notes"):
    id: PartitionKey[str]


class Expiring(Model, table="notes", distinct_from=(Note, Bare)):
    id: PartitionKey[str]
    at: TimeToLive[int | None] = attr(default=None)


@pytest.fixture
def slow():
    with LocalEngine(clock=FrozenClock(1_772_366_400.0), durations=QUICK_BUT_SHOWN_LATE) as engine:
        yield engine


async def deletion(session):
    """Make the table, and return a plan that deletes its index."""
    await session.tables.create(Note)
    await anyio.sleep(60)
    plan = await session.tables.plan(Bare, delete_unknown_indexes=True)
    assert [step.kind for step in plan.steps] == ["delete-index"]
    return plan


async def test_index_that_another_operator_has_deleted_is_skipped(opened):
    async with opened() as session, opened() as other:
        plan = await deletion(session)
        async for event in other.tables.apply(plan, allow={"index-deleted"}):
            if event.state == "sent":
                break
        await anyio.sleep(1)  # the index is gone, and descriptions still show it
        applied = await session.tables.apply(plan, allow={"index-deleted"})
        assert (applied.done, applied.skipped) == ((), plan.steps)
        assert (await session.tables.plan(Bare, delete_unknown_indexes=True)).is_empty


async def test_index_of_a_table_that_is_gone_is_an_error(opened):
    faults = Faults()
    faults.on("UpdateTable").error("ResourceNotFoundException", "Requested resource not found: Table: notes not found")
    async with opened(faults) as session:
        plan = await deletion(session)
        with pytest.raises(ResourceNotFoundError):
            await session.tables.apply(plan, allow={"index-deleted"})


async def test_what_a_plan_leaves_alone_may_change_before_it_is_carried_out(opened):
    async with opened() as session, opened() as other:
        plan = await deletion(session)
        await other.tables.update_time_to_live(Expiring)
        await anyio.sleep(60)
        assert (await session.tables.apply(plan, allow={"index-deleted"})).done == plan.steps
        assert (await session.tables.plan(Bare)).not_managed == ("notes: time to live on at",)


async def test_recovery_and_tags_that_no_model_declares_are_not_looked_at(opened):
    kept = TableSettings(recovery=Recovery(days=7), tags={"team": "notes"})
    async with opened() as session:
        await session.tables.create(Table("papers", partition_key="id", settings=kept))
        await anyio.sleep(60)
        plan = await session.tables.plan(Table("papers", partition_key="id"))
        assert (plan.steps, plan.not_managed) == ((), ())
