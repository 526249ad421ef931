"""The service behind HTTP, in a process of its own, which answers as late as DynamoDB does.

It prints its port and answers until it is ended. Besides DynamoDB's requests it knows `GET /counts` and

- `POST /reset`: begin counting anew; `POST /spend`: no table has any burst left;
- `POST /refuse?0.01`: so large a part of all requests is refused, whatever the rate;
- `POST /fail?0.01`: so large a part is answered with an internal error;
- `POST /lose?0.01`: so large a part is carried out, and the connection closed instead of answered;
- `POST /push?500`: a client that nobody counts asks each table for so many write units a second, without pause.
"""

import argparse
import asyncio
import gc
import json
import time
import zlib
from http import HTTPStatus
from typing import cast

from benchmarks.acceptance.service import BURST_SECONDS, CountingService

LATENCY_SECONDS = 0.004
"""How long an answer takes at least: about what DynamoDB takes for a request from its own region."""


PUSH_SECONDS = 0.002
"""How often the client that nobody counts asks, on average."""


class Disturbance:
    """Disturbances of the tables and of their users."""

    def __init__(self, service: CountingService) -> None:
        self._service = service
        self._lost_part = self._pushed = 0.0
        self._pushing: asyncio.Task[None] | None = None

    def set(self, name: str, value: float) -> None:
        """Set one disturbance, by its path."""
        if name == "/refuse":
            self._service.refused_part = value
        elif name == "/fail":
            self._service.failed_part = value
        elif name == "/lose":
            self._lost_part = value
        elif name == "/push":
            self._pushed = value
            self._pushing = self._pushing or asyncio.get_running_loop().create_task(self._push())

    def loses(self, head: bytes) -> bool:
        """Return whether the answer to a request gets lost; never one to a control request."""
        if not self._lost_part or _header(head, b"x-amz-target") is None:
            return False
        return self._service.chance.random() < self._lost_part

    async def _push(self) -> None:
        """Ask for units without pause, at random times."""
        owed, before = 0.0, time.monotonic()
        while True:
            await asyncio.sleep(self._service.chance.expovariate(1 / PUSH_SECONDS))
            now = time.monotonic()
            owed += (now - before) * self._pushed
            before = now
            self._service.push(int(owed))
            owed -= int(owed)


class Exchange(asyncio.Protocol):
    """One connection: HTTP/1.1, kept alive."""

    def __init__(self, service: CountingService, latency: float, disturbance: Disturbance | None = None) -> None:
        self._service = service
        self._latency = latency
        self._disturbance = disturbance or Disturbance(service)
        self._waiting = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        waiting = self._waiting
        waiting += data
        while (end := waiting.find(b"\r\n\r\n")) >= 0:
            head = bytes(waiting[:end])
            size = end + 4 + int(_header(head, b"content-length") or 0)
            if len(waiting) < size:
                return
            body = bytes(waiting[end + 4 : size])
            del waiting[:size]
            answer = self._answer(head, body)
            if self._disturbance.loses(head):
                assert self._transport is not None
                self._transport.close()
                return
            self._send(answer)

    def _send(self, payload: bytes) -> None:
        if self._latency:
            asyncio.get_running_loop().call_later(self._latency, self._write, payload)
        else:
            self._write(payload)

    def _write(self, payload: bytes) -> None:
        assert self._transport is not None
        if not self._transport.is_closing():  # the client may have left meanwhile
            self._transport.write(payload)

    def _answer(self, head: bytes, body: bytes) -> bytes:
        target = _header(head, b"x-amz-target")
        if target is None:
            return http(json.dumps(self._controlled(head.split(b" ", 2)[1].decode())).encode())
        status, answer = self._service.execute(target.rpartition(b".")[2].decode(), body)
        return http(answer, status)

    def _controlled(self, path: str) -> object:
        if path == "/reset":
            self._service.counts.reset()
        elif path == "/spend":
            self._service.spend_burst()
        elif "?" in path:
            name, _, told = path.partition("?")
            self._disturbance.set(name, float(told))
        return self._service.counts.told()


def _header(head: bytes, name: bytes) -> bytes | None:
    lower = head.lower()
    begin = lower.find(b"\r\n" + name + b":")
    if begin < 0:
        return None
    end = lower.find(b"\r\n", begin + 2)
    return head[begin + len(name) + 3 : end if end >= 0 else None].strip()


def http(body: bytes, status: int = 200) -> bytes:
    """Return a response with the checksum that DynamoDB sends."""
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"x-amz-crc32: {zlib.crc32(body)}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def serve(service: CountingService, latency: float) -> None:
    """Listen on a free port of this machine, print it, and answer until the process is ended."""
    disturbance = Disturbance(service)
    server = await asyncio.get_running_loop().create_server(
        lambda: Exchange(service, latency, disturbance), "127.0.0.1", 0, backlog=2048
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> int:
    """Run the server."""
    parser = argparse.ArgumentParser(prog="python benchmarks simulated", description=__doc__)
    parser.add_argument("simulated")
    parser.add_argument("--burst-seconds", type=float, default=BURST_SECONDS, help="how long unused capacity is kept")
    parser.add_argument("--latency-ms", type=float, default=LATENCY_SECONDS * 1e3, help="least time of an answer")
    options = parser.parse_args()
    # The collector would look through all that is stored again and again, for 30 ms with 10,000 items: pauses that a
    # table does not have, and that every client would be charged for. No request leaves cycles behind.
    gc.disable()
    work = serve(CountingService(time.monotonic, options.burst_seconds), options.latency_ms / 1e3)
    try:
        import uvloop
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)
    return 0
