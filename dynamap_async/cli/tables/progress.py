"""What is said while tables change: each step when it is sent and done, and that it still goes on."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from shutil import get_terminal_size
from typing import Final, TextIO

from dynamap_async.tables import StepProgress, TableStep
from dynamap_async.tables.estimates import duration
from dynamap_async.turns import new_task

_ON_TERMINAL_SECONDS: Final = 1.0
_ON_PIPE_SECONDS: Final = 10.0
_TO_THE_END: Final = "\x1b[K"


class ProgressLines:
    """Writes a line for each step that is sent or done, and from time to time which steps are awaited.

    On a terminal, the line of what is waited for is written over each second; elsewhere there is one each 10 seconds.
    """

    def __init__(self, stream: TextIO, now: Callable[[], float]) -> None:
        self._stream = stream
        self._now = now
        self._over = stream.isatty()
        self._since: dict[str, float] = {}
        self._filled: dict[str, str] = {}
        """Step -> how far an index can be by now."""
        self._open = False
        """Whether the last line may be written over."""

    def watch(self, progress: StepProgress) -> None:
        """Record and print a step's new state."""
        if progress.state == "planned":
            return
        step = _named(progress.step)
        began = self._since.setdefault(step, self._now())
        match progress.state:
            case "waiting":
                pass
            case "sent":
                self._write(f"{step}: sent")
            case "progress":
                self._note_filling(step, progress)
            case _:
                del self._since[step]
                self._filled.pop(step, None)
                took = f"done, {duration(self._now() - began)}"
                # A step whose time is over has not failed: DynamoDB goes on with it.
                told = {"skipped": "somebody else had done it", "failed": "not done"}.get(progress.state, took)
                self._write(f"{step}: {told}")

    def tell_waiting(self) -> None:
        """Print which steps are awaited, and for how long."""
        if not self._since:
            return
        began = min(self._since.values())
        waited = ", ".join(step + self._filled.get(step, "") for step in self._since)
        line = f"waiting since {duration(self._now() - began)}: {waited}"
        # Cut off, since a line that wraps could not be written over.
        self._write(line[: get_terminal_size().columns - 1] if self._over else line, stays=not self._over)

    @asynccontextmanager
    async def told(self) -> AsyncGenerator[None]:
        """Print from time to time which steps are awaited while the block runs."""

        async def tell() -> None:
            while True:
                await asyncio.sleep(_ON_TERMINAL_SECONDS if self._over else _ON_PIPE_SECONDS)
                self.tell_waiting()

        task = new_task(tell())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait((task,))
            if not task.cancelled():
                task.result()  # what could not be written
            if self._open:
                self._stream.write("\n")

    def _note_filling(self, step: str, progress: StepProgress) -> None:
        if progress.items_done is not None and progress.items_expected is not None:
            self._filled[step] = f" (at most {progress.items_done:,} of {progress.items_expected:,}, going by time)"

    def _write(self, line: str, *, stays: bool = True) -> None:
        start = f"\r{_TO_THE_END}" if self._open else ""
        self._stream.write(start + line + ("\n" if stays else ""))
        self._stream.flush()
        self._open = not stays


def lines_on_stderr() -> ProgressLines:
    """Return the progress lines on standard error."""
    return ProgressLines(sys.stderr, asyncio.get_running_loop().time)


def _named(step: TableStep) -> str:
    return f"{step.table}: {step.kind}{' ' + step.index if step.index else ''}"
