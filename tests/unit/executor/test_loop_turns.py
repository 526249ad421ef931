"""While thousands of requests wait for units, the event loop goes round: no turn of it works for long.

Both clocks go by what is called: the one that tells work when to pause, and the event loop's, which is virtual. So the
counts are the same on any machine, whatever else it does.
"""

import asyncio
from types import SimpleNamespace

import pytest

from dynamap_async import Attr, CapacityPolicy, Model, PartitionKey, Session, Throughput, attr
from dynamap_async.errors import ThrottledError
from dynamap_async.testing import VirtualClockLoop

REQUESTS = 3_000
CALLS_PER_SECOND = 3_000_000
"""Of functions, as the clock has it that tells work when to pause."""
MOST_CALLS = 20_000
"""In one turn: some seven milliseconds. It is 14,900."""
MOST_CALLS_TO_LEAVE = 40
"""For each request that waits no more; it is 35, of however many."""


class Note(Model, table="notes"):
    id: PartitionKey[int]
    text: Attr[str] = attr(default="")


class Refusing:
    """A transport that refuses the first calls, and carries out nothing after them."""

    max_connections = 4

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        await asyncio.sleep(0.001)
        raise ThrottledError("no", service_code="No", operation=request.operation, table="notes", status=400)


def calls_of_turns(policy, noting_calls, monkeypatch):
    """Return how many functions are called in the longest turn while requests begin to wait, and when they give up."""
    turns, calls = [0], 0
    for module in ("turns", "stored.flow"):
        monkeypatch.setattr(
            f"dynamap_async.{module}.time", SimpleNamespace(perf_counter=lambda: calls / CALLS_PER_SECOND)
        )

    def count(_frame):
        nonlocal calls
        calls += 1

    class Turns(VirtualClockLoop):
        def _run_once(self):
            begin = calls
            super()._run_once()
            turns.append(calls - begin)

    async def counted():
        async with Session(transport=Refusing(), capacity=policy, close_timeout_seconds=0) as session:
            await session.put_many([])  # imports what writes many items
            with noting_calls(count):
                load = asyncio.create_task(session.put_many(Note(id=number) for number in range(REQUESTS)))
                while not session._executor._admission.governor.waiting:  # noqa: ASYNC110 - nobody is told of it
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.2)
                longest, begin = max(turns), calls
                load.cancel()
                await asyncio.wait((load,))
                await asyncio.sleep(0)
                left = calls - begin
            assert not session._executor._admission.governor.waiting
        return longest, left

    with asyncio.Runner(loop_factory=Turns, debug=False) as runner:
        return runner.run(counted())


@pytest.mark.parametrize("limits", ["throttles", Throughput(read=1, write=1)], ids=["learned", "known"])
def test_no_turn_is_long_while_thousands_wait(noting_calls, monkeypatch, limits):
    longest, left = calls_of_turns(CapacityPolicy(limits=limits), noting_calls, monkeypatch)
    assert longest < MOST_CALLS
    assert left < MOST_CALLS_TO_LEAVE * REQUESTS
