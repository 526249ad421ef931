"""HTTP/1.1 as the faulty server speaks it: reads one request, writes one answer, whole or damaged."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import anyio

from dynamap_async.dataclass import dataclass
from dynamap_async.testing.faults.fault_kinds import Damage
from dynamap_async.transport.channel import Answer

_DRIPS: Final = 10
_BREAKS: Final = "\r\n\r\n"
_ABORT: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class Received:
    """A request that the server has read."""

    path: str
    headers: Mapping[str, str]
    """Header name in lower case -> value."""
    body: bytes

    @property
    def operation(self) -> str:
        """The API's own name of the operation; empty if the request names none."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]


async def read_request(reader: asyncio.StreamReader) -> Received:
    """Return the next request of a connection.

    Raises:
        asyncio.IncompleteReadError: the client closed the connection.
    """
    first, *lines = (await reader.readuntil(_BREAKS.encode())).decode("latin-1").splitlines()
    parts = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in parts}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(first.split()[1], headers, body)


async def write_answer(
    writer: asyncio.StreamWriter, answer: Answer, *, damage: Damage | None = None, dripped_seconds: float = 0.0
) -> None:
    """Write an answer.

    Args:
        writer: the connection.
        answer: what to write; its headers do not say its length.
        damage: what is wrong with the length, if anything.
        dripped_seconds: how long the body takes.
    """
    body, length = answer.body, len(answer.body)
    if damage is Damage.TRUNCATED:
        body = body[: length // 2]
    elif damage is Damage.WRONG_LENGTH:
        length //= 2
    lines = [f"HTTP/1.1 {answer.status} {_phrase(answer.status)}", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    head = ("\r\n".join(lines) + _BREAKS).encode("latin-1")
    if not dripped_seconds:
        writer.write(head + body)
        await writer.drain()
        return
    writer.write(head)
    step = -(-len(body) // _DRIPS)
    for start in range(0, len(body), step):
        await writer.drain()
        await anyio.sleep(dripped_seconds / _DRIPS)
        writer.write(body[start : start + step])
    await writer.drain()


def reset(writer: asyncio.StreamWriter) -> None:
    """Reset a connection: what was sent and not yet read is lost."""
    # A connection that lingers for no time ends with RST instead of FIN.
    connection = writer.get_extra_info("socket")
    if connection is not None:  # uvloop's has none once the client has closed it
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
    writer.transport.abort()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Scripted"
