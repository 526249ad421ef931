"""Open a client or session with a given endpoint and get one item: what a cold start pays after the imports."""

import time

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    before, begin = time.process_time(), time.perf_counter()
    await subject.open(endpoint)
    await subject.get(0)
    elapsed, used = time.perf_counter() - begin, time.process_time() - before
    return Run(cost=used * 1e3, p50_ms=elapsed * 1e3)


QUESTION = Question(
    asks="open and first get",
    floor="an aiohttp session",
    run=_run,
    unit="ms",
    distinct=10,
    group="single",
    opened=False,
    opens=True,
)
