"""Set one attribute of an item and add to another, by 64 callers; the new item comes back."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(subject.update, callers=64, seconds=effort.seconds, distinct=1_000)


QUESTION = Question(asks="update one item, 64 callers", floor="UpdateItem", run=_run, group="single")
