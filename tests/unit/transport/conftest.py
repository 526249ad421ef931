"""A scripted HTTP server on loopback, and an environment without any AWS settings."""

import asyncio
import contextlib
import os
import socket
import ssl
import struct
import zlib
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from dynamap_async.config import Credentials
from dynamap_async.request import Request
from dynamap_async.transport import AioConfig, Connection, WireTransport

CREDENTIALS = Credentials(access_key_id="AKIDEXAMPLE", secret_access_key="secret")


@dataclass(frozen=True)
class Reply:
    """What the server does with one request."""

    body: bytes = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    missing_bytes: int = 0  # promised by Content-Length, never sent
    late_bytes: int = 0  # of the body, sent a moment later
    then: str = "keep"  # or "close", "reset": what becomes of the connection
    silent: bool = False
    chunked: bool = False  # in place of Content-Length; with missing_bytes the last chunk is never sent


@dataclass(frozen=True)
class Received:
    """A request as the server read it."""

    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


class ScriptedServer:
    """Answers requests in order from ``replies``; then, and between, with an empty object."""

    def __init__(self):
        self.replies: list[Reply] = []
        self.requests: list[Received] = []
        self.connections = 0
        self.open_connections = 0
        self.reset_next_connection = False
        self.asked = asyncio.Event()
        self._server = None
        self._scheme = "http"

    async def start(self, tls: ssl.SSLContext | None = None):
        self._scheme = "http" if tls is None else "https"
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)

    @property
    def url(self):
        return f"{self._scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self):
        self._server.close()
        while self.open_connections:  # noqa: ASYNC110 - only a few turns of the loop
            await asyncio.sleep(0)

    def then(self, body: bytes = b"{}", **facts):
        """Add a reply whose checksum is right, unless the headers say otherwise."""
        headers = {"x-amz-crc32": str(zlib.crc32(body)), "x-amzn-RequestId": "request-1", **facts.pop("headers", {})}
        self.replies.append(Reply(body=body, headers=headers, **facts))

    async def _serve(self, reader, writer):
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            if self.reset_next_connection:
                self.reset_next_connection = False
                await reader.readexactly(1)  # not before something was sent
                _reset(writer)
                return
            while await self._answer_one(reader, writer, number):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            self.open_connections -= 1

    async def _answer_one(self, reader, writer, number):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-1])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests.append(Received(head[0].split()[1], headers, body, number))
        self.asked.set()
        reply = self.replies.pop(0) if self.replies else Reply()
        if reply.silent:
            await reader.read()
            return False
        if reply.then == "reset":
            _reset(writer)
            return False
        length = f"Content-Length: {len(reply.body) + reply.missing_bytes}"
        length = "Transfer-Encoding: chunked" if reply.chunked else length
        lines = [f"HTTP/1.1 {reply.status} Scripted", length]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        body = reply.body
        if reply.chunked:
            body = b"%x\r\n%b\r\n" % (len(body), body) + (b"" if reply.missing_bytes else b"0\r\n\r\n")
        text = "\r\n".join([*lines, "", ""]).encode() + body
        at_once = len(text) - reply.late_bytes
        writer.write(text[:at_once])
        if reply.late_bytes:
            await writer.drain()
            await asyncio.sleep(0.002)
            writer.write(text[at_once:])
        await writer.drain()
        return reply.then == "keep"


def _reset(writer):
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@pytest.fixture(autouse=True)
def no_aws_environment(monkeypatch, tmp_path):
    """Nothing of the machine's own AWS or proxy settings reaches a test."""
    for name in os.environ:
        if name.startswith("AWS_") or name.lower().endswith("_proxy") or name == "REQUESTS_CA_BUNDLE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def aws_config_file(tmp_path):
    """Write the text of ~/.aws/config."""
    return (tmp_path / "config").write_text


@pytest_asyncio.fixture
async def server():
    scripted = ScriptedServer()
    await scripted.start()
    yield scripted
    await scripted.stop()


@pytest.fixture
def refused_url():
    """An address where nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # taken, and nobody listens
        yield f"http://127.0.0.1:{unused.getsockname()[1]}"


@pytest.fixture(params=["its own", "aiohttp"])
def connections(request):
    """What a transport sends over, unless the test says otherwise."""
    return request.param


@pytest_asyncio.fixture
async def connect(server, connections):
    """Open transports to the scripted server; closes them."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_transport(*, config=None, **facts):
            if connections == "aiohttp" and not {"http_session_cls", "proxies", "connector_args"} & {*(config or {})}:
                config = {"connector_args": {"use_dns_cache": True}, **(config or {})}
            facts = {"region": "eu-west-1", "endpoint_url": server.url, "credentials": CREDENTIALS, **facts}
            transport = WireTransport(Connection(aio_config=None if config is None else AioConfig(**config), **facts))
            await transport.open()
            stack.push_async_callback(transport.close)
            return transport

        yield open_transport


@pytest_asyncio.fixture
async def proxy_url():
    """The address of a proxy that passes on what is encrypted."""
    passing = set()

    async def copy(reader, writer):
        while piece := await reader.read(2**16):
            writer.write(piece)
        writer.close()

    async def tunnel(reader, writer):
        passing.add(asyncio.current_task())
        host, _, port = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode().rpartition(":")
        there = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            await asyncio.wait(
                [asyncio.ensure_future(copy(reader, there[1])), asyncio.ensure_future(copy(there[0], writer))]
            )

    server = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await asyncio.wait(passing)


@pytest.fixture
def get_item():
    return Request(
        operation="GetItem", body={"TableName": "tweets", "Key": {"id": {"S": "a"}}}, table="tweets", writes=False
    )
