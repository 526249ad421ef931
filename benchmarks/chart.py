"""The chart: one group of bars for each question, as multiples of the floor on a logarithmic scale."""

import math
from collections.abc import Mapping
from pathlib import Path

from benchmarks.drawing import box, line, page, text
from benchmarks.questions import Question
from benchmarks.results import Medians
from benchmarks.subjects import FLOOR, LEAN, NAMES, OURS, PEERS

_CHARTED = (
    "get_one",
    "query_100",
    "concurrent_gets_1000",
    "put_one",
    "concurrent_puts",
    "batch_get",
    "batch_write",
    "transaction_10",
    "stream",
    "decode",
    "get_one_tls",
    "query_100_tls",
)
_KINDS = {OURS: "ours", LEAN: "floor"}
_LEFT, _WIDTH, _BAR, _GAP, _TOP = 250, 560, 9, 14, 56
_LEAST, _GREATEST = 0.1, 64.0


def write(path: Path, medians: Medians, asked: Mapping[str, Question]) -> None:
    """Draw the questions that were asked and have a floor; red is this library, the first grey the lean floor."""
    names = [OURS, *(name for name in NAMES if name not in (FLOOR, OURS))]
    charted = [name for name in _CHARTED if FLOOR in medians.get(name, {})]
    bars = []
    y = _TOP
    for question in charted:
        figures = medians[question]
        bars.append(text(_LEFT - 8, y + len(names) * _BAR / 2 + 4, asked[question].asks, anchor="end"))
        for name in names:
            if name in figures:
                bars.append(_bar(y, figures[name]["cost"] / figures[FLOOR]["cost"], _kind(name)))
            y += _BAR
        y += _GAP
    height = y + 24
    grid = [_grid(factor, height - 30) for factor in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32)]
    title = "CPU per operation, as a multiple of the floor"
    path.write_text(page(_LEFT + _WIDTH + 60, height, title, [*grid, *_legend(names), *bars]), "utf-8")


def _kind(name: str) -> str:
    return _KINDS.get(name) or f"peer{PEERS.index(name)}"


def _x(factor: float) -> float:
    inside = min(max(factor, _LEAST), _GREATEST)
    return _LEFT + _WIDTH * math.log(inside / _LEAST) / math.log(_GREATEST / _LEAST)


def _bar(y: float, factor: float, kind: str) -> str:
    end = _x(factor)
    return box(_LEFT, y, end - _LEFT, _BAR - 1, kind) + text(end + 3, y + _BAR - 1, f"{factor:.2g}", size=9)


def _grid(factor: float, bottom: float) -> str:
    x = _x(factor)
    upright = line(x, _TOP - 6, x, bottom, "one" if factor == 1 else "grid")
    return upright + text(x, bottom + 14, "floor" if factor == 1 else f"{factor:g} x", anchor="middle")


def _legend(names: list[str]) -> list[str]:
    parts = [text(8, 18, "CPU per operation, as a multiple of the floor in the same run; shorter is better")]
    x = 8
    for name in names:
        parts.append(box(x, 28, 10, 10, _kind(name)) + text(x + 14, 37, name))
        x += 30 + 8 * len(name)
    return parts
