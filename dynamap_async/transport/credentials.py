"""Who asks: what every source of credentials offers, and the one of a fixed access key."""

from typing import Protocol

from dynamap_async.config import Credentials


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
        """Replace credentials that the service called expired; tell whether there are others now.

        Raises:
            ConfigurationError: they could not be refreshed.
        """
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
