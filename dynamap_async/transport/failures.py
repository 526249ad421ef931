"""What a failed exchange means: whether the request can have been carried out, and which error says so.

Only a connection that was never made proves that nothing was sent. botocore's classes hide that: it reports a
connection that broke after the request was read as EndpointConnectionError, like one that was refused.

The errors of aiohttp, botocore and httpx are known by name: none need be loaded.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from dynamap_async.errors import (
    ConnectionFailedError,
    DamagedResponseError,
    EncodeError,
    Outcome,
    RequestTimeoutError,
    TransportError,
)
from dynamap_async.limits import ANSWER_BYTES
from dynamap_async.native.json_text import write_json
from dynamap_async.request import Request

_DIGITS: Final = 20
"""Most digits of a number of 64 bits."""


class AnswerTooLargeError(Exception):
    """An answer is larger than DynamoDB's can be. What was read of it is dropped."""

    def __init__(self) -> None:
        super().__init__(f"the answer is larger than {ANSWER_BYTES:,} bytes")


def check_size(size: int) -> None:
    """Raise AnswerTooLargeError for more bytes than an answer can have."""
    if size > ANSWER_BYTES:
        raise AnswerTooLargeError


def check_announced(length: str) -> None:
    """Raise AnswerTooLargeError for the ``Content-Length`` of more bytes than an answer can have.

    Args:
        length: what a parser of HTTP took for a number of 64 bits, which may have thousands of zeros before it.
    """
    check_size(int(length[-_DIGITS:]))


class NotConnectedError(Exception):
    """No connection could be made, so nothing was sent; the cause says why."""


class BrokenAnswerError(Exception):
    """What came is not a whole HTTP answer."""


_NOT_CONNECTED: Final = (NotConnectedError, socket.gaierror, UnicodeError)
_NOT_CONNECTED_BY_NAME: Final = frozenset(
    {
        "aiohttp.ClientConnectorError",  # refused, unreachable, DNS, the proxy's address, TLS
        "aiohttp.ClientHttpProxyError",  # the proxy refused to connect
        "aiohttp.ConnectionTimeoutError",
        "aiohttp.ServerFingerprintMismatch",
        "aiohttp.InvalidURL",
        "botocore.InvalidProxiesConfigError",
        "botocore.SSLError",  # raised only for a failed handshake
        # WriteTimeout of httpx is not among them: part had been sent.
        "httpx.ConnectError",
        "httpx.ConnectTimeout",
        "httpx.PoolTimeout",
        "httpx.ProxyError",
    }
)
_NO_COMMON_TLS: Final = frozenset(
    {
        "HTTP_REQUEST",
        "NO_PROTOCOLS_AVAILABLE",
        "PACKET_LENGTH_TOO_LONG",
        "RECORD_LAYER_FAILURE",
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "TLSV1_ALERT_PROTOCOL_VERSION",
        "UNKNOWN_PROTOCOL",
        "UNSUPPORTED_PROTOCOL",
        "WRONG_VERSION_NUMBER",
    }
)
"""OpenSSL's reasons that say that the other side speaks no TLS, or none that this side does."""
_HOPELESS_BY_NAME: Final = frozenset({"aiohttp.InvalidURL", "botocore.InvalidProxiesConfigError"})
_WRAPS: Final = frozenset({"botocore.BotoCoreError"})
_DAMAGED_BY_NAME: Final = frozenset(
    {
        "aiohttp.ClientPayloadError",
        "aiohttp.ClientResponseError",
        "botocore.ChecksumError",
        "botocore.ResponseParserError",
    }
)
_TIMED_OUT_BY_NAME: Final = frozenset(
    {"botocore.ReadTimeoutError", "botocore.ConnectTimeoutError", "httpx.TimeoutException"}
)


def place_of(request: Request) -> str:
    """Return how messages name a request: ``GetItem on table 'tweets'``."""
    return f"{request.operation} on table {request.table!r}" if request.table else request.operation


def unsendable(request: Request, error: TypeError) -> EncodeError:
    """Return the error for a request that JSON cannot hold, so that nothing is sent. Its ``path`` leads to the value.

    Args:
        request: what was to be sent.
        error: what encoding it raised.
    """
    reason = f"{place_of(request)} cannot be sent, because this has no form in JSON: {error}"
    return EncodeError(reason).at(*_without_json(request.body))


def _without_json(part: Any) -> tuple[str | int, ...]:
    """Return the path to the first value in a part of a request that JSON cannot hold."""
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(part, dict):
        inner = cast("Mapping[str, Any]", part).items()
    elif isinstance(part, list):
        inner = enumerate(cast("list[object]", part))
    for name, value in inner:
        try:
            write_json({name: value} if isinstance(name, str) else value)
        except TypeError:
            return (name, *_without_json(value))
    return ()


def damaged(request: Request, reason: str, *, foreign: bool = False) -> DamagedResponseError:
    """Return the error for an answer that cannot be trusted.

    Args:
        request: what was asked.
        reason: what is wrong with the answer.
        foreign: it seems to come from another server than DynamoDB.
    """
    consequence = ", so whether it was carried out is unknown" if request.writes else ""
    remedy = "; check the endpoint and the proxy: this may be no DynamoDB" if foreign else ""
    return DamagedResponseError(
        f"{place_of(request)}: {reason}{consequence}{remedy}",
        outcome=Outcome.UNKNOWN,
        operation=request.operation,
        table=request.table,
    )


def packed(request: Request, encoding: str | None) -> DamagedResponseError | None:
    """Return the error for an answer with a content encoding, which no request asks for; None for one without.

    Args:
        request: what was asked.
        encoding: the answer's ``Content-Encoding``.
    """
    if not encoding or encoding.lower() == "identity":
        return None
    return damaged(request, f"the answer is packed as {encoding}, which was not asked for", foreign=True)


def transport_error(error: BaseException, request: Request, place: str = "the endpoint") -> TransportError:
    """Return the error for an exchange that brought no answer.

    Args:
        error: what the HTTP client raised.
        request: what was asked.
        place: the host that was asked and its region, for the message.
    """
    causes = _causes(error)
    # What the answer shows comes first: if any of it has arrived, the request was sent.
    if any(isinstance(cause, AnswerTooLargeError) for cause in causes):
        return _too_large(request)
    if any(_is_damage(cause) for cause in causes):
        return damaged(request, f"the answer is damaged ({describe(causes[-1])})")
    tls = _refused_handshake(causes[-1])
    not_sent = tls is not None or any(_proves_not_sent(cause) for cause in causes)
    timed_out = any(isinstance(cause, TimeoutError) or _is_one_of(_TIMED_OUT_BY_NAME, cause) for cause in causes)
    kind = RequestTimeoutError if timed_out else ConnectionFailedError
    if not_sent:
        what = f"the connection to {place} {'timed out' if timed_out else 'could not be made'}"
        consequence = f"so nothing was sent; {tls or 'check the region, the endpoint, the network and the proxy'}"
    else:
        arrived = "before the answer arrived"
        what = f"no answer of {place} arrived in time" if timed_out else f"the connection to {place} broke {arrived}"
        consequence = "so whether it was carried out is unknown"
    failure = kind(
        f"{place_of(request)}: {what} ({describe(causes[-1])}), {consequence}",
        outcome=Outcome.NOT_SENT if not_sent else Outcome.UNKNOWN,
        operation=request.operation,
        table=request.table,
    )
    failure.retryable = tls is None and not any(map(_is_hopeless, causes))
    return failure


def too_slow(request: Request, seconds: float) -> RequestTimeoutError:
    """Return the error for an attempt that was ended because it took too long.

    Args:
        request: what was asked.
        seconds: how long an attempt may take.
    """
    return RequestTimeoutError(
        f"{place_of(request)}: no complete answer arrived within {seconds:g} s, so it is unknown whether it was "
        "carried out; RetryPolicy(attempt_timeout_seconds=...) allows more time",
        outcome=Outcome.UNKNOWN,
        operation=request.operation,
        table=request.table,
    )


def _too_large(request: Request) -> DamagedResponseError:
    error = damaged(request, f"the answer has more than {ANSWER_BYTES:,} bytes and was not read", foreign=True)
    error.retryable = False
    return error


def _causes(error: BaseException) -> list[BaseException]:
    # botocore keeps the HTTP client's error as an argument. __context__ will not do: an error that is raised again
    # while the program handles another one, such as its previous attempt's, has that one as its context.
    facts: Any = error
    wrapped = facts.kwargs.get("error") if _is_one_of(_WRAPS, error) else None
    if isinstance(error, NotConnectedError):
        wrapped = error.__cause__
    return [error, wrapped] if isinstance(wrapped, BaseException) else [error]


def _is_one_of(names: frozenset[str], cause: BaseException) -> bool:
    """Return whether the class of an error, or a base of it, is among ``names``, given as package and class."""
    return any(f"{_package(kind)}.{kind.__name__}" in names for kind in type(cause).__mro__)


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0].rstrip("0123456789")  # httpx2 is httpx


def _is_damage(cause: BaseException) -> bool:
    damage = isinstance(cause, BrokenAnswerError) or _is_one_of(_DAMAGED_BY_NAME, cause)
    return damage and not _proves_not_sent(cause)


def _proves_not_sent(cause: BaseException) -> bool:
    return isinstance(cause, _NOT_CONNECTED) or _is_one_of(_NOT_CONNECTED_BY_NAME, cause)


def _is_hopeless(cause: BaseException) -> bool:
    """Return whether the endpoint's name is none that a host can have, or the settings of a proxy cannot be used."""
    return isinstance(cause, UnicodeError) or _is_one_of(_HOPELESS_BY_NAME, cause)


def _refused_handshake(cause: BaseException | None) -> str | None:
    """Return the remedy if one side refused the other's certificate or TLS version, as it would again; else None."""
    reason = ""
    while cause is not None and not reason:
        if isinstance(cause, ssl.SSLError):
            reason = getattr(cause, "reason", None) or ""  # aiohttp's are of ssl's classes, without their attributes
        cause = cause.__cause__
    if reason == "CERTIFICATE_VERIFY_FAILED":
        return "check the endpoint, or name a file of the certificate authorities to trust in AWS_CA_BUNDLE"
    if "CERTIFICATE" in reason or "UNKNOWN_CA" in reason:
        return "the server refuses the certificate that it was shown; check AioConfig(client_cert=...)"
    if reason in _NO_COMMON_TLS:
        return "check that the endpoint, or the proxy, takes https at this port"
    return None


def describe(cause: BaseException) -> str:
    """Return the class of an error, with what it says if it says anything."""
    return f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
