"""What commands print: results on standard output, everything else on standard error."""

from collections.abc import Iterable, Sequence
from typing import Final

import typer

_GAP: Final = "  "


def show(text: str) -> None:
    """Print a result."""
    typer.echo(text)


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
