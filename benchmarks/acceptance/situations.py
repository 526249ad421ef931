"""Situations in which pacing could do harm: what is asked, in figures that need no other library to be judged."""

import asyncio
from typing import Any

from benchmarks.acceptance.clients import OURS
from benchmarks.acceptance.table import Simulated
from benchmarks.acceptance.team import Task, Variant, work

UNPACED = Variant("dynamap_async, not paced", OURS, "unpaced")
SHARES = (0.003, 0.03, 0.2)
"""The parts of all requests that a table refuses, for reasons that have nothing to do with the rate."""
AMPLE_UNITS = 50_000
OUTAGE_SECONDS = 2.0
SMALL_UNITS = 5
SMALL_ITEMS = 60


async def unrelated(table: Simulated, variant: Variant, seconds: float) -> dict[str, Any]:
    """Put with 32 tasks while a part is refused whatever the rate; the same without pacing is what it is divided by."""
    await table.provision(AMPLE_UNITS)
    figures: dict[str, Any] = {}
    for share in SHARES:
        await table.control(f"/refuse?{share}")
        served: dict[str, int] = {}
        for each in (UNPACED, variant):
            (told,) = await work(table, each, [Task(seconds, pushers=32)])
            served[each.label] = told["served"]
        figures[f"part_{share:g}"] = served[variant.label] / max(1, served[UNPACED.label])
    await table.control("/refuse?0")
    return figures


async def outage(table: Simulated, variant: Variant, seconds: float) -> dict[str, Any]:
    """Put with 32 tasks beyond the limit; everything is refused for two seconds, and then served as before."""
    before = max(3.0, seconds / 2)

    async def refuse() -> None:
        await asyncio.sleep(before)
        await table.control("/refuse?1")
        await asyncio.sleep(OUTAGE_SECONDS)
        await table.control("/refuse?0")

    (told,) = await work(table, variant, [Task(before + OUTAGE_SECONDS + 3.0, pushers=32)], refuse)
    counts = await table.control("/counts")
    wide, end = counts["slot_seconds"], before + OUTAGE_SECONDS

    def rate(begin: float, until: float) -> float:
        slots = counts["slots"][round(begin / wide) : round(until / wide)]
        return float(sum(slot["write_units"] for slot in slots)) / (until - begin)

    return {"recovered": rate(end, end + 1) / max(1.0, rate(before - 2, before)), "failed": told["failed"]}


async def small(table: Simulated, variant: Variant, _seconds: float) -> dict[str, Any]:
    """Load 60 items onto a table of 5 units a second that has saved none."""
    await table.provision(SMALL_UNITS)
    (told,) = await work(table, variant, [Task(60.0, items=SMALL_ITEMS)])
    figures = {
        "times_ideal": told["seconds"] / (SMALL_ITEMS / SMALL_UNITS),
        "missing": SMALL_ITEMS - await table.stored(),
    }
    return figures | ({"error": told["error"]} if "error" in told else {})
