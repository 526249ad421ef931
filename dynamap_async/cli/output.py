"""What commands print: results on standard output, everything else on standard error, colour on terminals only."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TextIO

import typer

_GAP: Final = "  "
_COLOURS: Final = {"+": "green", "-": "red", "~": "yellow", "!": "red", "h": "yellow"}
"""First character of a line -> its colour, where lines tell of changes."""


def has_colour(stream: TextIO) -> bool:
    """Return whether a stream shows colours, and the user wants them."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def can_ask() -> bool:
    """Return whether somebody is there to answer a question."""
    return sys.stdin.isatty()


def show(text: str) -> None:
    """Print a result."""
    typer.echo(text)


def show_changes(text: str) -> None:
    """Print lines that begin with a sign of what they change; on a terminal, each sign has its colour."""
    colour = has_colour(sys.stdout)
    for line in text.splitlines():
        sign = _COLOURS.get(line.lstrip()[:1]) if line.startswith(" ") else None
        typer.echo(typer.style(line, fg=sign) if colour and sign else line, color=colour)


def tell(text: str) -> None:
    """Print what is no result: what is done, and what it took."""
    typer.echo(text, err=True)


def table_of(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table as text, as wide as its contents.

    Args:
        headings: what its first line says.
        lines: the texts of each line, as many as there are headings.
    """
    whole = [headings, *lines]
    widths = [max(len(line[n]) for line in whole) for n in range(len(headings))]
    return "\n".join(
        _GAP.join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in whole
    )


def number_of(count: int, thing: str, things: str | None = None) -> str:
    """Return a number with what it counts: ``1 table``, ``2 tables``."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def compact(value: Any) -> str:
    """Return a number of bytes in the unit that is read best."""
    size, units = float(value), ["B", "KB", "MB", "GB", "TB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:,.0f} {units[0]}" if size >= 100 or units[0] == "B" else f"{size:,.1f} {units[0]}"
