"""Whole sessions before the simulated table, on a clock that jumps: what pacing promises, with numbers that vary."""

import asyncio

import pytest

from dynamap_async import (
    CapacityPolicy,
    Model,
    PartitionKey,
    Session,
    Throughput,
)


class Thing(Model, table="things"):
    id: PartitionKey[str]


@pytest.fixture
def run(virtual_clock):
    def begin(awaitable):
        with asyncio.Runner(loop_factory=virtual_clock, debug=False) as runner:
            return runner.run(awaitable)

    return begin


def table(rate):
    """Return a service with the table of the model."""
    from benchmarks.simulated.service import Service

    made = Service(now)
    units = {"ReadCapacityUnits": rate, "WriteCapacityUnits": rate}
    key = {"AttributeName": "id"}
    made.answer(
        "CreateTable",
        {
            "TableName": "things",
            "KeySchema": [{**key, "KeyType": "HASH"}],
            "AttributeDefinitions": [{**key, "AttributeType": "S"}],
            "ProvisionedThroughput": units,
        },
    )
    return made


def begin(service):
    service.spend_burst()
    service.counts.reset()


def now():
    return asyncio.get_running_loop().time()


async def loaded(service, transport, policy, items, *, seconds):
    """Return the seconds that a load takes, and what was counted."""
    async with Session(transport=transport, capacity=policy) as session:
        await session.put(Thing(id="warm"))
        await asyncio.sleep(30)
        begin(service)
        first = now()
        async with asyncio.timeout(seconds):
            await session.put_many(Thing(id=f"load-{number}") for number in range(items))
        return now() - first, service.counts.total


@pytest.mark.parametrize("rate", [5, 50, 300, 1_000, 4_000])
def test_a_load_bears_that_another_program_took_what_was_saved(run, wire, rate):
    async def whole():
        service = table(rate)
        policy = CapacityPolicy(limits=Throughput(read=rate, write=rate))
        return await loaded(service, wire(service), policy, 4 * rate, seconds=8)

    seconds, total = run(whole())
    assert seconds <= 4 * 1.05
    assert total.throttled <= max(30, 0.15 * rate)
