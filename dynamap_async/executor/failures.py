"""Failures of batches: what each of their requests is told, and what the failure of a whole batch says of one item.

Invariant: the error of a request is its own instance, and names the operation and table that were asked for, not those
of the batch.
"""

from typing import TypeVar

from dynamap_async.errors import (
    AccessDeniedError,
    ConnectionFailedError,
    CredentialsRejectedError,
    DamagedResponseError,
    ResourceNotFoundError,
    ServiceError,
    TransportError,
    UnprocessedError,
)
from dynamap_async.executor.pending import Pending, own_instance
from dynamap_async.executor.retry import Retries

F = TypeVar("F", bound=ServiceError | TransportError)


def own_failure(retries: Retries, pending: Pending, error: F) -> F:
    """Return a request's own instance of the error of its batch, with what the request's earlier attempts mean."""
    own = own_instance(error)
    own.operation, own.table = pending.request.operation, pending.request.table
    retries.note(pending, own)
    return own


def refuses_some(error: ServiceError | TransportError) -> bool:
    """Return whether some items of a batch that failed may be accepted, or answered, without the others."""
    if error.retryable or isinstance(error, CredentialsRejectedError):
        return False
    if isinstance(error, TransportError):
        return isinstance(error, DamagedResponseError)  # the answer was too large: that to fewer items is smaller
    # An error of DynamoDB itself says nothing about items, and splitting would multiply it.
    return 400 <= error.status < 500


def refused_by_name(error: ServiceError | TransportError) -> bool:
    """Return whether the refusal is about tables and permissions, so that items alone may be accepted."""
    return isinstance(error, AccessDeniedError | ResourceNotFoundError)


def unprocessed(pending: Pending) -> UnprocessedError:
    """Return the error of a request that a batch call left out for want of capacity."""
    request = pending.request
    return UnprocessedError(
        f"DynamoDB left this item of {request.table} out of a batch, for want of capacity. Ask for less at a time, or "
        "raise the capacity of the table.",
        service_code="Unprocessed",
        operation=request.operation,
        table=request.table,
        status=200,
    )


def interrupted(pending: Pending) -> ConnectionFailedError:
    """Return the error of a request whose task was cancelled from outside of this library."""
    request = pending.request
    error = ConnectionFailedError(
        f"the task that carried {request.operation} on {request.table} was cancelled, by none of those who waited for "
        f"it ({pending.outcome.value}); cancel tasks of your own only",
        outcome=pending.outcome,
        operation=request.operation,
        table=request.table,
    )
    error.attempts = pending.attempts
    return error
