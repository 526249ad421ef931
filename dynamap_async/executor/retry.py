"""Retries: which failures are worth another attempt, and how long to wait before it.

Invariant: a request is sent again only if that cannot change what one sending would have done, except where the
service says so itself (a resent write may overwrite another writer's later value, as with every AWS SDK).
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import anyio

from dynamap_async.config import RetryPolicy
from dynamap_async.errors import (
    ConnectionFailedError,
    InternalServerError,
    Outcome,
    ServiceError,
    SessionClosedError,
    TransportError,
)
from dynamap_async.request import Request
from dynamap_async.wire import Body

logger: logging.Logger = logging.getLogger("dynamap_async")


@dataclass(slots=True, eq=False)
class Sending:
    """A request on its way: what is known so far, for whoever has to give it up."""

    request: Request
    attempts: int = 0
    """How often it was put on the wire."""
    on_the_wire: bool = False
    """Whether an attempt is under way now, and not a wait for a slot or between two attempts."""
    outcome_unknown: bool = False
    """Whether an earlier attempt may have written without an answer."""

    @property
    def outcome(self) -> Outcome:
        """What is known of a request that is given up now."""
        return Outcome.UNKNOWN if self.on_the_wire or self.outcome_unknown else Outcome.NOT_SENT


class Retries:
    """A session's policy and budget of retries."""

    def __init__(self, policy: RetryPolicy, *, jitter: Callable[[], float] = random.random) -> None:
        """Begin with a full budget.

        Args:
            policy: how often, and how long to wait in between.
            jitter: draws from [0, 1).
        """
        self.policy: Final = policy
        self._jitter: Final = jitter
        self._budget = policy.budget

    def note(self, sending: Sending, error: ServiceError | TransportError) -> None:
        """Write into the error what earlier attempts mean for it, and into ``sending`` what it means for later ones."""
        error.attempts = sending.attempts
        sending.outcome_unknown = sending.outcome_unknown or _may_have_written(sending.request, error)
        if isinstance(error, ServiceError):
            error.outcome_unknown = sending.outcome_unknown
        elif sending.outcome_unknown:
            error.outcome = Outcome.UNKNOWN

    def worth_another(self, error: ServiceError | TransportError, sending: Sending) -> bool:
        """Return whether sending again can succeed, and cannot do what sending once would not have done."""
        if sending.outcome_unknown and not sending.request.resendable:
            return False
        return isinstance(error, TransportError) or error.retryable

    def take(self) -> bool:
        """Take a retry from the budget; tell whether there was one."""
        if self._budget < 1:
            return False
        self._budget -= 1
        return True

    def succeeded(self, attempts: int) -> None:
        """Pay into the budget for an answer that came at this attempt."""
        self._budget = min(self.policy.budget, self._budget + (1.0 if attempts > 1 else 0.2))

    def delay(self, attempts: int) -> float:
        """Draw how long to wait, in seconds, after this many attempts."""
        return self.policy.longest_delay(attempts) * self._jitter()


async def send_with_retries(send: Callable[[Request], Awaitable[Body]], sending: Sending, retries: Retries) -> Body:
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
        sending.attempts += 1
        try:
            answer = await send(sending.request)
        except (ServiceError, TransportError) as error:
            sending.on_the_wire = False
            retries.note(sending, error)
            if not retries.worth_another(error, sending):
                raise
            if sending.attempts >= retries.policy.max_attempts:
                error.add_note(f"not sent again: {sending.attempts} attempts are all that RetryPolicy allows")
                raise
            delay = retries.delay(sending.attempts)
            if anyio.current_time() + delay > anyio.current_effective_deadline():
                error.add_note("not sent again: the caller's deadline is too near")
                raise
            if not retries.take():
                error.add_note("not sent again: the session's retry budget is spent")
                raise
            logger.debug(
                "%s on %s failed (%s), attempt %d; again in %.3f s",
                sending.request.operation,
                sending.request.table,
                type(error).__name__,
                sending.attempts,
                delay,
            )
        else:
            retries.succeeded(sending.attempts)
            return answer
        await anyio.sleep(delay)


def _may_have_written(request: Request, error: ServiceError | TransportError) -> bool:
    if not request.writes:
        return False
    if isinstance(error, TransportError):
        return error.outcome is Outcome.UNKNOWN
    return isinstance(error, InternalServerError)


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
