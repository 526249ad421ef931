"""One HTTP exchange: bytes out, bytes in. Knows nothing of DynamoDB; errors are those of the HTTP client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from dynamap_async.transport.endpoint import Endpoint


class Answer(NamedTuple):
    """An HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    """Header name -> value; ``get`` takes names in lower case, whatever case they came in."""
    body: bytes


class Channel(Protocol):
    """Sends requests to one endpoint, one HTTP exchange each."""

    @property
    def name(self) -> str:
        """What requests travel over, as the ``repr`` of a session says it."""
        ...

    errors: tuple[type[BaseException], ...]
    """What ``post`` raises where an exchange fails."""

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Send once and return the answer, whatever its status.

        Args:
            headers: those of this request; those that all have are the channel's own.
            body: the exact bytes to send.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class NoHostChannel:
    """The channel to an endpoint whose name no host can have: each request raises an error.

    Resolvers would look such a name up for each request, or raise an error of their own.
    """

    name = "nothing, because no host can have its name"
    errors: tuple[type[BaseException], ...] = (UnicodeError,)

    def __init__(self, endpoint: Endpoint) -> None:
        self._host: Final = endpoint.host

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Raise UnicodeError."""
        raise UnicodeError(f"{self._host!r} is not a name that a host can have")

    async def close(self) -> None:
        """Do nothing."""


def connect_seconds(config: Any, longest: float) -> float:
    """Return how long connecting may take: as long as a configuration allows, and no longer than ``longest``."""
    configured: float | None = config.connect_timeout
    return longest if configured is None else min(configured, longest)
