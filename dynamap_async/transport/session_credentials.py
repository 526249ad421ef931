"""Who asks, found by aiobotocore's chain with its refreshes."""

from __future__ import annotations

from functools import partial
from typing import Any

from botocore.credentials import RefreshableCredentials

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.credentials import OneForAll, checked_credentials

_MISSING = (
    "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile, give the "
    'machine a role, or pass credentials=Credentials(access_key_id="...", secret_access_key="...") '
    "(a local engine accepts any)"
)


class SessionCredentials:
    """The credentials of an aiobotocore session, which refreshes them before they expire.

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
        self._current: Credentials | None = None
        """What ``_frozen`` is: the same value for as long as it is, so that the signer need not derive a key anew."""

    async def current(self) -> Credentials:
        """Return what the session holds now.

        Those who ask at the same time, and have to wait, ask the provider once.

        Raises:
            ConfigurationError: there are none, nor any to use otherwise, they could not be refreshed, or cannot be
                sent.
        """
        if self._lookup.under_way and not self._must_wait():
            return await self._asked()  # they are being refreshed ahead of time: those at hand are good until then
        return await self._lookup.run(self._asked)

    def _must_wait(self) -> bool:
        """Return whether no credentials are at hand that are good for some time."""
        source: Any = self._source
        if not isinstance(source, RefreshableCredentials):
            return self._current is None
        untyped: Any = source  # whose attribute has no public name
        needed: bool = untyped.refresh_needed(untyped._mandatory_refresh_timeout)  # noqa: SLF001
        return needed

    async def _asked(self) -> Credentials:
        try:
            self._source = await self._session.get_credentials()
            frozen = None if self._source is None else await self._source.get_frozen_credentials()
        except Exception as error:
            # Credentials come from files, programs, HTTP services and users' own functions, each with its own errors.
            raise ConfigurationError(f"AWS credentials could not be read or refreshed: {error}") from error
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
        await _refresh(self._source)
        return await self.current() != rejected


async def _refresh(credentials: Any) -> None:
    # aiobotocore has no public way to refresh before its own clock says so.
    try:
        async with credentials._refresh_lock:  # noqa: SLF001
            await credentials._protected_refresh(is_mandatory=True)  # noqa: SLF001
    except Exception as error:
        raise ConfigurationError(f"expired AWS credentials could not be refreshed: {error}") from error
