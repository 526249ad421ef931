"""Build a query with a key range and a filter of two conditions, and render its expressions."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, plainly
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return plainly(subject.render, seconds=effort.seconds / 2)


QUESTION = Question(
    asks="build and render a query", floor="JSON of the finished body", run=_run, group="parts", distinct=100
)
