"""The process that works: one library, one task. It says when it is ready, begins when it is told, and tells a line."""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import platform
import random
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

from benchmarks.acceptance import clients
from benchmarks.acceptance.clients import Client
from benchmarks.acceptance.items import names
from benchmarks.acceptance.task import Task

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
    parser.add_argument("--task", type=Task.of, required=True, help="what to do")
    options = parser.parse_args()
    task: Task = options.task
    how = {"policy": options.policy, "writers": options.writers, "shelved": task.shelved}
    client = clients.load(options.client)(options.endpoint, **how)
    told = asyncio.run(_work(client, task))
    told["versions"] = {name: _version(name) for name in client.distributions}
    print(json.dumps({**told, "python": platform.python_version()}), flush=True)
    os._exit(0)  # a library's threads may be retrying still: the run is over


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


async def _work(client: Client, task: Task) -> dict[str, Any]:
    await client.open()
    try:
        if task.warm_seconds:
            for name in names("warm", 20):
                await client.put(name)
            await asyncio.sleep(task.warm_seconds)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        return await _JOBS[task.job](client, task)
    finally:
        await client.close()


async def _load_alone(client: Client, task: Task) -> dict[str, Any]:
    begin = time.process_time()
    told = await _load(client, names(task.group, task.items), task.seconds, background=False)
    return {**told, "cpu_us": (time.process_time() - begin) / max(1, task.items) * 1e6}


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


async def _push(client: Client, task: Task) -> dict[str, Any]:
    """Run tasks that put one item after the other, for a time or until there are enough items."""
    return await _repeat(client.put, task, task.items or sys.maxsize)


async def _free(client: Client, task: Task) -> dict[str, Any]:
    """Push or load by turns with pacing and without; return the median cost of an item, and the median quotient.

    In one process and in many short rounds, of which two are compared that follow each other: the machine's speed
    changes by half from one moment to the next, and from process to process.
    """
    job = _push if task.tasks else _load_alone
    other = client.unpaced()
    costs: dict[Client, list[float]] = {client: [], other: []}
    await other.open()
    try:
        for number in range(task.rounds):
            for each in (client, other) if number % 2 else (other, client):
                costs[each].append((await job(each, task))["cpu_us"])
    finally:
        await other.close()
    quotients = [paced / unpaced for paced, unpaced in zip(costs[client], costs[other], strict=True)]
    return {"cpu_us": median(costs[client]), "cpu_us_unpaced": median(costs[other]), "cpu_times": median(quotients)}


async def _count(client: Client, task: Task) -> dict[str, Any]:
    """Run tasks that add to one counter after the other, each once."""
    return await _repeat(client.count, task, task.items)


async def _repeat(call: Callable[[str], Awaitable[object]], task: Task, most: int) -> dict[str, Any]:
    """Run tasks that call again and again; return how many calls were served, how many failed, and the cost of one."""
    begin, cpu = time.perf_counter(), time.process_time()
    numbers = iter(range(most))
    told = {"served": 0, "failed": 0}

    async def repeat() -> None:
        for number in numbers:
            if time.perf_counter() - begin > task.seconds:
                return
            try:
                await call(f"{task.group}-{number:06d}")
            except Exception:  # noqa: BLE001 - whatever a library raises, the next item follows
                told["failed"] += 1
            else:
                told["served"] += 1

    async with asyncio.TaskGroup() as group:
        for _ in range(task.tasks):
            group.create_task(repeat())
    cost = (time.process_time() - cpu) / max(1, told["served"]) * 1e6
    return {**told, "seconds": time.perf_counter() - begin, "cpu_us": cost}


async def _handle_all(client: Client, task: Task) -> dict[str, Any]:
    """Run handlers, beside a load if there are items to load, and beside a scan; then load what comes next."""
    told = await _beside(client, names(task.group, task.items), task)
    if task.next_items:
        after = await _load(client, names("next", task.next_items), task.seconds, background=False)
        told["next_seconds"] = after["seconds"]
    return told


async def _usage(client: Client, task: Task) -> dict[str, Any]:
    return await client.usage(task.tasks, task.items)


async def _budgets(client: Client, _task: Task) -> dict[str, Any]:
    await client.spend_budgets()
    return {}


async def _beside(client: Client, every: list[str], options: Task) -> dict[str, Any]:
    times: dict[str, list[float]] = {"get": [], "put": []}
    lags: list[float] = []
    errors: list[str] = []
    until = time.perf_counter() + WARM_SECONDS + options.seconds
    collections = _collections()
    longest = WARM_SECONDS + options.seconds + 1.0  # its end is not what the handlers are to feel
    async with asyncio.TaskGroup() as group:
        load = group.create_task(_load(client, every, longest, background=True)) if every else None
        if options.scans:
            group.create_task(_scan(client, options.scans, longest))
        for number in range(options.tasks):
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


async def _scan(client: Client, segments: int, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                await client.scan(segments)


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
    """Record how late the event loop wakes a task, which every answer waits for."""
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
    """Return a percentile in milliseconds."""
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1e3


_JOBS: dict[str, Callable[[Client, Task], Awaitable[dict[str, Any]]]] = {
    "load": _load_alone,
    "push": _push,
    "free": _free,
    "count": _count,
    "handle": _handle_all,
    "usage": _usage,
    "budgets": _budgets,
}


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:200]
