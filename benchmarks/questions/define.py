"""Define the model of ten attributes."""

from dataclasses import replace

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, plainly
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    run = plainly(subject.define, seconds=effort.seconds / 2)
    return replace(run, cost=run.cost / 1e3)


QUESTION = Question(
    asks="define a model", floor="a plain Pydantic model", run=_run, group="parts", distinct=100, unit="ms"
)
