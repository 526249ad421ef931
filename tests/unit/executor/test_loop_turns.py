"""While thousands of requests wait for units, the event loop goes round: no turn of it works for long."""

import asyncio
import sys
from types import SimpleNamespace

import pytest

from dynamap_async import Attr, CapacityPolicy, Model, PartitionKey, Session, Throughput, attr
from dynamap_async.errors import ThrottledError

REQUESTS = 3_000
CALLS_PER_SECOND = 3_000_000
"""Of functions: the clock that tells work when to pause goes by them, so that it pauses alike on any machine."""
MOST_CALLS = 25_000
"""In one turn: some eight milliseconds."""
MOST_CALLS_TO_LEAVE = 12
"""For each request that waits no more."""


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


async def calls_of_turns(policy, monkeypatch):
    """Return how many functions are called in the longest turn while requests begin to wait, and when they give up."""
    turns, calls = [], 0
    for module in ("turns", "session.bulk.flow"):
        monkeypatch.setattr(
            f"dynamap_async.{module}.time", SimpleNamespace(perf_counter=lambda: calls / CALLS_PER_SECOND)
        )

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    async def probe():
        while True:
            begin = calls
            await asyncio.sleep(0)
            turns.append(calls - begin)

    session = Session(transport=Refusing(), capacity=policy, close_timeout_seconds=0)
    async with session:
        await session.put_many([])  # imports what writes many items
        sys.setprofile(count)
        try:
            probing = asyncio.create_task(probe())
            load = asyncio.create_task(session.put_many(Note(id=number) for number in range(REQUESTS)))
            while not session._executor._admission.governor.waiting:  # noqa: ASYNC110 - nobody is told of it
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            probing.cancel()
            begin = calls
            load.cancel()
            await asyncio.wait((load,))
            await asyncio.sleep(0)
            left = calls - begin
        finally:
            sys.setprofile(None)
        assert not session._executor._admission.governor.waiting
    return max(turns), left


@pytest.mark.parametrize("limits", ["throttles", Throughput(read=1, write=1)], ids=["learned", "known"])
def test_no_turn_is_long_while_thousands_wait(monkeypatch, limits):
    longest, left = asyncio.run(calls_of_turns(CapacityPolicy(limits=limits), monkeypatch))
    assert longest < MOST_CALLS
    assert left < MOST_CALLS_TO_LEAVE * REQUESTS
