"""The same as ``cold_start``, where the endpoint stands in AWS's configuration: what looks it up is loaded as well."""

from benchmarks.questions.cold_start import start
from benchmarks.questions.open_configured import profile_of
from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    with profile_of(endpoint):
        return start(subject)


QUESTION = Question(
    asks="the same, endpoint of the profile",
    floor="nothing",
    run=_run,
    unit="ms",
    distinct=10,
    group="parts",
    opened=False,
)
