"""The lease of one block of code: held while the block runs, and renewed beside it.

Invariant: when the block is left, nothing that it started is running. It is cancelled before anybody else can have the
lease; see ``records.py`` for what makes sure of that.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Callable
from contextvars import Context as ContextVariables
from types import TracebackType
from typing import Final, Self

from dynamap_async.errors import DynamapError, LeaseTakenError, ServiceError, TransportError
from dynamap_async.errors.habits import EnteredByAsyncWith
from dynamap_async.executor import Executor
from dynamap_async.leases.records import (
    LEASE_SECONDS,
    PATIENCE,
    LeaseCheck,
    LeaseItem,
    LeaseRecords,
    LeaseWatch,
    lease_lost,
    new_owner,
)
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.transport import Transport
from dynamap_async.turns import new_task
from dynamap_async.wire import Body

_RENEWALS: Final = 3
"""How often a lease is renewed in the time that its holder goes on without."""


class Lease(EnteredByAsyncWith):
    """The right to do something that one process at a time may do; hold it with ``async with``, once.

    It is renewed three times in ``seconds``. Where that fails for so long, or somebody else has it, the block is
    cancelled, and raises LeaseLostError.

    Cost: one GetItem and one UpdateItem to take it, one UpdateItem for each renewal, one to give it back; a unit each.
    """

    def __init__(
        self,
        executor: Executor,
        context: Context,
        name: str,
        *,
        seconds: float = LEASE_SECONDS,
        wait: bool | float = True,
        waiting_for: Callable[[str], object] = lambda holder: None,
    ) -> None:
        """Describe the lease; nothing is sent yet.

        Args:
            executor: carries the requests out.
            context: what the session adds to each operation.
            name: what may be done, as text: the same for all who may do it.
            seconds: how long it is held without having been renewed.
            wait: whether to wait while another process has it, or for how many seconds at most.
            waiting_for: called with who has it, when waiting begins, and when another one got it.
        """
        self.name: Final = name
        self._records: Final = LeaseRecords(executor, context, LeaseItem)
        self._clock: Final = context.clock
        self._seconds: Final = seconds
        self._longest_wait: Final = math.inf if wait is True else float(wait)
        self._waiting_for: Final = waiting_for
        self._owner: Final = new_owner()
        self._taken: LeaseItem | None = None
        """The lease as it was taken; kept when it is lost, for the fence is that of this taking."""
        self._renewed: tuple[float, float] | None = None
        """When the last renewal that was answered had begun, by both clocks; None where it is not held."""
        self._deadline: asyncio.Timeout | None = None
        self._renewing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Lease {self.name!r} {'held' if self.is_held else 'not held'}, fence {self.fence}>"

    @property
    def fence(self) -> int:
        """The number of this taking: higher than those of all before it; 0 where it was not taken."""
        return 0 if self._taken is None else self._taken.fence

    @property
    def owner(self) -> str:
        """The name of this holder, as others see it."""
        return self._owner

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have it yet, by the event loop's clock and the session's; one may have stood."""
        if self._renewed is None:
            return False
        now = self._now()
        return all(after - before < self._seconds for before, after in zip(self._renewed, now, strict=True))

    def check(self) -> None:
        """Raise LeaseLostError unless it is held."""
        if not self.is_held:
            raise lease_lost(self.name, "Nothing was sent")

    def condition(self) -> LeaseCheck:
        """Return a check for transactions that are to be refused once another process has the lease."""
        return LeaseCheck(self.name, self.fence)

    async def __aenter__(self) -> Self:
        """Take it.

        Raises:
            LeaseTakenError: another process has it, and nobody wants to wait, or not any longer.
            ResourceNotFoundError: the library's own table does not exist.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
        """
        await self._take()
        self._deadline = asyncio.timeout(None)
        await self._deadline.__aenter__()
        self._prolong()
        # A context of its own: what it sends is no part of the scopes of whoever takes the lease.
        self._renewing = new_task(self._renew(), ContextVariables())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Give it back.

        Raises:
            LeaseLostError: it was lost, and the block was cancelled for that.
        """
        assert self._renewing is not None  # noqa: S101 - it was entered
        assert self._deadline is not None  # noqa: S101 - likewise
        self._renewing.cancel()
        try:
            try:
                # First: whoever is cancelled while it waits must not be cancelled again when the lease would run out.
                await self._deadline.__aexit__(kind, error, trace)
            finally:
                await asyncio.wait((self._renewing,))
        except TimeoutError:
            if isinstance(error, asyncio.CancelledError):
                raise lease_lost(self.name, "The work was broken off") from None
            raise
        finally:
            held, self._renewed = self.is_held, None
            if held:
                assert self._taken is not None  # noqa: S101 - it is held
                with contextlib.suppress(DynamapError):  # the next one gets it a little later
                    await self._records.give_back(self._taken)

    def _now(self) -> tuple[float, float]:
        return asyncio.get_running_loop().time(), self._clock()

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        watch, told = LeaseWatch(), 0
        until = loop.time() + self._longest_wait
        while True:
            found = await self._records.find(self.name)
            if found is None or found.owner is None or watch.is_overdue(found, loop.time()):
                if await self._takes(found):
                    return
                continue
            left = until - loop.time()
            if left <= 0:
                raise LeaseTakenError(
                    f"{found.owner} holds the lease {self.name!r}; wait until it is done. If that process is gone, "
                    f"the lease becomes free {found.seconds * PATIENCE:g} s after",
                    lease=self.name,
                    holder=found.owner,
                )
            if told != found.fence:  # once for each holder, and not for each look
                self._waiting_for(found.owner)
                told = found.fence
            # As often as it is renewed: each look in vain costs a read, and each one too few some seconds.
            await asyncio.sleep(min(left, min(found.seconds, self._seconds) / _RENEWALS))

    async def _takes(self, found: LeaseItem | None) -> bool:
        """Take the lease as it was found; return False if somebody else did meanwhile."""
        began = self._now()
        taken = await self._records.take(self.name, found, owner=self._owner, seconds=self._seconds)
        if taken is None:
            return False
        self._taken, self._renewed = taken, began
        return True

    async def _renew(self) -> None:
        """Renew the lease until that is cancelled, or it is lost."""
        assert self._taken is not None  # noqa: S101 - it was entered
        while True:
            await asyncio.sleep(self._seconds / _RENEWALS)
            began = self._now()
            try:
                renewed = await self._records.renew(self._taken)
            except (ServiceError, TransportError):
                continue  # there is time for another attempt; otherwise it runs out
            self._renewed = None if renewed is None else began
            self._prolong()
            if renewed is None:
                return

    def _prolong(self) -> None:
        """Set the deadline of the block to when the lease runs out."""
        assert self._deadline is not None  # noqa: S101 - it was entered
        if not self._deadline.expired():
            until = asyncio.get_running_loop().time() if self._renewed is None else self._renewed[0] + self._seconds
            self._deadline.reschedule(until)


class LeasedTransport:
    """A transport that sends nothing unless a lease is held.

    That is checked last of all, after a request has waited for everything else, and again before each repetition.
    Whoever opened the transport behind it closes that.
    """

    def __init__(self, transport: Transport, lease: Lease) -> None:
        """Put a lease before a transport.

        Args:
            transport: an open transport.
            lease: the lease that has to be held.
        """
        self._transport: Final = transport
        self._lease: Final = lease

    def __repr__(self) -> str:
        return f"LeasedTransport({self._transport!r}, {self._lease.name!r})"

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time."""
        return self._transport.max_connections

    async def open(self) -> None:
        """Do nothing: the transport behind it is open."""

    async def send(self, request: Request) -> Body:
        """Send the request if the lease is held.

        Args:
            request: the operation with its body in wire form.

        Raises:
            LeaseLostError: it is not held; nothing was sent.
            ServiceError: DynamoDB answered with an error.
            TransportError: no usable answer arrived.
        """
        self._lease.check()
        return await self._transport.send(request)

    async def close(self) -> None:
        """Do nothing: others use the transport behind it."""
