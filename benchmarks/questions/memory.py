"""Load 10,000 items by queries and keep them: how much the process grows, in MiB."""

import gc
import os
from pathlib import Path

from benchmarks.items import PAGE
from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run
from benchmarks.subjects import CannotError, Subject


def _resident_mib() -> float:
    gc.collect()
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        raise CannotError("this system does not tell the memory of a process")
    return int(statistics.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    await subject.query()
    before = _resident_mib()
    kept = [await subject.query() for _ in range(effort.loaded // PAGE)]
    grown = _resident_mib() - before
    del kept
    return Run(cost=grown)


QUESTION = Question(asks="10,000 loaded items, MiB", floor="parsed JSON", run=_run, unit="MiB", distinct=10)
