"""The settings that a transport needs before the first request. Credentials are not among them: they change."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dynamap_async.config import Credentials
from dynamap_async.dataclass import dataclass
from dynamap_async.transport.connection import Connection
from dynamap_async.transport.endpoint import Endpoint, to_endpoint

if TYPE_CHECKING:
    from dynamap_async.transport.hosts import AwsEndpoints

DEFAULT_CONNECTIONS: Final = 64
"""Most simultaneous connections, unless an AioConfig says otherwise."""

OWN_CONNECTOR_ARGS: Final = frozenset({"keepalive_timeout", "ssl_context"})
"""Connector arguments of an AioConfig that our own connections understand; for any other aiohttp is used."""

_USER_AGENT: Final = "dynamap_async Python/{}.{}.{}".format(*sys.version_info)
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9!$%&'*+.^_`|~,#-]")
"""What botocore sends no application's name with."""

REGION: Final = r"[a-z][a-z0-9-]{0,61}[a-z0-9]"
"""The pattern of the names that regions have. botocore takes some others."""


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
    """The endpoint: the one that was given or configured, or AWS's for all accounts."""

    aws: AwsEndpoints | None = None
    """AWS's own endpoints; None where another was given or configured."""

    config: Any = _PLAIN
    """The AioConfig in force: the session's default with the user's own on top."""

    user_agent: str = _USER_AGENT

    session: Any = None
    """The AioSession that credentials come from; None where nothing had to be looked up."""

    credentials: Credentials | None = None
    """The access key that the environment holds; None where another is used."""

    verify: str | bool = True
    """Path of the certificate authorities to trust; True for botocore's choice."""

    proxies: Mapping[str, str] | None = field(default=None, repr=False)  # whose addresses may hold a password
    """Scheme -> address of its proxy."""

    tls: ssl.SSLContext | None = None
    """How to encrypt; None where that is not up to us."""

    wider_tls: Callable[[], ssl.SSLContext] | None = None
    """Makes what to encrypt with if that trusts nobody who vouches for the server; None if it trusts all. Blocks."""

    sends_by_session_class: bool = False
    """Whether requests go through aiobotocore's HTTP session class, because of proxies or the user's choice."""

    at: Callable[[Endpoint], ConnectionSettings] | None = None
    """Makes the settings of the same connection for another host; None where all hosts have the same. May block."""

    async def for_endpoint(self, endpoint: Endpoint) -> ConnectionSettings:
        """Return the settings for one of the hosts that the connection leads to: proxies may be for some of them only.

        Args:
            endpoint: the host.
        """
        if endpoint == self.endpoint:
            return self
        return replace(self, endpoint=endpoint) if self.at is None else await asyncio.to_thread(self.at, endpoint)

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
    if connection.aio_session is not None or connection.aio_config is not None or not re.fullmatch(REGION, region):
        return None
    endpoint = to_endpoint(url, region)
    return None if may_have_proxy(endpoint) else ConnectionSettings(endpoint=endpoint)


def application_part(identifier: str | None) -> str:
    """Return the part of a user agent that names an application, as botocore writes it; empty for none.

    Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-appid.html
    """
    return f"app/{_UNUSUAL.sub('-', identifier)}" if identifier else ""


def sent_user_agent(*parts: str) -> str:
    """Return a user agent of parts, with a hyphen for what no header can hold, as botocore's clients do it.

    Args:
        parts: what stands between spaces; an empty one is left out.
    """
    return "".join(each if each.isprintable() else "-" for each in " ".join(filter(None, parts)))


def environment_user_agent() -> str:
    """Return the user agent of a session for which botocore is not loaded."""
    ran = os.environ.get("AWS_EXECUTION_ENV")
    return sent_user_agent(
        _USER_AGENT, f"exec-env/{ran}" if ran else "", application_part(os.environ.get("AWS_SDK_UA_APP_ID"))
    )


def may_have_proxy(endpoint: Endpoint) -> bool:
    """Return whether a proxy is set for the endpoint's scheme, perhaps one that is not for this endpoint."""
    scheme = "https" if endpoint.encrypted else "http"
    if sys.platform in ("darwin", "win32"):  # where it may be set elsewhere than in the environment
        from urllib.request import getproxies

        return bool(getproxies().get(scheme))
    return any(value and name.lower() == f"{scheme}_proxy" for name, value in os.environ.items())
