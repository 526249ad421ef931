"""Situations in which pacing could do harm: what is asked, in figures that need no other library to be judged."""

import asyncio
from collections.abc import Callable

from benchmarks.acceptance import counting
from benchmarks.acceptance.clients import OURS
from benchmarks.acceptance.items import names, wire_item
from benchmarks.acceptance.table import Simulated
from benchmarks.acceptance.task import Effort, Task
from benchmarks.acceptance.team import Figures, Variant, refusals, work

UNPACED = Variant("dynamap_async, not paced", OURS, "unpaced")
SHARES = (0.003, 0.03, 0.2)
"""The parts of all requests that a table refuses, for reasons that have nothing to do with the rate."""
UNHURRIED_MS = 20.0
"""How long an answer takes where a part in a hundred counts: the machine's speed, which varies, decides nothing."""
FAULTS = {"/refuse": 0.033, "/fail": 0.167}
"""Path -> part of the requests: a fifth of them fails, a sixth of that because capacity is short."""
COUNTERS = 5_000
AMPLE_UNITS = 50_000
ENDLESS_UNITS = 10**7
"""So many that a load of any speed takes but a part of them: of fewer, a known limit holds it back."""
OUTAGE_SECONDS = 2.0
SMALL_UNITS = 5
SMALL_ITEMS = 60
HANDLER_PUTS = 40
PUSHED = {"pushed": (100, 1_000), "crowded": (25, 250)}
"""Figure -> write units of the table, and those that a client asks for that is not ours and never waits."""
IDLE_SECONDS = 3.0
OPERATIONS = 1_600
FREE_ROUNDS = 60
TURNS = 3
"""How often both are asked, where one is divided by the other: the machine's speed changes by more than a goal."""
SURE_TURNS = 9
"""How often where three turns differ by more than the goal leaves: it is near, or a few late retries end each turn."""
WARM_SECONDS = 0.5
FREE = {"load": (2_000, 0), "push": (1_000, 64), "lone": (60, 1)}
"""Figure -> how many items are written, and by how many tasks; by one call where there are none."""


async def unrelated(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Put with 32 tasks while a part is refused whatever the rate; the same without pacing is what it is divided by."""
    await table.provision(AMPLE_UNITS)
    figures: Figures = {}
    task = Task(effort.seconds / 4, job="push", tasks=32, warm_seconds=WARM_SECONDS)
    for share in SHARES:
        await table.control(f"/refuse?{share}")
        turns = SURE_TURNS if share == min(SHARES) else TURNS
        figures[f"part_{share:g}"] = await _of_unpaced(table, variant, task, _rate, turns=turns)
    await table.control("/refuse?0")
    return figures


async def counters(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Add to 5,000 counters, 64 at a time, while a fifth of the requests fails."""
    await table.provision(AMPLE_UNITS)
    await table.fill([wire_item(name) for name in names("counter", COUNTERS)])
    for path, share in FAULTS.items():
        await table.control(f"{path}?{share}")
    task = Task(effort.seconds * 2, job="count", tasks=64, items=COUNTERS, group="counter")
    return {"part": await _of_unpaced(table, variant, task, _rate, turns=SURE_TURNS)}


def _rate(told: Figures, _counts: Figures) -> float:
    return float(told["served"] / told["seconds"])


def _stored_within(seconds: float) -> Callable[[Figures, Figures], float]:
    """Return a judge of what was stored in so many seconds: the last calls of a client that waits end long after."""
    return lambda _told, counts: sum(
        slot["write_units"] for slot in counts["slots"][: round(seconds / counts["slot_seconds"])]
    )


async def stranger(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Write beside a client that asks for ten times what the table has, and never waits."""
    figures: Figures = {}
    for name, (has, pushed) in PUSHED.items():
        await table.provision(has)
        await table.control(f"/push?{pushed}")
        for job, task in (
            ("puts", Task(effort.seconds, job="push", tasks=32)),
            ("load", Task(effort.seconds, items=has * int(effort.seconds))),
        ):
            figures[f"{name}_{job}"] = await _of_unpaced(table, variant, task, _stored_within(effort.seconds))
    await table.control("/push?0")
    return figures


async def _of_unpaced(
    table: Simulated,
    variant: Variant,
    task: Task,
    judge: Callable[[Figures, Figures], float],
    *,
    turns: int = TURNS,
) -> float:
    """Return a figure of a variant, in proportion to that of this library without pacing, both summed over the turns.

    Args:
        judge: returns the figure, from what a worker told and from what the server counted.
        turns: how often both are asked.
    """
    got = {UNPACED.label: 0.0, variant.label: 0.0}
    for _ in range(turns):
        for each in (UNPACED, variant):
            (told,) = await work(table, each, [task])
            got[each.label] += judge(told, await table.control("/counts"))
    return got[variant.label] / max(1e-9, got[UNPACED.label])


async def outage(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Put with 32 tasks beyond the limit, while everything is refused for two seconds."""
    before = max(3.0, effort.seconds / 2)

    async def refuse() -> None:
        await asyncio.sleep(before)
        await table.control("/refuse?1")
        await asyncio.sleep(OUTAGE_SECONDS)
        await table.control("/refuse?0")

    task = Task(before + OUTAGE_SECONDS + 2.0, job="push", tasks=32)
    (told,) = await work(table, variant, [task], refuse)
    counts = await table.control("/counts")
    wide, end = counts["slot_seconds"], before + OUTAGE_SECONDS

    def rate(begin: float, until: float) -> float:
        slots = counts["slots"][round(begin / wide) : round(until / wide)]
        return float(sum(slot["write_units"] for slot in slots)) / (until - begin)

    return {"recovered": rate(end, end + 1) / max(1.0, rate(before - 2, before)), "failed": told["failed"]}


async def saved(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Load for some seconds, after the session has idled and another program has taken what the table had saved."""
    task = Task(effort.seconds, items=effort.items // 2, warm_seconds=IDLE_SECONDS)
    (told,) = await work(table, variant, [task])
    counts = await table.control("/counts")
    first = counts["slots"][: round(1 / counts["slot_seconds"])]
    return {
        "throttled_first": sum(slot["throttled"] for slot in first),
        "rate": counts["total"]["write_units"] / told["seconds"] / effort.write_units,
        **refusals(counts),
    }


async def small(table: Simulated, variant: Variant, _effort: Effort) -> Figures:
    """Load 60 items onto a table of 5 units a second that has saved none."""
    await table.provision(SMALL_UNITS)
    (told,) = await work(table, variant, [Task(40.0, items=SMALL_ITEMS)])
    figures: Figures = {
        "times_ideal": told["seconds"] / (SMALL_ITEMS / SMALL_UNITS),
        "missing": SMALL_ITEMS - await table.stored(),
    }
    return figures | ({"error": told["error"]} if "error" in told else {})


async def spared(table: Simulated, variant: Variant, _effort: Effort) -> Figures:
    """Put 40 items at once onto a table of 5 units a second that has saved enough for all."""
    await table.provision(SMALL_UNITS)
    task = Task(20.0, job="push", tasks=HANDLER_PUTS, items=HANDLER_PUTS, group="handler")
    (told,) = await work(table, variant, [task], burst_spent=False)
    return {"seconds": told["seconds"], "failed": told["failed"]}


async def usage(table: Simulated, variant: Variant, _effort: Effort) -> Figures:
    """Compare the units that the session counts with those that the server sold, many of which it did not report."""
    await table.provision(AMPLE_UNITS, AMPLE_UNITS)
    await table.fill(counting.stored())
    await table.control("/refuse?0.02")
    await table.control("/lose?0.01")
    (told,) = await work(table, variant, [Task(30.0, job="usage", tasks=16, items=OPERATIONS)])
    await table.control("/lose?0")
    sold = (await table.control("/counts"))["total"]
    return {f"{kind}_off": abs(told[f"{kind}_units"] / sold[f"{kind}_units"] - 1) for kind in ("read", "write")} | {
        "estimated": told["estimated"] / (sold["read_units"] + sold["write_units"])
    }


async def budgets(table: Simulated, variant: Variant, _effort: Effort) -> Figures:
    """Do what takes much in a scope of 50 units, each time in a fresh session."""
    await table.provision(AMPLE_UNITS, AMPLE_UNITS)
    await table.fill(counting.stored_large())
    await work(table, variant, [Task(30.0, job="budgets")])
    groups = (await table.control("/counts"))["groups"]
    return {
        f"taken_{name}": groups.get(name, {}).get("write_units" if name == "updates" else "read_units", 0.0)
        for name in counting.DEAREST
    }


async def free(table: Simulated, variant: Variant, _effort: Effort) -> Figures:
    """Write to a table that has units for everything, by turns with pacing and without; CPU: the middle of the rounds.

    What the first calls of a process load, and find out about the table, is not counted: the clients are warm.
    """
    await table.provision(ENDLESS_UNITS, ENDLESS_UNITS)
    figures: Figures = {}
    for name, (items, tasks) in FREE.items():
        task = Task(60.0, "free", items, tasks, rounds=FREE_ROUNDS, warm_seconds=WARM_SECONDS)
        (told,) = await work(table, variant, [task], burst_spent=False)
        figures |= {f"{name}_{figure}": told[figure] for figure in ("cpu_us", "cpu_us_unpaced", "cpu_times")}
    return figures
