"""The load on a service: clients that each ask again as soon as they have an answer. It prints one line of JSON."""

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop

from benchmarks.connection import Connection, RefusedError
from benchmarks.items import users

WARM_SECONDS = 0.5


def main() -> int:
    """Measure a service as it is, and again with what was loaded kept from the garbage collector."""
    parser = argparse.ArgumentParser()
    parser.add_argument("load")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--clients", type=int, nargs="+", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    print(json.dumps(uvloop.run(_measure(options.port, options.clients, options.seconds))))
    return 0


async def _measure(port: int, numbers: list[int], seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for state in ("", ", frozen"):
        for clients in numbers:
            async with _connected(port, clients) as connections:
                await _load(connections, WARM_SECONDS)
                before = await _ask(connections[0], "/usage")
                begin = time.perf_counter()
                times, failed = await _load(connections, seconds)
                elapsed = time.perf_counter() - begin
                after = await _ask(connections[0], "/usage")
            times.sort()
            found[f"{clients}{state}"] = {
                "rate": len(times) / elapsed,
                "cpu_us": (after["cpu"] - before["cpu"]) / len(times) * 1e6,
                "p50_ms": times[len(times) // 2] * 1e3,
                "p99_ms": times[int(len(times) * 0.99)] * 1e3,
                "failed": failed,
                "tracked": after["tracked"],
            }
        async with _connected(port, 1) as (connection,):
            await _ask(connection, "/freeze")
    return found


@asynccontextmanager
async def _connected(port: int, count: int) -> AsyncIterator[list[Connection]]:
    """Open connections; anew each time, since uvicorn closes those that are idle for five seconds."""
    loop = asyncio.get_running_loop()
    connections = [(await loop.create_connection(Connection, "127.0.0.1", port))[1] for _ in range(count)]
    yield connections
    for connection in connections:
        connection.close()


async def _load(connections: list[Connection], seconds: float) -> tuple[list[float], int]:
    """Send requests over each connection for a time; return the latencies, and the number of failures."""
    times: list[float] = []
    failed = 0
    begin = time.perf_counter()
    ends = begin + seconds

    async def client(connection: Connection, user: str) -> None:
        request = _request(f"/posts/{user}")
        nonlocal failed
        now = begin
        while now <= ends:
            before = now
            try:
                await connection.send(request, b"")
            except RefusedError:
                failed += 1
            now = time.perf_counter()
            times.append(now - before)

    async with asyncio.TaskGroup() as group:
        for connection, user in zip(connections, users(len(connections)), strict=True):
            group.create_task(client(connection, user))
    return times, failed


async def _ask(connection: Connection, path: str) -> dict[str, float]:
    answer: dict[str, float] = json.loads(await connection.send(_request(path), b""))
    return answer


def _request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
