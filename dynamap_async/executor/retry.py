"""Retries: which failures are worth another attempt, how long to wait before it, and what each request is told.

Invariant: a request is sent again only if that cannot change what one sending would have done, except where the
service says so itself (a resent write may overwrite another writer's later value, as with every AWS SDK). The error of
a request is its own instance, and names the operation and table that were asked for, not those of its batch. A request
that nobody waits for any more leaves its backoff at once, so that it delays nobody; nobody waits past its own deadline;
no timer is left when the session closes.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import Context
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

import anyio

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
    TransactionCanceledError,
    TransportError,
    UnprocessedError,
)
from dynamap_async.executor.accounts import OUT_OF_REQUESTS
from dynamap_async.executor.calls import Pending, Sending, own_instance
from dynamap_async.request import Request
from dynamap_async.wire import Body

Failure = tuple[Sending, ServiceError | TransportError]

TOO_LATE: Final = "not sent again: DynamoDB may have forgotten the client request token, and would do it twice"
"""The note of an error after which nothing is sent again, for a token holds for ten minutes."""


MUTE_SECONDS: Final = 60.0
"""So long after its first attempt, a request that times out is not sent again: two attempts of 30 s each."""


class Retries:
    """A session's policy and budget of retries."""

    def __init__(
        self,
        policy: RetryPolicy,
        *,
        jitter: Callable[[], float] = random.random,
        retried: Callable[[Iterable[Failure], float], None] = lambda failed, delay_seconds: None,
    ) -> None:
        """Begin with a full budget.

        Args:
            policy: how often, and how long to wait in between.
            jitter: draws from [0, 1).
            retried: called with requests that failed together, and in how many seconds they are sent again.
        """
        self.policy: Final = policy
        self.retried: Final = retried
        self._jitter: Final = jitter
        self._budget = policy.budget

    def note(self, sending: Sending, error: ServiceError | TransportError) -> None:
        """Write into the error what earlier attempts mean for it, and into ``sending`` what it means for later ones."""
        error.attempts = sending.attempts
        sending.outcome_unknown = sending.outcome_unknown or _may_have_written(sending.request, error)
        if _is_final(sending.request, error):
            sending.outcome_unknown = False
        if isinstance(error, ServiceError):
            error.outcome_unknown = sending.outcome_unknown
        elif sending.outcome_unknown:
            error.outcome = Outcome.UNKNOWN
        if sending.outcome_unknown and not sending.request.resendable and sending.request.write_id is not None:
            sending.lost, sending.request = error, _asks_for_item(sending.request)

    def worth_another(self, error: ServiceError | TransportError, sending: Sending) -> bool:
        """Return whether sending again can succeed, and cannot do what sending once would not have done."""
        if sending.outcome_unknown and not sending.request.resendable:
            return False
        return error.retryable and not _has_been_mute(sending, error)

    def take(self) -> bool:
        """Take a retry from the budget; tell whether there was one."""
        if self._budget < 1:
            return False
        self._budget -= 1
        return True

    def succeeded(self, attempts: int) -> None:
        """Pay into the budget for an answer that came at this attempt."""
        if self._budget < self.policy.budget:
            self._budget = min(self.policy.budget, self._budget + (1.0 if attempts > 1 else 0.2))

    def delay(self, attempts: int) -> float:
        """Draw how long to wait, in seconds, after this many attempts."""
        return self.policy.longest_delay(attempts) * self._jitter()


async def send_with_retries(send: Callable[[Sending], Awaitable[Body]], sending: Sending, retries: Retries) -> Body:
    """Send a request until it is answered, fails for good, or the policy or the caller's deadline is spent.

    Args:
        send: sends once.
        sending: what to send; kept up to date on the way.
        retries: what is sent again, and when.

    Raises:
        ServiceError: DynamoDB's last answer; ``attempts`` says how often it was asked.
        TransportError: no answer came; ``outcome`` says whether the request can have been carried out.
    """
    while True:
        sending.begin_attempt()
        try:
            answer = await send(sending)
        except (ServiceError, TransportError) as error:
            sending.on_the_wire = False
            retries.note(sending, error)
            if not retries.worth_another(error, sending):
                raise
            delay = retries.delay(sending.attempts)
            if note := _not_sent_again(sending, retries, anyio.current_time() + delay):
                error.add_note(note)
                raise
            retries.retried([(sending, error)], delay)
        else:
            retries.succeeded(sending.attempts)
            return answer
        await anyio.sleep(delay)


def _not_sent_again(sending: Sending, retries: Retries, at: float) -> str | None:
    """Return why a request that is worth another attempt gets none at this time; None takes a retry from the budget."""
    if sending.attempts >= retries.policy.max_attempts:
        return f"not sent again: {sending.attempts} attempts are all that RetryPolicy allows"
    if at > min(anyio.current_effective_deadline(), sending.deadline):
        return "not sent again: the caller's deadline is too near"
    if sending.is_too_late(at):
        return TOO_LATE
    if sending.out_of_requests:
        return OUT_OF_REQUESTS
    return None if retries.take() else "not sent again: the session's retry budget is spent"


def _has_been_mute(sending: Sending, error: ServiceError | TransportError) -> bool:
    """Return whether a request has timed out for so long that another attempt is not worth the time.

    One with a client request token goes on as long as that holds: to learn its outcome is what the token is for.
    """
    by_token = sending.request.resendable_seconds is not None
    if by_token or not isinstance(error, RequestTimeoutError) or sending.first_sent is None:
        return False
    return anyio.current_time() - sending.first_sent >= MUTE_SECONDS


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


def recognised(sending: Sending, error: ServiceError | TransportError) -> Body | None:
    """Return the answer to a write that an earlier attempt carried out, as the stored item shows; None if it does not.

    Only after an unknown outcome: before, nothing of this write can be stored.
    """
    write_id = sending.request.write_id
    if write_id is None or not sending.outcome_unknown or not isinstance(error, ConditionalCheckFailedError):
        return None
    return write_id.answer(error.wire_item)


def unrecognised(sending: Sending, error: ServiceError | TransportError) -> ServiceError | TransportError:
    """Return the error of a write after its last attempt: where that only asked for the item, the one before it."""
    write_id = sending.request.write_id
    if write_id is None or not isinstance(error, ConditionalCheckFailedError) or not error.outcome_unknown:
        return error
    found = "there is no item now" if error.wire_item is None else "the stored item was last written by another write"
    lost = error if sending.lost is None else sending.lost
    lost.attempts = error.attempts
    lost.add_note(f"{found}: whether this one was done before cannot be known")
    return lost


def given_up(sending: Sending) -> SessionClosedError | ConnectionFailedError:
    """Return the error of a request that was cancelled because the session closed."""
    request = sending.request
    if not request.writes:
        return SessionClosedError(f"the session was closed while {request.operation} on {request.table} was under way")
    error = ConnectionFailedError(
        f"the session was closed before {request.operation} on {request.table} was answered ({sending.outcome.value}); "
        "close it after the last write, or raise close_timeout_seconds",
        outcome=sending.outcome,
        operation=request.operation,
        table=request.table,
    )
    error.attempts = sending.attempts
    return error


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


Failed = tuple[Pending, ServiceError | TransportError]


class Backoffs:
    """The backoffs of a session's reads or writes."""

    def __init__(
        self, retries: Retries, resume: Callable[[Sequence[Pending]], None], close_one: Callable[[Pending], None]
    ) -> None:
        """Begin with none.

        Args:
            retries: how often and how late something is sent again.
            resume: takes the requests whose backoff is over.
            close_one: takes a request that is given up, or that nobody waits for any more.
        """
        self._retries: Final = retries
        self._resume: Final = resume
        self._close_one: Final = close_one
        self._waiting: dict[Pending, int] = {}
        """Requests, each with the number of its backoff."""
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._begun = 0

    def begin(self, failed: Sequence[Failed]) -> None:
        """Let requests that failed together wait together, or give them up, each with its own error."""
        waiting: list[Failed] = []
        for pending, error in failed:
            if pending.attempts < self._retries.policy.max_attempts:
                waiting.append((pending, error))
            else:
                error.add_note(f"not sent again: {pending.attempts} attempts are all that RetryPolicy allows")
                self._give_up(pending, error)
        if waiting and not self._retries.take():
            for pending, error in waiting:
                error.add_note("not sent again: the session's retry budget is spent")
                self._give_up(pending, error)
        elif waiting:
            self._wait(waiting, self._retries.delay(max(pending.attempts for pending, _ in waiting)))

    def withdraw(self, pending: Pending) -> None:
        """Take a request that nobody waits for any more out of its backoff, if it is in one."""
        if self._waiting.pop(pending, None) is not None:
            self._close_one(pending)

    def clear(self) -> None:
        """Forget everything, and stop the timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._waiting.clear()

    def _give_up(self, pending: Pending, error: Exception) -> None:
        pending.fail(error)
        self._close_one(pending)

    def _wait(self, failed: Sequence[Failed], delay: float) -> None:
        loop = asyncio.get_running_loop()
        self._begun += 1
        begun: list[Failed] = []
        for pending, error in failed:
            if pending.is_too_late(loop.time() + delay):
                error.add_note(TOO_LATE)
                pending.fail(error)
            pending.fail_those_due(loop.time() + delay, error)
            pending.fail_those_out_of_requests(error)
            if not pending.wanted:
                self._close_one(pending)
                continue
            self._waiting[pending] = self._begun
            begun.append((pending, error))
        self._retries.retried(begun, delay)
        end = partial(self._end, self._begun, [pending for pending, _ in failed])
        self._timers[self._begun] = loop.call_later(delay, end, context=Context())

    def _end(self, number: int, batch: Sequence[Pending]) -> None:
        del self._timers[number]
        due = [pending for pending in batch if self._waiting.get(pending) == number]
        for pending in due:
            del self._waiting[pending]
        self._resume(due)
