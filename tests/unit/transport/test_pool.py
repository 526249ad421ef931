"""Connections of our own, against servers that do whatever servers do. What aiohttp does too is tested for both."""

import asyncio
import contextlib
import contextvars
import gc
import math
import os
import socket
from dataclasses import replace
from types import SimpleNamespace

import pytest
import pytest_asyncio

from dynamap_async import Model, PartitionKey, Session
from dynamap_async.config import Credentials
from dynamap_async.errors import (
    ConfigurationError,
    ConnectionFailedError,
    DamagedResponseError,
    Outcome,
    RequestRejectedError,
    RequestTimeoutError,
)
from dynamap_async.operations import Find
from dynamap_async.request import Request
from dynamap_async.service import DYNAMODB, STREAMS
from dynamap_async.transport import AioConfig, Connection, WireTransport, http1, pool

pytestmark = pytest.mark.asyncio

CREDENTIALS = Credentials(access_key_id="AKID", secret_access_key="s")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Item(Model, table="items"):
    id: PartitionKey[str]


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


class RawServer:
    """Serves each connection by a function of the test's: (number of the connection from 1 on, reader, writer)."""

    def __init__(self):
        self.connections = 0
        self._serving = set()

    async def start(self, serve):
        async def accept(reader, writer):
            self.connections += 1
            task = asyncio.current_task()
            self._serving.add(task)
            try:
                with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                    await serve(self.connections, reader, writer)
            finally:
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()
                self._serving.discard(task)

        self._server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self):
        self._server.close()
        while self._serving:
            await asyncio.wait(self._serving)


@pytest_asyncio.fixture
async def to_server():
    """Start a server, and open a transport to it."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_transport(serve, config=None, host="127.0.0.1", **facts):
            server = RawServer()
            await server.start(serve)
            stack.push_async_callback(server.stop)
            connection = Connection(
                region="eu-west-1",
                endpoint_url=f"http://{host}:{server.port}",
                credentials=CREDENTIALS,
                aio_config=None if config is None else AioConfig(**config),
                **facts,
            )
            transport = WireTransport(connection)
            await transport.open()
            stack.push_async_callback(transport.close)
            return transport, server

        yield open_transport


def answering(*answers, then_close=False):
    """Serve a connection with these answers, one for each request, and then with the usual one."""

    async def serve(_number, reader, writer):
        left = list(answers)
        while True:
            await read_request(reader)
            writer.write(left.pop(0) if left else OK)
            if then_close and not left:
                return

    return serve


async def turns(number=20):
    for _ in range(number):
        await asyncio.sleep(0)


async def until_none_is_idle(transport):
    async with asyncio.timeout(30):
        while transport._opened[DYNAMODB].channel._idle:  # noqa: ASYNC110 - only a few turns of the loop
            await asyncio.sleep(0)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + b"1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n",
        CHUNKED + b"2\r\n{}\r\n0\r\nx-trailer: 1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 2\r\nX-AMZ-CRC32: 2745614147\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
    ],
    ids=["chunked", "chunked with a trailer", "100", "100 and 103", "names in any case", "HTTP/1.0"],
)
@pytest.mark.parametrize("by", ["byte", "whole"])
async def test_each_form_of_an_answer_is_read_and_its_connection_kept(to_server, get_item, answer, by):
    async def serve(_number, reader, writer):
        for _ in range(2):
            await read_request(reader)
            pieces = [answer] if by == "whole" else [answer[at : at + 1] for at in range(len(answer))]
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0)
        await reader.read()

    transport, server = await to_server(serve)
    assert await transport.send(get_item) == {}
    assert await transport.send(get_item) == {}
    assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        OK + b'HTTP/1.1 400 No\r\nContent-Length: 14\r\n\r\n{"Item": null}',
        OK + b"HTTP/1.1 100 Continue\r\n\r\n",
        OK + b"garbage",
    ],
    ids=[
        "closed by its word",
        "HTTP/1.0",
        "a part of another answer behind it",
        "another answer behind it",
        "100 behind it",
        "garbage behind it",
    ],
)
async def test_a_connection_that_cannot_be_trusted_is_not_used_again(to_server, get_item, answer):
    transport, server = await to_server(answering(answer))
    for _ in range(3):
        assert await transport.send(get_item) == {}
    assert server.connections == 3


async def test_an_answer_may_end_with_its_connection(to_server, get_item):
    transport, server = await to_server(answering(b"HTTP/1.1 200 OK\r\n\r\n{}", then_close=True))
    assert await transport.send(get_item) == {}
    assert await transport.send(get_item) == {}
    assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        CHUNKED + b"2\r\n{}\r\n",
        CHUNKED + b"z\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 100_000,
        b"HTTP/1.1 099 No\r\nContent-Length: 2\r\n\r\n{}",
    ],
    ids=[
        "no HTTP",
        "too short",
        "no last chunk",
        "no chunk",
        "another protocol",
        "two lengths",
        "endless headers",
        "no status",
    ],
)
async def test_what_is_no_whole_answer_is_damaged(to_server, get_item, answer):
    async def serve(_number, reader, writer):
        await read_request(reader)
        writer.write(answer)

    transport, _ = await to_server(serve)
    with pytest.raises(DamagedResponseError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nServ"], ids=["nothing", "part of the headers"])
async def test_a_connection_that_ends_before_an_answer_leaves_the_outcome_unknown(to_server, get_item, answer):
    async def serve(_number, reader, writer):
        await read_request(reader)
        writer.write(answer)

    transport, _ = await to_server(serve)
    with pytest.raises(ConnectionFailedError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


async def test_a_connection_that_ends_while_it_is_idle_is_replaced(to_server, get_item):
    transport, server = await to_server(answering(OK, then_close=True))
    for number in range(1, 4):
        assert await transport.send(get_item) == {}
        await until_none_is_idle(transport)
        assert server.connections == number


async def test_what_comes_while_nobody_waits_is_nobodys_answer(to_server, get_item):
    asked = asyncio.Event()

    async def serve(number, reader, writer):
        await read_request(reader)
        writer.write(OK)
        if number == 1:
            await asked.wait()
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"Item": null}')
        await reader.read()

    transport, server = await to_server(serve)
    await transport.send(get_item)
    asked.set()
    await until_none_is_idle(transport)
    assert await transport.send(get_item) == {}
    assert server.connections == 2


async def test_an_end_that_the_event_loop_has_not_told_yet_is_seen(to_server, get_item):
    ended = asyncio.Event()

    async def serve(number, reader, writer):
        await read_request(reader)
        writer.write(OK)
        if number == 1:
            await ended.wait()
            with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as end:  # uvloop's cannot
                end.shutdown(socket.SHUT_WR)
            sent.set_result(asyncio.ensure_future(transport.send(get_item)))  # before the loop looks at its sockets
        await reader.read()

    transport, server = await to_server(serve)
    sent = asyncio.get_running_loop().create_future()
    await transport.send(get_item)
    ended.set()
    assert await (await sent) == {}
    assert server.connections == 2


def connection_on(loop, *, idle=lambda _: None, read_seconds=1, idle_seconds=1):
    """Return a connection without a pool."""
    buffer = memoryview(bytearray(2**16))
    return http1.Http1Connection(
        loop, buffer=buffer, idle=idle, lost=lambda _: None, read_seconds=read_seconds, idle_seconds=idle_seconds
    )


def received(connection, data):
    """Do what an event loop does with what came."""
    connection.get_buffer(-1)[: len(data)] = data
    connection.buffer_updated(len(data))


class FailingTransport:
    """A transport whose connection ended before anybody said so: the first write finds out."""

    written = b""

    def is_closing(self):
        return bool(self.written)

    def write(self, data):
        self.written += data

    def abort(self):
        pass

    def get_extra_info(self, name):
        return SimpleNamespace(fileno=lambda: 0)  # it is never looked at


async def test_nothing_was_sent_where_the_system_took_nothing():
    connection = connection_on(asyncio.get_running_loop())
    connection.connection_made(FailingTransport())
    assert connection.begin(b"head", b"body") is None
    assert connection.begin(b"head", b"body") is None  # known to be closing now


class OpenTransport:
    """A transport of a connection that is open, and whose end nobody tells."""

    aborted = False

    def __init__(self, connected):
        self.connected = connected

    def abort(self):
        self.aborted = True

    def get_extra_info(self, _name):
        return self.connected


async def test_a_connection_that_its_caller_leaves_as_it_is_made_is_ended_in_that_turn(
    to_server, get_item, monkeypatch
):
    # As uvloop does: it closes the socket without a word to the connection, and goes on with TLS in the next turn.
    seen, loop = [], asyncio.get_running_loop()

    async def create_connection(factory, sock, **_settings):
        opened = OpenTransport(sock)
        factory().connection_made(opened)
        sock.close()
        loop.call_soon(lambda: seen.append(opened.aborted))
        raise asyncio.CancelledError

    transport, _ = await to_server(answering())
    with monkeypatch.context() as patch:
        patch.setattr(loop, "create_connection", create_connection)
        with pytest.raises(asyncio.CancelledError):
            await transport.send(get_item)
    assert seen == [True]
    assert not transport._opened[DYNAMODB].channel._open
    assert await transport.send(get_item) == {}


async def test_closing_does_not_wait_for_ever_for_the_end_of_a_connection(to_server, monkeypatch):
    monkeypatch.setattr(pool, "_CLOSING_SECONDS", 0.0)
    transport, _ = await to_server(answering())
    connection = connection_on(asyncio.get_running_loop(), read_seconds=1, idle_seconds=1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection.connection_made(OpenTransport(ours))
        transport._opened[DYNAMODB].channel._open.add(connection)
        await transport.close()


async def test_a_server_that_closes_each_connection_as_soon_as_it_is_made_was_not_sent_to(
    to_server, get_item, monkeypatch
):
    monkeypatch.setattr(http1.Http1Connection, "begin", lambda self, head, body: None)
    transport, server = await to_server(answering())
    with pytest.raises(ConnectionFailedError, match="as soon as it was made") as raised:
        await transport.send(get_item)
    assert (raised.value.outcome, server.connections) == (Outcome.NOT_SENT, 1)


LARGE = 3_000_000


async def test_a_large_request_waits_for_the_server_to_take_it(to_server, get_item, monkeypatch):
    begun, go_on, bodies = asyncio.Event(), asyncio.Event(), []

    async def serve(_number, reader, writer):
        begun.set()
        await go_on.wait()
        bodies.append(await read_request(reader))
        writer.write(OK)
        await reader.read()

    written, write = [], http1.Http1Connection.write_rest

    async def watched(self, body, waiter):
        await write(self, body, waiter)
        written.append(len(body))

    monkeypatch.setattr(http1.Http1Connection, "write_rest", watched)
    transport, _ = await to_server(serve)
    text = "x" * LARGE * 10
    task = asyncio.create_task(transport.send(replace(get_item, body={"text": text})))
    await begun.wait()
    await turns(200)
    assert written == []
    go_on.set()
    assert await task == {}
    assert bodies == [b'{"text":"%b"}' % text.encode()]


async def test_an_answer_that_comes_before_the_request_was_written_is_read(to_server, get_item):
    refusal = b'{"__type":"x#ValidationException","message":"too large"}'

    async def serve(_number, reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 No\r\nContent-Length: %d\r\n\r\n%b" % (len(refusal), refusal))
        with contextlib.suppress(ConnectionError):
            await reader.read()

    transport, server = await to_server(serve)
    for number in (1, 2):
        with pytest.raises(RequestRejectedError, match="too large"):
            await transport.send(replace(get_item, body={"text": "x" * LARGE * 10}))
        assert server.connections == number


async def test_a_large_request_to_a_server_that_takes_none_of_it_times_out(to_server, get_item):
    ended = asyncio.Event()

    async def serve(_number, reader, writer):
        await ended.wait()

    transport, _ = await to_server(serve, {"read_timeout": 0.05})
    with pytest.raises(RequestTimeoutError):
        await transport.send(replace(get_item, body={"text": "x" * LARGE * 10}))
    ended.set()


@pytest.mark.parametrize("others", [{}, {"use_dns_cache": True}], ids=["its own", "aiohttp"])
@pytest.mark.parametrize("seconds", [None, math.inf])
async def test_a_connection_that_may_be_idle_without_end_is_kept(to_server, get_item, others, seconds):
    transport, server = await to_server(answering(), {"connector_args": {"keepalive_timeout": seconds, **others}})
    for _ in range(3):
        assert await transport.send(get_item) == {}
    assert server.connections == 1


async def test_an_idle_connection_closes_after_its_time(to_server, get_item):
    ended = asyncio.Event()

    async def serve(number, reader, writer):
        await read_request(reader)
        writer.write(OK)
        await reader.read()
        ended.set()

    transport, server = await to_server(serve, {"connector_args": {"keepalive_timeout": 0.02}})
    await transport.send(get_item)
    async with asyncio.timeout(30):
        await ended.wait()
    await transport.send(get_item)
    assert server.connections == 2


class StandingLoop:
    """An event loop whose time the test sets, with one timer at most."""

    now, timer = 0.0, None

    def time(self):
        return self.now

    def call_at(self, due, callback, context):
        assert self.timer is None
        self.timer = (due, callback)
        return SimpleNamespace(cancel=lambda: setattr(self, "timer", None))

    def create_future(self):
        return asyncio.get_running_loop().create_future()

    def go_on_to(self, now):
        self.now = now
        while self.timer is not None and self.timer[0] <= now:
            callback, self.timer = self.timer[1], None
            callback()


class Transport:
    """Takes everything."""

    closed = False

    def is_closing(self):
        return self.closed

    def write(self, data):
        pass

    def abort(self):
        self.closed = True

    def get_extra_info(self, name):
        return SimpleNamespace(fileno=lambda: 0)  # it is never looked at


async def test_whoever_waits_is_told_before_anything_that_can_fail():
    def fail(_):
        raise RuntimeError

    connection = connection_on(asyncio.get_running_loop(), idle=fail)
    connection.connection_made(Transport())
    waiter = connection.begin(b"", b"")
    with pytest.raises(RuntimeError):
        received(connection, OK)
    assert waiter.result().body == b"{}"


async def test_nothing_is_sent_over_a_connection_whose_time_cannot_be_reckoned():
    transport = FailingTransport()
    connection = connection_on(asyncio.get_running_loop(), read_seconds="5")
    connection.connection_made(transport)
    with pytest.raises(TypeError):
        connection.begin(b"head", b"body")
    assert transport.written == b""


TINY_CHUNKS = CHUNKED + b"".join(b"1\r\n%c\r\n" % each for each in b'{"Item":"%b"}' % (b"x" * 200_000)) + b"0\r\n\r\n"


async def test_what_each_read_brings_of_a_body_becomes_one_piece():
    # Each is counted once: the time that an answer takes grows with its size only, whatever its chunks are.
    connection = connection_on(asyncio.get_running_loop())
    connection.connection_made(Transport())
    waiter = connection.begin(b"", b"")
    for reads, at in enumerate(range(0, len(TINY_CHUNKS), 2**16)):
        assert len(connection._body) == reads
        received(connection, TINY_CHUNKS[at : at + 2**16])
    assert (await waiter).body == b'{"Item":"%b"}' % (b"x" * 200_000)


async def test_an_answer_in_chunks_of_one_byte_is_read_and_its_connection_kept(to_server, get_item):
    transport, server = await to_server(answering(TINY_CHUNKS, TINY_CHUNKS))
    for _ in range(3):
        await transport.send(get_item)
    assert server.connections == 1


@pytest.mark.parametrize(
    ("begin", "each"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"x: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nx: ", b"y"),
        (b"HTTP/1.1 200 ", b"y"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"", b"\r\n"),
        (CHUNKED + b"2\r\n{}\r\n0\r\n", b"x: y\r\n"),
        (CHUNKED + b"2\r\n{}\r\n0\r\nx: ", b"y"),
        (CHUNKED + b"2\r\n{}\r\n1;", b"y"),
    ],
    ids=["headers", "a header", "a reason", "announcements", "empty lines", "trailers", "a trailer", "a chunk's name"],
)
async def test_what_comes_beside_a_body_has_an_end(to_server, get_item, begin, each):
    async def serve(_number, reader, writer):
        await read_request(reader)
        writer.write(begin)
        while not writer.is_closing():
            writer.write(each * (2**12 // len(each)))
            await writer.drain()

    transport, _ = await to_server(serve)
    async with asyncio.timeout(30):
        with pytest.raises(DamagedResponseError, match="longer than 65,536 bytes") as raised:
            await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.fixture
def timed():
    """A connection with 10 seconds for each read, open for 4 without use: (loop, transport, connection)."""
    loop, transport = StandingLoop(), Transport()
    connection = connection_on(loop, read_seconds=10, idle_seconds=4)
    connection.connection_made(transport)
    return loop, transport, connection


async def test_an_answer_may_take_its_time_for_as_long_as_something_comes(timed):
    loop, _transport, connection = timed
    waiter = connection.begin(b"", b"")
    for number, byte in enumerate(OK, start=1):
        loop.go_on_to(number * 9.0)
        received(connection, bytes([byte]))
    assert (await waiter).body == b"{}"


async def test_a_request_that_nothing_comes_for_times_out(timed):
    loop, transport, connection = timed
    waiter = connection.begin(b"", b"")
    loop.go_on_to(9.0)
    received(connection, OK[:9])
    loop.go_on_to(18.9)
    assert not waiter.done()
    loop.go_on_to(19.0)
    assert transport.closed
    with pytest.raises(TimeoutError, match="nothing came for 10 s"):
        await waiter


async def test_a_connection_without_use_closes_in_time_although_its_answer_could_have_taken_longer(timed):
    loop, transport, connection = timed
    connection.begin(b"", b"")
    loop.go_on_to(1.0)
    received(connection, OK)
    loop.go_on_to(4.9)
    assert not transport.closed
    loop.go_on_to(5.0)
    assert transport.closed


async def test_a_connection_that_took_long_to_make_is_new_all_the_same():
    # What a TLS server sends after the handshake is no end of the connection.
    loop = StandingLoop()
    connection = connection_on(loop, read_seconds=10, idle_seconds=4)
    loop.now = 30.0
    connection.connection_made(Transport())
    assert connection.begin(b"", b"") is not None


async def test_a_connection_has_one_timer_for_all_its_requests(to_server, get_item, monkeypatch):
    loop, made = asyncio.get_running_loop(), []
    call_at = loop.call_at

    def keep_timer(*arguments, **options):
        made.append(call_at(*arguments, **options))
        return made[-1]

    def timers():
        return [timer for timer in made if not timer.cancelled()]

    monkeypatch.setattr(loop, "call_at", keep_timer)
    transport, _ = await to_server(answering())
    await transport.send(get_item)
    before = timers()
    for _ in range(100):
        await transport.send(get_item)
    assert timers() == before
    assert len(before) == 1
    await transport.close()
    assert timers() == []


async def test_a_cancelled_request_ends_its_connection_and_makes_room(to_server, get_item):
    asked = asyncio.Event()

    async def serve(number, reader, writer):
        await read_request(reader)
        asked.set()
        if number > 1:
            writer.write(OK)
        await reader.read()

    transport, server = await to_server(serve, {"max_pool_connections": 1})
    first = asyncio.create_task(transport.send(get_item))
    await asked.wait()
    second = asyncio.create_task(transport.send(get_item))
    await turns()
    first.cancel()
    async with asyncio.timeout(30):
        assert await second == {}
    assert first.cancelled()
    assert server.connections == 2


async def test_a_request_that_is_cancelled_in_line_leaves_its_place_to_the_next(to_server, get_item):
    go_on = asyncio.Event()

    async def serve(_number, reader, writer):
        while True:
            await read_request(reader)
            await go_on.wait()
            writer.write(OK)

    transport, _ = await to_server(serve, {"max_pool_connections": 1})
    tasks = [asyncio.create_task(transport.send(get_item)) for _ in range(4)]
    await turns()
    tasks[1].cancel()
    go_on.set()
    await asyncio.wait(tasks)
    assert [task.cancelled() for task in tasks] == [False, True, False, False]


async def test_a_request_that_is_cancelled_when_its_turn_comes_leaves_it_to_the_next(to_server, get_item, monkeypatch):
    transport, server = await to_server(answering(), {"max_pool_connections": 1})
    pool = transport._opened[DYNAMODB].channel
    wake = pool._wake

    def wake_and_cancel():
        wake()
        tasks[1].cancel()  # before it has gone on

    monkeypatch.setattr(pool, "_wake", wake_and_cancel)
    tasks = [asyncio.create_task(transport.send(get_item)) for _ in range(3)]
    async with asyncio.timeout(30):
        assert await tasks[2] == {}
    assert tasks[1].cancelled()
    assert server.connections == 1


async def test_a_request_that_is_cancelled_while_it_connects_leaves_nothing(get_item, monkeypatch):
    entered = asyncio.Event()

    async def connect(*_arguments, **_settings):
        entered.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("aiohappyeyeballs.start_connection", connect)
    transport = WireTransport(
        Connection(region="eu-west-1", endpoint_url="http://127.0.0.1:1", credentials=CREDENTIALS)
    )
    await transport.open()
    task = asyncio.create_task(transport.send(get_item))
    await entered.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await transport.close()


@pytest.mark.parametrize("turns_before", range(12))
async def test_a_first_request_that_is_cancelled_at_any_moment_leaves_nothing_to_wait_for(
    to_server, get_item, turns_before
):
    transport, _ = await to_server(answering(), {"max_pool_connections": 1})
    first = asyncio.create_task(transport.send(get_item))
    for _ in range(turns_before):
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    async with asyncio.timeout(30):
        assert await transport.send(get_item) == {}  # there is room for another
        await transport.close()


async def test_a_request_that_is_cancelled_when_its_connection_is_just_made_leaves_nothing(
    to_server, get_item, monkeypatch
):
    transport, _ = await to_server(answering(), {"max_pool_connections": 1})
    made = http1.Http1Connection.connection_made

    def make_and_cancel(connection, over):
        made(connection, over)
        asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, first.cancel)

    with monkeypatch.context() as patch:
        patch.setattr(http1.Http1Connection, "connection_made", make_and_cancel)
        first = asyncio.create_task(transport.send(get_item))
        await asyncio.wait([first])
    async with asyncio.timeout(30):
        assert await transport.send(get_item) == {}
        await transport.close()


async def test_connecting_that_takes_too_long_was_not_sent(get_item, monkeypatch):
    async def connect(*_arguments, **_settings):
        await asyncio.Event().wait()

    monkeypatch.setattr("aiohappyeyeballs.start_connection", connect)
    connection = Connection(region="eu-west-1", endpoint_url="http://127.0.0.1:1", credentials=CREDENTIALS)
    transport = WireTransport(connection, attempt_timeout_seconds=0.02)
    await transport.open()
    with pytest.raises(RequestTimeoutError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.NOT_SENT
    await transport.close()


async def test_closing_ends_what_is_under_way_and_leaves_nothing(to_server, get_item):
    asked = asyncio.Event()

    async def serve(_number, reader, writer):
        await read_request(reader)
        asked.set()
        await reader.read()

    transport, _ = await to_server(serve)
    task = asyncio.create_task(transport.send(get_item))
    await asked.wait()
    before = asyncio.all_tasks() - {task}
    await transport.close()
    with pytest.raises(ConnectionFailedError) as raised:
        await task
    assert raised.value.outcome is Outcome.UNKNOWN
    assert asyncio.all_tasks() <= before


@pytest.fixture
def find_at(monkeypatch):
    """Return a function that lets the event loop find names at ports of this machine, and returns which it looked up.

    Args:
        ports: at which a name is found, by the port that is asked for.
        wait: waits until it is.
    """

    def find(ports, wait=turns):
        loop, looked_up = asyncio.get_running_loop(), []
        look_up = loop.getaddrinfo

        async def getaddrinfo(name, port, **facts):
            if name == "127.0.0.1":  # uvloop asks for addresses, too
                return await look_up(name, port, **facts)
            looked_up.append(name)
            await wait()
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", each)) for each in ports(port)]

        monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo)
        return looked_up

    return find


async def test_the_address_that_answers_is_used(to_server, get_item, find_at, refused_url):
    refused = int(refused_url.rpartition(":")[2])
    transport, _ = await to_server(answering(OK, then_close=True), host="somewhere.test")
    looked_up = find_at(lambda port: (refused, port))
    for _ in range(2):
        assert await transport.send(get_item) == {}
        await until_none_is_idle(transport)
    assert looked_up == ["somewhere.test"] * 2  # anew for each connection


async def test_connections_that_are_made_at_the_same_time_share_a_look_up(to_server, get_item, find_at):
    transport, server = await to_server(answering(), host="somewhere.test")
    looked_up = find_at(lambda port: (port,))
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(transport.send(get_item))
    assert server.connections == 5
    assert looked_up == ["somewhere.test"]


async def test_a_name_whose_look_up_takes_longer_than_any_caller_has_time_is_looked_up_once(
    to_server, get_item, find_at
):
    found = asyncio.Event()
    transport, _ = await to_server(answering(), host="somewhere.test")
    looked_up = find_at(lambda port: (port,), found.wait)
    for _ in range(3):
        task = asyncio.create_task(transport.send(get_item))
        await turns()
        task.cancel()
        await asyncio.wait([task])
    task = asyncio.create_task(transport.send(get_item))
    await turns()
    found.set()
    assert await task == {}
    assert looked_up == ["somewhere.test"]


async def test_closing_ends_a_look_up(to_server, get_item, monkeypatch):
    ended = []

    async def getaddrinfo(name, port, **_facts):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    transport, _ = await to_server(answering(), host="somewhere.test")
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    task = asyncio.create_task(transport.send(get_item))
    await turns()
    await transport.close()
    with pytest.raises(ConnectionFailedError, match="the session was closed") as raised:
        await task
    assert raised.value.outcome is Outcome.NOT_SENT
    assert ended == ["somewhere.test"]


async def test_a_connection_keeps_nothing_of_the_context_of_who_made_it(to_server, get_item):
    class Scope:
        pass

    variable = contextvars.ContextVar("scope")

    async def send():
        variable.set(Scope())
        await transport.send(get_item)

    transport, _ = await to_server(answering())
    await asyncio.create_task(send())
    await turns()
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Scope)]


@pytest.mark.parametrize(
    ("config", "over"),
    [
        (None, "connections of its own"),
        ({"max_pool_connections": 3}, "connections of its own"),
        ({"connector_args": {"keepalive_timeout": 3}}, "connections of its own"),
        ({"connector_args": {"force_close": True}}, "aiohttp"),
        ({"proxies": {"http": "http://127.0.0.1:1"}}, "aiobotocore.httpsession.AIOHTTPSession"),
    ],
)
async def test_a_transport_shows_what_it_sends_over(to_server, config, over):
    transport, server = await to_server(answering(), config)
    assert repr(transport) == f"<WireTransport to http://127.0.0.1:{server.port}/ over {over}>"
    await transport.close()
    assert repr(transport) == "<WireTransport not open>"


async def test_a_session_that_is_dropped_unclosed_warns_and_ends_its_connections(to_server):
    ended = asyncio.Event()

    async def serve(_number, reader, writer):
        await read_request(reader)
        writer.write(OK)
        await reader.read()
        ended.set()

    _, server = await to_server(serve)
    url, kept = f"http://127.0.0.1:{server.port}", AioConfig(connector_args={"keepalive_timeout": None})
    session = Session(region="eu-west-1", endpoint_url=url, credentials=CREDENTIALS, aio_config=kept)
    await session.__aenter__()
    await session.execute(Find(Item, "a"))
    del session
    with pytest.warns(ResourceWarning, match="dropped unclosed; use `async with Session"):
        gc.collect()
    gc.collect()  # what the warning named is kept by whoever catches it
    async with asyncio.timeout(60):
        await ended.wait()


def test_a_session_whose_event_loop_has_ended_warns_where_it_is_dropped_unclosed(recwarn):
    async def program():
        idle = SimpleNamespace(open=nothing, close=nothing, send=nothing, max_connections=1)
        return await Session(transport=idle).__aenter__()

    async def nothing(): ...

    session = asyncio.run(program())
    del session
    gc.collect()
    assert [str(warning.message) for warning in recwarn if warning.category is ResourceWarning] == [
        "a session was dropped unclosed; use `async with Session(...)`, or `await session.close()`"
    ]


async def test_connections_that_are_wanted_from_the_start_are_there_before_the_first_request(to_server, get_item):
    transport, server = await to_server(answering(), min_connections=3)
    assert len(transport._opened[DYNAMODB].channel._idle) == 3

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(transport.send(get_item))
    assert server.connections == 3


async def test_none_is_made_before_it_is_wanted_for_a_service_that_is_opened_later(to_server):
    transport, server = await to_server(answering(), min_connections=3)

    await transport.send(Request(operation="GetRecords", body={}, table="tweets", service=STREAMS))
    assert server.connections == 4


async def test_no_more_connections_are_made_at_the_start_than_there_may_be(to_server):
    transport, _server = await to_server(answering(), {"max_pool_connections": 2}, min_connections=5)

    assert len(transport._opened[DYNAMODB].channel._idle) == 2


async def test_a_session_opens_where_no_connection_can_be_made_and_the_log_tells_why(caplog, refused_url):
    transport = WireTransport(
        Connection(
            region="eu-west-1",
            endpoint_url=refused_url,
            credentials=CREDENTIALS,
            min_connections=2,
        )
    )
    await transport.open()
    await transport.close()

    assert "2 of min_connections=2 were not made: ConnectionRefusedError" in caplog.text


@pytest.mark.parametrize("wrong", [-1, 1.5, "2", None, True])
async def test_a_number_of_connections_that_is_none_is_refused(wrong):
    with pytest.raises(ConfigurationError, match="min_connections=.*: give a whole number from 0 up"):
        Connection(min_connections=wrong)


async def test_an_opening_that_is_cancelled_while_it_connects_leaves_no_connection(monkeypatch):
    connecting, pools = asyncio.Event(), []

    async def connect(self, _connection):
        pools.append(self)
        connecting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(pool.Pool, "_connect", connect)
    transport = WireTransport(
        Connection(region="eu-west-1", endpoint_url="http://127.0.0.1:1", credentials=CREDENTIALS, min_connections=2)
    )
    opening = asyncio.ensure_future(transport.open())
    await connecting.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert (pools[0]._closed, pools[0]._open) == (True, set())
