"""The ledger: what happens to requests is counted and logged here, each fact in one place; observers are told.

Invariant: the session's units are those that were reported, and the sum of what all accounts have of their own, the
entry of what was awaited outside of any scope included. What is supposed besides is counted apart. Requests and items
that several accounts share are not divided: they count for each. An answer that comes after its scope was left, or its
waiter was cancelled, still counts. A session without scopes divides nothing. Every RequestQueued is followed by one
RequestEnded of the same waiter, and every RequestSent by one RequestAnswered, also where it is cancelled; without
observers no event is made. No observer breaks, or changes, the request that it is told of.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import (
    ConfigurationError,
    Outcome,
    ResourceNotFoundError,
    ServiceError,
    ThrottledError,
    TransportError,
)
from dynamap_async.events import (
    BatchSplit,
    Event,
    InvalidItemsSkipped,
    Observer,
    RequestAnswered,
    RequestEnded,
    RequestHeldUp,
    RequestQueued,
    RequestRetried,
    RequestSent,
)
from dynamap_async.executor.accounts import Account, Counted, HalfUnits, Limits, TableOperation, current
from dynamap_async.executor.admission import Admission
from dynamap_async.executor.calls import Call, FailedCall, FinishedExchange, Measure, Supposed, divide, json_size
from dynamap_async.executor.consumed import (
    Spending,
    TableOrIndex,
    is_metered,
    least,
    parts_in,
    reports,
    spendings,
    worst,
)
from dynamap_async.executor.pacing.estimates import Estimates, spent_units
from dynamap_async.executor.unreported import is_lost, supposed
from dynamap_async.request import Request, tables_of
from dynamap_async.statistics import Statistics
from dynamap_async.usage import Usage
from dynamap_async.wire import Body

if TYPE_CHECKING:
    from dynamap_async.executor.item_collections import ItemCollections

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
                    f"Session(observer=...) got {name_of(observer)}: an observer must be a plain function of one "
                    "event; it cannot be async, because no request waits for it"
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


_ENOUGH: Final = 10
"""After how many answers to requests of a kind the next are expected to take the same."""


class Expectations:
    """What requests of each kind have taken, as far as they were answered."""

    def __init__(self) -> None:
        self._estimates: Final = Estimates()

    def of(self, request: Request) -> tuple[HalfUnits, HalfUnits]:
        """Return what a request is expected to take, and the most that it may: read and write units, in halves."""
        reads, writes = least(request)
        expected = self._estimates.of(request)
        if self._estimates.answered(expected.kind) >= _ENOUGH:
            units = expected.units
            reads = max(reads, int(2 * sum(units[place] for place in units if not place.writes)))
            writes = max(writes, int(2 * sum(units[place] for place in units if place.writes)))
        most_reads, most_writes = worst(request)
        if (most := self._estimates.most_of(expected)) is not None:
            halves = math.ceil(2 * most)
            most_reads, most_writes = min(most_reads, halves), min(most_writes, halves)
        return (reads, writes), (max(reads, most_reads), max(writes, most_writes))

    def learn(self, finished: FinishedExchange) -> None:
        """Learn what an exchange took."""
        if finished.spent is None or not is_metered(finished.request):
            return
        served = [self._estimates.of(call.request) for call in finished.served()]
        self._estimates.learn(served, spent_units(finished.spent))


Payers = tuple[Account | None, ...]
"""Who waited for a request when it was sent, each waiter's account; None for one that is outside of any scope."""

_NO_PARTS: Final[Mapping[str, Body]] = {}


@dataclass(slots=True)
class Exchange:
    """One HTTP request on its way, where observers are told of it or scopes pay for it."""

    event: RequestSent | None
    """What observers were told when it was sent; None where there are none."""
    payers: Mapping[Call, Payers] | None
    """Who pays for what it carries; None where there were no scopes."""

    def taken_apart(self, whole: Call, parts: Sequence[Call]) -> None:
        """Record that what was carried is now what the one thing that it was stands for."""
        if self.payers is not None:
            self.payers = dict.fromkeys(parts, self.payers[whole])


class Ledger:
    """What a session has done and used, and who of it."""

    def __init__(
        self,
        observers: Observers | None = None,
        admission: Admission | None = None,
        *,
        measure: Measure = json_size,
        collections: ItemCollections | None = None,
    ) -> None:
        """Create a ledger with nothing counted.

        Args:
            observers: are told of every event, in order; None for none.
            admission: learns what exchanges took; None where nothing is paced.
            measure: returns the size of an item in bytes, as units count it.
            collections: the large item collections that were seen; None where observers are not told of any.
        """
        self._collections: Final = collections
        self._observers: Final = observers or Observers(())
        self._admission: Final = admission
        self._measure: Final = measure
        self.observed: Final[bool] = bool(self._observers)
        """Whether there is any observer."""
        self._whole: Final = Counted()
        self._counts: Final = self._whole.by_operation
        self.own: Counted = self._whole
        """What was awaited outside of any scope."""
        self.scoped: bool = False
        """Whether there ever was a scope; until then, ``own`` is everything."""
        self._expectations: Expectations | None = None
        """What requests are expected to take; None until there is a scope that may not take any amount."""
        self._waiters = 0
        """How many have asked for requests."""
        self._exchanges = 0
        self._since: Final[dict[int, float]] = {}
        """Waiters, each with the time at which it asked; only where there are observers."""

    def usage(self) -> Usage:
        """Return what the session has used."""
        return self._whole.usage()

    def statistics(self, unfinished: Iterable[Call]) -> Statistics:
        """Return what the session has done.

        Args:
            unfinished: the requests that are queued or in flight.
        """
        queued: defaultdict[TableOperation | None, int] = defaultdict(int)
        in_flight: defaultdict[TableOperation | None, int] = defaultdict(int)
        for call in unfinished:
            # What was sent is in flight even if nobody waits for it any more.
            flying = call.on_the_wire
            counts, number = (in_flight, max(call.parts, call.waiting)) if flying else (queued, call.waiting)
            for place in (None, *_table_operations(call.request)):
                counts[place] += number
        return self._whole.statistics(queued, in_flight)

    def average_units(self, operation: str, table: str) -> float | None:
        """Return how many read units a request of an operation on a table took on average; None if none told."""
        tally = self._counts.get((operation, table))
        told = 0 if tally is None else tally.requests - tally.unreported_requests
        return None if tally is None or not told else round(tally.halves[0] / 2 / told, 1)

    def begin_scope(self, limits: Limits) -> None:
        """Divide what requests take from now on among scopes.

        Args:
            limits: what the scope that begins may take.
        """
        if not self.scoped:
            self.scoped = True
            self.own = self._whole.copy()
        if limits and self._expectations is None:
            self._expectations = Expectations()

    def estimates(self, request: Request) -> tuple[HalfUnits, HalfUnits]:
        """Return what a request is expected to take, and the most that it may take: read and write units, in halves."""
        return ((0, 0), (0, 0)) if self._expectations is None else self._expectations.of(request)

    def estimate(self, request: Request) -> HalfUnits:
        """Return what a request is expected to take, before it is sent: read units and write units, in halves."""
        return self.estimates(request)[0]

    @property
    def expects(self) -> bool:
        """Whether it learns what requests of each kind take, which is done item by item."""
        return self._expectations is not None

    def payer(self) -> Account | None:
        """Return the account that pays for what is asked for here; None for the session's own."""
        return current(self) if self.scoped else None

    def queued(self, request: Request, number: int = 1) -> int:
        """Count those who ask for a request; return the number of the first of these waiters.

        Args:
            request: what is asked for.
            number: how many ask for requests alike.
        """
        first = self._waiters + 1
        self._waiters += number
        operation, tables = request.operation, request.tables
        # Most requests are about one table, whose counts need no call (benchmarks: get_one, concurrent_gets_400).
        tallies = self._whole.of(operation, tables) if tables else (self._counts[operation, request.table],)
        for tally in tallies:
            tally.accepted += number
        if self.observed:
            for waiter_id in range(first, first + number):
                now = self._since[waiter_id] = _now()
                self._observers.tell(
                    RequestQueued(
                        at=now,
                        waiter_id=waiter_id,
                        operation=request.operation,
                        table=request.table,
                        index=request.index,
                    )
                )
        return first

    def held_up(self, call: Call) -> None:
        """Tell the observers that a call waits for the budget of its scope."""
        if self.observed:
            awaited = next((hold.awaited for hold in call.holds if hold.awaited is not None), None)
            self._observers.tell(
                RequestHeldUp(
                    at=_now(),
                    waiter_ids=call.waiter_ids,
                    operation=call.request.operation,
                    table=call.request.table,
                    reason="budget",
                    index=call.request.index,
                    writes=call.request.writes,
                    scope=None if awaited is None else awaited.name,
                )
            )

    def sent(self, request: Request, carried: Sequence[Call]) -> Exchange | None:
        """Count a request that is put on the wire.

        Args:
            request: what is sent.
            carried: what was asked for: several requests where it is a batch.

        Returns:
            What ``answered`` or ``failed`` are to be told; None where nobody watches.
        """
        now, operation = asyncio.get_running_loop().time(), request.operation
        self._exchanges += 1
        tables = request.tables
        tallies = self._whole.of(operation, tables) if tables else (self._counts[operation, request.table],)
        for tally in tallies:
            tally.requests += 1
        several = len(carried) > 1
        coalesced: dict[TableOperation, int] = {}
        for call in carried:
            # Most calls have one waiter, whose wait needs no call (benchmarks: get_one, concurrent_gets_400).
            waited = call.waited(now) if call.joined else now - (call.idle_since or call.since)
            of_its_tables = self._whole.of(operation, tables_of(call.request)) if tables else tallies
            for tally in of_its_tables:
                tally.waiting_seconds += waited
                tally.retries += call.attempts > 1
            if (several or call.joined) and not call.coalesced:
                waiting = call.waiting if call.joined else 1
                if several or waiting > 1:
                    call.coalesced = True
                    place = call.request.operation, call.request.table
                    coalesced[place] = coalesced.get(place, 0) + waiting
        for place, number in coalesced.items():
            self._whole.by_operation[place].coalesced += number
        if not (self.observed or self.scoped):
            return None
        payers = self._sent_by_scopes(request, carried, now) if self.scoped else None
        return Exchange(self._tell_of_sent(request, carried, now) if self.observed else None, payers)

    def _tell_of_sent(self, request: Request, carried: Sequence[Call], now: float) -> RequestSent:
        for call in carried:
            call.exchange_id = self._exchanges
        waiter_ids = _waiter_ids(carried)
        event = RequestSent(
            at=now,
            exchange_id=self._exchanges,
            waiter_ids=waiter_ids,
            operation=request.operation,
            tables=tables_of(request),
            index=request.index,
            attempt=max(call.attempts for call in carried),
            items=_items(carried),
            queued_seconds=max((now - self._since[each] for each in waiter_ids), default=0.0),
        )
        self._observers.tell(event)
        return event

    def _sent_by_scopes(self, request: Request, carried: Sequence[Call], now: float) -> Mapping[Call, Payers]:
        operation = request.operation
        payers: dict[Call, Payers] = {}
        for call in carried:
            payers[call] = paying = call.payers
            tables = tables_of(call.request)
            for account, waited in zip(paying, call.waits(now), strict=True):
                for book in self._books(account):
                    book.count(operation, tables, "waiting_seconds", waited)
            if call.attempts > 1:
                self._count_once(paying, operation, tables, "retries")
        for book, about in self._tables_of_each(request, payers).items():
            book.count(operation, about, "requests")
        return payers

    def answered(
        self,
        exchange: Exchange | None,
        request: Request,
        carried: Sequence[Call],
        answer: Body,
        left_over: Sequence[Call] = (),
        throttled: Sequence[Call] = (),
        parts: Mapping[str, Body] = _NO_PARTS,
    ) -> None:
        """Count what an answer brought, and what it took.

        Args:
            exchange: what ``sent`` returned.
            request: what was sent.
            carried: what was asked for: several requests where it is a batch.
            answer: what came back.
            left_over: what of the batch it did not get to.
            throttled: what of that it left over for want of capacity.
            parts: of a batch, what it says of each identity.
        """
        spent, admission = spendings(request, answer), self._admission
        plain = exchange is None and not left_over and not self.scoped and carried[0].supposed is None
        if not plain or (admission is not None and admission.looks_at_partitions):
            finished = FinishedExchange(request, carried, spent, self._measure, None, left_over, throttled, parts)
            for call in left_over:
                self._whole.count(call.request.operation, tables_of(call.request), "unprocessed")
            self._record_finished(finished, exchange, answer)
            if exchange is not None and exchange.event is not None:
                self._tell_of_end(
                    exchange.event,
                    unprocessed=len(left_over),
                    count=answer.get("Count"),
                    scanned_count=answer.get("ScannedCount"),
                    consumed_capacity=reports(answer),
                    read_units=_units(spent, writes=False),
                    write_units=_units(spent, writes=True),
                )
                if self._collections is not None:
                    for event in self._collections.seen(request, answer, _now()):
                        self._observers.tell(event)
            return
        _enter(self._whole, request, carried, spent, answer)
        if admission is not None:
            admission.delivered(spent, carried)

    def failed(
        self, exchange: Exchange | None, request: Request, carried: Sequence[Call], error: BaseException
    ) -> None:
        """Count an exchange that ended in an error, or was cancelled; the arguments are those of ``answered``."""
        if isinstance(error, Exception):
            self._whole.count(request.operation, tables_of(request), "failures")
        throttled = carried if isinstance(error, ThrottledError) else ()
        self._record_finished(
            FinishedExchange(request, carried, None, self._measure, error, (), throttled), exchange, None
        )
        if exchange is not None and exchange.event is not None:
            self._tell_of_end(
                exchange.event,
                error=type(error),
                service_code=error.service_code if isinstance(error, ServiceError) else None,
                outcome=error.outcome if isinstance(error, TransportError) else None,
            )
        if isinstance(error, ResourceNotFoundError):
            self._missing(request, carried)

    def _tell_of_end(self, sent: RequestSent, **facts: Any) -> None:
        now = _now()
        self._observers.tell(
            RequestAnswered(
                at=now,
                exchange_id=sent.exchange_id,
                waiter_ids=sent.waiter_ids,
                operation=sent.operation,
                tables=sent.tables,
                index=sent.index,
                attempt=sent.attempt,
                items=sent.items,
                duration_seconds=now - sent.at,
                **facts,
            )
        )

    def _record_finished(self, finished: FinishedExchange, exchange: Exchange | None, answer: Body | None) -> None:
        now, payers = _now(), None if exchange is None else exchange.payers
        for call in finished.left_over if finished.error is None else finished.carried:
            call.idle_since = now
        _record_undivided(self._whole, finished, answer)
        if payers is not None:
            self._record_by_scopes(finished, payers, answer)
        elif self._whole is not self.own:
            _record_undivided(self.own, finished, answer)  # it was sent before the first scope began
        unreported: list[Spending] = []
        if finished.error is not None:
            unreported = self._suppose(finished, payers)
        elif finished.spent is not None and len(finished.carried) == 1 and finished.carried[0].supposed:
            self._correct(finished.carried[0], finished.spent, payers)
        if self._expectations is not None:
            self._expectations.learn(finished)
        if self._admission is not None:
            self._admission.record(finished, unreported)

    def _suppose(self, finished: FinishedExchange, payers: Mapping[Call, Payers] | None) -> list[Spending]:
        """Count what was taken and not reported, as far as it can be supposed, and return it."""
        operation, lost = finished.request.operation, is_lost(finished.error)
        found: list[Spending] = []
        for call, spending in supposed(finished, self._counts):
            found.append(spending)
            self._suppose_one(operation, spending, None if payers is None else payers[call])
            if lost:
                before = call.supposed or Supposed(operation)
                call.supposed = Supposed(operation, before.attempts + 1, before.halves + spending.halves)
        return found

    def _suppose_one(self, operation: str, spending: Spending, paying: Payers | None) -> None:
        self._whole.suppose(operation, spending, spending.halves)
        if paying is not None:
            for account, halves in _shared(spending.halves, paying):
                for book in self._books(account):
                    book.suppose(operation, spending, halves)
        elif self._whole is not self.own:
            self.own.suppose(operation, spending, spending.halves)

    def _correct(self, call: Call, spent: Sequence[Spending], payers: Mapping[Call, Payers] | None) -> None:
        """Replace what lost attempts are supposed to have taken by what an answer to the same request took."""
        told, call.supposed = call.supposed, None
        request = call.request
        if told is not None and not request.tables:
            real = sum(each.halves for each in spent if each.place.writes is request.writes)
            difference = real * told.attempts - told.halves
            spending = Spending(TableOrIndex(request.table, None, request.writes), difference)
            self._suppose_one(told.operation, spending, None if payers is None else payers[call])

    def _record_by_scopes(self, finished: FinishedExchange, payers: Mapping[Call, Payers], answer: Body | None) -> None:
        operation = finished.request.operation
        if finished.spent:
            self._spend(finished, payers)
        if _is_unreported(finished):
            for book, tables in self._tables_of_each(finished.request, payers).items():
                book.count(operation, tables, "unreported_requests")
        for call in finished.throttled:
            self._count_once(payers[call], operation, tables_of(call.request), "throttles")
        if answer is not None:
            for call in finished.served():
                call.give_back()
                tables = tables_of(call.request)
                self._count_once(payers[call], operation, tables, "items", items_of(call, answer))

    def _spend(self, finished: FinishedExchange, payers: Mapping[Call, Payers]) -> None:
        accounts = {account for paying in payers.values() for account in paying}
        if len(accounts) > 1:
            self._divide(finished, payers)
            return
        for book in self._books_of(tuple(accounts)):
            for spending in finished.spent or ():
                book.spend(finished.request.operation, spending, spending.halves)

    def _divide(self, finished: FinishedExchange, payers: Mapping[Call, Payers]) -> None:
        operation = finished.request.operation
        for call, own in finished.divided():
            for spending in own:
                for account, halves in _shared(spending.halves, payers[call]):
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

    def _tables_of_each(self, request: Request, payers: Mapping[Call, Payers]) -> Mapping[Counted, Sequence[str]]:
        """Return who has a part in a request, with the tables that it is about for them."""
        if len(all_tables := tables_of(request)) == 1:
            return {book: all_tables for paying in payers.values() for book in self._books_of(paying)}
        tables: defaultdict[Counted, dict[str, None]] = defaultdict(dict[str, None])
        for call, paying in payers.items():
            for book in self._books_of(paying):
                tables[book].update(dict.fromkeys(tables_of(call.request)))
        return {book: tuple(names) for book, names in tables.items()}

    def left(self, call: Call, waiter_id: int, error: type[BaseException] | None) -> None:
        """Tell the observers that a waiter has its answer or its error, or waits no more."""
        if not self.observed:
            return
        now, request = _now(), call.request
        self._observers.tell(
            RequestEnded(
                at=now,
                waiter_id=waiter_id,
                operation=request.operation,
                table=request.table,
                index=request.index,
                attempts=call.attempts,
                duration_seconds=now - self._since.pop(waiter_id),
                error=error,
            )
        )

    def done(self, waiter_id: int, call: Call, future: asyncio.Future[Body]) -> None:
        """Tell the observers of the end of a waiter whose future is done."""
        if future.cancelled():
            self.left(call, waiter_id, asyncio.CancelledError)
        else:
            error = future.exception()
            self.left(call, waiter_id, None if error is None else type(error))

    def retried(self, failed: Iterable[FailedCall], delay_seconds: float) -> None:
        """Count requests that failed together and wait to be sent again."""
        groups: defaultdict[TableOperation, list[FailedCall]] = defaultdict(list)
        for call, error in failed:
            groups[call.request.operation, call.request.table].append((call, error))
        for group in groups.values():
            self._retried([call for call, _ in group], group[0][1], delay_seconds)

    def _retried(self, group: Sequence[Call], error: ServiceError | TransportError, delay_seconds: float) -> None:
        request, attempt = group[0].request, max(call.attempts for call in group)
        self._whole.count(request.operation, tables_of(request), "backoffs", len(group))
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
            self._observers.tell(
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

    def split(self, request: Request, batch: Sequence[Call], parts: int, error: Exception) -> None:
        """Count a refused batch that is sent again in parts.

        Args:
            request: the batch.
            batch: what it carried.
            parts: in how many parts it is sent.
            error: why.
        """
        self._whole.count(request.operation, tables_of(request), "splits")
        service_code = error.service_code if isinstance(error, ServiceError) else None
        reason = service_code or type(error).__name__
        logger.debug("a batch of %d was refused (%s) and split into %d", len(batch), reason, parts)
        if self.observed:
            self._observers.tell(
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
            self._missing(request, batch)

    def _missing(self, request: Request, carried: Sequence[Call]) -> None:
        """Fold the counts of what was never answered, because its table does not exist, into those of other tables."""
        places = {place for each in (request, *(call.request for call in carried)) for place in _table_operations(each)}
        counts = self._whole.by_operation
        never = [place for place in places if place in counts and counts[place].requests <= counts[place].failures]
        for book in {self.own, self._whole}:
            book.fold(never)

    def tell(self, event: Event) -> None:
        """Tell the observers of an event that is none of a request."""
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
            self._observers.tell(InvalidItemsSkipped(at=_now(), table=table, index=index, models=models, keys=keys))


def _shared(halves: int, paying: Payers) -> Iterable[tuple[Account | None, int]]:
    """Return what each of those pays who wait for one key: they share equally."""
    return zip(paying, divide(halves, [1] * len(paying)), strict=True)


def items_of(call: Call, answer: Body) -> int:
    """Return how many items a request read or wrote; of a page, how many were evaluated for it."""
    request = call.request
    if request.target is not None:
        return 1
    if call.parts > 1:
        return call.parts
    evaluated: Any = answer.get("ScannedCount", answer.get("Count"))
    if isinstance(evaluated, int):
        return evaluated
    if not is_metered(request):
        return 0
    return parts_in(request) or (1 if request.writes else len(answer.get("Items") or ()))


def _enter(
    book: Counted, request: Request, served: Sequence[Call], spent: Sequence[Spending] | None, answer: Body
) -> None:
    """Count what an answer brought and took, all of it for one book."""
    operation, tables = request.operation, request.tables
    tallies = book.of(operation, tables) if tables else (book.by_operation[operation, request.table],)
    if spent is None:
        unreported = operation in request.service.metered
        for tally in tallies:
            tally.unreported_requests += unreported
    else:
        for tally in tallies:
            tally.reported_requests += 1
        for each in spent:
            book.spend(operation, each, each.halves)
    if not tables:
        of_items = len(served) > 1 or request.target is not None
        tallies[0].items += len(served) if of_items else items_of(served[0], answer)
        return
    for own_tables, calls in _by_table(tables, served):
        several = len(calls) > 1  # which only requests of one item each are
        book.count(operation, own_tables, "items", len(calls) if several else items_of(calls[0], answer))


def _record_undivided(book: Counted, finished: FinishedExchange, answer: Body | None) -> None:
    request = finished.request
    operation, tables = request.operation, tables_of(request)
    if answer is not None:
        _enter(book, request, finished.served(), finished.spent, answer)
    elif _is_unreported(finished):
        book.count(operation, tables, "unreported_requests")
    for own_tables, calls in _by_table(tables, finished.throttled):
        book.count(operation, own_tables, "throttles", len(calls))


def _is_unreported(finished: FinishedExchange) -> bool:
    error = finished.error
    if finished.spent is not None:
        return False
    if isinstance(error, TransportError) and error.outcome is Outcome.NOT_SENT:
        return False
    return is_metered(finished.request)


def _by_table(tables: Sequence[str], calls: Sequence[Call]) -> Iterable[tuple[Sequence[str], Sequence[Call]]]:
    """Return requests by the tables that each is about, as parts of one that is about ``tables``."""
    if len(tables) == 1:
        return ((tables, calls),) if calls else ()
    groups: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        groups[call.request.table].append(call)
    return [(tables_of(group[0].request), group) for group in groups.values()]


def _now() -> float:
    return asyncio.get_running_loop().time()


def _table_operations(request: Request) -> Sequence[TableOperation]:
    return [(request.operation, table) for table in tables_of(request)]


def _waiter_ids(carried: Iterable[Call]) -> tuple[int, ...]:
    return tuple(each for call in carried for each in call.waiter_ids)


def _items(carried: Sequence[Call]) -> int | None:
    """Return how many items requests are about: each about one, or a transaction about several, or none at all."""
    request = carried[0].request
    if carried[0].parts > 1:
        return carried[0].parts
    return len(carried) if request.target is not None else len(request.targets) or None


def _units(spent: Sequence[Spending] | None, *, writes: bool) -> float | None:
    return None if spent is None else sum(each.halves for each in spent if each.place.writes is writes) / 2
