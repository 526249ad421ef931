"""Measures how costs grow with the work, and says whether the cost for each item stays flat."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.growth import chart
from benchmarks.growth.judge import Flat, Medians, judge, medians
from benchmarks.growth.series import SERIES, Series
from benchmarks.processes import Programs
from benchmarks.results import about
from benchmarks.subjects import FLOOR, OURS

NAMES = (FLOOR, OURS)


def main() -> int:
    """Print a table for each series and the verdicts, and write the files that the command line names."""
    options = _options()
    names, began = options.only or list(SERIES), time.monotonic()
    rounds, versions = _measure(names, rounds=options.rounds, quick=options.quick)
    measured = {name: {subject: medians(rounds[subject][name]) for subject in NAMES} for name in names}
    verdicts = [verdict for name in names for verdict in judge(name, measured[name][OURS], measured[name][FLOOR])]
    _show(measured, verdicts)
    print(f"{options.rounds} rounds in {time.monotonic() - began:.0f} s; load at the end {os.getloadavg()[0]:.1f}")
    if options.json:
        told = [
            {"series": each.name, "figure": each.figure, "worst_size": each.size, "times": round(each.times, 3)}
            | {"floor_times": round(each.floor_times, 3), "bound": each.bound, "flat": each.met}
            for each in verdicts
        ]
        content = {**about(" ".join(["nox -s bench --", *sys.argv[1:]])), "quick": options.quick}
        content |= {"versions": versions, "verdicts": told, "medians": measured, "runs": rounds}
        options.json.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    if options.svg:
        chart.write(options.svg, measured)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench -- growth", description=__doc__)
    parser.add_argument("growth")
    parser.add_argument("--quick", action="store_true", help="little work, and nothing with more than 10,000 items")
    parser.add_argument("--only", nargs="+", choices=SERIES, metavar="SERIES")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each size (default: 3)")
    parser.add_argument("--json", type=Path, help="write all runs, versions and the machine to this file")
    parser.add_argument("--svg", type=Path, help="draw the charts into this file")
    return parser.parse_args()


def _measure(
    names: Sequence[str], *, rounds: int, quick: bool
) -> tuple[dict[str, dict[str, list[dict[int, dict[str, float]]]]], dict[str, Any]]:
    """Return library -> series -> the runs of each round, and library -> versions."""
    found: dict[str, dict[str, list[dict[int, dict[str, float]]]]] = {
        subject: {name: [] for name in names} for subject in NAMES
    }
    versions: dict[str, Any] = {}
    programs = Programs.found()
    with programs.server(scanned=0) as server:
        arguments = [*names, "--endpoint", server.plain, *(["--quick"] if quick else [])]
        for number in range(rounds):
            for subject in NAMES if number % 2 == 0 else reversed(NAMES):
                told = programs.work("growing", subject, arguments, seconds=600)
                versions[subject] = told["versions"]
                for name, runs in told["runs"].items():
                    found[subject][name].append({int(size): run for size, run in runs.items()})
    return found, versions


def _show(measured: dict[str, dict[str, Medians]], verdicts: Sequence[Flat]) -> None:
    console = Console(width=None if Console().is_terminal else 160)
    for name, subjects in measured.items():
        console.print(_table(SERIES[name], subjects))
    table = Table(title="Is it flat? The worst size above the middle one, as a multiple of the middle one")
    for title in ("series", "figure", "middle", "worst at", "times", "floor's", "more than it by", "bound", "flat"):
        table.add_column(title)
    for each in verdicts:
        words = [each.name, each.figure, f"{SERIES[each.name].middle:,}", f"{each.size:,}", f"{each.times:.2f}"]
        words += [f"{each.floor_times:.2f}", f"{each.factor:.2f}"]
        met = "yes" if each.met else "NO"
        table.add_row(*words, f"{each.bound:.2f}", met, style=None if each.met else "red")
    console.print(table)


def _table(series: Series, subjects: dict[str, Medians]) -> Table:
    table = Table(title=f"{series.asks}: CPU in us for each {series.each}, by number of {series.size}")
    table.add_column(series.size)
    sizes = list(subjects[OURS])
    for size in sizes:
        table.add_column(f"{size:,}", justify="right")
    for subject, measured in subjects.items():
        table.add_row(subject, *(f"{measured[size]['cost']:.3g}" for size in sizes))
        if "peak_mib" in measured[sizes[0]]:
            table.add_row("  memory, MiB", *(f"{measured[size]['peak_mib']:.0f}" for size in sizes))
    return table
