"""Buckets: the units that are there to be spent on one table or index, for reads or for writes. Pure.

What is known of a rate is a ceiling. What is refused below it, or without one, lowers the rate at once to a part of
what was delivered; while requests wait, and none is refused, it rises again, slowly at first and then faster and
faster.

Invariant: what was taken since the beginning is never more than what the rate gave since then, except for a debt that
an answer revealed, or that one request larger than the bucket left. The refusals of requests that were admitted before
the rate was last lowered do not lower it again.
"""

from __future__ import annotations

import math
from typing import Final

from dynamap_async.config import Priority

FIRST_RATE: Final = 100.0
"""Units a second to begin with, after the first refusal of a table of which nothing else is known."""
_DOUBLING_SECONDS: Final = 0.1
"""In which time the rate doubles while it is sought for the first time."""
_GRACE_SECONDS: Final = 0.1
"""For so long after the first refusal others say nothing new."""
_LEAST_CUT: Final = 0.95
_MOST_CUT: Final = 0.5
_CALM_SECONDS: Final = 1.5
"""After so long without a refusal the rate rises faster, four times as fast after each second more."""
_MOST_TIMES: Final = 3.0
_LEAD: Final = 3.0
"""How many times as fast as what was delivered lately the rate may become."""
_LEAST_RATE: Final = 0.5
_MEMORY_SECONDS: Final = 0.5
"""Over how long what was delivered is averaged."""
_LONG_SECONDS: Final = 1.0
"""After so long without a pause the average says something."""


class Delivered:
    """How many units a second were delivered lately: an average that forgets."""

    __slots__ = ("_since", "_weight", "at")

    def __init__(self) -> None:
        self._weight = 0.0
        self.at: float = -math.inf
        """When something was delivered last."""
        self._since = -math.inf

    def add(self, units: float, now: float) -> None:
        """Count units that an answer reported."""
        self._weight = self.rate(now) + units / _MEMORY_SECONDS
        if now - self.at > _LONG_SECONDS:
            self._since = now
        self.at = now

    def is_telling(self, now: float) -> bool:
        """Return whether it has gone on for long enough to say what the service can deliver."""
        return now - self._since > _LONG_SECONDS

    def rate(self, now: float) -> float:
        """Return the units a second."""
        return self._weight * math.exp((self.at - now) / _MEMORY_SECONDS) if self._weight else 0.0


class LearnedRate:
    """The rate of one table or index, for reads or for writes."""

    __slots__ = ("_changed_at", "_refused_at", "_seeking", "ceiling", "delivered", "rate")

    def __init__(self) -> None:
        self.ceiling: float | None = None
        """Units a second that are known to be there; None while nothing is known."""
        self.rate: float | None = None
        """Units a second that may be spent; None for any number."""
        self.delivered: Final = Delivered()
        self._seeking = False
        """Whether the rate is sought for the first time, so that it may be far from the truth."""
        self._changed_at = -math.inf
        self._refused_at = -math.inf

    def know(self, ceiling: float | None, now: float) -> None:
        """Set what the limit is; None where there is none that is known.

        What was learned below an unchanged limit stays.
        """
        if ceiling is None:
            if self._refused_at == -math.inf:
                self.rate = None
        elif ceiling != self.ceiling:
            self.rate, self._seeking = ceiling, False
            self._changed_at = now
        self.ceiling = ceiling

    def suppose(self, rate: float) -> None:
        """Spend no more than a rate until the limit is known."""
        self.rate, self._seeking = rate, False

    def rise(self, seconds: float, now: float) -> None:
        """Raise the rate, for requests have waited for so long and none of them was refused."""
        if self.rate is None or self.rate == self.ceiling or seconds <= 0:
            return
        if self._seeking:
            rate = self.rate * 2 ** min(1.0, seconds / _DOUBLING_SECONDS)
        else:
            # The root: of two sessions the slower one gains more, for its rate, so that they come to equal shares.
            slope = 0.01 * self.rate + 0.3 * math.sqrt(self.rate)
            calm = now - self._refused_at - _CALM_SECONDS
            rate = self.rate + slope * 4 ** min(max(0.0, calm), _MOST_TIMES) * min(seconds, 1.0)
        # No answers, no faster: they may be late, and tell of refusals.
        confirmed = max(self.rate, FIRST_RATE, _LEAD * self.delivered.rate(now))
        self.rate = min(rate, confirmed) if self.ceiling is None else min(rate, confirmed, self.ceiling)

    def refused(self, admitted_at: float | None, now: float, *, partly: bool = False) -> bool:
        """Lower the rate because of a refusal; return False for one that says nothing new.

        Args:
            admitted_at: when the request was admitted; None where it was not held to any rate.
            now: the time.
            partly: whether others of the same call were carried out.
        """
        delivered = self.delivered.rate(now)
        if self.rate is None:
            self._seeking = delivered < FIRST_RATE or not self.delivered.is_telling(now)
            self.rate = FIRST_RATE if self._seeking else delivered * _LEAST_CUT
        elif admitted_at is None or admitted_at < self._changed_at:
            return False
        else:
            rate = min(delivered, self.rate * _LEAST_CUT)
            if not self.delivered.is_telling(now):
                rate = self.rate * (_LEAST_CUT if partly else _MOST_CUT)
            self.rate = max(_LEAST_RATE, self.rate * _MOST_CUT, rate)
            self._seeking = False
        self._refused_at = now
        # What was sent before the first refusal is still on its way, and takes what comes in the meantime.
        self._changed_at = now + _GRACE_SECONDS if self._seeking else now
        return True


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
        """Create an empty bucket: what the service may have kept for others is not ours."""
        self.pace: Final = LearnedRate()
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
        """Set how fast it is; None where that is not known."""
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
        """Return whether a priority has waited for as long as its guaranteed part takes to bring the units."""
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
        """Record a refusal: the service has nothing left, so neither has this.

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
