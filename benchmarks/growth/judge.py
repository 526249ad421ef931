"""Whether the cost stays flat: what each size costs beside the middle one."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.growth.series import PEAK_BOUND, SERIES

Medians = Mapping[int, Mapping[str, float]]
"""Size -> figure -> median of the runs."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A figure at the size above the middle one that looks worst, beside that of the middle one."""

    name: str
    figure: str
    size: int
    times: float
    """The figure there, as a multiple of that at the middle size."""
    floor_times: float
    """The same of the floor, at least 1: what the machine makes of more work, with its caches and its memory."""
    bound: float

    @property
    def factor(self) -> float:
        """The growth of this library's figure, divided by that of the floor's."""
        return self.times / self.floor_times

    @property
    def met(self) -> bool:
        """Whether it is flat."""
        return self.factor <= self.bound


def medians(runs: Sequence[Mapping[int, Mapping[str, float]]]) -> Medians:
    """Return the medians of all rounds of one series and library."""
    return {
        size: {figure: statistics.median(run[size][figure] for run in runs) for figure in runs[0][size]}
        for size in runs[0]
    }


def judge(name: str, measured: Medians, floor: Medians) -> list[Flat]:
    """Return the verdicts on one series of this library: on the cost, and for the query on the memory.

    Only sizes from the middle one on are looked at: below it, what a request costs by itself still shows.
    """
    series = SERIES[name]
    bounds = {"cost": series.bound, "peak_mib": PEAK_BOUND}
    found = []
    for figure, bound in bounds.items():
        if figure not in measured[series.middle]:
            continue
        verdicts = [
            Flat(name, figure, size, _times(measured, size, series.middle, figure), floor_times, bound)
            for size in measured
            if size > series.middle
            for floor_times in [max(1.0, _times(floor, size, series.middle, figure))]
        ]
        found.append(max(verdicts, key=lambda verdict: verdict.factor))
    return found


def _times(measured: Medians, size: int, middle: int, figure: str) -> float:
    return measured[size][figure] / measured[middle][figure]
