"""The journal: what happens to requests is counted, logged and told to observers here, each fact in one place.

Invariant: every RequestQueued is followed by one RequestEnded of the same waiter. Without observers no event is made.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from dynamap_async.errors import ResourceNotFoundError, ServiceError, TransportError
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
from dynamap_async.executor.counts import CountsByTable, Place
from dynamap_async.executor.ledger import Ledger
from dynamap_async.executor.observers import Observers
from dynamap_async.executor.sending import Sending
from dynamap_async.request import Request, tables_of
from dynamap_async.statistics import OperationStatistics, Statistics
from dynamap_async.wire import Body

logger: logging.Logger = logging.getLogger("dynamap_async")

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
