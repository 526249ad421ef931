"""The ledger: what a session's requests take is entered here, each to the account that pays for it.

Invariant: the session's units are those that were reported, and the sum of what all accounts have of their own, the
entry of what was awaited outside of any scope included. Requests and items that several accounts share are not divided:
they count for each. An answer that comes after its scope was left, or its waiter was cancelled, still counts. A session
without scopes divides nothing.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from dynamap_async.errors import Outcome, TransportError
from dynamap_async.executor.account import Account, current
from dynamap_async.executor.budget import Estimate, Limits
from dynamap_async.executor.counts import Place
from dynamap_async.executor.expectations import Expectations
from dynamap_async.executor.metering import is_metered, parts_in
from dynamap_async.executor.sending import Sending
from dynamap_async.executor.settling import Measure, Settlement, divide, json_size
from dynamap_async.executor.tally import Counted
from dynamap_async.request import Request, tables_of
from dynamap_async.usage import Usage
from dynamap_async.wire import Body

Payers = tuple[Account | None, ...]
"""Who waited for a request when it was sent, each waiter's account; None for one that is outside of any scope."""


class Ledger:
    """What a session has used, and who of it."""

    def __init__(self, measure: Measure = json_size) -> None:
        """Begin with nothing.

        Args:
            measure: returns the size of an item in bytes, as units count it.
        """
        self.measure: Final = measure
        self.own: Final = Counted()
        """What was awaited outside of any scope."""
        self._whole: Counted = self.own
        self.scoped: bool = False
        """Whether there ever was a scope; until then, ``own`` is everything."""
        self._expectations: Expectations | None = None
        """What requests are expected to take; None until there is a scope that may not take any amount."""
        self.settled: Callable[[Settlement], None] | None = None
        """Called with each exchange that is over."""

    def usage(self) -> Usage:
        """Return what the session has used."""
        return self._whole.usage()

    def begin_scope(self, limits: Limits) -> None:
        """Take note that there is a scope from now on, and what it may take."""
        if not self.scoped:
            self.scoped = True
            self._whole = self.own.copy()
        if limits and self._expectations is None:
            self._expectations = Expectations()

    def fold(self, places: Sequence[Place]) -> None:
        """Count what these operations on tables took as that of other tables; scopes keep what is theirs."""
        for book in {self.own, self._whole}:
            book.fold(places)

    def estimate(self, request: Request) -> Estimate:
        """Return what a request is expected to take, before it is sent: read units and write units, in halves."""
        return (0, 0) if self._expectations is None else self._expectations.of(request)

    @property
    def expects(self) -> bool:
        """Whether it learns what requests of each kind take, which is done item by item."""
        return self._expectations is not None

    def payer(self) -> Account | None:
        """Return the account that pays for what is asked for here; None for the session's own."""
        return current(self) if self.scoped else None

    def reserve(self, sending: Sending) -> None:
        """Set aside what a request is expected to take, where its account may not take any amount.

        Raises:
            CapacityBudgetExceededError: it would take more.
        """
        account = sending.account
        if account is not None and account.limited:
            sending.reserved = account.reserve(sending.request, self.estimate(sending.request))

    def sent(self, request: Request, carried: Sequence[Sending]) -> Mapping[Sending, Payers] | None:
        """Enter that a request is put on the wire; return who pays for it, None where there are no scopes."""
        operation, now = request.operation, asyncio.get_running_loop().time()
        tables = tables_of(request)
        self._whole.sent(operation, tables)
        for own_tables, sendings in _by_table(tables, carried):
            waited, retries = 0.0, 0
            for sending in sendings:
                waited += sending.waited(now)
                retries += sending.attempts > 1
            self._whole.waited(operation, own_tables, waited, retries)
        return self._sent_by_scopes(request, carried, now) if self.scoped else None

    def _sent_by_scopes(self, request: Request, carried: Sequence[Sending], now: float) -> Mapping[Sending, Payers]:
        operation = request.operation
        payers: dict[Sending, Payers] = {}
        for sending in carried:
            payers[sending] = paying = sending.payers
            tables = tables_of(sending.request)
            for account, waited in zip(paying, sending.waits(now), strict=True):
                for book in self._books(account):
                    book.waited(operation, tables, waited, 0)
            if sending.attempts > 1:
                self._count_once(paying, operation, tables, "retries")
        for book, about in self._tables_of_each(request, payers).items():
            book.sent(operation, about)
        return payers

    def settle(self, settlement: Settlement, payers: Mapping[Sending, Payers] | None, answer: Body | None) -> None:
        """Enter what an exchange took.

        Args:
            settlement: the exchange.
            payers: what ``sent`` returned.
            answer: None where it ended in an error.
        """
        now = asyncio.get_running_loop().time()
        for sending in settlement.left_over if settlement.error is None else settlement.carried:
            sending.idle_since = now
        _settle_undivided(self._whole, settlement, answer)
        if payers is not None:
            self._settle_by_scopes(settlement, payers, answer)
        elif self._whole is not self.own:
            _settle_undivided(self.own, settlement, answer)  # it was sent before the first scope began
        if self._expectations is not None:
            self._expectations.learn(settlement)
        if self.settled is not None:
            self.settled(settlement)

    def _settle_by_scopes(self, settlement: Settlement, payers: Mapping[Sending, Payers], answer: Body | None) -> None:
        operation = settlement.request.operation
        if settlement.spent:
            self._spend(settlement, payers)
        if _is_unreported(settlement):
            for book, tables in self._tables_of_each(settlement.request, payers).items():
                book.count(operation, tables, "unreported_requests")
        for sending in settlement.throttled:
            self._count_once(payers[sending], operation, tables_of(sending.request), "throttles")
        if answer is not None:
            for sending in settlement.served():
                sending.give_back()
                items = items_of(sending, answer)
                for book in self._books_of(payers[sending]):
                    book.served(operation, tables_of(sending.request), items)

    def _spend(self, settlement: Settlement, payers: Mapping[Sending, Payers]) -> None:
        accounts = {account for paying in payers.values() for account in paying}
        if len(accounts) > 1:
            self._divide(settlement, payers)
            return
        for book in self._books_of(tuple(accounts)):
            for spending in settlement.spent or ():
                book.spend(settlement.request.operation, spending, spending.halves)

    def _divide(self, settlement: Settlement, payers: Mapping[Sending, Payers]) -> None:
        operation = settlement.request.operation
        for sending, spendings in settlement.divided():
            paying = payers[sending]
            for spending in spendings:
                # A key that several wait for is shared equally.
                for account, halves in zip(paying, divide(spending.halves, [1] * len(paying)), strict=True):
                    for book in self._books(account):
                        book.spend(operation, spending, halves)

    def _books(self, account: Account | None) -> Sequence[Counted]:
        """Return everything in which an account's part is entered, but for the session's whole."""
        return (self.own,) if account is None else account.books

    def _books_of(self, paying: Payers) -> Iterable[Counted]:
        """Return everything in which what accounts share is entered, each once."""
        if len(paying) == 1:
            return self._books(paying[0])
        return {book: None for account in paying for book in self._books(account)}

    def _count_once(self, paying: Payers, operation: str, tables: Sequence[str], name: str, number: int = 1) -> None:
        for book in self._books_of(paying):
            book.count(operation, tables, name, number)

    def _tables_of_each(self, request: Request, payers: Mapping[Sending, Payers]) -> Mapping[Counted, Sequence[str]]:
        """Return who has a part in a request, with the tables that it is about for them."""
        if len(all_tables := tables_of(request)) == 1:
            return {book: all_tables for paying in payers.values() for book in self._books_of(paying)}
        tables: defaultdict[Counted, dict[str, None]] = defaultdict(dict[str, None])
        for sending, paying in payers.items():
            for book in self._books_of(paying):
                tables[book].update(dict.fromkeys(tables_of(sending.request)))
        return {book: tuple(names) for book, names in tables.items()}


def items_of(sending: Sending, answer: Body) -> int:
    """Return how many items a request read or wrote; of a page, how many were evaluated for it."""
    request = sending.request
    if request.target is not None:
        return 1
    if sending.parts > 1:
        return sending.parts
    evaluated: Any = answer.get("ScannedCount", answer.get("Count"))
    if isinstance(evaluated, int):
        return evaluated
    if not is_metered(request):
        return 0
    return parts_in(request) or (1 if request.writes else len(answer.get("Items") or ()))


def _settle_undivided(book: Counted, settlement: Settlement, answer: Body | None) -> None:
    operation, tables = settlement.request.operation, tables_of(settlement.request)
    for spending in settlement.spent or ():
        book.spend(operation, spending, spending.halves)
    if _is_unreported(settlement):
        book.count(operation, tables, "unreported_requests")
    for own_tables, sendings in _by_table(tables, settlement.throttled):
        book.count(operation, own_tables, "throttles", len(sendings))
    if answer is not None:
        for own_tables, sendings in _by_table(tables, settlement.served()):
            several = len(sendings) > 1  # which only requests of one item each are
            items = len(sendings) if several else items_of(sendings[0], answer)
            book.served(operation, own_tables, items)


def _is_unreported(settlement: Settlement) -> bool:
    error = settlement.error
    if settlement.spent is not None:
        return False
    if isinstance(error, TransportError) and error.outcome is Outcome.NOT_SENT:
        return False
    return is_metered(settlement.request)


def _by_table(tables: Sequence[str], sendings: Sequence[Sending]) -> Iterable[tuple[Sequence[str], Sequence[Sending]]]:
    """Return requests by the tables that each is about, as parts of one that is about ``tables``."""
    if len(tables) == 1:
        return ((tables, sendings),) if sendings else ()
    groups: defaultdict[str, list[Sending]] = defaultdict(list)
    for sending in sendings:
        groups[sending.request.table].append(sending)
    return [(tables_of(group[0].request), group) for group in groups.values()]
