"""Read the 1,000,000 items of one query one by one, keeping none. It takes minutes, so it is asked once."""

from benchmarks.questions.question import Question
from benchmarks.questions.stream import read
from benchmarks.runs import Effort, Run
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await read(subject, effort.million)


QUESTION = Question(
    asks="stream 1,000,000 items, per item", floor="Query pages", run=_run, distinct=10, quick=False, once=True
)
