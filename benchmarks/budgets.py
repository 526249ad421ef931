"""What this library may cost, as ratios to others in the same run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks import questions
from benchmarks.results import Medians
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


_GETS = ("concurrent_gets_64", "concurrent_gets_400", "concurrent_gets_1000")
_CONCURRENT = (*_GETS, "concurrent_puts")
_SHAPES = ("", "_small", "_wide", "_deep", "_large")
_FLOOR = {
    "get_one": 0.55,
    "put_one": 0.55,
    "update_one": 0.75,
    "query_100": 1.1,
    **dict.fromkeys(_CONCURRENT, 0.16),
    "batch_get": 1.4,
    "batch_write": 1.6,
    "transaction_10": 1.2,
    "stream": 1.2,
    "stream_million": 1.2,
    "get_one_tls": 0.55,
    "query_100_tls": 1.1,
    **{f"decode{shape}": 1.5 for shape in _SHAPES},  # there the floor is orjson.loads
    **{f"encode{shape}": 1.2 for shape in _SHAPES},  # and there Pydantic's model_dump
    "import_time": 1.1,  # and there the import of aiobotocore and Pydantic
}

BUDGETS: Sequence[Budget] = (
    *(Budget(name, "cost", "floor", factor) for name, factor in _FLOOR.items()),
    *(Budget(name, "cost", "every peer", 1.0) for name in questions.NAMES),
    Budget("query_100", "cost", "best dicts", 2 / 3),
    Budget("query_100", "cost", "best models", 1 / 3),
    *(Budget(name, "rate", "best peer", 8.0, at_least=True) for name in _CONCURRENT),
    *(Budget(name, "cost", "best peer", 0.12) for name in _CONCURRENT),
    Budget("stream", "peak_mib", "floor", 1.3),
    Budget("stream_million", "peak_mib", "floor", 1.3),
    Budget("memory", "cost", "limit", 30.0),  # MiB
    Budget("open_first", "cost", "limit", 20.0),  # milliseconds, with a given endpoint
    Budget("cold_start", "cost", "limit", 130.0),
    Budget("open_found_environment", "cost", "limit", 20.0),
    Budget("cold_found_environment", "cost", "limit", 150.0),
    Budget("cold_configured", "cost", "aiobotocore", 1.0),
    Budget("open_configured", "cost", "aiobotocore", 1.0),
    Budget("open_configured", "blocked_ms", "aiobotocore", 0.5),  # off the loop: it waits for less than half as long
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether and by how much a budget was met."""

    budget: Budget
    ratio: float
    beside: str
    """The library that it was divided by."""

    @property
    def met(self) -> bool:
        """Whether the budget was met."""
        return self.ratio >= self.budget.factor if self.budget.at_least else self.ratio <= self.budget.factor

    @property
    def missed_by(self) -> float:
        """By how much of the budget it was missed: 0.1 is a tenth; negative where there is room."""
        share = self.ratio / self.budget.factor
        return 1 - share if self.budget.at_least else share - 1


def judge(budgets: Sequence[Budget], medians: Medians, returns: dict[str, str]) -> list[Verdict]:
    """Return the verdicts on all budgets whose figures are there.

    Args:
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
