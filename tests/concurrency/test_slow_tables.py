"""The session's calls for tables, on tables that take their time and are late to say so."""

from collections import Counter
from datetime import datetime

import anyio
import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Recovery,
    SortKey,
    TableSettings,
    Throughput,
    TimeToLive,
    Unique,
    attr,
)
from dynamap_async.errors import (
    IndexNotReadyError,
    OperationError,
    ResourceInUseError,
    ResourceNotFoundError,
    TableMismatchError,
    TableProtectedError,
    TableWaitTimeoutError,
    TransportError,
)
from dynamap_async.executor import gather_all
from dynamap_async.testing import Durations, FrozenClock, LocalEngine
from dynamap_async.testing.faults import Faults

NOON = 1_772_366_400.0  # of 1 March 2026, UTC
LATE = Durations(lag=2.0, create_table=30.0, update_table=20.0, delete_table=20.0, allocate_index=20.0, backfill=40.0)


class Bare(Model, table="tweets"):
    id: PartitionKey[str]


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]
    city: Attr[str]
    text: Attr[str]
    at: TimeToLive[datetime | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city")
    by_text = GlobalIndex(partition_key="text", projection=KEYS_ONLY)


@pytest.fixture
def slow():
    with LocalEngine(clock=FrozenClock(NOON), durations=LATE) as engine:
        yield engine


@pytest.fixture
def changes(slow):
    """Return a function: operation -> how often the engine has begun what it asks for."""
    names = {("CREATING", True): "CreateTable", ("UPDATING", False): "UpdateTable", ("DELETING", False): "DeleteTable"}

    def count():
        entries = [names.get((entry.after, entry.before is None)) for entry in slow.log if entry.index is None]
        return Counter(filter(None, entries))

    return count


def states(slow, index):
    return [(entry.before, entry.after) for entry in slow.log if entry.index == index]


BUILT = [(None, "CREATING"), ("CREATING", "BACKFILLING"), ("BACKFILLING", "ACTIVE")]
MADE_WITH_TABLE = [(None, "CREATING"), ("CREATING", "ACTIVE")]


async def test_a_throughput_is_waited_for_although_the_table_is_said_to_be_active(opened):
    async with opened() as session:
        await session.tables.create(Bare, throughput=Throughput(read=5, write=5))
        await session.tables.update_throughput(Bare, throughput=Throughput(read=9, write=9))
        assert (await session.tables.describe(Bare)).schema.throughput == Throughput(read=9, write=9)


async def test_a_creation_whose_caller_does_not_wait_goes_on(opened, changes):
    async with opened() as session:
        with anyio.move_on_after(1) as waiting:
            await session.tables.create(Bare)
        assert waiting.cancelled_caught
        await anyio.sleep(60)
        assert (await session.tables.describe(Bare)).is_active
    assert changes() == {"CreateTable": 1}


async def test_ensure_creates_a_table_with_its_indexes_and_time_to_live(opened, slow):
    async with opened() as session:
        await session.tables.ensure(Tweet)
        found = await session.tables.describe(Tweet)
    assert (found.is_active, found.ttl_status, found.schema.ttl_attribute) == (True, "ENABLING", "at")
    assert states(slow, "by_city") == states(slow, "by_text") == MADE_WITH_TABLE


async def test_ensure_adds_what_is_missing_one_index_at_a_time(opened, slow):
    async with opened() as session:
        await session.tables.create(Bare)
        await session.tables.ensure(Tweet, timeout_seconds=3600)
        found = await session.tables.describe(Tweet)
    assert found.is_active
    assert {index.name: index.projection for index in found.schema.indexes}["by_text"] == KEYS_ONLY
    assert states(slow, "by_city") == states(slow, "by_text") == BUILT
    begun = [(entry.at, entry.index, entry.after) for entry in slow.log if entry.index]
    assert begun.index((pytest.approx(begun[2][0]), "by_city", "ACTIVE")) < 3


async def test_ensure_changes_nothing_where_nothing_is_missing(opened, changes):
    async with opened() as session:
        await session.tables.ensure(Tweet)
        before, requests = changes(), session.statistics().requests
        await session.tables.ensure(Tweet)
        assert session.statistics().requests - requests == 2
    assert changes() == before


async def test_many_boots_at_once_make_everything_once(opened, slow, changes):
    async with opened() as session:
        await session.tables.create(Bare)

    async def boot():
        async with opened() as session:
            await session.tables.ensure(Tweet, timeout_seconds=3600)
            return (await session.tables.describe(Tweet)).is_active

    assert await gather_all([boot() for _ in range(4)]) == [True] * 4
    assert states(slow, "by_city") == states(slow, "by_text") == BUILT
    assert changes() == {"CreateTable": 1, "UpdateTable": 2}


@pytest.mark.parametrize("how", ["create", "ensure"])
async def test_many_boots_at_once_create_one_table(opened, slow, changes, how):
    async def boot():
        async with opened() as session:
            call = session.tables.ensure(Tweet) if how == "ensure" else session.tables.create(Tweet, if_missing=True)
            await call
            return (await session.tables.describe(Tweet)).is_active

    assert await gather_all([boot() for _ in range(4)]) == [True] * 4
    assert changes() == {"CreateTable": 1}


async def test_create_without_if_missing_refuses_a_table_that_exists(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        with pytest.raises(ResourceInUseError):
            await session.tables.create(Bare)
        await session.tables.create(Bare, if_missing=True, wait=False)


async def test_create_if_missing_makes_no_index_on_a_table_that_exists(opened, changes):
    async with opened() as session:
        await session.tables.create(Bare)
        await session.tables.create(Tweet, if_missing=True)
    assert changes() == {"CreateTable": 1}


async def test_a_table_that_is_being_deleted_is_made_again_once_it_is_gone(opened, slow):
    async with opened() as session:
        await session.tables.create(Bare)
        await session.tables.delete(Bare, wait=False)
        await anyio.sleep(3)  # until then descriptions show a table that can be used
        await session.tables.ensure(Bare)
    assert [entry.after for entry in slow.log] == ["CREATING", "ACTIVE", "DELETING", None, "CREATING", "ACTIVE"]


@pytest.mark.parametrize("operation", ["CreateTable", "UpdateTable"])
async def test_a_lost_answer_is_resolved_by_describing(opened, slow, changes, operation):
    faults = Faults()
    faults.on(operation, nth=1).lose_answer()
    async with opened(faults) as session:
        await session.tables.ensure(Bare)
        await session.tables.ensure(Tweet, timeout_seconds=3600)
    assert faults.unused == ()
    assert changes() == {"CreateTable": 1, "UpdateTable": 2}
    assert (faults.requests["CreateTable"], faults.requests["UpdateTable"]) == (1, 2)


async def test_a_request_that_did_not_arrive_is_sent_again(opened, changes):
    faults = Faults()
    faults.on("UpdateTable", nth=1).time_out(applied=False)
    async with opened(faults) as session:
        await session.tables.ensure(Bare)
        await session.tables.ensure(Tweet, timeout_seconds=3600)
    assert changes() == {"CreateTable": 1, "UpdateTable": 2}


@pytest.mark.parametrize("nth", range(1, 26))
@pytest.mark.parametrize("applied", [True, False])
async def test_an_ensure_that_is_killed_anywhere_is_continued_and_builds_nothing_twice(
    opened, slow, changes, nth, applied
):
    async with opened() as session:
        await session.tables.create(Bare)
    faults = Faults()
    faults.on(nth=nth).delay(50_000.0, applied=applied)  # the process is killed while it waits for this request
    async with opened(faults) as session:
        with anyio.move_on_after(40_000):
            await session.tables.ensure(Tweet, timeout_seconds=100_000)
    async with opened() as session:
        await session.tables.ensure(Tweet, timeout_seconds=3600)
        assert (await session.tables.describe(Tweet)).is_active
    assert changes() == {"CreateTable": 1, "UpdateTable": 2}
    assert states(slow, "by_city") == states(slow, "by_text") == BUILT


async def test_ensure_that_takes_too_long_says_so_and_leaves_it_to_the_next(opened, changes):
    async with opened() as session:
        await session.tables.create(Bare)
        with pytest.raises(TableWaitTimeoutError) as caught:
            await session.tables.ensure(Tweet, timeout_seconds=30)
        assert (caught.value.table, caught.value.status) == ("tweets", "ACTIVE")
        await session.tables.ensure(Tweet, timeout_seconds=3600)
    assert changes()["UpdateTable"] == 2


class OtherKey(Model, table="tweets"):
    id: PartitionKey[int]


class OtherIndex(Model, table="tweets"):
    id: PartitionKey[str]
    city: Attr[str]
    text: Attr[str]
    by_city = GlobalIndex(partition_key="text")
    by_text = GlobalIndex(partition_key="text")


class OtherTimeToLive(Model, table="tweets"):
    id: PartitionKey[str]
    until: TimeToLive[datetime | None] = attr(default=None)


class Sorted(Model, table="sorted"):
    id: PartitionKey[str]
    at: SortKey[int]


class Local(Sorted, table="sorted"):
    size: Attr[int]
    by_size = LocalIndex(sort_key="size")


@pytest.mark.parametrize(
    ("made", "wanted", "differences"),
    [
        (Tweet, OtherKey, [(None, "key", "id (N)", "id (S)")]),
        (
            Tweet,
            OtherIndex,
            [("by_city", "key", "text (S)", "city (S)"), ("by_text", "projection", "ALL", "KEYS_ONLY")],
        ),
        (Sorted, Local, [("by_size", "kind", "local", "none: it can only be made with its table")]),
    ],
)
async def test_ensure_refuses_a_table_that_could_never_become_as_declared(opened, changes, made, wanted, differences):
    async with opened() as session:
        await session.tables.ensure(made)
        with pytest.raises(TableMismatchError) as caught:
            await session.tables.ensure(wanted)
    found = [(each.index, each.what, each.declared, each.found) for each in caught.value.differences]
    assert found == differences
    assert changes() == {"CreateTable": 1}


async def test_time_to_live_on_another_attribute_is_refused(opened):
    async with opened() as session:
        await session.tables.ensure(Tweet)
        with pytest.raises(OperationError, match="turn it off"):
            await session.tables.ensure(OtherTimeToLive)


class Account(Model, table="accounts"):
    id: PartitionKey[str]
    email: Attr[str]
    one_email = Unique("email")


async def test_the_library_s_own_table_is_made_too(opened, slow):
    async with opened() as session:
        await session.tables.ensure(Account)
    assert {entry.table for entry in slow.log} == {"accounts", "dynamap"}


async def test_tables_are_made_side_by_side(opened, slow):
    async with opened() as session:
        await session.tables.ensure(Tweet, Sorted, Account)
    assert max(entry.at for entry in slow.log) == 30.0


async def test_a_query_on_an_index_that_is_built_says_how_to_wait(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        with pytest.raises(TableWaitTimeoutError):
            await session.tables.ensure(Tweet, timeout_seconds=30)
        with pytest.raises(IndexNotReadyError, match="tables.ensure"):
            await session.query(Tweet).where(Tweet.city == "London").select(Tweet.id)


async def test_a_failure_of_the_network_is_no_reason_to_wait_on(opened):
    faults = Faults()
    faults.on("CreateTable").refuse_connection()
    async with opened(faults) as session:
        with pytest.raises(TransportError):
            await session.tables.ensure(Bare)


async def test_a_protected_table_is_deleted_by_force_alone(opened, slow):
    async with opened() as session:
        await session.tables.create(Bare)
        await session.tables.protect(Bare)
        assert (await session.tables.describe(Bare)).is_protected
        with pytest.raises(TableProtectedError, match="force=True") as caught:
            await session.tables.delete(Bare)
        assert caught.value.table == "tweets"
        assert slow.log[-1].after == "ACTIVE"
        await session.tables.delete(Bare, force=True)
        assert not await session.tables.exists(Bare)


class Other(Model, table="others"):
    id: PartitionKey[str]


async def test_of_several_tables_none_is_deleted_where_one_is_protected_or_missing(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        with pytest.raises(ResourceNotFoundError):
            await session.tables.delete(Bare, Other)
        await session.tables.create(Other)
        await session.tables.protect(Other)
        with pytest.raises(TableProtectedError) as caught:
            await session.tables.delete(Bare, Other)
        assert caught.value.table == "others"
        assert (await session.tables.describe(Bare)).status == "ACTIVE"
        await session.tables.delete(Bare, Other, force=True)
        assert not await session.tables.exists(Bare)


async def test_protection_is_sent_where_it_changes_something(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        await session.tables.protect(Bare)
        before = session.statistics().requests
        await session.tables.protect(Bare)
        assert session.statistics().requests - before == 1
        await session.tables.unprotect(Bare)
        await session.tables.delete(Bare)


async def test_a_change_that_is_under_way_is_waited_for_before_protection(opened):
    async with opened() as session:
        await session.tables.create(Bare, throughput=Throughput(read=5, write=5))
        await session.tables.update_throughput(Bare, throughput=Throughput(read=9, write=9), wait=False)
        await session.tables.protect(Bare)
        found = await session.tables.describe(Bare)
    assert (found.is_protected, found.schema.throughput) == (True, Throughput(read=9, write=9))


class Kept(Model, table="tweets", settings=TableSettings(recovery=Recovery(days=3), tags={"team": "shop"})):
    id: PartitionKey[str]


@pytest.mark.parametrize("call", ["create", "ensure"])
async def test_recovery_is_asked_for_again_while_a_table_is_too_new_for_it(opened, call):
    faults = Faults()
    faults.on("UpdateContinuousBackups", times=12).error("ContinuousBackupsUnavailableException")
    async with opened(faults) as session:
        await getattr(session.tables, call)(Kept)
        assert (await session.tables.plan(Kept)).is_empty
        assert (await session.tables.plan(Kept)).not_managed == ()


async def test_settings_that_differ_are_planned_and_applied(opened):
    async with opened() as session:
        await session.tables.create(Bare)
        plan = await session.tables.plan(Kept)
        assert [step.kind for step in plan.steps] == ["set-point-in-time-recovery", "set-tags"]
        await session.tables.apply(plan)
        await session.tables.verify(Kept)
