"""Read 10,000 items by their keys; the cost is that of one item."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(
        lambda _: subject.batch_get(effort.many), callers=1, seconds=effort.seconds, distinct=1, per=effort.many
    )


QUESTION = Question(
    asks="batch get, per item", floor="BatchGetItem of 100, side by side", run=_run, group="bulk", distinct=0
)
