"""The governor: who may be sent, by the capacity that is there. Pure: the time is passed in, and nothing waits here.

An operation on a table without any limit that is known or was learned is not held up, and has no ticket. Any other asks
for one, waits in line until its units are there, is sent, and is recorded: what the answer reports corrects what was
taken on the estimate, and a refusal lowers the pace.

Invariant: every ticket that was admitted is recorded as spent, refused or left once.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dynamap_async.config import CapacityPolicy, Priority, Throughput
from dynamap_async.executor.consumed import TableOrIndex
from dynamap_async.executor.pacing.buckets import Bucket
from dynamap_async.executor.pacing.estimates import MOST_KINDS, Estimate, Estimates, RequestKind
from dynamap_async.executor.pacing.heat import Heat, Partition, partition_of
from dynamap_async.executor.pacing.tickets import Draws, Ticket, UnitQueue
from dynamap_async.request import Request
from dynamap_async.statistics import BucketStatistics
from dynamap_async.usage import PaceState
from dynamap_async.wire import Body

UnitLimits: TypeAlias = Mapping[tuple[str | None, bool], float | None]
"""(global index, or None for the table; whether write units are meant) -> units a second; None for no limit."""


def described_limits(answer: Body) -> UnitLimits:
    """Return the limits in an answer of DescribeTable, provisioned or as the maximum of an on-demand table.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: the answer is not of the form that DynamoDB documents.
    """
    table: Mapping[str, Any] = answer["Table"]
    billing: Mapping[str, Any] = table.get("BillingModeSummary") or {}
    on_demand = billing.get("BillingMode") == "PAY_PER_REQUEST"
    limits = _limits_of(None, table, on_demand=on_demand)
    for index in table.get("GlobalSecondaryIndexes") or ():
        limits |= _limits_of(index["IndexName"], index, on_demand=on_demand)
    return limits


def same_limits(throughput: Throughput, index: str | None) -> UnitLimits:
    """Return the limits of a table or of a global index whose throughput is known."""
    return {(index, False): float(throughput.read), (index, True): float(throughput.write)}


def _limits_of(
    index: str | None, described: Mapping[str, Any], *, on_demand: bool
) -> dict[tuple[str | None, bool], float | None]:
    units: Mapping[str, Any] = described.get("OnDemandThroughput" if on_demand else "ProvisionedThroughput") or {}
    names = (
        ("MaxReadRequestUnits", "MaxWriteRequestUnits") if on_demand else ("ReadCapacityUnits", "WriteCapacityUnits")
    )
    # -1 stands for an on-demand table without a maximum; local engines give 0.
    return {
        (index, writes): limit if (limit := float(units.get(names[writes], 0))) > 0 else None
        for writes in (False, True)
    }


_CALM: Final = ("open", "known")
"""What is believed of a bucket as long as nothing is refused."""
_KEPT_SECONDS: Final = 1.0
"""For how long units are kept: a session does not know what others took of those that the table may have saved."""
_AT_ONCE: Final = 50
"""Two calls full of writes: about 10 ms of work until all is sent."""
_HOT: Final = 0.5
"""From which part of its limit on a partition's own limit is counted."""
_COLD: Final = 0.1
"""Below which part of its limit it is not counted any more."""
_MOST_PARTITIONS: Final = 1_000
"""So many are counted; those that have grown cold are dropped before there are more."""
_SOON_SECONDS: Final = 0.1
"""Requests that travel together wait for their units together, if these come within that time."""
_NAMED_SECONDS: Final = 5.0
"""For so long a refusal that names a place explains others that name none."""
_IN_USE_SECONDS: Final = 60.0
"""For so long after its last request what was learned of a table's pace is kept, however many tables there are."""


class Governor:
    """The buckets of a session, and who waits for their units."""

    def __init__(self, policy: CapacityPolicy) -> None:
        self.policy: Final = policy
        self.estimates: Final = Estimates()
        self._part: Final = policy.share
        self._draws: Final[dict[RequestKind, tuple[Estimate, Draws]]] = {}
        self._queue: Final = UnitQueue()
        self.buckets: Final[dict[str, dict[TableOrIndex, Bucket]]] = {}
        """Table -> its buckets."""
        self._heat: Final = Heat()
        self._partitions: Final[dict[Partition, Bucket]] = {}
        """Those that take much."""
        self.governed: Final[set[str]] = set()
        """The tables whose requests need tickets."""
        self.changes: list[tuple[TableOrIndex, Bucket, PaceState]] = []
        """The buckets of which something else is believed than before, with that, and nobody was told of it."""

    @property
    def waiting(self) -> bool:
        """Whether anyone waits."""
        return self._queue.waiting

    @property
    def held_up(self) -> int:
        """How many requests wait."""
        return self._queue.requests

    def governs(self, tables: Iterable[str]) -> bool:
        """Return whether a request about these tables needs a ticket: one of them is enough."""
        return not self.governed.isdisjoint(tables)

    def bucket(self, place: TableOrIndex, now: float) -> Bucket:
        """Return the bucket of a place."""
        buckets = self.buckets.get(place.table)
        if buckets is None:
            buckets = self.buckets[place.table] = {}
        bucket = buckets.get(place)
        if bucket is None:
            bucket = buckets[place] = Bucket(_KEPT_SECONDS, now)
            if isinstance(same := self.policy.limits, Throughput):
                bucket.know((same.write if place.writes else same.read) * self._part, now)
        return bucket

    def _look_at(self, place: TableOrIndex, bucket: Bucket, now: float) -> None:
        if (before := bucket.changes(now)) is not None:
            self.changes.append((place, bucket, before))

    def take_changes(self) -> Sequence[tuple[TableOrIndex, Bucket, PaceState]]:
        """Return the buckets of which something else is believed than before, each with what that was, once."""
        changes, self.changes = self.changes, []
        return changes

    def statistics(self, now: float) -> tuple[BucketStatistics, ...]:
        """Return what is believed of the buckets that are not open."""
        told: list[BucketStatistics] = []
        for buckets in self.buckets.values():
            for place, bucket in buckets.items():
                self._look_at(place, bucket, now)
                if bucket.state != "open":
                    told.append(
                        BucketStatistics(
                            table=place.table,
                            index=place.index_name,
                            writes=place.writes,
                            state=bucket.state,
                            since=bucket.since,
                            limit=bucket.pace.ceiling,
                            units_per_second=bucket.pace.rate,
                            delivered_units_per_second=bucket.pace.delivered.rate(now),
                            waiting=self._queue.waiting_for(bucket),
                        )
                    )
        return tuple(sorted(told, key=lambda each: (each.table, each.index or "", each.writes)))

    def short_of(self, ticket: Ticket) -> tuple[TableOrIndex | None, Bucket]:
        """Return the bucket for which a ticket that waits has to wait longest; of a partition's, no place."""
        bucket, _ = max(ticket.draws, key=lambda draw: draw[0].seconds_until(draw[1]))
        for place in ticket.estimate.units:
            if self.buckets.get(place.table, {}).get(place) is bucket:
                return place, bucket
        return None, bucket

    def suppose(self, table: str, now: float) -> None:
        """Hold requests to a table up to a small rate, until its limits are known."""
        self.governed.add(table)
        for writes in (False, True):
            self.bucket(TableOrIndex(table, None, writes), now).suppose()

    def know(self, table: str, limits: UnitLimits, now: float) -> None:
        """Set a table's limits, of which this session gets its share. Somebody may be admitted by that."""
        for (index, writes), limit in limits.items():
            bucket = self.bucket(TableOrIndex(table, index, writes), now)
            self._queue.refill(bucket, now)
            bucket.know(None if limit is None else limit * self._part, now)
            self._look_at(TableOrIndex(table, index, writes), bucket, now)
        self.governed.add(table)
        self._let_go(table)

    def _let_go(self, table: str) -> None:
        """Stop governing a table if nothing of it has a limit any more."""
        buckets = self.buckets.setdefault(table, {}).values()
        if all(bucket.open for bucket in buckets) and all(hot.table != table for hot in self._partitions):
            self.governed.discard(table)

    def is_short(self, tables: Iterable[str]) -> bool:
        """Return whether refusals have lowered what may be spent of any of these tables."""
        for table in tables:
            for bucket in self.buckets.get(table, {}).values():  # loops: this is asked of each urgent request
                if bucket.pace.rate != bucket.pace.ceiling:
                    return True
        return False

    def delivered_at(self, tables: Iterable[str]) -> float:
        """Return when any of these tables delivered anything last."""
        times = [each.pace.delivered.at for table in tables for each in self.buckets.get(table, {}).values()]
        return max(times, default=-math.inf)

    def ticket(self, request: Request, priority: Priority, now: float, *, patient: bool = True) -> Ticket:
        """Return a ticket for a request; it waits nowhere yet."""
        estimate = self.estimates.of(request)
        draws = self._draws_of(estimate, now)
        hot = self._hot(request, sum(estimate.units.values()), now)
        return Ticket(draws if hot is None else (*draws, hot), priority, estimate, patient and request.batchable)

    def take_chunk(
        self, request: Request, requests: int, json_bytes: int, priority: Priority, now: float
    ) -> Ticket | None:
        """Return the ticket of requests that travel together; None where each has to wait, or to be looked at.

        Args:
            request: what each of them is, but for its item.
            requests: how many they are.
            json_bytes: the length of the JSON of what they write.
            priority: how urgent they are.
            now: the time.
        """
        if self.is_short((request.table,)):
            return None
        ticket = self.chunk_ticket(request, requests, json_bytes, priority, now)
        return ticket if self._queue.take_at_once(ticket, now) else None

    def chunk_ticket(self, request: Request, requests: int, json_bytes: int, priority: Priority, now: float) -> Ticket:
        """Return a ticket for requests that travel together; it waits nowhere yet. See ``take_chunk``."""
        estimate = self.estimates.of_chunk(request, requests, json_bytes)
        return Ticket(self._draws_of(estimate, now), priority, estimate, patient=False)

    def brings_soon(self, request: Request, requests: int, json_bytes: int) -> tuple[bool, bool]:
        """Return whether the units come soon that requests wait for which travel together; whether some are an index's.

        Args:
            request: what each of them is, but for its item.
            requests: how many they are.
            json_bytes: the length of the JSON of what they write.
        """
        units = self.estimates.of_chunk(request, requests, json_bytes).units
        buckets = self.buckets.get(request.table, {})
        paces = [(buckets[place].pace, needed) for place, needed in units.items() if place in buckets]
        limited = [(pace, pace.rate, needed) for pace, needed in paces if pace.rate is not None]
        soon = all(not pace.trying and needed <= rate * _SOON_SECONDS for pace, rate, needed in limited)
        return bool(limited) and soon, any(place.index_name is not None for place in units)

    def split(self, ticket: Ticket, requests: Sequence[Request]) -> list[Ticket]:
        """Return the tickets of requests that are looked at one by one after all: each with its part of the units."""
        tickets: list[Ticket] = []
        for request in requests:
            draws = tuple([(bucket, units / len(requests)) for bucket, units in ticket.draws])
            part = Ticket(draws, ticket.priority, self.estimates.of(request))
            part.admitted_at = ticket.admitted_at
            tickets.append(part)
        ticket.admitted_at = None
        return tickets

    def _draws_of(self, estimate: Estimate, now: float) -> Draws:
        """Return an estimate in buckets: one value for all who share the estimate, as most items of a load do."""
        last = self._draws.get(estimate.kind)
        if last is None or last[0] is not estimate:
            if len(self._draws) >= MOST_KINDS:
                self._draws.clear()
            draws = tuple([(self.bucket(place, now), units) for place, units in estimate.units.items()])
            last = self._draws[estimate.kind] = estimate, draws
        return last[1]

    def _hot(self, request: Request, units: float, now: float) -> tuple[Bucket, float] | None:
        """Return the bucket of a partition that takes so much that its own limit may count."""
        partition = partition_of(request)
        if partition is None:
            return None
        rate = self._heat.add(partition, units, now)
        bucket = self._partitions.get(partition)
        if bucket is None and rate < partition.limit * _HOT:
            return None
        if bucket is None:
            bucket = self._partition(partition, now)
        elif rate < partition.limit * _COLD and not bucket.pace.lowered:
            del self._partitions[partition]
            return None
        return bucket, units

    def _partition(self, partition: Partition, now: float) -> Bucket:
        if len(self._partitions) >= _MOST_PARTITIONS:
            for each in [each for each in self._partitions if self._heat.rate(each, now) < each.limit * _COLD]:
                del self._partitions[each]
        bucket = self._partitions[partition] = Bucket(1.0, now)
        bucket.know(partition.limit * self.policy.share, now)
        return bucket

    def refuse_partition(self, partition: Partition, ticket: Ticket | None, now: float) -> list[str]:
        """Record that an operation was refused because its partition had no capacity; as ``refuse``."""
        bucket = self._partitions.get(partition) or self._partition(partition, now)
        self._queue.refill(bucket, now)
        if ticket is not None:
            admitted_at = ticket.admitted_at
            self._queue.leave(ticket, now)
            bucket.refuse(1, admitted_at, now)
        return self._govern(partition.table)

    def _govern(self, table: str) -> list[str]:
        new = [] if table in self.governed else [table]
        self.governed.add(table)
        return new

    def ask(self, ticket: Ticket, now: float) -> list[Ticket]:
        """Let a ticket join the queue, in its old position if it was asked for before.

        Returns:
            Who is admitted by that, this one first of all or nobody as a rule.
        """
        # Who is less urgent goes with others of its kind, when enough units for several have come: a call with a few
        # items costs both sides nearly as much as a full one (benchmarks/acceptance, question "beside").
        return self._queue.admit(now, _AT_ONCE, ticket.priority) if self._queue.join(ticket) else []

    def lift(self, ticket: Ticket, priority: Priority, now: float) -> list[Ticket]:
        """Let a waiting ticket go on with a higher priority; return who is admitted by that."""
        if ticket.queue is None:
            ticket.priority = min(ticket.priority, priority)
            return []
        self._queue.leave(ticket, now)
        ticket.priority = priority
        return self.ask(ticket, now)

    def let_go(self, ticket: Ticket, now: float) -> None:
        """Admit a waiting ticket at once; its units are owed."""
        self._queue.let_go(ticket, now)

    def leave(self, ticket: Ticket, now: float) -> None:
        """Give back the units of an operation that is not sent any more, and take it out of its queue."""
        self._queue.leave(ticket, now)

    def admit(self, now: float) -> list[Ticket]:
        """Admit those whose units have come, not too many in one turn of an event loop; return them in their order."""
        return self._queue.admit(now, _AT_ONCE)

    def next_at(self, now: float) -> float | None:
        """Return when to call ``admit`` again; None while nobody waits."""
        return self._queue.next_at(now)

    def record_spent(
        self,
        tickets: Collection[Ticket],
        spent: Mapping[TableOrIndex, float] | None,
        attempts: int,
        now: float,
        supposed: Mapping[TableOrIndex, float] | None = None,
        left_over: Mapping[TableOrIndex, int] | None = None,
    ) -> None:
        """Record what an answer reported.

        Args:
            tickets: those of the operations that were carried out, which whoever waited for nothing does not have.
            spent: the units that they took of each place; None where the answer did not say: the estimates count.
            attempts: how many operations were carried out.
            now: the time.
            supposed: of an answer that did not say, units that they took all the same, as where a condition failed.
            left_over: how many operations of the same call were refused, of each place that is blamed for it.
        """
        admitted_at: float | None = None
        taken: Mapping[TableOrIndex, float] = {}
        if tickets:
            admitted_at = min([each.admitted_at for each in tickets if each.admitted_at is not None], default=None)
            taken = _taken(tickets, now)
        known = supposed if spent is None else spent
        if known is None:
            return
        waiting: Mapping[Bucket, tuple[Priority, ...]] = self._queue.waited_for() if self._queue.requests else {}
        for place in {**known, **taken}:
            bucket = self.bucket(place, now)
            pace = bucket.pace
            size = attempts if left_over is None else attempts + left_over.get(place, 0)
            served, given = known.get(place, 0.0), taken.get(place, 0.0)
            bucket.record(served, given, attempts, admitted_at, now, size, waiting.get(bucket, ()))
            if pace.rate is None and place.table in self.governed:
                self._let_go(place.table)
            if pace.rate != pace.ceiling or bucket.state not in _CALM:  # as is not so, while nothing is short
                self._look_at(place, bucket, now)
        if tickets and spent is not None:
            self.estimates.learn([ticket.estimate for ticket in tickets], spent)

    def refuse(
        self,
        tickets: Collection[Ticket],
        places: Iterable[TableOrIndex],
        attempts: int,
        now: float,
        *,
        size: int = 1,
        named: bool = False,
    ) -> list[str]:
        """Record that operations were refused for want of capacity; they get back what they were given.

        Args:
            tickets: those of the operations; none where they had none.
            places: where capacity was short.
            attempts: how many operations were refused.
            now: the time.
            size: how many operations travelled together.
            named: whether the refusal itself has named them.

        Returns:
            Those of the tables whose requests need tickets from now on, and did not until now.
        """
        admitted_at = min((each.admitted_at for each in tickets if each.admitted_at is not None), default=None)
        for ticket in tickets:
            self._queue.leave(ticket, now)
        new: list[str] = []
        for place in set(places):
            bucket = self.bucket(place, now)
            if named:
                bucket.named_at = now
            self._queue.refill(bucket, now)
            # Of a place that has no rate, who waited did so for the units of another one.
            free = bucket.pace.rate is None and place.table in self.governed
            bucket.refuse(attempts, None if free else admitted_at, now, size)
            self._look_at(place, bucket, now)
            if not bucket.open:
                new += self._govern(place.table)
            elif place.table in self.governed:
                self._let_go(place.table)
        return new

    def blamed(self, refused: Iterable[Request], spent: Mapping[TableOrIndex, float], now: float) -> list[TableOrIndex]:
        """Return where capacity was short, for requests that an answer left over without saying why.

        It was the table, where they write no entry in any index that is known, and otherwise the indexes: what these
        deliver bounds what such requests ask of the table, and whoever has no entry in them waits for nothing. Of
        several indexes it is the one that a refusal has named last, if that was lately, or what refusals have lowered.

        Args:
            refused: the requests.
            spent: the units that the answer reported.
            now: the time.
        """
        blamed: list[TableOrIndex] = []
        of_tables: dict[TableOrIndex, set[TableOrIndex]] = {}
        for request in refused:
            indexes = of_tables.setdefault(TableOrIndex(request.table, None, request.writes), set())
            if not request.writes:
                continue  # an item is read from its table
            unindexed = () if request.unindexed is None else request.unindexed()
            for each in (*self.buckets.get(request.table, ()), *spent):
                if each.table == request.table and each.writes and each.index_name not in unindexed:
                    indexes.add(each)
        for table, indexes in of_tables.items():
            indexes.discard(table)
            buckets = {each: self.bucket(each, now) for each in sorted(indexes)}
            named_at = max([bucket.named_at for bucket in buckets.values()], default=-math.inf)
            if now - named_at <= _NAMED_SECONDS:
                blamed += [each for each, bucket in buckets.items() if bucket.named_at == named_at]
            else:
                lowered = [each for each, bucket in buckets.items() if bucket.pace.lowered]
                blamed += lowered or buckets or [table]
        return blamed

    def is_waited_for(self, table: str) -> bool:
        """Return whether requests to a table wait; those to several tables are not looked at."""
        return self._queue.waits_with(table)

    def tables_waited_for(self) -> set[str]:
        """Return the tables whose units are waited for."""
        waited_for = self._queue.buckets()
        return {table for table, buckets in self.buckets.items() if not waited_for.isdisjoint(buckets.values())}

    def has_delivered(self, table: str) -> bool:
        """Return True if an answer ever reported units of a table."""
        return any(bucket.pace.delivered.at > -math.inf for bucket in self.buckets.get(table, {}).values())

    def idle(self, now: float, number: int) -> list[str]:
        """Return so many tables that may be forgotten, those that were idle longest first.

        There may be fewer: a table that is waited for, or paced and in use, may not.
        """
        waited_for = self.tables_waited_for()
        used: dict[str, float] = {}
        for table, buckets in self.buckets.items():
            at = max((each.used_at for each in buckets.values()), default=-math.inf)
            if table not in waited_for and not (table in self.governed and now - at < _IN_USE_SECONDS):
                used[table] = at
        return sorted(used, key=used.__getitem__)[:number]

    def forget(self, table: str) -> None:
        """Forget what was learned of a table; if it is used again, it is as one that was never met."""
        self.governed.discard(table)
        self._heat.forget(table)
        if self.buckets.pop(table, None) is not None:
            self._draws.clear()  # which are its buckets


def _taken(tickets: Iterable[Ticket], now: float) -> dict[TableOrIndex, float]:
    """Record that operations were carried out; return the units that they were given."""
    taken: dict[TableOrIndex, float] = {}
    for ticket in tickets:
        for place, units in ticket.estimate.units.items():
            taken[place] = taken.get(place, 0.0) + units
        for bucket, units in ticket.draws[len(ticket.estimate.units) :]:
            bucket.pace.served(units, 1, ticket.admitted_at, now)  # a partition's: no answer tells of it
        ticket.admitted_at = None
    return taken
