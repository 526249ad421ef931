"""Write ten items in one transaction, by 8 callers."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(lambda _: subject.transact(), callers=8, seconds=effort.seconds, distinct=1)


QUESTION = Question(asks="transaction of 10 puts", floor="TransactWriteItems", run=_run, group="single")
