"""The same as ``cold_start``, where the library finds region and access key by itself, as a deployed program does.

What it loads to find them is in the figure: ``open_found`` has opening and the first get alone.
"""

from benchmarks.questions.cold_start import start
from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run
from benchmarks.sources import key_in, source_of
from benchmarks.subjects import Subject


def question(about: str) -> Question:
    """Return the question for keys that are found in one place."""
    source = source_of(about)

    async def run(subject: Subject, endpoint: str, effort: Effort) -> Run:
        with key_in(source, endpoint):
            return start(subject, endpoint, finds=True)

    return Question(
        asks=f"from nothing to the first get, keys of the {source}",
        floor="nothing",
        run=run,
        unit="ms",
        distinct=10,
        opened=False,
    )
