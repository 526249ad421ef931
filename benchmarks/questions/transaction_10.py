"""Write ten items in one transaction, by 8 callers, each time others.

DynamoDB cancels transactions that write the same items at the same time, so that no program sends them; this library
sends them one after the other.
"""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(subject.transact, callers=8, seconds=effort.seconds, distinct=50)


QUESTION = Question(asks="transaction of 10 puts", floor="TransactWriteItems", run=_run, group="single")
