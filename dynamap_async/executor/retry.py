"""Retries: which failures are worth another attempt, and how long to wait before it.

Invariant: a request is sent again only if that cannot change what one sending would have done, except where the
service says so itself (a resent write may overwrite another writer's later value, as with every AWS SDK).
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from dynamap_async.config import RetryPolicy
from dynamap_async.errors import InternalServerError, Outcome, ServiceError, TransportError
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
    """Whether an attempt is under way now, and not a wait between two."""
    outcome_unknown: bool = False
    """Whether an earlier attempt may have written without an answer."""

    @property
    def outcome(self) -> Outcome:
        """What is known of a request that is given up now."""
        return Outcome.UNKNOWN if self.on_the_wire or self.outcome_unknown else Outcome.NOT_SENT


async def send_with_retries(
    send: Callable[[Request], Awaitable[Body]],
    sending: Sending,
    policy: RetryPolicy,
    *,
    jitter: Callable[[], float] = random.random,
) -> Body:
    """Send a request until it is answered, fails for good, or the policy or the caller's deadline is spent.

    Args:
        send: sends once.
        sending: what to send; kept up to date on the way.
        policy: how often, and how long to wait in between.
        jitter: draws from [0, 1).

    Raises:
        ServiceError: DynamoDB's last answer; ``attempts`` says how often it was asked.
        TransportError: no answer came; ``outcome`` says whether the request can have been carried out.
    """
    while True:
        sending.attempts += 1
        sending.on_the_wire = True
        try:
            return await send(sending.request)
        except (ServiceError, TransportError) as error:
            sending.on_the_wire = False
            delay = policy.longest_delay(sending.attempts) * jitter()
            _note(sending, error)
            if not _worth_another(error, sending):
                raise
            if sending.attempts >= policy.max_attempts:
                error.add_note(f"not sent again: {sending.attempts} attempts are all that RetryPolicy allows")
                raise
            if anyio.current_time() + delay > anyio.current_effective_deadline():
                error.add_note("not sent again: the caller's deadline is too near")
                raise
            logger.debug(
                "%s on %s failed (%s), attempt %d; again in %.3f s",
                sending.request.operation,
                sending.request.table,
                type(error).__name__,
                sending.attempts,
                delay,
            )
        await anyio.sleep(delay)


def _note(sending: Sending, error: ServiceError | TransportError) -> None:
    """Write into the error what earlier attempts mean for it, and into ``sending`` what it means for later ones."""
    error.attempts = sending.attempts
    sending.outcome_unknown = sending.outcome_unknown or _may_have_written(sending.request, error)
    if isinstance(error, ServiceError):
        error.outcome_unknown = sending.outcome_unknown
    elif sending.outcome_unknown:
        error.outcome = Outcome.UNKNOWN


def _may_have_written(request: Request, error: ServiceError | TransportError) -> bool:
    if not request.writes:
        return False
    if isinstance(error, TransportError):
        return error.outcome is Outcome.UNKNOWN
    return isinstance(error, InternalServerError)


def _worth_another(error: ServiceError | TransportError, sending: Sending) -> bool:
    if sending.outcome_unknown and not sending.request.resendable:
        return False
    return isinstance(error, TransportError) or error.retryable
