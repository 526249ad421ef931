"""Put 10,000 items one by one from 400 tasks."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(subject.put, callers=400, seconds=0, distinct=effort.many, least=effort.many)


QUESTION = Question(
    asks="10,000 single puts, 400 callers", floor="PutItem for each", run=_run, group="concurrent", distinct=0
)
