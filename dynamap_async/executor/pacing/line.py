"""The line: who is admitted next. Pure; the time is passed in.

An operation is admitted when all buckets that it draws on have its units, and takes them all at once. What is more
urgent goes first, and of equal urgency what came first; a part of each rate is guaranteed to what is less urgent.
Whoever is first and cannot go has the units that it waits for set aside, so that those behind it may go as far as that
delays nobody; only where a bucket is full, and would take in no more, somebody goes all the same.

Invariant: a ticket is in at most one lane. All tickets of a lane draw on the same buckets with the same priority, so
only the first of each lane has to be looked at, however many wait. No ticket is overtaken by a later one of its
priority that draws on the same buckets. After ``admit``, nobody waits while all the buckets that it draws on are full.
"""

import heapq
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Final, TypeAlias

from dynamap_async.config import Priority
from dynamap_async.executor.pacing.buckets import Bucket
from dynamap_async.executor.pacing.estimates import Estimate

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


TOGETHER: Final = 25
"""So many are let in together, where so many wait, so that they can share a call."""
QUANTUM_SECONDS: Final = 0.025
"""So long the first of them waits for the others."""
_ROUNDING: Final = 1e-9


class Line:
    """Operations that wait for units."""

    def __init__(self) -> None:
        self._lanes: Final = Lanes()
        self._asked = 0

    @property
    def waiting(self) -> bool:
        """Whether anyone waits."""
        return bool(self._lanes)

    def join(self, ticket: Ticket) -> bool:
        """Let a ticket wait; tell whether ``admit`` may admit it now."""
        if not ticket.number:
            self._asked += 1
            ticket.number = self._asked
        ticket.admitted_at = None
        return self._lanes.join(ticket)

    def leave(self, ticket: Ticket, now: float) -> None:
        """Let a ticket wait no more; one that was admitted and did not spend its units gives them back."""
        if ticket.lane is not None:
            self._lanes.leave(ticket)
        elif ticket.admitted_at is not None:
            ticket.admitted_at = None
            for bucket, units in ticket.needs:
                self.refill(bucket, now)
                bucket.give(units)

    def fill(self, now: float) -> None:
        """Let the buckets that are waited for fill up to now."""
        for bucket, priorities in self._lanes.waiting().items():
            bucket.fill(now, priorities)

    def buckets(self) -> set[Bucket]:
        """Return the buckets that anyone waits for."""
        return {bucket for lane in self._lanes for bucket in lane.buckets}

    def waits_with(self, table: str) -> bool:
        """Tell whether anyone waits who asks for a table alone."""
        return any(lane.first.estimate.kind.table == table for lane in self._lanes)

    def refill(self, bucket: Bucket, now: float) -> None:
        """Let one bucket fill up to now."""
        bucket.fill(now, self._lanes.waiting().get(bucket, ()))

    def admit(self, now: float, most: int | None = None, least: Priority = Priority.BACKGROUND) -> list[Ticket]:
        """Admit everyone who can go; return them in their order.

        Args:
            now: the time.
            most: how many at most.
            least: the lowest priority of those who are looked at.
        """
        self.fill(now)
        admitted: list[Ticket] = []
        aside: defaultdict[Bucket, float] = defaultdict(float)
        heads = [(*_rank(lane), lane) for lane in self._lanes]
        heapq.heapify(heads)
        while heads and len(admitted) != most:
            urgency, _, lane = heapq.heappop(heads)
            if urgency > least:
                break
            first = lane.first
            if not _can_go(first, aside):
                for bucket, units in first.needs:
                    aside[bucket] += units
                continue
            self._lanes.leave(first)
            first.admitted_at = now
            for bucket, units in first.needs:
                bucket.take(units, first.priority)
            admitted.append(first)
            if lane.tickets:
                heapq.heappush(heads, (*_rank(lane), lane))
        return admitted

    def next_at(self, now: float) -> float | None:
        """Return when ``admit`` is worth calling, if nobody joins or leaves meanwhile; None while nobody waits.

        Where several wait, that is when they can go together, or a little after the first of them could.
        """
        self.fill(now)
        aside: defaultdict[Bucket, float] = defaultdict(float)
        soonest: float | None = None
        for lane in sorted(self._lanes, key=_rank):
            first = lane.first
            together = list(islice(lane.tickets, TOGETHER))
            alone = _seconds_until([first], aside)
            at = now + min(_seconds_until(together, aside), alone + QUANTUM_SECONDS if len(together) > 1 else alone)
            for bucket, units in first.needs:
                aside[bucket] += units
            soonest = at if soonest is None else min(soonest, at)
        return soonest


def _rank(lane: Lane) -> tuple[int, int]:
    first = lane.first
    return (-1 if _is_due(first) else first.priority, first.number)


def _is_due(ticket: Ticket) -> bool:
    return all(bucket.is_due(units, ticket.priority) for bucket, units in ticket.needs)


def _can_go(ticket: Ticket, aside: dict[Bucket, float]) -> bool:
    due = _is_due(ticket)
    for bucket, units in ticket.needs:
        if bucket.open or bucket.tokens >= bucket.depth - _ROUNDING:
            continue
        if bucket.tokens - aside.get(bucket, 0.0) < bucket.needed(units, ticket.priority, due=due) - _ROUNDING:
            return False
    return True


def _seconds_until(tickets: Sequence[Ticket], aside: Mapping[Bucket, float]) -> float:
    """Return how long it takes until there are units for tickets of one lane, besides those set aside."""
    first = tickets[0]
    due = _is_due(first)
    seconds = 0.0
    for place, (bucket, _) in enumerate(first.needs):
        needed = bucket.needed(sum(ticket.needs[place][1] for ticket in tickets), first.priority, due=due)
        seconds = max(seconds, bucket.seconds_until(min(needed + aside.get(bucket, 0.0), bucket.depth)))
    return seconds
