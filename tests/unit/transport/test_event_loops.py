"""On each event loop, and in its debug mode, requests of every size are sent, and nothing is left."""

import asyncio
import gc
import random
from dataclasses import replace

import pytest

from dynamap_async.config import Credentials
from dynamap_async.transport import AioConfig, Connection, WireTransport
from dynamap_async.transport.http1 import Http1Connection

CREDENTIALS = Credentials(access_key_id="AKID", secret_access_key="s")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Answering(asyncio.Protocol):
    """Answers each request with an empty object, on whatever loop it is."""

    def __init__(self):
        self.waiting = bytearray()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.waiting += data
        while (end := self.waiting.find(b"\r\n\r\n")) >= 0:
            length = int(self.waiting[:end].lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            if len(self.waiting) < end + 4 + length:
                return
            body = bytes(self.waiting[end + 4 : end + 4 + length])
            del self.waiting[: end + 4 + length]
            self.transport.write(self.answer(body))

    def answer(self, body):
        return OK


class Echoing(Answering):
    """Answers each request with its own body."""

    def answer(self, body):
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@pytest.mark.parametrize("debug", [False, True], ids=["as usual", "debug"])
def test_requests_of_every_size_are_sent_and_nothing_is_left(loop_factory, debug, get_item):
    async def program():
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        transport = WireTransport(Connection(region="eu-west-1", endpoint_url=url, credentials=CREDENTIALS))
        await asyncio.create_task(transport.open())
        async with asyncio.TaskGroup() as group:
            for size in (1, 100_000, 1_000_000) * 4:
                group.create_task(transport.send(replace(get_item, body={"text": "x" * size})))
        cancelled = asyncio.create_task(transport.send(get_item))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        await asyncio.create_task(transport.close())
        assert asyncio.all_tasks() == {asyncio.current_task()}
        server.close()
        await server.wait_closed()

    with asyncio.Runner(loop_factory=loop_factory, debug=debug) as runner:
        runner.run(program())
    gc.collect()


def test_who_leaves_as_its_connection_is_made_takes_no_place(loop_factory, get_item, monkeypatch):
    made, told, caller = Http1Connection.connection_made, [], None

    def connection_made(self, transport):
        made(self, transport)
        if caller is not None:
            caller.cancel()

    monkeypatch.setattr(Http1Connection, "connection_made", connection_made)

    async def program():
        nonlocal caller
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: told.append(context))
        server = await loop.create_server(Answering, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        few = AioConfig(max_pool_connections=2)
        transport = WireTransport(
            Connection(region="eu-west-1", endpoint_url=url, credentials=CREDENTIALS, aio_config=few)
        )
        await transport.open()
        for _ in range(3):
            caller = asyncio.create_task(transport.send(get_item))
            await asyncio.wait([caller])
            assert caller.cancelled()
        caller = None
        async with asyncio.timeout(30):
            assert await transport.send(get_item) == {}
        await transport.close()
        server.close()
        await server.wait_closed()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(program())
    assert told == []


def test_a_storm_of_callers_that_leave_mixes_up_no_answers_and_takes_no_places(loop_factory, get_item):
    rnd, told = random.Random(1), []

    async def leaving(sent, turns):
        for _ in range(turns):
            await asyncio.sleep(0)
        sent.cancel()

    async def caller(transport, number):
        sent = asyncio.create_task(transport.send(replace(get_item, body={"number": number})))
        if rnd.random() < 0.6:
            await leaving(sent, rnd.randrange(12))
        await asyncio.wait([sent])
        assert sent.cancelled() or sent.result() == {"number": number}

    async def program():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: told.append(context))
        server = await loop.create_server(Echoing, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        few = AioConfig(max_pool_connections=4)
        transport = WireTransport(
            Connection(region="eu-west-1", endpoint_url=url, credentials=CREDENTIALS, aio_config=few)
        )
        await transport.open()
        async with asyncio.timeout(60):
            for storm in range(40):
                async with asyncio.TaskGroup() as group:
                    for number in range(8):
                        group.create_task(caller(transport, 8 * storm + number))
            answers = [transport.send(replace(get_item, body={"number": number})) for number in range(4)]
            assert [(await answer)["number"] for answer in answers] == [0, 1, 2, 3]
            await transport.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        server.close()
        await server.wait_closed()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(program())
    assert told == []
