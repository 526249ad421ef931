"""Pending operations: what waits to be sent, who waits for it, and how each of them learns the outcome.

Invariant: every waiter's future is settled exactly once, with its own answer or its own instance of an error, or is
cancelled by its own task; no waiter's cancellation reaches another.
"""

import asyncio
import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from dynamap_async.config import Priority
from dynamap_async.errors import DynamapError
from dynamap_async.executor.account import OUT_OF_REQUESTS, Account
from dynamap_async.executor.budget import Estimate
from dynamap_async.executor.sending import Sending
from dynamap_async.wire import Body

E = TypeVar("E", bound=Exception)


@dataclass(slots=True, eq=False)
class Waiter:
    """One task that waits for one item."""

    future: asyncio.Future[Body]
    deadline: float
    """The event loop's time after which the task will not wait any more."""
    number: int = 0
    """Its number among all that wait in a session, and have waited."""
    since: float = 0.0
    """The event loop's time at which it asked."""
    account: Account | None = None
    """Who pays for its part; None for the session's own account."""
    reserved: Estimate | None = None
    """What is reserved for it, until it is answered, given up or cancelled."""

    @property
    def priority(self) -> Priority:
        """How urgent it is."""
        return Priority.INTERACTIVE if self.account is None else self.account.priority

    def give_back(self) -> None:
        """Give back what is reserved for it, if that was not done yet."""
        if self.reserved is not None and self.account is not None:
            self.account.give_back(self.reserved)
            self.reserved = None

    def ended(self, future: asyncio.Future[Body]) -> None:
        """Take note that its future is done, however that came."""
        self.give_back()


@dataclass(slots=True, eq=False)
class Pending(Sending):
    """A single-item request that may share a call with others."""

    waiters: list[Waiter] = field(default_factory=list[Waiter])
    task: asyncio.Task[None] | None = None
    """The task that carries it, or carried it last."""
    urgency: Priority = Priority.INTERACTIVE
    """The priority of the queue that it was put into."""
    refused_in_batch: bool = False
    """Whether it travels alone, to see whether it is accepted then."""

    consistent: bool = False
    """Whether it is a consistent read."""
    ended: int = 0
    """How many of the first waiters are known to wait no more."""

    identity: str = field(init=False)
    """The table and key, equal for equal keys."""
    identities: tuple[str, ...] = field(init=False)
    """Those of all items that the request is about: more than one for a transaction."""

    def __post_init__(self) -> None:
        if self.waiters:
            self.since: float = self.waiters[0].since
        request = self.request
        if request.targets:
            self.identities = tuple([target.identity for target in request.targets])
            self.identity = self.identities[0]
        else:
            assert request.target is not None, f"{request.operation} is not about items"  # noqa: S101 - routed by it
            self.identity = request.target.identity
            self.identities = (self.identity,)

    @property
    def wanted(self) -> bool:
        """Whether anybody still waits."""
        # Whoever is done stays so, and is looked at once: thousands may wait for one key, and leave together.
        while self.ended < len(self.waiters):
            if not self.waiters[self.ended].future.done():
                return True
            self.ended += 1
        return False

    @property
    def waiting(self) -> int:
        """How many still wait for it."""
        return sum([not waiter.future.done() for waiter in self.waiters])

    @property
    def waiter_ids(self) -> tuple[int, ...]:
        """The numbers of those who still wait for it."""
        return tuple(waiter.number for waiter in self.waiters if not waiter.future.done())

    @property
    def payers(self) -> tuple[Account | None, ...]:
        """The accounts of those who still wait for it, one for each."""
        return tuple(waiter.account for waiter in self.waiters if not waiter.future.done())

    @property
    def priority(self) -> Priority:
        """The most urgent priority of those who wait for it."""
        if len(self.waiters) == 1 and self.waiters[0].account is None and not self.waiters[0].future.done():
            return Priority.INTERACTIVE  # as most are
        return min((each.priority for each in self.waiters if not each.future.done()), default=Priority.BACKGROUND)

    def waited(self, now: float) -> float:
        """Return how long those who still wait for it have waited since it was last answered, in sum."""
        if len(self.waiters) == 1:
            return now - max(self.waiters[0].since, self.idle_since)
        return sum(self.waits(now))

    def waits(self, now: float) -> Sequence[float]:
        """Return the same for each of them."""
        idle = self.idle_since
        return [now - max(each.since, idle) for each in self.waiters if not each.future.done()]

    def give_back(self) -> None:
        """Give back what is reserved for it, if that was not done yet."""
        for waiter in self.waiters:
            waiter.give_back()

    def answer(self, body: Body) -> None:
        """Give every waiter the answer; each decodes an instance of its own."""
        for waiter in self.waiters:
            if not waiter.future.done():
                waiter.future.set_result(body)

    def fail(self, error: Exception) -> None:
        """Give every waiter an instance of the error of its own, so that tracebacks do not grow into each other."""
        for waiter in self.waiters:
            _fail(waiter, error)

    def refuse_those_out_of_requests(self) -> None:
        """Fail the waiters whose scopes may send no further request, unless an earlier attempt may have written."""
        if self.outcome_unknown:
            return
        for waiter in self.waiters:
            if waiter.account is not None and waiter.account.out_of_requests and not waiter.future.done():
                waiter.future.set_exception(waiter.account.refusal(self.request))

    def fail_those_due(self, until: float, error: Exception) -> None:
        """Fail the waiters whose deadline is before ``until``, when the next attempt would begin."""
        for waiter in self.waiters:
            if waiter.deadline < until:
                _fail_with_note(waiter, error, "not sent again: the caller's deadline is too near")

    def fail_those_out_of_requests(self, error: Exception) -> None:
        """Fail the waiters whose scopes may send no further request."""
        for waiter in self.waiters:
            if waiter.account is not None and waiter.account.out_of_requests:
                _fail_with_note(waiter, error, OUT_OF_REQUESTS)


def own_instance(error: E) -> E:
    """Return a copy of an error, with its facts, its cause and its notes.

    An error of ours explains itself and comes without a traceback; any other is a defect, whose origin is kept.
    """
    try:
        own = copy.copy(error)
    except Exception:  # noqa: BLE001 - a class whose arguments are not its constructor's
        own = type(error).__new__(type(error), *error.args)
        own.__dict__.update(error.__dict__)
    if hasattr(error, "__notes__"):
        own.__notes__ = list(error.__notes__)
    own.__cause__, own.__context__ = error.__cause__, error.__context__
    own.__suppress_context__ = error.__suppress_context__
    return own if isinstance(error, DynamapError) else own.with_traceback(error.__traceback__)


def _fail_with_note(waiter: Waiter, error: Exception, note: str) -> None:
    own = own_instance(error)
    own.add_note(note)
    _fail(waiter, own)


def _fail(waiter: Waiter, error: Exception) -> None:
    if not waiter.future.done():
        waiter.future.set_exception(own_instance(error))
