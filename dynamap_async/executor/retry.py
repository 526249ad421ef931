"""Retries: which failures are worth another attempt, how long to wait before it, and what each request is told.

Invariant: a request is sent again only if that cannot change what one call would have done, except where the
service says so itself (a resent write may overwrite another writer's later value, as with every AWS SDK). The error of
a request is its own instance, and names the operation and table that were asked for, not those of its batch.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from dynamap_async.config import RetryPolicy
from dynamap_async.errors import (
    AccessDeniedError,
    ConditionalCheckFailedError,
    ConnectionFailedError,
    CredentialsRejectedError,
    DamagedResponseError,
    InternalServerError,
    Outcome,
    RequestTimeoutError,
    ResourceNotFoundError,
    ServiceError,
    SessionClosedError,
    ThrottledError,
    TransactionCanceledError,
    TransportError,
    UnprocessedError,
)
from dynamap_async.executor.calls import Call, FailedCall, own_instance
from dynamap_async.request import Request
from dynamap_async.wire import Body

TOO_LATE: Final = "not sent again: DynamoDB may have forgotten the client request token, and would then do it twice"
"""The note of an error after which nothing is sent again, for a token holds for ten minutes."""
BUDGET_USED_UP: Final = "not sent again: the session's retry budget is used up"
"""The note of an error after which nothing is sent again, because too many requests were sent again of late."""

MUTE_SECONDS: Final = 60.0
"""So long after its first attempt, a request that times out is not sent again: two attempts of 30 s each."""


class Retries:
    """A session's policy and budget of retries."""

    def __init__(
        self,
        policy: RetryPolicy,
        *,
        jitter: Callable[[], float] = random.random,
        retried: Callable[[Iterable[FailedCall], float], None] = lambda failed, delay_seconds: None,
        holds: Callable[[Request], bool] = lambda request: False,
        delivers: Callable[[Request, float], bool] = lambda request, seconds: False,
    ) -> None:
        """Create them with a full budget.

        Args:
            policy: how often, and how long to wait in between.
            jitter: draws from [0, 1).
            retried: called with requests that failed together, and in how many seconds they are sent again.
            holds: tells whether a request that is refused waits for units after its backoff.
            delivers: tells whether the tables of a request served anything in the last so many seconds.
        """
        self._holds: Final = holds
        self._delivers: Final = delivers
        self.policy: Final = policy
        self.retried: Final = retried
        self._jitter: Final = jitter
        self._budget = policy.budget

    def note(self, call: Call, error: ServiceError | TransportError) -> None:
        """Write into the error what earlier attempts mean for it, and into ``call`` what it means for later ones."""
        error.attempts = call.attempts
        call.note_failure(
            waited=_is_refusal(error) and self._delivers(call.request, self.policy.max_delay_seconds),
            may_have_written=_may_have_written(call.request, error),
            is_final=_is_final(call.request, error),
        )
        if isinstance(error, ServiceError):
            error.outcome_unknown = call.outcome_unknown
        elif call.outcome_unknown:
            error.outcome = Outcome.UNKNOWN
        if call.outcome_unknown and not call.request.resendable and call.request.write_id is not None:
            call.ask_instead(error, _asks_for_item(call.request))

    def worth_another(self, error: ServiceError | TransportError, call: Call) -> bool:
        """Return whether sending again can succeed, and cannot do what sending once would not have done."""
        if call.outcome_unknown and not call.request.resendable:
            return False
        return error.retryable and not _has_been_mute(call, error)

    def used_up(self, call: Call) -> bool:
        """Return whether a call has had all of its attempts."""
        most = self.policy.max_attempts
        return most == 1 or call.attempts - call.uncounted >= most

    def take(self, failed: Iterable[FailedCall]) -> bool:
        """Take a retry from the budget, of which what only waits for units needs none; return whether there was one."""
        if all(_is_refusal(error) and (call.uncounted or self._holds(call.request)) for call, error in failed):
            return True
        if self._budget < 1:
            return False
        self._budget -= 1
        return True

    def succeeded(self, attempts: int) -> None:
        """Pay into the budget for an answer that came at this attempt."""
        if self._budget < self.policy.budget:
            self._budget = min(self.policy.budget, self._budget + (1.0 if attempts > 1 else 0.2))

    def last_attempt(self, call: Call) -> str:
        """Return the note of an error after the last attempt that is allowed."""
        allowed = f"RetryPolicy(max_attempts={self.policy.max_attempts})"
        return f"not sent again: this was attempt {call.attempts}, the last that {allowed} allows"

    def attempts_for_delay(self, calls: Sequence[Call]) -> int:
        """Return after how many attempts of calls that failed together the next one is put off.

        A refusal for want of capacity that uses up no attempt makes no later wait longer either: it is for the pace to
        slow down whoever asks for too much. Beside clients that give up and begin anew, one whose waits only grew
        would get nothing.
        """
        return max([max(1, call.attempts - call.uncounted) for call in calls])

    def delay(self, attempts: int) -> float:
        """Draw how long to wait, in seconds, after this many attempts."""
        return self.policy.longest_delay(attempts) * self._jitter()


def attempts_in_turn(policy: RetryPolicy, attempts: int) -> int:
    """Return after how many attempts the longest wait for units is, if refusals have used up none: it begins anew."""
    return (attempts - 1) % policy.max_attempts + 1


def _has_been_mute(call: Call, error: ServiceError | TransportError) -> bool:
    """Return whether a request has timed out for so long that another attempt is not worth the time.

    One with a client request token goes on as long as that holds: to learn its outcome is what the token is for.
    """
    by_token = call.request.resendable_seconds is not None
    if by_token or not isinstance(error, RequestTimeoutError) or call.first_sent is None:
        return False
    return asyncio.get_running_loop().time() - call.first_sent >= MUTE_SECONDS


def _is_refusal(error: ServiceError | TransportError) -> bool:
    """Return whether a request was refused for want of capacity that may come, not of one partition that is too hot."""
    if isinstance(error, ThrottledError):
        return not (error.reasons and all("KeyRange" in reason for reason in error.reasons))
    return isinstance(error, UnprocessedError)


def _may_have_written(request: Request, error: ServiceError | TransportError) -> bool:
    if not request.writes:
        return False
    if isinstance(error, TransportError):
        return error.outcome is Outcome.UNKNOWN
    return isinstance(error, InternalServerError)


def _is_final(request: Request, error: ServiceError | TransportError) -> bool:
    """Return whether the answer speaks for all earlier attempts too: with a token, one that had written succeeds."""
    by_token = request.resendable_seconds is not None
    return by_token and isinstance(error, TransactionCanceledError) and not error.retryable


def _asks_for_item(request: Request) -> Request:
    """Return what is sent in place of an update that must not be done twice: its answer is the item that is stored.

    It is an update too, whose condition holds of no item: allowed to whoever may update, counted in the same units, and
    in its turn among the writes of the item. So a failed condition brings back the item here as elsewhere.
    """
    [key, *_] = request.body["Key"]
    body = {
        "TableName": request.body["TableName"],
        "Key": request.body["Key"],
        "ConditionExpression": "attribute_exists(#k) AND attribute_not_exists(#k)",
        "ExpressionAttributeNames": {"#k": key},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return replace(request, body=body, conditional=True, resendable=True)


def recognised(call: Call, error: ServiceError | TransportError) -> Body | None:
    """Return the answer to a write that an earlier attempt carried out, as the stored item shows; None if it does not.

    Only after an unknown outcome: before, nothing of this write can be stored.
    """
    write_id = call.request.write_id
    if write_id is None or not call.outcome_unknown or not isinstance(error, ConditionalCheckFailedError):
        return None
    return write_id.answer(error.wire_item)


def unrecognised(call: Call, error: ServiceError | TransportError) -> ServiceError | TransportError:
    """Return the error of a write after its last attempt: where that only asked for the item, the one before it."""
    write_id = call.request.write_id
    if write_id is None or not isinstance(error, ConditionalCheckFailedError) or not error.outcome_unknown:
        return error
    found = "there is no item now" if error.wire_item is None else "the stored item was last written by another write"
    lost = error if call.lost is None else call.lost
    lost.attempts = error.attempts
    lost.add_note(f"{found}: it is unknown whether this write was done before")
    return lost


def given_up(call: Call) -> SessionClosedError | ConnectionFailedError:
    """Return the error of a request that was cancelled because the session closed."""
    request = call.request
    if not request.writes:
        return SessionClosedError(f"the session was closed while {request.operation} on {request.table} was under way")
    error = ConnectionFailedError(
        f"the session was closed before {request.operation} on {request.table} was answered ({call.outcome.value}); "
        "close it after the last write, or raise close_timeout_seconds",
        outcome=call.outcome,
        operation=request.operation,
        table=request.table,
    )
    error.attempts = call.attempts
    return error


F = TypeVar("F", bound=ServiceError | TransportError)


def own_failure(retries: Retries, call: Call, error: F) -> F:
    """Return a request's own instance of the error of its batch, with what the request's earlier attempts mean."""
    own = own_instance(error)
    own.operation, own.table = call.request.operation, call.request.table
    retries.note(call, own)
    return own


def refuses_some(error: ServiceError | TransportError) -> bool:
    """Return whether some items of a batch that failed may be accepted, or answered, without the others."""
    if isinstance(error, DamagedResponseError) and not error.retryable:
        return True  # the answer was too large, which that to fewer items is not
    if error.retryable or isinstance(error, CredentialsRejectedError | TransportError):
        return False
    # An error of DynamoDB itself says nothing about items, and splitting would multiply it.
    return 400 <= error.status < 500


def refused_by_name(error: Exception) -> bool:
    """Return whether the refusal is about tables and permissions, so that items alone may be accepted."""
    return isinstance(error, AccessDeniedError | ResourceNotFoundError)


def unprocessed(call: Call) -> UnprocessedError:
    """Return the error of a request that a batch call left out for want of capacity."""
    request = call.request
    return UnprocessedError(
        f"DynamoDB left this item of {request.table} out of a batch, because its capacity was used up. Send less at a "
        "time, or raise the table's capacity.",
        service_code="Unprocessed",
        operation=request.operation,
        table=request.table,
        status=200,
    )


def interrupted(call: Call) -> ConnectionFailedError:
    """Return the error of a request whose task was cancelled from outside of this library."""
    request = call.request
    error = ConnectionFailedError(
        f"the task that carried {request.operation} on {request.table} was cancelled by somebody who did not wait for "
        f"it ({call.outcome.value}); cancel only your own tasks",
        outcome=call.outcome,
        operation=request.operation,
        table=request.table,
    )
    error.attempts = call.attempts
    return error
