"""Measures what the command line asks for, and reports."""

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks import chart, questions, report, subjects
from benchmarks.results import Results
from benchmarks.rounds import QUICK_MINUTES, Plan, measure


def main() -> int:
    """Print the tables, and write the files that the command line names."""
    options = _options()
    try:
        results = Results.of_file(options.json, quick=options.quick) if options.more else Results(quick=options.quick)
    except (OSError, ValueError) as error:
        print(f"--more: {error}", file=sys.stderr)
        return 2
    only = options.only or [name for name in questions.NAMES if questions.load(name).quick or not options.quick]
    plan = Plan(
        asked={name: questions.load(name) for name in only},
        names=options.subjects,
        rounds=options.rounds,
        quick=options.quick,
        uvloop=options.uvloop,
        minutes=QUICK_MINUTES if options.minutes is None and options.quick else options.minutes,
        earlier=results.rounds,
    )
    began = time.monotonic()
    rounds = measure(plan, results)
    seconds = time.monotonic() - began
    report.show(results, plan.asked, rounds=rounds, seconds=seconds, busy=os.getloadavg()[0])
    if options.json:
        results.write(options.json, command=" ".join(["nox -s bench --", *sys.argv[1:]]))
    if options.svg:
        chart.write(options.svg, results.medians(), plan.asked)
    return 1 if results.failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench --", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="little work in each run, and only as many rounds as fit into two minutes"
    )
    parser.add_argument("--only", nargs="+", choices=questions.NAMES, metavar="QUESTION")
    parser.add_argument("--subjects", nargs="+", choices=subjects.NAMES, default=list(subjects.NAMES), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each question and library (default: 5)")
    parser.add_argument("--minutes", type=float, help="begin no round that would end later than that")
    parser.add_argument("--json", type=Path, help="write all runs, versions and the machine to this file")
    parser.add_argument("--more", action="store_true", help="add rounds to those that the file of --json has")
    parser.add_argument("--svg", type=Path, help="draw the chart into this file")
    parser.add_argument("--uvloop", action="store_true", help="run the clients on uvloop, all questions")
    options = parser.parse_args()
    if options.more and not options.json:
        parser.error("--more adds to the file of --json: name it")
    return options
