"""A stub of DynamoDB in a process of its own: it stores nothing and answers from prepared bodies.

It must never be what is measured, so it parses only what an answer depends on. Every answer carries the CRC32 that
DynamoDB sends. `GET /counts` tells how many requests of each operation came since the last `GET /reset`.
"""

import argparse
import asyncio
import json
import ssl
from collections import Counter
from typing import cast

from benchmarks.answers import Answers, http
from benchmarks.sources import CREDENTIALS_PATH, container_answer


class Exchange(asyncio.Protocol):
    """One connection: HTTP/1.1, kept alive, pipelining allowed."""

    def __init__(self, answers: Answers, counts: Counter[str]) -> None:
        self._answers = answers
        self._counts = counts
        self._waiting = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one, but not by inheritance

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        waiting = self._waiting
        waiting += data
        while (end := waiting.find(b"\r\n\r\n")) >= 0:
            head = bytes(waiting[:end]).lower()
            size = end + 4 + int(_header(head, b"content-length") or 0)
            if len(waiting) < size:
                return
            body = bytes(waiting[end + 4 : size])
            del waiting[:size]
            assert self._transport is not None
            self._transport.write(self._answer(head, body))

    def _answer(self, head: bytes, body: bytes) -> bytes:
        target = _header(head, b"x-amz-target")
        if target is not None:
            operation = target.rpartition(b".")[2].decode()
            self._counts[operation] += 1
            return self._answers.answer(operation, body)
        if head.startswith(f"get {CREDENTIALS_PATH}".encode()):
            return http(container_answer())
        if head.startswith(b"get /counts"):
            return http(json.dumps(self._counts).encode())
        if head.startswith(b"get /reset"):
            self._counts.clear()
        return http(b"{}")


def _header(head: bytes, name: bytes) -> bytes | None:
    begin = head.find(b"\r\n" + name + b":")
    if begin < 0:
        return None
    end = head.find(b"\r\n", begin + 2)
    return head[begin + len(name) + 3 : end if end >= 0 else None].strip()


async def serve(answers: Answers, certificate: str) -> None:
    """Listen on two free ports of this machine, the second with TLS; print them, and answer until the process is ended.

    Args:
        certificate: the file with the server's certificate and key.
    """
    counts: Counter[str] = Counter()
    loop = asyncio.get_running_loop()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    servers = [
        await loop.create_server(lambda: Exchange(answers, counts), "127.0.0.1", 0, backlog=2048, ssl=context)
        for context in (None, tls)
    ]
    print(*(server.sockets[0].getsockname()[1] for server in servers), flush=True)
    await asyncio.Event().wait()


def main() -> int:
    """Run the server with the size of the table that it pretends to have."""
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--scanned", type=int, required=True, help="items that a scan finds")
    parser.add_argument("--certificate", required=True, help="file with the certificate and key for TLS")
    options = parser.parse_args()
    answers = Answers(scanned=options.scanned)
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve(answers, options.certificate))
    else:
        uvloop.run(serve(answers, options.certificate))
    return 0
