"""Whole sessions before the simulated table, on a clock that jumps: what pacing promises, with numbers that vary."""

import asyncio
import random

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


@pytest.mark.parametrize("limits", ["throttles", "describe"], ids=["learned", "known"])
@pytest.mark.parametrize(("rate", "seed"), [(300, 3), (1_000, 3), (1_000, 4)])
def test_a_table_that_refused_everything_is_used_in_the_second_after_though_it_has_saved_nothing(
    run, wire, rate, seed, limits
):
    async def stored():
        random.seed(seed)  # of which sessions draw how long they wait
        service, numbers = table(rate), iter(range(10**9))

        def so_far():
            return service.counts.total.write_units

        async with Session(transport=wire(service, seed=seed), capacity=CapacityPolicy(limits=limits)) as session:
            await session.put(Thing(id="warm"))
            begin(service)
            end = now() + 7

            async def put():
                while now() < end:
                    await session.put(Thing(id=f"put-{next(numbers)}"))

            async with asyncio.TaskGroup() as group:
                for _ in range(32):
                    group.create_task(put())
                await asyncio.sleep(2)
                first = so_far()
                await asyncio.sleep(2)
                before = (so_far() - first) / 2
                service.refused_part = 1.0
                await asyncio.sleep(2)
                service.refused_part = 0.0
                service.spend_burst()
                first = so_far()
                await asyncio.sleep(1)
                return before, so_far() - first

    before, after = run(stored())
    assert after >= 0.8 * before
