"""An event loop whose connections lead to prepared answers in the same process: no bytes in sockets, no second process.

It takes the place of asyncio's public seam, `loop.create_connection`, so that all that a library does between a call
and the bytes is measured, whatever its HTTP client is. What the stub takes is counted, so that it can be taken off.
"""

import asyncio
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from benchmarks.answers import Answers
from benchmarks.server import Exchange


class StubTransport(asyncio.Transport):
    """One connection: what is written is answered in a later turn of the loop."""

    def __init__(self, loop: "StubLoop", protocol: asyncio.BaseProtocol, sock: socket.socket) -> None:
        super().__init__({"socket": sock, "peername": sock.getpeername(), "sockname": sock.getsockname()})
        self._socket = sock
        self._loop = loop
        self._protocol: Any = protocol
        self._closing = False
        self._exchange = Exchange(loop.answers, Counter())
        self._exchange.connection_made(StubEnd(self._receive))

    def write(self, data: Any) -> None:
        """Take a part of a request."""
        begin = time.thread_time_ns()
        self._exchange.data_received(bytes(data))
        self._loop.stub_ns += time.thread_time_ns() - begin

    def _receive(self, answer: bytes) -> None:
        self._loop.call_soon(self._hand_over, answer)

    def _hand_over(self, answer: bytes) -> None:
        if not isinstance(self._protocol, asyncio.BufferedProtocol):
            self._protocol.data_received(answer)
            return
        rest = memoryview(answer)
        while rest:
            buffer = memoryview(self._protocol.get_buffer(len(rest)))
            size = min(len(buffer), len(rest))
            buffer[:size] = rest[:size]
            self._protocol.buffer_updated(size)
            rest = rest[size:]

    def close(self) -> None:
        """Report the end of the connection in a later turn."""
        if not self._closing:
            self._closing = True
            self._socket.close()
            self._loop.call_soon(self._protocol.connection_lost, None)

    abort = close

    def is_closing(self) -> bool:
        """Return whether it is closed, or will be."""
        return self._closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Set the protocol that reads."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol that reads."""
        protocol: asyncio.BaseProtocol = self._protocol
        return protocol

    def is_reading(self) -> bool:
        """Return whether answers are passed on."""
        return True

    def pause_reading(self) -> None:
        """Do nothing: an answer is passed on as a whole."""

    def resume_reading(self) -> None:
        """Do nothing."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Do nothing: what is written is taken at once."""

    def get_write_buffer_size(self) -> int:
        """Return 0."""
        return 0


class StubEnd(asyncio.Transport):
    """The stub's end of a connection."""

    def __init__(self, receive: Callable[[bytes], None]) -> None:
        super().__init__()
        self.write = receive  # type: ignore[method-assign]


class StubLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, but for its connections."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = Answers(scanned=800)
        self.stub_ns = 0
        """The CPU that the stub took so far."""
        # Clients connect sockets themselves, and look at whether one has news. None ever has: nobody accepts it.
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port: int = self._listening.getsockname()[1]

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        *_: Any,
        sock: socket.socket | None = None,
        **__: Any,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Connect with the stub."""
        protocol = protocol_factory()
        transport = StubTransport(self, protocol, sock or socket.create_connection(("127.0.0.1", self.port)))
        protocol.connection_made(transport)
        return transport, protocol

    def close(self) -> None:
        """Close the socket too that nobody reads from."""
        self._listening.close()
        super().close()
