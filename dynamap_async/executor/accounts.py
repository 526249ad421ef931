"""Accounts: what was done and taken, by operation and table, and by whom of it; and what each scope may take.

Invariant: no count is lost. The counts of a table that does not exist, and of one that was idle for long where there
are too many, are added to those of the operation on ``OTHER_TABLES``. What an account has of its own is counted in no
other's; ``whole`` has what the scopes opened inside of it have as well. What is reserved is given back once, whether
the request is answered, given up or cancelled. Side by side, the requests of a scope may take no more than is left of
its budget, as far as requests of their kinds are known; one alone may always be sent while anything is left. So a
budget is exceeded by what one request takes at the most. Nobody waits for a budget of which nothing is set aside.
"""

from __future__ import annotations

import asyncio
import copy
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import fields
from math import inf
from typing import Any, Final, TypeAlias

from dynamap_async.config import Priority
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import CapacityBudgetExceededError
from dynamap_async.executor.consumed import Spending
from dynamap_async.request import Request
from dynamap_async.statistics import OTHER_TABLES, OperationStatistics, Statistics
from dynamap_async.usage import IndexUsage, OperationUsage, Usage, UsageCounts

MOST_COUNTS: Final = 4_000
"""Of how many operations on tables there are counts of their own: five of each of 800 tables."""

TableOperation: TypeAlias = tuple[str, str]
"""An API operation and a table."""


class CountsByTable(dict[TableOperation, "Tally"]):
    """Operation and table -> counts, which are made where they are asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._used: dict[TableOperation, int] = {}
        """How often the counts were used, when room was made last."""

    def __missing__(self, place: TableOperation) -> Tally:
        if len(self) >= MOST_COUNTS:
            self._make_room()
        counts = self[place] = Tally()
        return counts

    def fold(self, places: Iterable[TableOperation]) -> None:
        """Add counts to those of other tables."""
        for place in places:
            operation, table = place
            if table != OTHER_TABLES and (counts := self.pop(place, None)) is not None:
                self.setdefault((operation, OTHER_TABLES), Tally()).add(counts)

    def _make_room(self) -> None:
        """Fold the half of the counts that was used the least since the last time, of equal ones the oldest."""
        before = self._used
        places = sorted(self, key=lambda place: self[place].used - before.get(place, 0))
        self.fold(places[: len(places) // 2])
        self._used = {place: counts.used for place, counts in self.items()}


_STATISTICS: Final = {
    "accepted": "accepted",
    "coalesced": "coalesced",
    "requests": "requests",
    "failures": "failures",
    "retries": "backoffs",
    "unprocessed": "unprocessed",
    "splits": "splits",
}
"""Each count of ``dynamap_async.statistics`` -> what it is here."""
_USAGE: Final = tuple(each.name for each in fields(UsageCounts))


@dataclass(slots=True)
class Tally:
    """The counts of one operation on one table; ``dynamap_async.statistics`` and ``usage`` say what they mean."""

    accepted: int = 0
    coalesced: int = 0
    requests: int = 0
    failures: int = 0
    backoffs: int = 0
    """How often something began to wait to be sent again after a failure, or for want of capacity."""
    unprocessed: int = 0
    splits: int = 0
    items: int = 0
    retries: int = 0
    """How often something was sent again."""
    throttles: int = 0
    waiting_seconds: float = 0.0
    unreported_requests: int = 0
    reported_requests: int = 0
    """How many were answered with what they took; not those under way."""
    read_halves: int = 0
    """Read units of the table itself, in halves; those of its indexes are apart."""
    write_halves: int = 0
    """Write units of the table itself, in halves; those of its indexes are apart."""
    estimated_read_halves: int = 0
    """Besides, read units that were not reported, in halves, as they are supposed."""
    estimated_write_halves: int = 0
    """Besides, write units that were not reported, in halves, as they are supposed."""
    indexes: dict[str, list[int]] | None = None
    """Index -> its read units and write units, in halves; None where none took any."""

    @property
    def used(self) -> int:
        """How often it was used until now."""
        return self.accepted + self.requests + self.items

    def add(self, other: Tally) -> None:
        """Count what another one has counted, too; the units of its indexes as the table's."""
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for reads, writes in (other.indexes or {}).values():
            self.read_halves += reads
            self.write_halves += writes

    def statistics(self) -> dict[str, int]:
        """Return the counts that statistics are made of, by the names that they have there."""
        return {name: getattr(self, here) for name, here in _STATISTICS.items()}

    @property
    def halves(self) -> tuple[int, int]:
        """The read units and the write units that were reported, in halves, with those of the indexes."""
        reads, writes = self.read_halves, self.write_halves
        for own in (self.indexes or {}).values():
            reads += own[0]
            writes += own[1]
        return reads, writes

    def usage(self) -> dict[str, Any]:
        """Return the counts that usage is made of, by their names, with the units of the indexes."""
        counts = {name: getattr(self, name) for name in _USAGE}
        counts["read_halves"], counts["write_halves"] = self.halves
        return counts


_SUMMED: Final = tuple(each.name for each in fields(Tally) if each.name != "indexes")


class Counted:
    """What was counted, of a session or of a scope: in total, by operation and table, and by table and index."""

    __slots__ = ("_more_than_once", "by_operation")

    def __init__(self) -> None:
        self.by_operation: Final = CountsByTable()
        """The counts of each operation on each table."""
        self._more_than_once: Final = Tally()
        """What was counted for each of several tables, and is one in total."""

    def of(self, operation: str, tables: Sequence[str]) -> Sequence[Tally]:
        """Return the tallies to count something in that is about each of these tables, and is one in total."""
        if len(tables) == 1:
            return (self.by_operation[operation, tables[0]],)
        tallies = [self.by_operation[operation, table] for table in tables]
        return [*tallies, *[self._more_than_once] * (len(tallies) - 1)]

    def count(self, operation: str, tables: Sequence[str], name: str, number: float = 1) -> None:
        """Add to one of the counts.

        Args:
            operation: the API operation.
            tables: the tables that it is about.
            name: the name of the count in ``Tally``.
            number: how much to add.
        """
        for tally in self.of(operation, tables):
            setattr(tally, name, getattr(tally, name) + number)

    def fold(self, places: Iterable[TableOperation]) -> None:
        """Count these operations on tables as those on other tables."""
        self.by_operation.fold(places)

    def spend(self, operation: str, of: Spending, halves: int) -> None:
        """Add units of a table, or of one of its indexes: of what was reported, the part that is paid here."""
        table, index, writes = of.place
        tally = self.by_operation[operation, table]
        if (index := index or of.local_index) is not None:
            tally.indexes = tally.indexes or {}
            tally.indexes.setdefault(index, [0, 0])[writes] += halves
        elif writes:
            tally.write_halves += halves
        else:
            tally.read_halves += halves

    def suppose(self, operation: str, of: Spending, halves: int) -> None:
        """Add units that were not reported."""
        tally = self.by_operation[operation, of.place.table]
        if of.place.writes:
            tally.estimated_write_halves += halves
        else:
            tally.estimated_read_halves += halves

    @property
    def requests(self) -> int:
        """How many requests there were, in total."""
        return sum(tally.requests for tally in self.by_operation.values()) - self._more_than_once.requests

    @property
    def halves(self) -> tuple[int, int]:
        """The read units and the write units, in halves, in total, with those that are supposed."""
        reads = writes = 0
        for tally in self.by_operation.values():
            own = tally.halves
            reads += own[0] + tally.estimated_read_halves
            writes += own[1] + tally.estimated_write_halves
        return reads, writes

    def copy(self) -> Counted:
        """Return another one that has counted the same."""
        return copy.deepcopy(self)

    def statistics(
        self, queued: Mapping[TableOperation | None, int], in_flight: Mapping[TableOperation | None, int]
    ) -> Statistics:
        """Return the counts of requests as a value that does not change.

        Args:
            queued: operation and table -> how many requests wait now; in total under None.
            in_flight: the same of those that are on the wire.
        """
        counts = _nonzero({place: tally.statistics() for place, tally in self.by_operation.items()})
        total = {
            name: sum(each[name] for each in counts.values()) - getattr(self._more_than_once, here)
            for name, here in _STATISTICS.items()
        }
        places = {place for place in (*queued, *in_flight) if place is not None} | counts.keys()
        by_operation = tuple(
            OperationStatistics(
                operation=place[0],
                table=place[1],
                queued=queued.get(place, 0),
                in_flight=in_flight.get(place, 0),
                **counts.get(place, {}),
            )
            for place in sorted(places)
        )
        return Statistics(
            queued=queued.get(None, 0), in_flight=in_flight.get(None, 0), **total, by_operation=by_operation
        )

    def usage(self) -> Usage:
        """Return what was taken as a value that does not change."""
        counts = _nonzero({place: tally.usage() for place, tally in self.by_operation.items()})
        by_operation = tuple(
            OperationUsage(operation=operation, table=table, **counts[operation, table])
            for operation, table in sorted(counts)
        )
        total = {
            name: sum(each[name] for each in counts.values()) - getattr(self._more_than_once, name) for name in _USAGE
        }
        return Usage(**total, by_operation=by_operation, by_index=self._by_index())

    def _by_index(self) -> tuple[IndexUsage, ...]:
        by_index: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        for (_, table), tally in self.by_operation.items():
            own = [tally.read_halves, tally.write_halves]
            for index, halves in (("", own), *(tally.indexes or {}).items()):
                by_index[table, index][0] += halves[0]
                by_index[table, index][1] += halves[1]
        return tuple(
            IndexUsage(table=table, index=index or None, read_halves=reads, write_halves=writes)
            for (table, index), (reads, writes) in sorted(by_index.items())
            if reads or writes
        )


def _nonzero(counts: Mapping[TableOperation, dict[str, Any]]) -> dict[TableOperation, dict[str, Any]]:
    return {place: each for place, each in counts.items() if any(each.values())}


HalfUnits = tuple[int, int]
"""Read units and write units, in halves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a scope may take; None for any amount."""

    read_halves: int | None = None
    write_halves: int | None = None
    requests: int | None = None

    def __bool__(self) -> bool:
        return (self.read_halves, self.write_halves, self.requests) != (None, None, None)


class Budget:
    """The limits of a scope, beside what it has used."""

    def __init__(self, name: str, limits: Limits, counted: Counted) -> None:
        """Create a budget with nothing set aside.

        Args:
            name: what errors call the scope.
            limits: what it may take.
            counted: what it has used, while that grows.
        """
        self.limits: Final = limits
        self._name: Final = name
        self._counted = counted
        self._reads = 0
        self._writes = 0
        self._most_reads = 0
        """What those under way may take at the most."""
        self._most_writes = 0

    def count_by(self, counted: Counted) -> None:
        """Look at another count of what is used from now on."""
        self._counted = counted

    def reserve(self, read_halves: int, write_halves: int) -> None:
        """Set units aside; negative ones are given back."""
        self._reads += read_halves
        self._writes += write_halves

    def risk(self, most_reads: int, most_writes: int) -> None:
        """Set aside what a request may take at the most, as it is to be sent; negative numbers are given back."""
        self._most_reads += most_reads
        self._most_writes += most_writes

    def has_room(self, most: HalfUnits) -> bool:
        """Return whether a request that takes so much at the most may be sent beside those under way."""
        limits, (reads, writes) = self.limits, self._counted.halves
        return _has_room(limits.read_halves, reads, self._most_reads, most[0]) and _has_room(
            limits.write_halves, writes, self._most_writes, most[1]
        )

    @property
    def out_of_requests(self) -> bool:
        """Whether no further request may be sent."""
        most = self.limits.requests
        return most is not None and self._counted.requests >= most

    def check(self, request: Request, estimate: HalfUnits, *, alone: bool = False) -> None:
        """Raise CapacityBudgetExceededError if a request would take more than is left, or nothing is.

        Args:
            request: what is to be sent.
            estimate: what it is expected to take.
            alone: whether what is reserved for others does not count.
        """
        limits, (reads, writes) = self.limits, self._counted.halves
        reserved = (0, 0) if alone else (self._reads, self._writes)
        if self.out_of_requests:
            raise self.out_of_requests_error(request)
        if _over(limits.read_halves, reads, reserved[0], estimate[0]):
            raise self._error(request, f"max_read_units={_units(limits.read_halves)}", estimate[0])
        if _over(limits.write_halves, writes, reserved[1], estimate[1]):
            raise self._error(request, f"max_write_units={_units(limits.write_halves)}", estimate[1])

    def out_of_requests_error(self, request: Request) -> CapacityBudgetExceededError:
        """Return the error of a request that is not sent because no further one may be."""
        return self._error(request, f"max_requests={self.limits.requests}")

    def _error(self, request: Request, limit: str, halves: int = 0) -> CapacityBudgetExceededError:
        limits, usage = self.limits, self._counted.usage()
        under_way = (
            f", {_units(self._reads)} and {_units(self._writes)} under way" if self._reads + self._writes else ""
        )
        estimated = usage.estimated_read_units + usage.estimated_write_units
        by = ", ".join(_taken_by(each) for each in usage.by_operation)
        return CapacityBudgetExceededError(
            f"{request.operation} on {request.table} was not sent: scope {self._name!r} has {limit}, and has used "
            f"{usage.read_units + usage.estimated_read_units:g} read units, "
            f"{usage.write_units + usage.estimated_write_units:g} write units and {usage.requests} requests "
            f"({by or 'nothing'}{f'; {estimated:g} of them estimated' if estimated else ''}){under_way}"
            + (f"; {_units(halves)} more are expected to be needed" if halves else "")
            + ". Raise the budget, or ask for less.",
            scope=self._name,
            operation=request.operation,
            table=request.table,
            usage=usage,
            max_read_units=None if limits.read_halves is None else limits.read_halves / 2,
            max_write_units=None if limits.write_halves is None else limits.write_halves / 2,
            max_requests=limits.requests,
        )


def _over(limit: int | None, used: int, reserved: int, more: int) -> bool:
    """Return whether something goes over a limit; what takes nothing more is refused only after an overrun."""
    return limit is not None and (used > limit or (more > 0 and used + reserved + more > limit))


def _has_room(limit: int | None, used: int, under_way: int, most: int) -> bool:
    return limit is None or not most or not under_way or used + under_way + most <= limit


def _taken_by(entry: OperationUsage) -> str:
    units = {
        "read": entry.read_units + entry.estimated_read_units,
        "write": entry.write_units + entry.estimated_write_units,
    }
    taken = " and ".join(f"{number:g} {kind}" for kind, number in units.items() if number)
    return f"{entry.operation} on {entry.table}: {taken or 'none'}"


def _units(halves: int | None) -> str:
    return f"{(halves or 0) / 2:g}"


OUT_OF_REQUESTS: Final = "not sent again: the scope's max_requests are spent"
"""The note of an error after which nothing is sent again, because nobody who waits may send anything."""


class Account:
    """What one scope has used, and may use."""

    __slots__ = (
        "_budget",
        "_waking",
        "books",
        "chain",
        "deadline",
        "left",
        "limited",
        "line",
        "name",
        "outer",
        "own",
        "owner",
        "priority",
        "whole",
    )

    def __init__(
        self,
        owner: object,
        name: str,
        *,
        limits: Limits | None = None,
        priority: Priority | None = None,
        deadline: float = inf,
    ) -> None:
        """Open an account inside of the current one.

        Args:
            owner: the ledger that it belongs to: an account of another session's does not pay for this one's.
            name: what errors call it.
            limits: what it may take.
            priority: that of its requests; None for that of the account around it.
            deadline: the event loop's time after which nobody waits; the earlier one of the account around it counts.
        """
        self.owner: Final = owner
        self.name: Final = name
        self.own: Final = Counted()
        self.whole: Counted = self.own
        """With what the scopes inside of it have; the same as ``own`` until there is one."""
        self.outer: Final = _entered(_CURRENT.get())
        """The account that was current before, of whatever session. One that was left is passed over: where scopes are
        left in another task than they are entered in, they would be inside of each other for ever."""
        self.left: bool = False
        """Whether its scope was left; what is under way, and tasks begun in it, go on to count for it."""
        around = _of(owner, self.outer)
        if around is not None:
            around.divide()
        self.chain: Final[tuple[Account, ...]] = (self, *(around.chain if around else ()))
        """This one, and those of the same session around it, from the inside out."""
        self.books: tuple[Counted, ...] = (self.own, *(each.whole for each in self.chain[1:]))
        """Everything in which what it pays for is entered, but for the session's whole."""
        inherited = Priority.INTERACTIVE if around is None else around.priority
        self.priority: Final[Priority] = inherited if priority is None else priority
        self.deadline: Final[float] = min(deadline, inf if around is None else around.deadline)
        self._budget: Final = Budget(name, limits or Limits(), self.whole)
        self.limited: Final[bool] = bool(limits) or (around is not None and around.limited)
        """Whether this account, or one around it, may not take any amount."""
        self.line: Final[deque[Hold]] = deque()
        """Requests that wait for those under way to end, in their order."""
        self._waking: asyncio.Handle | None = None

    def enter(self) -> None:
        """Pay for what is asked for from here on."""
        _CURRENT.set(self)

    def leave(self) -> None:
        """Undo ``enter``. In another task, such as that of a fixture, there is nothing to undo."""
        self.left = True
        if _CURRENT.get() is self:
            _CURRENT.set(_entered(self.outer))  # scopes need not be left in order

    def divide(self) -> None:
        """Tell what it has of its own apart from the whole from now on: there is a scope inside of it."""
        if self.whole is self.own:
            self.whole = self.own.copy()
            self._budget.count_by(self.whole)
            self.books = (self.own, *(each.whole for each in self.chain))

    @property
    def budget(self) -> Budget:
        """What it may take, without regard to those around it."""
        return self._budget

    def reserve(self, request: Request, estimate: HalfUnits) -> HalfUnits:
        """Set units aside for a request that is to be sent; return them, to be given back once.

        Raises:
            CapacityBudgetExceededError: it would take more than this account, or one around it, may.
        """
        for account in self.chain:
            account.budget.check(request, estimate)
        for account in self.chain:
            account.budget.reserve(*estimate)
        return estimate

    def give_back(self, estimate: HalfUnits) -> None:
        """Undo ``reserve``."""
        for account in self.chain:
            account.budget.reserve(-estimate[0], -estimate[1])

    def wake(self) -> None:
        """Have those who wait try again when this turn of the event loop is over."""
        if self.line and self._waking is None:
            self._waking = asyncio.get_running_loop().call_soon(self._wake, context=Context())

    def _wake(self) -> None:
        self._waking = None
        while self.line and self.line[0].leaves(self):
            self.line.popleft()

    @property
    def out_of_requests(self) -> bool:
        """Whether no further request may be sent."""
        return self.limited and any(each.budget.out_of_requests for each in self.chain)

    def refusal(self, request: Request) -> CapacityBudgetExceededError:
        """Return the error of a request that is not sent, of the innermost account that has no request left."""
        spent = next((each for each in self.chain if each.budget.out_of_requests), self)
        return spent.budget.out_of_requests_error(request)


class Hold:
    """The right of one request to be sent within the budgets of its scope: what it may take at the most is set aside.

    What it takes is not known before it is answered. So it waits while others are under way beside which that might be
    too much, and is expected to take less as others of its kind are answered.
    """

    __slots__ = ("_estimates", "_go_on", "_line", "_request", "_taken", "account")

    def __init__(
        self,
        account: Account,
        request: Request,
        estimates: Callable[[Request], tuple[HalfUnits, HalfUnits]],
        go_on: Callable[[CapacityBudgetExceededError | None], None],
    ) -> None:
        """Create a hold for which nothing is set aside yet.

        Args:
            account: who pays.
            request: what is to be sent.
            estimates: returns what a request is expected to take, and the most that it may take.
            go_on: called when it may be sent after all, if it has to wait; with an error if it may not.
        """
        self.account: Final = account
        self._request: Final = request
        self._estimates: Final = estimates
        self._go_on: Final = go_on
        self._line: Account | None = None
        """The account of whose budget it waits."""
        self._taken: HalfUnits | None = None

    @property
    def taken(self) -> bool:
        """Whether the request may be sent."""
        return self._taken is not None

    @property
    def awaited(self) -> Account | None:
        """The account of whose budget the request waits; None where it does not."""
        return self._line

    def take(self, *, wait: bool = True) -> bool:
        """Return whether the request may be sent now.

        Args:
            wait: whether it joins the line of an account where there is no room for it.

        Raises:
            CapacityBudgetExceededError: it would take more than is left.
        """
        expected, most = self._estimates(self._request)
        chain = self.account.chain
        for account in chain:
            account.budget.check(self._request, expected, alone=True)
        for account in chain:
            if (account.line and account is not self._line) or not account.budget.has_room(most):
                if wait and account is not self._line:
                    self._line = account
                    account.line.append(self)
                return False
        self._line, self._taken = None, most
        for account in chain:
            account.budget.risk(*most)
        return True

    def leaves(self, account: Account) -> bool:
        """Try again as the first in the line of an account; return whether it waits there no more."""
        if self._line is not account:
            return True
        try:
            if self.take():
                self._go_on(None)
        except CapacityBudgetExceededError as error:
            self._line = None
            self._go_on(error)
        return self._line is not account

    def give_back(self) -> None:
        """Wait no more, and set nothing aside any more."""
        waited_for, taken = self._line, self._taken
        self._line = self._taken = None
        if waited_for is not None:
            waited_for.wake()
        if taken is not None:
            for account in self.account.chain:
                account.budget.risk(-taken[0], -taken[1])
                account.wake()


_CURRENT: ContextVar[Account | None] = ContextVar("dynamap_async_account", default=None)


def current(owner: object) -> Account | None:
    """Return the account that pays for what is asked for here of one session; None for the session's own."""
    return _of(owner, _CURRENT.get())


def innermost() -> Account | None:
    """Return the account of the innermost scope here, of whatever session; None outside of any."""
    return _CURRENT.get()


@contextmanager
def paying(account: Account) -> Generator[None]:
    """Charge what is asked for inside of a block to an account. The block may be entered again and again.

    Args:
        account: the account that pays.
    """
    before = _CURRENT.set(account)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def bare_context() -> Context:
    """Return an empty context, but for the account that pays: no scopes, spans or log context of a caller leak."""
    context, account = Context(), _CURRENT.get()
    if account is not None:
        context.run(_CURRENT.set, account)
    return context


def _of(owner: object, account: Account | None) -> Account | None:
    """Return an account, or the innermost one around it, that belongs to a ledger."""
    while account is not None and account.owner is not owner:
        account = account.outer
    return account


def _entered(account: Account | None) -> Account | None:
    """Return an account, or the innermost one around it, that was not left."""
    while account is not None and account.left:
        account = account.outer
    return account
