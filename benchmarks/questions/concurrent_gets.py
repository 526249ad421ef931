"""Get single items from many tasks at the same time: what a busy service does."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject

_KEYS = 2_000


def question(callers: str) -> Question:
    """Return the question what one get of so many tasks costs."""
    tasks = int(callers)

    async def run(subject: Subject, endpoint: str, effort: Effort) -> Run:
        return await calls(subject.get, callers=tasks, seconds=effort.seconds, distinct=_KEYS, least=2 * tasks)

    return Question(
        asks=f"concurrent gets, {callers} callers",
        floor="GetItem for each",
        run=run,
        group="concurrent",
        distinct=_KEYS,
        quick=tasks == 400,
    )
