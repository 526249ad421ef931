"""What the server counts, so that a run can be judged by what arrived, not by what a client believes."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

SLOT_SECONDS = 0.25


@dataclass(slots=True)
class Tally:
    """Sums over some requests or items."""

    attempts: int = 0
    """Items asked for or written, each time that it was tried."""
    throttled: int = 0
    """Attempts that were refused for want of units, alone or as unprocessed."""
    read_units: float = 0.0
    write_units: float = 0.0


@dataclass(slots=True)
class Counts:
    """Everything since the last reset."""

    clock: Callable[[], float]
    began_at: float = 0.0
    requests: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Operation -> requests of it."""
    refused: int = 0
    """Requests that were answered with a throttling error."""
    total: Tally = field(default_factory=Tally)
    groups: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    """Beginning of the partition key up to the first ``-`` -> its part."""
    slots: dict[int, Tally] = field(default_factory=lambda: defaultdict(Tally))
    """Number of the quarter of a second since the reset -> its part."""
    reasons: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Why attempts were throttled."""

    def reset(self) -> None:
        """Start anew."""
        self.began_at = self.clock()
        self.refused = 0
        self.total = Tally()
        for kept in (self.requests, self.groups, self.slots, self.reasons):
            kept.clear()

    def attempt(self, group: str, reasons: list[dict[str, str]], *, read: float = 0.0, write: float = 0.0) -> None:
        """Count one item that was tried: with its units, or the reasons why it was refused."""
        slot = int((self.clock() - self.began_at) / SLOT_SECONDS)
        for tally in (self.total, self.groups[group], self.slots[slot]):
            tally.attempts += 1
            if reasons:
                tally.throttled += 1
            else:
                tally.read_units += read
                tally.write_units += write
        for each in reasons:
            self.reasons[each["reason"]] += 1

    def told(self) -> dict[str, Any]:
        """Return all counts as JSON."""
        last = max(self.slots, default=-1)
        return {
            "seconds": self.clock() - self.began_at,
            "requests": sum(self.requests.values()),
            "operations": dict(self.requests),
            "refused": self.refused,
            "total": asdict(self.total),
            "groups": {name: asdict(tally) for name, tally in self.groups.items()},
            "reasons": dict(self.reasons),
            "slot_seconds": SLOT_SECONDS,
            "slots": [asdict(self.slots.get(number, Tally())) for number in range(last + 1)],
        }
