"""Each setting is made, described, changed, described, and then no difference, on engines fast and slow."""

import pytest

from dynamap_async import (
    Attr,
    ContributorInsights,
    Encryption,
    GlobalIndex,
    Model,
    PartitionKey,
    Recovery,
    Table,
    TableSettings,
)
from dynamap_async.errors import RequestRejectedError, TableWaitTimeoutError
from dynamap_async.request import Request
from dynamap_async.schema import INSIGHTS_MODES
from dynamap_async.testing import Durations, FrozenClock, LocalEngine, NativeEngine

KEY = "arn:aws:kms:eu-west-1:000000000000:key/"
CHANGES = [
    ("stream", "keys", "new-and-old", ["set-stream", "set-stream"], {"stream-replaced"}),
    ("stream", "keys", "off", ["set-stream"], {"stream-replaced"}),
    ("recovery", Recovery(days=3), Recovery(days=30), ["set-point-in-time-recovery"], set()),
    ("recovery", Recovery(days=3), False, ["set-point-in-time-recovery"], {"recovery-off"}),
    ("deletion_protection", False, True, ["set-deletion-protection"], set()),
    ("deletion_protection", True, False, ["set-deletion-protection"], {"protection-off"}),
    ("table_class", "standard", "infrequent-access", ["set-table-class"], {"class-changed"}),
    ("encryption", Encryption(), Encryption(kms_key=f"{KEY}one"), ["set-encryption"], set()),
    ("encryption", Encryption(kms_key=f"{KEY}one"), Encryption(kms_key=f"{KEY}two"), ["set-encryption"], set()),
    ("tags", {"team": "shop"}, {"team": "web", "stage": "test"}, ["set-tags"], set()),
    ("tags", {"team": "shop"}, {}, ["set-tags"], {"tags-removed"}),
    ("replicas", ["us-east-1"], ["us-west-2"], ["set-replicas", "set-replicas"], {"replica-removed"}),
    ("insights", ContributorInsights(), ContributorInsights(table="throttled"), ["set-contributor-insights"], set()),
    ("insights", ContributorInsights(), ContributorInsights(table="off"), ["set-contributor-insights"], set()),
]


each_change = pytest.mark.parametrize(("setting", "before", "after", "kinds", "hazards"), CHANGES)


@pytest.fixture
def forgets(engine):
    """Leave no table behind: it has one name in all tests."""
    yield
    engine.reset()


async def insights(session):
    """Return what the engine says is counted: name of an index, or None -> mode and status."""
    request = Request(operation="ListContributorInsights", body={"TableName": "orders"}, table="orders")
    listed = (await session._executor.send(request))["ContributorInsightsSummaries"]
    return {
        each.get("IndexName"): (each.get("ContributorInsightsMode"), each["ContributorInsightsStatus"])
        for each in listed
    }


async def table_mode(session):
    mode, status = (await insights(session))[None]
    return INSIGHTS_MODES[mode] if status.startswith("ENABL") else "off"


async def described(session, table, setting):
    """Return what DynamoDB says of a setting, as a model declares it."""
    match setting:
        case "recovery":
            found = await session.tables.backups.recovery(table)
            return False if found is None else Recovery(days=found.days)
        case "tags":
            return await session.tables.tags(table)
        case "insights":
            return ContributorInsights(table=await table_mode(session))
        case "replicas":
            return [each.region for each in (await session.tables.describe(table)).replicas]
        case _:
            return getattr((await session.tables.describe(table)).settings, setting)


def table_with(setting, value):
    return Table("orders", partition_key="pk", settings=TableSettings(**{setting: value}))


async def change(session, setting, before, after, kinds, hazards, *, timeout_seconds):
    """Make a table with a setting, describe it, change it, describe it, and find no difference in between."""
    old, new = table_with(setting, before), table_with(setting, after)
    await session.tables.apply(await session.tables.plan(old), timeout_seconds=timeout_seconds)
    assert await described(session, old, setting) == before
    assert (await session.tables.plan(old)).is_empty
    plan = await session.tables.plan(new)
    assert [step.kind for step in plan.steps] == kinds
    assert {hazard.code for hazard in plan.hazards} == hazards
    await session.tables.apply(plan, allow=hazards, timeout_seconds=timeout_seconds)
    assert await described(session, new, setting) == after
    await session.tables.verify(new)
    assert (await session.tables.plan(new)).is_empty


@pytest.mark.virtual_clock
@each_change
async def test_each_setting_on_an_engine_that_takes_its_time(setting, before, after, kinds, hazards):
    with LocalEngine(clock=FrozenClock(1_772_366_400.0), durations=Durations(lag=2.0)) as slow:
        async with slow.session() as session:
            await change(session, setting, before, after, kinds, hazards, timeout_seconds=10_000)


LACKING = {
    (NativeEngine, "recovery"): "UpdateContinuousBackups",
    (NativeEngine, "encryption"): "UpdateTable with SSESpecification",
    (NativeEngine, "replicas"): "UpdateTable with ReplicaUpdates",
    (NativeEngine, "insights"): "UpdateContributorInsights",
}
"""An engine, a setting, and where that matters what it becomes -> the call that the engine refuses, or ignores."""


@pytest.mark.asyncio
@pytest.mark.usefixtures("forgets")
@each_change
async def test_each_setting_on_an_engine_as_it_is(engine, setting, before, after, kinds, hazards):
    kind = type(engine)
    lacking = LACKING.get((kind, setting)) or LACKING.get((kind, setting, str(after)))
    async with engine.session() as session:
        if lacking is None:
            await change(session, setting, before, after, kinds, hazards, timeout_seconds=60)
            return
        # An engine that has it by now fails this test: strike it from the table.
        with pytest.raises((RequestRejectedError, TableWaitTimeoutError)) as raised:
            await change(session, setting, before, after, kinds, hazards, timeout_seconds=0.5)
    if isinstance(raised.value, RequestRejectedError):
        assert lacking.split()[0] in str(raised.value)
    pytest.skip(f"{kind.__name__} has no {lacking}")


def test_each_setting_is_among_them():
    others = {
        "billing",
        "autoscaled",
    }  # the tests of billing, and what is no setting of a table but a reason not to compare
    assert {setting for setting, *_ in CHANGES} == {*TableSettings.__dataclass_fields__} - others


class Order(
    Model,
    table="orders",
    settings=TableSettings(
        insights=ContributorInsights(table="throttled", indexes={"by_city": "accessed-and-throttled"})
    ),
):
    id: PartitionKey[str]
    city: Attr[str]
    size: Attr[int]

    by_city = GlobalIndex(partition_key="city")
    by_size = GlobalIndex(partition_key="size")


class OtherOrder(
    Order,
    table="orders",
    settings=TableSettings(insights=ContributorInsights(table=None, indexes={"by_size": "throttled"})),
): ...


COUNTED = {None: ("THROTTLED_KEYS", "ENABLED"), "by_city": ("ACCESSED_AND_THROTTLED_KEYS", "ENABLED")}


@pytest.mark.asyncio
@pytest.mark.parametrize("way", ["create", "ensure", "apply"])
async def test_a_new_table_has_the_contributor_insights_that_its_model_declares(way):
    async with LocalEngine() as engine, engine.session() as session:
        if way == "apply":
            await session.tables.apply(await session.tables.plan(Order))
        else:
            await getattr(session.tables, way)(Order)

        assert await insights(session) == COUNTED
        await session.tables.verify(Order)


@pytest.mark.asyncio
async def test_contributor_insights_of_an_index_that_no_model_names_are_listed_and_left_alone():
    async with LocalEngine() as engine, engine.session() as session:
        await session.tables.create(Order)
        plan = await session.tables.plan(OtherOrder)
        await session.tables.apply(plan)

        assert plan.not_managed == ("orders: its Contributor Insights", "orders: the Contributor Insights of by_city")
        assert await insights(session) == {**COUNTED, "by_size": ("THROTTLED_KEYS", "ENABLED")}


@pytest.mark.asyncio
async def test_ensure_changes_no_mode_of_contributor_insights_that_are_on():
    class Throttled(
        Order, table="orders", settings=TableSettings(insights=ContributorInsights(table="accessed-and-throttled"))
    ): ...

    async with LocalEngine() as engine, engine.session() as session:
        await session.tables.create(Order)
        await session.tables.ensure(Throttled)

        assert await insights(session) == COUNTED
