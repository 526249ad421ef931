"""Leases: who of several processes may do what one at a time may do, kept in the library's own table.

Invariant: each taking of a lease has a fence of its own, a number that is higher than all before it. A lease is taken
from its holder only where that was seen not to renew it for longer than the holder itself goes on without: both measure
spans, each by a clock of its own, and no two clocks are compared. When the block of a lease is left, nothing that it
started is running.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import math
import os
import platform
import secrets
from collections.abc import Callable
from contextvars import Context as ContextVariables
from types import TracebackType
from typing import Final, Self, TypeVar

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    DynamapError,
    LeaseLostError,
    LeaseTakenError,
    ServiceError,
    TransportError,
)
from dynamap_async.errors.habits import EnteredByAsyncWith
from dynamap_async.executor import Executor
from dynamap_async.expressions import Condition
from dynamap_async.models import Attr, attr
from dynamap_async.operations import Check, Find, SingleRequest, Update
from dynamap_async.operations.library_table import OwnItem
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.transport import Transport
from dynamap_async.turns import new_task
from dynamap_async.wire import Body

R = TypeVar("R")

LEASE_SECONDS: Final = 15.0
"""How long a holder goes on without having renewed its lease."""
_RENEWALS: Final = 3
"""How often a lease is renewed in that time."""
_PATIENCE: Final = 1.2
"""How many times as long others wait before they take it: clocks run apart, and requests take time to arrive."""


class LeaseItem(OwnItem, defer_build=True):
    """A lease as it is stored. It is never deleted, because its fence must not begin anew."""

    fence: Attr[int] = attr(default=0)
    """The number of the last taking."""
    owner: Attr[str | None] = attr(default=None)
    """Who has it; None where nobody has."""
    beat: Attr[int] = attr(default=0)
    """How often it was renewed since it was taken."""
    seconds: Attr[float] = attr(default=LEASE_SECONDS)
    """How long its owner goes on without having renewed it."""


class LeaseCheck(Check):
    """Demand of a transaction that a lease is still of this taking."""

    __slots__ = ("_name",)

    def __init__(self, name: str, fence: int) -> None:
        """Name the taking.

        Args:
            name: the name of the lease.
            fence: the number of the taking.
        """
        super().__init__(LeaseItem, _key(name), where=LeaseItem.fence == fence)
        self._name = name

    def failed(self, error: ServiceError) -> Exception:
        """Return the error that says who has the lease now.

        Args:
            error: the refusal.
        """
        failure = super().failed(error)
        if not isinstance(failure, ConditionalCheckFailedError):
            return failure
        now = failure.item.owner if isinstance(failure.item, LeaseItem) else None
        return _lost(self._name, "Nothing was written", now)


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
        self._executor: Final = executor
        self._context: Final = context
        self._seconds: Final = seconds
        self._longest_wait: Final = math.inf if wait is True else float(wait)
        self._waiting_for: Final = waiting_for
        self._owner: Final = f"{_here()} {secrets.token_hex(4)}"
        self._fence = 0
        self._renewed: tuple[float, float] | None = None
        """When the last renewal that was answered had begun, by both clocks; None where it is not held."""
        self._deadline: asyncio.Timeout | None = None
        self._renewing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Lease {self.name!r} {'held' if self.is_held else 'not held'}, fence {self._fence}>"

    @property
    def fence(self) -> int:
        """The number of this taking: higher than those of all before it; 0 where it was not taken."""
        return self._fence

    @property
    def owner(self) -> str:
        """Who this process is, as others are told."""
        return self._owner

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have it yet, by the event loop's clock and by the session's: one may have stood."""
        if self._renewed is None:
            return False
        now = self._now()
        return all(after - before < self._seconds for before, after in zip(self._renewed, now, strict=True))

    def check(self) -> None:
        """Raise LeaseLostError unless it is held."""
        if not self.is_held:
            raise _lost(self.name, "Nothing was sent")

    def condition(self) -> LeaseCheck:
        """Return what a transaction demands that is to be refused once another process has the lease."""
        return LeaseCheck(self.name, self._fence)

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
                raise _lost(self.name, "The work was broken off") from None
            raise
        finally:
            held, self._renewed = self.is_held, None
            if held:
                await self._give_back()

    def _now(self) -> tuple[float, float]:
        return asyncio.get_running_loop().time(), self._context.clock()

    async def _take(self) -> None:
        seen: tuple[int, int] | None = None
        told: int | None = None
        since = 0.0
        until = asyncio.get_running_loop().time() + self._longest_wait
        while True:
            found = await self._carry_out(Find(LeaseItem, _key(self.name), consistent_read=True, coalesce=False))
            if found is None or found.owner is None or self._has_gone(found, seen, since):
                if await self._takes(found):
                    return
                continue
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                raise LeaseTakenError(
                    f"{found.owner} holds the lease {self.name!r}; wait until it is done. If that process is gone, "
                    f"the lease becomes free {found.seconds * _PATIENCE:g} s after",
                    lease=self.name,
                    holder=found.owner,
                )
            if told != found.fence:
                self._waiting_for(found.owner)
                told = found.fence
            if seen != (found.fence, found.beat):
                seen, since = (found.fence, found.beat), asyncio.get_running_loop().time()
            await asyncio.sleep(min(left, min(found.seconds, self._seconds) / _RENEWALS))

    def _has_gone(self, found: LeaseItem, seen: tuple[int, int] | None, since: float) -> bool:
        """Return whether a holder was seen not to renew its lease for too long."""
        waited = asyncio.get_running_loop().time() - since
        return seen == (found.fence, found.beat) and waited >= found.seconds * _PATIENCE

    async def _takes(self, found: LeaseItem | None) -> bool:
        """Take the lease as it was found; return False if somebody else did meanwhile."""
        began = self._now()
        as_found: Condition = LeaseItem.pk.missing()
        if found is not None:
            as_found = (LeaseItem.fence == found.fence) & (LeaseItem.beat == found.beat)
            as_found &= LeaseItem.owner.missing() if found.owner is None else LeaseItem.owner == found.owner
        fence = 1 if found is None else found.fence + 1
        taking = (
            Update(LeaseItem, _key(self.name))
            .set(LeaseItem.owner, self._owner)
            .set(LeaseItem.seconds, self._seconds)
            .set(LeaseItem.fence, fence)
            .set(LeaseItem.beat, 0)
            .upsert()
            .where(as_found)
        )
        if not await self._is_done(taking):
            return False
        self._fence, self._renewed = fence, began
        return True

    async def _renew(self) -> None:
        """Renew the lease until that is cancelled, or it is lost."""
        while True:
            await asyncio.sleep(self._seconds / _RENEWALS)
            began = self._now()
            renewal = Update(LeaseItem, _key(self.name)).add(LeaseItem.beat, 1).where(LeaseItem.fence == self._fence)
            try:
                if not await self._is_done(renewal):
                    self._renewed = None
                    self._prolong()
                    return
            except (ServiceError, TransportError):
                continue  # there is time for another attempt; otherwise it runs out
            self._renewed = began
            self._prolong()

    def _prolong(self) -> None:
        """Let the block go on for as long as the lease is held."""
        assert self._deadline is not None  # noqa: S101 - it was entered
        if not self._deadline.expired():
            until = asyncio.get_running_loop().time() if self._renewed is None else self._renewed[0] + self._seconds
            self._deadline.reschedule(until)

    async def _give_back(self) -> None:
        """Let the next one have it at once; where that fails, it gets it a little later."""
        giving = Update(LeaseItem, _key(self.name)).remove(LeaseItem.owner).where(LeaseItem.fence == self._fence)
        with contextlib.suppress(DynamapError):
            await self._is_done(giving)

    async def _is_done(self, update: Update[LeaseItem, LeaseItem]) -> bool:
        """Carry out an update; return False if its condition does not hold.

        Where an answer was lost, the update may have been done before it was refused: then its owner is this one.
        """
        try:
            await self._carry_out(update)
        except ConditionalCheckFailedError as error:
            stored = error.item if isinstance(error.item, LeaseItem) else None
            return error.outcome_unknown and stored is not None and stored.owner == self._owner
        return True

    async def _carry_out(self, operation: SingleRequest[R]) -> R:
        request = operation.request(self._context)
        try:
            answer = await self._executor.send(request)
        except ServiceError as error:
            failure = operation.failed(error)
            if failure is error:
                raise
            raise failure from error
        return operation.result(answer, self._context)


class LeasedTransport:
    """A transport that sends nothing unless a lease is held.

    That is looked at last of all, when a request has waited for everything else, and again before it is sent another
    time. It belongs to whoever opened the transport behind it.
    """

    def __init__(self, transport: Transport, lease: Lease) -> None:
        """Join them.

        Args:
            transport: sends; it is open.
            lease: what has to be held.
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
        """Nothing: it is open."""

    async def send(self, request: Request) -> Body:
        """Send the request if the lease is held.

        Args:
            request: the operation with its body in wire form.

        Raises:
            LeaseLostError: it is not; nothing was sent.
            ServiceError: DynamoDB answered with an error.
            TransportError: no usable answer arrived.
        """
        self._lease.check()
        return await self._transport.send(request)

    async def close(self) -> None:
        """Nothing: others use the transport."""


def _key(name: str) -> str:
    return f"lease#{name}"


def _here() -> str:
    """Return user, machine and process, as people know them."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container may have no name for its user
        user = "somebody"
    return f"{user}@{platform.node() or 'unknown'}, process {os.getpid()},"


def _lost(name: str, what: str, holder: str | None = None) -> LeaseLostError:
    now = "another process may have it" if holder is None else f"{holder} has it"
    return LeaseLostError(
        f"the lease {name!r} was lost: this process did not renew it in time, and {now}. {what}; begin again",
        lease=name,
    )


__all__ = ["LEASE_SECONDS", "Lease", "LeaseCheck", "LeaseItem", "LeasedTransport"]
