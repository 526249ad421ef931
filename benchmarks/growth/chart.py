"""The charts of growth: one for each series, both axes logarithmic; a flat line is a cost that does not grow."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.drawing import box, line, page, text
from benchmarks.growth.judge import Medians
from benchmarks.growth.series import SERIES
from benchmarks.subjects import FLOOR, OURS

_KINDS = {OURS: "ours", FLOOR: "floor"}
_ACROSS, _WIDTH, _HEIGHT, _TOP = 2, 400, 190, 50
_LEFT, _RIGHT, _ABOVE, _BELOW = 46, 22, 26, 34


def write(path: Path, measured: Mapping[str, Mapping[str, Medians]]) -> None:
    """Draw all series that were measured."""
    parts = [
        text(8, 18, "CPU in µs for each item, get, put or attribute, as the work grows; a flat line is what is wanted")
    ]
    for number, (subject, kind) in enumerate(_KINDS.items()):
        parts += [box(8 + 130 * number, 28, 10, 10, kind), text(22 + 130 * number, 37, subject)]
    for number, (name, subjects) in enumerate(measured.items()):
        left, top = number % _ACROSS * _WIDTH, _TOP + number // _ACROSS * _HEIGHT
        parts.append(f'<g transform="translate({left},{top})">')
        parts += _panel(name, subjects)
        parts.append("</g>")
    height = _TOP + math.ceil(len(measured) / _ACROSS) * _HEIGHT
    path.write_text(page(_ACROSS * _WIDTH, height, "How costs grow with the work", parts), "utf-8")


def _panel(name: str, subjects: Mapping[str, Medians]) -> list[str]:
    series = SERIES[name]
    sizes = list(next(iter(subjects.values())))
    costs = [figures["cost"] for measured in subjects.values() for figures in measured.values()]
    lowest, highest = _decades(min(costs), max(costs))
    bottom, right = _HEIGHT - _BELOW, _WIDTH - _RIGHT

    def across(size: float) -> float:
        return _LEFT + (right - _LEFT) * math.log(size / sizes[0]) / math.log(sizes[-1] / sizes[0])

    def up(cost: float) -> float:
        return bottom - (bottom - _ABOVE) * math.log(cost / lowest) / math.log(highest / lowest)

    parts = [text(_LEFT, 16, f"{series.asks}: µs for each {series.each}")]
    for cost in _ticks(lowest, highest):
        parts += [
            line(_LEFT, up(cost), right, up(cost), "grid"),
            text(_LEFT - 5, up(cost) + 4, f"{cost:g}", anchor="end", size=10),
        ]
    parts += [text(across(size), bottom + 14, _short(size), anchor="middle", size=10) for size in sizes]
    parts.append(text((_LEFT + right) / 2, bottom + 28, series.size, anchor="middle", size=10))
    for subject, measured in subjects.items():
        parts += _curve([(across(size), up(each["cost"])) for size, each in measured.items()], _KINDS[subject])
    return parts


def _curve(points: Sequence[tuple[float, float]], kind: str) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="{kind}"/>' for x, y in points]
    return [f'<polyline points="{path}" class="{kind}" style="fill:none;stroke-width:2"/>', *dots]


def _decades(least: float, greatest: float) -> tuple[float, float]:
    """Return the ends of the axis: the next of 1, 2, 5 below and above, at least a factor of ten apart."""
    steps = [base * 10.0**power for power in range(-4, 7) for base in (1, 2, 5)]
    lowest = max(step for step in steps if step <= least)
    return lowest, min(step for step in steps if step >= greatest and step >= 10 * lowest)


def _ticks(lowest: float, highest: float) -> list[float]:
    bases = (1, 2, 5) if highest / lowest <= 200 else (1,)
    steps = [base * 10.0**power for power in range(-4, 7) for base in bases]
    return [step for step in steps if lowest * 0.999 <= step <= highest * 1.001]


def _short(size: int) -> str:
    if size >= 1_000_000:
        return f"{size / 1e6:g} M"
    return f"{size / 1e3:g} k" if size >= 1_000 else str(size)
