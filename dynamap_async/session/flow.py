"""The flow of a many-item call: requests go out in full batches, a bounded number of them at a time.

Invariant: whatever was added is in exactly one place: prepared, outstanding, or answered through ``done``. Nothing is
submitted in the middle of a batch only because this code gave way to other tasks.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import anyio
import anyio.lowlevel

from dynamap_async.errors import DynamapError
from dynamap_async.executor import Account, Executor
from dynamap_async.operations import Context, SingleRequest
from dynamap_async.request import Request
from dynamap_async.wire import Body

R = TypeVar("R")
T = TypeVar("T")

_OUTSTANDING: Final = 6_400
_OUTSTANDING_BYTES: Final = 32 * 2**20
_PACED_CALLS: Final = 4
"""How many calls' worth of requests are prepared ahead where they wait for units: more of them would be sent no sooner,
and thousands keep the garbage collector at work, which stops the loop (benchmarks/acceptance, question "beside")."""
_SLICE_SECONDS: Final = 0.002


@dataclass(slots=True, eq=False)
class Asked(Generic[R]):
    """One request of a many-item call."""

    position: int
    """Its place in the call's input, from 0."""
    subject: Any
    """What the call was given: a key, an item or an operation."""
    operation: SingleRequest[R]
    request: Request
    elsewhere: bool = False
    """Whether it is carried out elsewhere, so that its future gives the result itself; see ``Flow.follow``."""


Done = Callable[[Asked[R], asyncio.Future[Body]], None]


class Flow(Generic[R]):
    """Requests on their way, bounded in number and size."""

    def __init__(self, executor: Executor, context: Context, *, together: int, done: Done[R]) -> None:
        """Begin with nothing under way.

        Args:
            executor: carries the requests out.
            context: what the session adds to operations.
            together: how many requests share a call.
            done: called with each request and its settled future, in the order of the answers; not for cancelled ones.
        """
        self.executor: Final = executor
        self.context: Final = context
        self.together: Final = together
        self._done = done
        self._prepared: list[tuple[Asked[R], float, Account | None]] = []
        """Each with the deadline and the scope of its task."""
        self._outstanding: dict[asyncio.Future[Body], Asked[R]] = {}
        self._bytes = 0
        self._held = 0
        self._since = time.perf_counter()
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def unanswered(self) -> int:
        """How many requests are prepared or outstanding."""
        return len(self._prepared) + len(self._outstanding)

    @property
    def prepared(self) -> int:
        """How many requests wait for others to fill a call."""
        return len(self._prepared)

    @property
    def full(self) -> bool:
        """Whether the next request has to wait for room."""
        paced = _PACED_CALLS * self.together
        return (
            self.unanswered >= _OUTSTANDING
            or self._bytes >= _OUTSTANDING_BYTES
            or (self.unanswered >= paced and self.executor.held_up >= paced)
        )

    @property
    def paces(self) -> bool:
        """Whether it is time to let other tasks run: 2 ms have passed since they last did."""
        return time.perf_counter() - self._since > _SLICE_SECONDS

    async def pace(self) -> None:
        """Let other tasks run if it is time."""
        if self.paces:
            await self.hold(anyio.lowlevel.checkpoint())

    async def room(self) -> None:
        """Wait until another request may be added."""
        while self.full:
            if not self._outstanding:
                self.flush()
            await self.change()

    async def change(self) -> None:
        """Wait until something is answered or given up."""
        self._changed.clear()
        await self.hold(self._changed.wait())

    async def hold(self, pause: Awaitable[T]) -> T:
        """Pause without taking it for a pause of the source, so that what is prepared can still grow."""
        self._held += 1
        try:
            return await pause
        finally:
            self._held -= 1
            self._since = time.perf_counter()
            if self._prepared:
                self._flush_soon()

    async def finish(self) -> None:
        """Wait until everything is answered."""
        self.flush()
        while self.unanswered:
            await self.change()

    def add(self, asked: Asked[R]) -> None:
        """Have a request sent: with others as soon as they fill a call, or when the source of requests pauses."""
        self._prepared.append((asked, anyio.current_effective_deadline(), self.executor.ledger.payer()))
        self._bytes += _size(asked.request)
        if len(self._prepared) >= self.together:
            self.flush()
        elif len(self._prepared) == 1:
            self._flush_soon()

    def follow(self, asked: Asked[R], result: asyncio.Future[Any]) -> None:
        """Take note of what is carried out elsewhere: it is waited for, and given up, with the rest."""
        self._outstanding[result] = asked
        result.add_done_callback(self._settled)

    def _flush_soon(self) -> None:
        self._loop.call_soon(self._flush_when_source_pauses)

    def _flush_when_source_pauses(self) -> None:
        if not self._held:
            self.flush()

    def flush(self) -> None:
        """Submit what is prepared."""
        prepared, self._prepared = self._prepared, []
        for asked, deadline, payer in prepared:
            try:
                future = self.executor.submit(asked.request, deadline, payer)
            except DynamapError as error:  # the session was closed meanwhile: that is this request's own error
                future = self._loop.create_future()
                future.set_exception(error)
            self._outstanding[future] = asked
            future.add_done_callback(self._settled)

    def _settled(self, future: asyncio.Future[Body]) -> None:
        asked = self._outstanding.pop(future)
        self._bytes -= _size(asked.request)
        self._changed.set()
        if not future.cancelled():
            future.exception()  # taken note of, whatever becomes of the call
            self._done(asked, future)

    def withdraw(self) -> None:
        """Give up what was never sent; what was sent stays outstanding until it is answered."""
        self._drop_prepared()
        self.executor.withdraw(self._outstanding)

    def cancel(self) -> None:
        """Wait for nothing any more: what was not sent is withdrawn, what was sent ends unobserved."""
        self._drop_prepared()
        for future in tuple(self._outstanding):
            future.cancel()

    def cancel_from_anywhere(self) -> None:
        """Do as ``cancel`` does, from a destructor: in any thread, and after the event loop's end."""
        if not self.unanswered:
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is under way any more
            self._loop.call_soon_threadsafe(self.cancel)

    def _drop_prepared(self) -> None:
        self._bytes -= sum(_size(asked.request) for asked, *_ in self._prepared)
        self._prepared = []


def _size(request: Request) -> int:
    return 0 if request.target is None else request.target.json_bytes
