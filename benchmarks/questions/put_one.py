"""Put one item, by 64 callers that each wait for their answer; requests are not shared."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, calls
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return await calls(subject.put_alone, callers=64, seconds=effort.seconds, distinct=1_000)


QUESTION = Question(asks="put one item, 64 callers, not shared", floor="PutItem", run=_run, group="single")
