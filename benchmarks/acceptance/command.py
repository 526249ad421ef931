"""Asks each library the questions, one after the other, each time on a fresh simulated table."""

import argparse
import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.acceptance import report
from benchmarks.acceptance.questions import QUESTIONS, Effort
from benchmarks.acceptance.table import simulated
from benchmarks.acceptance.team import SilentWorkerError
from benchmarks.simulated.buckets import BURST_SECONDS
from benchmarks.simulated.server import LATENCY_SECONDS

FULL = Effort(write_units=1000, seconds=30.0, rounds=2)
QUICK = Effort(write_units=1000, seconds=8.0)


def main() -> int:
    """Ask, print the tables, and write the file that the command line names."""
    options = _options()
    answers = asyncio.run(_ask(options))
    settings = {"burst_seconds": options.burst_seconds, "latency_ms": options.latency_ms}
    report.show(answers, **settings)
    if options.json:
        report.write(options.json, answers, command=" ".join(["nox -s bench --", *sys.argv[1:]]), **settings)
    failed = any(each.get("error", "").startswith("failed:") for one in answers.values() for each in one.values())
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench -- capacity", description=__doc__)
    parser.add_argument("capacity", metavar="capacity")
    parser.add_argument("--quick", action="store_true", help="loads of 8 seconds instead of 30; indicative")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS), metavar="QUESTION")
    parser.add_argument("--libraries", nargs="+", help="only those whose name begins so", metavar="NAME")
    parser.add_argument("--rounds", type=int, help="how often each library is asked about latency (2; quick: 1)")
    parser.add_argument("--burst-seconds", type=float, default=BURST_SECONDS, help="how long unused capacity is kept")
    parser.add_argument("--latency-ms", type=float, default=LATENCY_SECONDS * 1e3, help="least time of an answer")
    parser.add_argument("--json", type=Path, help="write all figures, versions and the machine to this file")
    return parser.parse_args()


async def _ask(options: argparse.Namespace) -> report.Answers:
    effort = QUICK if options.quick else FULL
    effort = replace(effort, rounds=options.rounds or effort.rounds)
    answers: report.Answers = {}
    for name in options.only:
        question = QUESTIONS[name]
        answers[name] = {}
        for variant in question.variants:
            if options.libraries and not variant.label.startswith(tuple(options.libraries)):
                continue
            how = {"burst_seconds": options.burst_seconds, "latency_ms": options.latency_ms}
            async with simulated(effort.write_units, **how) as table:
                try:
                    answers[name][variant.label] = await question.run(table, variant, effort)
                except SilentWorkerError as error:
                    answers[name][variant.label] = {"error": f"failed: {error}"}
            print(f"{name}: {variant.label}", file=sys.stderr)
    return answers
