"""What commands print: results on standard output, everything else on standard error, colour on terminals only."""

import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final, TextIO

import typer

_GAP: Final = "  "
_ROWS: Final = 200
"""How many lines of a table a terminal gets."""
_CONTINUED: Final = " " * 10
"""How a line of changes begins that goes on with the one above."""
_ON_TERMINAL_SECONDS: Final = 1.0
_ON_PIPE_SECONDS: Final = 10.0
_COLOURS: Final = {"+": "green", "-": "red", "~": "yellow", "!": "red", "h": "yellow"}
"""First character of a line -> its colour, where lines tell of changes."""


def has_colour(stream: TextIO) -> bool:
    """Return whether a stream shows colours, and the user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def can_ask() -> bool:
    """Return whether there is a terminal to answer a question."""
    return sys.stdin.isatty()


def show(text: str) -> None:
    """Print a result on standard output."""
    typer.echo(text)


def show_changes(text: str) -> None:
    """Print lines that begin with a sign of their change; on a terminal, each sign has its colour."""
    colour, sign = has_colour(sys.stdout), None
    for line in text.splitlines():
        if not line.startswith(_CONTINUED):
            sign = _COLOURS.get(line.lstrip()[:1]) if line.startswith(" ") else None
        typer.echo(typer.style(line, fg=sign) if colour and sign else line, color=colour)


def tell(text: str) -> None:
    """Print what is not a result, such as progress and costs, on standard error."""
    typer.echo(text, err=True)


class TimedLines:
    """Lines of progress on standard error: one a second on a terminal, and one every 10 seconds elsewhere."""

    def __init__(self) -> None:
        self._seconds = _ON_TERMINAL_SECONDS if sys.stderr.isatty() else _ON_PIPE_SECONDS
        self._told = time.monotonic()

    def tell(self, text: object) -> None:
        """Print a line, unless the last one was printed just now."""
        if time.monotonic() - self._told > self._seconds:
            self._told = time.monotonic()
            tell(str(text))


def table_of(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table as text, as wide as its contents.

    Args:
        lines: the texts of each line, as many as there are headings.
    """
    whole = [headings, *lines]
    widths = [max(len(line[n]) for line in whole) for n in range(len(headings))]
    return "\n".join(
        _GAP.join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in whole
    )


def show_rows(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """Print a table as text; on a terminal at most 200 lines of it, and how to get the others."""
    shown = lines[:_ROWS] if sys.stdout.isatty() else lines
    show(table_of(headings, shown))
    if len(shown) < len(lines):
        tell(f"{len(lines) - len(shown):,} more: a pipe or a file gets all of them, as in `| less`")


def number_of(count: int, thing: str, things: str | None = None) -> str:
    """Return a number with its noun: ``1 table``, ``2 tables``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def plain_number(value: float) -> str:
    """Return a number with all digits before the point, and one behind it if that is not zero."""
    return f"{value:,.1f}".removesuffix(".0")


def units_of(count: float, kind: str) -> str:
    """Return capacity units as people say them: ``1 read unit``, ``1,234,567.5 write units``."""
    return f"{plain_number(count)} {kind} unit{'' if count == 1 else 's'}"


def compact(value: Any) -> str:
    """Return a number of bytes in the most readable unit."""
    size, units = float(value), ["B", "KB", "MB", "GB", "TB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:,.0f} {units[0]}" if size >= 100 or units[0] == "B" else f"{size:,.1f} {units[0]}"
