"""What the questions about concurrent gets share: what a busy service does."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject

_KEYS = 2_000


def gets_at_once(callers: int, *, quick: bool = False) -> Question:
    """Return the question what one get of so many tasks at the same time costs."""

    async def run(subject: Subject, endpoint: str, effort: Effort) -> Run:
        return await calls(subject.get, callers=callers, seconds=effort.seconds, distinct=_KEYS, least=2 * callers)

    return Question(
        asks=f"concurrent gets, {callers} callers",
        floor="GetItem for each",
        run=run,
        group="concurrent",
        distinct=_KEYS,
        quick=quick,
    )
