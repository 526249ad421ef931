"""The engine in the process over HTTP: what other programs and other clients see."""

import json
import socket
from contextlib import closing, contextmanager, suppress
from zlib import crc32

import pytest

from dynamap_async.simulated import Server, SimulatedDynamoDB

SECONDS = 60


@pytest.fixture
def server():
    server = Server(SimulatedDynamoDB(), socket.create_server(("127.0.0.1", 0)))
    with closing(server):
        yield server


@contextmanager
def connection_to(server):
    """Connect to a server; give what sends, and the file of what comes."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
    with connection, connection.makefile("rb") as file:
        yield connection.sendall, file


@pytest.fixture
def connected(server):
    with connection_to(server) as connected:
        yield connected


def request(operation, body=b"{}", more=b""):
    return b"POST / HTTP/1.1\r\nHost: here\r\nX-Amz-Target: DynamoDB_20120810.%s\r\n%sContent-Length: %d\r\n\r\n%s" % (
        operation.encode(),
        more,
        len(body),
        body,
    )


def answer(file):
    """Return status, headers and body of the next answer."""
    status = int(file.readline().split()[1])
    headers = {}
    while (line := file.readline().strip()) != b"":
        name, _, value = line.partition(b": ")
        headers[name.decode().lower()] = value.decode()
    return status, headers, file.read(int(headers["content-length"]))


def test_answers_have_a_checksum_a_media_type_and_an_id(connected):
    send, file = connected
    send(request("ListTables"))
    status, headers, body = answer(file)
    assert (status, json.loads(body)) == (200, {"TableNames": []})
    assert headers["x-amz-crc32"] == str(crc32(body))
    assert headers["content-type"] == "application/x-amz-json-1.0"
    assert headers["x-amzn-requestid"]


def test_requests_that_come_together_are_answered_in_order(connected):
    send, file = connected
    send(request("ListTables") + request("Nonsense") + request("DescribeLimits"))
    assert [answer(file)[0] for _ in range(3)] == [200, 400, 200]


def test_a_client_that_asks_for_it_has_its_connection_closed(connected):
    send, file = connected
    send(request("ListTables", more=b"Connection: close\r\n"))
    assert answer(file)[1]["connection"] == "close"
    assert file.read() == b""


def test_a_request_without_an_operation_is_refused(connected):
    send, file = connected
    send(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    status, _headers, body = answer(file)
    assert status == 400
    assert json.loads(body)["__type"].endswith("#UnknownOperationException")


def test_what_is_no_http_ends_its_connection_only(server, connected):
    send, file = connected
    send(b"\0\0\0\r\n\r\n")
    assert file.read() == b""
    with connection_to(server) as (send, file):
        send(request("ListTables"))
        assert answer(file)[0] == 200


def test_closing_ends_connections_and_the_thread(server, connected):
    send, file = connected
    send(request("ListTables"))
    answer(file)
    server.close()
    with suppress(ConnectionResetError):  # as an aborted connection may end
        assert file.read() == b""
    assert not server._thread.is_alive()
