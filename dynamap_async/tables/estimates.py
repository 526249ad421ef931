"""Estimates of building indexes on tables that have items, as values that can be printed and kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError

GB_BYTES: int = 2**30
"""The bytes of what AWS calls a gigabyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPrices:
    """Prices of building an index, in any currency. None are built in: AWS publishes them by region."""

    write_million: float
    """The price of a million write units."""
    storage_gb_month: float = 0.0
    """The price of a gigabyte that is stored for a month."""

    def __post_init__(self) -> None:
        for name in ("write_million", "storage_gb_month"):
            price: object = getattr(self, name)
            if not isinstance(price, int | float) or not 0 <= price < float("inf"):
                raise OperationError(f"{name}={price!r} is not a price; give a number, 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildEstimate:
    """An estimate of building an index, or several, from a sample of items."""

    entries: int
    """How many items the index will hold."""
    write_units: float
    """What filling it takes of the index's own write units; nothing is taken of the table's."""
    storage_bytes: int
    """What it stores, with the 100 bytes that DynamoDB counts for each entry."""
    least_seconds: float | None
    """How long filling it takes at least; None for on-demand indexes, whose rate nobody says."""
    sampled_items: int
    """How many items the estimate goes by."""
    is_complete: bool
    """Whether these were all items of the table."""
    price: float | None = None
    """What filling it costs; None without prices."""
    price_per_month: float | None = None
    """What storing it costs a month; None without prices."""

    @classmethod
    def sum_of(cls, tables: Iterable[Iterable[BuildEstimate]]) -> Self | None:
        """Return the sum of several estimates; None for none.

        Args:
            tables: the indexes of each table: those of one are built one after the other, tables side by side.
        """
        by_table = [[*each] for each in tables]
        every = [each for own in by_table for each in own]
        if not every:
            return None
        times = [sum(each.least_seconds or 0.0 for each in own) for own in by_table]
        prices = [each.price for each in every if each.price is not None]
        months = [each.price_per_month for each in every if each.price_per_month is not None]
        return cls(
            entries=sum(each.entries for each in every),
            write_units=sum(each.write_units for each in every),
            storage_bytes=sum(each.storage_bytes for each in every),
            least_seconds=max(times) if any(each.least_seconds is not None for each in every) else None,
            sampled_items=sum(each.sampled_items for each in every),
            is_complete=all(each.is_complete for each in every),
            price=sum(prices) if prices else None,
            price_per_month=sum(months) if months else None,
        )

    def __str__(self) -> str:
        entries = f"{self.entries:,} {'entry' if self.entries == 1 else 'entries'}"
        units = f"{self.write_units:,.0f} write {'unit' if self.write_units == 1 else 'units'}"
        told = [entries, units, _size(self.storage_bytes)]
        if self.least_seconds is not None:
            told.append(f"at least {duration(self.least_seconds)}")
        if self.price is not None:
            told.append(f"costs {self.price:,.2f}, and {self.price_per_month or 0.0:,.2f} a month")
        if not self.is_complete:
            told.append(f"going by {self.sampled_items:,} items")
        return ", ".join(told)


def duration(seconds: float) -> str:
    """Return a duration in words.

    Args:
        seconds: the time.
    """
    whole = round(seconds)
    if whole < 1:
        return f"{seconds * 1000:.0f} ms"
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def _size(count: int) -> str:
    for unit, name in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count} B"
