"""``FrozenClock``: the time of day for ``Session(clock=...)``, which stands still until a test moves it."""

import time
from datetime import UTC, datetime, timedelta


class FrozenClock:
    """A time of day that only a test changes. Calling it gives epoch seconds, as ``Session(clock=...)`` asks for.

    Args:
        at: the time to begin with, aware or in epoch seconds; otherwise the machine's time now.

    Example:
        >>> clock = FrozenClock(datetime(2026, 1, 1, tzinfo=UTC))
        >>> clock.advance(timedelta(hours=1))
        >>> print(clock.now)
        2026-01-01 01:00:00+00:00
    """

    def __init__(self, at: datetime | float | None = None) -> None:
        self._seconds: float | None = None
        self.freeze(at)

    def __call__(self) -> float:
        """Return the clock's time, in epoch seconds."""
        return time.time() if self._seconds is None else self._seconds

    @property
    def now(self) -> datetime:
        """The clock's time, in UTC."""
        return datetime.fromtimestamp(self(), UTC)

    def freeze(self, at: datetime | float | None = None) -> None:
        """Stop the clock, at a given time or where it is.

        Args:
            at: the time to show, aware or in epoch seconds; None for the time that it shows now.

        Raises:
            ValueError: the time has no time zone.
        """
        if isinstance(at, datetime):
            if at.tzinfo is None:
                raise ValueError(
                    f"{at!r} has no time zone, so it depends on the machine which moment it is; add tzinfo=UTC"
                )
            at = at.timestamp()
        self._seconds = self() if at is None else at

    def advance(self, by: timedelta | float) -> None:
        """Move the clock on by a time span or by seconds (back by negative ones), and stop it there.

        Args:
            by: a time span, or seconds.
        """
        self._seconds = self() + (by.total_seconds() if isinstance(by, timedelta) else by)

    def run(self) -> None:
        """Let the clock follow the machine's time from now on."""
        self._seconds = None
