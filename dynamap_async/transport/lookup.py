"""Looks up what a connection leaves open, as aiobotocore does. Importing this loads all of it that sending needs.

Looking it up reads files and may load botocore's data, so it is done in a thread, and this imported there.
"""

import os
import ssl
from collections.abc import Mapping
from typing import Any, Final

import botocore.httpsession
import botocore.utils
from aiobotocore.config import AioConfig
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession
from botocore.exceptions import BotoCoreError

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport import session_class, session_credentials
from dynamap_async.transport.connection import Connection
from dynamap_async.transport.endpoint import Endpoint
from dynamap_async.transport.looked_up_endpoint import resolve_endpoint, resolve_region
from dynamap_async.transport.settings import DEFAULT_CONNECTIONS, Settings

_LOADED_BESIDE: Final = (session_class, session_credentials)
"""What a transport takes after a look-up: it is imported here, so that nothing is left to the event loop's thread."""

_aio_config: Any = AioConfig
_MERGES_ITS_OWN: Final = "force_close" in _aio_config().merge(_aio_config({"force_close": True})).connector_args
"""Whether merging takes over what aiobotocore adds to botocore's settings: not before 3.0."""

_httpsession: Any = botocore.httpsession
_utils: Any = botocore.utils


def resolve_settings(connection: Connection) -> Settings:
    """Return the settings of a connection. Blocks.

    Raises:
        ConfigurationError: something is missing, contradictory or unreadable; the message says what to do.
    """
    try:
        return _resolved(connection)
    except (BotoCoreError, ValueError, OSError) as error:
        raise ConfigurationError(f"the AWS configuration cannot be used: {error}") from error


def _resolved(connection: Connection) -> Settings:
    session = _session(connection)
    config = _config(connection, session)
    region = resolve_region(connection.region, config, session)
    if connection.aio_session is None:
        # Otherwise assuming a role would go to the global STS host.
        session.set_config_variable("region", region)
    endpoint = resolve_endpoint(connection.endpoint_url, region, config, session)
    verify = _verify(session) if endpoint.encrypted else True
    proxies = config.proxies if config.proxies is not None else _utils.get_environ_proxies(endpoint.url)
    by_session_class = _needs_session_class(config, proxies, endpoint)
    return Settings(
        endpoint=endpoint,
        session=session,
        config=config,
        user_agent=" ".join(filter(None, (config.user_agent or session.user_agent(), config.user_agent_extra))),
        verify=verify,
        proxies=proxies,
        tls=_tls(config, verify) if endpoint.encrypted and not by_session_class else None,
        sends_by_session_class=by_session_class,
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
            config = _merged(config, layer)
    return config


def _merged(config: Any, layer: Any) -> Any:
    merged = config.merge(layer)
    if not _MERGES_ITS_OWN:
        source = layer if isinstance(layer, AioConfig) else config
        merged.connector_args, merged.http_session_cls = source.connector_args, source.http_session_cls
    return merged


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
