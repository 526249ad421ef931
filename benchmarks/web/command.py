"""Measures a web service with each library: requests a second, CPU for a request, and the slowest of a hundred."""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.processes import Programs
from benchmarks.results import about
from benchmarks.web.handlers import DISTRIBUTIONS, HANDLERS
from benchmarks.web.judge import Figures, judge

CLIENTS = (1, 32, 256)


def main() -> int:
    """Print the figures and the verdicts, and write the file that the command line names."""
    options = _options()
    began = time.monotonic()
    runs = _measure(options.libraries, rounds=options.rounds, seconds=0.5 if options.quick else 5.0)
    measured = {library: _medians(each) for library, each in runs.items()}
    verdicts = judge(measured)
    _show(measured, verdicts)
    print(f"{options.rounds} rounds in {time.monotonic() - began:.0f} s; load at the end {os.getloadavg()[0]:.1f}")
    if options.json:
        content = {**about(" ".join(["nox -s bench --", *sys.argv[1:]])), "quick": options.quick}
        content |= {"versions": {name: version(name) for name in DISTRIBUTIONS}, "medians": measured}
        content |= {"verdicts": verdicts, "runs": runs}
        options.json.write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench -- web", description=__doc__)
    parser.add_argument("web")
    parser.add_argument("--quick", action="store_true", help="half a second for each measurement, in place of five")
    parser.add_argument("--libraries", nargs="+", choices=HANDLERS, default=list(HANDLERS), metavar="NAME")
    parser.add_argument("--rounds", type=int, help="services of each library, by turns (default: 3; quick: 1)")
    parser.add_argument("--json", type=Path, help="write all runs, versions and the machine to this file")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    return options


def _measure(libraries: Sequence[str], *, rounds: int, seconds: float) -> dict[str, list[Figures]]:
    """Return library -> the figures of each round."""
    found: dict[str, list[Figures]] = {library: [] for library in libraries}
    programs = Programs.found()
    load = ["--seconds", str(seconds), "--clients", *map(str, CLIENTS)]
    with programs.server(scanned=0) as server:
        for number in range(rounds):
            for library in libraries if number % 2 == 0 else reversed(libraries):
                with programs.service(library, server.plain) as port:
                    found[library].append(programs.load(["--port", port, *load], seconds=300))
    return found


def _medians(rounds: Sequence[Figures]) -> Figures:
    return {
        state: {figure: statistics.median(run[state][figure] for run in rounds) for figure in rounds[0][state]}
        for state in rounds[0]
    }


def _show(measured: dict[str, Figures], verdicts: Sequence[dict[str, Any]]) -> None:
    console = Console(width=None if Console().is_terminal else 140)
    table = Table(
        title="FastAPI, get by key, model out: requests a second, CPU for each in us, p50 / p99 in ms, failed"
    )
    table.add_column("clients")
    for library in measured:
        table.add_column(library, justify="right")
    for state in next(iter(measured.values())):
        table.add_row(state, *(_cell(figures[state]) for figures in measured.values()))
    first = [next(iter(figures.values())) for figures in measured.values()]
    table.add_row("tracked objects", *(f"{figures['tracked']:,.0f}" for figures in first))
    console.print(table)
    console.print(
        "frozen: after gc.freeze(); tracked objects: what opening the library adds for a full collection to walk"
    )
    judged = Table(title="Budgets")
    for title in ("budget", "measured", "kept"):
        judged.add_column(title)
    for each in verdicts:
        kept = "met" if each["met"] else f"missed by {each['missed_by']:.0%}"
        judged.add_row(each["budget"], f"{each['measured']:,.3g}", kept, style=None if each["met"] else "red")
    console.print(judged)


def _cell(figures: dict[str, float]) -> str:
    failed = f", {figures['failed']:.0f} failed" if figures["failed"] else ""
    times = f"{figures['p50_ms']:.1f}/{figures['p99_ms']:.1f}"
    return f"{figures['rate']:,.0f}  {figures['cpu_us']:,.0f}  {times}{failed}"
