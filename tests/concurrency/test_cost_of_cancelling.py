"""What it costs to give up waiting: n callers of one key cost n times what one costs, not n times n.

Counted are the calls of functions, and the comparisons that a search in a list makes, from the first cancellation until
nothing is left to do: of n callers, and of twice as many.
"""

import asyncio
import gc
import sys

import pytest

from dynamap_async import BatchPolicy, CapacityPolicy, Session, Throughput
from dynamap_async.executor.calls import Call
from dynamap_async.executor.pacing.tickets import Ticket

SLOW = CapacityPolicy(limits=Throughput(read=1, write=1))
NUMBER = 150


class Stalled:
    """A service that does not answer."""

    max_connections = 2

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        await asyncio.Event().wait()


class Steps:
    """Counts calls, and comparisons of what waits."""

    def __init__(self, monkeypatch):
        self.number = 0
        for kind in (Call, Ticket):
            monkeypatch.setattr(kind, "__eq__", self._equal, raising=False)

    def _equal(self, other):
        self.number += 1
        return self is other

    def __enter__(self):
        self.number = 0
        gc.disable()  # destructors are nobody's steps here
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)
        gc.enable()

    def _count(self, frame, event, argument):
        if event in ("call", "c_call"):
            self.number += 1


async def read(session, model, at):
    await session.find(model, "s", at)


async def put(session, model, at):
    await session.put(model(sensor="s", at=at))


async def update(session, model, at):
    await session.update(model, "s", at).add(model.value, 1)


async def transact(session, model, at):
    async with session.transaction() as tx:
        tx.put(model(sensor="s", at=at))
        tx.put(model(sensor="t", at=at))


async def query(session, model, at):
    await session.query(model).where(model.sensor == "s", model.at == at)


async def read_in_a_scope(session, model, at):
    async with session.scope("handler"):
        await session.find(model, "s", at)


ONE_BY_ONE = BatchPolicy(enabled=False)
CALLERS = {
    "readers of one key": (read, 1, {}),
    "readers of keys of their own": (read, NUMBER * 2, {}),
    "readers of one key in scopes": (read_in_a_scope, 1, {}),
    "writers of one key": (put, 1, {}),
    "writers of keys of their own": (put, NUMBER * 2, {}),
    "updates of one key": (update, 1, {}),
    "updates of keys of their own": (update, NUMBER * 2, {}),
    "transactions of the same items": (transact, 1, {}),
    "queries": (query, NUMBER * 2, {}),
    "readers of one key that wait for units": (read, 1, {"capacity": SLOW}),
    "readers that wait for units one by one": (read, NUMBER * 2, {"capacity": SLOW, "batching": ONE_BY_ONE}),
    "writers of one key that wait for units": (put, 1, {"capacity": SLOW}),
    "writers of keys of their own that wait for units": (put, NUMBER * 2, {"capacity": SLOW}),
    "queries that wait for units": (query, NUMBER * 2, {"capacity": SLOW}),
}


async def begun(caller, session, model, number, keys):
    tasks = [asyncio.create_task(caller(session, model, at % keys)) for at in range(number)]
    for _ in range(20):
        await asyncio.sleep(0)
    return tasks


async def cost(steps, model, number, case, order):
    """Return how many steps it takes that so many callers give up."""
    caller, keys, settings = CALLERS[case]
    async with Session(transport=Stalled(), close_timeout_seconds=0, **settings) as session:
        tasks = await begun(caller, session, model, number, keys)
        with steps:
            for task in tasks if order == "first" else reversed(tasks):
                task.cancel()
            await asyncio.wait(tasks)
        return steps.number


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("case", CALLERS)
async def test_giving_up_costs_each_caller_the_same_however_many_there_are(monkeypatch, model, case, order):
    steps = Steps(monkeypatch)
    some = await cost(steps, model, NUMBER, case, order)
    twice = await cost(steps, model, 2 * NUMBER, case, order)
    assert some > NUMBER
    assert twice < 2.2 * some, (some / NUMBER, twice / NUMBER / 2)


async def test_joining_a_read_in_a_scope_costs_each_caller_the_same(monkeypatch, model):
    steps = Steps(monkeypatch)

    async def cost_of_joining(number):
        async with Session(transport=Stalled(), close_timeout_seconds=0) as session:
            with steps:
                tasks = await begun(read_in_a_scope, session, model, number, 1)
            for task in tasks:
                task.cancel()
        return steps.number

    assert await cost_of_joining(2 * NUMBER) < 2.2 * await cost_of_joining(NUMBER)
