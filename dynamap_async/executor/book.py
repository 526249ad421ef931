"""The book: what happens to requests is counted, logged and told to observers here, each fact in one place.

Invariant: the session's units are those that were reported, and the sum of what all accounts have of their own, the
entry of what was awaited outside of any scope included. Requests and items that several accounts share are not divided:
they count for each. An answer that comes after its scope was left, or its waiter was cancelled, still counts. Every
RequestQueued is followed by one RequestEnded of the same waiter, and every RequestSent by one RequestAnswered. No
observer breaks, or changes, the request that it is told of.
"""

import asyncio
import inspect
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

import orjson

from dynamap_async.errors import ConfigurationError, Outcome, ResourceNotFoundError, ServiceError, TransportError
from dynamap_async.events import (
    BatchSplit,
    Event,
    InvalidItemsSkipped,
    Observer,
    RequestEnded,
    RequestQueued,
    RequestRetried,
    RequestSent,
)
from dynamap_async.executor.accounts import Account, Counted, CountsByTable, Estimate, Limits, Place, current
from dynamap_async.executor.calls import Sending
from dynamap_async.executor.consumed import Spending, is_metered, least, parts_in
from dynamap_async.executor.pacing.estimates import Estimates, spent_units
from dynamap_async.limits import READ_UNIT_BYTES
from dynamap_async.request import Request, tables_of
from dynamap_async.statistics import OperationStatistics, Statistics
from dynamap_async.units import read_half_units, write_half_units
from dynamap_async.usage import Usage
from dynamap_async.wire import Body, WireItem

Measure = Callable[[WireItem], int]
"""Returns the size of an item in bytes, as units count it."""


def json_size(item: WireItem) -> int:
    """Return the length of an item's JSON, which is in about the same proportion to others' as its size."""
    return len(orjson.dumps(item))


@dataclass(slots=True, eq=False)
class Settlement:
    """An exchange that is over, and what it took."""

    request: Request
    """What was sent."""
    carried: Sequence[Sending]
    """What was asked for: several requests where it was a batch."""
    spent: tuple[Spending, ...] | None
    """What it took; None where that is not known."""
    measure: Measure
    error: BaseException | None = None
    """In what it ended; None for an answer."""
    left_over: Sequence[Sending] = ()
    """What the answer did not get to."""
    throttled: Sequence[Sending] = ()
    """What was refused, or left over, for want of capacity."""
    parts: Mapping[str, Body] = field(default_factory=dict[str, Body])
    """Of a batch, what the answer says of each identity."""

    def served(self) -> Sequence[Sending]:
        """Return what the units were taken for: what was carried and not left over."""
        if not self.left_over:
            return self.carried
        left = set(self.left_over)
        return [sending for sending in self.carried if sending not in left] or self.carried

    def divided(self) -> list[tuple[Sending, list[Spending]]]:
        """Return what each of the requests that were served took, those of a table in proportion to its items' units.

        The answer speaks of a batch as a whole; the service's arithmetic says how large each one's part of it is.
        """
        served, spent = self.served(), self.spent or ()
        if len(served) == 1:
            return [(served[0], list(spent))]
        shares: dict[Sending, list[Spending]] = {sending: [] for sending in served}
        weights = {sending: self._weight(sending) for sending in served}
        for spending in spent:
            concerned = [each for each in served if each.request.table == spending.table] or served
            parts = divide(spending.halves, [weights[sending] for sending in concerned])
            for sending, halves in zip(concerned, parts, strict=True):
                if halves:
                    shares[sending].append(replace(spending, halves=halves))
        return list(shares.items())

    def _weight(self, sending: Sending) -> int:
        request = sending.request
        if request.writes:
            return write_half_units(request.target.size_bytes if request.target else 0)
        item = self.parts.get(request.target.identity, {}).get("Item") if request.target else None
        try:
            # JSON is never shorter than what the service counts, and measuring takes longer.
            size = self.measure(item) if item and json_size(item) > READ_UNIT_BYTES else 0
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            size = 0  # an item of no known form is its readers' error to report
        return read_half_units(size)


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Return ``total`` in whole parts, in proportion to weights by largest remainder, the first of equal ones first."""
    weight = sum(weights)
    if not weight:
        return divide(total, [1] * len(weights)) if weights else []
    parts = [total * each // weight for each in weights]
    by_remainder = sorted(range(len(weights)), key=lambda at: -(total * weights[at] % weight))
    for at in by_remainder[: total - sum(parts)]:
        parts[at] += 1
    return parts


_ENOUGH: Final = 10
"""After how many answers to requests of a kind the next are expected to take the same."""


class Expectations:
    """What requests of each kind have taken, as far as they were answered."""

    def __init__(self) -> None:
        self._estimates: Final = Estimates()

    def of(self, request: Request) -> Estimate:
        """Return the read units and the write units, in halves, that a request is expected to take."""
        reads, writes = least(request)
        expected = self._estimates.of(request)
        if self._estimates.answered(expected.kind) < _ENOUGH:
            return reads, writes
        units = expected.units
        return (
            max(reads, int(2 * sum(units[place] for place in units if not place.writes))),
            max(writes, int(2 * sum(units[place] for place in units if place.writes))),
        )

    def learn(self, settlement: Settlement) -> None:
        """Take note of what an exchange took."""
        if settlement.spent is None or not is_metered(settlement.request):
            return
        served = [self._estimates.of(sending.request) for sending in settlement.served()]
        self._estimates.learn(served, spent_units(settlement.spent))


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


logger: logging.Logger = logging.getLogger("dynamap_async")


class Observers:
    """The observers of a session, in the order in which they are told."""

    def __init__(self, given: Observer | Sequence[Observer]) -> None:
        """Take one observer, or several.

        Raises:
            ConfigurationError: one of them is no plain function or object that can be called.
        """
        self._observers: Final[tuple[Observer, ...]] = _several(given)
        self._failed: set[tuple[int, type[BaseException]]] = set()
        for observer in self._observers:
            if not callable(observer) or is_async(observer):
                raise ConfigurationError(
                    f"Session(observer=...) got {name_of(observer)}: an observer is a plain function of one event, or "
                    "an object that can be called like one; it cannot be async, for no request waits for it"
                )

    def __bool__(self) -> bool:
        return bool(self._observers)

    def tell(self, event: Event) -> None:
        """Tell each observer of an event, whatever becomes of the others."""
        for number, observer in enumerate(self._observers):
            try:
                observer(event)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the request goes on
                self._complain(number, event, error)

    def _complain(self, number: int, event: Event, error: BaseException) -> None:
        """Log a failure, once for each observer and class of error; the message of the error may hold anything."""
        if (number, type(error)) in self._failed:
            return
        self._failed.add((number, type(error)))
        observer = self._observers[number]
        logger.warning(
            "observer %s failed with %s on %s; the request goes on, and the same error is not logged again",
            name_of(observer),
            type(error).__name__,
            type(event).__name__,
        )
        logger.debug("the traceback of the observer", exc_info=error)


def _several(given: Observer | Iterable[Observer]) -> tuple[Observer, ...]:
    return tuple(given) if isinstance(given, Iterable) and not callable(given) else (given,)


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether what a call of it returns must be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def name_of(function: object) -> str:
    """Return what a function, or an object in its place, is called; its ``repr`` may hold anything."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


Failure = tuple[Sending, ServiceError | TransportError]


@dataclass(slots=True)
class Tally:
    """Counts while they grow; ``dynamap_async.statistics`` says what they mean."""

    accepted: int = 0
    coalesced: int = 0
    requests: int = 0
    failures: int = 0
    retries: int = 0
    unprocessed: int = 0
    splits: int = 0

    @property
    def used(self) -> int:
        """How often it was used until now."""
        return self.accepted + self.requests

    def add(self, other: "Tally") -> None:
        """Count what another one has counted, too."""
        for each in fields(other):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class Journal:
    """What happened in a session: its counts, and who is told."""

    def __init__(self, observer: Observer | Sequence[Observer] = (), ledger: Ledger | None = None) -> None:
        """Begin with nothing; each observer is told of every event, in order.

        Args:
            observer: one or several.
            ledger: where what requests take is entered.

        Raises:
            ConfigurationError: an observer is none.
        """
        self._observers: Final = Observers(observer)
        self.observed: Final[bool] = bool(self._observers)
        """Whether there is any observer."""
        self.ledger: Final = ledger or Ledger()
        self.tallies: Final = CountsByTable(Tally)
        self.total: Final = Tally()
        """What concerns several tables counts once here, and once for each of them in ``tallies``."""
        self._since: Final[dict[int, float]] = {}
        """Waiters, each with the time at which it asked; only where there are observers."""

    def tell(self, event: Event) -> None:
        """Tell the observers of an event."""
        self._observers.tell(event)

    def skipped(self, table: str, index: str | None, items: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Tell the observers that a read left items out.

        Args:
            table: the full table name.
            index: the index that was read, if any.
            items: model and key of each.
        """
        if self.observed:
            models, keys = tuple(model for model, _ in items), tuple(key for _, key in items)
            self.tell(InvalidItemsSkipped(at=_now(), table=table, index=index, models=models, keys=keys))

    def queued(self, request: Request) -> int:
        """Take note that somebody asks for a request; return the number of that waiter."""
        self.total.accepted += 1
        waiter_id = self.total.accepted
        if ", " not in request.table:  # as of every request of an item (benchmarks: concurrent_gets_400)
            self.tallies[request.operation, request.table].accepted += 1
        else:
            for tally in self.tallies_of(request):
                tally.accepted += 1
        if self.observed:
            now = self._since[waiter_id] = _now()
            self.tell(
                RequestQueued(
                    at=now,
                    waiter_id=waiter_id,
                    operation=request.operation,
                    table=request.table,
                    index=request.index,
                )
            )
        return waiter_id

    def queued_together(self, request: Request, number: int) -> int:
        """Take note that somebody asks for several requests alike; return the number of the first of their waiters."""
        first = self.total.accepted + 1
        if self.observed:
            for _ in range(number):
                self.queued(request)
            return first
        for tally in (self.total, *self.tallies_of(request)):
            tally.accepted += number
        return first

    def sent(self, request: Request, carried: Sequence[Sending]) -> RequestSent | None:
        """Take note that a request is put on the wire; return what the observers were told, if there are any."""
        self.total.requests += 1
        exchange_id = self.total.requests
        for tally in self.tallies_of(request):
            tally.requests += 1
        together = len(carried) > 1 or carried[0].waiting > 1
        for sending in carried:
            sending.exchange_id = exchange_id
            if together and not sending.coalesced:
                sending.coalesced = True
                waiting = sending.waiting
                self.total.coalesced += waiting
                for tally in self.tallies_of(sending.request):
                    tally.coalesced += waiting
        if not self.observed:
            return None
        now, waiter_ids = _now(), _waiter_ids(carried)
        event = RequestSent(
            at=now,
            exchange_id=exchange_id,
            waiter_ids=waiter_ids,
            operation=request.operation,
            tables=tables_of(request),
            index=request.index,
            attempt=max(sending.attempts for sending in carried),
            items=_items(carried),
            queued_seconds=max((now - self._since[each] for each in waiter_ids), default=0.0),
        )
        self.tell(event)
        return event

    def coalesced(self, operation: str, table: str, number: int) -> None:
        """Count how many of those who wait share a request with others."""
        self.total.coalesced += number
        self.tallies[operation, table].coalesced += number

    def tallies_of(self, request: Request) -> Sequence[Tally]:
        """Return what a request counts in: one for each of its tables."""
        return [self.tallies[place] for place in _places(request)]

    def failed(self, request: Request) -> None:
        """Count an exchange that ended in an error."""
        self.total.failures += 1
        for place in _places(request):
            self.tallies[place].failures += 1

    def missing(self, request: Request, carried: Sequence[Sending]) -> None:
        """Record that a table does not exist: what was never answered keeps no counts of its own."""
        places = {place for each in (request, *(sending.request for sending in carried)) for place in _places(each)}
        never = [place for place in places if self.tallies[place].requests <= self.tallies[place].failures]
        self.tallies.fold(never)
        self.ledger.fold(never)

    def left_over(self, left_over: Sequence[Sending]) -> None:
        """Count what the answer of a batch left over."""
        self.total.unprocessed += len(left_over)
        for sending in left_over:
            for place in _places(sending.request):
                self.tallies[place].unprocessed += 1

    def retried(self, failed: Iterable[Failure], delay_seconds: float) -> None:
        """Take note that requests that failed together wait to be sent again."""
        groups: defaultdict[Place, list[Failure]] = defaultdict(list)
        for sending, error in failed:
            groups[sending.request.operation, sending.request.table].append((sending, error))
        for group in groups.values():
            self._retried([sending for sending, _ in group], group[0][1], delay_seconds)

    def _retried(self, group: Sequence[Sending], error: ServiceError | TransportError, delay_seconds: float) -> None:
        request, attempt = group[0].request, max(sending.attempts for sending in group)
        self.total.retries += len(group)
        for place in _places(request):
            self.tallies[place].retries += len(group)
        logger.debug(
            "%s on %s failed (%s), attempt %d; %d sent again in %.3f s",
            request.operation,
            request.table,
            type(error).__name__,
            attempt,
            len(group),
            delay_seconds,
        )
        if self.observed:
            self.tell(
                RequestRetried(
                    at=_now(),
                    exchange_id=group[0].exchange_id,
                    waiter_ids=_waiter_ids(group),
                    operation=request.operation,
                    table=request.table,
                    attempt=attempt,
                    items=_items(group),
                    delay_seconds=delay_seconds,
                    error=type(error),
                    service_code=error.service_code if isinstance(error, ServiceError) else None,
                )
            )

    def split(
        self, request: Request, batch: Sequence[Sending], parts: int, error: ServiceError | TransportError
    ) -> None:
        """Take note that a refused batch is sent again in parts."""
        self.total.splits += 1
        for place in _places(request):
            self.tallies[place].splits += 1
        service_code = error.service_code if isinstance(error, ServiceError) else None
        reason = service_code or type(error).__name__
        logger.debug("a batch of %d was refused (%s) and split into %d", len(batch), reason, parts)
        if self.observed:
            self.tell(
                BatchSplit(
                    at=_now(),
                    exchange_id=batch[0].exchange_id,
                    waiter_ids=_waiter_ids(batch),
                    operation=request.operation,
                    tables=tables_of(request),
                    items=len(batch),
                    parts=parts,
                    error=type(error),
                    service_code=service_code,
                )
            )
        if isinstance(error, ResourceNotFoundError):
            self.missing(request, batch)

    def ended(self, waiter_id: int, sending: Sending, error: type[BaseException] | None) -> None:
        """Take note that a waiter has its answer or its error, or waits no more."""
        if not self.observed:
            return
        now, request = _now(), sending.request
        self.tell(
            RequestEnded(
                at=now,
                waiter_id=waiter_id,
                operation=request.operation,
                table=request.table,
                index=request.index,
                attempts=sending.attempts,
                duration_seconds=now - self._since.pop(waiter_id),
                error=error,
            )
        )

    def settled(self, waiter_id: int, sending: Sending, future: asyncio.Future[Body]) -> None:
        """Take note that the future of a waiter is done."""
        if future.cancelled():
            self.ended(waiter_id, sending, asyncio.CancelledError)
        else:
            error = future.exception()
            self.ended(waiter_id, sending, None if error is None else type(error))

    def statistics(self, unfinished: Iterable[Sending]) -> Statistics:
        """Return the counts, with what is queued and in flight among the requests that are not finished."""
        queued: defaultdict[Place | None, int] = defaultdict(int)
        in_flight: defaultdict[Place | None, int] = defaultdict(int)
        for sending in unfinished:
            # What was sent is in flight even if nobody waits for it any more.
            flying = sending.on_the_wire
            counts, number = (in_flight, max(sending.parts, sending.waiting)) if flying else (queued, sending.waiting)
            for place in (None, *_places(sending.request)):
                counts[place] += number
        tallies = {place: Tally() for place in (*queued, *in_flight) if place is not None} | self.tallies
        entries = tuple(
            OperationStatistics(
                operation=place[0], table=place[1], queued=queued[place], in_flight=in_flight[place], **asdict(tally)
            )
            for place, tally in sorted(tallies.items(), key=lambda entry: entry[0])
        )
        return Statistics(queued=queued[None], in_flight=in_flight[None], **asdict(self.total), by_operation=entries)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _places(request: Request) -> Sequence[Place]:
    return [(request.operation, table) for table in tables_of(request)]


def _waiter_ids(carried: Iterable[Sending]) -> tuple[int, ...]:
    return tuple(each for sending in carried for each in sending.waiter_ids)


def _items(carried: Sequence[Sending]) -> int | None:
    """Return how many items requests are about: each about one, or a transaction about several, or none at all."""
    request = carried[0].request
    if carried[0].parts > 1:
        return carried[0].parts
    return len(carried) if request.target is not None else len(request.targets) or None
