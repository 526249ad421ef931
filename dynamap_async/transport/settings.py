"""Everything that has to be known before the first request, except credentials, which change.

Looking it up reads files and may load botocore's data, so ``resolve_settings`` is run in a thread.
"""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import botocore.httpsession
import botocore.utils
from aiobotocore.config import AioConfig
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession
from botocore.exceptions import BotoCoreError

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.connection import Connection
from dynamap_async.transport.endpoint import Endpoint, resolve_endpoint, resolve_region

DEFAULT_CONNECTIONS = 64
"""Most simultaneous connections, unless an AioConfig says otherwise."""

_httpsession: Any = botocore.httpsession
_utils: Any = botocore.utils


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a connection turned out to be."""

    endpoint: Endpoint

    session: Any
    """The AioSession that credentials come from."""

    config: Any
    """The AioConfig in force: the session's default with the user's own on top."""

    user_agent: str

    verify: str | bool
    """Path of the certificate authorities to trust; True for botocore's choice."""

    proxies: Mapping[str, str]
    """Scheme -> address of its proxy."""

    tls: ssl.SSLContext | None
    """How to encrypt; None where that is not up to us."""

    @property
    def sends_by_session_class(self) -> bool:
        """Whether requests go through aiobotocore's HTTP session class, because of proxies or the user's choice."""
        return _needs_session_class(self.config, self.proxies, self.endpoint)


def resolve_settings(connection: Connection) -> Settings:
    """Look up what the connection leaves open. Blocks: it reads files.

    Raises:
        ConfigurationError: something is missing, contradictory or unreadable; the message says what to do.
    """
    try:
        return _resolve(connection)
    except (BotoCoreError, ValueError, OSError) as error:
        raise ConfigurationError(f"the AWS configuration cannot be used: {error}") from error


def _resolve(connection: Connection) -> Settings:
    session = _session(connection)
    config = _config(connection, session)
    region = resolve_region(connection.region, config, session)
    if connection.aio_session is None:
        # Otherwise assuming a role would go to the global STS host.
        session.set_config_variable("region", region)
    endpoint = resolve_endpoint(connection.endpoint_url, region, config, session)
    verify = _verify(session) if endpoint.encrypted else True
    proxies = config.proxies if config.proxies is not None else _utils.get_environ_proxies(endpoint.url)
    ours = endpoint.encrypted and not _needs_session_class(config, proxies, endpoint)
    return Settings(
        endpoint=endpoint,
        session=session,
        config=config,
        user_agent=" ".join(filter(None, (config.user_agent or session.user_agent(), config.user_agent_extra))),
        verify=verify,
        proxies=proxies,
        tls=_tls(config, verify) if ours else None,
    )


def _session(connection: Connection) -> Any:
    if connection.aio_session is not None:
        return connection.aio_session
    # The handlers serve the calls that fetch credentials. Registering them costs 5 ms: 50 times the rest of a session.
    return AioSession(profile=connection.profile, include_builtin_handlers=connection.credentials is None)


def _config(connection: Connection, session: Any) -> Any:
    # Merging takes over what a layer says itself, and so leaves our pool size where it says nothing of it.
    config: Any = AioConfig(max_pool_connections=DEFAULT_CONNECTIONS)
    for layer in (session.get_default_client_config(), connection.aio_config):
        if layer is not None:
            config = config.merge(layer)
    return config


def _needs_session_class(config: Any, proxies: Mapping[str, str], endpoint: Endpoint) -> bool:
    return config.http_session_cls is not AIOHTTPSession or bool(proxies.get(endpoint.url.partition(":")[0]))


def _verify(session: Any) -> str | bool:
    configured = session.get_config_variable("ca_bundle")
    return configured or os.environ.get("REQUESTS_CA_BUNDLE") or True


def _tls(config: Any, verify: str | bool) -> ssl.SSLContext:
    given: ssl.SSLContext | None = config.connector_args.get("ssl_context")
    if given is not None:
        return given
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks certificate and host name
    context.load_verify_locations(_httpsession.get_cert_path(verify))
    if isinstance(config.client_cert, str):
        context.load_cert_chain(config.client_cert)
    elif config.client_cert:
        context.load_cert_chain(*config.client_cert)
    return context
