"""Turn an item into the JSON that is sent, without sending it."""

from benchmarks.items import PAGE
from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, plainly
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return plainly(subject.encode, seconds=effort.seconds / 2, per=PAGE)


QUESTION = Question(
    asks="encode an item", floor="Pydantic's model_dump, no JSON", run=_run, group="parts", distinct=100
)
