"""Import the library in a fresh process.

Of this library it is what a program with a session needs. aiobotocore is not part of that: it is loaded when a session
is opened that has something to look up (``open_configured``). ``cold_start`` and ``cold_configured`` have it all.
"""

import subprocess
import sys

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run
from benchmarks.subjects import Subject

_PROGRAM = "import time; before = time.process_time(); import {}; print(time.process_time() - before)"


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    program = _PROGRAM.format(subject.imports)
    # A subprocess that blocks: nothing else runs in this loop, and an idle loop costs nothing.
    ran = subprocess.run([sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True)  # noqa: ASYNC221
    return Run(cost=float(ran.stdout) * 1e3)


QUESTION = Question(
    asks="import", floor="aiobotocore and Pydantic", run=_run, unit="ms", distinct=10, group="parts", opened=False
)
