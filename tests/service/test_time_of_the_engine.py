"""An engine in the process has one time of day, which is that of its sessions too."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from dynamap_async import Model, PartitionKey, TimeToLive
from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import FrozenClock, LocalEngine, VirtualClockLoop

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Note(Model, table="notes"):
    id: PartitionKey[str]


class Login(Model, table="logins", hide_expired=True):
    user: PartitionKey[str]
    ends: TimeToLive[datetime]


async def created_at(engine: LocalEngine) -> float:
    """Create a table, and return the time at which the engine says it did so."""
    async with engine.session() as session:
        await session.tables.create(Note)
        description = await session.tables.describe(Note)
    assert description.created_at is not None
    return description.created_at.timestamp()


@pytest.mark.asyncio
async def test_the_engine_and_its_sessions_have_the_time_of_the_clock_that_is_given():
    clock = FrozenClock(NOON)
    with LocalEngine(models=[Login], clock=clock) as engine:
        clock.advance(60)
        assert await created_at(engine) == NOON.timestamp() + 60
        async with engine.session() as session:
            await session.put(Login(user="ada", ends=NOON + timedelta(seconds=61)))
            assert await session.find(Login, "ada") is not None
            clock.advance(2)
            assert await session.find(Login, "ada") is None


def test_what_a_virtual_loop_waits_passes_for_the_engine_too():
    async def later() -> float:
        await asyncio.sleep(3600)
        return await created_at(engine)

    with LocalEngine(clock=FrozenClock(NOON)) as engine:
        for hours in (0, 1):  # time goes on from one loop to the next
            engine.reset()
            with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
                began = runner.run(created_at(engine))
                engine.reset()
                assert runner.run(later()) - began == 3600
                assert began == NOON.timestamp() + 3600 * hours


def test_on_a_virtual_loop_the_machine_s_time_does_not_go_on():
    async def twice() -> tuple[float, float]:
        first = await created_at(engine)
        engine.reset()
        return first, await created_at(engine)

    with LocalEngine() as engine, asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        first, second = runner.run(twice())
    assert first == second
    assert abs(first - time.time()) < 3600


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_session_that_needs_a_socket_is_refused_on_a_virtual_loop(host):
    async def find() -> None:
        url = engine.endpoint_url.replace("127.0.0.1", host)
        async with engine.session(over="http", endpoint_url=url) as session:
            await session.find(Note, "1")

    told = rf"a socket to {host}:\d+ was asked for; .* by engine\.session\(\)"
    with (
        LocalEngine(models=[Note]) as engine,
        asyncio.Runner(loop_factory=VirtualClockLoop) as runner,
        pytest.raises(ConfigurationError, match=told),
    ):
        runner.run(find())


@pytest.mark.parametrize("wrong", [{"clock": NOON}, {"seed": "7"}, {"seed": True}])
def test_what_is_no_clock_and_no_seed_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="leave it out"):
        LocalEngine(**wrong)
