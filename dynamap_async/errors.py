"""Every error this library raises. The tree is ordered by who must act.

DynamapError
├── UsageError                      the programmer; raised before anything is sent
│   ├── ModelDefinitionError        a model class is wrong
│   ├── ExpressionError             a condition, path or projection is wrong
│   ├── OperationError              an operation is wrong as a whole
│   │   ├── NoIndexError            no table or index key answers the query
│   │   ├── AmbiguousIndexError     several answer it differently
│   │   ├── UnprojectedAttributeError   the index does not hold what the query names
│   │   └── CursorError             a cursor is damaged, forged, or of another query
│   ├── ConfigurationError          region, credentials or a client's settings are missing or unusable
│   └── SessionStateError           the session is not open, or not for this event loop
│       └── SessionClosedError      the session was closed
├── DataError                       the item
│   ├── EncodeError                 a value cannot be stored
│   │   └── ItemTooLargeError       the item is over 400 KB
│   ├── DecodeError                 stored bytes cannot be read as a value
│   └── ItemValidationError         a stored item does not fit its model
├── ItemNotFoundError               a call that promises an item found none
├── MultipleItemsFoundError         a call that promises one item found more
├── ServiceError                    DynamoDB answered no
├── TransportError                  no usable answer arrived
└── TableError                      a table did not reach the state that was waited for

Facts are attributes; a message is one sentence and a remedy.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar

from dynamap_async.wire import WireItem


def _rebuild(kind: type["DynamapError"], args: tuple[Any, ...], facts: dict[str, Any]) -> "DynamapError":
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class DynamapError(Exception):
    """The base of every error of this library."""

    code: ClassVar[str] = "dynamap"
    """A stable name of the kind of error; the anchor of its section in the documentation."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.code = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__.removesuffix("Error")).lower()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


class UsageError(DynamapError):
    """The program is wrong. Raised before anything is sent."""


class ModelDefinitionError(UsageError, TypeError):
    """A model class cannot be used as it is written. Raised when the class is created."""

    def __init__(self, message: str, *, model: str, field: str | None = None) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""
        self.field = field
        """Name of the field or index at fault, if one is."""


class ExpressionError(UsageError, ValueError):
    """A path, condition or projection means nothing to DynamoDB."""

    def __init__(self, message: str, *, expression: str | None = None) -> None:
        super().__init__(message)
        self.expression = expression
        """The expression as the program wrote it, as far as it is known."""


class OperationError(UsageError, ValueError):
    """An operation asks for something that DynamoDB would refuse."""


class NoIndexError(OperationError):
    """Neither the table nor an index has a key that answers the query."""


class AmbiguousIndexError(OperationError):
    """Several indexes answer the query, each in another order."""

    def __init__(self, message: str, *, indexes: Sequence[str]) -> None:
        super().__init__(message)
        self.indexes: tuple[str, ...] = tuple(indexes)
        """Names of the indexes to choose from."""


class UnprojectedAttributeError(OperationError):
    """A query names an attribute that the index it uses does not hold."""

    def __init__(self, message: str, *, attributes: Sequence[str], index: str) -> None:
        super().__init__(message)
        self.attributes: tuple[str, ...] = tuple(attributes)
        """Stored names of the attributes that are missing from the index."""
        self.index = index
        """Name of the index."""


class CursorError(OperationError):
    """A cursor is damaged, has a wrong signature, or belongs to another query."""


class ConfigurationError(UsageError):
    """A region, credentials, a package or a setting is missing, or cannot work as given."""


class SessionStateError(UsageError, RuntimeError):
    """The session is not open, is used from another event loop, or is not on asyncio."""


class SessionClosedError(SessionStateError):
    """The session was closed before or while the operation waited."""


class DataError(DynamapError):
    """An item or a value is at fault."""


class EncodeError(DataError, ValueError):
    """A value cannot be stored in DynamoDB. Raised before anything is sent."""

    def __init__(self, message: str, *, path: Sequence[str | int] = (), model: str | None = None) -> None:
        super().__init__(message)
        self.reason = message
        """What is wrong with the value, without its place."""
        self.path: tuple[str | int, ...] = tuple(path)
        """Where the value is: field name, then keys and positions inside it."""
        self.model = model
        """Name of the model class, if the value belongs to one."""

    def at(self, *parents: str | int, model: str | None = None) -> "EncodeError":
        """Return the same error, placed inside a parent field, element or model."""
        self.path = (*parents, *self.path)
        self.model = model or self.model
        place = "".join(f"[{part!r}]" if isinstance(part, int) else f".{part}" for part in self.path)
        self.args: tuple[Any, ...] = (f"{self.model or ''}{place}".lstrip(".") + f": {self.reason}",)
        return self


class ItemTooLargeError(EncodeError):
    """An item is larger than DynamoDB stores."""

    def __init__(self, message: str, *, size_bytes: int, limit_bytes: int, model: str | None = None) -> None:
        super().__init__(message, model=model)
        self.size_bytes = size_bytes
        """Size of the item as DynamoDB counts it, in bytes."""
        self.limit_bytes = limit_bytes
        """The largest size allowed, in bytes."""


class DecodeError(DataError, ValueError):
    """A stored value has a form that this library cannot read."""


class ItemValidationError(DataError, ValueError):
    """A stored item does not fit its model; other items of the same page are kept."""

    def __init__(
        self,
        message: str,
        *,
        model: str,
        key: Mapping[str, Any],
        item: WireItem,
        validation_error: ValueError,
        items: Sequence[Any] = (),
        failures: "Sequence[ItemValidationError]" = (),
    ) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""
        self.key: dict[str, Any] = dict(key)
        """The item's key: stored attribute name -> Python value."""
        self.item = item
        """The stored item, in wire form."""
        self.validation_error = validation_error
        """Pydantic's own error, with a line for each fault."""
        self.items: tuple[Any, ...] = tuple(items)
        """The items read by the same call that do fit, in order."""
        self.failures: tuple[ItemValidationError, ...] = tuple(failures) or (self,)
        """One error for each item of the call that does not fit, this one first."""

    @classmethod
    def of_call(cls, failures: "Sequence[ItemValidationError]", items: Sequence[Any]) -> "ItemValidationError":
        """Return the error of a whole call: its first failure again, with everything that the call did read.

        Args:
            failures: one error for each item that does not fit, in order; at least one.
            items: what the call read that does fit, in order.
        """
        first = failures[0]
        error = cls(
            str(first),
            model=first.model,
            key=first.key,
            item=first.item,
            validation_error=first.validation_error,
            items=items,
            failures=failures,
        )
        error.__cause__ = first.validation_error
        return error


class ItemNotFoundError(DynamapError, LookupError):
    """A call that promises an item found none."""

    def __init__(self, message: str, *, model: str, key: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""
        self.key: dict[str, Any] | None = dict(key) if key is not None else None
        """The key that was asked for: field name -> Python value; None after a query."""


class MultipleItemsFoundError(DynamapError, LookupError):
    """A query that promises one item found more than one."""

    def __init__(self, message: str, *, model: str) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""


class ServiceError(DynamapError):
    """DynamoDB answered that it did not do what was asked."""

    retryable: ClassVar[bool] = False
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

    item: WireItem | None = None
    """The stored item in wire form, if the request asked for it and one exists."""


class ThrottledError(ServiceError):
    """The request was refused because too much capacity is in use."""

    retryable: ClassVar[bool] = True
    reasons: tuple[str, ...] = ()
    """What was exceeded, such as ``TableReadProvisionedThroughputExceeded``, with the resource's ARN."""


class ProvisionedThroughputExceededError(ThrottledError):
    """The table, index or partition is over its throughput."""


class RequestLimitExceededError(ThrottledError):
    """The account is over its throughput."""


class TransactionConflictError(ServiceError):
    """A transaction on the same item was in progress."""

    retryable: ClassVar[bool] = True


class ReplicatedWriteConflictError(ServiceError):
    """Another Region of a strongly consistent global table wrote the item at the same time."""

    retryable: ClassVar[bool] = True


class ItemCollectionSizeLimitExceededError(ServiceError):
    """The items of one partition key, with their local indexes, are over 10 GB."""


class ResourceNotFoundError(ServiceError):
    """The table or index does not exist, or is not ready."""


class ResourceInUseError(ServiceError):
    """The table exists already, or is being created, changed or deleted."""


class LimitExceededError(ServiceError):
    """Too many tables are being created, changed or deleted at once."""

    retryable: ClassVar[bool] = True


class AccessDeniedError(ServiceError):
    """The credentials do not allow the operation."""


class CredentialsRejectedError(AccessDeniedError):
    """The credentials are expired, unknown or sign wrongly."""


class RequestRejectedError(ServiceError):
    """DynamoDB found the request invalid (its ``ValidationException``)."""


class InternalServerError(ServiceError):
    """DynamoDB failed; a write may have been done all the same."""

    retryable: ClassVar[bool] = True


class UnknownServiceError(ServiceError):
    """An error whose code this version does not know; ``service_code`` names it."""


class Outcome(Enum):
    """What is known about a request that got no usable answer."""

    NOT_SENT = "not sent"
    """The request never reached DynamoDB: nothing was done."""

    UNKNOWN = "unknown"
    """The request may have been carried out."""


class TransportError(DynamapError, ConnectionError):
    """No usable answer arrived."""

    def __init__(self, message: str, *, outcome: Outcome, operation: str, table: str) -> None:
        super().__init__(message)
        self.outcome = outcome
        """Whether the request can have been carried out."""
        self.operation = operation
        """The API operation, such as ``PutItem``."""
        self.table = table
        """The full table name."""
        self.attempts = 1
        """How many times the request was sent."""


class ConnectionFailedError(TransportError):
    """The connection could not be made, or broke."""


class RequestTimeoutError(TransportError, TimeoutError):
    """The connection or the answer took longer than the configured timeout."""


class DamagedResponseError(TransportError):
    """An answer arrived whose checksum or form is wrong."""


class TableError(DynamapError):
    """A table is not as it should be."""


class TableWaitTimeoutError(TableError, TimeoutError):
    """A table did not reach the awaited status in time."""

    def __init__(self, message: str, *, table: str, status: str | None, timeout_seconds: float) -> None:
        super().__init__(message)
        self.table = table
        """The full table name."""
        self.status = status
        """The last status seen; None where the table did not exist."""
        self.timeout_seconds = timeout_seconds
        """How long was waited."""
