"""Admission: lets requests wait for the units that they need, on the event loop. The governor decides.

Limits are asked for by DescribeTable in the background, and again as long as they matter; no request waits for that but
those beyond what may be spent of a table of unknown limits. Where it is denied or fails, limits are learned from
refusals.

Invariant: while anyone waits, one timer is set, for when the next can be admitted. A request that nobody waits for any
more gives back what it was given. No timer and no task is left when the session closes.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import Context
from dataclasses import field
from functools import partial
from math import inf
from typing import Final, TypeAlias

from dynamap_async.config import CapacityPolicy, Priority, Throughput
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    DynamapError,
    InternalServerError,
    Outcome,
    ResourceNotFoundError,
    ServiceError,
    SessionClosedError,
    ThrottledError,
    TransactionCanceledError,
    TransportError,
)
from dynamap_async.events import Event, HotPartition, PaceChanged, RequestHeldUp
from dynamap_async.executor.calls import Call, Chunk, FinishedExchange
from dynamap_async.executor.consumed import Spending, TableOrIndex, is_metered
from dynamap_async.executor.pacing.estimates import Estimate, spent_units
from dynamap_async.executor.pacing.governor import Governor, UnitLimits, described_limits, same_limits
from dynamap_async.executor.pacing.heat import Heat, Partition, partition_of
from dynamap_async.executor.pacing.tickets import Ticket
from dynamap_async.request import Request, tables_of
from dynamap_async.statistics import BucketStatistics
from dynamap_async.turns import new_task
from dynamap_async.wire import Body

logger: logging.Logger = logging.getLogger("dynamap_async")

_AGAIN_SECONDS: Final = 3.0
"""After so long a table is described again, as long as requests wait for its units."""
_REFUSED_SECONDS: Final = 0.5
"""After so long it is described again if it refuses what it should have."""
_FAILED_SECONDS: Final = 300.0
"""After so long it is described again if that failed: policies change, and tables are created."""


class Describing:
    """What DescribeTable says of the tables of a session."""

    def __init__(
        self,
        send: Callable[[Request], Awaitable[Body]],
        know: Callable[[str, UnitLimits | None], None],
        missing: Callable[[str], None],
    ) -> None:
        """Create it with nothing known.

        Args:
            send: sends a request, with retries.
            know: called with a table and its limits; None where they could not be had.
            missing: called with a table that does not exist, after that.
        """
        self.tasks: Final[set[asyncio.Task[None]]] = set()
        """Those that are under way."""
        self._send: Final = send
        self._know: Final = know
        self._missing: Final = missing
        self._described: Final[dict[str, float]] = {}
        """Table -> the event loop's time of its description; far ahead where it failed or is under way."""

    def begin(self, table: str) -> None:
        """Ask for the limits of a table."""
        self._described[table] = asyncio.get_running_loop().time() + _FAILED_SECONDS
        # An empty context: nobody's scope pays for it.
        task = new_task(self._describe(table), Context())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def refresh(self, tables: Iterable[str], *, refused: bool = False) -> None:
        """Ask again for the limits of tables that requests wait for, or that refused some, if it is time to."""
        before = asyncio.get_running_loop().time() - (_REFUSED_SECONDS if refused else _AGAIN_SECONDS)
        for table in tables:
            if self._described.get(table, before) < before:
                self.begin(table)

    def forget(self, table: str) -> None:
        """Forget that a table was described."""
        self._described.pop(table, None)

    def close(self) -> None:
        """End what is under way."""
        for task in self.tasks:
            task.cancel()

    async def _describe(self, table: str) -> None:
        request = Request(operation="DescribeTable", body={"TableName": table}, table=table)
        try:
            limits = described_limits(await self._send(request))
        except SessionClosedError:
            return
        except ResourceNotFoundError:
            self._know(table, None)
            self._missing(table)
        except (DynamapError, LookupError, TypeError, ValueError, AttributeError) as error:
            logger.warning(
                "the limits of %s are learned, because DescribeTable failed: %s", table, type(error).__name__
            )
            self._know(table, None)
        else:
            self._described[table] = asyncio.get_running_loop().time()
            self._know(table, limits)


_REASON: Final = re.compile(r"(?:Table|Index)(Read|Write)\w+(?: \S*:table/([^/\s]+)(?:/index/([^/\s]+))?)?")
_SHORT: Final = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError"})
"""What stands in the reasons of a cancelled transaction for an action that found no capacity."""


@dataclass(slots=True)
class Verdict:
    """What became of what an exchange carried."""

    spent: Sequence[Call] = ()
    """What was carried out, or may have been: it took units."""
    returned: Sequence[Call] = ()
    """What took no units."""
    refused: Sequence[Call] = ()
    """What took no units because there were none."""
    short: list[TableOrIndex] = field(default_factory=list[TableOrIndex])
    """Where there were none."""
    named: bool = False
    """Whether the refusal itself has said where."""
    guessed: bool = False
    """Whether the answer did not say where: it may have been an index."""
    hot: Partition | None = None
    """The partition that had none, where its table may have had some."""


def verdict_of(finished: FinishedExchange) -> Verdict:
    """Return what became of what an exchange carried."""
    carried, error = finished.carried, finished.error
    if error is None:
        return _answered(finished)
    if isinstance(error, ThrottledError):
        partition = partition_of(finished.request)
        if partition is not None and error.reasons and all("KeyRange" in reason for reason in error.reasons):
            return Verdict(refused=carried, hot=partition)
        named = _named(finished.request, error.reasons)
        return Verdict(refused=carried, short=named or _places(finished.request), named=bool(named))
    if isinstance(error, TransactionCanceledError):
        # DynamoDB does not say what a cancelled transaction took; it charges those too.
        tables = {reason.table for reason in error.reasons if reason.code in _SHORT}
        return Verdict(
            spent=carried, short=[TableOrIndex(table, None, finished.request.writes) for table in tables if table]
        )
    if isinstance(error, TransportError):
        sent = error.outcome is not Outcome.NOT_SENT
    else:
        sent = isinstance(error, ConditionalCheckFailedError | InternalServerError)
        sent = sent or not isinstance(error, ServiceError)
    return Verdict(spent=carried) if sent else Verdict(returned=carried)


def _answered(finished: FinishedExchange) -> Verdict:
    if not finished.left_over:
        return Verdict(spent=finished.carried)
    refused = set(finished.throttled)
    left = set(finished.left_over)
    writes = finished.request.writes
    return Verdict(
        spent=[each for each in finished.carried if each not in left],
        returned=[each for each in finished.left_over if each not in refused],
        refused=finished.throttled,
        short=[TableOrIndex(table, None, writes) for table in {each.request.table for each in refused}],
        guessed=True,
    )


def _named(request: Request, reasons: Sequence[str]) -> list[TableOrIndex]:
    """Return where capacity was short, as far as the reasons of a refusal say it."""
    named: list[TableOrIndex] = []
    for reason in reasons:
        if (found := _REASON.match(reason)) is not None:
            kind, table, index = found.groups()
            named.append(TableOrIndex(table or tables_of(request)[0], index, kind == "Write"))
    return named


def _places(request: Request) -> list[TableOrIndex]:
    """Return where a request goes."""
    tables = tables_of(request)
    return [TableOrIndex(table, request.index if len(tables) == 1 else None, request.writes) for table in tables]


Declared: TypeAlias = Callable[[str], UnitLimits]
"""Returns what models declare of a table, by its full name; nothing of a table that none declares anything of."""

_LEAST_WAIT_SECONDS: Final = 0.001
MOST_TABLES: Final = 1_000
"""Of how many tables it is known how fast they are; more where more are in use."""
_TOLD_SECONDS: Final = 10.0
"""For how long observers are not told of the same hot partition again."""


class Admission:
    """Who may be sent."""

    def __init__(
        self,
        policy: CapacityPolicy,
        *,
        send: Callable[[Request], Awaitable[Body]],
        recall: Callable[[str], None],
        tell: Callable[[Event], None],
        observed: bool = False,
        declared: Declared = lambda _: {},
        backoff: Callable[[int], float] = lambda attempts: 0.0,
    ) -> None:
        """Create it with nothing known.

        Args:
            policy: where limits are known from.
            send: sends a DescribeTable request, with retries.
            recall: called with a table whose requests need units from now on: those that are queued have to wait after
                all.
            tell: called with what observers are to be told of.
            observed: whether there are any observers.
            declared: returns what models declare of a table.
            backoff: draws how many seconds a request waits after so many refusals.
        """
        self._backoff: Final = backoff
        self.governor: Final = Governor(policy)
        self.describing: Final = Describing(send, self._described, self._forget)
        self._recall: Final = recall
        self._tell: Final = tell
        self._observed: Final = observed
        self._heat: Final = Heat()
        self._told: dict[Partition, float] = {}
        """The hot partitions that were told of, each with the time until which it is not told of again."""
        self._policy: Final = policy
        self._knows: Final = policy.enabled and policy.limits != "throttles"
        self.looks_at_partitions: Final[bool] = policy.hot_partition_units_per_second is not None
        """Whether it is told of partitions that take much, which is done item by item."""
        self._declared: Final = declared
        self._met: Final[set[str]] = set()
        self._most_tables = MOST_TABLES
        """Above how many known tables idle ones are forgotten."""
        self._waiting: Final[dict[Ticket, Callable[[], None]]] = {}
        self._timer: asyncio.Handle | None = None
        self._timer_at = inf
        """When the timer comes. It does not say so itself: uvloop gives a plain handle for less than a millisecond."""
        self._looking: asyncio.Handle | None = None
        self._closed = False

    @property
    def held_up(self) -> int:
        """How many requests wait for units."""
        return self.governor.held_up

    def is_waited_for(self, table: str) -> bool:
        """Return whether requests to a table, or to one of its indexes, wait for units."""
        return bool(self._waiting) and self.governor.is_waited_for(table)

    def delivered(self, spent: tuple[Spending, ...] | None, carried: Sequence[Call]) -> None:
        """Record an answer that got to all that was asked for, which is most of what ``record`` does.

        Args:
            spent: the units that it reported; None where it did not say.
            carried: what was asked for.
        """
        if not self._policy.enabled:
            return
        if len(carried) > 1:
            tickets, attempts = _tickets(carried), _number(carried)
        else:  # as most are, without a call for it (benchmarks: get_one)
            call = carried[0]
            tickets, attempts = [] if call.ticket is None else [call.ticket], call.parts
        units = spent_units(spent) if spent else None
        supposed = None if spent or not self.governor.buckets else self._supposed(carried)
        if not (units or supposed or tickets):
            return
        now = asyncio.get_running_loop().time()
        self.governor.record_spent(tickets, units, attempts, now, supposed)
        self._follow(now)

    def may_go_now(self, request: Request, call: Call | None = None) -> bool:
        """Return whether a request may be sent without waiting for units: one look-up, of tables that never refused.

        Args:
            request: what is to be sent.
            call: who asks for it: one that is urgent is held back by nothing but refusals. None for any.
        """
        governor = self.governor
        if not (self._knows or governor.governed) or not is_metered(request):
            return True
        tables = request.tables or (request.table,)
        if self._knows:
            for table in tables:
                if table not in self._met:
                    self._meet(table)
        if governor.governed.isdisjoint(tables):
            return True
        # A part of a call for many items, as most are that come here, is never urgent.
        if call is None or call.patient or call.priority is not Priority.INTERACTIVE:
            return False
        return not governor.is_short(tables)

    def takes_chunk(self, chunk: Chunk, priority: Priority, now: float) -> Ticket | None:
        """Return the ticket of a chunk for which there are units; None where it has to be taken apart.

        Args:
            chunk: what is to be sent.
            priority: how urgent it is.
            now: the time.
        """
        return self.governor.take_chunk(chunk.asked, chunk.size, chunk.json_bytes, priority, now)

    def lets_wait(self, chunk: Chunk) -> bool:
        """Return whether a chunk waits for its units as a whole; otherwise each of its requests does.

        Args:
            chunk: what is to be sent.
        """
        if chunk.waits:
            return True
        soon, indexed = self.governor.brings_soon(chunk.asked, chunk.size, chunk.json_bytes)
        # Otherwise those without an entry would wait for units of the index.
        return soon and (not indexed or chunk.is_in_all_indexes())

    def take_apart(self, call: Call, requests: Sequence[Request]) -> Sequence[Ticket | None]:
        """Return the tickets of the requests of a chunk, which have its units from now on; Nones where it has none."""
        ticket, call.ticket = call.ticket, None
        if ticket is None or ticket.is_spent:
            return [None] * len(requests)
        return self.governor.split(ticket, requests)

    def ask(self, call: Call, priority: Priority, admitted: Callable[[], None]) -> bool:
        """Ask for the units of a request that is not free; return whether it has them now.

        Args:
            call: the request; asked for again, it waits in its old place.
            priority: how urgent it is.
            admitted: called when it has them, if it has to wait.
        """
        now, number = _now(), 0 if call.ticket is None else call.ticket.number
        if call.chunk is None:
            ticket = self.governor.ticket(call.request, priority, now, patient=not _is_urgent(call))
        else:
            ticket = self.governor.chunk_ticket(call.request, call.parts, call.chunk.json_bytes, priority, now)
        call.ticket = ticket
        ticket.number = number
        self._waiting[ticket] = admitted
        at_once = self.governor.ask(ticket, now)
        if ticket.queue is None:
            del self._waiting[ticket]
        self._let_go(each for each in at_once if each is not ticket)
        if ticket.queue is None:
            return True
        self._limit_wait(call, ticket, now)
        if self._timer is None or ticket.is_first:
            self._set_timer(now)
        if self._observed:
            self._tell_of_wait(call, ticket, now)
        return False

    def _tell_of_wait(self, call: Call, ticket: Ticket, now: float) -> None:
        place, bucket = self.governor.short_of(ticket)
        self._tell(
            RequestHeldUp(
                at=now,
                waiter_ids=call.waiter_ids,
                operation=call.request.operation,
                table=call.request.table,
                reason="partition" if place is None else "table" if place.index_name is None else "index",
                index=None if place is None else place.index_name,
                writes=call.request.writes,
                units_per_second=bucket.pace.rate,
            )
        )

    def _tell_of_changes(self, now: float) -> None:
        for place, bucket, before in self.governor.take_changes():
            rate, delivered = bucket.pace.rate, bucket.pace.delivered.rate(now)
            logger.info(
                "%s%s: %s (was: %s); %s %s units a second may be spent, %.0f were delivered",
                place.table,
                "" if place.index_name is None else f" {place.index_name}",
                bucket.state,
                before,
                "any number of" if rate is None else f"{rate:.0f}",
                "write" if place.writes else "read",
                delivered,
            )
            if self._observed:
                self._tell(
                    PaceChanged(
                        at=now,
                        table=place.table,
                        index=place.index_name,
                        writes=place.writes,
                        state=bucket.state,
                        before=before,
                        units_per_second=rate,
                        delivered_units_per_second=delivered,
                    )
                )

    def statistics(self) -> tuple[BucketStatistics, ...]:
        """Return what is believed of the units of tables and indexes, of those that are not open."""
        try:
            now = _now()
        except RuntimeError:  # no event loop runs: the session is not open, or closed
            return ()
        return self.governor.statistics(now)

    def _limit_wait(self, call: Call, ticket: Ticket, now: float) -> None:
        """See to it that an urgent request waits for no longer than the backoff after a refusal takes."""
        if _is_urgent(call):
            until = now + self._backoff(max(1, call.attempts))
            call.patience = asyncio.get_running_loop().call_at(until, self._go_anyway, ticket, context=Context())

    def _go_anyway(self, ticket: Ticket) -> None:
        """Let go whoever has waited for as long as the backoff after a refusal takes."""
        if ticket.queue is not None:
            self.governor.let_go(ticket, _now())
            self._let_go((ticket,))

    def holds(self, request: Request) -> bool:
        """Return whether what is refused waits for units, by which it is sent again at the right time."""
        return self.governor.is_short(tables_of(request))

    def delivers(self, request: Request, seconds: float) -> bool:
        """Return whether the tables of a request have delivered anything in so many seconds."""
        return _now() - self.governor.delivered_at(tables_of(request)) < seconds

    async def admitted(self, call: Call) -> None:
        """Wait until a request has its units. Whoever gives up waiting calls ``leave``."""
        if self.may_go_now(call.request, call):
            return
        units: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not self.ask(call, call.priority, partial(_set, units)):
            await units

    def waits(self, call: Call) -> bool:
        """Return whether a request waits for units."""
        return call.ticket is not None and call.ticket.queue is not None

    def lift(self, call: Call, priority: Priority) -> None:
        """Let a waiting request go on with a higher priority; nothing changes where it waits with that already.

        Args:
            call: the request.
            priority: how urgent it has become.
        """
        ticket = call.ticket
        if ticket is None or ticket.queue is None or priority >= ticket.priority:
            return
        if self.may_go_now(call.request, call):
            self._go_anyway(ticket)
            return
        now = _now()
        self._let_go(self.governor.lift(ticket, priority, now))
        if self.waits(call):
            self._limit_wait(call, ticket, now)
        self._set_timer(now)

    def leave(self, call: Call) -> None:
        """Let go of a request that is not sent, or not any more."""
        ticket, call.ticket = call.ticket, None
        if call.patience is not None:
            call.patience.cancel()
            call.patience = None
        if ticket is not None and not ticket.is_spent:
            self._waiting.pop(ticket, None)
            self.governor.leave(ticket, _now())
            self._look_again()

    def record(self, finished: FinishedExchange, unreported: Sequence[Spending] = ()) -> None:
        """Record a finished exchange.

        Args:
            finished: the exchange.
            unreported: what it is supposed to have taken, where it ended in an error.
        """
        if self._policy.enabled and is_metered(finished.request):
            now = _now()
            self._record_finished(finished, unreported, verdict_of(finished), now)
            if isinstance(finished.error, ResourceNotFoundError):
                self._missing(tables_of(finished.request))
            self._follow(now)

    def _follow(self, now: float) -> None:
        """Tell what is believed now, forget tables where there are too many, and see who can be admitted."""
        if self.governor.changes:
            self._tell_of_changes(now)
        if len(self.governor.buckets) > self._most_tables:
            self._make_room(now)
        if self._waiting:
            self._look_again()

    def _record_finished(
        self, finished: FinishedExchange, unreported: Sequence[Spending], verdict: Verdict, now: float
    ) -> None:
        governor = self.governor
        for call in verdict.returned:
            if call.ticket is not None:
                governor.leave(call.ticket, now)
        spent = spent_units(finished.spent) if finished.spent else None
        supposed = None
        if isinstance(finished.error, ConditionalCheckFailedError | TransactionCanceledError) and not verdict.short:
            supposed = spent_units(tuple(unreported)) or None  # its conditions were looked at, so there were units
        elif finished.error is None and not spent:
            supposed = self._supposed(verdict.spent)
        refused, short, size = verdict.refused, verdict.short, _number(finished.carried)
        if short and not verdict.guessed and not all(governor.has_delivered(place.table) for place in short):
            # Where nothing was served yet, that it carried many is all that is known: what is behind it need not find
            # out, as if they had been refused one by one.
            size = 1
        if verdict.guessed:
            short = governor.blamed([call.request for call in refused], spent or {}, now)
        left_over = dict.fromkeys(short, _number(refused)) if verdict.guessed else None
        governor.record_spent(_tickets(verdict.spent), spent, _number(verdict.spent), now, supposed, left_over)
        if left_over and spent and verdict.spent and verdict.spent[0].ticket is None:
            # What waits from now on has to wait for the units of the indexes, too.
            governor.estimates.learn([self._expected(call) for call in verdict.spent], spent)
        if short:
            attempts = _number(refused or verdict.spent)
            new = governor.refuse(_tickets(refused), short, attempts, now, size=size, named=verdict.named)
            self._refused(new, verdict.short)
        if verdict.hot is not None:
            ticket = verdict.refused[0].ticket
            self._refused(governor.refuse_partition(verdict.hot, ticket, now), ())
        if self._policy.hot_partition_units_per_second is not None and spent is not None:
            self._tell_of_hot(verdict.spent, sum(spent.values()), now)

    def _supposed(self, calls: Sequence[Call]) -> Mapping[TableOrIndex, float] | None:
        """Return what calls have taken whose answer does not say, as expected, of tables that refused some."""
        units: dict[TableOrIndex, float] = {}
        for call in calls:
            if is_metered(call.request) and not self.governor.buckets.keys().isdisjoint(tables_of(call.request)):
                for place, taken in self._expected(call).units.items():
                    units[place] = units.get(place, 0.0) + taken
        return units or None

    def _expected(self, call: Call) -> Estimate:
        """Return what a call is expected to take."""
        estimates, chunk = self.governor.estimates, call.chunk
        if chunk is None:
            return estimates.of(call.request)
        return estimates.of_chunk(chunk.asked, chunk.size, chunk.json_bytes)

    def _missing(self, tables: Sequence[str]) -> None:
        """Forget the table that does not exist; of several, those that never delivered anything."""
        for table in tables:
            if len(tables) == 1 or not self.governor.has_delivered(table):
                self._forget(table)

    def _make_room(self, now: float) -> None:
        """Forget the tables that were idle for longest."""
        for table in self.governor.idle(now, len(self.governor.buckets) - MOST_TABLES // 2):
            self._forget(table)
        # Where many more are in use, they are not looked through for each new one.
        self._most_tables = max(MOST_TABLES, 2 * len(self.governor.buckets))

    def _forget(self, table: str) -> None:
        """Forget a table, unless requests wait for it: if it is used again, it is as one that was never met."""
        if not self.governor.is_waited_for(table):
            self.governor.forget(table)
            self._heat.forget(table)
            self.describing.forget(table)
            self._met.discard(table)

    def close(self) -> None:
        """Set no timer any more, and end what is under way."""
        self._closed = True
        self.describing.close()
        for handle in (self._timer, self._looking):
            if handle is not None:
                handle.cancel()

    def _tell_of_hot(self, calls: Sequence[Call], units: float, now: float) -> None:
        """Tell the observer of partitions that take much; what a batch took is divided evenly."""
        for call in calls:
            partition = partition_of(call.request)
            if partition is None:
                continue
            rate = self._heat.add(partition, units / len(calls), now)
            if rate >= (self._policy.hot_partition_units_per_second or 0) and self._told.get(partition, 0) <= now:
                self._told = {each: until for each, until in self._told.items() if until > now}
                self._told[partition] = now + _TOLD_SECONDS
                self._tell(
                    HotPartition(
                        at=now,
                        table=partition.table,
                        partition_key=partition.key,
                        writes=partition.writes,
                        units_per_second=rate,
                    )
                )

    def _refused(self, new: Iterable[str], short: Iterable[TableOrIndex]) -> None:
        for table in new:
            self._recall(table)
        if self._policy.limits == "describe":
            self.describing.refresh({place.table for place in short}, refused=True)

    def _meet(self, table: str) -> None:
        """Find out about a table that is asked for the first time."""
        self._met.add(table)
        if len(self.governor.buckets) > self._most_tables:
            self._make_room(_now())
        limits = self._policy.limits
        if limits == "describe":
            self.governor.suppose(table, _now())
            self.describing.begin(table)
        else:
            self._know(table, same_limits(limits, None) if isinstance(limits, Throughput) else self._declared(table))

    def _described(self, table: str, limits: UnitLimits | None) -> None:
        self._know(table, {(None, False): None, (None, True): None} if limits is None else limits)

    def _know(self, table: str, limits: UnitLimits) -> None:
        if not self._closed:
            now = _now()
            self.governor.know(table, limits, now)
            self._tell_of_changes(now)
            self._let_go(self.governor.admit(now))
            self._set_timer(now)

    def _let_go(self, tickets: Iterable[Ticket]) -> None:
        for ticket in tickets:
            self._waiting.pop(ticket)()

    def _look_again(self) -> None:
        """See at the end of this turn of the event loop whether anyone can be admitted earlier than was thought."""
        if self.governor.waiting and self._looking is None and not self._closed:
            self._looking = asyncio.get_running_loop().call_soon(self._look, context=Context())

    def _look(self) -> None:
        self._looking = None
        self._set_timer(_now())

    def _set_timer(self, now: float) -> None:
        """See to it that whoever waits is looked at when the next can be admitted."""
        at = None if self._closed else self.governor.next_at(now)
        if at is None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            return
        at = max(at, now + _LEAST_WAIT_SECONDS)
        if self._timer is not None:
            if self._timer_at <= at:
                return
            self._timer.cancel()
        self._timer, self._timer_at = asyncio.get_running_loop().call_at(at, self._wake, context=Context()), at

    def _wake(self) -> None:
        self._timer = None
        now = _now()
        at = self.governor.next_at(now)
        if at is not None and at < now + _LEAST_WAIT_SECONDS:  # otherwise more came meanwhile, to go together
            self._let_go(self.governor.admit(now))
        self._set_timer(now)
        if self._policy.limits == "describe":
            self.describing.refresh(self.governor.tables_waited_for())


def _is_urgent(call: Call) -> bool:
    return not call.patient and call.priority is Priority.INTERACTIVE


def _tickets(calls: Iterable[Call]) -> list[Ticket]:
    return [call.ticket for call in calls if call.ticket is not None]


def _number(calls: Iterable[Call]) -> int:
    return sum([call.parts for call in calls])


def _set(units: asyncio.Future[None]) -> None:
    if not units.done():
        units.set_result(None)


def _now() -> float:
    return asyncio.get_running_loop().time()
