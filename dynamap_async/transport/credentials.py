"""Who asks: what every source of credentials offers, what can be one's, and the one of a fixed access key."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError

T = TypeVar("T")


class CredentialSource(Protocol):
    """Gives the credentials to sign one request with."""

    fixed: Credentials | None
    """Those of every request, where they never change; None where they have to be asked for."""

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
        """Leave nothing running."""
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


class OneForAll(Generic[T]):
    """Lets one of those who need the outcome of a call make it, for all who come until it is there.

    Invariant: at most one call is under way. Whoever makes it and is cancelled leaves it to the next of those who wait.
    Nothing is kept: who comes after the outcome makes a call of its own.
    """

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[T | Exception | None]] | None = None

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Return the outcome of the call that is under way, or of a new one; an error in an instance of one's own."""
        while self._waiting is not None:
            future: asyncio.Future[T | Exception | None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            outcome = await future
            if isinstance(outcome, Exception):
                raise copy.copy(outcome) from outcome.__cause__
            if outcome is not None:
                return outcome
        waiting = self._waiting = []
        outcome = None
        try:
            outcome = await call()
        except Exception as error:
            outcome = error
            raise
        else:
            return outcome
        finally:
            self._waiting = None
            for future in waiting:
                if not future.done():
                    future.set_result(outcome)


def checked_credentials(credentials: Credentials) -> Credentials:
    """Return credentials as they are.

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
