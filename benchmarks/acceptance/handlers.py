"""What handlers feel beside a load, a scan, or a load that an index bounds: latencies, alone and together."""

from statistics import median

from benchmarks.acceptance.items import wire_item
from benchmarks.acceptance.table import Simulated
from benchmarks.acceptance.task import Effort, Task
from benchmarks.acceptance.team import Figures, Variant, kept, refusals, work

HANDLERS = 50
SCAN_READ_UNITS = 300
SCANNED_ITEMS = 2_000
SEGMENTS = 4
INDEX_UNITS = 300
SHELVED_UNITS = 2_000
NEXT_SECONDS = 2


async def beside(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Run 50 handlers beside a load, for a little longer than is measured: handlers have a tenth of the rate."""
    alone = Task(effort.seconds, job="handle", tasks=HANDLERS)
    together = Task(effort.seconds, job="handle", tasks=HANDLERS, items=effort.items)
    told, counted, figures = await _by_turns(table, variant, effort, alone, together)
    handlers = [counts["groups"].get("handler", {"throttled": 0}) for counts in counted]
    return {
        **figures,
        "handlers_throttled": sum(each["throttled"] for each in handlers),
        "full_collections": sum(each["full_collections"] for each in told),
        "rate": median(each["total"]["write_units"] / each["seconds"] / effort.write_units for each in counted),
    }


async def beside_scan(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Run 50 handlers beside a scan in four segments, on a table of 300 read units, of which they need a sixth."""
    await table.fill([wire_item(f"scanned-{number}") for number in range(SCANNED_ITEMS)])
    await table.provision(effort.write_units, SCAN_READ_UNITS)
    alone = Task(effort.seconds, job="handle", tasks=HANDLERS)
    together = Task(effort.seconds, job="handle", tasks=HANDLERS, scans=SEGMENTS)
    _, counted, figures = await _by_turns(table, variant, effort, alone, together)
    rates = [each["total"]["read_units"] / each["seconds"] / SCAN_READ_UNITS for each in counted]
    return {**figures, "rate": median(rates)}


async def beside_index(table: Simulated, variant: Variant, effort: Effort) -> Figures:
    """Run 50 handlers beside a load that an index without their items bounds; then beside a load without one."""
    await table.create_shelved(SHELVED_UNITS, INDEX_UNITS)
    items, after = int(INDEX_UNITS * (effort.seconds + 2)), SHELVED_UNITS * NEXT_SECONDS
    alone = Task(effort.seconds, job="handle", tasks=HANDLERS, shelved=True)
    together = Task(effort.seconds, job="handle", tasks=HANDLERS, items=items, shelved=True, next_items=after)
    told, counted, figures = await _by_turns(table, variant, effort, alone, together)
    loads = [each["groups"]["load"]["attempts"] - each["groups"]["load"]["throttled"] for each in counted]
    return {
        **figures,
        "rate": median(loads) / (effort.seconds + 2) / INDEX_UNITS,
        "next_rate": median(after / each["next_seconds"] for each in told) / SHELVED_UNITS,
    }


async def _by_turns(
    table: Simulated, variant: Variant, effort: Effort, alone: Task, together: Task
) -> tuple[list[Figures], list[Figures], Figures]:
    """Run handlers alone and beside a load by turns, each time in a fresh process.

    Returns:
        What those told that worked together, what the server counted then, and the latencies.
    """
    idle, busy, counted = [], [], []
    for _ in range(effort.rounds):
        idle += await work(table, variant, [alone])
        busy += await work(table, variant, [together])
        counted.append(await table.control("/counts"))
    idle += await work(table, variant, [alone])
    failed = [each for each in busy if "error" in each]
    return (
        busy,
        counted,
        {
            "handlers_failed": sum(each.get("failed", 0) for each in busy),
            **{name: median(refusals(each)[name] for each in counted) for name in ("refused", "throttled")},
            **latencies(idle, busy),
            **kept((failed or busy)[0]),
        },
    )


def latencies(idle: list[Figures], busy: list[Figures]) -> Figures:
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
