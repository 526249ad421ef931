"""Pending operations: what waits to be sent, who waits for it, and how each of them learns the outcome.

Invariant: every waiter's future is settled exactly once, with its own answer or its own instance of an error, or is
cancelled by its own task; no waiter's cancellation reaches another.
"""

import asyncio
import copy
from dataclasses import dataclass, field
from typing import TypeVar

from dynamap_async.errors import DynamapError
from dynamap_async.executor.sending import Sending
from dynamap_async.request import Target
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


@dataclass(slots=True, eq=False)
class Pending(Sending):
    """A single-item request that may share a call with others."""

    waiters: list[Waiter] = field(default_factory=list[Waiter])
    task: asyncio.Task[None] | None = None
    """The task that carries it, or carried it last."""
    refused_in_batch: bool = False
    """Whether it travels alone, to see whether it is accepted then."""

    @property
    def identity(self) -> str:
        """The table and key, equal for equal keys."""
        return self.target.identity

    @property
    def identities(self) -> tuple[str, ...]:
        """Those of all items that the request is about: more than one for a transaction."""
        targets = self.request.targets
        return tuple(target.identity for target in targets) if targets else (self.identity,)

    @property
    def target(self) -> Target:
        """The item that the request is about; of a transaction, the first."""
        target = self.request.targets[0] if self.request.targets else self.request.target
        assert target is not None, f"{self.request.operation} is not about items"  # noqa: S101 - routed by it
        return target

    @property
    def wanted(self) -> bool:
        """Whether anybody still waits."""
        return any(not waiter.future.done() for waiter in self.waiters)

    @property
    def waiting(self) -> int:
        """How many still wait for it."""
        return sum(not waiter.future.done() for waiter in self.waiters)

    @property
    def waiter_ids(self) -> tuple[int, ...]:
        """The numbers of those who still wait for it."""
        return tuple(waiter.number for waiter in self.waiters if not waiter.future.done())

    def answer(self, body: Body) -> None:
        """Give every waiter the answer; each decodes an instance of its own."""
        for waiter in self.waiters:
            if not waiter.future.done():
                waiter.future.set_result(body)

    def fail(self, error: Exception) -> None:
        """Give every waiter an instance of the error of its own, so that tracebacks do not grow into each other."""
        for waiter in self.waiters:
            _fail(waiter, error)

    def fail_those_due(self, until: float, error: Exception) -> None:
        """Fail the waiters whose deadline is before ``until``, when the next attempt would begin."""
        for waiter in self.waiters:
            if waiter.deadline < until:
                own = own_instance(error)
                own.add_note("not sent again: the caller's deadline is too near")
                _fail(waiter, own)


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


def _fail(waiter: Waiter, error: Exception) -> None:
    if not waiter.future.done():
        waiter.future.set_exception(own_instance(error))
