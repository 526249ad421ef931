"""The service's error answers -> errors of this library, with their facts.

Also why a transaction was cancelled, one reason for each action, and which single statements failed inside a success.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CancellationReason.html
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementError.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dynamap_async.errors import (
    AccessDeniedError,
    CancellationReason,
    ConditionalCheckFailedError,
    CredentialsRejectedError,
    DuplicateItemError,
    ExpiredIteratorError,
    IdempotentParameterMismatchError,
    IndexNotReadyError,
    InternalServerError,
    ItemCollectionSizeLimitExceededError,
    LimitExceededError,
    ProvisionedThroughputExceededError,
    RecoveryUnavailableError,
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
    TrimmedDataAccessError,
    UnknownServiceError,
)
from dynamap_async.request import Request
from dynamap_async.service import STREAMS, table_arn
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
    "BackupNotFoundException": ResourceNotFoundError,
    "PolicyNotFoundException": ResourceNotFoundError,
    "TableNotFoundException": ResourceNotFoundError,
    "ResourceInUseException": ResourceInUseError,
    "BackupInUseException": ResourceInUseError,
    "TableAlreadyExistsException": ResourceInUseError,
    "TableInUseException": ResourceInUseError,
    "LimitExceededException": LimitExceededError,
    "ExpiredIteratorException": ExpiredIteratorError,
    "TrimmedDataAccessException": TrimmedDataAccessError,
    "ContinuousBackupsUnavailableException": RecoveryUnavailableError,
    "PointInTimeRecoveryUnavailableException": RecoveryUnavailableError,
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
    "InvalidRestoreTimeException": RequestRejectedError,
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
"""The service's code -> our class: codes of its model, codes that the model leaves out, and codes of local engines."""

_BACKFILLING: Final = "backfilling global secondary index"
"""Words by which the service refuses to read an index that is being built; it has no code of its own for that.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html"""

_FEWER: Final = "Send fewer requests at a time, or raise the capacity of the table or index."
_REMEDIES: Final[Mapping[type[ServiceError], str]] = {
    ConditionalCheckFailedError: "Nothing was written; read the item again before deciding what to do.",
    DuplicateItemError: "Nothing was written. To change the item, UPDATE it; to replace it, DELETE it first.",
    TransactionCanceledError: "Nothing was written. `reasons` says why, for each action.",
    IdempotentParameterMismatchError: "Nothing was written. Use a new client request token for each transaction.",
    ThrottledError: _FEWER,
    ProvisionedThroughputExceededError: _FEWER,
    RequestLimitExceededError: (
        "Send fewer requests at a time, or ask AWS to raise the throughput quota of the account."
    ),
    ItemCollectionSizeLimitExceededError: (
        "Spread the items over more partition keys, or use a table without local indexes."
    ),
    ResourceNotFoundError: (
        "Check region, endpoint and table_prefix, or create the table or index with "
        "`await session.tables.ensure(Model)`."
    ),
    ResourceInUseError: "Wait until the table and its indexes are ACTIVE: `session.tables.describe(Model)` tells.",
    RecoveryUnavailableError: "Try again in a few minutes: continuous backups of the table are not ready.",
    IndexNotReadyError: "It cannot be read until it is built; `await session.tables.ensure(Model)` waits for that.",
    AccessDeniedError: "Allow {permission}{of_table} in the IAM policy of the caller{owner}.",
    CredentialsRejectedError: "Check the access key, its session token, the region and the clock of this machine.",
}

_REMEDIES_OF_CODES: Final[Mapping[str, str]] = {
    "BackupInUseException": (
        "Wait until no backup of the table is made, restored or deleted: `session.tables.backups.of(Model)` tells "
        "their states."
    ),
    "BackupNotFoundException": "`session.tables.backups.of(Model)` returns the backups that there are.",
    "InvalidRestoreTimeException": (
        "`session.tables.backups.recovery(Model)` returns the earliest and the latest moment."
    ),
    "PointInTimeRecoveryUnavailableException": (
        "Turn its continuous backups on, as `TableSettings(recovery=Recovery(days=35))` does; from then on it can be "
        "restored."
    ),
    "TableAlreadyExistsException": "Choose another name, or delete that table first.",
    "UnknownOperationException": "This engine does not have it; DynamoDB does.",
}
"""The service's code -> what to do, where the class of the error says too little."""

_REMEDIES_OF_STREAMS: Final[Mapping[type[ServiceError], str]] = {
    LimitExceededError: (
        "A shard may have two readers, a trigger of AWS Lambda among them, and answers five calls a second."
    ),
    ResourceNotFoundError: "`dynamap streams` lists the streams; one is kept for 24 hours after it was turned off.",
    ExpiredIteratorError: "Ask for another iterator, which goes on after the last change that was read.",
    TrimmedDataAccessError: "Begin with the oldest change that is kept, and read what may have changed before.",
}
"""What to do about the refusals of streams, where it is something else than for tables."""

_REMEDIES_OF_MESSAGES: Final[Mapping[str, str]] = {
    "not have the specified index": (
        "`await session.tables.ensure(Model)` makes it, and `print(await session.tables.plan(Model))` shows what else "
        "the table lacks."
    ),
    **dict.fromkeys(
        ("does not match the schema", "Missing the key", "missed key schema element", "Type mismatch for key"),
        "Does the table have another key than the model? `await session.tables.verify(Model)` says what differs.",
    ),
}
"""A part of the message of a ValidationException -> what to do."""

_OF_THE_OWNER_ONLY: Final = frozenset(
    {"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction", "UpdateTimeToLive"}
)
"""What DynamoDB does for the account that owns a table, and for no other, whatever its policies say.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-iam-actions.html
"""

_EXISTS: Final = (
    "Wait until the table is ACTIVE. If it exists already, `tables.create(Model, if_missing=True)` leaves it as it is."
)

_PARTIQL: Final = (
    "dynamodb:PartiQLSelect, PartiQLInsert, PartiQLUpdate or PartiQLDelete, whichever the statement needs,"
)
_PERMISSIONS: Final[Mapping[str, str]] = {
    "TransactGetItems": "dynamodb:GetItem",
    "TransactWriteItems": (
        "dynamodb:PutItem, UpdateItem, DeleteItem and ConditionCheckItem, whichever the transaction needs,"
    ),
    "ExecuteStatement": _PARTIQL,
    "BatchExecuteStatement": _PARTIQL,
    "ExecuteTransaction": _PARTIQL,
}
"""Operation -> the permissions that it needs, where IAM has none of the operation's own name.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-iam.html
"""


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
    if kind is RequestRejectedError and _BACKFILLING in str(facts.get("message") or facts.get("Message") or ""):
        kind = IndexNotReadyError
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
    """Return the error that one part of a transaction or batch would have met alone. Such parts have other codes."""
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
    permission = _PERMISSIONS.get(request.operation, f"dynamodb:{request.operation}")
    of_table = " on this table" if request.table else ""
    owner = "" if table_arn(request.table) is None else _of_the_owner(request, permission)
    remedy = (
        (_REMEDIES_OF_STREAMS.get(kind) if request.service is STREAMS else None)
        or _REMEDIES_OF_CODES.get(code)
        or _remedy_of(answer)
        or _REMEDIES.get(kind, "").format(permission=permission, of_table=of_table, owner=owner)
    )
    if kind is ResourceInUseError and request.operation == "CreateTable":
        remedy = _EXISTS
    if kind is InternalServerError and request.writes:
        remedy = "The write may have been done all the same."
    return f"{place_of(request)}: {answer} {remedy}".rstrip()


def _of_the_owner(request: Request, permission: str) -> str:
    """Return what the resource policy of a table has to say, which its owner attaches, for callers of other accounts.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-cross-account-access.html
    """
    if request.operation in _OF_THE_OWNER_ONLY:
        return f"; where the table is another account's, DynamoDB refuses {request.operation} whatever policies say"
    resource = request.table if request.index is None else f"{request.table}/index/{request.index}"
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::ACCOUNT-OF-THE-CALLER:role/ROLE"},
        "Action": [f"dynamodb:{action}" for action in re.findall(r"[A-Z]\w+", permission)],
        "Resource": resource,
    }
    return f"; where the table is another account's, its resource policy needs {json.dumps(statement)} as well"


def _remedy_of(answer: str) -> str:
    return next((remedy for said, remedy in _REMEDIES_OF_MESSAGES.items() if said in answer), "")


def _reasons(listed: Any) -> tuple[str, ...]:
    try:
        return tuple(
            " ".join(str(entry[name]) for name in ("reason", "resource") if name in entry) for entry in listed or ()
        )
    except TypeError:  # a form that nobody has documented must not hide the throttling
        return ()


PASSING_CODES: Final = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Reasons that pass: the same transaction may succeed a moment later."""

_OPERATIONS: Final[Mapping[str, str]] = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheck",
    "Get": "GetItem",
}
_CODES_IN_MESSAGE: Final = re.compile(r"\[([\w, ]+)\]\W*$")

Translate = Callable[[Request, str, Mapping[str, Any]], ServiceError]
"""(the action as a request of its own, the reason's code, its facts) -> the error that the action alone would meet."""


def cancellation_reasons(
    request: Request, facts: Mapping[str, Any], translate: Translate
) -> tuple[CancellationReason, ...]:
    """Return one reason for each action, in order; an empty tuple if the answer tells none."""
    listed = _list_of_objects(facts.get("CancellationReasons"))
    if not listed:
        listed = _told_by_message(str(facts.get("message") or facts.get("Message") or ""))
    actions = _actions(request, len(listed))
    return tuple(
        _reason(position, entry, action, translate)
        for position, (entry, action) in enumerate(zip(listed, actions, strict=True))
    )


def only_passing(reasons: Sequence[CancellationReason]) -> bool:
    """Return whether all reasons pass by themselves: conflicts with other transactions, and throttling."""
    codes = {reason.code for reason in reasons if reason.code is not None}
    return bool(codes) and codes <= PASSING_CODES


def _list_of_objects(value: Any) -> Sequence[Mapping[str, Any]]:
    """Return a list of JSON objects; an empty list if the answer holds something else."""
    entries: list[Any] = value if issubclass(type(value), list) else []
    return [entry if issubclass(type(entry), dict) else {} for entry in entries]


def _told_by_message(message: str) -> Sequence[Mapping[str, Any]]:
    """Return the codes that end the service's message: ``... specific reasons [None, ConditionalCheckFailed]``."""
    found = _CODES_IN_MESSAGE.search(message)
    return [] if found is None else [{"Code": code.strip()} for code in found[1].split(",")]


def _actions(request: Request, count: int) -> list[Request]:
    """Return each action as a request of its own, as far as errors name it."""
    entries = _list_of_objects(request.body.get("TransactItems"))
    if len(entries) != count:  # statements of PartiQL do not say their table
        return [request] * count
    return [
        Request(operation=_OPERATIONS.get(kind, kind), body=body, table=str(body.get("TableName", "")))
        for entry in entries
        for kind, body in entry.items()
    ]


def _reason(position: int, entry: Mapping[str, Any], action: Request, translate: Translate) -> CancellationReason:
    code = str(entry.get("Code") or "None")
    if code == "None":
        return CancellationReason(position=position, code=None, operation=action.operation, table=action.table)
    message = entry.get("Message")
    error = translate(action, code, {"message": message, "Item": entry.get("Item")})
    return CancellationReason(
        position=position,
        code=code,
        message=None if message is None else str(message),
        operation=action.operation,
        table=action.table,
        wire_item=error.wire_item if isinstance(error, ConditionalCheckFailedError) else None,
        error=error,
    )


def statement_error(request: Request, response: Mapping[str, Any]) -> ServiceError | None:
    """Return the error of one statement of several, as if it had been sent alone; None if it succeeded.

    Args:
        request: the request of all statements.
        response: what DynamoDB answered to one.
    """
    facts: Mapping[str, Any] | None = response.get("Error")
    if not facts:
        return None
    table = str(response.get("TableName") or request.table)
    return error_of_part(replace(request, table=table), str(facts.get("Code") or "None"), facts)
