"""Asks whether an engine answers, or anything listens where one should, over a plain socket."""

import socket
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from dynamap_async.service import CONTENT_TYPE, DYNAMODB

HOST = "127.0.0.1"
"""The only address that engines listen on."""

_SCOPE = f"probe/20200101/eu-west-1/{DYNAMODB.signing_name}/aws4_request"
HEADERS = {
    "Content-Type": CONTENT_TYPE,
    "X-Amz-Date": "20200101T000000Z",
    "X-Amz-Target": DYNAMODB.target("ListTables"),
    # Engines read the region from the signature's scope and verify nothing.
    "Authorization": f"AWS4-HMAC-SHA256 Credential={_SCOPE}, SignedHeaders=host, Signature=0",
}
"""The headers of a request that any local engine answers."""


def answers(port: int, *, timeout_seconds: float) -> bool:
    """Return whether a ListTables request to the port is answered with success.

    Args:
        port: the engine's port on the loopback address.
        timeout_seconds: the longest wait for each step of the request.
    """
    connection = HTTPConnection(HOST, port, timeout=timeout_seconds)
    try:
        connection.request("POST", "/", body=b"{}", headers=HEADERS)
        with connection.getresponse() as response:
            response.read()
            return response.status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def reason_unreachable(url: str, *, timeout_seconds: float) -> str:
    """Return why no connection can be made to a URL; empty if it can.

    Args:
        url: an ``http`` or ``https`` URL with a host.
        timeout_seconds: the longest wait for the connection.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or HOST, port), timeout_seconds).close()
    except (OSError, ValueError) as error:  # a port that is no number from 0 to 65535 is a ValueError
        return str(error)
    return ""
