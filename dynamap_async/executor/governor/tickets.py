"""Tickets: the right of one operation to be sent, and the lines in which they wait for it. Pure.

Invariant: a ticket is in at most one lane. All tickets of a lane draw on the same buckets with the same priority, so
only the first of each lane has to be looked at, however many wait.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeAlias

from dynamap_async.config import Priority
from dynamap_async.executor.governor.bucket import Bucket
from dynamap_async.executor.governor.estimates import Estimate

Needs: TypeAlias = tuple[tuple[Bucket, float], ...]
"""Each bucket that an operation draws on, once, with the units that it is expected to take."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One operation that needs units, all of them at once."""

    needs: Needs
    priority: Priority
    estimate: Estimate
    """What it is expected to take, of places instead of buckets."""
    number: int = 0
    """Its place among all tickets; one that is asked for again keeps it."""
    admitted_at: float | None = None
    """When it got its units; None before."""
    lane: "Lane | None" = None
    """Where it waits; None where it does not."""

    @property
    def is_first(self) -> bool:
        """Whether it is the next of those that draw on the same buckets with the same priority."""
        return self.lane is not None and self.lane.first is self

    @property
    def is_spent(self) -> bool:
        """Whether it neither waits nor holds units."""
        return self.lane is None and self.admitted_at is None


@dataclass(slots=True, eq=False)
class Lane:
    """Tickets that draw on the same buckets with the same priority, in their order."""

    buckets: tuple[Bucket, ...]
    priority: Priority
    tickets: OrderedDict[Ticket, None] = field(default_factory=OrderedDict[Ticket, None])
    """In their order. Any of them may leave at any time, at the same cost (a plain dict would search for its first)."""

    @property
    def first(self) -> Ticket:
        """The ticket that came first."""
        return next(iter(self.tickets))


class Lanes:
    """All tickets that wait."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[Priority, tuple[Bucket, ...]], Lane] = {}

    def __iter__(self) -> Iterator[Lane]:
        """Return the lanes in which anyone waits."""
        return iter(tuple(self._lanes.values()))

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def join(self, ticket: Ticket) -> bool:
        """Put a ticket into its place; tell whether it is the first of its lane."""
        buckets = tuple(bucket for bucket, _ in ticket.needs)
        lane = self._lanes.get((ticket.priority, buckets))
        if lane is None:
            lane = self._lanes[ticket.priority, buckets] = Lane(buckets, ticket.priority)
        ticket.lane = lane
        line = lane.tickets
        is_last = not line or next(reversed(line)).number < ticket.number
        line[ticket] = None
        if not is_last:
            earlier = list(takewhile(lambda other: other.number < ticket.number, line))
            for each in (ticket, *reversed(earlier)):
                line.move_to_end(each, last=False)
        return lane.first is ticket

    def leave(self, ticket: Ticket) -> None:
        """Take a ticket out of its lane."""
        lane, ticket.lane = ticket.lane, None
        if lane is None:
            return
        del lane.tickets[ticket]
        if not lane.tickets:
            del self._lanes[lane.priority, lane.buckets]

    def waiting(self) -> dict[Bucket, tuple[Priority, ...]]:
        """Return each bucket that is waited for, and by whom."""
        found: dict[Bucket, tuple[Priority, ...]] = {}
        for lane in self._lanes.values():
            for bucket in lane.buckets:
                found[bucket] = (*found.get(bucket, ()), lane.priority)
        return found
