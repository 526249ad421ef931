"""One HTTP exchange: bytes out, bytes in. Knows nothing of DynamoDB; errors are those of the HTTP client."""

import io
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

import aiohttp
import botocore.awsrequest
import yarl
from botocore.exceptions import BotoCoreError

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.settings import Settings

_CONNECTOR_ARGS = frozenset(
    {"use_dns_cache", "ttl_dns_cache", "keepalive_timeout", "force_close", "resolver", "socket_factory"}
)

_WRITTEN_AT_ONCE_BYTES: Final = 2**20

_PreparedRequest: Any = botocore.awsrequest.AWSPreparedRequest


class Answer(NamedTuple):
    """An HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    """Header name -> value; names in any case."""
    body: bytes


class Channel(Protocol):
    """Sends requests to one endpoint."""

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Send once and return the answer, whatever its status."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class AiohttpChannel:
    """Sends over one aiohttp session, configured as aiobotocore configures its own.

    Args:
        settings: endpoint, pool size, timeouts and TLS.

    Raises:
        ConfigurationError: a connector argument is not one of aiohttp's.
    """

    def __init__(self, settings: Settings) -> None:
        config = settings.config
        arguments = {name: value for name, value in config.connector_args.items() if name != "ssl_context"}
        if unusable := sorted(arguments.keys() - _CONNECTOR_ARGS):
            raise ConfigurationError(
                f"AioConfig(connector_args=...) has {', '.join(unusable)}, which aiohttp does not know: "
                "leave it out, or choose the HTTP session class that it belongs to"
            )
        self._url = yarl.URL(settings.endpoint.url, encoded=True)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=config.max_pool_connections, ssl=settings.tls or True, **arguments),
            timeout=aiohttp.ClientTimeout(sock_connect=config.connect_timeout, sock_read=config.read_timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # the checksum is that of the bytes as they were sent
        )

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Send once and return the answer, whatever its status."""
        # aiohttp writes bytes at one go, and warns of it above 1 MB; a stream it writes piece by piece.
        sent = body if len(body) <= _WRITTEN_AT_ONCE_BYTES else io.BytesIO(body)
        # A redirect would send the request a second time. An answer that was read to its end, or could not be, has left
        # its connection by itself.
        response = await self._session.post(self._url, data=sent, headers=headers, allow_redirects=False)
        return Answer(response.status, response.headers, await response.read())

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


class SessionClassChannel:
    """Sends through an HTTP session class of aiobotocore, which knows proxies and other HTTP clients.

    Args:
        settings: endpoint, pool size, timeouts, proxies and the class.
    """

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


async def open_channel(settings: Settings) -> Channel:
    """Return the channel that the settings ask for.

    Raises:
        ConfigurationError: the HTTP client does not accept the settings.
    """
    if not settings.sends_by_session_class:
        return AiohttpChannel(settings)
    try:
        channel = SessionClassChannel(settings)
        await channel.open()
    except (BotoCoreError, RuntimeError, TypeError, OSError) as error:
        name = settings.config.http_session_cls.__name__
        raise ConfigurationError(f"{name} cannot be used with these settings: {error}") from error
    return channel
