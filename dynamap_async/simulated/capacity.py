"""Refuses what tables and indexes have no units for, in the service's words.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/throttling-diagnosing-workflow.html
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dynamap_async.limits import WARM_READ_UNITS, WARM_WRITE_UNITS
from dynamap_async.simulated.errors import Throttled
from dynamap_async.simulated.store import Change, Index, Position, Table
from dynamap_async.simulated.supplies import Capacity, Kind, Rate, Refusal, Supply
from dynamap_async.units import Charge, write_half_units

_REMEMBERED: Final = 10_000
"""How many refusals are kept."""
_LEAST_READ: Final = 0.5
_WARM: Final[Mapping[Kind, int]] = {"Read": WARM_READ_UNITS, "Write": WARM_WRITE_UNITS}
_UNITS: Final = "ProvisionedThroughput"
_MOST: Final = "OnDemandThroughput"
_WARMED: Final = "WarmThroughput"
_PROVISIONED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)
_PROVISIONED_INDEX = (
    "The level of configured provisioned throughput for one or more global secondary indexes of the table was "
    "exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with "
    "the UpdateTable API."
)
_ON_DEMAND = (
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or "
    "index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html."
)
_ON_DEMAND_INDEX = (
    "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is automatically "
    "scaling your index so please try again shortly."
)
_MAXIMUM = "Throughput exceeds the maximum OnDemandThroughput configured on table or index"

Reason: TypeAlias = dict[str, str]
"""A throttling reason, as errors have them."""
Take: TypeAlias = tuple[Supply, Position, float]
"""Units that an item wants of one place."""
Wanted: TypeAlias = tuple[Table, Position, Charge, Change | None]
"""The table and place of an item, what it takes, and what a write does to indexes. That is None for reads, and where a
condition fails: then the indexes are not touched."""
Hear: TypeAlias = Callable[[Position, list[Reason], Kind, float], None]
"""Is told of an item that was tried: where it is, why it was refused, and the kind and number of units that it took."""


def throttled(table: Table, reasons: list[Reason]) -> Throttled:
    """Return the refusal of a request to a table."""
    on_demand, reason = is_on_demand(table), reasons[0]["reason"]
    if reason.endswith("MaxOnDemandThroughputExceeded"):
        text = _MAXIMUM
    elif reason.startswith("Index"):
        text = _ON_DEMAND_INDEX if on_demand else _PROVISIONED_INDEX
    else:
        text = _ON_DEMAND if on_demand else _PROVISIONED
    return Throttled(text, reasons, on_demand=on_demand)


def is_on_demand(table: Table) -> bool:
    """Return whether a table has no provisioned units."""
    return bool(table.settings["BillingMode"] == "PAY_PER_REQUEST")


class Throttle:
    """Gives out the units of tables and global indexes, and refuses what they do not have.

    Args:
        capacity: by which rules.
        clock: what the time is, in seconds.
        arn: the name of a table -> its ARN.
        elapsed: a time -> how many seconds after the first request that is.
    """

    def __init__(
        self,
        capacity: Capacity,
        clock: Callable[[], float],
        arn: Callable[[str], str],
        elapsed: Callable[[float], float],
    ) -> None:
        self._capacity = capacity
        self._clock = clock
        self._arn = arn
        self._elapsed = elapsed
        self.refusals: deque[Refusal] = deque(maxlen=_REMEMBERED)
        """The last ones."""
        self.hear: Hear | None = None
        """Is told of each item that was tried."""

    def take(self, kind: Kind, table: Table, position: Position, charge: Charge, change: Change | None = None) -> None:
        """Take what one item wants of its table and of the indexes, or nothing.

        Args:
            kind: ``Read`` or ``Write``.
            table: the table.
            position: where the item stands.
            charge: what it takes.
            change: what a write does to indexes; None if nothing.

        Raises:
            Throttled: one of them has too few units.
        """
        takes = self._takes(table, position, charge, change)
        reasons = self._sell(kind, takes, self._clock())
        if self.hear is not None:
            self.hear(position, reasons, kind, 0.0 if reasons else charge.units)
        if reasons:
            raise throttled(table, reasons)

    def take_together(self, kind: Kind, wanted: Sequence[Wanted | None]) -> list[Throttled | None]:
        """Take what several items want, or nothing.

        Args:
            kind: ``Read`` or ``Write``.
            wanted: one for each item; None for what wants nothing.

        Returns:
            For each item, why it was refused.
        """
        now = self._clock()
        takes = [[] if each is None else self._takes(*each) for each in wanted]
        reasons = [self._sell(kind, each, now) for each in takes]
        first = next(filter(None, reasons), None)
        if first is not None:
            for why, taken in zip(reasons, takes, strict=True):
                self._give_back(kind, [] if why else taken, now)
        refused: list[Throttled | None] = []
        for each, why in zip(wanted, reasons, strict=True):
            refused.append(throttled(each[0], why) if each is not None and why else None)
            if self.hear is not None and each is not None:
                self.hear(each[1], why or first or [], kind, each[2].units if first is None else 0.0)
        return refused

    def _sell(self, kind: Kind, takes: list[Take], now: float) -> list[Reason]:
        """Take all, or return why nothing was taken."""
        reasons: list[Reason] = []
        taken: list[Take] = []
        for take in takes:
            supply, position, units = take
            why = supply.take(kind, position, units, now)
            if why is None:
                taken.append(take)
            else:
                reasons.append(self._refused(supply, why, units, now))
        if reasons:
            self._give_back(kind, taken, now)
        return reasons

    def _give_back(self, kind: Kind, taken: list[Take], now: float) -> None:
        for supply, position, units in taken:
            supply.adjust(kind, position, -units, now)

    def _takes(self, table: Table, position: Position, charge: Charge, change: Change | None) -> list[Take]:
        own = charge.table_halves
        takes: list[Take] = []
        for each in change.indexes if change is not None else ():
            halves = charge.index_halves.get(each.index.name)
            if not halves:
                continue
            if not each.index.is_global:
                own += halves
                continue
            supply = self.supply(table, each.index)
            if each.was is not None and each.now is not None and each.moved:
                first = write_half_units(each.old.size if each.old else 0)
                takes += [(supply, each.was, first / 2), (supply, each.now, (halves - first) / 2)]
            else:
                takes.append((supply, each.now or each.was or position, halves / 2))
        return [(self.supply(table), position, own / 2), *takes]

    def begin_page(self, table: Table, index: Index | None, position: Position) -> None:
        """Refuse to read a page where there is nothing to begin with.

        Args:
            table: the table.
            index: the index that is read, if it is one.
            position: where the page begins.

        Raises:
            Throttled: there are too few units.
        """
        supply, now = self.supply(table, index), self._clock()
        why = supply.take("Read", position, _LEAST_READ, now)
        if why is None:
            supply.adjust("Read", position, -_LEAST_READ, now)
            return
        reasons = [self._refused(supply, why, _LEAST_READ, now)]
        if self.hear is not None:
            self.hear(position, reasons, "Read", 0.0)
        raise throttled(table, reasons)

    def end_page(self, table: Table, index: Index | None, position: Position, charge: Charge) -> None:
        """Take what a page takes. That is known when it has been read, so it may leave a debt."""
        now = self._clock()
        if charge.table_halves:
            self.supply(table).adjust("Read", position, charge.table_halves / 2, now)
        for halves in charge.index_halves.values():
            self.supply(table, index).adjust("Read", position, halves / 2, now)
        if self.hear is not None:
            self.hear(position, [], "Read", charge.units)

    def spend(self, tables: Iterable[Table]) -> None:
        """Drop what tables and their indexes have saved."""
        now = self._clock()
        for table in tables:
            for place in (None, *table.indexes.values()):
                self.supply(table, place).spend(now)

    def follow(self, table: Table) -> None:
        """Let what a table, and its indexes, may take from now on be what its settings say."""
        for place in (None, *table.indexes.values()):
            self.supply(table, place)

    def supply(self, table: Table, index: Index | None = None) -> Supply:
        """Return what a table, or one of its indexes, may take. A local index takes what its table has."""
        place: Table | Index = index if index is not None and index.is_global else table
        given: dict[str, Any] = table.settings if place is table else table.settings["Indexes"][place.name]
        units, most, warm = given.get(_UNITS), given.get(_MOST), given.get(_WARMED)
        supply = place.supply
        if supply is not None:
            seen = supply.seen
            if seen[0] is units and seen[1] is most and seen[2] is warm:
                return supply
        now = self._clock()
        if supply is None:
            is_table = place is table
            name, arn = (None if is_table else place.name), self._arn(table.name)
            together = not place.range if not is_table else any(not each.is_global for each in table.indexes.values())
            supply = Supply(
                self._capacity, table.name, name, f"{arn}/index/{name}" if name else arn, now, keeps_together=together
            )
            place.have(supply)
        on_demand = is_on_demand(table)
        read, write = (self._rate(kind, given, on_demand=on_demand) for kind in _WARM)
        supply.provision(read, write, now, (units, most, warm))
        return supply

    def _rate(self, kind: Kind, given: dict[str, Any], *, on_demand: bool) -> Rate:
        beyond = "MaxOnDemandThroughputExceeded" if on_demand else "ProvisionedThroughputExceeded"
        warm: dict[str, int] = given.get(_WARMED) or {}
        most: dict[str, int] = given.get(_MOST) or {}
        units = self._capacity.units
        if units is None and not on_demand:
            units = given[_UNITS][f"{kind}CapacityUnits"]
        elif units is None and (declared := most.get(f"Max{kind}RequestUnits", -1)) > 0:
            units = declared
        return Rate(units, beyond, warm.get(f"{kind}UnitsPerSecond", _WARM[kind] if on_demand else 0))

    def _refused(self, supply: Supply, why: str, units: float, now: float) -> Reason:
        self.refusals.append(Refusal(self._elapsed(now), supply.table, supply.index, why, units))
        return {"reason": why, "resource": supply.arn}
