"""Plans of tables: what they say, and that carrying them out ends as declared, on tables that take their time."""

import asyncio
import gc
import json
from collections import Counter
from datetime import datetime

import anyio
import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Recovery,
    Table,
    TableSettings,
    Throughput,
    TimeToLive,
    Unique,
    attr,
    include,
)
from dynamap_async.errors import (
    ModelDefinitionError,
    OperationError,
    PlanHazardError,
    PlanOutOfDateError,
    SessionStateError,
    TableMismatchError,
    TableWaitTimeoutError,
)
from dynamap_async.executor import gather_all
from dynamap_async.tables import TablePlan
from dynamap_async.testing import Durations, FrozenClock, LocalEngine
from dynamap_async.testing.faults import Faults

NOON = 1_772_366_400.0  # of 1 March 2026, UTC
LATE = Durations(
    lag=2.0,
    create_table=10.0,
    update_table=20.0,
    delete_table=20.0,
    allocate_index=20.0,
    backfill=40.0,
    delete_index=10.0,
    time_to_live=60.0,
)
LOW, HIGH = Throughput(read=5, write=5), Throughput(read=50, write=50)


class Bare(Model, table="tweets"):
    id: PartitionKey[str]


class Old(Model, table="tweets"):
    id: PartitionKey[str]
    user: Attr[str]

    by_user = GlobalIndex(partition_key="user")


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]
    city: Attr[str]
    text: Attr[str]
    at: TimeToLive[datetime | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city")
    by_text = GlobalIndex(partition_key="text", projection=include("city", "at"))


@pytest.fixture
def slow():
    with LocalEngine(clock=FrozenClock(NOON), durations=LATE) as engine:
        yield engine


@pytest.fixture
def built(slow, index_changes):
    """Return a function: change of an index -> how often it was begun."""
    return lambda: index_changes(slow.log)


def kinds(plan):
    return [(step.kind, step.index) for step in plan.steps]


DONE = {"Create tweets by_city": 1, "Create tweets by_text": 1}
ALL_ALLOWED = {"ttl-deletes-now", "index-deleted", "throughput-lowered", "billing-switched", "ttl-attribute-changed"}


async def test_a_plan_of_a_table_that_is_missing_makes_it_with_all_that_it_has(opened, slow):
    async with opened() as session:
        plan = await session.tables.plan(Tweet)
        assert kinds(plan) == [("create-table", None), ("set-time-to-live", None)]
        assert plan.hazards == ()
        assert slow.log == ()
        await session.tables.apply(plan)
        assert (await session.tables.plan(Tweet)).is_empty
        await session.tables.verify(Tweet)


async def test_a_plan_of_a_changed_table_is_applied_and_then_empty(opened, slow, built):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Tweet, delete_unknown_indexes=True)
        assert kinds(plan) == [
            ("create-index", "by_city"),
            ("create-index", "by_text"),
            ("set-time-to-live", None),
            ("delete-index", "by_user"),
        ]
        await session.tables.apply(plan, allow=ALL_ALLOWED)
        assert (await session.tables.plan(Tweet, delete_unknown_indexes=True)).is_empty
    assert built() == DONE | {"Delete tweets by_user": 1}
    building = [entry.index for entry in slow.log if entry.index and entry.before in (None, "BACKFILLING")]
    assert building == ["by_user", "by_city", "by_city", "by_text", "by_text"]


async def test_a_printed_plan_is_the_same_each_time_and_fits_a_screen(opened):
    async with opened() as session:
        await session.tables.create(Old)
        text = str(await session.tables.plan(Tweet))
        assert text == str(await session.tables.plan(Tweet))
    assert text.splitlines() == [
        "tweets",
        "  + create-index       by_city: none -> city (S), ALL",
        "  + create-index       by_text: none -> text (S), INCLUDE at city",
        "  ~ set-time-to-live   time to live off -> time to live on at",
        "      hazard ttl-deletes-now: items whose at is past are deleted from now on",
        "not managed: tweets: the index by_user, which no model declares",
    ]
    assert str(TablePlan(steps=(), seen={})) == "nothing to change"


async def test_a_plan_survives_json(opened):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Tweet, delete_unknown_indexes=True)
        again = TablePlan.from_json(plan.to_json())
        assert again == plan
        assert again.fingerprint == plan.fingerprint
        assert json.loads(plan.to_json())["steps"][0]["request"]["TableName"] == "tweets"
        await session.tables.apply(again, allow=ALL_ALLOWED)
        assert (await session.tables.plan(Tweet)).is_empty


async def test_expand_takes_nothing_away_and_contract_does_the_rest(opened, built):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Tweet, delete_unknown_indexes=True)
        await session.tables.apply(plan.expand, allow={"ttl-deletes-now"})
        assert built() == DONE
        await session.tables.apply(plan.contract, allow={"index-deleted"})
        assert built() == DONE | {"Delete tweets by_user": 1}


async def test_hazards_are_allowed_by_name_or_nothing_is_done(opened, slow):
    async with opened() as session:
        await session.tables.create(Old)
        before = slow.log
        plan = await session.tables.plan(Tweet, delete_unknown_indexes=True)
        with pytest.raises(PlanHazardError, match=r'allow=\{"index-deleted"\}') as caught:
            await session.tables.apply(plan, allow={"ttl-deletes-now"})
        assert caught.value.codes == ("index-deleted",)
        assert slow.log == before


async def test_what_is_allowed_or_looked_for_has_to_be_spelled_right(opened):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Bare, delete_unknown_indexes=True)
        for wrong in ("index-deleted", True):
            with pytest.raises(OperationError, match=r'write allow=\{"index-deleted"\}'):
                await session.tables.apply(plan, allow=wrong)
        with pytest.raises(OperationError, match=r'"Fail" is neither|extra_indexes=\'Fail\' is neither'):
            await session.tables.verify(Bare, extra_indexes="Fail")
        assert (await session.tables.plan(Bare, delete_unknown_indexes=True)).steps == plan.steps


async def test_a_plan_that_is_out_of_date_says_what_differs_and_does_nothing(opened, built):
    async with opened() as session:
        await session.tables.create(Bare)
        plan = await session.tables.plan(Tweet)
        await session.tables.apply(plan, allow=ALL_ALLOWED)
        before = built()
        with pytest.raises(PlanOutOfDateError, match="index by_city was absent, and is global, city") as caught:
            await session.tables.apply(plan, allow=ALL_ALLOWED)
        assert {each.what for each in caught.value.differences} == {"index by_city", "index by_text", "time to live"}
        assert built() == before


class OtherKey(Model, table="tweets"):
    id: PartitionKey[int]


class OtherIndex(Model, table="tweets"):
    id: PartitionKey[str]
    user: Attr[str]

    by_user = GlobalIndex(partition_key="user", projection=KEYS_ONLY)


@pytest.mark.parametrize(
    ("model", "words"), [(OtherKey, "copy the items"), (OtherIndex, "declare it under another name")]
)
async def test_what_never_changes_is_blocked_with_a_recipe(opened, model, words):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(model)
        assert [step.kind for step in plan.steps] == ["blocked"]
        assert words in str(plan).replace("\n          ", " ")
        with pytest.raises(TableMismatchError):
            await session.tables.apply(plan)
        with pytest.raises(TableMismatchError, match="tables.plan"):
            await session.tables.verify(model)


class Provisioned(Model, table="tweets", throughput=HIGH):
    id: PartitionKey[str]
    user: Attr[str]
    by_user = GlobalIndex(partition_key="user", throughput=LOW)


class Mixed(Model, table="tweets", throughput=Throughput(read=80, write=8)):
    id: PartitionKey[str]
    user: Attr[str]
    city: Attr[str]
    by_user = GlobalIndex(partition_key="user", throughput=HIGH)
    by_city = GlobalIndex(partition_key="city", throughput=Throughput(read=1, write=1))


async def test_an_on_demand_table_becomes_provisioned_with_its_indexes(opened):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Provisioned)
        assert kinds(plan) == [("update-billing", None)]
        assert [hazard.code for hazard in plan.hazards] == ["billing-switched"]
        await session.tables.apply(plan, allow={"billing-switched"})
        found = await session.tables.describe(Provisioned)
        assert (found.schema.throughput, found.schema.index("by_user").throughput) == (HIGH, LOW)
        assert (await session.tables.plan(Provisioned)).is_empty


async def test_a_throughput_is_raised_first_and_lowered_last(opened):
    async with opened() as session:
        await session.tables.create(Provisioned)
        plan = await session.tables.plan(Mixed)
        assert kinds(plan) == [
            ("update-throughput", None),
            ("create-index", "by_city"),
            ("update-throughput", None),
        ]
        assert [step.adds for step in plan.steps] == [True, True, False]
        assert [hazard.code for hazard in plan.hazards] == ["index-throttles-writes", "throughput-lowered"]
        await session.tables.apply(plan, allow={"index-throttles-writes", "throughput-lowered"})
        found = (await session.tables.describe(Mixed)).schema
        assert found.throughput == Throughput(read=80, write=8)
        assert found.index("by_user").throughput == HIGH
        assert found.index("by_city").throughput == Throughput(read=1, write=1)
        assert (await session.tables.plan(Mixed)).is_empty


async def test_what_no_model_declares_is_left_and_listed(opened):
    async with opened() as session:
        await session.tables.create(Provisioned)
        plan = await session.tables.plan(Bare)
        assert plan.is_empty
        assert plan.not_managed == (
            "tweets: the index by_user, which no model declares",
            "tweets: its throughput of 50 read, 50 write",
        )


class Moved(Model, table="tweets"):
    id: PartitionKey[str]
    until: TimeToLive[datetime | None] = attr(default=None)


async def test_another_attribute_of_time_to_live_takes_an_hour(opened, slow):
    async with opened() as session:
        await session.tables.ensure(Moved)
        plan = await session.tables.plan(Tweet)
        assert kinds(plan)[2:] == [("set-time-to-live", None), ("set-time-to-live", None)]
        assert [hazard.code for hazard in plan.hazards] == ["ttl-attribute-changed"]
        began = slow.clock()
        await session.tables.apply(plan, allow={"ttl-attribute-changed"}, timeout_seconds=10_000)
        assert 3600 <= slow.clock() - began < 2 * 3700
        assert (await session.tables.plan(Tweet)).is_empty


async def test_a_time_to_live_that_may_not_be_known_is_not_planned(opened):
    faults = Faults()
    faults.on("DescribeTimeToLive").deny_access()
    async with opened() as session:
        await session.tables.create(Bare)
    async with opened(faults) as session:
        plan = await session.tables.plan(Tweet)
    assert kinds(plan) == [("create-index", "by_city"), ("create-index", "by_text")]
    assert "time to live, which is unknown" in plan.not_managed[0]


KILLED = [(nth, applied) for nth in range(1, 26) for applied in (False, True)]


@pytest.mark.parametrize(("nth", "applied"), KILLED)
async def test_an_apply_that_is_killed_anywhere_is_continued_by_a_new_plan(opened, built, nth, applied):
    async with opened() as session:
        await session.tables.create(Old)
    faults = Faults()
    faults.on(nth=nth).delay(50_000.0, applied=applied)  # the process is killed while it waits for this request
    async with opened(faults) as session:
        with anyio.move_on_after(40_000):
            plan = await session.tables.plan(Tweet, delete_unknown_indexes=True)
            await session.tables.apply(plan, allow=ALL_ALLOWED, timeout_seconds=100_000)
    async with opened() as session:
        plan = await session.tables.plan(Tweet, delete_unknown_indexes=True)
        await session.tables.apply(plan, allow=ALL_ALLOWED)
        await session.tables.verify(Tweet, extra_indexes="fail")
    assert built() == DONE | {"Delete tweets by_user": 1}


async def test_an_index_that_is_being_built_is_awaited(opened, built):
    async with opened() as session:
        await session.tables.create(Bare)
        with pytest.raises(TableWaitTimeoutError):
            await session.tables.apply(await session.tables.plan(Tweet), allow=ALL_ALLOWED, timeout_seconds=30)
        plan = await session.tables.plan(Tweet)
        assert kinds(plan)[:2] == [("await-index", "by_city"), ("create-index", "by_text")]
        with pytest.raises(TableMismatchError):
            await session.tables.verify(Tweet)
        await session.tables.apply(plan, allow=ALL_ALLOWED)
    assert built() == DONE


async def test_apply_ends_when_the_index_can_be_read(opened, slow):
    async with opened() as session:
        await session.tables.create(Bare)
        await session.tables.apply(await session.tables.plan(Old))
        assert slow.log[-1].index == "by_user"
        assert slow.log[-1].after == "ACTIVE"


async def test_a_table_that_is_being_created_is_awaited(opened, slow):
    async with opened() as session:
        with pytest.raises(TableWaitTimeoutError):
            await session.tables.apply(await session.tables.plan(Bare), timeout_seconds=5)
        plan = await session.tables.plan(Bare)
        assert kinds(plan) == kinds(plan.expand) == [("await-table", None)]
        await session.tables.apply(plan)
        assert slow.log[-1].after == "ACTIVE"
        assert (await session.tables.plan(Bare)).is_empty
    assert [entry.after for entry in slow.log] == ["CREATING", "ACTIVE"]


async def test_verify_takes_no_table_that_is_being_created_for_one_that_is_there(opened):
    async with opened() as session:
        with pytest.raises(TableWaitTimeoutError):
            await session.tables.apply(await session.tables.plan(Bare), timeout_seconds=5)
        await session.tables.verify(Bare, need_active=False)
        with pytest.raises(TableMismatchError) as caught:
            await session.tables.verify(Bare)
    assert [(each.index, each.what, each.found) for each in caught.value.differences] == [
        (None, "status", "being created")
    ]


async def deletion_begun(session):
    """Begin to delete the index that only the old model has, and do not wait for it."""
    await session.tables.create(Old)
    plan = await session.tables.plan(Bare, delete_unknown_indexes=True)
    with pytest.raises(TableWaitTimeoutError):
        await session.tables.apply(plan, allow={"index-deleted"}, timeout_seconds=5)
    assert (await session.tables.describe(Old)).index_statuses == {"by_user": "DELETING"}


async def test_an_index_that_is_being_deleted_is_awaited_by_who_wants_it_gone(opened, built):
    async with opened() as session:
        await deletion_begun(session)
        assert (await session.tables.plan(Bare)).is_empty
        await session.tables.verify(Bare, extra_indexes="fail")
        plan = await session.tables.plan(Bare, delete_unknown_indexes=True)
        assert kinds(plan) == kinds(plan.contract) == [("await-index", "by_user")]
        assert not plan.hazards
        await session.tables.apply(plan)
        assert (await session.tables.describe(Old)).index_statuses == {}
        assert (await session.tables.plan(Bare, delete_unknown_indexes=True)).is_empty
    assert built() == {"Delete tweets by_user": 1}


async def test_an_index_that_is_being_deleted_is_as_good_as_gone(opened, built):
    async with opened() as session:
        await deletion_begun(session)
        plan = await session.tables.plan(Old)
        assert kinds(plan) == [("create-index", "by_user")]
        await anyio.sleep(30)  # meanwhile it is gone, which is no change for the plan
        await session.tables.apply(plan)
        await session.tables.verify(Old)
    assert built() == {"Delete tweets by_user": 1, "Create tweets by_user": 1}


async def test_verify_may_take_an_index_that_is_built_for_one_that_is_there(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        with pytest.raises(TableWaitTimeoutError):
            await session.tables.apply(await session.tables.plan(Old), timeout_seconds=30)
        await session.tables.verify(Old, need_active=False)
        with pytest.raises(TableMismatchError) as caught:
            await session.tables.verify(Old)
    assert [(each.index, each.what, each.found) for each in caught.value.differences] == [
        ("by_user", "status", "being built")
    ]


async def test_verify_tells_each_difference(opened):
    async with opened() as session:
        with pytest.raises(TableMismatchError, match="tweets"):
            await session.tables.verify(Tweet)
        await session.tables.create(Old)
        await session.tables.verify(Bare)
        with pytest.raises(TableMismatchError):
            await session.tables.verify(Bare, extra_indexes="fail")
        with pytest.raises(TableMismatchError) as caught:
            await session.tables.verify(Tweet)
    assert [(each.index, each.what) for each in caught.value.differences] == [
        ("by_city", "definition"),
        ("by_text", "definition"),
        (None, "setting"),
    ]


async def test_verify_may_log_indexes_that_no_model_needs(opened, caplog):
    async with opened() as session:
        await session.tables.create(Old)
        await session.tables.verify(Bare)
        assert caplog.messages == []
        await session.tables.verify(Bare, extra_indexes="report")
    assert caplog.messages == ["the index by_user of tweets is one that no model needs"]


async def test_verify_takes_two_requests_for_a_table(opened):
    async with opened() as session:
        await session.tables.ensure(Tweet)
        before = session.statistics().requests
        await session.tables.verify(Tweet)
        assert session.statistics().requests - before == 2


async def test_two_who_apply_at_once_build_everything_once(opened, built):
    async with opened() as session:
        await session.tables.create(Bare)

    async def deploy():
        async with opened() as session:
            plan = await session.tables.plan(Tweet)
            await session.tables.apply(plan, allow=ALL_ALLOWED)

    await gather_all([deploy(), deploy()])
    assert built() == DONE


@pytest.mark.parametrize("nth", [1, 2])
async def test_a_lost_answer_is_resolved_by_describing(opened, built, nth):
    faults = Faults()
    faults.on("UpdateTable", nth=nth).lose_answer()
    async with opened(faults) as session:
        await session.tables.create(Bare)
        await session.tables.apply(await session.tables.plan(Tweet), allow=ALL_ALLOWED)
    assert faults.unused == ()
    assert built() == DONE
    assert faults.requests["UpdateTable"] == 2


def three(name):
    indexes = [GlobalIndex(f"by-{part}", partition_key=part) for part in ("a-part", "b-part", "c-part")]
    return Table(name, partition_key="pk"), Table(name, partition_key="pk", indexes=indexes)


async def test_tables_are_changed_side_by_side_and_indexes_one_after_the_other(opened, slow, built):
    before, after = zip(*(three(name) for name in ("one", "two", "three")), strict=True)
    async with opened() as session:
        await session.tables.create(*before)
        plan = await session.tables.plan(*after)
        began = slow.clock()
        await session.tables.apply(plan)
        took = slow.clock() - began
    assert sum(built().values()) == len(built()) == 9
    assert took < 1.2 * 3 * 60
    for name in ("one", "two", "three"):
        built = [entry.index for entry in slow.log if entry.table == name and entry.index and entry.before is None]
        assert built == ["by-a-part", "by-b-part", "by-c-part"]


async def test_each_step_is_told_to_who_watches(opened):
    told = []
    async with opened() as session:
        await session.tables.create(Bare)
        plan = await session.tables.plan(Old)
        await session.tables.apply(plan, watch=lambda progress: told.append((progress.step.index, progress.state)))
    assert [each for each in told if each != ("by_user", "progress")] == [
        ("by_user", "planned"),
        ("by_user", "waiting"),
        ("by_user", "sent"),
        ("by_user", "done"),
    ]


class Account(Model, table="accounts"):
    id: PartitionKey[str]
    email: Attr[str]
    one_email = Unique("email")


async def test_the_library_s_own_table_is_planned_too(opened):
    async with opened() as session:
        plan = await session.tables.plan(Account)
        assert {step.table for step in plan.steps} == {"accounts", "dynamap"}


async def test_a_table_that_is_being_deleted_is_planned_as_one_that_is_missing(opened, slow):
    async with opened() as session:
        await session.tables.create(Bare)
        await session.tables.delete(Bare, wait=False)
        await anyio.sleep(3)  # until then descriptions show a table that can be used
        plan = await session.tables.plan(Bare)
        assert kinds(plan) == [("create-table", None)]
        await session.tables.apply(plan)
    assert slow.log[-1].after == "ACTIVE"


def states(events):
    """Return what came of each step, without how far it was on the way."""
    return [(event.step.index or event.step.kind, event.state) for event in events if event.state != "progress"]


async def test_steps_can_be_iterated_over_as_they_are_done(opened, built):
    async with opened() as session:
        await session.tables.create(Bare)
        plan = await session.tables.plan(Tweet)
        events = [event async for event in session.tables.apply(plan, allow=ALL_ALLOWED)]
        assert (await session.tables.plan(Tweet)).is_empty
    names = ["by_city", "by_text", "set-time-to-live"]
    assert states(events)[:3] == [(name, "planned") for name in names]
    assert states(events)[3:] == [(name, state) for name in names for state in ("waiting", "sent", "done")]
    assert {event.step.index for event in events if event.state == "progress"} == {"by_city", "by_text", None}
    assert built() == DONE


async def test_awaited_it_tells_what_was_done(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        plan = await session.tables.plan(Tweet)
        applied = await asyncio.create_task(session.tables.apply(plan, allow=ALL_ALLOWED))
    assert (applied.done, applied.skipped) == (plan.steps, ())


async def test_what_somebody_else_did_meanwhile_is_skipped(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        run = session.tables.apply(await session.tables.plan(Tweet), allow=ALL_ALLOWED)
        told = []
        async with run as events:
            async for event in events:
                told.append(event)
                if (event.step.index, event.state) == ("by_city", "sent"):
                    await anyio.sleep(30)  # until it is filled, for the table can be changed meanwhile
                    await session.tables.update_time_to_live(Tweet)
    assert states(told)[-1] == ("set-time-to-live", "skipped")


async def test_leaving_the_loop_stops_it_and_a_new_plan_goes_on(opened, built):
    async with opened() as session:
        await session.tables.create(Bare)
        async for event in session.tables.apply(await session.tables.plan(Tweet), allow=ALL_ALLOWED):
            if event.state == "sent":
                break
        gc.collect()
        await asyncio.sleep(1)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await asyncio.sleep(1000)
        assert built() == {"Create tweets by_city": 1}
        await session.tables.apply(await session.tables.plan(Tweet), allow=ALL_ALLOWED)
        await session.tables.verify(Tweet)
    assert built() == DONE


async def test_end_of_its_block_stops_it_at_once(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        async with session.tables.apply(await session.tables.plan(Old)) as events:
            assert (await anext(events)).state == "planned"
        assert asyncio.all_tasks() == {asyncio.current_task()}
        with pytest.raises(StopAsyncIteration):
            await anext(events)


async def test_a_cancelled_wait_for_an_event_loses_none(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        async with session.tables.apply(await session.tables.plan(Old)) as events:
            told = []
            while not told or told[-1].state != "done":
                with anyio.move_on_after(1.0):
                    told.append(await anext(events))
        assert states(told) == [("by_user", state) for state in ("planned", "waiting", "sent", "done")]


async def collected(events, told):
    async for event in events:
        told += [event]


async def test_a_step_that_fails_is_told_before_its_error_is_raised(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        told = []
        plan = await session.tables.plan(Old)
        with pytest.raises(TableWaitTimeoutError):
            await collected(session.tables.apply(plan, timeout_seconds=30), told)
        assert states(told)[-1] == ("by_user", "failed")
        assert "was not changed (create-index by_user" in told[-1].error


async def forgotten(session, plan):
    session.tables.apply(plan)
    gc.collect()


async def test_it_is_gone_through_once_and_not_forgotten(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        plan = await session.tables.plan(Old)
        async with session.tables.apply(plan) as run:
            await anext(run)
            with pytest.raises(SessionStateError, match="make a new one"):
                await run
        with pytest.warns(RuntimeWarning, match="was never awaited"):
            await forgotten(session, plan)


async def test_last_index_is_not_waited_for_where_that_is_allowed(opened, built):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Tweet)
        with pytest.raises(PlanHazardError, match="by_text are refused until it is built") as caught:
            await session.tables.apply(plan, allow=ALL_ALLOWED, wait_for_backfill=False)
        assert caught.value.codes == ("index-not-ready-for-code",)
        early = ALL_ALLOWED | {"index-not-ready-for-code"}
        await session.tables.apply(plan, allow=early, wait_for_backfill=False)
        found = await session.tables.describe(Tweet)
        assert found.index_statuses["by_text"] == "CREATING"
        assert (found.index_is_ready("by_city"), found.schema.ttl_attribute) == (True, "at")
        left = await session.tables.plan(Tweet, delete_unknown_indexes=True)
        assert kinds(left) == [("await-index", "by_text"), ("delete-index", "by_user")]
        more = await session.tables.plan(Other, delete_unknown_indexes=True)
        with pytest.raises(OperationError, match=r"apply plan\.expand without waiting"):
            await session.tables.apply(more, allow=early, wait_for_backfill=False)
    assert built() == DONE


class Other(Model, table="tweets"):
    id: PartitionKey[str]
    day: Attr[str]

    by_day = GlobalIndex(partition_key="day")


class Successor(Model, table="tweets"):
    id: PartitionKey[str]
    user: Attr[str]

    by_user = GlobalIndex("by_user-v2", partition_key="user", projection=KEYS_ONLY, replaces="by_user")


async def test_an_index_is_replaced_by_another_and_then_deleted(opened, built):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Successor)
        assert kinds(plan) == [("create-index", "by_user-v2"), ("delete-index", "by_user")]
        assert [(hazard.code, hazard.index) for hazard in plan.hazards] == [("index-replaced", "by_user")]
        assert plan.not_managed == ()
        with pytest.raises(
            OperationError, match="by_user-v2, which replaces it, does not exist; apply plan.expand first"
        ):
            await session.tables.apply(plan.contract, allow={"index-replaced"})
        await session.tables.apply(plan.expand)
        await session.tables.verify(Successor)
        with pytest.raises(TableMismatchError):
            await session.tables.verify(Successor, extra_indexes="fail")
        with pytest.raises(PlanHazardError, match="by_user-v2 takes its place"):
            await session.tables.apply(plan.contract)
        await session.tables.apply(plan.contract, allow={"index-replaced"})
        await session.tables.verify(Successor, extra_indexes="fail")
        assert (await session.tables.plan(Successor)).is_empty
    assert built() == {"Create tweets by_user-v2": 1, "Delete tweets by_user": 1}


async def test_an_index_is_replaced_in_one_go_and_never_missing(opened, slow):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Successor, delete_unknown_indexes=True)
        assert len(plan.steps) == 2
        await session.tables.apply(plan, allow={"index-replaced"})
    ended = [(entry.index, entry.after) for entry in slow.log if entry.index and entry.after in ("ACTIVE", "DELETING")]
    assert ended == [("by_user", "ACTIVE"), ("by_user-v2", "ACTIVE"), ("by_user", "DELETING")]


async def test_the_recipe_for_a_changed_index_is_printed_and_works(opened):
    async with opened() as session:
        await session.tables.create(Old)
        text = " ".join(str(await session.tables.plan(OtherIndex)).split())
        assert 'GlobalIndex("by_user-v2", ..., replaces="by_user")' in text
        await session.tables.apply(await session.tables.plan(Successor), allow={"index-replaced"})
        await session.tables.verify(Successor)


@pytest.mark.parametrize(
    ("indexes", "problem"),
    [
        ([GlobalIndex("one", partition_key="a", replaces="one")], "the index 'one' replaces itself"),
        ([GlobalIndex("one", partition_key="a", replaces=1)], "replaces=1 is not the name of an index"),
        (
            [GlobalIndex("one", partition_key="a"), GlobalIndex("two", partition_key="a", replaces="one")],
            "replaces 'one', which is still declared",
        ),
        (
            [GlobalIndex(name, partition_key="a", replaces="old") for name in ("one", "two")],
            "two indexes replace 'old'",
        ),
    ],
)
def test_what_replaces_nothing_is_refused(indexes, problem):
    with pytest.raises(ModelDefinitionError, match=problem):
        Table("tweets", partition_key="pk", indexes=indexes)
    body = {
        "__module__": __name__,
        "__qualname__": "Wrong",
        "__annotations__": {"id": PartitionKey[str], "a": Attr[str]},
    }
    with pytest.raises(ModelDefinitionError, match=problem):
        type(Model)("Wrong", (Model,), body | {f"index_{n}": each for n, each in enumerate(indexes)}, table="tweets")


class Renamed(Model, table="tweets"):
    id: PartitionKey[str]
    user: Attr[str]

    user_index = GlobalIndex("user-index", partition_key="user")


async def test_an_index_that_may_only_have_another_name_is_reported(opened):
    async with opened() as session:
        await session.tables.create(Old)
        plan = await session.tables.plan(Renamed)
    assert kinds(plan) == [("create-index", "user-index")]
    [told] = plan.not_managed
    assert (
        "user-index has the same key and projection: if it is only another name for it, declare it as by_user" in told
    )


class Reading(Model, table="readings_{month}"):
    month: PartitionKey[int]
    sensor: Attr[str]


class IndexedReading(Model, table="readings_{month}"):
    month: PartitionKey[int]
    sensor: Attr[str]

    by_sensor = GlobalIndex(partition_key="sensor")


async def test_tables_of_all_periods_are_planned_and_verified_together(opened, built):
    async with opened() as session:
        for name in ("readings_of_others", "x-readings_3"):
            await session.tables.create(Table(name, partition_key="month"))
        for month in (1, 2):
            await session.tables.create(Reading, period=month)
        await session.tables.create(Bare)
        plan = await session.tables.plan(IndexedReading, Bare, all_periods=True)
        assert [(step.table, step.index) for step in plan.steps] == [
            ("readings_1", "by_sensor"),
            ("readings_2", "by_sensor"),
        ]
        with pytest.raises(TableMismatchError, match=r"readings_1.*readings_2"):
            await session.tables.verify(IndexedReading, all_periods=True)
        await session.tables.apply(plan)
        await session.tables.verify(IndexedReading, all_periods=True)
        with pytest.raises(OperationError, match="give one of them"):
            await session.tables.plan(IndexedReading, all_periods=True, period=1)
        with pytest.raises(OperationError, match="no model has one table per period"):
            await session.tables.plan(Bare, all_periods=True)
    assert built() == {"Create readings_1 by_sensor": 1, "Create readings_2 by_sensor": 1}


async def test_a_policy_that_allows_no_scan_leaves_the_estimate_out(opened):
    faults = Faults()
    faults.on("Scan").deny_access()
    async with opened(faults) as session:
        await session.tables.create(Bare)
        plan = await session.tables.plan(Old)
    assert (kinds(plan), plan.estimate) == ([("create-index", "by_user")], None)
    assert faults.unused == ()


async def test_no_item_is_looked_at_where_no_index_is_missing_or_none_is_wanted(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        await session.tables.plan(Old, sample_pages=0)
        await session.tables.plan(Bare)
        assert session.statistics().of("Scan", "tweets").requests == 0
        with pytest.raises(OperationError, match="sample_pages=-1: give a number of pages, 0 or more"):
            await session.tables.plan(Old, sample_pages=-1)


class Kept(
    Model, table="tweets", settings=TableSettings(recovery=Recovery(days=7), tags={"team": "web"}, stream="keys")
):
    id: PartitionKey[str]
    at: TimeToLive[datetime | None] = attr(default=None)


NOT_SHOWN = ("DescribeTimeToLive", "DescribeContinuousBackups", "ListTagsOfResource")
"""What a policy may deny although it allows to change the same."""


@pytest.mark.parametrize("made", ["apply", "create"])
async def test_settings_that_nobody_may_look_at_are_set_on_a_new_table_and_not_waited_for(opened, made):
    denied = Faults()
    for operation in NOT_SHOWN:
        denied.on(operation).deny_access()
    denied.on("UpdateContinuousBackups", nth=1).error("ContinuousBackupsUnavailableException")
    async with opened(denied) as session:
        if made == "apply":
            await session.tables.apply(await session.tables.plan(Kept), timeout_seconds=600)
        else:
            await session.tables.create(Kept)
        assert (await session.tables.describe(Kept)).ttl_status is None
        plan = await session.tables.plan(Kept)
        assert plan.is_empty
        assert len([each for each in plan.not_managed if "unknown" in each]) == 3
    sent = Counter(entry.operation for entry in denied.log)
    assert (sent["UpdateTimeToLive"], sent["UpdateContinuousBackups"]) == (1, 2)
    async with opened() as session:
        await session.tables.verify(Kept)
        assert (await session.tables.plan(Kept)).is_empty


async def test_verify_warns_of_what_is_declared_and_not_shown(opened, caplog):
    denied = Faults()
    for operation in NOT_SHOWN:
        denied.on(operation).deny_access()
    async with opened() as session:
        await session.tables.create(Kept)
        await session.tables.verify(Kept)
        assert caplog.messages == []
    async with opened(denied) as session:
        await session.tables.verify(Kept)
        await session.tables.verify(Bare)
    assert [text.partition(", which")[0] for text in caplog.messages] == [
        "not compared: tweets: time to live",
        "not compared: tweets: continuous backups",
        "not compared: tweets: tags",
    ]
