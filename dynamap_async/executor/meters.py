"""Meters: the exchanges that nobody watches are counted here, in one go.

Such an exchange is in a session without observers and scopes, on a table whose requests need no units, and nearly all
are (benchmarks: get_one, concurrent_gets_400). All others, those that fail and those whose answers are of a less common
form are counted by ``Exchange``, part by part.

Invariant: what is counted here is what ``Exchange`` would count.
"""

from collections.abc import Sequence
from typing import Any, Final

from dynamap_async.executor.admission import Admission
from dynamap_async.executor.governor.places import Place
from dynamap_async.executor.journal import Journal
from dynamap_async.executor.ledger import Ledger, items_of
from dynamap_async.executor.metering import is_metered
from dynamap_async.executor.sending import Sending
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Meters:
    """Counts the exchanges of a session that nobody watches."""

    def __init__(self, journal: Journal, admission: Admission) -> None:
        """Find what they count in.

        Args:
            journal: counts them.
            admission: learns how many units are delivered.
        """
        self._journal: Final = journal
        self._ledger: Final[Ledger] = journal.ledger
        self._tallies: Final = journal.tallies
        self._usage: Final = journal.ledger.own.by_operation
        self._admission: Final = admission
        self._watched: Final = journal.observed or not admission.only_learns
        self._governed: Final = admission.governor.governed

    def of(self, request: Request) -> "Meters | None":
        """Return where a request's exchange is counted; None where somebody watches it."""
        if self._watched or self._ledger.scoped or self._governed:
            return None
        return self if is_metered(request) and ", " not in request.table else None

    def sent(self, request: Request, carried: Sequence[Sending], now: float) -> None:
        """Count a request that is put on the wire.

        Args:
            request: it.
            carried: what was asked for: several requests where it is a batch.
            now: the event loop's time.
        """
        place = request.operation, request.table
        self._journal.total.requests += 1
        self._tallies[place].requests += 1
        usage = self._usage[place]
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
            self._journal.coalesced(operation, request.table, number)

    def answered(self, request: Request, carried: Sequence[Sending], answer: Body, now: float) -> bool:
        """Count an answer that left nothing over; tell whether it was one that can be counted here.

        Args:
            request: what was sent.
            carried: what was asked for.
            answer: the answer.
            now: the event loop's time.
        """
        if self._ledger.scoped or self._governed:
            return False  # since it was sent
        given: Any = answer.get("ConsumedCapacity")
        halves = 0 if given is None else _halves(given, request.table)
        if halves is None:
            return False
        usage = self._usage[request.operation, request.table]
        if given is None:
            usage.unreported_requests += 1
        elif halves:
            if request.writes:
                usage.write_halves += halves
            else:
                usage.read_halves += halves
            self._admission.delivered(Place(request.table, None, request.writes), halves / 2, now)
        usage.items += len(carried) if len(carried) > 1 else items_of(carried[0], answer)
        return True


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
