"""The process that works: one library, one task. It says when it is ready, begins when it is told, and tells a line."""

import argparse
import asyncio
import gc
import json
import os
import platform
import random
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.acceptance import clients
from benchmarks.acceptance.clients import Client
from benchmarks.acceptance.items import names

WARM_SECONDS = 1.0
HANDLER_KEYS = 200
PAUSE_SECONDS = (0.3, 0.7)
"""How long a handler waits between a get and a put: 50 of them take about 100 write units in a second."""
PROBE_SECONDS = 0.02
"""How often it is measured how late the event loop is."""


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("loader")
    parser.add_argument("client", choices=clients.NAMES)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--policy", default="learned")
    parser.add_argument("--writers", type=int, default=1)
    parser.add_argument("--group", default="load", help="how the keys of the load begin")
    parser.add_argument("--items", type=int, default=0, help="how many to load")
    parser.add_argument("--handlers", type=int, default=0)
    parser.add_argument("--pushers", type=int, default=0, help="tasks that put one item after the other")
    parser.add_argument("--seconds", type=float, required=True, help="the longest time of a load, or that of handlers")
    options = parser.parse_args()
    client = clients.load(options.client)(options.endpoint, policy=options.policy, writers=options.writers)
    told = asyncio.run(_work(client, options))
    told["versions"] = {name: _version(name) for name in client.distributions}
    print(json.dumps({**told, "python": platform.python_version()}), flush=True)
    os._exit(0)  # a library's threads may be retrying still: the run is over


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


async def _work(client: Client, options: argparse.Namespace) -> dict[str, Any]:
    every = names(options.group, options.items)
    await client.open()
    try:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        if options.pushers:
            return await _push(client, options)
        if not options.handlers:
            return await _load(client, every, options.seconds, background=False)
        return await _beside(client, every, options)
    finally:
        await client.close()


async def _load(client: Client, every: list[str], seconds: float, *, background: bool) -> dict[str, Any]:
    """Load all items, or as many as the time allows."""
    begin = time.perf_counter()
    told: dict[str, Any] = {"ended": True}
    try:
        async with asyncio.timeout(seconds):
            await client.load(every, background=background)
    except TimeoutError:
        told = {"ended": False}
    except Exception as error:  # noqa: BLE001 - whatever a library raises is told in its place of the table
        told = {"ended": False, "error": _told(error)}
    return {**told, "seconds": time.perf_counter() - begin}


async def _push(client: Client, options: argparse.Namespace) -> dict[str, Any]:
    """Let tasks put one item after the other; return how many were written, and how many calls failed."""
    until = time.perf_counter() + options.seconds
    told = {"served": 0, "failed": 0}

    async def push(number: int) -> None:
        written = 0
        while time.perf_counter() < until:
            written += 1
            try:
                await client.put(f"{options.group}-{number}-{written}")
            except Exception:  # noqa: BLE001 - whatever a library raises, the next item follows
                told["failed"] += 1
            else:
                told["served"] += 1

    async with asyncio.TaskGroup() as group:
        for number in range(options.pushers):
            group.create_task(push(number))
    return {**told, "seconds": options.seconds}


async def _beside(client: Client, every: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Let handlers work, beside a load if there are items to load."""
    times: dict[str, list[float]] = {"get": [], "put": []}
    lags: list[float] = []
    errors: list[str] = []
    until = time.perf_counter() + WARM_SECONDS + options.seconds
    collections = _collections()
    longest = WARM_SECONDS + options.seconds + 1.0  # its end is not what the handlers are to feel
    async with asyncio.TaskGroup() as group:
        load = group.create_task(_load(client, every, longest, background=True)) if every else None
        for number in range(options.handlers):
            group.create_task(_handle(client, random.Random(number), times, errors, until))
        group.create_task(_probe(lags, until))
    told: dict[str, Any] = {"seconds": options.seconds, "errors": errors[:3], "failed": len(errors)}
    if load is not None and "error" in load.result():
        told["error"] = load.result()["error"]
    told["full_collections"] = _collections() - collections
    for kind, each in {**times, "lag": lags}.items():
        each.sort()
        shares = {f"p{share}": _percentile(each, share) for share in (50, 99, 100)}
        told[kind] = {"calls": len(each), **shares}
    return told


async def _handle(
    client: Client, chance: random.Random, times: dict[str, list[float]], errors: list[str], until: float
) -> None:
    """Get and put, again and again; the first second is not measured."""
    kept = _names()
    measured_from = time.perf_counter() + WARM_SECONDS
    await asyncio.sleep(chance.uniform(0, PAUSE_SECONDS[1]))
    while time.perf_counter() < until:
        for kind, call in (("get", client.get), ("put", client.put)):
            begin = time.perf_counter()
            try:
                await call(chance.choice(kept))
            except Exception as error:  # noqa: BLE001 - a handler goes on, as one of a service does
                errors.append(_told(error))
            if begin >= measured_from:
                times[kind].append(time.perf_counter() - begin)
        await asyncio.sleep(chance.uniform(*PAUSE_SECONDS))


async def _probe(lags: list[float], until: float) -> None:
    """Take note of how late the event loop wakes a task: what anybody's answer waits for besides."""
    await asyncio.sleep(WARM_SECONDS)
    while (begin := time.perf_counter()) < until:
        await asyncio.sleep(PROBE_SECONDS)
        lags.append(time.perf_counter() - begin - PROBE_SECONDS)


def _collections() -> int:
    """Return how often all objects of the process were looked through for garbage, which stops everything else."""
    return gc.get_stats()[-1]["collections"]


def _names() -> list[str]:
    return names("handler", HANDLER_KEYS)


def _percentile(ordered: list[float], percent: int) -> float:
    """Return milliseconds."""
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1e3


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:200]
