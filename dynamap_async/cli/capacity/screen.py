"""What ``dynamap capacity`` shows on a terminal or in a file."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dynamap_async.cli.capacity.estimate import HOURS, CapacityEstimate, Prices

_GAP: Final = 3
_READS: Final = {
    "eventual": "eventually consistent",
    "consistent": "strongly consistent",
    "transactional": "transactional",
}


def show(console: Console, estimate: CapacityEstimate, source: str | None) -> None:
    """Print an estimate.

    Args:
        source: how the item was read, if it was.
    """
    read = f", read as {source}" if source else ""
    console.print(Text(f"An item of {_number_of(estimate.size_bytes, 'byte')}{read}", style="bold"))
    console.print()
    _units(console, estimate)
    for title, month in (
        ("On demand", estimate.on_demand_month),
        ("Provisioned", estimate.provisioned_month),
    ):
        if month is not None:
            console.print()
            console.print(Text(f"{title}, a month of {HOURS} hours", style="bold"))
            _month(console, month)


def _units(console: Console, estimate: CapacityEstimate) -> None:
    rates = estimate.has_rate
    headings = ["", "units", *(["per second"] if rates else [])]
    table = _table(*headings)
    for label, units, rate in _lines(estimate):
        per_second = [_number(units * (rate or Fraction()))] if rates else []
        table.add_row(label, _number(units), *per_second)
    console.print(Padding(table, (0, 0, 0, 2), expand=False))
    if rates:
        console.print()
        console.print(Text("To provision, in units per second", style="bold"))
        whole = _table("", "read", "write")
        for each in estimate.to_provision:
            whole.add_row(each.name, f"{each.read:,}", f"{each.write:,}")
        console.print(Padding(whole, (0, 0, 0, 2), expand=False))


def _lines(estimate: CapacityEstimate) -> Iterator[tuple[str, Fraction, Fraction | None]]:
    kind = _READS[estimate.consistency]
    if estimate.items is None:
        label = f"Read, {kind}"
    elif estimate.transactional:
        label = f"Read of {_number_of(estimate.items, 'item')}, {kind}"
    else:
        items, requests = _number_of(estimate.items, "item"), _number_of(estimate.pages, "request")
        label = f"Query over {items}, {kind}, {requests}"
    yield label, estimate.read_units, estimate.reads_per_second
    kind = "Write, transactional" if estimate.transactional else "Write"
    yield kind, estimate.write_units, estimate.writes_per_second
    if estimate.index_sizes:
        yield "  of which the table", estimate.table_write_units, estimate.writes_per_second
        entries = zip(estimate.index_sizes, estimate.index_write_units, strict=True)
        for number, (size, units) in enumerate(entries, 1):
            yield f"  index {number}, {_number_of(size, 'byte')}", units, estimate.writes_per_second


def _month(console: Console, month: Prices) -> None:
    table = Table.grid(padding=(0, _GAP))
    table.add_column()
    table.add_column(justify="right")
    for label, amount in (("reads", month.read), ("writes", month.write), ("together", month.read + month.write)):
        table.add_row(label, _cents(amount))
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _table(*headings: str) -> Table:
    table = Table.grid(padding=(0, _GAP))
    for number, _heading in enumerate(headings):
        table.add_column(justify="right" if number else "left")
    table.add_row(*(Text(heading, style="dim") for heading in headings))
    return table


def _number(units: Fraction) -> str:
    return f"{float(units):,.10g}" if units < 10**9 else f"{float(units):,.0f}"


def _cents(amount: Fraction) -> str:
    cents = math.floor(amount * 100 + Fraction(1, 2))  # half a cent is rounded up, as a reader would
    return f"{cents // 100:,}.{cents % 100:02}"


def _number_of(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
