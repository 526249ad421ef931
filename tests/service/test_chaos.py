"""One answer in five is faulty, and nothing is lost and nothing is there twice."""

from collections import Counter

import pytest

from dynamap_async import Attr, CapacityPolicy, Model, PartitionKey, SortKey
from dynamap_async.testing import NativeEngine
from dynamap_async.testing.faults import Faults

# Refusals that come at random, whatever the rate, slow a paced session down for good: a few items show that it arrives.
UNPACED, PACED = CapacityPolicy(enabled=False), CapacityPolicy()
LOADS = [
    pytest.param("transport", 20_000, UNPACED, id="unpaced"),
    pytest.param("transport", 300, PACED, id="paced"),
    pytest.param("own connections", 4_000, UNPACED, id="own connections"),
    pytest.param("aiohttp", 4_000, UNPACED, id="aiohttp"),
]


class Reading(Model, table="readings"):
    sensor: PartitionKey[str]
    at: SortKey[int]
    value: Attr[str]


@pytest.mark.asyncio
@pytest.mark.parametrize(("faulty_session", "count", "capacity"), LOADS, indirect=["faulty_session"])
async def test_all_items_survive_a_network_that_fails_every_fifth_time(
    native_executable, faulty_session, count, capacity
):
    # Thousands of callbacks that each record a traceback take minutes.
    items = [Reading(sensor=f"s{number % 97}", at=number, value=f"v{number}") for number in range(count)]
    faults = Faults.random(share=0.2, seed=7)
    with NativeEngine(native_executable) as engine:
        async with engine.session() as session:
            await session.tables.create(Reading)
        async with faulty_session(engine, faults, capacity=capacity) as session:
            await session.put_many(items)
            found = await session.get_many(Reading, [(item.sensor, item.at) for item in items])
        async with engine.session() as session:
            stored = await session.scan(Reading)

    assert found == items
    assert Counter((item.sensor, item.at) for item in stored) == Counter((item.sensor, item.at) for item in items)
    faulty = [entry.fault for entry in faults.log if entry.fault is not None]
    assert len(faulty) > len(faults.log) / 10
    assert len(set(faulty)) >= (6 if count > 1_000 else 2)
