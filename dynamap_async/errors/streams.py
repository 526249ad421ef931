"""Errors of reading the changes of items."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dynamap_async.errors.root import DynamapError


class ChangeFailedError(DynamapError):
    """A consumer's function failed on a change as often as it may; the cause is what it raised last."""

    def __init__(self, message: str, *, change: Any) -> None:
        super().__init__(message)
        self.change = change
        """The change, an ``ItemChange``."""


class ChangesLostError(DynamapError):
    """Changes between the place that reading was to go on from, and the oldest one that is kept, are gone."""

    def __init__(
        self,
        message: str,
        *,
        stream_arn: str,
        shard_id: str,
        sequence_number: str | None,
        at: datetime | None,
        oldest_sequence_number: str | None,
        oldest_at: datetime | None,
    ) -> None:
        super().__init__(message)
        self.stream_arn = stream_arn
        """The ARN of the stream."""
        self.shard_id = shard_id
        """The shard."""
        self.sequence_number = sequence_number
        """The last change that was read of it; None where reading was to begin at a time."""
        self.at = at
        """When that change was made, or the time to begin at; None where it is not known."""
        self.oldest_sequence_number = oldest_sequence_number
        """The oldest change of the shard that is kept; None where none is."""
        self.oldest_at = oldest_at
        """When that one was made."""
