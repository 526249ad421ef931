"""Laws of plans: applied to any table, on tables that take their time, a plan leaves nothing to plan."""

import asyncio
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async import (
    ALL,
    KEYS_ONLY,
    Encryption,
    GlobalIndex,
    Recovery,
    Session,
    Table,
    TableSettings,
    Throughput,
    include,
)
from dynamap_async.errors import ResourceNotFoundError
from dynamap_async.tables import TablePlan
from dynamap_async.testing import VirtualClockLoop
from dynamap_async.testing.slow_tables import Durations, SlowTables

INDEXES = [
    GlobalIndex("by-city", partition_key="city"),
    GlobalIndex("by-text", partition_key="text", sort_key="city", projection=KEYS_ONLY),
    GlobalIndex(
        "by-user", partition_key="user", projection=include("city", "text"), throughput=Throughput(read=2, write=9)
    ),
    GlobalIndex("by-all", partition_key=("user", "city"), sort_key="text", projection=ALL),
    GlobalIndex("by-city-v2", partition_key="city", projection=KEYS_ONLY, replaces="by-city"),
]
QUICK = Durations(
    lag=(0.0, 0.3),
    create_table=(0.0, 0.2),
    update_table=(0.0, 0.2),
    allocate_index=(0.0, 0.2),
    backfill=(0.0, 0.2),
    delete_index=(0.0, 0.2),
    time_to_live=(0.0, 0.2),
)
HAZARDS = {
    "billing-switched",
    "index-deleted",
    "index-replaced",
    "index-throttles-writes",
    "throughput-lowered",
    "ttl-attribute-changed",
    "ttl-deletes-now",
    "class-changed",
    "protection-off",
    "recovery-off",
    "stream-replaced",
    "tags-removed",
}

tables = st.builds(
    lambda indexes, throughput, attribute, settings: Table(
        "items", partition_key="pk", indexes=indexes, throughput=throughput, time_to_live=attribute, settings=settings
    ),
    st.lists(st.sampled_from(INDEXES), unique=True).filter(
        lambda indexes: INDEXES[0] not in indexes or INDEXES[-1] not in indexes
    ),
    st.sampled_from([None, Throughput(read=1, write=9), Throughput(read=9, write=1), Throughput(read=5, write=5)]),
    st.sampled_from([None, "at", "until"]),
    st.builds(
        TableSettings,
        stream=st.sampled_from([None, "keys", "new", "off"]),
        recovery=st.sampled_from([None, False, Recovery(days=3), Recovery(days=30)]),
        deletion_protection=st.sampled_from([None, False, True]),
        table_class=st.sampled_from([None, "standard", "infrequent-access"]),
        encryption=st.sampled_from([None, Encryption(), Encryption(kms_key="arn:aws:kms:eu-west-1:0:key/a")]),
        tags=st.sampled_from([None, {}, {"team": "shop"}, {"team": "web", "stage": "test"}]),
    ),
)


class Engine:
    """Takes everything, and counts the indexes that it was asked for."""

    max_connections = 8

    def __init__(self):
        self.built = Counter()

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        if request.operation == "DescribeTable":
            facts = {"operation": "DescribeTable", "table": request.table, "status": 400}
            raise ResourceNotFoundError("no", service_code="ResourceNotFoundException", **facts)
        if request.operation == "Scan":
            return {"Items": [], "Count": 0, "ScannedCount": 0}
        for each in request.body.get("GlobalSecondaryIndexUpdates", ()):
            self.built[str(each)] += 1
        return {}


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


async def changed(before, after, seed):
    engine = Engine()
    slow = SlowTables(seed=seed, durations=QUICK)
    async with Session(transport=slow.wrap(engine)) as session:
        await session.tables.ensure(before)
        made = len(slow.log)
        plan = await session.tables.plan(after, delete_unknown_indexes=True)
        await session.tables.apply(TablePlan.from_json(plan.to_json()), allow=HAZARDS, timeout_seconds=20_000)
        assert (await session.tables.plan(after, delete_unknown_indexes=True)).is_empty
        await session.tables.verify(after, extra_indexes="fail")
    assert most_at_once(slow.log[made:]) <= 1
    assert set(engine.built.values()) <= {1}
    assert not any(step.kind == "delete-index" for step in plan.expand.steps)
    assert sorted(map(str, plan.expand.steps + plan.contract.steps)) == sorted(map(str, plan.steps))
    assert all(len(line) <= 100 for line in str(plan).splitlines())


@given(tables, tables, st.integers(0, 1000))
@settings(max_examples=200)
def test_a_plan_that_was_applied_leaves_nothing_to_plan(before, after, seed):
    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        runner.run(changed(before, after, seed))
