"""The laws that were compared: each a few lines of what it is known for, applied to units instead of packets."""

import math
from typing import Final

_FIRST_RATE: Final = 100.0


class Unpaced:
    """None: each request backs off by itself."""

    rate: float | None = None

    def served(self, units: float, sent_at: float, now: float) -> None:
        """Do nothing."""

    def refused(self, units: float, sent_at: float, now: float) -> None:
        """Do nothing."""

    def waited(self, seconds: float, now: float) -> None:
        """Do nothing."""


class Delivered:
    """Units a second that were served lately, over half a second."""

    def __init__(self) -> None:
        self._weight, self._at = 0.0, 0.0

    def add(self, units: float, now: float) -> None:
        """Count units."""
        self._weight, self._at = self.rate(now) + units / 0.5, now

    def rate(self, now: float) -> float:
        """Return the units a second."""
        return self._weight * math.exp((self._at - now) / 0.5)


class AimdOnShare:
    """After Chiu and Jain: a step more each second, and a third less where over 5 % of half a second is refused."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._delivered = Delivered()
        self._began, self._attempts, self._refused = 0.0, 0, 0

    def served(self, units: float, sent_at: float, now: float) -> None:
        """Count an answer."""
        self._delivered.add(units, now)
        self._count(0, sent_at, now)

    def refused(self, units: float, sent_at: float, now: float) -> None:
        """Count a refusal, and lower the rate if there are too many."""
        self._count(1, sent_at, now)

    def _count(self, refused: int, sent_at: float, now: float) -> None:
        if sent_at < self._began:
            return
        self._attempts += 1
        self._refused += refused
        if now - self._began < 0.5 and self._attempts < 20:
            return
        if self._refused > 0.05 * self._attempts:
            before = self._delivered.rate(now) if self.rate is None else self.rate
            self.rate = max(0.5, before * 0.7)
        self._began, self._attempts, self._refused = now, 0, 0

    def waited(self, seconds: float, now: float) -> None:
        """Raise the rate."""
        if self.rate is not None:
            self.rate += (0.05 * self.rate + 1.0) * min(1.0, seconds)


class DeliveryRate:
    """After BBR: what was served at most in a second of the last ten, times a gain that goes up and down by turns."""

    _GAINS: Final = (1.25, 0.75, 1, 1, 1, 1, 1, 1)

    def __init__(self) -> None:
        self.rate: float | None = None
        self._delivered = Delivered()
        self._highest: list[tuple[float, float]] = []

    def served(self, units: float, sent_at: float, now: float) -> None:
        """Count an answer."""
        self._delivered.add(units, now)
        while self._highest and self._highest[-1][1] <= self._delivered.rate(now):
            self._highest.pop()
        self._highest.append((now, self._delivered.rate(now)))
        self._set(now)

    def refused(self, units: float, sent_at: float, now: float) -> None:
        """Pace from the first refusal on."""
        if self.rate is None:
            self.rate = max(_FIRST_RATE, self._delivered.rate(now))
        self._set(now)

    def _set(self, now: float) -> None:
        while self._highest and self._highest[0][0] < now - 10:
            self._highest.pop(0)
        if self.rate is not None:
            bandwidth = self._highest[0][1] if self._highest else self._delivered.rate(now)
            self.rate = max(1.0, bandwidth * self._GAINS[int(now / 0.25) % len(self._GAINS)])

    def waited(self, seconds: float, now: float) -> None:
        """Do nothing: the gain probes."""


class Adaptive:
    """The AWS SDKs' adaptive mode: CUBIC on the rate that was sent; 0.7 of it after a refusal, at most one in 0.5 s.

    Source: botocore/retries/throttling.py and bucket.py describe it.
    """

    def __init__(self) -> None:
        self.rate: float | None = None
        self._last_max, self._window, self._throttled_at = 0.0, 0.0, 0.0
        self._sent = Delivered()

    def served(self, units: float, sent_at: float, now: float) -> None:
        """Grow by the cube of the time since the last refusal."""
        self._sent.add(units, now)
        if self.rate is not None:
            grown = 0.4 * (now - self._throttled_at - self._window) ** 3 + self._last_max
            self.rate = max(0.5, min(grown, 2 * self._sent.rate(now)))

    def refused(self, units: float, sent_at: float, now: float) -> None:
        """Go down to 0.7."""
        self._sent.add(units, now)
        if self.rate is not None and sent_at < self._throttled_at:
            return
        before = self._sent.rate(now) if self.rate is None else min(self.rate, self._sent.rate(now))
        self._last_max, self._throttled_at = before, now
        self._window = (before * 0.3 / 0.4) ** (1 / 3)
        self.rate = max(0.5, before * 0.7)

    def waited(self, seconds: float, now: float) -> None:
        """Do nothing: answers raise it."""


class FirstOne:
    """This library's until November 2026: each refusal lowers the rate to what was delivered, at most by half."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._delivered = Delivered()
        self._since = self._last = -math.inf
        self._seeking = False
        self._changed_at = self._refused_at = -math.inf

    def served(self, units: float, sent_at: float, now: float) -> None:
        """Count an answer."""
        if now - self._last > 1:
            self._since = now
        self._last = now
        self._delivered.add(units, now)

    def refused(self, units: float, sent_at: float, now: float) -> None:
        """Lower the rate."""
        delivered, telling = self._delivered.rate(now), now - self._since > 1
        if self.rate is None:
            self._seeking = delivered < _FIRST_RATE or not telling
            self.rate = _FIRST_RATE if self._seeking else delivered * 0.95
        elif sent_at < self._changed_at:
            return
        else:
            rate = min(delivered, self.rate * 0.95) if telling else self.rate * 0.5
            self.rate = max(0.5, self.rate * 0.5, rate)
            self._seeking = False
        self._refused_at = now
        self._changed_at = now + 0.1 if self._seeking else now

    def waited(self, seconds: float, now: float) -> None:
        """Raise it, slowly at first."""
        if self.rate is None:
            return
        if self._seeking:
            rate = self.rate * 2 ** min(1.0, seconds / 0.1)
        else:
            slope = 0.01 * self.rate + 0.3 * math.sqrt(self.rate)
            calm = now - self._refused_at - 1.5
            rate = self.rate + slope * 4 ** min(max(0.0, calm), 3.0) * min(seconds, 1.0)
        self.rate = min(rate, max(self.rate, _FIRST_RATE, 3 * self._delivered.rate(now)))
