"""While thousands of requests wait for units, the event loop goes round: no turn of it works for long."""

import asyncio
import time

from dynamap_async import Attr, CapacityPolicy, Model, PartitionKey, Session, Throughput, attr
from dynamap_async.errors import ThrottledError

LONGEST_SECONDS = 0.02
"""Of the thread's own time, so that a busy machine does not count."""


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


async def longest_turn(policy):
    turns = []

    async def probe():
        while True:
            begin = time.thread_time()
            await asyncio.sleep(0)
            turns.append(time.thread_time() - begin)

    session = Session(transport=Refusing(), capacity=policy, close_timeout_seconds=0)
    async with session:
        probing = asyncio.create_task(probe())
        load = asyncio.create_task(session.put_many(Note(id=number) for number in range(3000)))
        await asyncio.sleep(0.2)
        assert session._executor._admission.governor.waiting
        probing.cancel()
        load.cancel()
        await asyncio.wait((load,))
        await asyncio.sleep(0)
        assert not session._executor._admission.governor.waiting
    return sorted(turns)[-2]  # the longest may be a collection of garbage


def test_no_turn_is_long_where_a_limit_is_known():
    assert asyncio.run(longest_turn(CapacityPolicy(limits=Throughput(read=1, write=1)))) < LONGEST_SECONDS


def test_no_turn_is_long_where_what_is_queued_has_to_wait_after_all():
    assert asyncio.run(longest_turn(CapacityPolicy())) < LONGEST_SECONDS
