import ssl
from unittest.mock import Mock

import aiohttp
import botocore.exceptions as boto
import pytest
from botocore.parsers import ResponseParserError

from dynamap_async.errors import ConnectionFailedError, DamagedResponseError, Outcome, RequestTimeoutError
from dynamap_async.request import Request
from dynamap_async.transport.endpoint import to_endpoint
from dynamap_async.transport.failures import transport_error, unsendable

KEY = Mock(host="h", port=1, ssl=True)
REFUSED = aiohttp.ClientConnectorError(KEY, OSError(111, "refused"))
BROKEN = aiohttp.ClientOSError(104, "reset")
URL = {"endpoint_url": "http://h"}


def httpx_error(name):
    """httpx need not be installed: its errors are known by name."""
    return type(name, (Exception,), {"__module__": "httpx"})()


def judged(error):
    found = transport_error(error, Request(operation="PutItem", body={}, table="tweets"))
    return type(found), found.outcome


@pytest.mark.parametrize(
    "error",
    [
        REFUSED,
        aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "no such host")),
        aiohttp.ClientConnectorSSLError(KEY, ssl.SSLError(1, "handshake")),
        aiohttp.ClientConnectorCertificateError(KEY, ssl.CertificateError("certificate")),
        aiohttp.ClientProxyConnectionError(KEY, OSError(111, "refused")),
        aiohttp.ClientHttpProxyError(Mock(), (), status=407),
        boto.EndpointConnectionError(error=REFUSED, **URL),
        boto.ProxyConnectionError(error=REFUSED, proxy_url="http://p"),
        boto.SSLError(error=ssl.SSLError(1, "handshake"), **URL),
        boto.EndpointConnectionError(error=httpx_error("ConnectError"), **URL),
        boto.ProxyConnectionError(error=httpx_error("ProxyError"), proxy_url="http://p"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_connection_that_was_never_made_was_not_sent(error):
    assert judged(error) == (ConnectionFailedError, Outcome.NOT_SENT)


@pytest.mark.parametrize(
    "error",
    [
        aiohttp.ConnectionTimeoutError("Connection timeout to host"),
        boto.ConnectTimeoutError(error=aiohttp.ConnectionTimeoutError("Connection timeout"), **URL),
        boto.ConnectTimeoutError(error=httpx_error("ConnectTimeout"), **URL),
        boto.ConnectTimeoutError(error=httpx_error("PoolTimeout"), **URL),
    ],
)
def test_connect_timeout_was_not_sent(error):
    assert judged(error) == (RequestTimeoutError, Outcome.NOT_SENT)


@pytest.mark.parametrize(
    "error",
    [
        aiohttp.SocketTimeoutError("Timeout on reading data from socket"),
        TimeoutError(),
        boto.ReadTimeoutError(error=aiohttp.SocketTimeoutError(), **URL),
        boto.ConnectTimeoutError(error=httpx_error("WriteTimeout"), **URL),
        boto.ReadTimeoutError(error=httpx_error("ReadTimeout"), **URL),
    ],
)
def test_timeout_after_connecting_leaves_the_outcome_unknown(error):
    assert judged(error) == (RequestTimeoutError, Outcome.UNKNOWN)


@pytest.mark.parametrize(
    "error",
    [
        BROKEN,
        aiohttp.ServerDisconnectedError(),
        ConnectionResetError(),
        boto.EndpointConnectionError(error=BROKEN, **URL),
        boto.ConnectionClosedError(error=aiohttp.ServerDisconnectedError(), **URL),
        boto.HTTPClientError(error=RuntimeError("anything")),
    ],
)
def test_broken_connection_leaves_the_outcome_unknown(error):
    assert judged(error) == (ConnectionFailedError, Outcome.UNKNOWN)


@pytest.mark.parametrize(
    "error",
    [
        aiohttp.ClientPayloadError("truncated"),
        aiohttp.ClientResponseError(Mock(), (), status=400, message="bad status line"),
        boto.ConnectionClosedError(error=aiohttp.ClientPayloadError("truncated"), **URL),
        boto.ChecksumError(checksum_type="crc32", expected_checksum=1, actual_checksum=2),
        ResponseParserError("no JSON"),
    ],
)
def test_unreadable_answer_is_damaged(error):
    assert judged(error) == (DamagedResponseError, Outcome.UNKNOWN)


def tls_error(reason, kind=ssl.SSLError):
    error = kind(1, f"[SSL: {reason}] {reason.lower()}")
    error.reason = reason
    return error


def over_aiohttp(kind, cause):
    error = kind(KEY, cause)
    error.__cause__ = cause
    return error


UNTRUSTED = tls_error("CERTIFICATE_VERIFY_FAILED", ssl.SSLCertVerificationError)
HANDSHAKES = [
    (UNTRUSTED, "AWS_CA_BUNDLE"),
    (tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "client_cert"),
    (tls_error("TLSV1_ALERT_UNKNOWN_CA"), "client_cert"),
    (tls_error("WRONG_VERSION_NUMBER"), "takes https"),
]
"""Why a handshake failed that would fail again, and what the remedy names."""


@pytest.mark.parametrize(("cause", "remedy"), HANDSHAKES, ids=[each.reason for each, _ in HANDSHAKES])
@pytest.mark.parametrize(
    "as_raised",
    [
        lambda cause: cause,
        lambda cause: over_aiohttp(aiohttp.ClientConnectorCertificateError, cause),
        lambda cause: over_aiohttp(aiohttp.ClientConnectorSSLError, cause),
        lambda cause: boto.SSLError(error=over_aiohttp(aiohttp.ClientConnectorSSLError, cause), **URL),
        lambda cause: boto.SSLError(error=cause, **URL),
    ],
    ids=["plain", "aiohttp certificate", "aiohttp", "botocore over aiohttp", "botocore"],
)
def test_a_handshake_that_would_be_refused_again_is_not_tried_again(cause, remedy, as_raised):
    found = transport_error(as_raised(cause), Request(operation="PutItem", body={}, table="tweets"))
    assert (type(found), found.outcome, found.retryable) == (ConnectionFailedError, Outcome.NOT_SENT, False)
    assert remedy in str(found)


@pytest.mark.parametrize(
    "cause", [ssl.SSLEOFError(8, "EOF occurred"), tls_error("TLSV1_ALERT_INTERNAL_ERROR")], ids=["end", "server"]
)
def test_a_handshake_that_broke_off_is_tried_again(cause):
    found = transport_error(
        over_aiohttp(aiohttp.ClientConnectorSSLError, cause), Request(operation="PutItem", body={}, table="t")
    )
    assert (found.outcome, found.retryable) == (Outcome.NOT_SENT, True)


def test_error_that_the_program_is_handling_does_not_count_as_the_cause():
    lost = boto.EndpointConnectionError(error=BROKEN, **URL)
    try:
        try:
            raise REFUSED
        except aiohttp.ClientConnectorError:
            raise lost  # noqa: B904 - the context is what is tested
    except boto.EndpointConnectionError:
        assert lost.__context__ is REFUSED
    assert judged(lost) == (ConnectionFailedError, Outcome.UNKNOWN)


def test_message_says_what_happened_to_the_request():
    request = Request(operation="PutItem", body={}, table="tweets")
    assert "nothing was sent" in str(transport_error(REFUSED, request))
    assert "PutItem on table 'tweets'" in str(transport_error(BROKEN, request))
    assert "unknown" in str(transport_error(BROKEN, request))


@pytest.mark.parametrize("error", [REFUSED, BROKEN, TimeoutError(), aiohttp.ConnectionTimeoutError()], ids=type)
def test_message_names_the_host_and_its_region(error):
    place = to_endpoint("https://dynamodb.eu-wst-1.amazonaws.com", "eu-wst-1").place
    message = str(transport_error(error, Request(operation="PutItem", body={}, table="t"), place))
    assert "dynamodb.eu-wst-1.amazonaws.com (region 'eu-wst-1')" in message


UNSENDABLE = {
    "text": ({"TableName": "tweets", "Key": {"id": {"S": "\ud800"}}}, ("Key", "id", "S")),
    "name": ({"TableName": "tweets", "Key": {"\ud800": {"S": "a"}}}, ("Key", "\ud800")),
    "number": ({"TableName": "tweets", "Limit": 10**30}, ("Limit",)),
    "position": ({"TableName": "tweets", "Items": [1, "\ud800"]}, ("Items", 1)),
}
"""Bodies that have no form in JSON, with where."""


@pytest.mark.parametrize(("body", "path"), UNSENDABLE.values(), ids=UNSENDABLE)
def test_a_request_that_has_no_form_in_json_says_where(body, path):
    error = unsendable(Request(operation="GetItem", body=body, table="tweets"), TypeError("why"))
    assert "GetItem on table 'tweets' cannot be sent" in str(error)
    assert error.path == path
