"""Buckets: the units that are there to be spent on one table or index, for reads or for writes. Pure.

Invariant: what was taken since the beginning is never more than what the rate gave since then, except for a debt that
an answer revealed, or that one request larger than the bucket left.
"""

import math
from typing import Final

from dynamap_async.config import Priority
from dynamap_async.executor.governor.pace import FIRST_RATE, Pace

_KEPT_BACK: Final = {Priority.INTERACTIVE: 0.0, Priority.BATCH: 0.05, Priority.BACKGROUND: 0.1}
"""Seconds' worth of units that a request leaves in the bucket, for more urgent ones that may come."""
GUARANTEED: Final = {Priority.INTERACTIVE: 0.0, Priority.BATCH: 0.15, Priority.BACKGROUND: 0.05}
"""The part of the rate that a priority gets however much more urgent work there is; the most urgent has the rest."""
LENT_UNITS: Final = 25.0
"""What may be spent at once of a table whose limit is being asked for: so much that one call need not wait for it."""
FIRST_UNITS: Final = 5.0
"""What may be spent at once after the first refusal, so that a few requests wait for nothing but their backoff."""
_CREDIT_SECONDS: Final = 10.0
"""So many seconds' worth of its guaranteed part a priority can claim at once."""


class Bucket:
    """Units that come at a rate, and are kept up to so many seconds' worth."""

    __slots__ = ("_at", "_burst_seconds", "_credit", "_lent", "pace", "tokens")

    def __init__(self, burst_seconds: float, now: float) -> None:
        """Begin empty: what the service may have kept for others is not ours."""
        self.pace: Final = Pace()
        self.tokens: float = 0.0
        """Units that are there; less than nothing for a debt."""
        self._burst_seconds: Final = burst_seconds
        self._at = now
        self._lent = 0.0
        self._credit = dict.fromkeys(Priority, 0.0)

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
        return math.inf if self.pace.rate is None else self.pace.rate * self._burst_seconds

    def suppose(self) -> None:
        """Take it for a slow one, until it is known how fast it is; a first call's units are lent."""
        self.pace.suppose(FIRST_RATE)
        self._lent = LENT_UNITS
        self.tokens += self._lent

    def know(self, limit: float | None, now: float) -> None:
        """Take note of how fast it is; None where that is not known."""
        self.pace.know(limit, now)
        self.tokens = min(self.tokens - self._lent, self.depth)
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
            self.pace.rise(seconds, now)
        if self.pace.rate is None:
            self.tokens = 0.0
            return
        self.tokens = min(self.depth, self.tokens + seconds * self.pace.rate)
        for priority in Priority:
            credit = self._credit[priority] + seconds * self.pace.rate * GUARANTEED[priority]
            self._credit[priority] = min(credit, self._most_credit(priority)) if priority in waiting else 0.0

    def is_due(self, units: float, priority: Priority) -> bool:
        """Tell whether a priority has been kept waiting for as long as its guaranteed part takes to bring the units."""
        return GUARANTEED[priority] > 0 and self._credit[priority] >= min(units, self._most_credit(priority))

    def _most_credit(self, priority: Priority) -> float:
        return GUARANTEED[priority] * _CREDIT_SECONDS * (self.pace.rate or 0.0)

    def needed(self, units: float, priority: Priority, *, due: bool) -> float:
        """Return how many units have to be there for some to be taken."""
        if self.pace.rate is None:
            return -math.inf
        kept = 0.0 if due else _KEPT_BACK[priority] * self.pace.rate
        return min(units + kept, self.depth)

    def take(self, units: float, priority: Priority) -> None:
        """Spend units."""
        self.tokens -= units
        self._credit[priority] = max(0.0, self._credit[priority] - units)

    def give(self, units: float) -> None:
        """Take back units that were not spent; a negative number for what was spent besides."""
        if self.pace.rate is not None:
            self.tokens = min(self.depth, self.tokens + units)

    def refuse(self, admitted_at: float | None, now: float, *, partly: bool = False) -> None:
        """Take note of a refusal: the service has nothing left, so neither has this.

        Args:
            admitted_at: when the request was admitted; None where it was not held to any rate.
            now: the time.
            partly: whether others of the same call were carried out.
        """
        first = self.open
        if self.pace.refused(admitted_at, now, partly=partly):
            self.tokens = FIRST_UNITS if first else min(self.tokens, 0.0)
            self._lent = 0.0

    def seconds_until(self, units: float) -> float:
        """Return how long it takes until so many units are there; not less than 0."""
        if self.pace.rate is None or units <= self.tokens:
            return 0.0
        return (units - self.tokens) / self.pace.rate
