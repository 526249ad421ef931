"""Errors of scopes: what was awaited inside of one would take more than it may."""

from __future__ import annotations

from typing import Any

from dynamap_async.errors.root import DynamapError
from dynamap_async.usage import Usage


class CapacityBudgetExceededError(DynamapError):
    """A request was not sent, because a scope's budget does not allow it. What was read before comes with the error."""

    def __init__(
        self,
        message: str,
        *,
        scope: str,
        operation: str,
        table: str,
        usage: Usage,
        max_read_units: float | None = None,
        max_write_units: float | None = None,
        max_requests: int | None = None,
    ) -> None:
        super().__init__(message)
        self.scope = scope
        """The name of the scope whose budget it is; where scopes are nested, an outer one's perhaps."""
        self.operation = operation
        """The API operation that was not sent, such as ``Query``."""
        self.table = table
        """The full table name."""
        self.usage = usage
        """What the scope has used: in total, and by whom."""
        self.max_read_units = max_read_units
        """The read units that the scope may take; None for any amount."""
        self.max_write_units = max_write_units
        """The write units that the scope may take; None for any amount."""
        self.max_requests = max_requests
        """The HTTP requests that the scope may send; None for any number."""
        self.items: tuple[Any, ...] = ()
        """Of a query, scan or statement that was awaited, what it had read before, in its order. What was read of other
        partitions, and belongs behind items that were not read, comes last."""


class ScopeTimeoutError(DynamapError, TimeoutError):
    """A scope's time was over before what was awaited in it had ended."""

    def __init__(self, message: str, *, scope: str, timeout: float, usage: Usage) -> None:
        super().__init__(message)
        self.scope = scope
        """The name of the scope."""
        self.timeout = timeout
        """The seconds that it had."""
        self.usage = usage
        """What the scope has used: in total, and by whom."""
