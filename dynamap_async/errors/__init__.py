"""Every error this library raises. The tree is ordered by who must act.

DynamapError
├── UsageError                      the programmer; raised before anything is sent
│   ├── ModelDefinitionError        a model class is wrong
│   ├── UnassignedFieldError        a field is read before the session gave it a value
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
│   ├── OutOfRangeError             a number is outside its range, or too much is asked at once
│   ├── DecodeError                 stored bytes cannot be read as a value
│   └── ItemValidationError         a stored item does not fit its model
│       ├── ItemKindError           a stored item is of another model, or of none that is known
│       ├── ItemVersionError        a stored item is of a later version than the model knows
│       └── ItemUpgradeError        a stored item of an older version could not be upgraded
├── CapacityBudgetExceededError     a scope's budget does not allow a request
├── ScopeTimeoutError               a scope's time was over
├── LeaseTakenError                 another process does what one at a time may do
├── LeaseLostError                  this process is no longer the one that may
├── ChangesLostError                changes of a stream were trimmed away before they were read
├── ChangeFailedError               a consumer's function failed on a change
├── MigrationFailedError            a migration raised
├── AfterWriteError                 a hook failed after its item was written
├── ItemNotFoundError               a call that promises an item found none
├── MultipleItemsFoundError         a call that promises one item found more
├── BatchError                      some items of a many-item call failed
│   └── ItemsNotUpgradedError       a pass left items of older versions
├── ServiceError                    DynamoDB answered no
│   └── UniqueViolationError        another item has a value that the model declares unique
├── TransportError                  no usable answer arrived
└── TableError                      a table is not as it should be
    ├── TableMismatchError          it differs from the models
    ├── PlanHazardError             a plan takes something away, and nobody allowed that
    ├── PlanOutOfDateError          it changed since a plan was made
    ├── TableProtectedError         it is protected against deletion
    └── TableWaitTimeoutError       it did not reach the state that was waited for

Facts are attributes; a message is one sentence and a remedy.
"""

from __future__ import annotations

from dynamap_async.errors.budgets import (
    CapacityBudgetExceededError,
    ScopeTimeoutError,
)
from dynamap_async.errors.items import (
    AfterWriteError,
    BatchError,
    DataError,
    DecodeError,
    EncodeError,
    ItemDecodeError,
    ItemFailure,
    ItemKindError,
    ItemNotFoundError,
    ItemsNotUpgradedError,
    ItemTooLargeError,
    ItemUpgradeError,
    ItemValidationError,
    ItemVersionError,
    MultipleItemsFoundError,
    OutOfRangeError,
)
from dynamap_async.errors.leases import (
    LeaseLostError,
    LeaseTakenError,
    MigrationFailedError,
)
from dynamap_async.errors.root import (
    DynamapError,
)
from dynamap_async.errors.service import (
    AccessDeniedError,
    ConditionalCheckFailedError,
    CredentialsRejectedError,
    DuplicateItemError,
    ExpiredIteratorError,
    IndexNotReadyError,
    InternalServerError,
    ItemCollectionSizeLimitExceededError,
    ItemExistsError,
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
    TransactionConflictError,
    TrimmedDataAccessError,
    UniqueViolationError,
    UnknownServiceError,
    UnprocessedError,
    VersionConflictError,
)
from dynamap_async.errors.streams import (
    ChangeFailedError,
    ChangesLostError,
)
from dynamap_async.errors.tables import (
    PlanHazardError,
    PlanOutOfDateError,
    TableDifference,
    TableError,
    TableMismatchError,
    TableProtectedError,
    TableWaitTimeoutError,
)
from dynamap_async.errors.transactions import (
    CancellationReason,
    IdempotentParameterMismatchError,
    TransactionCanceledError,
    TransactionInProgressError,
)
from dynamap_async.errors.transport import (
    ConnectionFailedError,
    DamagedResponseError,
    Outcome,
    RequestTimeoutError,
    TransportError,
)
from dynamap_async.errors.usage import (
    AmbiguousIndexError,
    ConfigurationError,
    CursorError,
    ExpressionError,
    ModelDefinitionError,
    NoIndexError,
    OperationError,
    SessionClosedError,
    SessionStateError,
    UnassignedFieldError,
    UnprojectedAttributeError,
    UsageError,
)

__all__ = [
    "AccessDeniedError",
    "AfterWriteError",
    "AmbiguousIndexError",
    "BatchError",
    "CancellationReason",
    "CapacityBudgetExceededError",
    "ChangeFailedError",
    "ChangesLostError",
    "ConditionalCheckFailedError",
    "ConfigurationError",
    "ConnectionFailedError",
    "CredentialsRejectedError",
    "CursorError",
    "DamagedResponseError",
    "DataError",
    "DecodeError",
    "DuplicateItemError",
    "DynamapError",
    "EncodeError",
    "ExpiredIteratorError",
    "ExpressionError",
    "IdempotentParameterMismatchError",
    "IndexNotReadyError",
    "InternalServerError",
    "ItemCollectionSizeLimitExceededError",
    "ItemDecodeError",
    "ItemExistsError",
    "ItemFailure",
    "ItemKindError",
    "ItemNotFoundError",
    "ItemTooLargeError",
    "ItemUpgradeError",
    "ItemValidationError",
    "ItemVersionError",
    "ItemsNotUpgradedError",
    "LeaseLostError",
    "LeaseTakenError",
    "LimitExceededError",
    "MigrationFailedError",
    "ModelDefinitionError",
    "MultipleItemsFoundError",
    "NoIndexError",
    "OperationError",
    "OutOfRangeError",
    "Outcome",
    "PlanHazardError",
    "PlanOutOfDateError",
    "ProvisionedThroughputExceededError",
    "RecoveryUnavailableError",
    "ReplicatedWriteConflictError",
    "RequestLimitExceededError",
    "RequestRejectedError",
    "RequestTimeoutError",
    "ResourceInUseError",
    "ResourceNotFoundError",
    "ScopeTimeoutError",
    "ServiceError",
    "SessionClosedError",
    "SessionStateError",
    "TableDifference",
    "TableError",
    "TableMismatchError",
    "TableProtectedError",
    "TableWaitTimeoutError",
    "ThrottledError",
    "TransactionCanceledError",
    "TransactionConflictError",
    "TransactionInProgressError",
    "TransportError",
    "TrimmedDataAccessError",
    "UnassignedFieldError",
    "UniqueViolationError",
    "UnknownServiceError",
    "UnprocessedError",
    "UnprojectedAttributeError",
    "UsageError",
    "VersionConflictError",
]
