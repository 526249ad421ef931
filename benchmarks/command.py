"""Runs everything: starts the server, a fresh process for each library and round, and reports."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import chart, questions, report, subjects
from benchmarks.results import Results
from benchmarks.runs import FULL, QUICK

ROOT = Path(__file__).resolve().parents[1]
QUICK_SECONDS = 120
ENTRY = Path(__file__).with_name("__main__.py")


@dataclass(frozen=True, slots=True)
class Programs:
    """Which Python runs what, and on which cores."""

    aiodynamodb: str | None
    server_cores: frozenset[int]
    client_cores: frozenset[int]

    def python(self, subject: str) -> str | None:
        """Return the Python of the library's environment; None if it was not installed."""
        return self.aiodynamodb if subject == subjects.APART else sys.executable


def main() -> int:
    """Measure what the command line asks for, print the tables, and write the files that it names."""
    options = _options()
    only = options.only or [name for name in questions.NAMES if questions.load(name).quick or not options.quick]
    began = time.monotonic()
    results = Results()
    programs = Programs(os.environ.get("DYNAMAP_BENCH_APART"), *_cores())
    rounds = 0
    with _server(programs, quick=options.quick) as endpoint:
        while rounds < options.rounds and _has_time(began, rounds, quick=options.quick):
            for job in _jobs(only, options.subjects, rounds, quick=options.quick):
                _work(job, results, programs, endpoint, options)
            rounds += 1
    asked = {name: questions.load(name) for name in only}
    seconds = time.monotonic() - began
    report.show(results, asked, rounds=rounds, seconds=seconds, busy=os.getloadavg()[0])
    if options.json:
        results.write(options.json, command=" ".join(["nox -s bench --", *sys.argv[1:]]))
    if options.svg:
        chart.write(options.svg, results.medians(), asked)
    return 1 if any("failed:" in why for each in results.absent.values() for why in each.values()) else 0


def _has_time(began: float, rounds: int, *, quick: bool) -> bool:
    """Tell whether another round fits into the two minutes of a quick run; the first always does."""
    passed = time.monotonic() - began
    return not quick or rounds == 0 or passed + passed / rounds <= QUICK_SECONDS


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench --", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="little work in each run, and only as many rounds as fit into two minutes"
    )
    parser.add_argument("--only", nargs="+", choices=questions.NAMES, metavar="QUESTION")
    parser.add_argument("--subjects", nargs="+", choices=subjects.NAMES, default=list(subjects.NAMES), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each question and library (default: 5)")
    parser.add_argument("--json", type=Path, help="write all runs, versions and the machine to this file")
    parser.add_argument("--svg", type=Path, help="draw the chart into this file")
    parser.add_argument("--uvloop", action="store_true", help="run the clients on uvloop")
    return parser.parse_args()


def _cores() -> tuple[frozenset[int], frozenset[int]]:
    """Return the cores of the server and those of the clients: apart, where there are two."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    if len(allowed) < 2:
        return frozenset(allowed), frozenset(allowed)
    return frozenset(allowed[-1:]), frozenset(allowed[:-1])


def _jobs(only: Sequence[str], names: Sequence[str], number: int, *, quick: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield library and questions of each process of a round, so that neighbours in time are what is compared.

    A full run gives each question and library a process of its own. A quick one has two: in the second
    what must come first comes first, and what counts memory follows with little work done before.
    """
    asked = {name: questions.load(name) for name in only}
    groups = [[name] for name in asked]
    if quick:
        alone = sorted(
            (name for name, question in asked.items() if question.alone), key=lambda name: asked[name].opened
        )
        groups = [group for group in ([name for name in asked if name not in alone], alone) if group]
    # Each round begins with another library, so that none always follows the same one.
    turned = [*names[number % len(names) :], *names[: number % len(names)]]
    for group in groups:
        for name in turned:
            yield name, group


def _work(
    job: tuple[str, list[str]], results: Results, programs: Programs, endpoint: str, options: argparse.Namespace
) -> None:
    """Run one worker and keep what it tells."""
    subject, group = job
    python = programs.python(subject)
    if python is None:
        results.refuse(subject, group, "cannot: its environment is not there; DYNAMAP_BENCH_APART names its Python")
        return
    switches = [name for name, on in (("--quick", options.quick), ("--uvloop", options.uvloop)) if on]
    line = [python, str(ENTRY), "worker", subject, *group, "--endpoint", endpoint, *switches]
    longest = 60 if options.quick else 600
    try:
        with _pinned(programs.client_cores):
            ran = subprocess.run(line, capture_output=True, text=True, check=False, timeout=longest)
    except subprocess.TimeoutExpired:
        results.refuse(subject, group, f"failed: no end after {longest} seconds")
        return
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["the process ended without a word"])[-1]
        results.refuse(subject, group, f"failed: {last}")
    else:
        results.add(subject, json.loads(ran.stdout.splitlines()[-1]))


@contextmanager
def _pinned(cores: frozenset[int]) -> Iterator[None]:
    """Let processes that are started here run on these cores only, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def _server(programs: Programs, *, quick: bool) -> Iterator[str]:
    """Start the stub server and give its address; end it afterwards."""
    effort = QUICK if quick else FULL
    line = [sys.executable, str(ENTRY), "server"]
    line += ["--scanned", str(effort.scanned), "--streamed", str(effort.streamed)]
    with _pinned(programs.server_cores):
        process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()
