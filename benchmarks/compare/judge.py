"""What is a regression, and what is noise."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.subjects import FLOOR, OURS

FIGURES = ("cost", "peak_mib")
LEAST_RUNS = 4
"""Fewer runs than that, before or after, say nothing about the noise."""
LEAST_MOVE = 0.05
"""A median that moved by less is no regression, however little the runs vary."""

Runs = Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]]
"""Question -> library -> runs, as the files of results hold them."""
State = Literal["same", "dearer", "cheaper", "too few runs"]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one figure: this library's, divided by the floor's of the same round."""

    question: str
    figure: str
    before: Sequence[float]
    after: Sequence[float]

    @property
    def move(self) -> float:
        """How much greater the median is: 0.1 is a tenth."""
        return statistics.median(self.after) / statistics.median(self.before) - 1

    @property
    def state(self) -> State:
        """Tell change from noise.

        The noise is what the runs show themselves: only where every run after lies above every run before, the figure
        became dearer. Of five runs and five, that happens by chance once in 252 times.
        """
        if min(len(self.before), len(self.after)) < LEAST_RUNS:
            return "too few runs"
        if min(self.after) > max(self.before) and self.move > LEAST_MOVE:
            return "dearer"
        return "cheaper" if max(self.after) < min(self.before) and self.move < -LEAST_MOVE else "same"


def changes(before: Runs, after: Runs) -> list[Change]:
    """Return what became of every figure that both have, beside the floor."""
    found = []
    for question, libraries in before.items():
        for figure in FIGURES:
            earlier, later = ratios(libraries, figure), ratios(after.get(question, {}), figure)
            if earlier and later:
                found.append(Change(question, figure, earlier, later))
    return found


def ratios(libraries: Mapping[str, Sequence[Mapping[str, float]]], figure: str) -> list[float]:
    """Return this library's figure in each round, as a multiple of the floor's in the same round."""
    pairs = zip(libraries.get(OURS, ()), libraries.get(FLOOR, ()), strict=False)
    return [ours[figure] / floor[figure] for ours, floor in pairs if figure in ours and figure in floor]


def newest(files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the name of the file to compare with: the latest of a full run, else the latest.

    Args:
        files: name -> content of files of results; those of other benchmarks are passed over.

    Raises:
        LookupError: none holds runs beside a floor.
    """
    fit = [name for name, content in files.items() if any(FLOOR in each for each in questions_in(content).values())]
    if not fit:
        raise LookupError("there is no file of results to compare with")
    return max(fit, key=lambda name: (not is_quick(files[name]), files[name]["when"]))


def questions_in(content: Mapping[str, Any]) -> Runs:
    """Return the runs of a file by question; none if it is of another benchmark."""
    runs: Runs = content.get("runs", {}) if "returns" in content else {}
    return runs


def is_quick(content: Mapping[str, Any]) -> bool:
    """Tell whether a file holds a quick run, which does less work in each."""
    return bool(content.get("quick", "--quick" in content.get("command", "")))
