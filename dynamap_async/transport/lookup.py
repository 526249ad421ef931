"""The look-up of what a connection leaves open, as aiobotocore does it. This imports all of it that sending needs.

Looking it up reads files, so it is done in a thread, and this imported there.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, Final

import botocore.httpsession
import botocore.utils
from aiobotocore.config import AioConfig
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession
from botocore.exceptions import BotoCoreError, ProfileNotFound

from dynamap_async.errors import ConfigurationError
from dynamap_async.service import Service
from dynamap_async.transport import aiohttp_channel, session_class, session_credentials
from dynamap_async.transport.connection import Connection, check_config
from dynamap_async.transport.endpoint import Endpoint, to_endpoint
from dynamap_async.transport.environment import environment_endpoint
from dynamap_async.transport.hosts import AwsEndpoints, account_mode
from dynamap_async.transport.settings import (
    DEFAULT_CONNECTIONS,
    ConnectionSettings,
    application_part,
    sent_user_agent,
)
from dynamap_async.transport.tls import tls_context

_LOADED_BESIDE: Final = (aiohttp_channel, session_class, session_credentials)
"""What a transport uses after a look-up. It is imported here, in a thread, so as not to hold the event loop."""

_aio_config: Any = AioConfig
_MERGES_ITS_OWN: Final = "force_close" in _aio_config().merge(_aio_config({"force_close": True})).connector_args
"""Whether ``merge`` keeps the settings that aiobotocore adds to botocore's, as it does from 3.0 on."""

_httpsession: Any = botocore.httpsession
_utils: Any = botocore.utils


def resolve_settings(connection: Connection, service: Service) -> ConnectionSettings:
    """Return the settings with which a connection reaches a service. Blocks.

    Raises:
        ConfigurationError: something is missing, contradictory or unreadable; the message says what to do.
    """
    try:
        return _resolved(connection, service)
    except (BotoCoreError, ValueError, OSError) as error:
        raise ConfigurationError(f"the AWS configuration cannot be used: {error}") from error


def _resolved(connection: Connection, service: Service) -> ConnectionSettings:
    session = _session(connection)
    config = _config(connection, session)
    region = resolve_region(connection.region, config, session)
    if connection.aio_session is None:
        # Otherwise assuming a role would go to the global STS host.
        session.set_config_variable("region", region)
    endpoint, aws = resolve_endpoint(service, connection.endpoint_url, region, config, session)
    verify = _verify(session) if endpoint.encrypted else True
    settings = ConnectionSettings(
        endpoint=endpoint,
        aws=aws,
        session=session,
        config=config,
        user_agent=_user_agent(config, session),
        verify=verify,
        tls=_tls(config, verify) if endpoint.encrypted else None,  # a session class would find out with each request
    )
    return replace(_at(settings, endpoint), at=partial(_at, settings))


def _at(settings: ConnectionSettings, endpoint: Endpoint) -> ConnectionSettings:
    """Return settings as they are for one host: a proxy may be for some hosts only. May ask the system for them."""
    config = settings.config
    proxies = config.proxies if config.proxies is not None else _utils.get_environ_proxies(endpoint.url)
    by_session_class = _needs_session_class(config, proxies, endpoint)
    return replace(
        settings,
        endpoint=endpoint,
        proxies=proxies,
        tls=None if by_session_class else settings.tls,
        sends_by_session_class=by_session_class,
    )


_WITHOUT_END_SECONDS: Final = 1e9
"""Thirty years."""


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
    check_config(config)
    if config.connector_args["keepalive_timeout"] in (None, inf):  # aiohttp can reckon with neither
        config.connector_args = {**config.connector_args, "keepalive_timeout": _WITHOUT_END_SECONDS}
    return config


def _merged(config: Any, layer: Any) -> Any:
    merged = config.merge(layer)
    if not _MERGES_ITS_OWN:
        source = layer if isinstance(layer, AioConfig) else config
        merged.connector_args, merged.http_session_cls = source.connector_args, source.http_session_cls
    return merged


def _user_agent(config: Any, session: Any) -> str:
    identifier = config.user_agent_appid
    if identifier is None:
        with suppress(ProfileNotFound):  # nothing else may be wanted of it
            identifier = session.get_config_variable("user_agent_appid")
    named = config.user_agent or " ".join(filter(None, (session.user_agent(), application_part(identifier))))
    return sent_user_agent(named, config.user_agent_extra)


def _needs_session_class(config: Any, proxies: Mapping[str, str], endpoint: Endpoint) -> bool:
    return config.http_session_cls is not AIOHTTPSession or bool(proxies.get(endpoint.url.partition(":")[0]))


def _verify(session: Any) -> str | bool:
    configured = session.get_config_variable("ca_bundle")
    return configured or os.environ.get("REQUESTS_CA_BUNDLE") or True


def _tls(config: Any, verify: str | bool) -> ssl.SSLContext:
    given: ssl.SSLContext | None = config.connector_args.get("ssl_context")
    if given is not None:
        return given
    return tls_context(_httpsession.get_cert_path(verify), config.client_cert)


def resolve_region(given: str | None, config: Any, session: Any) -> str:
    """Return the region: the one given, the config's, or the session's (environment, profile).

    Raises:
        ConfigurationError: none of them has one.
        BotoCoreError: it cannot be the name of a region.
    """
    region: str | None = given or config.region_name or session.get_config_variable("region")
    if not region:
        unread = os.environ.get("AWS_REGION")
        raise ConfigurationError(
            f"no AWS region is set: AWS's SDK for Python does not read AWS_REGION; pass region={unread!r}, or set "
            "AWS_DEFAULT_REGION"
            if unread
            else 'no AWS region is set; pass region="eu-west-1", set AWS_DEFAULT_REGION, or give the profile in '
            "~/.aws/config a region (a local engine accepts any)"
        )
    _utils.validate_region_name(region)
    return region


def resolve_endpoint(
    service: Service, given: str | None, region: str, config: Any, session: Any
) -> tuple[Endpoint, AwsEndpoints | None]:
    """Return the endpoint of a service: the one given, the configured one, or AWS's own for the region.

    Beside the last come those of single accounts.

    Raises:
        ConfigurationError: the address is not an HTTP one, or AWS has none like it.

    Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html
    """
    url = _configured_endpoint(service, config, session) if given is None else given  # which serves all services
    if url is not None:
        return to_endpoint(url, region), None
    dual_stack, fips = (
        bool(_setting(name, config, session)) for name in ("use_dualstack_endpoint", "use_fips_endpoint")
    )
    mode = account_mode(_setting("account_id_endpoint_mode", config, session))
    aws = AwsEndpoints(service, region, dual_stack, fips, mode)
    return aws.shared, aws


def _configured_endpoint(service: Service, config: Any, session: Any) -> str | None:
    """Return the endpoint that the environment or the profile names. botocore finds it inside of clients only."""
    ignored = config.ignore_configured_endpoint_urls
    if ignored is None:
        ignored = session.get_config_variable("ignore_configured_endpoint_urls")
    if ignored:
        return None
    return environment_endpoint(service) or _profile_endpoint(service, session)


def _profile_endpoint(service: Service, session: Any) -> str | None:
    profile = session.get_scoped_config()
    services: Any = {}
    if "services" in profile:
        services = session.full_config.get("services", {}).get(profile["services"])
        if not services:
            raise ConfigurationError(
                f"the profile names services = {profile['services']}, but AWS's configuration has no section "
                f"[services {profile['services']}]; add it, or drop the line"
            )
    own: str | None = services.get(service.configuration_name, {}).get("endpoint_url") or profile.get("endpoint_url")
    return own


def _setting(name: str, config: Any, session: Any) -> Any:
    """Return a setting that chooses between AWS's own endpoints; None where nothing says it."""
    said = getattr(config, name)
    return session.get_config_variable(name) if said is None else said
