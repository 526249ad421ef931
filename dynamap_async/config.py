"""Frozen settings, passed in explicitly; nothing here is global or read at import."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """An AWS access key, for programs that do not use aiobotocore's credential chain."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    """The token of temporary credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how fast a request is sent again.

    Before attempt ``n + 1`` the waiting time is drawn evenly between zero and
    ``min(max_delay_seconds, base_delay_seconds * 2**(n - 1))`` ("full jitter").
    """

    max_attempts: int = 8
    """Most times that one request is sent, the first included; 1 turns retries off."""

    base_delay_seconds: float = 0.05
    """Upper bound of the wait before the second attempt."""

    max_delay_seconds: float = 5.0
    """Upper bound of any single wait."""

    budget: float = 100.0
    """How many requests a session may send again before answers pay for more: a retried request that succeeds gives
    its own back, any other success a fifth of one. In an outage each request is then sent once, not ``max_attempts``
    times."""

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"RetryPolicy(max_attempts={self.max_attempts}): at least 1 attempt is needed")
        if self.base_delay_seconds < 0 or self.max_delay_seconds < 0:
            raise ValueError("RetryPolicy: delays are seconds and cannot be negative")

    def longest_delay(self, attempts: int) -> float:
        """Return the upper bound, in seconds, of the wait after ``attempts`` attempts."""
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
            raise ValueError("BatchPolicy: window_seconds cannot be negative, and max_keys is at least 1")
