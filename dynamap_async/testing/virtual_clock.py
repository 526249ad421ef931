"""``VirtualClockLoop``: an event loop in which waiting takes no time, and an hour passes in milliseconds."""

import asyncio
from selectors import DefaultSelector, SelectorKey


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: where it would sleep, its clock jumps to the next timer.

    Every wait on the loop is shortened alike: sleeps, timeouts, backoffs, polls. What comes through a socket is not
    waited for, so nothing on this loop may use one; ``SlowTables.session`` asks its engine without.

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
