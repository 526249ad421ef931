"""The web service of the benchmarks reads what was asked for, and its load sees what fails."""

import asyncio

import pytest

from benchmarks.answers import Answers, http
from benchmarks.items import plain
from benchmarks.server import Exchange
from benchmarks.web import load
from benchmarks.web.handlers import HANDLERS, NOTHING, OURS
from benchmarks.web.judge import judge


def figures(*, cpu_us, p99_ms, tracked):
    told = {"cpu_us": cpu_us, "p99_ms": p99_ms, "tracked": tracked}
    return dict.fromkeys(("32", "256", "32, frozen", "256, frozen"), told)


def test_the_share_of_a_request_is_what_the_service_without_a_database_leaves():
    nothing = figures(cpu_us=140.0, p99_ms=10.0, tracked=1_000)
    ours = {**figures(cpu_us=180.0, p99_ms=20.0, tracked=14_000), "256": {"cpu_us": 230.0, "p99_ms": 26.0}}
    missed = {each["budget"]: each for each in judge({NOTHING: nothing, OURS: ours}) if not each["met"]}
    assert {name: round(each["missed_by"], 3) for name, each in missed.items()} == {
        "share of the library, 256: at most 45 us": 1.0,
        "p99, 256: at most 2.5 x no database": 0.04,
        "tracked objects: at most 12,000": 0.083,
    }


def test_nothing_is_judged_without_the_service_that_has_no_database():
    assert judge({OURS: figures(cpu_us=180.0, p99_ms=20.0, tracked=0)}) == []


@pytest.mark.asyncio
@pytest.mark.parametrize("library", [NOTHING, OURS, "aiobotocore"])
async def test_a_handler_reads_the_post_as_a_model(library):
    answers = Answers(scanned=0)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Exchange(answers, {"getitem": 0}), "127.0.0.1", 0)
    async with server, HANDLERS[library](f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as (model, read):
        found = await read("user-000000")
    assert isinstance(found, model)
    assert found.model_dump() == plain("user-000000")


@pytest.mark.asyncio
async def test_the_load_counts_the_requests_that_fail():
    class Failing(asyncio.Protocol):
        def connection_made(self, transport):
            self._transport = transport

        def data_received(self, data):
            status = b"500 Error" if b"user-000001" in data else b"200 OK"
            self._transport.write(http(b"{}").replace(b"200 OK", status))

    server = await asyncio.get_running_loop().create_server(Failing, "127.0.0.1", 0)
    async with server, load._connected(server.sockets[0].getsockname()[1], 3) as connections:
        times, failed = await load._load(connections, 0)
    assert (len(times), failed) == (3, 1)
