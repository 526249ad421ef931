"""Meters: the exchanges that nobody watches are counted here, in one go.

Such an exchange is in a session without observers and scopes, on a table whose requests need no units. Nearly all are,
so what one operation on one table counts in is looked up once (benchmarks: get_one, concurrent_gets_400). All others,
those that fail and those whose answers are of a less common form are counted by ``Exchange``, part by part.

Invariant: what is counted here is what ``Exchange`` would count.
"""

from collections.abc import Sequence
from typing import Any, Final

from dynamap_async.executor.admission import Admission
from dynamap_async.executor.governor.pace import Delivered
from dynamap_async.executor.governor.places import Place
from dynamap_async.executor.journal import Journal, Tally
from dynamap_async.executor.ledger import Ledger, items_of
from dynamap_async.executor.metering import is_metered
from dynamap_async.executor.sending import Sending
from dynamap_async.request import Request, tables_of
from dynamap_async.wire import Body


class Meter:
    """What the exchanges of one operation on one table count in."""

    __slots__ = (
        "_admission",
        "_delivered",
        "_governed",
        "_journal",
        "_ledger",
        "_table",
        "_tally",
        "_total",
        "_usage",
        "_writes",
    )

    def __init__(self, journal: Journal, admission: Admission, request: Request) -> None:
        """Find what they count in.

        Args:
            journal: counts them.
            admission: learns how many units are delivered.
            request: one of them.
        """
        self._journal: Final = journal
        self._ledger: Final = journal.ledger
        self._admission: Final = admission
        self._governed: Final = admission.governor.governed
        self._table: Final = request.table
        self._writes: Final = request.writes
        self._total: Final[Tally] = journal.total
        self._tally: Final[Tally] = journal.tallies_of(request)[0]
        self._usage: Final = journal.ledger.own.of(request.operation, request.table)
        self._delivered: Delivered | None = None

    def sent(self, carried: Sequence[Sending], now: float) -> None:
        """Count a request that is put on the wire.

        Args:
            carried: what was asked for: several requests where it is a batch.
            now: the event loop's time.
        """
        self._total.requests += 1
        self._tally.requests += 1
        usage = self._usage
        usage.requests += 1
        waited, coalesced = 0.0, len(carried) > 1
        shared: dict[str, int] = {}
        for sending in carried:
            if sending.attempts > 1:
                usage.retries += 1
            if sending.joined:
                waited += sending.waited(now)
                waiting = sending.waiting
            else:
                waited += now - (sending.idle_since or sending.since)
                waiting = 1
            if (coalesced or waiting > 1) and not sending.coalesced:
                sending.coalesced = True
                operation = sending.request.operation
                shared[operation] = shared.get(operation, 0) + waiting
        usage.waiting_seconds += waited
        for operation, number in shared.items():
            self._journal.coalesced(operation, self._table, number)

    def answered(self, carried: Sequence[Sending], answer: Body, now: float) -> bool:
        """Count an answer that left nothing over; tell whether it was one that can be counted here.

        Args:
            carried: what was asked for.
            answer: the answer.
            now: the event loop's time.
        """
        if self._ledger.scoped or self._governed:
            return False  # since it was sent
        usage = self._usage
        given: Any = answer.get("ConsumedCapacity")
        if given is None:
            usage.unreported_requests += 1
        elif (halves := _halves(given, self._table)) is None:
            return False
        elif halves:
            if self._writes:
                usage.write_halves += halves
            else:
                usage.read_halves += halves
            delivered = self._delivered
            if delivered is None:
                delivered = self._delivered = self._admission.delivered(Place(self._table, None, self._writes), now)
            delivered.add(halves / 2, now)
        usage.items += len(carried) if len(carried) > 1 else items_of(carried[0], answer)
        return True


class Meters:
    """The meters of a session."""

    def __init__(self, journal: Journal, admission: Admission) -> None:
        self._journal: Final = journal
        self._ledger: Final[Ledger] = journal.ledger
        self._admission: Final = admission
        self._watched: Final = journal.observed or not admission.only_learns
        self._governed: Final = admission.governor.governed
        self._meters: Final[dict[tuple[str, str], Meter]] = {}

    def of(self, request: Request) -> Meter | None:
        """Return where a request's exchange is counted; None where somebody watches it."""
        if self._watched or self._ledger.scoped or self._governed:
            return None
        return self._meters.get((request.operation, request.table)) or self._new(request)

    def _new(self, request: Request) -> Meter | None:
        if not is_metered(request) or len(tables_of(request)) > 1:
            return None
        meter = self._meters[request.operation, request.table] = Meter(self._journal, self._admission, request)
        return meter


def _halves(given: Any, table: str) -> int | None:
    """Return the units, in halves, of a report that is about a table alone, as most are; None for any other form."""
    try:
        if "TableName" not in given:
            [given] = given  # of a batch, or of a transaction
        if len(given) == 3 and given["TableName"] == table:
            [(name, units)] = given["Table"].items()
            return round(2 * units) if name == "CapacityUnits" else None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        pass
    return None
