"""Pace: how many units a second may be spent on one table or index, as far as is known or was learned. Pure.

What is known is a ceiling. What is refused below it, or without one, lowers the rate at once to a part of what was
delivered; while requests wait, and none is refused, it rises again, slowly at first and then faster and faster.

Invariant: the refusals of requests that were admitted before the rate was last lowered do not lower it again.
"""

import math
from typing import Final

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
        """Take note of units that an answer reported."""
        self._weight = self.rate(now) + units / _MEMORY_SECONDS
        if now - self.at > _LONG_SECONDS:
            self._since = now
        self.at = now

    def is_telling(self, now: float) -> bool:
        """Tell whether it has gone on for long enough to say what the service can deliver."""
        return now - self._since > _LONG_SECONDS

    def rate(self, now: float) -> float:
        """Return the units a second."""
        return self._weight * math.exp((self.at - now) / _MEMORY_SECONDS) if self._weight else 0.0


class Pace:
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
        """Take note of what the limit is; None where there is none that is known.

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
