"""``SequentialReads``: an observer that finds reads which wait for each other without need, as N+1 queries do."""

from __future__ import annotations

import logging
import sys
import warnings
from contextvars import ContextVar
from dataclasses import field
from types import CodeType, FrameType
from typing import Final

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError
from dynamap_async.events import Event, RequestEnded, RequestQueued
from dynamap_async.executor import Account, innermost

logger: logging.Logger = logging.getLogger("dynamap_async")

_OURS: Final = __name__.partition(".")[0]
_LOOPS: Final = frozenset({"asyncio", "anyio", "uvloop"})
CodeLine = tuple[CodeType, int]


class SequentialReadsWarning(UserWarning):
    """A line of a program reads item after item, and waits for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialRead:
    """A line that was found."""

    scope: str
    """The name of the scope in which it was found."""
    filename: str
    """The file of the line that awaits the reads."""
    line: int
    """Its number."""
    table: str
    """The full name of the table that it reads."""
    reads: int
    """After how many reads it was found."""


@dataclass(slots=True)
class _Run:
    """The reads of one line in one scope."""

    count: int = 0
    """How many followed each other until now."""
    under_way: int = 0
    ended_at: float = 0.0
    duration_seconds: float = 0.0


@dataclass(slots=True)
class _Runs:
    """What one scope reads, line by line. It lives as long as the tasks of that scope."""

    account: Account
    by_line: dict[CodeLine, _Run] = field(default_factory=dict[CodeLine, _Run])


class SequentialReads:
    """Warns where a scope reads single items one after the other, on one line, that could have been read together.

    ``Session(observer=SequentialReads())``, in development and in tests; it looks at the call stack of each read. A
    line is found when ``reads`` single reads were awaited there inside of one ``session.scope``, each asked for when
    the one before had ended, and after less time than that one took. The warning has the line's place:
    ``SequentialReadsWarning``, once for each line; where a filter makes it an error, no read fails, and it is logged.

    It cannot know whether a key depends on the item before: such a line deserves a ``warnings.filterwarnings``.
    """

    def __init__(self, *, reads: int = 5) -> None:
        """Create an observer that finds reads which wait for each other.

        Args:
            reads: how many must follow each other; 2 or more.

        Raises:
            ConfigurationError: ``reads`` is less than 2.
        """
        if reads < 2:
            raise ConfigurationError(f"SequentialReads(reads={reads}): give 2 or more")
        self._reads: Final = reads
        self._waiting: Final[dict[int, _Run]] = {}
        self._found: Final[dict[CodeLine, SequentialRead]] = {}
        self._runs: Final[ContextVar[_Runs | None]] = ContextVar("dynamap_async_runs", default=None)

    @property
    def found(self) -> tuple[SequentialRead, ...]:
        """The lines that were found until now, each once, for a test to assert that there are none."""
        return tuple(self._found.values())

    def __call__(self, event: Event, /) -> None:
        """Look at an event; sessions call this, as they call every observer.

        Args:
            event: what happened to a request.
        """
        if isinstance(event, RequestQueued) and event.operation == "GetItem":
            self._queued(event)
        elif isinstance(event, RequestEnded):
            run = self._waiting.pop(event.waiter_id, None)
            if run is not None:
                run.under_way -= 1
                run.ended_at, run.duration_seconds = event.at, event.duration_seconds

    def _queued(self, event: RequestQueued) -> None:
        account = innermost()
        line = None if account is None else _awaiting(sys._getframe(1))  # noqa: SLF001 - how the stack is reached
        if account is None or line is None:
            return
        runs = self._runs.get()
        if runs is None or runs.account is not account:
            runs = _Runs(account)
            self._runs.set(runs)
        run = runs.by_line.setdefault(line, _Run())
        follows = not run.under_way and event.at - run.ended_at <= run.duration_seconds
        run.count = run.count + 1 if follows else 1 - bool(run.under_way)
        run.under_way += 1
        self._waiting[event.waiter_id] = run
        if run.count >= self._reads and line not in self._found:
            self._tell(line, account.name, event.table)

    def _tell(self, line: CodeLine, scope: str, table: str) -> None:
        code, number = line
        found = SequentialRead(scope=scope, filename=code.co_filename, line=number, table=table, reads=self._reads)
        self._found[line] = found
        try:
            warnings.warn_explicit(
                f"in scope {scope!r}, {self._reads} items of {table} were read here one after the other; read them "
                "together, by session.get_many(Model, keys), session.gather(...) or session.loader(Model)",
                SequentialReadsWarning,
                code.co_filename,
                number,
            )
        except SequentialReadsWarning:
            # A filter makes it an error, which would break no read and be logged once for all lines. The scope's name
            # may hold a key, and keys are not logged.
            logger.warning(
                "SequentialReadsWarning: %s:%d reads %d items of %s one after the other, and waits for each",
                code.co_filename,
                number,
                self._reads,
                table,
            )


def _awaiting(frame: FrameType | None) -> CodeLine | None:
    """Return the program's own line that awaits; None where a task was made of the read itself."""
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in _LOOPS:
            return None
        if package != _OURS:
            return frame.f_code, frame.f_lineno
        frame = frame.f_back
    return None
