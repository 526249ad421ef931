"""What transactions share: several items, each once, within the service's limits, done or refused as one."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

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
from dynamap_async.models import Definition
from dynamap_async.operations.operation import SingleRequest
from dynamap_async.request import Request, Target
from dynamap_async.wire import WireKey

R_co = TypeVar("R_co", covariant=True)

_MEMBERS: Final = frozenset(
    {
        "TableName",
        "Key",
        "Item",
        "UpdateExpression",
        "ConditionExpression",
        "ProjectionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "ReturnValuesOnConditionCheckFailure",
    }
)
_REMEDY: Final = "Read the items again, decide, and write then."


class Part(NamedTuple):
    """What a transaction says of one of its items."""

    action: dict[str, Any]
    """The name of what is done -> its members."""
    target: Target
    """The item."""
    table: str
    """The full table name."""
    conditional: bool
    """Whether a condition guards it."""


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


def part_of(name: str, request: Request) -> Part:
    """Return a request as part of a transaction, which knows fewer members than a call of its own.

    Args:
        name: what it is called there.
        request: it.
    """
    body, target = request.body, request.target
    assert target is not None, f"{request.operation} is not about one item"  # noqa: S101 - by its type
    action = {member: value for member, value in body.items() if member in _MEMBERS}
    return Part({name: action}, target, request.table, request.conditional)


def key_values(definition: Definition[Any], key: WireKey) -> dict[str, Any]:
    """Return a wire key as field name -> Python value."""
    fields = (definition.fields[definition.field_names[name]] for name in key)
    return {field.name: field.of_stored(key[field.stored]) for field in fields}


def shown_key(key: Mapping[str, Any]) -> str:
    """Return a key as messages show it: ``user_id='ada', tweet_id=7``."""
    return ", ".join(f"{name}={value!r}" for name, value in key.items())


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
