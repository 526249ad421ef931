"""What the executor needs of a transport."""

from __future__ import annotations

from typing import Protocol

from dynamap_async.request import Request
from dynamap_async.wire import Body


class Transport(Protocol):
    """Carries one request to DynamoDB and brings its answer back, once: retries are the executor's."""

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time; known once the transport is open."""
        ...

    async def open(self) -> None:
        """Get ready to send. Called once, before the first ``send``, on the session's event loop.

        Raises:
            ConfigurationError: the region or the credentials are missing, or a setting cannot work.
        """
        ...

    async def send(self, request: Request) -> Body:
        """Send the request and return the answer's JSON object, in wire form (binary values as base64 text).

        Args:
            request: the operation with its body in wire form.

        Raises:
            ServiceError: DynamoDB answered with an error.
            TransportError: no usable answer arrived; ``outcome`` tells whether the request can have been carried out.
            EncodeError: the request cannot be encoded, so nothing was sent.
            ConfigurationError: credentials could not be found or refreshed.
        """
        ...

    async def close(self) -> None:
        """Release connections. Called at most once, after the last ``send``, from any task."""
        ...
