"""Which region and which address requests go to, found as botocore finds them."""

import asyncio
import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import botocore.utils
from aiobotocore.session import AioSession

from dynamap_async.errors import ConfigurationError

_utils: Any = botocore.utils
_DEFAULT_PORTS = {"http": 80, "https": 443}
_ENVIRONMENT = ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An address that takes DynamoDB requests."""

    url: str
    """The whole address, with a path."""

    host: str
    """The value of the ``Host`` header: lower case, with the port unless it is the scheme's own."""

    path: str
    """The path as a signature wants it."""

    region: str
    """The region that signatures are made for."""

    @property
    def encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return self.url.startswith("https:")


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
    url = given or _environment_endpoint(config, session)
    if url is None:
        url, region = asyncio.run(_service_endpoint(region, config, session))
    return to_endpoint(url, region)


def to_endpoint(url: str, region: str) -> Endpoint:
    """Take an address apart.

    Raises:
        ConfigurationError: it is not a plain HTTP address.
    """
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"the endpoint {url!r} is not an address: {error}") from error
    if parts.scheme not in _DEFAULT_PORTS or not name or "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError(
            f'the endpoint {url!r} must look like "https://host" or "http://host:8000", '
            "without a user, a query or a fragment"
        )
    host = f"[{name}]" if ":" in name else name
    if port is not None and port != _DEFAULT_PORTS[parts.scheme]:
        host = f"{host}:{port}"
    path = parts.path or "/"
    return Endpoint(url=f"{parts.scheme}://{host}{path}", host=host, path=quote(path, safe="/~"), region=region)


def _environment_endpoint(config: Any, session: Any) -> str | None:
    # The environment stands above the profile, so answering from it needs no client; a profile's endpoint does.
    ignored = config.ignore_configured_endpoint_urls
    if ignored is None:
        ignored = session.get_config_variable("ignore_configured_endpoint_urls")
    if ignored:
        return None
    return next((os.environ[name] for name in _ENVIRONMENT if os.environ.get(name)), None)


async def _service_endpoint(region: str, config: Any, session: Any) -> tuple[str, str]:
    # A twin, because this runs in a thread of its own while the program may be using the session.
    twin: Any = AioSession()
    for name, value in session.instance_variables().items():
        twin.set_config_variable(name, value)
    # The keys are never used: they keep the client from looking for real ones.
    unused = {"aws_access_key_id": "unused", "aws_secret_access_key": "unused"}
    async with twin.create_client("dynamodb", region_name=region, config=config, **unused) as client:
        return client.meta.endpoint_url, client.meta.region_name
