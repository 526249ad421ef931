"""Asks each library the questions, one after the other, each time on a fresh simulated table."""

import argparse
import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.acceptance import report
from benchmarks.acceptance.questions import QUESTIONS, Question
from benchmarks.acceptance.server import LATENCY_SECONDS
from benchmarks.acceptance.service import BURST_SECONDS
from benchmarks.acceptance.table import simulated
from benchmarks.acceptance.task import Effort
from benchmarks.acceptance.team import Figures, SilentWorkerError, Variant

FULL = Effort(write_units=1000, seconds=8.0)
QUICK = Effort(write_units=1000, seconds=4.0)


def main() -> int:
    """Ask, print the tables, and write the file that the command line names."""
    options = _options()
    answers = asyncio.run(_ask(options))
    settings = {"burst_seconds": options.burst_seconds, "latency_ms": options.latency_ms}
    report.show(answers, **settings)
    failed = any(each.get("error", "").startswith("failed:") for one in answers.values() for each in one.values())
    left = [name for name in options.only if name not in answers]
    if left:
        print("no time was left for:", *left)
    return 1 if failed or left else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench -- acceptance", description=__doc__)
    parser.add_argument("acceptance", metavar="acceptance")
    parser.add_argument("--quick", action="store_true", help="half the time for each question; indicative")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS), metavar="QUESTION")
    parser.add_argument("--libraries", nargs="+", help="only those whose name begins so", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=1, help="how often each library is asked about latency")
    parser.add_argument("--minutes", type=float, help="begin no question after that")
    parser.add_argument("--burst-seconds", type=float, default=BURST_SECONDS, help="how long unused capacity is kept")
    parser.add_argument("--latency-ms", type=float, default=LATENCY_SECONDS * 1e3, help="least time of an answer")
    parser.add_argument(
        "--json", type=Path, help="write all figures to this file after each question; answers to others stay in it"
    )
    return parser.parse_args()


async def _ask(options: argparse.Namespace) -> report.Answers:
    effort = replace(QUICK if options.quick else FULL, rounds=options.rounds)
    how = {"burst_seconds": options.burst_seconds, "latency_ms": options.latency_ms}
    command = " ".join(["nox -s bench --", *sys.argv[1:]])
    answers: report.Answers = {}
    first = time.monotonic()
    for name in options.only:
        begin = time.monotonic()
        if options.minutes is not None and begin - first > options.minutes * 60:
            break
        question = QUESTIONS[name]
        asked = [
            variant
            for variant in question.variants
            if not options.libraries or variant.label.startswith(tuple(options.libraries))
        ]
        answers[name] = await _answers(question, asked, effort, how)
        if options.json:
            report.write(options.json, {name: answers[name]}, command=command, **how)
        print(f"{name}: {time.monotonic() - begin:.0f} s, {time.monotonic() - first:.0f} s in all", file=sys.stderr)
    return answers


async def _answers(
    question: Question, variants: list[Variant], effort: Effort, how: dict[str, float]
) -> dict[str, Figures]:
    """Ask one question: of all variants at the same time, if it takes little of the machine."""
    how = {**how, "latency_ms": question.answers_in(how["latency_ms"])}
    at_once = asyncio.Semaphore(len(variants) if question.light else 1)

    async def ask(variant: Variant) -> Figures:
        async with at_once, simulated(effort.write_units, **how) as table:
            try:
                return await question.run(table, variant, effort)
            except SilentWorkerError as error:
                return {"error": f"failed: {error}"}

    async with asyncio.TaskGroup() as group:
        asking = {variant.label: group.create_task(ask(variant)) for variant in variants}
    return {label: task.result() for label, task in asking.items()}
