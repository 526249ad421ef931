"""Pages: what one request looks at, and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dynamap_async.limits import PAGE_BYTES
from dynamap_async.simulated.store import Entry, Place, Position


@dataclass(frozen=True, slots=True)
class Page:
    """What one request of a query, a scan or a SELECT has looked at."""

    entries: list[Entry]
    """What fits the filter."""
    size: int
    """The bytes of all that was looked at."""
    looked_at: int
    ended: Position | None
    """Where it ended, if there may be more."""


def page(place: Place, positions: Iterable[Position], limit: int, fits: Callable[[Entry], bool] | None = None) -> Page:
    """Return one page: at most 1 MB and ``limit`` items are looked at, before the filter.

    Args:
        place: what is read.
        positions: what to look at, in order.
        limit: the most items to look at; 0 for any number.
        fits: the filter.
    """
    entries, found = place.entries, list[Entry]()
    size = looked_at = 0
    last: Position | None = None
    for position in positions:
        entry = entries[position]
        if looked_at and size + entry.size > PAGE_BYTES:
            return Page(found, size, looked_at, last)
        size += entry.size
        looked_at += 1
        last = position
        if fits is None or fits(entry):
            found.append(entry)
        if looked_at == limit:  # the service does not look whether anything follows
            return Page(found, size, looked_at, last)
    return Page(found, size, looked_at, None)
