"""From nothing to the first answer: a fresh process imports the library, opens it with a given endpoint, gets one item.

The CPU is that of the whole process, Python's own start included. Whatever a library loads late, when it is opened or
asked first, is in this figure.
"""

import json
import subprocess
import sys

from benchmarks.processes import ENTRY
from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run
from benchmarks.subjects import CannotError, Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    return start(subject, endpoint)


def start(subject: Subject, endpoint: str | None = None, *, finds: bool = False) -> Run:
    """Measure a cold start.

    Args:
        subject: the library.
        endpoint: the server's address; None for that of AWS's configuration files.
        finds: whether the library is to find region and access key by itself.
    """
    kind = type(subject)
    line = [sys.executable, str(ENTRY), "cold", kind.__module__, kind.__name__, "found" if finds else "given"]
    if endpoint is not None:
        line.append(endpoint)
    ran = subprocess.run(line, check=True, capture_output=True, text=True)
    told = json.loads(ran.stdout)
    if "cannot" in told:
        raise CannotError(told["cannot"])
    return Run(cost=told["cost"])


QUESTION = Question(
    asks="from nothing to the first get",
    floor="aiohttp, orjson, Pydantic",
    run=_run,
    unit="ms",
    distinct=10,
    group="parts",
    opened=False,
)
