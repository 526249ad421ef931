"""Frozen settings, passed in explicitly; nothing here is global or read at import."""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum
from typing import Final, Literal

from dynamap_async.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """An AWS access key, for programs that do not use aiobotocore's credential chain."""

    access_key_id: str = field(repr=False)
    """The identifier of the key. Left out of ``repr``."""
    secret_access_key: str = field(repr=False)
    """What signs requests. Left out of ``repr``."""
    session_token: str | None = field(default=None, repr=False)
    """The token of temporary credentials."""
    account_id: str | None = None
    """The number of the account that the key belongs to, where that is known."""


class Priority(IntEnum):
    """How urgent work is: what is more urgent is the smaller number."""

    INTERACTIVE = 0
    """Somebody waits for the answer."""
    BATCH = 1
    """Work that has to be done soon: an import, a report."""
    BACKGROUND = 2
    """Work that can wait: a backfill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how fast a request is sent again.

    Before attempt ``n + 1`` the waiting time is drawn evenly between zero and
    ``min(max_delay_seconds, base_delay_seconds * 2**(n - 1))`` ("full jitter").
    """

    max_attempts: int = 8
    """Most times that one request is sent, the first included; 1 turns retries off.

    A refusal for want of capacity does not count while the table serves others: in the last ``max_delay_seconds``."""

    base_delay_seconds: float = 0.05
    """Upper bound of the wait before the second attempt."""

    max_delay_seconds: float = 5.0
    """Upper bound of any single wait."""

    attempt_timeout_seconds: float = 30.0
    """How many seconds one attempt may take in all, from connecting to the end of the answer; ``math.inf`` for any.
    Up to half of it goes into connecting. The timeouts of an ``AioConfig``, for one connect or read each, hold beside.
    """

    budget: float = 100.0
    """How many requests a session may send again before answers pay for more: a retried request that succeeds gives
    its own back, any other success a fifth of one. In an outage each request is then sent once, not ``max_attempts``
    times."""

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"RetryPolicy(max_attempts={self.max_attempts}): give at least 1")
        if self.base_delay_seconds < 0 or self.max_delay_seconds < 0:
            raise ValueError("RetryPolicy: delays are in seconds and cannot be negative")
        if not self.attempt_timeout_seconds > 0:
            raise ValueError(
                f"RetryPolicy(attempt_timeout_seconds={self.attempt_timeout_seconds}): give seconds above 0, or "
                "math.inf for no limit"
            )

    def longest_delay(self, attempts: int) -> float:
        """Return the upper bound, in seconds, of the wait before the next attempt.

        Args:
            attempts: how many attempts have failed, at least 1.
        """
        # Bounded, so that the power of thousands of attempts does not overflow.
        return min(self.max_delay_seconds, self.base_delay_seconds * 2.0 ** min(attempts - 1, 60))


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPolicy:
    """Which single-item requests share a call."""

    enabled: bool = True
    """Whether requests that wait together are sent together at all."""

    window_seconds: float = 0.0
    """How long a request waits for others. 0 waits for the end of the event loop's tick and for a free connection: a
    lone request then loses no time, and batches grow with the load."""

    max_keys: int = 100
    """Most items of one call; DynamoDB reads 100 and writes 25."""

    def __post_init__(self) -> None:
        if self.window_seconds < 0 or self.max_keys < 1:
            raise ValueError("BatchPolicy: window_seconds cannot be negative, and max_keys must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Provisioned capacity, in units per second.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ProvisionedThroughput.html
    """

    read: int
    """Read capacity units per second; at least 1."""
    write: int
    """Write capacity units per second; at least 1."""

    def __post_init__(self) -> None:
        if self.read < 1 or self.write < 1:
            raise ValueError(f"Throughput(read={self.read}, write={self.write}): DynamoDB provisions at least 1 unit")

    def to_wire(self) -> dict[str, int]:
        """Return the API's ``ProvisionedThroughput`` object."""
        return {"ReadCapacityUnits": self.read, "WriteCapacityUnits": self.write}


_LIMITS: Final = ("throttles", "describe", "declared")


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPolicy:
    """How fast units are spent, on each table and each global index, for reads and for writes apart.

    A table whose limit is not known and that did not throttle much is not held up at all, and single interactive calls
    are held up by nothing but throttling.
    """

    limits: Literal["throttles", "describe", "declared"] | Throughput = "throttles"
    """Where limits are known from. Name a source where loads share a table with handlers, who would otherwise see the
    first refusals. ``"throttles"``: from nothing but refusals. ``"describe"``: from DescribeTable, which is asked in
    the background, and again while requests wait. ``"declared"``: from the ``throughput=`` of models and of their
    indexes. A ``Throughput``: that of each table and each global index. A limit that proves too high is learned from
    refusals in any case."""

    share: float = 1.0
    """Which part of a known limit is this session's, above 0 and up to 1. Lower it where other programs use the table:
    ``1 / 8`` for each of eight processes, ``0.8`` to leave a fifth of it."""

    hot_partition_units_per_second: float | None = None
    """From which rate on the observer is told of a partition key, in read or write units a second; None for never. Set
    it to find keys that take too much: DynamoDB serves 3,000 read and 1,000 write units a second of one partition."""

    large_collections: bool = False
    """Whether the observer is told of item collections that are near to 10 GB, over which a table with local indexes
    takes no more items of one partition key. Writes ask for their sizes then."""

    enabled: bool = True
    """Whether requests are held up at all. Turn it off where something else paces them."""

    def __post_init__(self) -> None:
        if not isinstance(self.limits, Throughput) and self.limits not in _LIMITS:
            names = ", ".join(f'"{name}"' for name in _LIMITS)
            raise ValueError(
                f"CapacityPolicy(limits={self.limits!r}): give {names}, or Throughput(read=..., write=...)"
            )
        if not 0 < self.share <= 1:
            raise ValueError(f"CapacityPolicy(share={self.share}): give a share above 0 and up to 1")
