"""Who asks, found by aiobotocore's chain, and refreshed ahead of time without anybody waiting.

Invariant: nobody waits for a refresh while the credentials at hand are good, and at most one is under way.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from functools import partial
from typing import Any

from botocore.credentials import RefreshableCredentials
from botocore.exceptions import SSOError, TokenRetrievalError

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.credentials import OneForAll, checked_credentials
from dynamap_async.turns import new_task

_MISSING = (
    "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile, give the "
    'machine a role, or pass credentials=Credentials(access_key_id="...", secret_access_key="...") '
    "(a local engine accepts any)"
)


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
        self._lookup: OneForAll[Credentials] = OneForAll()
        self._renewing: OneForAll[bool] = OneForAll()
        self._frozen: Any = None
        self._source: Any = None
        """The object of aiobotocore's that the last ones came from."""
        self._due_seconds = 0.0
        """The next refresh is due when fewer seconds are left of them."""
        self._refreshing: asyncio.Task[None] | None = None
        self._current: Credentials | None = None
        """What ``_frozen`` is: the same value for as long as it is, so that the signer need not derive a key anew."""

    async def current(self) -> Credentials:
        """Return what the session holds now.

        Those who ask at the same time, and have to wait, ask the provider once.

        Raises:
            ConfigurationError: there are none, nor any to use otherwise, they could not be refreshed, or cannot be
                sent.
        """
        return await self._lookup.run(self._asked)

    async def _asked(self) -> Credentials:
        try:
            source = await self._session.get_credentials()
            frozen = None if source is None else await self._frozen_of(source)
        except Exception as error:
            # Credentials come from files, programs, HTTP services and users' own functions, each with its own errors.
            remedy = _sign_in(error, self._session)
            raise ConfigurationError(f"AWS credentials could not be read or refreshed: {error}{remedy}") from error
        if frozen is None:
            if self._otherwise is None:
                raise ConfigurationError(_MISSING)
            self.fixed = self._otherwise
            return self.fixed
        if self._current is None or frozen != self._frozen:
            found = Credentials(
                access_key_id=frozen.access_key, secret_access_key=frozen.secret_key, session_token=frozen.token
            )
            self._frozen, self._current = frozen, checked_credentials(found)
        return self._current

    async def _frozen_of(self, source: Any) -> Any:
        """Return what a source of aiobotocore's holds. What has expired, or was never fetched, is waited for."""
        renewable = isinstance(source, RefreshableCredentials)
        if source is not self._source:
            self._source = source
            self._due_seconds = source._advisory_refresh_timeout if renewable else 0.0  # noqa: SLF001
        if not renewable or source.refresh_needed(0):
            return await source.get_frozen_credentials()
        under_way = self._refreshing is not None and not self._refreshing.done()
        if not under_way and source.refresh_needed(self._due_seconds):
            # In a context of its own: that of whoever asks now may end before it does.
            self._refreshing = new_task(self._refresh_ahead(source), Context())
        return source._frozen_credentials  # noqa: SLF001 - get_frozen_credentials would refresh them now

    async def _refresh_ahead(self, source: Any) -> None:
        try:
            await source.get_frozen_credentials()
        except Exception:  # noqa: BLE001, S110 - aiobotocore has logged it, and those at hand are good until they expire
            pass
        finally:
            left: float = source._seconds_remaining()  # noqa: SLF001
            self._due_seconds = min(source._advisory_refresh_timeout, left / 2)  # noqa: SLF001

    async def close(self) -> None:
        """End a refresh that is under way."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.wait([self._refreshing])

    async def renew(self, rejected: Credentials) -> bool:
        """Refresh the rejected credentials, once for all requests that were sent with them.

        Raises:
            ConfigurationError: they could not be refreshed.
        """
        if await self.current() != rejected:
            return True
        return await self._renewing.run(partial(self._renewed, rejected))

    async def _renewed(self, rejected: Credentials) -> bool:
        if not isinstance(self._source, RefreshableCredentials):
            return False
        await self._refresh(self._source)
        return await self.current() != rejected

    async def _refresh(self, credentials: Any) -> None:
        # aiobotocore has no public way to refresh before its own clock says so.
        try:
            async with credentials._refresh_lock:  # noqa: SLF001
                await credentials._protected_refresh(is_mandatory=True)  # noqa: SLF001
        except Exception as error:
            remedy = _sign_in(error, self._session)
            raise ConfigurationError(f"expired AWS credentials could not be refreshed: {error}{remedy}") from error


def _sign_in(error: Exception, session: Any) -> str:
    """Return the command by which a person signs in, where a sign-in is missing or over."""
    if not isinstance(error, SSOError | TokenRetrievalError):
        return ""
    name, profiles = session.profile or "default", session.full_config.get("profiles", {})
    seen: set[str] = set()
    # A role may be assumed with the credentials of another profile, which is the one to sign in with.
    while name not in seen and "source_profile" in profiles.get(name, {}):
        seen.add(name)
        name = profiles[name]["source_profile"]
    return f'; run "aws sso login --profile {name}"'
