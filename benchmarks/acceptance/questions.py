"""What is asked of each library, and what the answers are: figures, by name."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.acceptance import handlers, situations
from benchmarks.acceptance.clients import OURS
from benchmarks.acceptance.table import Simulated
from benchmarks.acceptance.task import Effort, Task
from benchmarks.acceptance.team import Figures, Variant, kept, refusals, work

KNOWN = Variant("dynamap_async, limit known", OURS, "known")
LEARNED = Variant("dynamap_async, limit learned", OURS, "learned")
AIOBOTOCORE = Variant("aiobotocore", "aiobotocore")
PEERS = (
    AIOBOTOCORE,
    Variant("aiobotocore, 8 writers", "aiobotocore", writers=8),
    Variant("PynamoDB", "PynamoDB"),
    Variant("pydynox", "pydynox"),
    Variant("pydynox, 8 writers", "pydynox", writers=8),
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and who is asked."""

    asks: str
    variants: tuple[Variant, ...]
    run: Callable[[Simulated, Variant, Effort], Awaitable[Figures]]
    light: bool = False
    """Whether it takes so little of the machine that all are asked at the same time, each of its own server."""
    latency_ms: float | None = None
    """How long an answer takes at least; None for as long as the command line says."""

    def answers_in(self, usual_ms: float) -> float:
        """Return how long an answer takes at least where one takes so long as a rule, in ms."""
        return usual_ms if self.latency_ms is None else self.latency_ms


async def _bulk(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Load as many items as the table takes in the time; twice the time is allowed."""
    (told,) = await work(table, variant, [Task(effort.seconds * 2, items=effort.items)])
    counts = await table.control("/counts")
    return {
        "rate": counts["total"]["write_units"] / told["seconds"] / effort.write_units,
        "seconds": told["seconds"],
        **refusals(counts),
        "missing": effort.items - await table.stored(),
        **kept(told),
    }


async def _changing(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Load while the limit is halved, and doubled again."""
    third = effort.seconds / 2
    full, half = effort.write_units, effort.write_units // 2

    async def change() -> None:
        for units in (half, full):
            await asyncio.sleep(third)
            await table.provision(units)

    (told,) = await work(table, variant, [Task(3 * third, items=int(3 * third * full * 1.2))], change)
    counts = await table.control("/counts")
    figures: Figures = {**refusals(counts), **kept(told)}
    for name, begin, units in (("halved", third, half), ("doubled", 2 * third, full)):
        after = _window(counts, begin + min(5.0, third / 2), begin + third)
        figures[f"rate_{name}"] = after["write_units"] / after["seconds"] / units
        figures[f"throttled_{name}"] = after["throttled"] / max(1, after["attempts"])
    return figures


async def _processes(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Load from eight processes, each with more than fits into the time."""
    number = 8
    items = int(effort.items * 0.6)
    tasks = [Task(effort.seconds, items=items, group=f"load{each}") for each in range(number)]
    counted: list[Figures] = []

    async def count() -> None:
        await asyncio.sleep(effort.seconds)
        counted.append(await table.control("/counts"))

    told = await work(table, variant, tasks, count)
    (counts,) = counted
    window = {**counts["total"], "seconds": counts["seconds"]}
    fair = window["write_units"] / number
    parts = [counts["groups"].get(task.group, {"write_units": 0.0})["write_units"] for task in tasks]
    failed = [each for each in told if "error" in each]
    return {
        "rate": window["write_units"] / window["seconds"] / effort.write_units,
        "poorest": min(parts) / fair if fair else 0.0,
        "richest": max(parts) / fair if fair else 0.0,
        **refusals(counts),
        **kept(failed[0] if failed else {}),
    }


def _window(counts: Figures, begin: float, end: float) -> Figures:
    """Return the sums from one second of the run to another."""
    wide = counts["slot_seconds"]
    slots = counts["slots"][round(begin / wide) : round(end / wide)]
    sums = {name: sum(slot[name] for slot in slots) for name in ("attempts", "throttled", "write_units")}
    return {**sums, "seconds": end - begin}


OWN = (KNOWN, LEARNED)
QUESTIONS = {
    "bulk": Question("a bulk load", (*OWN, *PEERS), _bulk),
    "beside": Question("50 handlers beside a load in the background", (*OWN, *PEERS[1:3]), handlers.beside),
    "scan": Question("50 handlers beside a scan in the background", (*OWN, AIOBOTOCORE), handlers.beside_scan),
    "index": Question("50 handlers beside a load that an index bounds", (*OWN, PEERS[1]), handlers.beside_index),
    "changing": Question("the limit halved and doubled", (*OWN, PEERS[1]), _changing),
    "processes": Question(
        "eight processes",
        (Variant("dynamap_async, an eighth each", OURS, "shared"), LEARNED, AIOBOTOCORE),
        _processes,
    ),
    "unrelated": Question(
        "a part refused for other reasons than the rate",
        (*OWN, AIOBOTOCORE),
        situations.unrelated,
        latency_ms=situations.UNHURRIED_MS,
    ),
    "counters": Question(
        "5,000 counters while a fifth of the requests fails", (*OWN, AIOBOTOCORE), situations.counters
    ),
    "saved": Question("a load after another program took what was saved", (*OWN, AIOBOTOCORE), situations.saved),
    "stranger": Question(
        "beside a client that asks for ten times what the table has",
        (*OWN, AIOBOTOCORE),
        situations.stranger,
        light=True,
    ),
    "outage": Question("everything refused for two seconds", (*OWN, AIOBOTOCORE), situations.outage),
    "small": Question("60 items onto a table of 5 units", (*OWN, *PEERS), situations.small, light=True),
    "spared": Question(
        "40 puts at once onto a table of 5 units that has saved some",
        (*OWN, AIOBOTOCORE, *PEERS[2:4]),
        situations.spared,
        light=True,
    ),
    "usage": Question("units said to be taken, beside those sold", (LEARNED,), situations.usage),
    "budgets": Question("a budget of 50 units in a fresh session", (LEARNED,), situations.budgets),
    "free": Question("CPU where nothing is short", OWN, situations.free),
}
