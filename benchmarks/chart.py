"""The chart: one group of bars for each question, as multiples of the floor on a logarithmic scale."""

import math
from pathlib import Path

from benchmarks.questions import Question
from benchmarks.subjects import FLOOR, NAMES, OURS

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
)
_COLOURS = ("#d1242f", "#57606a", "#8c959f", "#afb8c1", "#768390", "#c4cbd3")
_LEFT, _WIDTH, _BAR, _GAP, _TOP = 230, 560, 9, 14, 56
_LEAST, _GREATEST = 0.1, 64.0


def write(path: Path, medians: dict[str, dict[str, dict[str, float]]], asked: dict[str, Question]) -> None:
    """Draw the questions that were asked and have a floor; the red bars are this library's."""
    names = [OURS, *(name for name in NAMES if name not in (FLOOR, OURS))]
    charted = [name for name in _CHARTED if FLOOR in medians.get(name, {})]
    lines = [_legend(names)]
    y = _TOP
    for question in charted:
        figures = medians[question]
        lines.append(_text(_LEFT - 8, y + len(names) * _BAR / 2 + 4, asked[question].asks, anchor="end"))
        for name, colour in zip(names, _COLOURS, strict=False):
            if name in figures:
                lines.append(_bar(y, figures[name]["cost"] / figures[FLOOR]["cost"], colour))
            y += _BAR
        y += _GAP
    height = y + 24
    grid = [_grid(factor, height - 30) for factor in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32)]
    size = f'width="{_LEFT + _WIDTH + 60}" height="{height}"'
    style = "<style>text{font:12px sans-serif;fill:#57606a}</style>"
    body = "\n".join([*grid, *lines])
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n{style}\n{body}\n</svg>\n', "utf-8")


def _x(factor: float) -> float:
    inside = min(max(factor, _LEAST), _GREATEST)
    return _LEFT + _WIDTH * math.log(inside / _LEAST) / math.log(_GREATEST / _LEAST)


def _bar(y: float, factor: float, colour: str) -> str:
    end = _x(factor)
    bar = f'<rect x="{_LEFT}" y="{y:.1f}" width="{end - _LEFT:.1f}" height="{_BAR - 1}" fill="{colour}"/>'
    return bar + _text(end + 3, y + _BAR - 1, f"{factor:.2g}", size=9)


def _grid(factor: float, bottom: float) -> str:
    x = _x(factor)
    stroke = "#1a7f37" if factor == 1 else "#d0d7de"
    line = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{bottom}" stroke="{stroke}"/>'
    return line + _text(x, bottom + 14, "floor" if factor == 1 else f"{factor:g} x", anchor="middle")


def _legend(names: list[str]) -> str:
    parts = [_text(8, 18, "CPU per operation, as a multiple of the floor in the same run; shorter is better")]
    x = 8
    for name, colour in zip(names, _COLOURS, strict=False):
        parts.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{colour}"/>' + _text(x + 14, 37, name))
        x += 30 + 8 * len(name)
    return "\n".join(parts)


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="font-size:{size}px">{words}</text>'
