"""Open a client or session whose endpoint stands in AWS's configuration, and get one item.

aiobotocore and botocore load their rules and their model of the service, as in production, where no endpoint stands
anywhere. This library reads the profile through aiobotocore, which it imports here, in a thread: that is in the figure.
``blocked_ms`` is the longest time in which the event loop did nothing else.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run
from benchmarks.subjects import Subject

_TICK_SECONDS = 0.001


@contextmanager
def profile_of(endpoint: str) -> Iterator[None]:
    """Make a file with this endpoint AWS's configuration, for this process and those that it starts."""
    with tempfile.TemporaryDirectory() as folder:
        configuration = Path(folder) / "config"
        configuration.write_text(f"[default]\nregion = eu-west-1\nendpoint_url = {endpoint}\n", "utf-8")
        os.environ["AWS_CONFIG_FILE"] = str(configuration)
        yield


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    with profile_of(endpoint):
        gaps: list[float] = []
        ticking = asyncio.create_task(_tick(gaps))
        await asyncio.sleep(5 * _TICK_SECONDS)
        gaps.clear()
        before, begin = time.process_time(), time.perf_counter()
        await subject.open(None)
        await subject.get(0)
        elapsed, used = time.perf_counter() - begin, time.process_time() - before
        await asyncio.sleep(2 * _TICK_SECONDS)
        ticking.cancel()
    return Run(cost=used * 1e3, p50_ms=elapsed * 1e3, blocked_ms=max(gaps) * 1e3)


async def _tick(gaps: list[float]) -> None:
    last = time.perf_counter()
    while True:
        await asyncio.sleep(_TICK_SECONDS)
        now = time.perf_counter()
        gaps.append(now - last - _TICK_SECONDS)
        last = now


QUESTION = Question(
    asks="open, endpoint of the profile",
    floor="nothing",
    run=_run,
    unit="ms",
    distinct=10,
    opened=False,
    opens=True,
    quick=False,
)
