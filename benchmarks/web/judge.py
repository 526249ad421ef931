"""What this library may cost in a web service, beside the same service without a database in the same run."""

from collections.abc import Mapping
from typing import Any

from benchmarks.web.handlers import NOTHING, OURS

Figures = dict[str, dict[str, float]]
"""Number of clients, and ``, frozen`` where the garbage collector was -> figure -> value."""
SHARE_US = 45.0
"""CPU for a request that is the library's: that of the service without a database is taken off."""
P99_FACTOR = 2.5
"""The slowest of a hundred requests, as a multiple of that without a database."""
TRACKED = 12_000
"""Objects that a full garbage collection walks because the library was imported and opened."""
_JUDGED = ("32", "256", "32, frozen", "256, frozen")


def judge(measured: Mapping[str, Figures]) -> list[dict[str, Any]]:
    """Return budget, figure, whether it was met and by how much it was missed, for all that has figures."""
    if OURS not in measured or NOTHING not in measured:
        return []
    ours, nothing = measured[OURS], measured[NOTHING]
    found = []
    for state in _JUDGED:
        share = ours[state]["cpu_us"] - nothing[state]["cpu_us"]
        found.append(_verdict(f"share of the library, {state}: at most {SHARE_US:g} us", share, SHARE_US))
    for state in _JUDGED:
        factor = ours[state]["p99_ms"] / nothing[state]["p99_ms"]
        found.append(_verdict(f"p99, {state}: at most {P99_FACTOR:g} x no database", factor, P99_FACTOR))
    tracked = ours["32"]["tracked"] - nothing["32"]["tracked"]
    found.append(_verdict(f"tracked objects: at most {TRACKED:,}", tracked, TRACKED))
    return found


def _verdict(budget: str, measured: float, bound: float) -> dict[str, Any]:
    return {"budget": budget, "measured": measured, "met": measured <= bound, "missed_by": measured / bound - 1}
