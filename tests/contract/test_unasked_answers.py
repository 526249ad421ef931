"""What every transport promises of a server that says more, or something else, than it was asked for."""

import asyncio
import fcntl
import gzip
import os
import termios
import zlib

import pytest

from dynamap_async.errors import ConnectionFailedError, DamagedResponseError, Outcome
from dynamap_async.request import Request

pytestmark = pytest.mark.asyncio

GET = Request(operation="GetItem", body={"TableName": "t", "Key": {"id": {"S": "a"}}}, table="t")


def answer(name):
    body = b'{"Item":{"id":{"S":"%b"}}}' % name.encode()
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\n"
    return f"{head}Content-Length: {len(body)}\r\nx-amz-crc32: {zlib.crc32(body)}\r\n\r\n".encode() + body


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))


async def name_from(transport):
    while True:
        try:
            return (await transport.send(GET))["Item"]["id"]["S"]
        except ConnectionFailedError as error:  # an executor sends it again
            if error.outcome is not Outcome.NOT_SENT:
                raise


TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "behind",
    [answer("unasked"), answer("unasked")[:-1], TIMED_OUT, answer("unasked") + TIMED_OUT],
    ids=["another", "a part of another", "408", "two"],
)
async def test_of_answers_that_come_at_one_go_the_first_is_the_callers(to_server, behind):
    connections = []

    async def serve(reader, writer):
        connections.append(writer)
        await read_request(reader)
        writer.write(answer(f"first of {len(connections)}") + behind)
        await reader.read()

    transport = await to_server(serve)
    assert [await name_from(transport) for _ in range(2)] == ["first of 1", "first of 2"]


def wait_until_it_is_there(writer):
    """Wait, without a turn of the event loop, until the other end has received what was written."""
    while any(fcntl.ioctl(writer.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))):
        os.sched_yield()


@pytest.mark.parametrize("told", [True, False], ids=["while it was idle", "while the event loop was busy"])
async def test_an_answer_that_came_before_the_request_is_nobodys(request, to_server, way, told):
    if way == "client":
        reason = "aiohttp takes it; a client that the program brings sends by itself, and does not let us look before"
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    connections = []

    async def serve(reader, writer):
        connections.append(writer)
        while True:
            await read_request(reader)
            writer.write(answer(f"of {len(connections)}"))

    transport = await to_server(serve)
    assert await name_from(transport) == "of 1"
    connections[0].write(answer("unasked"))
    wait_until_it_is_there(connections[0])
    if told:
        for _ in range(5):
            await asyncio.sleep(0)
    assert await name_from(transport) == "of 2"


@pytest.mark.parametrize("checksum", [True, False], ids=["its checksum", "no checksum"])
async def test_an_answer_that_nobody_asked_to_be_packed_is_named(to_server, checksum):
    async def serve(reader, writer):
        await read_request(reader)
        body = gzip.compress(b'{"Item":{"id":{"S":"a"}}}')
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Encoding: gzip\r\n")
        writer.write(b"x-amz-crc32: %d\r\n" % zlib.crc32(body) if checksum else b"")
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await reader.read()

    transport = await to_server(serve)
    with pytest.raises(DamagedResponseError, match="packed.*which was not asked for"):
        await transport.send(GET)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        (b"Content-Length: ", b"Content-Length: " + b"0" * 5000),
        (b"\r\n\r\n", b"   \r\n\r\n"),
        (b"\r\n\r\n", b"\r\nContent-Encoding: \r\n\r\n"),
    ],
    ids=["zeros before its length", "spaces behind its checksum", "a packing without a name"],
)
async def test_an_answer_is_read_however_its_headers_are_written(to_server, said, written):
    async def serve(reader, writer):
        await read_request(reader)
        whole = answer("a").replace(said, written)
        writer.write(whole[:-1])
        await writer.drain()
        for _ in range(3):
            await asyncio.sleep(0)  # a part of it is looked at before the rest is here
        writer.write(whole[-1:])
        await reader.read()

    assert await name_from(await to_server(serve)) == "a"


@pytest.mark.parametrize("status", ["204 No Content", "205 Reset Content", "101 Switching Protocols"])
async def test_an_answer_of_a_status_that_has_no_content_is_damaged(to_server, status):
    async def serve(reader, writer):
        await read_request(reader)
        writer.write(f"HTTP/1.1 {status}\r\n".encode())
        writer.write(b"Content-Length: 0\r\n\r\n" if status.startswith("205") else b"\r\n")
        await reader.read()

    with pytest.raises(DamagedResponseError) as raised:
        await (await to_server(serve)).send(GET)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("body", [b"[]", b"5", b'"Item"', b"[[]]"])
async def test_an_answer_that_is_no_json_object_is_damaged(to_server, body):
    async def serve(reader, writer):
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await reader.read()

    with pytest.raises(DamagedResponseError):
        await (await to_server(serve)).send(GET)
