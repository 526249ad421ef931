"""Errors that DynamoDB answered with, each named as the service names it.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamap_async.errors.root import DynamapError
from dynamap_async.wire import WireItem


class ServiceError(DynamapError):
    """DynamoDB answered that it did not do what was asked."""

    retryable: bool = False
    """Whether sending the same request again may succeed."""

    outcome_unknown: bool = False
    """Whether the write may have been done all the same: an earlier attempt's answer was lost, or DynamoDB failed."""

    def __init__(
        self,
        message: str,
        *,
        service_code: str,
        operation: str,
        table: str,
        status: int,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.service_code = service_code
        """The service's own name of the error, such as ``ConditionalCheckFailedException``."""
        self.operation = operation
        """The API operation, such as ``PutItem``."""
        self.table = table
        """The full table name."""
        self.status = status
        """The HTTP status of the answer."""
        self.request_id = request_id
        """The service's identifier of the request, for AWS support."""
        self.attempts = 1
        """How many times the request was sent."""


class ConditionalCheckFailedError(ServiceError):
    """The condition of a write did not hold, so nothing was written."""

    item: Any = None
    """The stored item as an instance of the model; None if there is none, or it does not fit the model."""

    wire_item: WireItem | None = None
    """The stored item in wire form; None if there is none."""


class ItemExistsError(ConditionalCheckFailedError):
    """An item that was to be new exists already, so nothing was written."""


class VersionConflictError(ConditionalCheckFailedError):
    """The stored item has another version than the one that the write was based on, so nothing was written."""

    expected: int = 0
    """The version that the write was based on; 0 for an item that must not exist yet."""

    stored: int | None = None
    """The version of the stored item; None if there is no item, or it has none."""


class DuplicateItemError(ServiceError):
    """An INSERT statement found an item with the same key, so nothing was written."""


class ThrottledError(ServiceError):
    """The request was refused because too much capacity is in use."""

    retryable: bool = True
    reasons: tuple[str, ...] = ()
    """What was exceeded, such as ``TableReadProvisionedThroughputExceeded``, with the resource's ARN."""


class ProvisionedThroughputExceededError(ThrottledError):
    """The table, index or partition is over its throughput."""


class RequestLimitExceededError(ThrottledError):
    """The account is over its throughput."""


class UnprocessedError(ThrottledError):
    """A batch call left the item out again and again, which DynamoDB does where capacity is short."""


class TransactionConflictError(ServiceError):
    """A transaction on the same item was in progress."""

    retryable: bool = True


class ReplicatedWriteConflictError(ServiceError):
    """Another Region of a strongly consistent global table wrote the item at the same time."""

    retryable: bool = True


class ItemCollectionSizeLimitExceededError(ServiceError):
    """The items of one partition key, with their local indexes, are over 10 GB."""


class ResourceNotFoundError(ServiceError):
    """The table, index or stream does not exist, or is not ready."""


class ResourceInUseError(ServiceError):
    """The table exists already, or is being created, changed or deleted."""


class LimitExceededError(ServiceError):
    """Too many tables are being created, changed or deleted at once, or a stream is read too often."""

    retryable: bool = True


class ExpiredIteratorError(ServiceError):
    """A place in a shard of a stream was not read on from for 15 minutes."""


class TrimmedDataAccessError(ServiceError):
    """The changes that were asked for are older than 24 hours, and are not kept any more."""


class RecoveryUnavailableError(ServiceError):
    """The table is so new that its continuous backups cannot be turned on yet, or has none."""

    retryable: bool = True


class AccessDeniedError(ServiceError):
    """The credentials do not allow the operation."""


class CredentialsRejectedError(AccessDeniedError):
    """The credentials are expired, unknown or sign wrongly."""


class RequestRejectedError(ServiceError):
    """DynamoDB found the request invalid (its ``ValidationException``)."""


class IndexNotReadyError(RequestRejectedError):
    """The index is still being built, so it cannot be read yet."""


class InternalServerError(ServiceError):
    """DynamoDB failed; a write may have been done all the same."""

    retryable: bool = True


class UnknownServiceError(ServiceError):
    """An error whose code this version does not know; ``service_code`` names it."""


class UniqueViolationError(ServiceError):
    """Another item of the table has a value that the model declares unique, so nothing was written."""

    constraint: str = ""
    """Name of the class attribute that declares it."""
    model: str = ""
    """Name of the model class."""
    values: Mapping[str, Any] = {}
    """What is taken: field name -> Python value."""
    owner: Mapping[str, Any] | None = None
    """The key of the item that has it: field name -> Python value; None where it is not known."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.values)
