"""Errors of requests that got no usable answer, and what is known of them."""

from __future__ import annotations

from enum import Enum

from dynamap_async.errors.root import DynamapError


class Outcome(Enum):
    """What is known about a request that got no usable answer."""

    NOT_SENT = "not sent"
    """The request never reached DynamoDB: nothing was done."""

    UNKNOWN = "unknown"
    """The request may have been carried out."""


class TransportError(DynamapError, ConnectionError):
    """No usable answer arrived."""

    retryable: bool = True
    """Whether sending the same request again may succeed: not if no host has the endpoint's name, or if the answer was
    too large."""

    def __init__(self, message: str, *, outcome: Outcome, operation: str, table: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        """Whether the request can have been carried out."""
        self.operation = operation
        """The API operation, such as ``PutItem``."""
        self.table = table
        """The full table name."""
        self.attempts = 1
        """How many times the request was sent."""


class ConnectionFailedError(TransportError):
    """The connection could not be made, or broke."""


class RequestTimeoutError(TransportError, TimeoutError):
    """The connection or the answer took longer than the configured timeout."""


class DamagedResponseError(TransportError):
    """An answer arrived whose checksum or form is wrong, or that is larger than any of DynamoDB's."""
