"""Read the 50,000 items of one query one by one, keeping none: the cost of one item, and the most memory held."""

import resource
from dataclasses import replace

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, once
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await read(subject, effort.streamed)


async def read(subject: Subject, count: int) -> Run:
    """Measure reading so many items."""

    async def stream() -> None:
        found = await subject.stream(count)
        if found != count:
            raise AssertionError(f"{subject.label} found {found} of {count} items")

    run = await once(stream, operations=count)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return replace(run, peak_mib=peak_mib)


QUESTION = Question(asks="stream 50,000 items, per item", floor="Query pages", run=_run, distinct=10)
