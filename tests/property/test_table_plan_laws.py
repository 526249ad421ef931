"""Laws of plans: applied to any table, on tables that take their time, a plan leaves nothing to plan."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async import (
    ALL,
    KEYS_ONLY,
    Encryption,
    GlobalIndex,
    OnDemand,
    Recovery,
    Table,
    TableSettings,
    Throughput,
    include,
)
from dynamap_async.tables import TablePlan
from dynamap_async.testing import Durations, LocalEngine, VirtualClockLoop

INDEXES = [
    GlobalIndex("by-city", partition_key="city"),
    GlobalIndex("by-text", partition_key="text", sort_key="city", projection=KEYS_ONLY),
    GlobalIndex(
        "by-user", partition_key="user", projection=include("city", "text"), throughput=Throughput(read=2, write=9)
    ),
    GlobalIndex("by-all", partition_key=("user", "city"), sort_key="text", projection=ALL),
    GlobalIndex("by-day", partition_key="day", max_read=20, warm_write=5000),
    GlobalIndex("by-city-v2", partition_key="city", projection=KEYS_ONLY, replaces="by-city"),
]
BILLING = [
    None,
    Throughput(read=1, write=9),
    Throughput(read=9, write=1),
    Throughput(read=5, write=5),
    OnDemand(),
    OnDemand(max_read=10, max_write=900, warm_read=13_000),
    OnDemand(max_read=900, max_write=10, warm_write=9_000),
    OnDemand(max_read=-1),
]
QUICK = Durations(
    lag=(0.0, 0.3),
    create_table=(0.0, 0.2),
    update_table=(0.0, 0.2),
    allocate_index=(0.0, 0.2),
    backfill=(0.0, 0.2),
    delete_index=(0.0, 0.2),
    time_to_live=(0.0, 0.2),
    replica=(0.0, 0.2),
)
HAZARDS = {
    "billing-switched",
    "index-deleted",
    "index-replaced",
    "index-throttles-writes",
    "throughput-lowered",
    "ttl-attribute-changed",
    "ttl-deletes-now",
    "warm-throughput-cost",
    "class-changed",
    "protection-off",
    "recovery-off",
    "replica-removed",
    "stream-replaced",
    "tags-removed",
}

tables = st.builds(
    lambda indexes, attribute, settings: Table(
        "items", partition_key="pk", indexes=indexes, time_to_live=attribute, settings=settings
    ),
    st.lists(st.sampled_from(INDEXES), unique=True).filter(
        lambda indexes: INDEXES[0] not in indexes or INDEXES[-1] not in indexes
    ),
    st.sampled_from([None, "at", "until"]),
    st.builds(
        TableSettings,
        billing=st.sampled_from(BILLING),
        stream=st.sampled_from([None, "keys", "new", "off"]),
        recovery=st.sampled_from([None, False, Recovery(days=3), Recovery(days=30)]),
        deletion_protection=st.sampled_from([None, False, True]),
        table_class=st.sampled_from([None, "standard", "infrequent-access"]),
        encryption=st.sampled_from([None, Encryption(), Encryption(kms_key="arn:aws:kms:eu-west-1:0:key/a")]),
        tags=st.sampled_from([None, {}, {"team": "shop"}, {"team": "web", "stage": "test"}]),
    ),
)


def slow_engine(seed):
    return LocalEngine(durations=QUICK, seed=seed)


def most_at_once(log):
    """Return the most indexes of the table that were built or deleted at the same time after it was made."""
    busy, most = set(), 0
    for entry in log:
        if entry.index is not None and entry.after in ("CREATING", "DELETING"):
            busy.add(entry.index)
        elif entry.after in ("ACTIVE", None):
            busy.discard(entry.index)
        most = max(most, len(busy))
    return most


async def changed(engine, before, after, index_changes):
    async with engine.session() as session:
        await session.tables.ensure(before)
        made = len(engine.log)
        plan = await session.tables.plan(after, delete_unknown_indexes=True)
        await session.tables.apply(TablePlan.from_json(plan.to_json()), allow=HAZARDS, timeout_seconds=20_000)
        assert (await session.tables.plan(after, delete_unknown_indexes=True)).is_empty
        await session.tables.verify(after, extra_indexes="fail")
    assert most_at_once(engine.log[made:]) <= 1
    assert set(index_changes(engine.log).values()) <= {1}
    assert not any(step.kind == "delete-index" for step in plan.expand.steps)
    assert sorted(map(str, plan.expand.steps + plan.contract.steps)) == sorted(map(str, plan.steps))
    assert all(len(line) <= 100 for line in str(plan).splitlines())


@given(tables, tables, st.integers(0, 1000))
@settings(max_examples=200)
def test_a_plan_that_was_applied_leaves_nothing_to_plan(index_changes, before, after, seed):
    with slow_engine(seed) as engine, asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(changed(engine, before, after, index_changes))


replicated = st.builds(
    lambda indexes, stream, regions: Table(
        "items", partition_key="pk", indexes=indexes, settings=TableSettings(stream=stream, replicas=regions)
    ),
    st.lists(st.sampled_from(INDEXES[:2]), unique=True),
    st.sampled_from([None, "new-and-old"]),
    st.none() | st.lists(st.sampled_from(["us-east-1", "us-west-2", "eu-north-1"]), unique=True),
)


async def replicas_changed(engine, before, after):
    async with engine.session() as session:
        for declared in (before, after):
            plan = await session.tables.plan(declared, delete_unknown_indexes=True)
            await session.tables.apply(plan, allow=HAZARDS, timeout_seconds=20_000)
            await session.tables.verify(declared, extra_indexes="fail")
            found = {each.region for each in (await session.tables.describe(declared)).replicas}
            if declared.schema.settings.replicas is not None:
                assert found == set(declared.schema.settings.replicas)
    changes = [entry for entry in engine.log if entry.region is not None]
    # Each change of a replica is at its end before the next one begins.
    for begun, ended in zip(changes[::2], changes[1::2], strict=True):
        assert (begun.region, begun.after) == (ended.region, ended.before)
    assert len({(entry.region, entry.after) for entry in changes}) == len(changes)


@given(replicated, replicated, st.integers(0, 1000))
@settings(max_examples=100)
def test_replicas_become_those_that_are_declared_one_at_a_time(before, after, seed):
    with slow_engine(seed) as engine, asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(replicas_changed(engine, before, after))
