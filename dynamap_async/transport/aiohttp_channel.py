"""HTTP exchanges over aiohttp, for the connector arguments that only it knows."""

from __future__ import annotations

import asyncio
import io
from typing import Final

import aiohttp
import yarl
from aiohttp.connector import Connection

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.channel import Answer, connect_seconds
from dynamap_async.transport.failures import AnswerTooLargeError, NotConnectedError, check_announced, check_size
from dynamap_async.transport.settings import ConnectionSettings

_CONNECTOR_ARGS: Final = frozenset(
    {"use_dns_cache", "ttl_dns_cache", "keepalive_timeout", "force_close", "resolver", "socket_factory"}
)
_WRITTEN_AT_ONCE_BYTES: Final = 2**20

EXCHANGE_ERRORS: Final = (aiohttp.ClientError, OSError, UnicodeError, NotConnectedError, AnswerTooLargeError)
"""What an exchange over aiohttp that failed raises; a timeout is an OSError, a name that no host has a UnicodeError."""


class CheckedRequest(aiohttp.ClientRequest):
    """A request that is not sent where data came before it: aiohttp would take that for the answer."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        """Send it.

        Args:
            conn: the connection that was chosen.

        Raises:
            NotConnectedError: the connection ended, or has something to read; nothing was sent.
        """
        await asyncio.sleep(0)  # the event loop looks at its sockets,
        await asyncio.sleep(0)  # and has read what had come
        if conn.protocol is None or conn.protocol.should_close:
            raise NotConnectedError from ConnectionResetError("the connection ended, or an answer came unasked")
        return await super().send(conn)


class AiohttpChannel:
    """Send requests over one aiohttp session, configured as aiobotocore configures its own.

    Args:
        settings: endpoint, pool size, timeouts and TLS.
        longest_connect_seconds: how long connecting may take at most, whatever the settings say.

    Raises:
        ConfigurationError: a connector argument is not one of aiohttp's.
    """

    name = "aiohttp"
    errors: tuple[type[BaseException], ...] = EXCHANGE_ERRORS

    def __init__(self, settings: ConnectionSettings, longest_connect_seconds: float) -> None:
        config = settings.config
        connecting = connect_seconds(config, longest_connect_seconds)
        arguments = {name: value for name, value in config.connector_args.items() if name != "ssl_context"}
        if unusable := sorted(arguments.keys() - _CONNECTOR_ARGS):
            raise ConfigurationError(
                f"AioConfig(connector_args=...) has {', '.join(unusable)}, which aiohttp does not know; drop it, or "
                "choose the HTTP session class that it belongs to"
            )
        if arguments.get("force_close"):
            arguments.pop("keepalive_timeout", None)  # an AioConfig always has one, and aiohttp refuses the two
        self._url = yarl.URL(settings.endpoint.url, encoded=True)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=config.max_pool_connections, ssl=settings.tls or True, **arguments),
            timeout=aiohttp.ClientTimeout(
                connect=longest_connect_seconds, sock_connect=connecting, sock_read=config.read_timeout
            ),
            request_class=CheckedRequest,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # the checksum is that of the bytes as they were sent
            headers=settings.headers,
        )

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Send once and return the answer, whatever its status."""
        # aiohttp writes bytes at one go, and warns of it above 1 MB; a stream it writes piece by piece.
        sent = body if len(body) <= _WRITTEN_AT_ONCE_BYTES else io.BytesIO(body)
        # A redirect would send the request a second time. An answer that was read to its end, or could not be, has left
        # its connection by itself.
        response = await self._session.post(self._url, data=sent, headers=headers, allow_redirects=False)
        return Answer(response.status, response.headers, await read_body(response))

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer.

    Raises:
        AnswerTooLargeError: it is larger than it can be. The rest of it is not read.
    """
    try:
        check_announced(response.headers.get("content-length", "0"))
        text = bytearray()
        async for piece in response.content.iter_any():
            text += piece
            check_size(len(text))
    except BaseException:
        response.close()  # nothing else can be sent over its connection
        raise
    return bytes(text)
