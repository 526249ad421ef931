"""Requests of changes of one table, each sent once, although answers get lost and descriptions are late."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import anyio

from dynamap_async.errors import (
    InternalServerError,
    LimitExceededError,
    Outcome,
    RecoveryUnavailableError,
    RequestRejectedError,
    ResourceInUseError,
    ResourceNotFoundError,
    TransportError,
)
from dynamap_async.executor import Executor
from dynamap_async.request import Request

LOST_SECONDS: Final = 60.0
"""After an answer that was lost, or refused because something else is going on, it is asked for again after this."""


Refusal: TypeAlias = RequestRejectedError | ResourceNotFoundError
"""What a request is answered with that asks for what is done already, or comes too early."""


class ChangeRequests:
    """What was asked for of a table, and until when a description may not show it yet."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._until: dict[str, float] = {}

    def forget(self) -> None:
        """Forget what was asked for: the table is a new one."""
        self._until.clear()

    async def send(self, what: str, request: Request, passes: Callable[[Refusal], Awaitable[bool]]) -> bool:
        """Send a request, unless it was sent a short time ago; whether it is done, a later description tells.

        Args:
            what: what it is about, the same each time.
            passes: looks, after a request that was found invalid or found nothing, whether that passes: somebody else
                did the same meanwhile, or it comes too early.

        Returns:
            Whether DynamoDB has accepted it now.

        Raises:
            ServiceError: it was refused, for another reason than that something else is going on.
            TransportError: it was not sent.
        """
        now = anyio.current_time()
        if now < self._until.get(what, now):
            return False
        self._until[what] = now + LOST_SECONDS
        try:
            await self._executor.send(request)
        except (ResourceInUseError, LimitExceededError, RecoveryUnavailableError, InternalServerError):
            pass  # another process asked for it, it comes too early, or it may have been done all the same
        except (RequestRejectedError, ResourceNotFoundError) as error:
            if not await passes(error):
                raise
        except TransportError as error:
            if error.outcome is not Outcome.UNKNOWN:
                raise
        else:
            return True
        return False
