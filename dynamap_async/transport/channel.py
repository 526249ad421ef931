"""One HTTP exchange: bytes out, bytes in. Knows nothing of DynamoDB; errors are those of the HTTP client."""

import io
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

import aiohttp
import yarl

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.endpoint import Endpoint
from dynamap_async.transport.failures import EXCHANGE_ERRORS, check_size
from dynamap_async.transport.settings import Settings

_CONNECTOR_ARGS = frozenset(
    {"use_dns_cache", "ttl_dns_cache", "keepalive_timeout", "force_close", "resolver", "socket_factory"}
)

_WRITTEN_AT_ONCE_BYTES: Final = 2**20


class Answer(NamedTuple):
    """An HTTP answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    """Header name -> value; names in any case."""
    body: bytes


class Channel(Protocol):
    """Sends requests to one endpoint."""

    errors: tuple[type[BaseException], ...]
    """What ``post`` raises where an exchange fails."""

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
        longest_connect_seconds: how long connecting may take at most, whatever the settings say.

    Raises:
        ConfigurationError: a connector argument is not one of aiohttp's.
    """

    errors: tuple[type[BaseException], ...] = EXCHANGE_ERRORS

    def __init__(self, settings: Settings, longest_connect_seconds: float) -> None:
        config = settings.config
        connecting = connect_seconds(config, longest_connect_seconds)
        arguments = {name: value for name, value in config.connector_args.items() if name != "ssl_context"}
        if unusable := sorted(arguments.keys() - _CONNECTOR_ARGS):
            raise ConfigurationError(
                f"AioConfig(connector_args=...) has {', '.join(unusable)}, which aiohttp does not know: "
                "leave it out, or choose the HTTP session class that it belongs to"
            )
        self._url = yarl.URL(settings.endpoint.url, encoded=True)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=config.max_pool_connections, ssl=settings.tls or True, **arguments),
            timeout=aiohttp.ClientTimeout(
                connect=longest_connect_seconds, sock_connect=connecting, sock_read=config.read_timeout
            ),
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
        content = response.content
        # Most answers are here as a whole by now; to wait for what is here takes five more calls (benchmarks: get_one).
        text = content.read_nowait() if content.is_eof() else await read_body(response)
        check_size(len(text))
        return Answer(response.status, response.headers, text)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


class NoHostChannel:
    """Stands for the connection to an endpoint whose name no host can have: an error in place of each answer.

    Resolvers look such names up, or raise an error of their own; neither need be found out anew for each request.
    """

    errors: tuple[type[BaseException], ...] = (UnicodeError,)

    def __init__(self, endpoint: Endpoint) -> None:
        self._host: Final = endpoint.host

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Raise UnicodeError."""
        raise UnicodeError(f"{self._host!r} is no name that a host can have")

    async def close(self) -> None:
        """Do nothing."""


def connect_seconds(config: Any, longest: float) -> float:
    """Return how long connecting may take, by a configuration and at most."""
    configured: float | None = config.connect_timeout
    return longest if configured is None else min(configured, longest)


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer.

    Raises:
        AnswerTooLargeError: it is larger than it can be. The rest of it is not read.
    """
    try:
        check_size(response.content_length or 0)
        text = bytearray()
        async for piece in response.content.iter_any():
            text += piece
            check_size(len(text))
    except BaseException:
        response.close()  # nothing else can be sent over its connection
        raise
    return bytes(text)
