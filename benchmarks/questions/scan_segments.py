"""Scan 100,000 items in 8 segments; the cost is that of one item."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, once
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    async def scan() -> None:
        found = await subject.scan()
        if found != effort.scanned:
            raise AssertionError(f"{subject.label} found {found} of {effort.scanned} items")

    return await once(scan, operations=effort.scanned)


QUESTION = Question(asks="parallel scan, 8 segments, per item", floor="Scan pages", run=_run, group="bulk")
