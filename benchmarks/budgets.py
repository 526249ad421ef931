"""What this library may cost, as ratios to others in the same run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.subjects import FLOOR, OURS, PEERS

Reference = Literal["floor", "every peer", "best peer", "best dicts", "best models", "aiobotocore", "limit"]


@dataclass(frozen=True, slots=True)
class Budget:
    """One bound: ours, divided by the reference's, is at most (or at least) a factor."""

    question: str
    figure: str
    """``cost``, ``rate``, ``peak_mib`` or ``blocked_ms``."""
    reference: Reference
    """Whose figure ours is divided by; ``limit`` for the figure itself."""
    factor: float
    at_least: bool = False
    """For rates, where more is better."""

    def __str__(self) -> str:
        word = "at least" if self.at_least else "at most"
        of = "" if self.reference == "limit" else f" x {self.reference}"
        return f"{self.figure} {word} {self.factor:.3g}{of}"


_CONCURRENT = ("concurrent_gets_64", "concurrent_gets_400", "concurrent_gets_1000", "concurrent_puts")
_SHAPES = ("", "_small", "_wide", "_deep", "_large")

BUDGETS: Sequence[Budget] = (
    Budget("get_one", "cost", "floor", 1.5),
    Budget("get_one", "cost", "every peer", 1.0),
    Budget("query_100", "cost", "floor", 2.3),
    Budget("query_100", "cost", "best dicts", 2 / 3),
    Budget("query_100", "cost", "best models", 1 / 3),
    *(Budget(name, "rate", "best peer", 8.0, at_least=True) for name in _CONCURRENT),
    *(Budget(name, "cost", "best peer", 0.12) for name in _CONCURRENT),
    Budget("put_one", "cost", "floor", 1.5),
    Budget("update_one", "cost", "floor", 1.5),
    Budget("batch_get", "cost", "floor", 2.0),
    Budget("batch_write", "cost", "floor", 2.0),
    Budget("transaction_10", "cost", "floor", 2.0),
    Budget("stream", "cost", "floor", 2.2),
    Budget("stream_million", "cost", "floor", 2.2),
    Budget("stream", "peak_mib", "floor", 1.3),
    Budget("stream_million", "peak_mib", "floor", 1.3),
    *(Budget(f"decode{shape}", "cost", "floor", 2.8) for shape in _SHAPES),
    *(Budget(f"encode{shape}", "cost", "floor", 2.2) for shape in _SHAPES),
    Budget("import_time", "cost", "floor", 1.1),  # there the floor is the import of aiobotocore and Pydantic
    Budget("open_first", "cost", "limit", 20.0),  # milliseconds, with a given endpoint
    Budget("open_configured", "cost", "aiobotocore", 1.0),
    Budget("open_configured", "blocked_ms", "aiobotocore", 0.5),  # off the loop: it waits for less than half as long
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a budget was kept."""

    budget: Budget
    ratio: float
    beside: str
    """The library that it was divided by."""

    @property
    def met(self) -> bool:
        """Whether it was kept."""
        return self.ratio >= self.budget.factor if self.budget.at_least else self.ratio <= self.budget.factor

    @property
    def missed_by(self) -> float:
        """By how much of the budget it was missed: 0.1 is a tenth; negative where there is room."""
        share = self.ratio / self.budget.factor
        return 1 - share if self.budget.at_least else share - 1


def judge(
    budgets: Sequence[Budget], medians: dict[str, dict[str, dict[str, float]]], returns: dict[str, str]
) -> list[Verdict]:
    """Return the verdicts on all budgets whose figures are there.

    Args:
        budgets: the bounds.
        medians: question -> library -> figure -> median.
        returns: library -> what its reads give.
    """
    verdicts = []
    for budget in budgets:
        figures = {
            name: each[budget.figure]
            for name, each in medians.get(budget.question, {}).items()
            if budget.figure in each
        }
        ours = figures.get(OURS)
        if ours is None:
            continue
        beside = "" if budget.reference == "limit" else _beside(budget, figures, returns)
        if beside is not None:
            verdicts.append(Verdict(budget, ours / figures[beside] if beside else ours, beside))
    return verdicts


def unjudged(budgets: Sequence[Budget], verdicts: Sequence[Verdict]) -> list[Budget]:
    """Return the budgets that a run gave no figures for."""
    judged = [verdict.budget for verdict in verdicts]
    return [budget for budget in budgets if budget not in judged]


def _beside(budget: Budget, figures: dict[str, float], returns: dict[str, str]) -> str | None:
    """Return the library that a budget compares with; None where it has no figure."""
    if budget.reference in (FLOOR, "aiobotocore"):
        return budget.reference if budget.reference in figures else None
    kind = budget.reference.removeprefix("best ") if budget.reference in ("best dicts", "best models") else ""
    peers = [name for name in PEERS if name in figures and kind in returns.get(name, "")]
    best = max if budget.at_least else min
    return best(peers, key=lambda name: figures[name]) if peers else None
