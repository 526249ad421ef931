"""What is asked of each library, and what the answers are: figures, by name."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.acceptance import situations
from benchmarks.acceptance.clients import OURS
from benchmarks.acceptance.table import Simulated
from benchmarks.acceptance.team import Task, Variant, work

Figures = dict[str, Any]

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
class Effort:
    """How much is asked."""

    write_units: int
    """The table's limit in a second."""
    seconds: float
    """How long a load takes at that limit."""
    rounds: int = 1
    """How often what is about latency is measured; medians are told."""

    @property
    def items(self) -> int:
        """How many items of one unit that is."""
        return int(self.write_units * self.seconds)


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and who is asked."""

    asks: str
    variants: tuple[Variant, ...]
    run: Callable[[Simulated, Variant, Effort], Awaitable[Figures]]


def _refusals(counts: Figures) -> Figures:
    total = counts["total"]
    return {
        "refused": counts["refused"] / max(1, counts["requests"]),
        "throttled": total["throttled"] / max(1, total["attempts"]),
        "reasons": counts["reasons"],
    }


async def _bulk(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Load as many items as the table takes in the time; three times that is allowed."""
    (told,) = await work(table, variant, [Task(effort.seconds * 3, items=effort.items)])
    counts = await table.control("/counts")
    return {
        "rate": counts["total"]["write_units"] / told["seconds"] / effort.write_units,
        "seconds": told["seconds"],
        **_refusals(counts),
        "missing": effort.items - await table.stored(),
        **_kept(told),
    }


async def _beside(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """50 handlers alone and beside a load, by turns; every process is a fresh one.

    The load is that of ``bulk``. It takes a little longer than is measured, for the handlers have a tenth of the rate.
    """
    alone = Task(effort.seconds, handlers=50)
    together = Task(effort.seconds, handlers=50, items=effort.items)
    idle, busy, counted = [], [], []
    for _ in range(effort.rounds):
        idle += await work(table, variant, [alone])
        busy += await work(table, variant, [together])
        counted.append(await table.control("/counts"))
    idle += await work(table, variant, [alone])
    handlers = [counts["groups"].get("handler", {"throttled": 0}) for counts in counted]
    failed = [each for each in busy if "error" in each]
    return {
        "handlers_throttled": sum(each["throttled"] for each in handlers),
        "handlers_failed": sum(each.get("failed", 0) for each in busy),
        "full_collections": sum(each["full_collections"] for each in busy),
        "rate": median(each["total"]["write_units"] / each["seconds"] / effort.write_units for each in counted),
        **{name: median(_refusals(each)[name] for each in counted) for name in ("refused", "throttled")},
        **_latencies(idle, busy),
        **_kept((failed or busy)[0]),
    }


def _latencies(idle: list[Figures], busy: list[Figures]) -> Figures:
    """Return the medians of the rounds, and of what is judged every round: one tells little of a machine's noise."""
    figures: Figures = {}
    for kind in ("get", "put", "lag"):
        for share in ("p50", "p99", "p100"):
            for name, told in ((f"{kind}_{share}_idle", idle), (f"{kind}_{share}", busy)):
                rounds = [each[kind][share] for each in told]
                figures[name] = median(rounds)
                if share == "p99":
                    figures[f"{name}_rounds"] = rounds
        alone = figures[f"{kind}_p99_idle_rounds"]
        figures[f"{kind}_noise"] = max(alone) / min(alone)
    return figures


async def _changing(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """A load that goes on while the limit is halved, and doubled again."""
    third = effort.seconds / 2
    full, half = effort.write_units, effort.write_units // 2

    async def change() -> None:
        for units in (half, full):
            await asyncio.sleep(third)
            await table.provision(units)

    (told,) = await work(table, variant, [Task(3 * third, items=int(3 * third * full * 1.2))], change)
    counts = await table.control("/counts")
    figures: Figures = {**_refusals(counts), **_kept(told)}
    for name, begin, units in (("halved", third, half), ("doubled", 2 * third, full)):
        after = _window(counts, begin + min(5.0, third / 2), begin + third)
        figures[f"rate_{name}"] = after["write_units"] / after["seconds"] / units
        figures[f"throttled_{name}"] = after["throttled"] / max(1, after["attempts"])
    return figures


async def _processes(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Eight processes with a load each that would go on, for the whole time."""
    number = 8
    items = int(effort.items * 0.6)
    tasks = [Task(effort.seconds, items=items, group=f"load{each}") for each in range(number)]
    kept: list[Figures] = []

    async def count() -> None:
        await asyncio.sleep(effort.seconds)
        kept.append(await table.control("/counts"))

    told = await work(table, variant, tasks, count)
    (counts,) = kept
    window = {**counts["total"], "seconds": counts["seconds"]}
    fair = window["write_units"] / number
    parts = [counts["groups"].get(task.group, {"write_units": 0.0})["write_units"] for task in tasks]
    failed = [each for each in told if "error" in each]
    return {
        "rate": window["write_units"] / window["seconds"] / effort.write_units,
        "poorest": min(parts) / fair if fair else 0.0,
        "richest": max(parts) / fair if fair else 0.0,
        **_refusals(counts),
        **_kept(failed[0] if failed else {}),
    }


def _window(counts: Figures, begin: float, end: float) -> Figures:
    """Return the sums from one second of the run to another."""
    wide = counts["slot_seconds"]
    slots = counts["slots"][round(begin / wide) : round(end / wide)]
    sums = {name: sum(slot[name] for slot in slots) for name in ("attempts", "throttled", "write_units")}
    return {**sums, "seconds": end - begin}


def _kept(told: Figures) -> Figures:
    return {name: told[name] for name in ("error", "versions", "python") if name in told}


async def _unrelated(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    return await situations.unrelated(table, variant, effort.seconds / 4)


async def _outage(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    return await situations.outage(table, variant, effort.seconds)


async def _small(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    return await situations.small(table, variant, effort.seconds)


QUESTIONS = {
    "bulk": Question("a bulk load", (KNOWN, LEARNED, *PEERS), _bulk),
    "beside": Question(
        "50 handlers beside a load in the background",
        (KNOWN, LEARNED, *PEERS[:4]),
        _beside,
    ),
    "changing": Question("the limit halved and doubled", (KNOWN, LEARNED, PEERS[1]), _changing),
    "processes": Question(
        "eight processes",
        (Variant("dynamap_async, an eighth each", OURS, "shared"), LEARNED, AIOBOTOCORE),
        _processes,
    ),
    "unrelated": Question("a part refused for other reasons than the rate", (KNOWN, LEARNED, AIOBOTOCORE), _unrelated),
    "outage": Question("everything refused for two seconds", (KNOWN, LEARNED, AIOBOTOCORE), _outage),
    "small": Question("60 items onto a table of 5 units", (KNOWN, LEARNED, *PEERS), _small),
}
