"""HTTP exchanges through a session class of aiobotocore."""

from typing import Any

import botocore.awsrequest
from botocore.exceptions import BotoCoreError

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.channel import Answer, Channel
from dynamap_async.transport.failures import EXCHANGE_ERRORS
from dynamap_async.transport.settings import Settings

_PreparedRequest: Any = botocore.awsrequest.AWSPreparedRequest


class SessionClassChannel:
    """Sends through an HTTP session class of aiobotocore, which knows proxies and other HTTP clients.

    Args:
        settings: endpoint, pool size, timeouts, proxies and the class.
    """

    errors: tuple[type[BaseException], ...] = (BotoCoreError, *EXCHANGE_ERRORS)

    def __init__(self, settings: Settings) -> None:
        config = settings.config
        self._url = settings.endpoint.url
        self._http: Any = config.http_session_cls(
            timeout=(config.connect_timeout, config.read_timeout),
            proxies=settings.proxies,
            verify=settings.verify,
            max_pool_connections=config.max_pool_connections,
            client_cert=config.client_cert,
            proxies_config=config.proxies_config,
            connector_args=config.connector_args,
        )

    async def open(self) -> None:
        """Get ready to send."""
        await self._http.__aenter__()

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Send once and return the answer, whatever its status."""
        response = await self._http.send(_PreparedRequest("POST", self._url, headers, body, stream_output=False))
        return Answer(response.status_code, response.headers, await response.content)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()


async def open_session_class(settings: Settings) -> Channel:
    """Return the channel of the class that the settings name.

    Raises:
        ConfigurationError: the class does not accept the settings.
    """
    try:
        channel = SessionClassChannel(settings)
        await channel.open()
    except (BotoCoreError, RuntimeError, TypeError, OSError) as error:
        name = settings.config.http_session_cls.__name__
        raise ConfigurationError(f"{name} cannot be used with these settings: {error}") from error
    return channel
