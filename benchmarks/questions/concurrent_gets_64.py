"""Get single items from 64 tasks at the same time: what a busy service does."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(subject.get, callers=64, seconds=effort.seconds, distinct=2_000, least=2 * 64)


QUESTION = Question(
    asks="concurrent gets, 64 callers",
    floor="GetItem for each",
    run=_run,
    group="concurrent",
    distinct=2_000,
    quick=False,
)
