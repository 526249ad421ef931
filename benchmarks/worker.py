"""The process that measures: some questions, one library, once. It prints one line of JSON."""

import argparse
import asyncio
import dataclasses
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks import questions, subjects
from benchmarks.questions import Question
from benchmarks.runs import FULL, QUICK, Effort
from benchmarks.subjects import CannotError, Subject


def main() -> int:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("worker")
    parser.add_argument("subject", choices=subjects.NAMES)
    parser.add_argument("questions", nargs="+", choices=questions.NAMES)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--uvloop", action="store_true")
    options = parser.parse_args()
    asked = {name: questions.load(name) for name in options.questions}
    effort = QUICK if options.quick else FULL
    subject = subjects.load(options.subject)()
    distinct = max(question.distinct or effort.many for question in asked.values())
    if distinct > 10:
        distinct = max(distinct, effort.many)
    subject.prepare(distinct)
    run = asyncio.run
    if options.uvloop:
        from uvloop import run
    runs = run(_measure(subject, asked, options.endpoint, effort))
    told = {"runs": runs, "returns": subject.returns, "versions": versions(subject)}
    print(json.dumps({**told, "python": platform.python_version()}))
    return 0


async def _measure(
    subject: Subject, asked: dict[str, Question], endpoint: str, effort: Effort
) -> dict[str, dict[str, Any]]:
    """Return name -> the run as a dict, or ``{"cannot": why}``."""
    runs: dict[str, dict[str, Any]] = {}
    is_open = False
    for name, question in asked.items():
        if question.opened and not is_open:
            await subject.open(endpoint)
            is_open = True
        try:
            run = await question.run(subject, endpoint, effort)
        except CannotError as error:
            runs[name] = {"cannot": str(error)}
        except Exception as error:  # noqa: BLE001 - whatever a library raises is told in its place of the table
            runs[name] = {"failed": _told(error)}
        else:
            runs[name] = {key: value for key, value in dataclasses.asdict(run).items() if value is not None}
            is_open = is_open or question.opens
    if is_open:
        await subject.close()
    return runs


def _told(error: Exception) -> str:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def versions(subject: Subject) -> dict[str, str]:
    """Return distribution -> version, of what is installed for a library."""
    found: dict[str, str] = {}
    for name in subject.distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "?"
    return found
