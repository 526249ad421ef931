"""Which HTTP answer each error deserves; none tells of tables, keys or items."""

import pytest

from dynamap_async import DynamapError, errors
from dynamap_async.errors import (
    BatchError,
    CancellationReason,
    ConnectionFailedError,
    CursorError,
    EncodeError,
    ItemFailure,
    ItemNotFoundError,
    ItemTooLargeError,
    Outcome,
    OutOfRangeError,
    RequestTimeoutError,
    SessionClosedError,
    TransactionCanceledError,
    UniqueViolationError,
    VersionConflictError,
)
from dynamap_async.integrations.failures import TABLE, Failures, failure_of

SECRET = "secret-table-or-key"


def of_service(kind, **facts):
    error = kind(SECRET, service_code="X", operation="PutItem", table=SECRET, status=400)
    error.__dict__.update(facts)
    return error


def lost(kind, outcome):
    return kind(SECRET, outcome=outcome, operation="PutItem", table=SECRET)


def cancelled(*parts):
    reasons = tuple(
        CancellationReason(position=n, code=None if part is None else "X", error=part) for n, part in enumerate(parts)
    )
    return of_service(TransactionCanceledError, reasons=reasons)


def batch(*parts):
    return BatchError([ItemFailure(n, SECRET, part) for n, part in enumerate(parts)], total=9)


NOT_FOUND = ItemNotFoundError(SECRET, model=SECRET)
THROTTLED = of_service(errors.ThrottledError)
CONFLICT = of_service(errors.TransactionConflictError)
CHANGED = of_service(errors.ConditionalCheckFailedError)

# error -> status, code, whether there is a Retry-After, further facts
ANSWERS = {
    "not found": (NOT_FOUND, 404, "item-not-found", False, {}),
    "cursor": (CursorError(SECRET), 400, "cursor", False, {}),
    "value": (EncodeError(SECRET, path=("address", "zip")), 422, "encode", False, {"path": ["address", "zip"]}),
    "out of range": (OutOfRangeError(SECRET), 422, "out-of-range", False, {}),
    "too large": (ItemTooLargeError(SECRET, size_bytes=5, limit_bytes=4), 413, "item-too-large", False, {"path": []}),
    "condition": (CHANGED, 409, "conditional-check-failed", False, {}),
    "condition, perhaps by itself": (
        of_service(errors.ConditionalCheckFailedError, outcome_unknown=True),
        409,
        "conditional-check-failed",
        False,
        {"outcome": "unknown"},
    ),
    "version": (
        of_service(VersionConflictError, expected=3, stored=5),
        409,
        "version-conflict",
        False,
        {"expected": 3, "stored": 5},
    ),
    "unique": (
        of_service(UniqueViolationError, values={"email": SECRET}),
        409,
        "unique-violation",
        False,
        {"fields": ["email"]},
    ),
    "exists": (of_service(errors.ItemExistsError), 409, "item-exists", False, {}),
    "duplicate": (of_service(errors.DuplicateItemError), 409, "duplicate-item", False, {}),
    "contended": (CONFLICT, 409, "transaction-conflict", True, {}),
    "in progress": (of_service(errors.TransactionInProgressError), 409, "transaction-in-progress", True, {}),
    "token": (
        of_service(errors.IdempotentParameterMismatchError),
        422,
        "idempotent-parameter-mismatch",
        False,
        {},
    ),
    "throttled": (THROTTLED, 503, "throttled", True, {}),
    "left over": (of_service(errors.UnprocessedError), 503, "unprocessed", True, {}),
    "their failure": (of_service(errors.InternalServerError), 503, "internal-server", True, {}),
    "not sent": (
        lost(ConnectionFailedError, Outcome.NOT_SENT),
        503,
        "connection-failed",
        True,
        {"outcome": "not sent"},
    ),
    "lost": (lost(ConnectionFailedError, Outcome.UNKNOWN), 503, "connection-failed", False, {"outcome": "unknown"}),
    "slow": (lost(RequestTimeoutError, Outcome.UNKNOWN), 504, "request-timeout", False, {"outcome": "unknown"}),
    "closed": (SessionClosedError(SECRET), 503, "session-closed", True, {}),
    "transaction, condition first": (cancelled(CHANGED, None, THROTTLED), 409, "conditional-check-failed", False, {}),
    "transaction, throttled": (cancelled(None, THROTTLED), 503, "throttled", True, {}),
    "transaction, contended": (cancelled(CONFLICT), 409, "transaction-conflict", True, {}),
    "task group": (
        ExceptionGroup("x", [NOT_FOUND, ExceptionGroup("y", [THROTTLED, CHANGED])]),
        409,
        "conditional-check-failed",
        False,
        {},
    ),
    "many": (batch(NOT_FOUND, THROTTLED, CHANGED), 409, "conditional-check-failed", False, {}),
}


@pytest.mark.parametrize(("error", "status", "code", "again", "facts"), ANSWERS.values(), ids=ANSWERS)
def test_an_error_is_answered_by_its_meaning(error, status, code, again, facts):
    failure = failure_of(error)
    assert (failure.status, failure.code, failure.again) == (status, code, again)
    assert failure.body() == {"detail": failure.detail, "code": code, **facts}
    assert failure.headers(0.2) == ({"Retry-After": "1"} if again else {})
    assert failure.headers(2.5) == ({"Retry-After": "3"} if again else {})
    assert SECRET not in str(failure.body())


FAULTS = {
    "program": errors.OperationError("x"),
    "definition": errors.ModelDefinitionError("x", model="x"),
    "stored item": errors.DecodeError("x"),
    "permissions": of_service(errors.AccessDeniedError),
    "no table": of_service(errors.ResourceNotFoundError),
    "refused": of_service(errors.RequestRejectedError),
    "unknown": of_service(errors.UnknownServiceError),
    "two found": errors.MultipleItemsFoundError("x", model="x"),
    "not ours": RuntimeError("x"),
    "transaction with a fault": cancelled(CHANGED, of_service(errors.RequestRejectedError)),
    "transaction without reasons": cancelled(),
    "task group with a fault": ExceptionGroup("x", [NOT_FOUND, RuntimeError("x")]),
    "many with a fault": batch(NOT_FOUND, RuntimeError("x")),
}


@pytest.mark.parametrize("error", FAULTS.values(), ids=FAULTS)
def test_a_fault_of_the_program_is_no_answer_to_a_client(error):
    assert failure_of(error) is None


# Wrong programs, missing tables and permissions, stored items that nobody can read, what is made of several parts; and
# what a repetition would do twice, or nobody does in a handler: hooks that failed after a write, migrations and leases.
NOT_IN_THE_TABLE = """
    AccessDeniedError AfterWriteError AmbiguousIndexError BatchError ChangeFailedError ChangesLostError
    ConfigurationError CredentialsRejectedError DataError DecodeError ExpiredIteratorError ExpressionError
    IndexNotReadyError ItemCollectionSizeLimitExceededError ItemDecodeError ItemKindError ItemUpgradeError
    ItemValidationError ItemVersionError ItemsNotUpgradedError LeaseLostError LeaseTakenError MigrationFailedError
    ModelDefinitionError MultipleItemsFoundError NoIndexError OperationError PlanHazardError PlanOutOfDateError
    RecoveryUnavailableError RequestRejectedError ResourceInUseError ResourceNotFoundError ServiceError
    SessionStateError TableError TableMismatchError TableProtectedError TableWaitTimeoutError TransactionCanceledError
    TrimmedDataAccessError UnassignedFieldError UnknownServiceError UnprojectedAttributeError UsageError
"""


def test_every_error_of_the_library_was_thought_of():
    kinds = [getattr(errors, name) for name in errors.__all__]
    answered = tuple(kind for kind, *_ in TABLE)
    unanswered = {kind.__name__ for kind in kinds if issubclass(kind, DynamapError) and not issubclass(kind, answered)}
    assert unanswered - {"DynamapError"} == set(NOT_IN_THE_TABLE.split())


@pytest.fixture
def logged(caplog):
    """Return the failures of an application, its clock, and what it has logged."""
    now = [100.0]
    caplog.set_level("WARNING", "dynamap_async")
    return Failures(clock=lambda: now[0]), now, caplog


DOWN = lost(ConnectionFailedError, Outcome.NOT_SENT)


def test_answer_of_the_service_s_own_fault_is_logged_with_the_error_and_what_was_asked(logged):
    failures, _, log = logged
    assert failures.of(DOWN, "GET /notes/{id}") == failure_of(DOWN)
    [record] = log.records
    assert (record.name, record.levelname) == ("dynamap_async", "WARNING")
    assert record.getMessage() == f"'GET /notes/{{id}}' was answered with 503: ConnectionFailedError: {DOWN}"


@pytest.mark.parametrize("error", [NOT_FOUND, CHANGED, CursorError(SECRET), errors.OperationError("x")])
def test_answer_that_the_client_has_to_act_on_and_a_fault_of_the_program_are_not_logged(logged, error):
    failures, _, log = logged
    assert failures.of(error, "GET /") == failure_of(error)
    assert log.records == []


def test_each_kind_of_error_is_logged_once_in_ten_seconds_with_the_number_of_the_others(logged):
    failures, now, log = logged
    for _ in range(3):
        failures.of(DOWN, "GET /")
        failures.of(THROTTLED, "GET /")
    assert [record.args[2] for record in log.records] == ["ConnectionFailedError", "ThrottledError"]
    now[0] += 9.9
    failures.of(DOWN, "GET /")
    assert len(log.records) == 2
    now[0] += 0.1
    failures.of(DOWN, "GET /")
    assert log.records[2].getMessage().endswith("; 3 more were answered so since the last warning")
    now[0] += 10
    failures.of(DOWN, "GET /")
    assert "more" not in log.records[3].getMessage()


def test_line_in_the_log_names_the_part_of_a_group_that_decides_the_answer(logged):
    failures, _, log = logged
    failures.of(ExceptionGroup("x", [ExceptionGroup("y", [DOWN, THROTTLED])]), "GET /")
    assert [record.args[2] for record in log.records] == ["ConnectionFailedError"]


def test_path_that_a_client_chose_begins_no_line_of_its_own_in_the_log(logged):
    failures, _, log = logged
    failures.of(DOWN, "GET /\nERROR:root:forged")
    assert "\n" not in log.records[0].getMessage()
