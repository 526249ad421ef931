"""Tickets: who is admitted next. Pure; the time is passed in.

An operation is admitted when all buckets that it draws on have its units, and takes them all at once. What is more
urgent goes first, and of equal urgency what came first; a part of each rate is guaranteed to what is less urgent.
Whoever is first and cannot go has the units that it waits for set aside, so that those behind it may go as far as that
delays nobody; only where a bucket is full, and would take in no more, somebody goes all the same.

Invariant: a ticket is in at most one queue. All tickets of a queue draw on the same buckets with the same priority, so
only the first of each queue has to be looked at, however many wait. No ticket is overtaken by a later one of its
priority that draws on the same buckets. After ``admit``, nobody waits while all the buckets that it draws on are full.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from typing import Final, TypeAlias

from dynamap_async.config import Priority
from dynamap_async.dataclass import dataclass
from dynamap_async.executor.pacing.buckets import Bucket
from dynamap_async.executor.pacing.estimates import Estimate

Draws: TypeAlias = tuple[tuple[Bucket, float], ...]
"""Each bucket that an operation draws on, once, with the units that it is expected to take."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One operation that draws units, all of them at once."""

    draws: Draws
    priority: Priority
    estimate: Estimate
    """What it is expected to take, of places instead of buckets."""
    patient: bool = True
    """Whether it waits for others, to share a call with them.

    A caller that waits for one answer does not. Nor does what shares no call, such as a page: several at one moment
    would take at once what the table has, and more urgent requests would be refused.
    """
    number: int = 0
    """Its place among all tickets; one that is asked for again keeps it."""
    admitted_at: float | None = None
    """When it got its units; None before."""
    queue: TicketQueue | None = None
    """Where it waits; None where it does not."""

    @property
    def is_first(self) -> bool:
        """Whether it is the next of those that draw on the same buckets with the same priority."""
        return self.queue is not None and self.queue.first is self

    @property
    def is_spent(self) -> bool:
        """Whether it neither waits nor holds units."""
        return self.queue is None and self.admitted_at is None


@dataclass(slots=True, eq=False)
class TicketQueue:
    """Tickets that draw on the same buckets with the same priority, in the order of their numbers.

    Thousands may wait, and any of them may leave or come back at any time: neither looks at all the others.
    """

    buckets: tuple[Bucket, ...]
    priority: Priority
    _line: OrderedDict[Ticket, None] = field(default_factory=OrderedDict[Ticket, None])
    """Those that came in their order (a plain dict would search for its first)."""
    _back: list[Ticket] = field(default_factory=list[Ticket])
    """Those that came back, in their order: they stand before some of the others."""

    def __len__(self) -> int:
        return len(self._line) + len(self._back)

    def __iter__(self) -> Iterator[Ticket]:
        """Return the tickets in their order."""
        return heapq.merge(self._line, self._back, key=_number)

    @property
    def first(self) -> Ticket:
        """The ticket that came first."""
        if not self._back:
            return next(iter(self._line))
        back = self._back[0]
        first = next(iter(self._line), back)
        return first if first.number < back.number else back

    def add(self, ticket: Ticket) -> None:
        """Put a ticket into its place."""
        if not self._line or next(reversed(self._line)).number < ticket.number:
            self._line[ticket] = None
        else:
            insort(self._back, ticket, key=_number)

    def remove(self, ticket: Ticket) -> None:
        """Take a ticket out."""
        if ticket in self._line:
            del self._line[ticket]
        else:
            del self._back[bisect_left(self._back, ticket.number, key=_number)]


def _number(ticket: Ticket) -> int:
    return ticket.number


SHARED_CALL: Final = 25
"""So many are let in together, where so many wait, so that they can share a call."""
QUANTUM_SECONDS: Final = 0.025
"""So long the first of them waits for the others."""
_LONG_SECONDS: Final = 0.1
"""So long nobody waits for others while it is found out why most is refused."""
_ROUNDING: Final = 1e-9


class UnitQueue:
    """The tickets that wait for units."""

    def __init__(self) -> None:
        self._queues: Final[dict[tuple[Priority, tuple[Bucket, ...]], TicketQueue]] = {}
        """Those in which anyone waits."""
        self._asked = 0
        self.requests: int = 0
        """How many requests wait."""

    @property
    def waiting(self) -> bool:
        """Whether anyone waits."""
        return bool(self._queues)

    def join(self, ticket: Ticket) -> bool:
        """Let a ticket wait; return whether ``admit`` may admit it now."""
        if not ticket.number:
            self._asked += 1
            ticket.number = self._asked
        ticket.admitted_at = None
        buckets = tuple(bucket for bucket, _ in ticket.draws)
        queue = self._queues.get((ticket.priority, buckets))
        if queue is None:
            queue = self._queues[ticket.priority, buckets] = TicketQueue(buckets, ticket.priority)
        ticket.queue = queue
        queue.add(ticket)
        self.requests += ticket.estimate.requests
        return queue.first is ticket

    def _take_out(self, ticket: Ticket, queue: TicketQueue) -> None:
        ticket.queue = None
        queue.remove(ticket)
        self.requests -= ticket.estimate.requests
        if not queue:
            del self._queues[queue.priority, queue.buckets]

    def leave(self, ticket: Ticket, now: float) -> None:
        """Take a ticket out of its queue; one that was admitted and did not spend its units gives them back."""
        if ticket.queue is not None:
            self._take_out(ticket, ticket.queue)
        elif ticket.admitted_at is not None:
            ticket.admitted_at = None
            for bucket, units in ticket.draws:
                self.refill(bucket, now)
                bucket.give(units)

    def let_go(self, ticket: Ticket, now: float) -> None:
        """Admit a waiting ticket whatever there is."""
        if ticket.queue is not None:
            self._take_out(ticket, ticket.queue)
        ticket.admitted_at = now
        for bucket, units in ticket.draws:
            self.refill(bucket, now)
            bucket.take(units, ticket.priority)

    def take_at_once(self, ticket: Ticket, now: float) -> bool:
        """Admit a ticket if nobody waits and all of its units are there; return whether that was so."""
        if self._queues:
            return False
        for bucket, units in ticket.draws:
            bucket.fill(now)
            if bucket.tokens < bucket.needed(units, ticket.priority, due=False):
                return False
        ticket.admitted_at = now
        for bucket, units in ticket.draws:
            bucket.take(units, ticket.priority)
        return True

    def fill(self, now: float) -> None:
        """Add to the buckets that are waited for what has come until now."""
        for bucket, priorities in self.waited_for().items():
            bucket.fill(now, priorities)

    def buckets(self) -> set[Bucket]:
        """Return the buckets that anyone waits for."""
        return {bucket for queue in self._queues.values() for bucket in queue.buckets}

    def waiting_for(self, bucket: Bucket) -> int:
        """Return how many requests wait for the units of a bucket."""
        queues = [queue for queue in self._queues.values() if bucket in queue.buckets]
        return sum(ticket.estimate.requests for queue in queues for ticket in queue)

    def waits_with(self, table: str) -> bool:
        """Return whether anyone waits who asks for a table alone."""
        return any(queue.first.estimate.kind.table == table for queue in self._queues.values())

    def refill(self, bucket: Bucket, now: float) -> None:
        """Add to one bucket what has come until now."""
        bucket.fill(now, self.waited_for().get(bucket, ()))

    def waited_for(self) -> Mapping[Bucket, tuple[Priority, ...]]:
        """Return each bucket that is waited for, and by whom."""
        found: dict[Bucket, tuple[Priority, ...]] = {}
        for queue in self._queues.values():
            for bucket in queue.buckets:
                found[bucket] = (*found.get(bucket, ()), queue.priority)
        return found

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
        heads = [(*_rank(queue), queue) for queue in self._queues.values()]
        heapq.heapify(heads)
        while heads and len(admitted) != most:
            urgency, _, queue = heapq.heappop(heads)
            if urgency > least:
                break
            ticket = queue.first
            if not _can_go(ticket, aside):
                for bucket, units in ticket.draws:
                    aside[bucket] += units
                continue
            self._take_out(ticket, queue)
            ticket.admitted_at = now
            for bucket, units in ticket.draws:
                bucket.take(units, ticket.priority)
            admitted.append(ticket)
            if queue:
                heapq.heappush(heads, (*_rank(queue), queue))
        return admitted

    def next_at(self, now: float) -> float | None:
        """Return when ``admit`` is worth calling, if nobody joins or leaves meanwhile; None while nobody waits.

        Where several wait, that is when they can go together, or a little after the first of them could. While it is
        found out at a low rate why most is refused, each goes as soon as it can: many attempts tell more than full
        calls. So does each that shares no call: what is sent at one moment holds up all other tasks.
        """
        self.fill(now)
        aside: defaultdict[Bucket, float] = defaultdict(float)
        soonest: float | None = None
        for queue in sorted(self._queues.values(), key=_rank):
            first = queue.first
            at = now + (alone := _seconds_until([first], aside))
            if first.patient and len(queue) > 1:
                together = _seconds_until(list(islice(queue, SHARED_CALL)), aside)
                if together < _LONG_SECONDS or not any(bucket.pace.trying for bucket in queue.buckets):
                    at = now + min(together, alone + QUANTUM_SECONDS)
            for bucket, units in first.draws:
                aside[bucket] += units
            soonest = at if soonest is None else min(soonest, at)
        return soonest


def _rank(queue: TicketQueue) -> tuple[int, int]:
    first = queue.first
    return (-1 if _is_due(first) else first.priority, first.number)


def _is_due(ticket: Ticket) -> bool:
    return all(bucket.is_due(units, ticket.priority) for bucket, units in ticket.draws)


def _can_go(ticket: Ticket, aside: dict[Bucket, float]) -> bool:
    due = _is_due(ticket)
    for bucket, units in ticket.draws:
        if bucket.open or bucket.tokens >= bucket.depth - _ROUNDING:
            continue
        if bucket.tokens - aside.get(bucket, 0.0) < bucket.needed(units, ticket.priority, due=due) - _ROUNDING:
            return False
    return True


def _seconds_until(tickets: Sequence[Ticket], aside: Mapping[Bucket, float]) -> float:
    """Return how long it takes until there are units for tickets of one queue, besides those set aside."""
    first = tickets[0]
    due = _is_due(first)
    seconds = 0.0
    for place, (bucket, _) in enumerate(first.draws):
        needed = bucket.needed(sum(ticket.draws[place][1] for ticket in tickets), first.priority, due=due)
        seconds = max(seconds, bucket.seconds_until(min(needed + aside.get(bucket, 0.0), bucket.depth)))
    return seconds
