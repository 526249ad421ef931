"""Credentials that aiobotocore's chain finds, refreshed ahead of time so that no request waits for it.

Invariant: nobody waits for a refresh while the credentials at hand are good, and at most one is under way.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any, Final, cast

from botocore.credentials import RefreshableCredentials
from botocore.exceptions import SSOError, TokenRetrievalError

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.credentials import SharedCall, checked_credentials

_MISSING = (
    "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile, give the "
    'machine a role, or pass credentials=Credentials(access_key_id="...", secret_access_key="...") '
    "(a local engine accepts any)"
)

_LONGEST_SECONDS: Final = 60.0
"""How long a provider may take; after that it is asked anew."""


class SessionCredentials:
    """The credentials of an aiobotocore session, which are refreshed before they expire.

    A provider may give the same ones until shortly before their end, or none that last for as long as aiobotocore would
    have them: it would then ask anew for each request. Here it is asked again when half of what was left is over.

    Args:
        session: the AioSession.
        otherwise: the credentials to use where the session finds none, instead of an error.
    """

    def __init__(self, session: Any, *, otherwise: Credentials | None = None) -> None:
        self.fixed: Credentials | None = None
        self._session = session
        self._otherwise = otherwise
        self._finding: SharedCall[Any] = SharedCall()
        self._refreshing: SharedCall[None] = SharedCall()
        self._renewing: SharedCall[bool] = SharedCall()
        self._frozen: Any = None
        self._source: Any = None
        """aiobotocore's object that the last ones came from."""
        self._due_seconds = 0.0
        """The next refresh is due when fewer seconds are left of them."""
        self._current: Credentials | None = None
        """What ``_frozen`` is: the same value for as long as it is, so that the signer need not derive a key anew."""

    async def current(self) -> Credentials:
        """Return the credentials that the session holds now.

        Those who ask at the same time, and have to wait, ask the provider once.

        Raises:
            ConfigurationError: there are none, nor any to use otherwise, they could not be refreshed, or cannot be
                sent.
        """
        try:
            if self._source is None:
                source = await self._finding.run(self._find)
            else:  # which aiobotocore keeps
                source = await self._session.get_credentials()
            frozen = None if source is None else await self._frozen_of(source)
        except ConfigurationError:
            raise
        except Exception as error:
            raise self._failure(error) from error
        if frozen is None:
            if self._otherwise is None:
                raise ConfigurationError(_MISSING)
            self.fixed = self._otherwise
            return self.fixed
        if self._current is None or frozen != self._frozen:
            found = Credentials(
                access_key_id=frozen.access_key,
                secret_access_key=frozen.secret_key,
                session_token=frozen.token,
                account_id=getattr(frozen, "account_id", None),  # a credential class of the user's may have none
            )
            self._frozen, self._current = frozen, checked_credentials(found)
        return self._current

    async def renew(self, rejected: Credentials) -> bool:
        """Refresh the rejected credentials, once for all requests that were sent with them.

        Raises:
            ConfigurationError: they could not be refreshed.
        """
        if await self.current() != rejected:
            return True
        return await self._renewing.run(partial(self._renew, rejected))

    async def close(self) -> None:
        """End what is under way."""
        for calls in (self._finding, self._refreshing, self._renewing):
            await calls.close()

    async def _find(self) -> Any:
        async with self._asking():
            return await self._session.get_credentials()

    async def _frozen_of(self, source: Any) -> Any:
        """Return the credentials of a source. Only those that have expired, or were never fetched, are waited for."""
        renewable: bool = isinstance(cast("object", source), RefreshableCredentials)
        if source is not self._source:
            self._source = source
            self._due_seconds = source._advisory_refresh_timeout if renewable else 0.0  # noqa: SLF001
        if not renewable:
            return await source.get_frozen_credentials()
        if source.refresh_needed(self._due_seconds):
            refresh = partial(self._refresh, source)
            if not source.refresh_needed(0):  # they are good still, so nobody waits
                self._refreshing.begin(refresh)
            else:
                await self._refreshing.run(refresh)
                if source.refresh_needed(0):  # it joined a refresh ahead of time, which fails without a word
                    await self._refreshing.run(refresh)
        return source._frozen_credentials  # noqa: SLF001 - get_frozen_credentials would refresh them now

    async def _refresh(self, source: Any) -> None:
        held = cast("dict[str, Any]", source.__dict__)
        before = held.copy()
        try:
            async with self._asking():
                await source.get_frozen_credentials()
        except ConfigurationError:
            # A provider may give credentials that have expired already. aiobotocore takes them before it raises. Those
            # from before may still be good.
            if source.refresh_needed(0):
                held.update(before)
            raise
        finally:
            if source._expiry_time is not None:  # noqa: SLF001 - it is where nothing was ever fetched
                left: float = source._seconds_remaining()  # noqa: SLF001
                self._due_seconds = max(0.0, min(source._advisory_refresh_timeout, left / 2))  # noqa: SLF001

    async def _renew(self, rejected: Credentials) -> bool:
        source = self._source
        if not isinstance(source, RefreshableCredentials):
            return False
        unwrapped: Any = source
        async with self._asking(), unwrapped._refresh_lock:  # noqa: SLF001
            # aiobotocore has no public way to refresh before its own clock says so.
            await unwrapped._protected_refresh(is_mandatory=True)  # noqa: SLF001
        return await self.current() != rejected

    @contextlib.asynccontextmanager
    async def _asking(self) -> AsyncGenerator[None]:
        """Limit how long a provider may take, and raise its failures as ConfigurationError."""
        try:
            async with asyncio.timeout(_LONGEST_SECONDS):
                yield
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> ConfigurationError:
        # Credentials come from files, programs, HTTP services and users' own functions, each with its own errors.
        said = str(error) or type(error).__name__
        return ConfigurationError(
            f"AWS credentials could not be read or refreshed: {said}{_sign_in(error, self._session)}"
        )


def _sign_in(error: Exception, session: Any) -> str:
    """Return the command to sign in with, if a sign-in is missing or has ended."""
    if not isinstance(error, SSOError | TokenRetrievalError):
        return ""
    name, profiles = session.profile or "default", session.full_config.get("profiles", {})
    seen: set[str] = set()
    # A role may be assumed with the credentials of another profile, which is the one to sign in with.
    while name not in seen and "source_profile" in profiles.get(name, {}):
        seen.add(name)
        name = profiles[name]["source_profile"]
    return f'; run "aws sso login --profile {name}"'
