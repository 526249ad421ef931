"""Query a page of 100 items, by 8 callers."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(lambda _: subject.query(), callers=8, seconds=effort.seconds, distinct=1)


QUESTION = Question(asks="query a page of 100, 8 callers", floor="Query", run=_run, group="single")
