"""Pages: what one request looks at, and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dynamap_async.limits import PAGE_BYTES
from dynamap_async.simulated.store import Entry, Place, Position


@dataclass(slots=True)
class Page:
    """What one request of a query, a scan or a SELECT has looked at."""

    entries: list[Entry] = field(default_factory=list[Entry])
    """What fits the filter."""
    size: int = 0
    """The bytes of all that was looked at."""
    looked_at: int = 0
    ended: Position | None = None
    """Where it ended, if there may be more."""


def page(place: Place, positions: Iterable[Position], limit: int, fits: Callable[[Entry], bool] | None = None) -> Page:
    """Return one page: at most 1 MB and ``limit`` items are looked at, before the filter.

    Args:
        place: what is read.
        positions: what to look at, in order.
        limit: the most items to look at; 0 for any number.
        fits: the filter.
    """
    found, entries = Page(), place.entries
    last: Position | None = None
    for position in positions:
        entry = entries[position]
        if found.looked_at and found.size + entry.size > PAGE_BYTES:
            found.ended = last
            break
        found.size += entry.size
        found.looked_at += 1
        last = position
        if fits is None or fits(entry):
            found.entries.append(entry)
        if found.looked_at == limit:  # the service does not look whether anything follows
            found.ended = last
            break
    return found
