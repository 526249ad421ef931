"""Which region and which address requests go to, found as botocore finds them."""

import asyncio
import os
from typing import Any

import botocore.utils
from aiobotocore.session import AioSession

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.endpoint import Endpoint, to_endpoint

_utils: Any = botocore.utils
_ENVIRONMENT = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")


def resolve_region(given: str | None, config: Any, session: Any) -> str:
    """Return the region: the one given, the config's, or the session's (environment, profile).

    Raises:
        ConfigurationError: none of them has one.
        BotoCoreError: it cannot be the name of a region.
    """
    region: str | None = given or config.region_name or session.get_config_variable("region")
    if not region:
        raise ConfigurationError(
            'no AWS region is set: pass region="eu-west-1", set AWS_DEFAULT_REGION, or give the profile in '
            "~/.aws/config a region (a local engine accepts any)"
        )
    _utils.validate_region_name(region)
    return region


def resolve_endpoint(given: str | None, region: str, config: Any, session: Any) -> Endpoint:
    """Return the endpoint: the one given, the configured one, or AWS's own for the region.

    Blocks: finding AWS's own loads the service model. Endpoints of a single account are not used.

    Raises:
        ConfigurationError: the address is not an HTTP one.

    Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html
    """
    url = _configured_endpoint(config, session) if given is None else given
    if url is None:
        url, region = asyncio.run(_service_endpoint(region, config, session))
    return to_endpoint(url, region)


def _configured_endpoint(config: Any, session: Any) -> str | None:
    """Return the endpoint that the environment or the profile names. botocore's own way to it is a client's alone."""
    ignored = config.ignore_configured_endpoint_urls
    if ignored is None:
        ignored = session.get_config_variable("ignore_configured_endpoint_urls")
    if ignored:
        return None
    named = (os.environ[name] for name in _ENVIRONMENT if os.environ.get(name))
    return next(named, None) or _profile_endpoint(session)


def _profile_endpoint(session: Any) -> str | None:
    profile = session.get_scoped_config()
    services: Any = {}
    if "services" in profile:
        services = session.full_config.get("services", {}).get(profile["services"])
        if not services:
            raise ConfigurationError(
                f"the profile names services = {profile['services']}, but AWS's configuration has no section "
                f"[services {profile['services']}]: add it, or leave the line out"
            )
    own: str | None = services.get("dynamodb", {}).get("endpoint_url") or profile.get("endpoint_url")
    return own


async def _service_endpoint(region: str, config: Any, session: Any) -> tuple[str, str]:
    # A twin, because this runs in a thread of its own while the program may be using the session. It sends nothing, so
    # it needs none of the handlers for that.
    twin: Any = AioSession(include_builtin_handlers=False)
    for name, value in session.instance_variables().items():
        twin.set_config_variable(name, value)
    # The keys are never used: they keep the client from looking for real ones.
    unused = {"aws_access_key_id": "unused", "aws_secret_access_key": "unused"}
    async with twin.create_client("dynamodb", region_name=region, config=config, **unused) as client:
        return client.meta.endpoint_url, client.meta.region_name
