"""How many requests a question of the benchmarks takes: of this library, and of the floors beside it."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from benchmarks import subjects
from benchmarks.answers import Answers
from benchmarks.items import START, users
from benchmarks.server import Exchange
from benchmarks.subjects import FLOOR, LEAN, OURS

SCANNED = 1_600


@asynccontextmanager
async def opened(name, *, distinct):
    """Open a subject against the stub, and give it with the counts of the requests."""
    counts = Counter()
    answers, loop = Answers(scanned=SCANNED), asyncio.get_running_loop()
    server = await loop.create_server(lambda: Exchange(answers, counts), "127.0.0.1", 0)
    subject = subjects.load(name)()
    subject.prepare(distinct)
    await subject.open(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    try:
        yield subject, counts
    finally:
        await subject.close()
        server.close()
        await server.wait_closed()


async def together(call, count):
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(call(number))


ALIKE = {
    "get": (lambda subject: subject.get_alone(0), {"getitem": 1}),
    "put": (lambda subject: subject.put_alone(0), {"putitem": 1}),
    "update": (lambda subject: subject.update(0), {"updateitem": 1}),
    "query": (lambda subject: subject.query(), {"query": 1}),
    "transaction": (lambda subject: subject.transact(0), {"transactwriteitems": 1}),
    "batch-write-of-400": (lambda subject: subject.batch_write(400), {"batchwriteitem": 16}),
    "stream-of-1050": (lambda subject: subject.stream(1_050), {"query": 11}),
    "scan-in-8-segments": (lambda subject: subject.scan(), {"scan": SCANNED // 100}),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("name", [FLOOR, LEAN, OURS])
@pytest.mark.parametrize(("ask", "expected"), ALIKE.values(), ids=ALIKE)
async def test_this_library_sends_as_many_requests_as_the_floor(name, ask, expected):
    async with opened(name, distinct=400) as (subject, counts):
        await ask(subject)
    assert counts == expected


@pytest.mark.asyncio
@pytest.mark.parametrize("name", [FLOOR, LEAN, OURS])
async def test_a_get_finds_the_item_of_its_key(name):
    async with opened(name, distinct=10) as (subject, _):
        found = await subject.get(7)
    assert (found["user_id"]["S"] if isinstance(found, dict) else found.user_id) == users(10)[7]


@pytest.mark.asyncio
async def test_the_lean_floor_waits_for_a_connection_where_all_are_taken():
    async with opened(LEAN, distinct=10) as (subject, counts):
        await together(lambda _: subject.get(0), 200)
    assert counts == {"getitem": 200}
    assert len(subject._opened) == 64


@pytest.mark.asyncio
async def test_10000_keys_take_100_requests():
    async with opened(OURS, distinct=10) as (subject, counts):
        subject._keys = [(name, START) for name in users(10_000)]
        found = await subject.batch_get(10_000)
    assert len(found) == 10_000
    assert counts == {"batchgetitem": 100}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("call", "expected"),
    [("get", {"batchgetitem": 4}), ("put", {"batchwriteitem": 16})],
    ids=["gets", "puts"],
)
async def test_400_concurrent_calls_share_full_requests(call, expected):
    async with opened(OURS, distinct=400) as (subject, counts):
        await together(getattr(subject, call), 400)
    assert counts == expected


@pytest.mark.asyncio
async def test_opening_sends_nothing():
    async with opened(OURS, distinct=10) as (_, counts):
        pass
    assert counts == {}


@pytest.mark.asyncio
@pytest.mark.parametrize("count", [1, 99, 100, 101, 1_000])
async def test_a_long_query_finds_as_many_items_as_its_key_says(count):
    async with opened(OURS, distinct=10) as (subject, counts):
        assert await subject.stream(count) == count
    assert counts == {"query": -(-count // 100)}
