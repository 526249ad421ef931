"""Replicas that plans add and remove, on tables that take their time: one at a time, each once, whatever happens."""

import contextlib

import anyio
import pytest

from dynamap_async import Attr, Model, PartitionKey, TableSettings, Unique
from dynamap_async.errors import PlanHazardError, PlanOutOfDateError, TableMismatchError
from dynamap_async.testing import Durations, FrozenClock, LocalEngine
from dynamap_async.testing.faults import Faults

NOON = 1_772_366_400.0  # of 1 March 2026, UTC
LATE = Durations(lag=2.0, create_table=10.0, update_table=20.0, replica=300.0)


class Plain(Model, table="orders"):
    id: PartitionKey[str]


class Twice(Model, table="orders", settings=TableSettings(replicas=["us-east-1"])):
    id: PartitionKey[str]


class Thrice(Model, table="orders", settings=TableSettings(replicas=["us-west-2", "us-east-1"])):
    id: PartitionKey[str]


class Alone(Model, table="orders", settings=TableSettings(replicas=[], stream="off")):
    id: PartitionKey[str]


@pytest.fixture
def slow():
    with LocalEngine(clock=FrozenClock(NOON), durations=LATE) as engine:
        yield engine


def told(slow):
    return [(entry.region, entry.after) for entry in slow.log if entry.region is not None]


async def test_replicas_are_added_one_after_the_other_and_removed_before_the_stream(opened, slow):
    async with opened() as session:
        await session.tables.create(Thrice)
        assert (await session.tables.describe(Thrice)).replicas == ()
        with pytest.raises(TableMismatchError, match="no replica in us-east-1"):
            await session.tables.verify(Thrice)
        await session.tables.apply(await session.tables.plan(Thrice))
        await session.tables.verify(Thrice)
        found = (await session.tables.describe(Thrice)).replicas
        assert [(each.region, each.status) for each in found] == [("us-east-1", "ACTIVE"), ("us-west-2", "ACTIVE")]
        plan = await session.tables.plan(Alone)
        with pytest.raises(PlanHazardError, match="replica-removed"):
            await session.tables.apply(plan)
        await session.tables.apply(plan, allow={"replica-removed", "stream-replaced"})
        assert (await session.tables.plan(Alone)).is_empty
    assert told(slow) == [
        *(("us-east-1", "CREATING"), ("us-east-1", "ACTIVE"), ("us-west-2", "CREATING"), ("us-west-2", "ACTIVE")),
        *(("us-east-1", "DELETING"), ("us-east-1", None), ("us-west-2", "DELETING"), ("us-west-2", None)),
    ]


async def test_a_replica_that_is_being_made_is_awaited_and_not_asked_for_again(opened, slow):
    asked = Faults()
    async with opened(asked) as session:
        await session.tables.create(Plain)
        with anyio.move_on_after(100):
            await session.tables.apply(await session.tables.plan(Twice))
        [found] = (await session.tables.describe(Twice)).replicas
        assert found.status == "CREATING"
        plan = await session.tables.plan(Twice)
        assert [step.before for step in plan.steps] == ["replica in us-east-1 CREATING"]
        with pytest.raises(TableMismatchError):
            await session.tables.verify(Twice)
        await session.tables.apply(plan)
        await session.tables.verify(Twice)
    assert told(slow) == [("us-east-1", "CREATING"), ("us-east-1", "ACTIVE")]
    assert asked.requests["UpdateTable"] == 1


async def test_a_plan_is_of_no_use_once_somebody_else_has_added_the_replica(opened):
    async with opened() as session:
        await session.tables.create(Plain)
        plan = await session.tables.plan(Twice)
        await session.tables.apply(await session.tables.plan(Twice))
        with pytest.raises(PlanOutOfDateError, match="replicas"):
            await session.tables.apply(plan)


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("nth", range(1, 26))
async def test_an_apply_that_is_killed_anywhere_is_continued_by_a_new_plan(opened, slow, nth, applied):
    async with opened() as session:
        await session.tables.create(Plain)
    faults = Faults()
    faults.on(nth=nth).delay(50_000.0, applied=applied)  # the process is killed while it waits for this request
    async with opened(faults) as session:
        with anyio.move_on_after(40_000):
            await session.tables.apply(await session.tables.plan(Thrice), timeout_seconds=100_000)
    async with opened() as session:
        await session.tables.apply(await session.tables.plan(Thrice))
        await session.tables.verify(Thrice)
    assert [each for each in told(slow) if each[1] == "CREATING"] == [
        ("us-east-1", "CREATING"),
        ("us-west-2", "CREATING"),
    ]


class Account(Model, table="orders"):
    id: PartitionKey[str]
    email: Attr[str]
    one_email = Unique("email")


STRONG = {
    "TableName": "orders",
    "TableStatus": "ACTIVE",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "MultiRegionConsistency": "STRONG",
}


@pytest.mark.parametrize(("model", "warnings"), [(Account, 1), (Plain, 0)])
@pytest.mark.parametrize("call", ["plan", "verify"])
async def test_unique_values_on_a_table_with_strong_consistency_are_warned_of(
    transport, open_session, caplog, model, warnings, call
):
    own = {"TableName": "dynamap", **{name: STRONG[name] for name in STRONG if name != "TableName"}}
    own |= {"MultiRegionConsistency": "EVENTUAL"}

    def answer(request):
        described = {"orders": STRONG, "dynamap": own}
        return {"Table": described[request.table]} if request.operation == "DescribeTable" else {}

    transport.otherwise = answer
    async with open_session() as session:
        with contextlib.suppress(TableMismatchError):  # the library's own table has another key
            await getattr(session.tables, call)(model)
    told = [record.getMessage() for record in caplog.records if record.name == "dynamap_async"]
    assert len(told) == warnings
    assert all("items of Account cannot be written, for they have unique values" in each for each in told)
