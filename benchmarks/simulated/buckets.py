"""What a table, or a global index, may take: a token bucket for its rate, and one for each partition.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

BURST_SECONDS = 300.0
"""How long unused capacity of a table is kept."""
PARTITION = {"Read": 3000.0, "Write": 1000.0}
"""Units that one partition has in a second."""
ON_DEMAND = {"Read": 12_000.0, "Write": 4_000.0}
"""Units that a new on-demand table has in a second."""

Kind = Literal["Read", "Write"]
Scope = Literal["Table", "Index"]
Clock = Callable[[], float]


@dataclass(slots=True)
class Bucket:
    """Tokens that come at a rate and are kept up to a depth."""

    rate: float
    depth_seconds: float
    tokens: float
    filled_at: float

    def fill(self, now: float) -> None:
        """Add what came since the last time."""
        self.tokens = min(self.rate * self.depth_seconds, self.tokens + (now - self.filled_at) * self.rate)
        self.filled_at = now

    def has(self, units: float, now: float) -> bool:
        """Return whether there are so many tokens.

        What is larger than a second's capacity needs that much and leaves a debt: a small table could not serve a
        large item otherwise.
        """
        self.fill(now)
        return self.tokens >= min(units, self.rate)


@dataclass(slots=True)
class Lane:
    """The reads, or the writes, of one table or index."""

    kind: Kind
    bucket: Bucket
    beyond: str
    """Why its own bucket refuses: the end of a throttling reason."""
    partitions: list[Bucket] = field(default_factory=list[Bucket])

    @classmethod
    def of(cls, kind: Kind, rate: float, beyond: str, burst_seconds: float, now: float) -> "Lane":
        """Return a lane with a full burst."""
        bucket = Bucket(rate, burst_seconds, rate * burst_seconds, now)
        lane = cls(kind, bucket, beyond)
        lane.split(4, now)
        return lane

    def split(self, least: int, now: float) -> None:
        """Split into as many partitions as the rate needs, never fewer than there are."""
        limit = PARTITION[self.kind]
        while len(self.partitions) < max(least, math.ceil(self.bucket.rate / limit)):
            self.partitions.append(Bucket(limit, 1.0, limit, now))

    def refusal(self, place: int, units: float, now: float) -> str | None:
        """Return why the units cannot be taken from the partition that a key's hash falls into; None if they can."""
        if not self.bucket.has(units, now):
            return self.kind + self.beyond
        if not self.partitions[place % len(self.partitions)].has(units, now):
            return self.kind + "KeyRangeThroughputExceeded"
        return None

    def take(self, place: int, units: float) -> None:
        """Take the units."""
        self.bucket.tokens -= units
        self.partitions[place % len(self.partitions)].tokens -= units


@dataclass(slots=True)
class Capacity:
    """The capacity of one table or global index."""

    arn: str
    name: Scope
    read: Lane
    write: Lane

    @classmethod
    def of(cls, arn: str, name: Scope, read: float | None, write: float | None, now: float, **how: float) -> "Capacity":
        """Return the capacity of a table or index.

        Args:
            read: provisioned units in a second; None for on-demand.
            how: ``burst_seconds``, and ``most_read`` and ``most_write`` of an on-demand table that has a maximum.
        """
        kinds: tuple[tuple[Kind, float | None, float | None], ...] = (
            ("Read", read, how.get("most_read")),
            ("Write", write, how.get("most_write")),
        )
        lanes = []
        for kind, provisioned, most in kinds:
            beyond = "MaxOnDemandThroughputExceeded" if most else "KeyRangeThroughputExceeded"
            if provisioned is not None:
                beyond = "ProvisionedThroughputExceeded"
            # An on-demand table is not throttled by its mode at first, but by its partitions, or by a declared maximum.
            rate = provisioned or most or ON_DEMAND[kind]
            lanes.append(Lane.of(kind, rate, beyond, how.get("burst_seconds", BURST_SECONDS), now))
        return cls(arn, name, *lanes)

    def provision(self, read: float, write: float, now: float) -> None:
        """Change the rates; what is left of the burst stays, as far as the new rate allows it."""
        for lane, rate in ((self.read, read), (self.write, write)):
            lane.bucket.fill(now)
            lane.bucket.rate = float(rate)
            lane.bucket.fill(now)
            lane.split(4, now)

    def spend_burst(self, now: float) -> None:
        """Drop what is left of the burst."""
        for lane in (self.read, self.write):
            lane.bucket.tokens, lane.bucket.filled_at = 0.0, now


@dataclass(frozen=True, slots=True)
class Take:
    """Units that a request takes from one place."""

    capacity: Capacity
    kind: Kind
    place: int
    """Hash of the partition key."""
    units: float

    @property
    def lane(self) -> Lane:
        """The lane that the units are taken from."""
        return self.capacity.read if self.kind == "Read" else self.capacity.write


def charge(takes: list[Take], now: float) -> list[dict[str, str]]:
    """Take all units, or none.

    Returns:
        Why nothing was taken, as the service's throttling reasons; none if all was.
    """
    reasons: list[dict[str, str]] = []
    taken: list[Take] = []
    for take in takes:
        refusal = take.lane.refusal(take.place, take.units, now)
        if refusal is None:
            take.lane.take(take.place, take.units)
            taken.append(take)
        else:
            reasons.append({"reason": take.capacity.name + refusal, "resource": take.capacity.arn})
    if reasons:
        for take in taken:
            # All or nothing: what was taken before the refusal is given back.
            take.lane.take(take.place, -take.units)
    return reasons
