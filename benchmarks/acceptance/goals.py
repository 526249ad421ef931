"""What this library has to reach, and what it did."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.acceptance.questions import KNOWN, LEARNED
from benchmarks.acceptance.situations import SHARES

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
        """Tell whether a figure is good enough."""
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
        *(Goal("unrelated", variant, f"part_{share:g}", 1 - 2 * share, at_least=True) for share in SHARES),
        Goal("outage", variant, "recovered", 0.8, at_least=True),
        Goal("small", variant, "times_ideal", 1.2),
        Goal("small", variant, "missing", 0),
    ]


GOALS: Sequence[Goal] = (
    *_bulk(KNOWN.label, 0.99, 0.01, 0.02),
    *_bulk(LEARNED.label, 0.95, 0.05, 0.10),
    *_harmless(KNOWN.label),
    *_harmless(LEARNED.label),
    *_ours(KNOWN.label),
    *_ours(LEARNED.label),
    *(
        Goal("processes", variant, figure, bound, at_least=True)
        for variant in (SHARED, LEARNED.label)
        for figure, bound in (("rate", 0.9), ("poorest", 0.5))
    ),
)
