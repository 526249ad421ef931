"""Billing of tables that take their time: each setting is made, changed, and then no difference any more."""

import pytest

from dynamap_async import GlobalIndex, OnDemand, Table, TableSettings, Throughput
from dynamap_async.testing import Durations, LocalEngine

ALLOWED = {"billing-switched", "throughput-lowered", "warm-throughput-cost"}
PAIRS = [
    (OnDemand(), OnDemand(max_read=50, max_write=20)),
    (OnDemand(max_read=50, max_write=20), OnDemand(max_read=-1, max_write=40)),
    (OnDemand(max_read=50), OnDemand(max_read=9, warm_read=13_000)),
    (OnDemand(warm_read=13_000), OnDemand(warm_read=20_000, warm_write=5_000)),
    (Throughput(read=5, write=9), OnDemand(max_read=7, warm_write=5_000)),
    (OnDemand(max_read=7, warm_write=5_000), Throughput(read=5, write=9)),
    (Throughput(read=5, write=9), Throughput(read=9, write=5)),
]


def table(billing, **limits):
    index = GlobalIndex("by-city", partition_key="city", **limits)
    return Table("orders", partition_key="pk", indexes=[index], settings=TableSettings(billing=billing))


@pytest.mark.parametrize(("before", "after"), PAIRS)
async def test_each_kind_of_billing_is_made_changed_and_then_no_difference(before, after):
    with LocalEngine(durations=Durations(lag=2.0)) as engine:
        async with engine.session() as session:
            for wanted, limits in ((before, {"max_write": 30}), (after, {"max_write": 10, "warm_read": 14_000})):
                declared = table(wanted, **limits)
                await session.tables.ensure(declared)
                plan = await session.tables.plan(declared, sample_pages=0)
                assert plan.is_empty is (wanted is before)
                await session.tables.apply(plan, allow=ALLOWED)
                await session.tables.verify(declared)


async def test_a_warm_throughput_that_rose_by_itself_meanwhile_is_enough():
    with LocalEngine(durations=Durations(lag=0.0)) as engine:
        async with engine.session() as session:
            await session.tables.create(table(OnDemand()))
            plan = await session.tables.plan(table(OnDemand(warm_read=13_000)), sample_pages=0)
            higher = await session.tables.plan(table(OnDemand(warm_read=20_000)), sample_pages=0)
            await session.tables.apply(higher, allow=ALLOWED)
            done = await session.tables.apply(plan, allow=ALLOWED)
            assert len(done.skipped) == 1
