"""What a failed exchange means: whether the request can have been carried out, and which error says so.

Only a connection that was never made proves that nothing was sent. botocore's classes hide that: it reports a
connection that broke after the request was read as EndpointConnectionError, like one that was refused.
"""

import socket
from typing import Any

import aiohttp
from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ConnectTimeoutError,
    HTTPClientError,
    ReadTimeoutError,
    SSLError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from dynamap_async.errors import (
    ConnectionFailedError,
    DamagedResponseError,
    Outcome,
    RequestTimeoutError,
    TransportError,
)
from dynamap_async.request import Request

EXCHANGE_ERRORS = (aiohttp.ClientError, BotoCoreError, OSError)
"""What an exchange that failed raises, whichever HTTP client made it; a timeout is an OSError."""

LOST_ANSWERS = (HTTPClientError, BotoConnectionError, ChecksumError, ResponseParserError, aiohttp.ClientError, OSError)
"""Those of them that an aiobotocore client raises for an exchange, not for its own configuration."""

_NOT_CONNECTED = (
    aiohttp.ClientConnectorError,  # refused, unreachable, DNS, the proxy's address, TLS
    aiohttp.ClientHttpProxyError,  # the proxy refused to connect
    aiohttp.ConnectionTimeoutError,
    aiohttp.ServerFingerprintMismatch,
    socket.gaierror,
    SSLError,  # botocore's, raised only for a failed handshake
)
_DAMAGED = (aiohttp.ClientPayloadError, aiohttp.ClientResponseError, ChecksumError, ResponseParserError)
_TIMED_OUT = (TimeoutError, ReadTimeoutError, ConnectTimeoutError)
# httpx is not a dependency, so its errors are known by name. WriteTimeout is not among them: part had been sent.
_HTTPX_NOT_CONNECTED = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"})


def place_of(request: Request) -> str:
    """Return how messages name a request: ``GetItem on table 'tweets'``."""
    return f"{request.operation} on table {request.table!r}" if request.table else request.operation


def damaged(request: Request, reason: str) -> DamagedResponseError:
    """Return the error of an answer that cannot be believed."""
    return DamagedResponseError(
        f"{place_of(request)}: {reason}, so whether it was carried out is unknown",
        outcome=Outcome.UNKNOWN,
        operation=request.operation,
        table=request.table,
    )


def transport_error(error: BaseException, request: Request) -> TransportError:
    """Return the error of an exchange that brought no answer."""
    causes = _causes(error)
    if any(isinstance(cause, _DAMAGED) and not isinstance(cause, _NOT_CONNECTED) for cause in causes):
        return damaged(request, f"the answer is damaged ({_describe(causes[-1])})")
    not_sent = any(_proves_not_sent(cause) for cause in causes)
    timed_out = any(isinstance(cause, _TIMED_OUT) for cause in causes)
    kind = RequestTimeoutError if timed_out else ConnectionFailedError
    if not_sent:
        what = "the connection timed out" if timed_out else "the connection could not be made"
        consequence = "so nothing was sent; check the endpoint, the network and the proxy"
    else:
        what = "no answer arrived in time" if timed_out else "the connection broke before the answer arrived"
        consequence = "so whether it was carried out is unknown"
    return kind(
        f"{place_of(request)}: {what} ({_describe(causes[-1])}), {consequence}",
        outcome=Outcome.NOT_SENT if not_sent else Outcome.UNKNOWN,
        operation=request.operation,
        table=request.table,
    )


def _causes(error: BaseException) -> list[BaseException]:
    # botocore keeps the HTTP client's error as an argument. __context__ will not do: an error that is raised again
    # while the program handles another one, such as its previous attempt's, has that one as its context.
    facts: Any = error
    wrapped = facts.kwargs.get("error") if isinstance(error, BotoCoreError) else None
    return [error, wrapped] if isinstance(wrapped, BaseException) else [error]


def _proves_not_sent(cause: BaseException) -> bool:
    kind = type(cause)
    return isinstance(cause, _NOT_CONNECTED) or (
        kind.__module__.startswith("httpx") and kind.__name__ in _HTTPX_NOT_CONNECTED
    )


def _describe(cause: BaseException) -> str:
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
