"""Buckets: the units that are there to be spent on one table or index, for reads or for writes. Pure.

Invariant: what was taken since the beginning is never more than what the rate gave since then, except for a debt that
an answer revealed, that one request larger than the bucket left, or that those left who waited for as long as they may.
Such a debt is forgotten while everything is refused, and beyond half a second's worth where the rate was learned.
"""

from __future__ import annotations

import math
from typing import Final

from dynamap_async.config import Priority
from dynamap_async.executor.pacing.pace import FIRST_RATE, Pace
from dynamap_async.usage import PaceState

_KEPT_BACK: Final = {Priority.INTERACTIVE: 0.0, Priority.BATCH: 0.05, Priority.BACKGROUND: 0.1}
"""Seconds' worth of units that a request leaves in the bucket, for more urgent ones that may come."""
GUARANTEED: Final = {Priority.INTERACTIVE: 0.0, Priority.BATCH: 0.15, Priority.BACKGROUND: 0.05}
"""The part of the rate that a priority gets however much more urgent work there is; the most urgent has the rest."""
LENT_UNITS: Final = 25.0
"""What may be spent at once of a table whose limit is being asked for: so much that one call need not wait for it."""
FIRST_UNITS: Final = 5.0
"""What may be spent at once after the first refusal, so that a few requests wait for nothing but their backoff."""
_AT_ONCE_SECONDS: Final = 0.1
"""So many seconds' worth of what was kept may be spent at once; the rest comes as fast again as the rate."""
_AT_ONCE_UNITS: Final = 25.0
"""And never fewer units than one call full of writes takes, as far as they were kept."""
_TOGETHER_SECONDS: Final = 0.05
"""What comes in so many seconds is added at one time, where nobody waits for it and each answer has spent some."""
_OWED_SECONDS: Final = 0.5
"""So many seconds' worth is owed at the most of a rate that was learned: more was delivered, so it is too low."""
_LATE_SECONDS: Final = 30.0
"""So many seconds' worth is kept of what came while requests waited for it."""
_CREDIT_SECONDS: Final = 10.0
"""So many seconds' worth of its guaranteed part a priority can claim at once."""


class Bucket:
    """Units that come at a rate, and are kept up to so many seconds' worth."""

    __slots__ = (
        "_at",
        "_credit",
        "_idle",
        "_kept",
        "_kept_seconds",
        "_kept_spent_at",
        "_least_urgent",
        "_lent",
        "_lost_at",
        "_waited_for",
        "named_at",
        "pace",
        "since",
        "state",
        "tokens",
    )

    def __init__(self, kept_seconds: float, now: float) -> None:
        """Create an empty bucket: what the service may have kept for others is not ours.

        Args:
            kept_seconds: for how many seconds units are kept that nobody takes.
            now: the time.
        """
        self.pace: Final = Pace()
        self.tokens: float = 0.0
        """Units that are there; less than nothing for a debt."""
        self.state: PaceState = "open"
        """What was believed of it when that was looked at last."""
        self.since: float = now
        """Since when."""
        self.named_at: float = -math.inf
        """When a refusal has named it last."""
        self._kept_seconds: Final = kept_seconds
        self._idle = 0.0
        """How many of the ``tokens`` came while nobody waited for them; somebody else may have taken them."""
        self._kept = 0.0
        """Units besides the ``tokens`` that came so."""
        self._kept_spent_at = self._lost_at = -math.inf
        """When units were taken last that had been kept, and when it was found last that there are none."""
        self._at = now
        self._lent = 0.0
        self._credit = dict.fromkeys(Priority, 0.0)
        self._waited_for = False
        """Whether anyone waited for it when it was filled last."""
        self._least_urgent = Priority.INTERACTIVE
        """The least urgent of those."""

    @property
    def open(self) -> bool:
        """Whether any number of units may be spent."""
        return self.pace.rate is None

    @property
    def used_at(self) -> float:
        """When it was last filled, or delivered something."""
        return max(self._at, self.pace.delivered.at)

    @property
    def depth(self) -> float:
        """Most units that it can hold."""
        return math.inf if self.pace.rate is None else self.pace.rate * self._kept_seconds

    def changes(self, now: float) -> PaceState | None:
        """Look at what is believed of it; return what was believed before, None if that is the same."""
        before, self.state = self.state, self.pace.state(now)
        if before == self.state:
            return None
        self.since = now
        return before

    def suppose(self) -> None:
        """Take it for a slow one, until it is known how fast it is; a first call's units are lent."""
        self.pace.suppose(FIRST_RATE)
        self._lent = LENT_UNITS
        self.tokens += self._lent

    def know(self, limit: float | None, now: float) -> None:
        """Set how fast it is; None where that is not known."""
        self.fill(now)
        self.pace.know(limit)
        most = max(self.depth, _LATE_SECONDS * (self.pace.rate or 0.0))
        self.tokens = min(self.tokens - self._lent, most)
        self._lent = 0.0

    def fill(self, now: float, waiting: tuple[Priority, ...] = ()) -> None:
        """Add what came since the last time.

        Args:
            now: the time.
            waiting: the priorities of the requests that have waited for it meanwhile.
        """
        seconds = now - self._at
        if seconds <= 0:
            return
        self._at = now
        if waiting:
            self.pace.waited(seconds, now)
        rate = self.pace.rate
        if rate is None:
            self.tokens = 0.0
            return
        came, depth = seconds * rate, rate * self._kept_seconds
        if waiting:
            # What came while requests waited, in an event loop that was late, they may still spend.
            most = max(depth, self.tokens, _LATE_SECONDS * rate)
            from_kept = min(self._kept, came, max(0.0, depth - self.tokens))
            self._kept -= from_kept
            self.tokens = min(most, self.tokens + came + from_kept)
            if from_kept:
                self._kept_spent_at = now
        else:
            at_once = min(depth, max(_AT_ONCE_SECONDS * rate, _AT_ONCE_UNITS))
            over = max(0.0, self.tokens + came - at_once)
            self.tokens = self._idle = self.tokens + came - over
            self._kept = min(self._kept + over, depth - at_once)
        if waiting or self._waited_for:
            self._waited_for = bool(waiting)
            self._least_urgent = max(waiting, default=Priority.INTERACTIVE)
            for priority in Priority:
                credit = self._credit[priority] + came * GUARANTEED[priority]
                self._credit[priority] = min(credit, self._most_credit(priority)) if priority in waiting else 0.0

    def is_due(self, units: float, priority: Priority) -> bool:
        """Return whether a priority has waited for as long as its guaranteed part takes to bring the units."""
        return GUARANTEED[priority] > 0 and self._credit[priority] >= min(units, self._most_credit(priority))

    def _most_credit(self, priority: Priority) -> float:
        return GUARANTEED[priority] * _CREDIT_SECONDS * (self.pace.rate or 0.0)

    def needed(self, units: float, priority: Priority, *, due: bool) -> float:
        """Return how many units have to be there for some to be taken."""
        rate = self.pace.rate
        if rate is None:
            return -math.inf
        kept = 0.0 if due else _KEPT_BACK[priority] * rate
        return min(units + kept, rate * self._kept_seconds)

    def take(self, units: float, priority: Priority) -> None:
        """Spend units."""
        if priority < self._least_urgent:
            self.pace.share(self._at)
        if self._idle > 0:
            self._idle -= units
            self._kept_spent_at = self._at
        self.tokens -= units
        self._credit[priority] = max(0.0, self._credit[priority] - units)

    def give(self, units: float) -> None:
        """Take back units that were not spent; a negative number for what was spent besides."""
        rate = self.pace.rate
        if rate is None:
            return
        if units >= 0:
            self.tokens = min(max(rate * self._kept_seconds, self.tokens), self.tokens + units)
            return
        self.tokens += units
        most = -rate * _OWED_SECONDS
        if self.tokens < most and self.pace.lowered:
            self.tokens = most

    def record(
        self,
        units: float,
        given: float,
        attempts: int,
        admitted_at: float | None,
        now: float,
        size: int = 1,
        waiting: tuple[Priority, ...] = (),
    ) -> None:
        """Record what was delivered, and settle what was given for it.

        Args:
            units: how many units.
            given: how many were taken for it when it was admitted.
            attempts: to how many requests.
            admitted_at: when they were admitted; None where nothing was waited for.
            now: the time.
            size: how many requests travelled together.
            waiting: the priorities of the requests that wait for it.
        """
        pace, before = self.pace, self.pace.rate
        pace.served(units, attempts, admitted_at, now, size)
        if pace.rate is None:
            return
        if before is not None and pace.rate < before:
            self.tokens = min(self.tokens, 0.0)  # they came at a rate that was too high
        if units != given:
            if waiting or now - self._at > _TOGETHER_SECONDS:
                self.fill(now, waiting)
            self.give(given - units)

    def refuse(self, attempts: int, admitted_at: float | None, now: float, size: int = 1) -> None:
        """Record refusals: where they say that the service has nothing left, neither has this.

        Args:
            attempts: how many requests were refused.
            admitted_at: when they were admitted; None where they were not held to any rate.
            now: the time.
            size: how many requests travelled together.
        """
        first = self.open
        if admitted_at is not None and self._came_of_kept(admitted_at, now):
            self.tokens, self._idle, self._kept, self._lent = min(self.tokens, 0.0), 0.0, 0.0, 0.0
            return
        if self.pace.refused(attempts, admitted_at, now, size):
            # A debt is forgotten while everything is refused: what comes after would wait for it to be paid back.
            self.tokens = FIRST_UNITS if first else 0.0 if self.pace.out else min(self.tokens, 0.0)
            self._lent = 0.0

    def _came_of_kept(self, admitted_at: float, now: float) -> bool:
        """Return whether a refusal says no more than that what was kept is gone: nothing about the rate.

        Once in as long as it takes to keep as much again, for who was admitted in that belief.
        """
        if admitted_at > self._kept_spent_at:
            return False
        if admitted_at > self._lost_at:
            if now - self._lost_at < self._kept_seconds:
                return False
            self._lost_at = now
        return True

    def seconds_until(self, units: float) -> float:
        """Return how long it takes until so many units are there; not less than 0."""
        if self.pace.rate is None or units <= self.tokens:
            return 0.0
        return (units - self.tokens) / self.pace.rate
