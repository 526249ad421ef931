"""On-demand tables with maxima and warm throughput, on the engines that know them."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, OnDemand, PartitionKey, TableSettings, Throughput

pytestmark = pytest.mark.asyncio


class Bounded(Model, table="clicks", settings=TableSettings(billing=OnDemand(max_read=50, max_write=20))):
    id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex(partition_key="page")  # of an index, only the engine in the process tells maxima


class Wider(Bounded, table="clicks", settings=TableSettings(billing=OnDemand(max_read=-1, max_write=40))): ...


class Warm(Model, table="clicks", settings=TableSettings(billing=OnDemand(warm_read=13_000, warm_write=5_000))):
    id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex(partition_key="page")


class Provisioned(Model, table="clicks", throughput=Throughput(read=5, write=5)):
    id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex(partition_key="page")


async def test_maxima_are_made_described_and_changed(session):
    await session.tables.create(Bounded)
    found = await session.tables.describe(Bounded)
    assert found.settings.billing.maxima == {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 20}
    await session.tables.verify(Bounded)
    await session.tables.apply(await session.tables.plan(Wider))
    await session.tables.verify(Wider)
    await session.tables.apply(await session.tables.plan(Bounded), allow={"throughput-lowered"})
    await session.tables.verify(Bounded)


async def test_a_warm_throughput_is_made_or_told_to_be_unknown(session):
    await session.tables.create(Warm)
    plan = await session.tables.plan(Warm)
    assert plan.is_empty
    told = (await session.tables.describe(Warm)).on_demand.warm_read
    assert told == 13_000 or "warm throughput, which is unknown" in plan.not_managed[0]


async def test_a_provisioned_table_becomes_on_demand_and_provisioned_again(session):
    await session.tables.create(Provisioned)
    plan = await session.tables.plan(Warm)
    await session.tables.apply(plan, allow={"billing-switched", "warm-throughput-cost"})
    assert (await session.tables.describe(Warm)).billing == "on-demand"
    await session.tables.apply(await session.tables.plan(Provisioned), allow={"billing-switched"})
    assert (await session.tables.describe(Warm)).schema.throughput == Throughput(read=5, write=5)


class OfRequests(Model, table="clicks"):
    id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex(partition_key="page")


async def test_a_table_that_was_made_on_demand_becomes_provisioned_with_its_index(session):
    await session.tables.create(OfRequests)
    plan = await session.tables.plan(Provisioned)
    assert [step.kind for step in plan.steps] == ["update-billing"]
    applied = await session.tables.apply(plan, allow={"billing-switched"}, timeout_seconds=10)
    assert applied.done == plan.steps
    assert (await session.tables.plan(Provisioned)).is_empty
    await session.tables.verify(Provisioned)
    await session.tables.update_throughput(Provisioned, throughput=Throughput(read=6, write=6), timeout_seconds=10)
    assert (await session.tables.describe(Provisioned)).schema.throughput == Throughput(read=6, write=6)
