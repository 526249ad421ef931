"""What transactions share: several items, each once, within the service's limits, done or refused as one."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from dynamap_async.errors import (
    CancellationReason,
    ConditionalCheckFailedError,
    ItemNotFoundError,
    OperationError,
    ServiceError,
    TransactionCanceledError,
    UniqueViolationError,
    VersionConflictError,
)
from dynamap_async.limits import TRANSACTION_ACTIONS
from dynamap_async.operations.operation import Part, SingleRequest, shown_key
from dynamap_async.request import Target

R_co = TypeVar("R_co", covariant=True)

_REMEDY: Final = "Read the items again, decide, and write then."


class Transact(SingleRequest[R_co]):
    """An operation on several items at once. One on no items is done without a request."""

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> Sequence[SingleRequest[Any]]:
        """What is done, item by item."""
        raise NotImplementedError

    @abstractmethod
    def nothing(self) -> R_co:
        """Return the result of a transaction without parts."""
        raise NotImplementedError

    @abstractmethod
    def explained(self, reason: CancellationReason, part: SingleRequest[Any]) -> CancellationReason:
        """Return a reason with what is known of the part that it is about."""
        raise NotImplementedError

    def failed(self, error: ServiceError) -> Exception:
        """Return the error of a cancelled transaction with the model, key, and stored item of each part."""
        if not isinstance(error, TransactionCanceledError) or len(error.reasons) != len(self.parts):
            return error
        error.reasons = tuple(
            self.explained(_of_transaction(reason, error), part)
            for reason, part in zip(error.reasons, self.parts, strict=True)
        )
        error.args = (_cancelled(error),)
        return error


def check_count(parts: Sequence[Any]) -> None:
    """Refuse more parts than a transaction may have.

    Raises:
        OperationError: there are more.
    """
    if len(parts) > TRANSACTION_ACTIONS:
        raise OperationError(
            f"a transaction has at most {TRANSACTION_ACTIONS} actions, and this one has {len(parts)}; it is not split, "
            "because parts of it would no longer be all or nothing"
        )


def targets_of(parts: Sequence[Part]) -> tuple[Target, ...]:
    """Return the items of a transaction's parts.

    Raises:
        OperationError: two parts are about one item, which the service refuses.
    """
    targets = tuple([part.target for part in parts])
    if len({target.identity for target in targets}) < len(targets):
        _refuse_twice(parts)
    return targets


def _refuse_twice(parts: Sequence[Part]) -> None:
    seen: dict[str, int] = {}
    for position, part in enumerate(parts):
        earlier = seen.setdefault(part.target.identity, position)
        if earlier != position:
            raise OperationError(
                f"actions {earlier} and {position} of the transaction are about the same item of {part.table!r}, "
                f"{part.target.key}; a transaction has one action for each item"
            )


def tables_of(parts: Sequence[Part]) -> str:
    """Return the names of the tables of a transaction's parts, each once."""
    return ", ".join(dict.fromkeys([part.table for part in parts]))


def _of_transaction(reason: CancellationReason, error: TransactionCanceledError) -> CancellationReason:
    """Return a reason whose error is that of the call that DynamoDB answered."""
    own = reason.error
    if isinstance(own, ServiceError):
        own.request_id, own.attempts = error.request_id, error.attempts
    return reason


def _cancelled(error: TransactionCanceledError) -> str:
    failed = error.failures
    told = "; ".join(map(_told, failed[:3])) + (f"; and {len(failed) - 3} more" if len(failed) > 3 else "")
    return f"{error.operation} on {error.table}: cancelled, because of {told}. Nothing was written. {_remedy(error)}"


def _told(reason: CancellationReason) -> str:
    what = f"action {reason.position} ({reason.operation} of {reason.model} with {shown_key(reason.key)})"
    match reason.error:
        case VersionConflictError() as error:
            why = f"based on version {error.expected}, but version {error.stored} is stored"
        case ItemNotFoundError():
            why = "there is no such item"
        case UniqueViolationError() as error:
            why = str(error).partition(". ")[0]
        case ConditionalCheckFailedError():
            why = ""  # the service says no more than that it failed
        case _:
            why = (reason.message or "").rstrip(".")
    return f"{what}: {reason.code}" + (f" ({why})" if why else "")


def _remedy(error: TransactionCanceledError) -> str:
    if error.retryable:
        return "It was tried until the session's retries were spent; try again later."
    if any(isinstance(reason.error, ConditionalCheckFailedError) for reason in error.failures):
        return _REMEDY
    return "`reasons` tells of each action."
