"""Scopes: what is awaited inside of one is accounted for, budgeted and prioritised together."""

from __future__ import annotations

import asyncio
from math import inf, isfinite
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from dynamap_async.config import Priority
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError, ScopeTimeoutError, SessionStateError
from dynamap_async.errors.habits import EnteredByAsyncWith
from dynamap_async.executor import Account, Executor, Limits
from dynamap_async.usage import Usage

if TYPE_CHECKING:
    import anyio


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a scope may take, None for any amount, and how urgent it is.

    Raises:
        ConfigurationError: a limit is no number, or is negative, or the priority is none.
    """

    max_read_units: float | None = None
    """The most read units, from 0 up."""
    max_write_units: float | None = None
    """The most write units, from 0 up."""
    max_requests: int | None = None
    """The most HTTP requests, repeated ones included."""
    timeout: float | None = None
    """Seconds after which what is awaited directly inside of the scope is cancelled."""
    priority: Priority | None = None
    """None for that of the scope around it."""

    def __post_init__(self) -> None:
        for label in ("max_read_units", "max_write_units", "max_requests", "timeout"):
            limit = getattr(self, label)
            is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
            if limit is not None and not (is_number and isfinite(limit) and limit >= 0):
                raise ConfigurationError(f"scope({label}={limit!r}): give a number, 0 or more, or None")
        if self.priority is not None and not isinstance(self.priority, Priority):
            names = ", ".join(f"Priority.{each.name}" for each in Priority)
            raise ConfigurationError(f"scope(priority={self.priority!r}): give one of {names}, or None")

    @property
    def limits(self) -> Limits:
        """The budget."""
        return Limits(
            read_halves=None if self.max_read_units is None else int(self.max_read_units * 2),
            write_halves=None if self.max_write_units is None else int(self.max_write_units * 2),
            requests=self.max_requests,
        )


class Scope(EnteredByAsyncWith):
    """One scope; ``session.scope`` makes it. Use it as ``async with``, once.

    Whatever is awaited inside of it belongs to it, in tasks that are begun inside of it too, also after it was left.
    Scopes that are opened after it was left are not inside of it.
    """

    def __init__(self, executor: Executor, name: str, allowance: Allowance) -> None:
        """Create a scope of a session; it begins when it is entered.

        Args:
            executor: whose requests are accounted for.
            name: what errors call it.
            allowance: what it may take, and how urgent it is.
        """
        self.name: Final[str] = name
        """What errors call it."""
        self._executor: Final = executor
        self._limits: Final = allowance.limits
        self._timeout: Final = allowance.timeout
        self._priority: Final = allowance.priority
        self._account: Account | None = None
        self._cancelling: anyio.CancelScope | None = None

    @property
    def usage(self) -> Usage:
        """What was used inside of it until now, in scopes that were opened in it as well."""
        return Usage() if self._account is None else self._account.whole.usage()

    @property
    def own_usage(self) -> Usage:
        """What was used inside of it until now, but not in scopes that were opened in it.

        The units of all scopes' own usage and of ``session.unscoped_usage`` add up to those of ``session.usage``.
        """
        return Usage() if self._account is None else self._account.own.usage()

    @property
    def priority(self) -> Priority | None:
        """How urgent what is awaited inside of it is; None before it is entered, where it takes that around it."""
        return self._priority if self._account is None else self._account.priority

    async def __aenter__(self) -> Self:
        """Begin.

        Raises:
            SessionStateError: it was entered before.
        """
        if self._account is not None:
            raise SessionStateError(f"scope {self.name!r} can be entered once; make a new one with session.scope(...)")
        deadline = inf
        if self._timeout is not None:
            deadline = asyncio.get_running_loop().time() + self._timeout
            import anyio  # not every scope has a timeout

            self._cancelling = anyio.CancelScope(deadline=deadline)
            self._cancelling.__enter__()
        ledger = self._executor.ledger
        ledger.begin_scope(self._limits)
        self._account = Account(ledger, self.name, limits=self._limits, priority=self._priority, deadline=deadline)
        self._account.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None:
        """End.

        Raises:
            ScopeTimeoutError: its time was over, and what was awaited in it was cancelled for that.
        """
        if self._account is not None:
            self._account.leave()
        if self._cancelling is None:
            return None
        handled = self._cancelling.__exit__(kind, error, trace)
        if self._cancelling.cancelled_caught and self._timeout is not None:
            raise ScopeTimeoutError(
                f"scope {self.name!r} took longer than its timeout of {self._timeout:g} s",
                scope=self.name,
                timeout=self._timeout,
                usage=self.usage,
            ) from error
        return handled
