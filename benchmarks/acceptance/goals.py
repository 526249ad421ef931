"""What this library has to reach, and what it did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.acceptance.counting import BUDGET, DEAREST
from benchmarks.acceptance.questions import KNOWN, LEARNED
from benchmarks.acceptance.situations import FAULTS, FREE, PUSHED, SHARES

SHARED = "dynamap_async, an eighth each"


@dataclass(frozen=True, slots=True)
class Goal:
    """One bound on one figure."""

    question: str
    variant: str
    figure: str
    bound: float
    at_least: bool = False
    beside: str = ""
    """Another figure by which it is divided."""

    def measured(self, answers: dict[str, dict[str, dict[str, Any]]]) -> float | None:
        """Return the figure; None if it was not measured."""
        figures = answers.get(self.question, {}).get(self.variant, {})
        value = figures.get(self.figure)
        if value is None or not self.beside:
            return value
        other = figures.get(self.beside)
        return value / other if other else None

    def met(self, value: float) -> bool:
        """Return whether a figure meets the goal."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        what = f"{self.figure} / {self.beside}" if self.beside else self.figure
        return f"{what} {'at least' if self.at_least else 'at most'} {self.bound:g}"


def _bulk(variant: str, rate: float, refused: float, throttled: float) -> list[Goal]:
    return [
        Goal("bulk", variant, "rate", rate, at_least=True),
        Goal("bulk", variant, "refused", refused),
        Goal("bulk", variant, "throttled", throttled),
        Goal("bulk", variant, "missing", 0),
    ]


def _ours(variant: str) -> list[Goal]:
    return [
        Goal("beside", variant, "get_p99", 1.5, beside="get_p99_idle"),
        Goal("beside", variant, "put_p99", 1.5, beside="put_p99_idle"),
        Goal("beside", variant, "handlers_throttled", 0),
        Goal("beside", variant, "handlers_failed", 0),
        *(Goal("changing", variant, f"throttled_{when}", 0.05) for when in ("halved", "doubled")),
        *(Goal("changing", variant, f"rate_{when}", 0.9, at_least=True) for when in ("halved", "doubled")),
    ]


def _harmless(variant: str) -> list[Goal]:
    return [
        *(Goal("scan", variant, f"{kind}_p99", 1.5, beside=f"{kind}_p99_idle") for kind in ("get", "put")),
        *(Goal("index", variant, f"{kind}_p99", 1.5, beside=f"{kind}_p99_idle") for kind in ("get", "put")),
        Goal("index", variant, "rate", 0.9, at_least=True),
        Goal("index", variant, "next_rate", 0.9, at_least=True),
        *(Goal("unrelated", variant, f"part_{share:g}", 1 - 2 * share, at_least=True) for share in SHARES),
        Goal("counters", variant, "part", 1 - 2 * FAULTS["/refuse"], at_least=True),
        Goal("saved", variant, "rate", 0.95, at_least=True),
        Goal("saved", variant, "throttled", 0.1),
        *(
            Goal("stranger", variant, f"{name}_{job}", 0.8, at_least=True)
            for name in PUSHED
            for job in ("puts", "load")
        ),
        Goal("outage", variant, "recovered", 0.8, at_least=True),
        Goal("small", variant, "times_ideal", 1.2),
        Goal("small", variant, "missing", 0),
        Goal("spared", variant, "seconds", 1.0),
        Goal("spared", variant, "failed", 0),
        *(Goal("free", variant, f"{job}_cpu_times", 1.1) for job in FREE),
    ]


GOALS: Sequence[Goal] = (
    *_bulk(KNOWN.label, 0.99, 0.01, 0.02),
    *_bulk(LEARNED.label, 0.95, 0.05, 0.10),
    *_harmless(KNOWN.label),
    *_harmless(LEARNED.label),
    *_ours(KNOWN.label),
    *_ours(LEARNED.label),
    *(Goal("usage", LEARNED.label, f"{kind}_off", 0.005) for kind in ("read", "write")),
    *(Goal("budgets", LEARNED.label, f"taken_{name}", BUDGET + most) for name, most in DEAREST.items()),
    *(
        Goal("processes", variant, figure, bound, at_least=True)
        for variant in (SHARED, LEARNED.label)
        for figure, bound in (("rate", 0.9), ("poorest", 0.5))
    ),
)
