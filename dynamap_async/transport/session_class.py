"""HTTP exchanges through a session class of aiobotocore."""

from __future__ import annotations

from typing import Any, Final

import aiohttp
import botocore.awsrequest
from aiobotocore.httpsession import AIOHTTPSession
from botocore.exceptions import BotoCoreError, HTTPClientError

from dynamap_async.errors import ConfigurationError
from dynamap_async.transport.aiohttp_channel import EXCHANGE_ERRORS, CheckedRequest, read_body
from dynamap_async.transport.channel import Answer, Channel, connect_seconds
from dynamap_async.transport.failures import AnswerTooLargeError, check_size
from dynamap_async.transport.settings import ConnectionSettings

_PreparedRequest: Any = botocore.awsrequest.AWSPreparedRequest


class SessionClassChannel:
    """Sends requests through an HTTP session class of aiobotocore, which knows proxies and other HTTP clients.

    Args:
        settings: endpoint, pool size, timeouts, proxies and the class.
        longest_connect_seconds: how long connecting may take at most, whatever the settings say.
    """

    errors: tuple[type[BaseException], ...] = (BotoCoreError, *EXCHANGE_ERRORS)

    def __init__(self, settings: ConnectionSettings, longest_connect_seconds: float) -> None:
        config = settings.config
        kind = config.http_session_cls
        self.name: Final = f"{kind.__module__}.{kind.__qualname__}"
        self._url: Final = settings.endpoint.url
        self._headers: Final = settings.headers
        self._http: Any = _checking(kind)(
            timeout=(connect_seconds(config, longest_connect_seconds), config.read_timeout),
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
        prepared = _PreparedRequest("POST", self._url, {**headers, **self._headers}, body, stream_output=True)
        response = await self._http.send(prepared)
        return Answer(response.status_code, response.headers, await _read(response))

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()


def _checking(kind: type[Any]) -> type[Any]:
    """Return a session class that looks at a connection before it sends, where it sends over aiohttp."""
    if not issubclass(kind, AIOHTTPSession):
        return kind

    base: Any = kind

    async def get_session(self: Any, proxy_url: str | None) -> Any:
        session = await base._get_session(self, proxy_url)  # noqa: SLF001 - aiobotocore has no public way
        session._request_class = CheckedRequest  # noqa: SLF001 - nor does it let anybody else make the session
        return session

    return type(kind.__name__, (kind,), {"_get_session": get_session, "__module__": kind.__module__})


async def open_session_class(settings: ConnectionSettings, longest_connect_seconds: float) -> Channel:
    """Return the channel of the class that the settings name.

    Raises:
        ConfigurationError: the class does not accept the settings.
    """
    try:
        channel = SessionClassChannel(settings, longest_connect_seconds)
        await channel.open()
    except (BotoCoreError, RuntimeError, TypeError, OSError) as error:
        name = settings.config.http_session_cls.__name__
        raise ConfigurationError(f"{name} cannot be used with these settings: {error}") from error
    return channel


async def _read(response: Any) -> bytes:
    """Return the body of an answer, as it was sent.

    Raises:
        AnswerTooLargeError: it is larger than it can be. The rest of it is not read.
        HTTPClientError: the answer broke off.
    """
    raw = response.raw
    if isinstance(raw, aiohttp.ClientResponse):
        return await read_body(raw)
    if not hasattr(raw, "aiter_raw"):  # the class is neither on aiohttp nor on httpx
        whole: bytes = await response.content
        check_size(len(whole))
        return whole
    text = bytearray()
    try:
        async for piece in raw.aiter_raw():  # not inflated: the checksum is that of the bytes as they were sent
            text += piece
            check_size(len(text))
    except AnswerTooLargeError:
        raise
    except Exception as error:
        raise HTTPClientError(error=error) from error
    finally:
        await raw.aclose()
    return bytes(text)
