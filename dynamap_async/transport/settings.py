"""Everything that has to be known before the first request, except credentials, which change."""

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
    """What of an AioConfig counts for our own connections, and what it says where nobody says anything."""

    max_pool_connections: int = DEFAULT_CONNECTIONS
    connect_timeout: float = 60
    """In seconds."""
    read_timeout: float = 60
    """In seconds."""
    connector_args: Mapping[str, Any] = {"keepalive_timeout": 12}


_PLAIN: Final = PlainConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """What a connection turned out to be."""

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


def complete_settings(connection: Connection) -> ConnectionSettings | None:
    """Return the settings of a connection that says all by itself; None for any other.

    For these aiobotocore is not loaded. Those of an encrypted one still lack how to encrypt.

    Raises:
        ConfigurationError: the endpoint is not an address.
    """
    region, url = connection.region, connection.endpoint_url
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
