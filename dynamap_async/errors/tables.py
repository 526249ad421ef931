"""Errors of tables that are not as they should be."""

from __future__ import annotations

from dynamap_async.errors.root import DynamapError


class TableError(DynamapError):
    """A table is not as it should be."""


class TableWaitTimeoutError(TableError, TimeoutError):
    """A table did not reach the awaited status in time."""

    def __init__(self, message: str, *, table: str, status: str | None, timeout_seconds: float) -> None:
        """Record the facts of the error.

        Args:
            message: what is wrong, and what to do about it.
            table: the full table name.
            status: the last status seen; None where the table did not exist.
            timeout_seconds: how long was waited.
        """
        super().__init__(message)
        self.table = table
        """The full table name."""
        self.status = status
        """The last status seen; None where the table did not exist."""
        self.timeout_seconds = timeout_seconds
        """How long was waited."""
