"""Credentials: the protocol of their sources, the source of a fixed access key, and the check of their values."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Generic, Protocol, TypeVar

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.turns import new_task

T = TypeVar("T")


class CredentialSource(Protocol):
    """Gives the credentials to sign one request with."""

    fixed: Credentials | None
    """The credentials of every request, if they never change; None if each request has to ask ``current``."""

    async def current(self) -> Credentials:
        """Return credentials that are valid now, as far as is known here.

        Raises:
            ConfigurationError: there are none, or they could not be refreshed.
        """
        ...

    async def renew(self, rejected: Credentials) -> bool:
        """Replace credentials that the service called expired; return whether there are others now.

        Raises:
            ConfigurationError: they could not be refreshed.
        """
        ...

    async def close(self) -> None:
        """End what is under way."""
        ...


class FixedCredentials:
    """Credentials that never change."""

    def __init__(self, credentials: Credentials) -> None:
        self.fixed: Credentials | None = credentials
        self._credentials = credentials

    async def current(self) -> Credentials:
        """Return the credentials."""
        return self._credentials

    async def renew(self, rejected: Credentials) -> bool:
        """Return False: there is nothing to fetch others from."""
        return False

    async def close(self) -> None:
        """Do nothing."""


class SharedCall(Generic[T]):
    """Makes a call once for all who wait for its outcome at the same time, in a task of its own.

    Invariant: at most one call is under way. A waiter that is cancelled does not end it, because a provider or a
    resolver may take longer than any single waiter has time. The outcome is not kept: whoever comes later makes a call
    of its own.
    """

    def __init__(self) -> None:
        self._call: asyncio.Task[T | Exception] | None = None

    def begin(self, call: Callable[[], Awaitable[T]]) -> asyncio.Task[T | Exception]:
        """Start the call unless one is under way, and return its task."""
        if self._call is None or self._call.done():
            # In a context of its own: that of whoever asks now may end before it does.
            self._call = new_task(_outcome(call), Context())
        return self._call

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return the outcome of the call under way, or of a new one. Each waiter gets its own copy of an error."""
        under_way = self.begin(call)
        await asyncio.wait([under_way])
        if under_way.cancelled():
            raise ConnectionAbortedError("the session was closed")
        outcome = under_way.result()
        if isinstance(outcome, Exception):
            raise copy.copy(outcome) from outcome.__cause__
        return outcome

    async def close(self) -> None:
        """Cancel a call that is under way, and wait for its end."""
        if self._call is not None:
            self._call.cancel()
            await asyncio.wait([self._call])


async def _outcome(call: Callable[[], Awaitable[T]]) -> T | Exception:
    try:
        return await call()
    except Exception as error:  # noqa: BLE001 - it is raised to those who wait; there may be none
        return error


def checked_credentials(credentials: Credentials) -> Credentials:
    """Return credentials unchanged, if they can be sent.

    Raises:
        ConfigurationError: a part of them is empty, or can be in no header, such as one that was read from a file with
            its line break. The message names the part and not its value.
    """
    for name in ("access_key_id", "secret_access_key", "session_token"):
        value: object = getattr(credentials, name)
        if value is None and name == "session_token":
            continue
        if not isinstance(value, str):
            raise ConfigurationError(f"{name} of the credentials must be a string, not {type(value).__name__}")
        if not value and name != "session_token":
            raise ConfigurationError(f"{name} of the credentials is empty; a local engine takes any text")
        if value != value.strip() or not value.isprintable():
            raise ConfigurationError(
                f"{name} of the credentials has a line break, a control character, or a space at its beginning or "
                "end; strip() it"
            )
    return credentials
