"""The service's error answers -> errors of this library, with their facts.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

from collections.abc import Mapping
from typing import Any, Final

from dynamap_async.errors import (
    AccessDeniedError,
    ConditionalCheckFailedError,
    CredentialsRejectedError,
    DuplicateItemError,
    IdempotentParameterMismatchError,
    InternalServerError,
    ItemCollectionSizeLimitExceededError,
    LimitExceededError,
    ProvisionedThroughputExceededError,
    ReplicatedWriteConflictError,
    RequestLimitExceededError,
    RequestRejectedError,
    ResourceInUseError,
    ResourceNotFoundError,
    ServiceError,
    ThrottledError,
    TransactionCanceledError,
    TransactionConflictError,
    TransactionInProgressError,
    UnknownServiceError,
)
from dynamap_async.request import Request
from dynamap_async.transport.cancellations import cancellation_reasons, only_passing
from dynamap_async.transport.failures import place_of

EXPIRED_CODES: Final = frozenset({"ExpiredTokenException", "ExpiredToken"})
"""Temporary credentials are past their time: fresh ones may be accepted."""

CLOCK_CODES: Final = frozenset(
    {"InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired", "RequestTimeTooSkewed", "AuthFailure"}
)
"""What a signature with a wrong time is refused with, among other reasons."""

ERRORS: Final[Mapping[str, type[ServiceError]]] = {
    "ConditionalCheckFailedException": ConditionalCheckFailedError,
    "ProvisionedThroughputExceededException": ProvisionedThroughputExceededError,
    "RequestLimitExceeded": RequestLimitExceededError,
    "ThrottlingException": ThrottledError,
    "Throttling": ThrottledError,
    "ThrottledException": ThrottledError,
    "RequestThrottledException": ThrottledError,
    "TooManyRequestsException": ThrottledError,
    "TransactionConflictException": TransactionConflictError,
    "TransactionCanceledException": TransactionCanceledError,
    "TransactionInProgressException": TransactionInProgressError,
    "IdempotentParameterMismatchException": IdempotentParameterMismatchError,
    "DuplicateItemException": DuplicateItemError,
    "ReplicatedWriteConflictException": ReplicatedWriteConflictError,
    "ItemCollectionSizeLimitExceededException": ItemCollectionSizeLimitExceededError,
    "ResourceNotFoundException": ResourceNotFoundError,
    "ResourceNotFound": ResourceNotFoundError,
    "ResourceInUseException": ResourceInUseError,
    "LimitExceededException": LimitExceededError,
    "AccessDeniedException": AccessDeniedError,
    "AccessDenied": AccessDeniedError,
    "NotAuthorized": AccessDeniedError,
    "OptInRequired": AccessDeniedError,
    "UnrecognizedClientException": CredentialsRejectedError,
    "InvalidClientTokenId": CredentialsRejectedError,
    "IncompleteSignatureException": CredentialsRejectedError,
    "IncompleteSignature": CredentialsRejectedError,
    "MissingAuthenticationTokenException": CredentialsRejectedError,
    "MissingAuthenticationToken": CredentialsRejectedError,
    **dict.fromkeys(EXPIRED_CODES | CLOCK_CODES, CredentialsRejectedError),
    "ValidationException": RequestRejectedError,
    "ValidationError": RequestRejectedError,
    "SerializationException": RequestRejectedError,
    "UnknownOperationException": RequestRejectedError,
    "InternalServerError": InternalServerError,
    "InternalServerErrorException": InternalServerError,
    "InternalFailure": InternalServerError,
    "ServiceUnavailable": InternalServerError,
    "ServiceUnavailableException": InternalServerError,
    "RequestTimeout": InternalServerError,
    "RequestTimeoutException": InternalServerError,
}
"""The service's code -> our class: those in its model, those it leaves out, and those of local engines."""

_REMEDIES: Final[Mapping[type[ServiceError], str]] = {
    ConditionalCheckFailedError: "Nothing was written; read the item again before deciding what to do.",
    DuplicateItemError: "Nothing was written; UPDATE the item, or DELETE it first.",
    TransactionCanceledError: "Nothing was written; `reasons` tells for each action what it met with.",
    IdempotentParameterMismatchError: "Nothing was written; use a client request token for one transaction only.",
    ThrottledError: "Ask for less at a time, or raise the capacity of the table or index.",
    ProvisionedThroughputExceededError: "Ask for less at a time, or raise the capacity of the table or index.",
    RequestLimitExceededError: "Ask for less at a time, or have AWS raise the account's throughput quota.",
    ItemCollectionSizeLimitExceededError: "Spread the items over more partition keys, or do without local indexes.",
    ResourceNotFoundError: (
        "Create the table or index with `await session.tables.create(Model)`, or check region and endpoint."
    ),
    ResourceInUseError: "Wait until the table is ACTIVE; one that exists need not be created.",
    AccessDeniedError: "Allow dynamodb:{operation} on this table in the caller's IAM policy.",
    CredentialsRejectedError: "Check the access key, its session token, the region and this machine's clock.",
    InternalServerError: "A write may have been done all the same.",
}


def service_error(
    request: Request, *, code: str, status: int, facts: Mapping[str, Any], request_id: str | None
) -> ServiceError:
    """Return the error that the service's answer stands for. Never fails, whatever the answer holds.

    Args:
        request: what was asked.
        code: the service's name of the error.
        status: the HTTP status; from 500 on, an unknown code is an error inside DynamoDB.
        facts: the answer's JSON object, in wire form.
        request_id: the service's identifier of the request.
    """
    kind = ERRORS.get(code) or (InternalServerError if status >= 500 else UnknownServiceError)
    error = kind(
        _message(kind, request, code, facts),
        service_code=code,
        operation=request.operation,
        table=request.table,
        status=status,
        request_id=request_id,
    )
    if isinstance(error, ConditionalCheckFailedError):
        item = facts.get("Item")
        error.wire_item = item if isinstance(item, dict) and item else None
    elif isinstance(error, ThrottledError):
        error.reasons = _reasons(facts.get("ThrottlingReasons") or facts.get("throttlingReasons"))
    elif isinstance(error, TransactionCanceledError):
        error.reasons = cancellation_reasons(request, facts, error_of_part)
        error.retryable = only_passing(error.reasons)
    return error


def error_of_part(action: Request, code: str, facts: Mapping[str, Any]) -> ServiceError:
    """Return what one part of a transaction or batch would have met on its own; such parts have codes of their own."""
    spellings = (code, f"{code}Exception", f"{code.removesuffix('Error')}Exception")
    known = next((spelled for spelled in spellings if spelled in ERRORS), code)
    return service_error(action, code=known, status=400, facts=facts, request_id=None)


def error_code(facts: Mapping[str, Any], header: str | None, status: int) -> str:
    """Return the service's bare name of an error.

    Args:
        facts: the answer's JSON object; its ``__type`` is such as ``com.amazonaws.dynamodb.v20120810#Name``.
        header: the ``x-amzn-ErrorType`` header, which may end in a colon and an address.
        status: the HTTP status, the name of an error that has no other.
    """
    name = str(facts.get("__type") or facts.get("code") or header or status)
    return name.partition(":")[0].rpartition("#")[2]


def _message(kind: type[ServiceError], request: Request, code: str, facts: Mapping[str, Any]) -> str:
    said = str(facts.get("message") or facts.get("Message") or "").strip().rstrip(".")
    answer = f"{code}: {said}." if said else f"{code}."
    remedy = _REMEDIES.get(kind, "").format(operation=request.operation)
    return f"{place_of(request)}: {answer} {remedy}".rstrip()


def _reasons(listed: Any) -> tuple[str, ...]:
    try:
        return tuple(
            " ".join(str(entry[name]) for name in ("reason", "resource") if name in entry) for entry in listed or ()
        )
    except TypeError:  # a form that nobody has documented must not hide the throttling
        return ()
