"""What reads and writes of equal items take, each, per second and in money per month. Pure arithmetic, exact."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from dynamap_async.dataclass import dataclass
from dynamap_async.units import (
    index_write_half_units,
    items_per_page,
    query_half_units,
    read_half_units,
    write_half_units,
)

HOURS: Final = 730
"""Hours of a month, the average that AWS's own calculator uses."""
_SECONDS: Final = HOURS * 3600
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of read units and of write units, in any currency."""

    read: Fraction
    write: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """Whole units per second to provision for a table or a global index."""

    name: str
    read: int
    write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityEstimate:
    """The input of an estimate, and the figures computed from it."""

    size_bytes: int
    old_size_bytes: int | None = None
    """The item before a write, if it differs."""
    items: int | None = None
    """Items that a read evaluates: a query, or in a transaction as many gets; None for a read by key."""
    consistent: bool = False
    transactional: bool = False
    index_sizes: tuple[int, ...] = ()
    """The size of the entry in each global index that a write changes."""
    reads_per_second: Fraction | None = None
    writes_per_second: Fraction | None = None
    on_demand: Prices | None = None
    """For a million units."""
    provisioned: Prices | None = None
    """For one unit, provisioned for an hour."""

    @property
    def consistency(self) -> str:
        """How reads are made: ``eventual``, ``consistent`` or ``transactional``."""
        return "transactional" if self.transactional else "consistent" if self.consistent else "eventual"

    @property
    def pages(self) -> int:
        """The requests of one read."""
        if self.transactional or self.items is None:
            return 1
        return -(-self.items // items_per_page(self.size_bytes))

    @property
    def read_units(self) -> Fraction:
        """Read units of one read."""
        if self.items is None or self.transactional:
            one = read_half_units(self.size_bytes, consistent=self.consistent, transactional=self.transactional)
            return Fraction(one * (1 if self.items is None else self.items), 2)
        return Fraction(query_half_units(self.size_bytes, self.items, consistent=self.consistent), 2)

    @property
    def table_write_units(self) -> Fraction:
        """Write units of one write on the table itself."""
        old = self.size_bytes if self.old_size_bytes is None else self.old_size_bytes
        return Fraction(write_half_units(self.size_bytes, old, transactional=self.transactional), 2)

    @property
    def index_write_units(self) -> tuple[Fraction, ...]:
        """Write units of one write on each index whose entry it changes."""
        return tuple(Fraction(index_write_half_units(size, size), 2) for size in self.index_sizes)

    @property
    def write_units(self) -> Fraction:
        """Write units of one write, indexes included."""
        return self.table_write_units + sum(self.index_write_units)

    @property
    def read_units_per_second(self) -> Fraction:
        """Read units of a second, 0 without a rate."""
        return (self.reads_per_second or Fraction()) * self.read_units

    @property
    def write_units_per_second(self) -> Fraction:
        """Write units of a second, indexes included, 0 without a rate."""
        return (self.writes_per_second or Fraction()) * self.write_units

    @property
    def has_rate(self) -> bool:
        """Whether it is known how often there are reads or writes."""
        return self.reads_per_second is not None or self.writes_per_second is not None

    @property
    def to_provision(self) -> tuple[Provisioned, ...]:
        """Whole units for the table and each index; each is provisioned with at least one of either kind."""
        rate = self.writes_per_second or Fraction()
        indexes = enumerate(self.index_write_units, 1)
        return (
            Provisioned(
                name="table", read=_whole(self.read_units_per_second), write=_whole(rate * self.table_write_units)
            ),
            *(Provisioned(name=f"index {number}", read=1, write=_whole(rate * units)) for number, units in indexes),
        )

    @property
    def on_demand_month(self) -> Prices | None:
        """Money for a month on demand."""
        if self.on_demand is None:
            return None
        millions = Fraction(_SECONDS, _MILLION)
        return Prices(
            read=self.read_units_per_second * millions * self.on_demand.read,
            write=self.write_units_per_second * millions * self.on_demand.write,
        )

    @property
    def provisioned_month(self) -> Prices | None:
        """Money for a month of what is to be provisioned."""
        if self.provisioned is None:
            return None
        return Prices(
            read=sum(each.read for each in self.to_provision) * HOURS * self.provisioned.read,
            write=sum(each.write for each in self.to_provision) * HOURS * self.provisioned.write,
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as one JSON object; what was not asked for is absent."""
        answer: dict[str, Any] = {
            "item_size_bytes": self.size_bytes,
            "read": {
                "consistency": self.consistency,
                "items": 1 if self.items is None else self.items,
                "requests": self.pages,
                "units": float(self.read_units),
            },
            "write": {
                "transactional": self.transactional,
                "units": float(self.write_units),
                "table_units": float(self.table_write_units),
                "index_units": [float(units) for units in self.index_write_units],
            },
        }
        if self.has_rate:
            answer["per_second"] = {
                "read_units": float(self.read_units_per_second),
                "write_units": float(self.write_units_per_second),
            }
            answer["to_provision"] = [
                {"name": each.name, "read_units": each.read, "write_units": each.write} for each in self.to_provision
            ]
        months = {"on_demand": self.on_demand_month, "provisioned": self.provisioned_month}
        money = {name: _money(month) for name, month in months.items() if month is not None}
        return answer | ({"month": {"hours": HOURS, **money}} if money else {})


def _whole(units: Fraction) -> int:
    return max(1, math.ceil(units))


def _money(month: Prices) -> Mapping[str, float]:
    sums = {"reads": month.read, "writes": month.write, "total": month.read + month.write}
    return {name: round(float(amount), 6) for name, amount in sums.items()}
