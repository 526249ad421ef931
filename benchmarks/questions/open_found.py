"""Open a client or session that finds region and access key by itself, and get one item, after the imports."""

import time

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run
from benchmarks.sources import key_in, source_of
from benchmarks.subjects import Subject


def question(about: str) -> Question:
    """Return the question for keys that are found in one place."""
    source = source_of(about)

    async def run(subject: Subject, endpoint: str, effort: Effort) -> Run:
        with key_in(source, endpoint):
            before, begin = time.process_time(), time.perf_counter()
            await subject.open_found(endpoint)
            await subject.get(0)
            elapsed, used = time.perf_counter() - begin, time.process_time() - before
        return Run(cost=used * 1e3, p50_ms=elapsed * 1e3)

    return Question(
        asks=f"open and first get, keys of the {source}",
        floor="nothing",
        run=run,
        unit="ms",
        distinct=10,
        opened=False,
        opens=True,
    )
