"""Errors of what one process at a time may do, and of migrations, which are such work."""

from __future__ import annotations

from dynamap_async.errors.root import DynamapError


class LeaseTakenError(DynamapError):
    """Another process does what one at a time may do."""

    def __init__(self, message: str, *, lease: str, holder: str) -> None:
        super().__init__(message)
        self.lease = lease
        """The name of the lease."""
        self.holder = holder
        """Who has it: user, machine and process."""


class LeaseLostError(DynamapError):
    """This process is no longer the one that may do something. What was to be sent was not sent, or was refused."""

    def __init__(self, message: str, *, lease: str) -> None:
        super().__init__(message)
        self.lease = lease
        """The name of the lease."""


class MigrationFailedError(DynamapError):
    """A migration raised; the cause says what. Those behind it were not begun."""

    def __init__(self, message: str, *, migration: str) -> None:
        super().__init__(message)
        self.migration = migration
        """The id of the migration."""
