"""On each event loop, and in its debug mode, requests of every size are sent, and nothing is left."""

import asyncio
import gc
import sys
from dataclasses import replace

import pytest

from dynamap_async.config import Credentials
from dynamap_async.transport import Connection, WireTransport

CREDENTIALS = Credentials(access_key_id="AKID", secret_access_key="s")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def _uvloop():
    return pytest.importorskip("uvloop", reason="uvloop does not run on Windows").new_event_loop()


def _eager():
    if sys.version_info < (3, 12):
        pytest.skip("asyncio.eager_task_factory came with Python 3.12")
    loop = asyncio.SelectorEventLoop()
    loop.set_task_factory(asyncio.eager_task_factory)
    return loop


LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": _uvloop, "eager tasks": _eager}


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
            del self.waiting[: end + 4 + length]
            self.transport.write(OK)


@pytest.mark.parametrize("debug", [False, True], ids=["as usual", "debug"])
@pytest.mark.parametrize("make", LOOPS.values(), ids=LOOPS)
def test_requests_of_every_size_are_sent_and_nothing_is_left(make, debug, get_item):
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

    with asyncio.Runner(loop_factory=make, debug=debug) as runner:
        runner.run(program())
    gc.collect()
