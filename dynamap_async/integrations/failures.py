"""Failures: which HTTP answer each error of the library deserves. Both web integrations answer by this one table.

The texts are fixed: an error's own message may name tables, keys and stored items, which are nobody's business outside.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from math import ceil
from time import monotonic
from typing import Any, Final, cast

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import (
    BatchError,
    CapacityBudgetExceededError,
    ConditionalCheckFailedError,
    CursorError,
    DuplicateItemError,
    EncodeError,
    IdempotentParameterMismatchError,
    InternalServerError,
    ItemExistsError,
    ItemNotFoundError,
    ItemTooLargeError,
    LimitExceededError,
    Outcome,
    OutOfRangeError,
    ReplicatedWriteConflictError,
    RequestTimeoutError,
    ScopeTimeoutError,
    SessionClosedError,
    ThrottledError,
    TransactionCanceledError,
    TransactionConflictError,
    TransactionInProgressError,
    TransportError,
    UniqueViolationError,
    VersionConflictError,
)

__all__ = ["Failure", "Failures", "failure_of"]

logger: logging.Logger = logging.getLogger("dynamap_async")
_LOGGED_EVERY_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The HTTP answer to an error."""

    status: int
    """The HTTP status."""
    code: str
    """The error's stable name, such as ``item-not-found``."""
    detail: str
    """One sentence for people; it names no table, key or item."""
    again: bool = False
    """Whether the same request may succeed a little later, so that the answer has a Retry-After."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else a client can act on, by name."""
    cause: BaseException | None = field(default=None, compare=False, repr=False)
    """The error that decided: of several, the gravest. It is for logs, and none of the client's business."""

    def body(self) -> dict[str, Any]:
        """Return the answer's JSON object."""
        return {"detail": self.detail, "code": self.code, **self.facts}

    def headers(self, retry_after_seconds: float) -> dict[str, str]:
        """Return the answer's headers beside those of its body.

        Args:
            retry_after_seconds: what Retry-After says, where the answer has one; it is rounded up.
        """
        return {"Retry-After": str(max(1, ceil(retry_after_seconds)))} if self.again else {}


Entry = tuple[type[BaseException], int, str]
_CHANGED: Final = "The item is not as the request expects it."
_EXISTS: Final = "The item exists already."
_BUSY: Final = "The service is busy; try again."
_CONTENDED: Final = "The item is being changed by somebody else; try again."
TABLE: Final[tuple[Entry, ...]] = (
    (ItemNotFoundError, 404, "The item does not exist."),
    (CursorError, 400, "The cursor is damaged, or belongs to another query; begin without it."),
    (ItemTooLargeError, 413, "The item is too large to be stored."),
    (EncodeError, 422, "A value cannot be stored."),
    (OutOfRangeError, 422, "A number is out of range, or too much is asked at once."),
    (VersionConflictError, 409, "The item was changed meanwhile; read it again."),
    (ItemExistsError, 409, _EXISTS),
    (ConditionalCheckFailedError, 409, _CHANGED),
    (DuplicateItemError, 409, _EXISTS),
    (UniqueViolationError, 409, "Another item has this value already."),
    (TransactionConflictError, 409, _CONTENDED),
    (ReplicatedWriteConflictError, 409, _CONTENDED),
    (TransactionInProgressError, 409, "The same request is being carried out already."),
    (IdempotentParameterMismatchError, 422, "The idempotency token was used for another request."),
    (CapacityBudgetExceededError, 422, "The request needs more of the database than it may take; ask for less."),
    (ThrottledError, 503, _BUSY),
    (LimitExceededError, 503, _BUSY),
    (InternalServerError, 503, "The database failed; try again."),
    (ScopeTimeoutError, 504, "The request took too long."),
    (RequestTimeoutError, 504, "The database did not answer in time."),
    (TransportError, 503, "The database cannot be reached."),
    (SessionClosedError, 503, "The service is being shut down; try again."),
)
"""The first class that an error is of decides. What is of none is the program's own fault."""
_AGAIN: Final = (
    InternalServerError,
    LimitExceededError,
    ReplicatedWriteConflictError,
    SessionClosedError,
    ThrottledError,
    TransactionConflictError,
    TransactionInProgressError,
)


def failure_of(error: BaseException) -> Failure | None:
    """Return the HTTP answer that an error deserves; None for a fault of the program, which is none of the client's.

    A transaction, a call about many items, and the exception group of a task group are answered as their gravest part:
    before all one that will not get better by itself, then the one with the highest status.

    Args:
        error: what a web request ended in.
    """
    if isinstance(error, TransactionCanceledError):
        return _gravest(reason.error for reason in error.failures)
    if isinstance(error, BatchError):
        return _gravest(failure.error for failure in error.failures)
    if isinstance(error, BaseExceptionGroup):
        return _gravest(cast("BaseExceptionGroup[BaseException]", error).exceptions)
    for kind, status, detail in TABLE:
        if isinstance(error, kind):
            again, facts = _may_succeed_later(error), _facts(error)
            return Failure(status=status, code=_code(error), detail=detail, again=again, facts=facts, cause=error)
    return None


class Failures:
    """Finds the HTTP answers of one application's errors, and logs those of status 500 and above.

    For each kind of error there is one warning in 10 seconds, with the number of those that were left out: a database
    that is down fails every request. All others are the client's to act on.

    Args:
        clock: gives the time in seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock: Final = clock
        self._logged: dict[str, tuple[float, int]] = {}
        """Kind of error -> when it was logged last, and how many answers were not logged since."""

    def of(self, error: BaseException, asked: str) -> Failure | None:
        """Return the HTTP answer that an error deserves, as ``failure_of`` does, and log it.

        Args:
            error: what a web request ended in.
            asked: the web request, such as ``GET /notes/{id}``.
        """
        failure = failure_of(error)
        if failure is not None and failure.status >= 500:
            self._log(failure, asked)
        return failure

    def _log(self, failure: Failure, asked: str) -> None:
        now, kind, error = self._clock(), failure.code, failure.cause
        last, left_out = self._logged.get(kind, (None, 0))
        if last is not None and now - last < _LOGGED_EVERY_SECONDS:
            self._logged[kind] = (last, left_out + 1)
            return
        self._logged[kind] = (now, 0)
        more = f"; {left_out:,} more were answered so since the last warning" if left_out else ""
        logger.warning("%r was answered with %d: %s: %s%s", asked, failure.status, type(error).__name__, error, more)


def _gravest(errors: Iterable[BaseException | None]) -> Failure | None:
    answers = [None if error is None else failure_of(error) for error in errors]
    known = [answer for answer in answers if answer is not None]
    if len(known) < len(answers):
        return None  # a part is the program's fault
    # One part that cannot succeed is enough for the whole to fail again.
    return max(known, key=lambda answer: (not answer.again, answer.status), default=None)


def _code(error: BaseException) -> str:
    code: str = getattr(error, "code", "error")
    return code


def _may_succeed_later(error: BaseException) -> bool:
    if isinstance(error, TransportError):
        return error.outcome is Outcome.NOT_SENT  # otherwise it may have been done, and only the client knows the rest
    return isinstance(error, _AGAIN)


def _facts(error: BaseException) -> dict[str, Any]:
    """Return the facts that a client can act on; keys and values of items are never among them."""
    if isinstance(error, EncodeError):
        return {"path": list(error.path)}
    if isinstance(error, VersionConflictError):
        return {"expected": error.expected, "stored": error.stored}
    if isinstance(error, UniqueViolationError):
        return {"fields": list(error.fields)}
    if isinstance(error, TransportError):
        return {"outcome": error.outcome.value}
    return {"outcome": Outcome.UNKNOWN.value} if getattr(error, "outcome_unknown", False) else {}
