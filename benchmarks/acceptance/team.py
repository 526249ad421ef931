"""Workers: processes of one library that are started, wait for each other, and tell what they saw."""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.acceptance.table import ENTRY, Simulated
from benchmarks.acceptance.task import Task

Figures = dict[str, Any]
"""What was measured, by name."""

PATIENCE_SECONDS = 60.0
"""How long a worker may take beyond the time that it was given."""


class SilentWorkerError(Exception):
    """A worker printed no result, so there are no figures."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A library, and how it is used."""

    label: str
    client: str
    policy: str = "-"
    writers: int = 1


async def work(
    table: Simulated,
    variant: Variant,
    tasks: Sequence[Task],
    meanwhile: Callable[[], Coroutine[Any, Any, None]] | None = None,
    *,
    burst_spent: bool = True,
) -> list[dict[str, Any]]:
    """Start a worker for each task, all at the same time, and return their results.

    Args:
        tasks: one for each process.
        meanwhile: what happens to the table while they work.
        burst_spent: whether the table has no burst left when they begin.

    Raises:
        SilentWorkerError: one of them told nothing.
    """
    processes = [await _started(table, variant, task) for task in tasks]
    try:
        ready = [await _line(process, PATIENCE_SECONDS) for process in processes]
        if "" in ready:
            raise SilentWorkerError(f"{variant.label}: a worker did not start within {PATIENCE_SECONDS:g} s")
        if burst_spent:
            await table.begin()
        else:
            await table.control("/reset")
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(b"go\n")
        longest = max(task.seconds for task in tasks) + PATIENCE_SECONDS
        async with asyncio.TaskGroup() as group:
            if meanwhile is not None:
                group.create_task(meanwhile())
            lines = [group.create_task(_line(process, longest)) for process in processes]
        told = [line.result() for line in lines]
        if "" in told:
            raise SilentWorkerError(f"{variant.label}: a worker ended, or hung, without a word")
        return [json.loads(each) for each in told]
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _started(table: Simulated, variant: Variant, task: Task) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(ENTRY),
        "loader",
        variant.client,
        f"--endpoint={table.endpoint}",
        f"--policy={variant.policy}",
        f"--writers={variant.writers}",
        f"--task={task.told()}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def _line(process: asyncio.subprocess.Process, seconds: float) -> str:
    """Return the next line; empty if none comes."""
    assert process.stdout is not None
    try:
        async with asyncio.timeout(seconds):
            return (await process.stdout.readline()).decode().strip()
    except TimeoutError:
        return ""


def refusals(counts: Figures) -> Figures:
    """Return which part of the requests and of the items was refused, by the server's counts, and why."""
    total = counts["total"]
    return {
        "refused": counts["refused"] / max(1, counts["requests"]),
        "throttled": total["throttled"] / max(1, total["attempts"]),
        "reasons": counts["reasons"],
    }


def kept(told: Figures) -> Figures:
    """Return what is kept of what a worker told, whatever was asked."""
    return {name: told[name] for name in ("error", "versions", "python") if name in told}
