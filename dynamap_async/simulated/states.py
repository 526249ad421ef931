"""What tables and indexes are at, and when that changes: at once, unless the service is to take its time.

Nothing here waits. What is due by the clock happens when the next request comes, in the order of its own times.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.simulated.capacity import throttled
from dynamap_async.simulated.errors import Refused
from dynamap_async.simulated.store import Index, Store, Table
from dynamap_async.simulated.vector_index import VectorIndex

Draw: TypeAlias = Callable[[str, int, Random], float]
"""How long something takes: its kind, how often the table did it before, and what draws by chance."""

Stated: TypeAlias = Table | Index | VectorIndex
"""What has a status."""

OPERATIONS_AT_A_TIME: Final = 500
"""How many tables and indexes may be created, changed or deleted at a time.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
"""
WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_DOING: Final = {"CREATING": "created", "DELETING": "deleted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of the state of a table, an index or a replica."""

    at: float
    """When, in seconds since the first request."""
    table: str
    """The full table name."""
    index: str | None
    """The global index; None for the table itself."""
    before: str | None
    """Its status before; None where it was not there. An index that is filled is ``BACKFILLING``."""
    after: str | None
    """Its status from then on; None where it is gone."""
    region: str | None = None
    """The region of a replica; None for the table and its indexes."""


class States:
    """The changes that are under way on the tables of a service.

    Args:
        store: the tables.
        clock: what the time is, in seconds since the epoch.
        random: makes what draws for a purpose.
        elapsed: a time -> how many seconds after the first request that is.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        random: Callable[[str], Random],
        elapsed: Callable[[float], float],
    ) -> None:
        self._store = store
        self._clock = clock
        self._random = random
        self._elapsed = elapsed
        self._draw: Draw | None = None
        self.takes_time: bool = False
        """Whether changes take time; if not, they are over when they have begun."""
        self._now = 0.0
        self._due: list[tuple[float, int, Table, Callable[[], None]]] = []
        self._numbers = count()
        self._drawn: Counter[tuple[str, str]] = Counter()
        self._late: dict[str, tuple[float, dict[str, Any] | None]] = {}
        """Table -> until when its description is the one before, and that; None for a table that is not found yet."""
        self._filling: dict[tuple[str, str], tuple[float, float]] = {}
        """Provisioned index that is filled -> the write units that were left, and when."""
        self.log: list[Transition] = []

    def slow_down(self, draw: Draw) -> None:
        """Let all that is begun from now on take its time."""
        self._draw, self.takes_time = draw, True

    def catch_up(self) -> None:
        """Let happen what is due by now."""
        now = self._clock()
        self._catch_up(now)
        self._now = max(now, self._now)

    def _catch_up(self, now: float) -> None:
        if self._due and self._due[0][0] <= now:
            self._store.journal.note(partial(self._go_back, list(self._due)))
        while self._due and self._due[0][0] <= now:
            at, _number, table, happen = heappop(self._due)
            if self._store.tables.get(table.name) is table:  # it may have been forgotten
                self._now = at
                happen()

    def finish(self) -> None:
        """Let happen all that has begun."""
        self._catch_up(math.inf)

    def settle(self) -> None:
        """Let descriptions show what is there now."""
        self._late.clear()

    def _go_back(self, due: list[tuple[float, int, Table, Callable[[], None]]]) -> None:
        self._due = due

    def later(self, kind: str, table: Table, happen: Callable[[], None], after: float = 0.0) -> float:
        """Let something happen when the time that it takes is over, and return how long that is from now.

        Args:
            kind: the name of a duration.
            table: what it happens to.
            happen: does it.
            after: how many seconds from now it begins.
        """
        if self._draw is None:
            happen()
            return 0.0
        seconds = after + self.seconds(kind, table.name)
        self._store.journal.note(partial(self._go_back, list(self._due)))
        heappush(self._due, (self._now + seconds, next(self._numbers), table, happen))
        return seconds

    def until(self, table: Table) -> float:
        """Return when the last thing happens that is due on a table; the time now if there is none."""
        return max((at for at, _number, of, _happen in self._due if of is table), default=self._clock())

    def seconds(self, kind: str, table: str) -> float:
        """Draw how long something takes."""
        if self._draw is None:
            return 0.0
        number = self._drawn[table, kind]
        self._drawn[table, kind] += 1
        return self._draw(kind, number, self._random(f"{table}/{kind}/{number}"))

    def become(self, table: Table, status: str, *indexes: Stated) -> None:
        """Change the status of a table and of indexes of it."""
        for one in (table, *indexes):
            self.change(table, one, status)

    def change(self, table: Table, what: Stated, status: str) -> None:
        """Change the status of a table or of an index of it."""
        self._store.journal.note(partial(what.become, what.status))
        self.note(table, what, what.status, status)
        what.become(status)

    def note(
        self, table: Table, what: Stated | None, before: str | None, after: str | None, region: str | None = None
    ) -> None:
        """Log a change of a state."""
        if not self.takes_time:
            return
        before, after = (None if each is None else each.replace("ALLOCATING", "CREATING") for each in (before, after))
        index = None if what is None or what is table else what.name
        at = self._elapsed(self._now)
        self.log.append(Transition(at=at, table=table.name, index=index, before=before, after=after, region=region))

    def hide(self, table: Table, before: dict[str, Any] | None) -> None:
        """Show for a moment what was before, in place of a change that begins.

        Args:
            table: the table.
            before: its description; None for a table that is not found yet.
        """
        if not self.takes_time:
            return
        until, shown = self._late.get(table.name, (0.0, None))
        self._late[table.name] = (
            self._now + self.seconds("lag", table.name),
            shown if self._now < until else before,
        )

    def shown(self, table: Table, described: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the description of a table, or an older one.

        Raises:
            Refused: the table is not found yet.
        """
        until, before = self._late.get(table.name, (0.0, None))
        if self._now >= until:
            return described()
        if before is None:
            raise not_found(table.name)
        return before

    def create(self, kind: str, table: Table) -> None:
        """Add a table, which will be ACTIVE."""
        indexes = _apart(table)
        self._store.add(table)
        self._late.pop(table.name, None)  # of one that was forgotten
        self.hide(table, None)
        for one in (table, *indexes):
            one.become("CREATING")
            self.note(table, one, None, "CREATING")
        self.later(kind, table, partial(self.become, table, "ACTIVE", *indexes))

    def delete(self, table: Table, before: dict[str, Any]) -> None:
        """Let a table go."""
        indexes = _apart(table)
        self.hide(table, before)
        self.become(table, "DELETING", *indexes)
        self.later("delete_table", table, partial(self._forget, table, indexes))

    def _forget(self, table: Table, indexes: Iterable[Stated]) -> None:
        self._store.drop(table.name)
        for one in (*indexes, table):
            self.note(table, one, one.status, None)

    def update(self, table: Table, indexes: Iterable[Stated], before: dict[str, Any], done: Callable[[], None]) -> None:
        """Let a table and indexes of it be UPDATING until something is done."""
        indexes = tuple(indexes)
        self.hide(table, before)
        self.become(table, "UPDATING", *indexes)

        def end() -> None:
            done()
            self.become(table, "ACTIVE", *indexes)

        self.later("update_table", table, end)

    def build(self, table: Table, index: Index | VectorIndex, before: dict[str, Any]) -> None:
        """Let an index that was added be allocated, while the table is UPDATING, and then filled."""
        self.hide(table, before)
        index.become("ALLOCATING")
        self.note(table, index, None, "ALLOCATING")
        self.become(table, "UPDATING")

        def fill() -> None:
            self.change(table, index, "BACKFILLING")
            self.become(table, "ACTIVE")
            if self.takes_time:
                self._filling[table.name, index.name] = (float("inf"), self._now)

        def end() -> None:
            if index.status == "BACKFILLING":  # it may have been deleted while it was filled
                self.change(table, index, "ACTIVE")

        allocated = self.later("allocate_index", table, fill)
        self.later("backfill", table, end, allocated)

    def drop(self, table: Table, index: Index | VectorIndex, before: dict[str, Any], done: Callable[[], None]) -> None:
        """Let an index be DELETING, while the table is UPDATING, until it is taken away."""
        self.hide(table, before)
        self.change(table, index, "DELETING")
        self.become(table, "UPDATING")

        def end() -> None:
            done()
            self.note(table, index, index.status, None)
            self.become(table, "ACTIVE")

        self.later("delete_index", table, end)

    def refuse_busy(self, table: Table) -> None:
        """Refuse a change of a table that is being created, changed or deleted.

        Raises:
            Refused: it is.
        """
        if table.status != "ACTIVE":
            doing = _DOING.get(table.status, "updated")
            raise in_use(f"Table is being {doing}: {table.name}")

    def refuse_many(self) -> None:
        """Refuse a further change while as many are under way as may be.

        Raises:
            Refused: they are.
        """
        if not self.takes_time:
            return
        tables = self._store.tables.values()
        statuses = [one.status for table in tables for one in (table, *table.all_indexes)]
        if sum(status != "ACTIVE" for status in statuses) >= OPERATIONS_AT_A_TIME:
            raise limit(
                f"Only {OPERATIONS_AT_A_TIME} tables or indexes can be created, updated, or deleted simultaneously"
            )

    def refuse_writes(self, operation: str, body: dict[str, Any], arn: Callable[[str], str]) -> None:
        """Refuse a write that has no units left of an index that is filled, since the backfill takes half of them.

        Raises:
            Refused: there are too few.
        """
        if not self._filling or operation not in WRITES:
            return
        written = _written(body)
        for name, index in list(self._filling):
            table = self._store.tables.get(name)
            found = None if table is None else table.indexes.get(index)
            if table is None or found is None or found.status != "BACKFILLING":
                del self._filling[name, index]
                continue
            units = table.settings["Indexes"][index].get("ProvisionedThroughput")
            if units is None or name not in written:
                continue
            most = max(1.0, units["WriteCapacityUnits"] / 2)
            left, at = self._filling[name, index]
            left = min(most, left + units["WriteCapacityUnits"] / 2 * (self._now - at))
            is_short = left < min(written[name], most)
            self._filling[name, index] = (left if is_short else left - written[name], self._now)
            if is_short:
                reason = {
                    "reason": "IndexWriteProvisionedThroughputExceeded",
                    "resource": f"{arn(name)}/index/{index}",
                }
                raise throttled(table, [reason])


def _apart(table: Table) -> list[Index | VectorIndex]:
    """Return the indexes that have a status of their own."""
    return [index for index in table.all_indexes if not isinstance(index, Index) or index.is_global]


def _written(body: dict[str, Any]) -> Counter[str]:
    """Return how many items of which table a request writes."""
    if "RequestItems" in body:
        return Counter({name: len(writes) for name, writes in body["RequestItems"].items()})
    if "TransactItems" in body:
        return Counter(each["TableName"] for item in body["TransactItems"] for each in item.values())
    return Counter([body["TableName"]])


def not_found(table: str) -> Refused:
    """Return the refusal of a request about a table that does not exist, or not yet."""
    return Refused("ResourceNotFoundException", f"Requested resource not found: Table: {table} not found")


def in_use(what: str) -> Refused:
    """Return the refusal of a change while another one is under way."""
    return Refused("ResourceInUseException", f"Attempt to change a resource which is still in use: {what}")


def limit(what: str) -> Refused:
    """Return the refusal of what goes beyond a quota."""
    return Refused("LimitExceededException", f"Subscriber limit exceeded: {what}")
