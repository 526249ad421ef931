"""``VirtualClockLoop``: an event loop in which waiting takes no time, and an hour passes in milliseconds."""

import asyncio
import socket
import time
from collections.abc import Callable
from selectors import DefaultSelector, SelectorKey
from typing import Any, Never

from dynamap_async.errors import ConfigurationError
from dynamap_async.testing.clock import FrozenClock


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: where it would sleep, its clock jumps to the next timer.

    Every wait on the loop is shortened alike: sleeps, timeouts, backoffs, polls. What comes through a socket is not
    waited for, so nothing on this loop may use one; sessions of a ``LocalEngine`` ask it without.

    Example:
        >>> async def hour() -> float:
        ...     await asyncio.sleep(3600)
        ...     return asyncio.get_running_loop().time()
        >>> with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        ...     runner.run(hour())
        4600.0
    """

    def __init__(self) -> None:
        """Create the loop, with its clock at 1,000 seconds."""
        self._jumps = _JumpingSelector()
        super().__init__(self._jumps)

    def time(self) -> float:
        """Return the time of the loop, in seconds."""
        return self._jumps.now

    async def sock_connect(self, sock: socket.socket, address: Any) -> Never:
        """Refuse to connect a socket.

        Args:
            sock: the socket.
            address: what it was to be connected to.

        Raises:
            ConfigurationError: always.
        """
        raise _no_sockets(address)

    async def getaddrinfo(self, host: bytes | str | None, port: bytes | str | int | None, **hints: Any) -> Never:
        """Refuse to look up a host, which takes a thread and real time.

        Args:
            host: its name.
            port: the port to be connected to.
            hints: as ``socket.getaddrinfo`` takes them.

        Raises:
            ConfigurationError: always.
        """
        raise _no_sockets((host, port))


def _no_sockets(address: Any) -> ConfigurationError:
    place = repr(address) if isinstance(address, str | bytes) else ":".join(map(str, address[:2]))
    return ConfigurationError(
        f"a VirtualClockLoop does not wait for sockets, and a socket to {place} was asked for; ask a LocalEngine "
        "without one, by engine.session(), or run this on another event loop"
    )


class _JumpingSelector(DefaultSelector):
    """A selector that moves the clock on where others would wait."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        found = super().select(0)
        if found or timeout == 0:
            return found
        if timeout is None:
            raise RuntimeError("every task waits for something that will never happen")
        self.now += timeout
        return found


class EngineClock:
    """The time of day of an engine: that of a clock, and what a ``VirtualClockLoop`` that asks has waited.

    Args:
        clock: what is asked; None for the machine's time, which stands still once a virtual loop has asked.
    """

    def __init__(self, clock: Callable[[], float] | None) -> None:
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._seen = 0.0
        self._waited = 0.0

    def follow(self, clock: Callable[[], float]) -> None:
        """Ask another clock from now on."""
        self._clock = clock

    def __call__(self) -> float:
        """Return the time, in epoch seconds."""
        if on_virtual_clock():
            if self._clock is None:
                self._clock = FrozenClock()
            loop = asyncio.get_running_loop()
            now = loop.time()
            if loop is self._loop:
                self._waited += now - self._seen
            self._loop, self._seen = loop, now
        return (time.time() if self._clock is None else self._clock()) + self._waited


def on_virtual_clock() -> bool:
    """Return whether this is called on a ``VirtualClockLoop``."""
    try:
        return isinstance(asyncio.get_running_loop(), VirtualClockLoop)
    except RuntimeError:  # called from no loop
        return False
