"""The settings that a transport needs before the first request. Credentials are not among them: they change."""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, NamedTuple

from dynamap_async.dataclass import dataclass
from dynamap_async.transport.connection import Connection
from dynamap_async.transport.endpoint import Endpoint, to_endpoint

DEFAULT_CONNECTIONS: Final = 64
"""Most simultaneous connections, unless an AioConfig says otherwise."""

OWN_CONNECTOR_ARGS: Final = frozenset({"keepalive_timeout", "ssl_context"})
"""Connector arguments of an AioConfig that our own connections understand; for any other aiohttp is used."""

_USER_AGENT: Final = "dynamap_async Python/{}.{}.{}".format(*sys.version_info)
_REGION: Final = r"[a-z][a-z0-9-]{0,61}[a-z0-9]"


class PlainConfig(NamedTuple):
    """The settings of an AioConfig that our own connections use, with the values that it has by default."""

    max_pool_connections: int = DEFAULT_CONNECTIONS
    connect_timeout: float = 60
    """In seconds."""
    read_timeout: float = 60
    """In seconds."""
    connector_args: Mapping[str, Any] = {"keepalive_timeout": 12}


_PLAIN: Final = PlainConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """The settings of a connection after everything that it left open was looked up."""

    endpoint: Endpoint

    config: Any = _PLAIN
    """The AioConfig in force: the session's default with the user's own on top."""

    user_agent: str = _USER_AGENT

    session: Any = None
    """The AioSession that credentials come from; None where nothing had to be looked up."""

    verify: str | bool = True
    """Path of the certificate authorities to trust; True for botocore's choice."""

    proxies: Mapping[str, str] | None = field(default=None, repr=False)  # whose addresses may hold a password
    """Scheme -> address of its proxy."""

    tls: ssl.SSLContext | None = None
    """How to encrypt; None where that is not up to us."""

    sends_by_session_class: bool = False
    """Whether requests go through aiobotocore's HTTP session class, because of proxies or the user's choice."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that all requests have in common. An answer must not be packed: its checksum is of its text."""
        return {"User-Agent": self.user_agent, "Accept-Encoding": "identity"}


def complete_settings(connection: Connection) -> ConnectionSettings | None:
    """Return the settings of a connection that leaves nothing to look up; None for any other.

    For these aiobotocore is not loaded. Those of an encrypted one still lack how to encrypt.

    Raises:
        ConfigurationError: the endpoint is not an address.
    """
    region, url = connection.region, connection.endpoint_url
    # Whatever is missing may be in the environment or in a profile, and botocore's rules for these are its own.
    if not region or url is None or connection.credentials is None:
        return None
    if connection.aio_session is not None or connection.aio_config is not None or not re.fullmatch(_REGION, region):
        return None
    endpoint = to_endpoint(url, region)
    return None if _has_proxy("https" if endpoint.encrypted else "http") else ConnectionSettings(endpoint=endpoint)


def _has_proxy(scheme: str) -> bool:
    """Return whether a proxy is set for the scheme, perhaps one that is not for this endpoint."""
    if sys.platform in ("darwin", "win32"):  # where it may be set elsewhere than in the environment
        from urllib.request import getproxies

        return bool(getproxies().get(scheme))
    return any(value and name.lower() == f"{scheme}_proxy" for name, value in os.environ.items())
