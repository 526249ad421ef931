"""Get single items from 1000 tasks at the same time: what a busy service does."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(subject.get, callers=1000, seconds=effort.seconds, distinct=2_000, least=2 * 1000)


QUESTION = Question(
    asks="concurrent gets, 1000 callers",
    floor="GetItem for each",
    run=_run,
    group="concurrent",
    distinct=2_000,
    quick=False,
)
