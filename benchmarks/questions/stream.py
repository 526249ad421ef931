"""Read the 1,000,000 items of one query one by one, keeping none: the cost of one item, and the most memory held."""

import resource

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, once
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    async def stream() -> None:
        found = await subject.stream()
        if found != effort.streamed:
            raise AssertionError(f"{subject.label} found {found} of {effort.streamed} items")

    run = await once(stream, operations=effort.streamed)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Run(cost=run.cost, rate=run.rate, peak_mib=peak_mib)


QUESTION = Question(asks="stream a long query, per item", floor="Query pages", run=_run, distinct=10, alone=True)
