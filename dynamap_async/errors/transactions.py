"""Errors of transactions, and why each of their actions did not come about.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from dynamap_async.dataclass import dataclass
from dynamap_async.errors.service import ServiceError
from dynamap_async.wire import WireItem


@dataclass(frozen=True, slots=True, kw_only=True)
class CancellationReason:
    """What one action of a cancelled transaction met with. Nothing was written, whatever its own reason says."""

    position: int
    """The action's place in the transaction, from 0."""
    code: str | None
    """The service's name of the reason, such as ``ConditionalCheckFailed``; None where the action met no obstacle."""
    message: str | None = None
    """What the service says about it."""
    operation: str = ""
    """The action as an operation: ``PutItem``, ``UpdateItem``, ``DeleteItem``, ``ConditionCheck`` or ``GetItem``."""
    table: str = ""
    """The full table name."""
    model: str | None = None
    """Name of the model class."""
    key: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The key of the action's item: field name -> Python value."""
    item: Any = None
    """The stored item, of a failed condition, as an instance; None if there is none, or it does not fit the model."""
    wire_item: WireItem | None = None
    """The stored item in wire form; None if there is none."""
    error: Exception | None = None
    """What the same write on its own would have raised, such as ``VersionConflictError``; None without a reason."""


class TransactionCanceledError(ServiceError):
    """A transaction was given up as a whole, because of at least one of its actions: nothing was written.

    It is ``retryable`` where capacity and other transactions were all that stood in the way.
    """

    reasons: tuple[CancellationReason, ...] = ()
    """One for each action, in order; empty if the service gave none."""

    @property
    def failures(self) -> Sequence[CancellationReason]:
        """Those of the reasons that are one."""
        return tuple(reason for reason in self.reasons if reason.code is not None)


class TransactionInProgressError(ServiceError):
    """A transaction with the same client request token is still being carried out."""

    retryable: bool = True


class IdempotentParameterMismatchError(ServiceError):
    """A client request token was used again, within ten minutes, for another transaction."""
