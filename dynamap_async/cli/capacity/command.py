"""The command ``dynamap capacity``: its options, what is wrong with them, and the answer."""

import json
import math
from fractions import Fraction
from typing import Annotated, Final, NoReturn, TypeAlias

import typer

from dynamap_async.cli.capacity.estimate import CapacityEstimate, Prices
from dynamap_async.cli.extras import MissingExtraError
from dynamap_async.limits import TRANSACTION_ACTIONS

_ITEM: Final = "The item"
_READS: Final = "Reads and writes"
_RATES: Final = "Rates and prices"
_MOST: Final = 10**15
"""The largest rate, price or number of items: far beyond any table, and what follows is still a number."""

_Size: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="SIZE", rich_help_panel=_ITEM, help="Size of an item: bytes, or with a unit, as in 3.5KB."),
]
_File: TypeAlias = Annotated[
    typer.FileBinaryRead | None,
    typer.Option(metavar="FILE", rich_help_panel=_ITEM, help="An item to measure, in JSON; - for standard input."),
]
_OldSize: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", rich_help_panel=_ITEM, help="Size of the item before a write. The larger size is charged."
    ),
]
_Index: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SIZE",
        rich_help_panel=_ITEM,
        help="Size of the item in a global index that a write changes. Repeatable.",
    ),
]
_Items: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        rich_help_panel=_READS,
        help="A read is a query over N items, counting those that a filter drops.",
    ),
]
_Consistent: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--consistent/--eventual",
        rich_help_panel=_READS,
        help="Whether reads are strongly or eventually (the default) consistent.",
    ),
]
_Transactional: TypeAlias = Annotated[
    bool, typer.Option("--transactional", rich_help_panel=_READS, help="Reads and writes are parts of transactions.")
]
_ReadRate: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="RATE", min=0, rich_help_panel=_RATES, help="Reads per second: gets, or queries of --items."),
]
_WriteRate: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="RATE", min=0, rich_help_panel=_RATES, help="Puts, updates or deletes per second."),
]
_OnDemand: TypeAlias = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="READ WRITE",
        rich_help_panel=_RATES,
        help="Prices of a million read units and a million write units, for the cost of a month on demand.",
    ),
]
_Provisioned: TypeAlias = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="READ WRITE",
        rich_help_panel=_RATES,
        help="Prices of one read unit and one write unit for an hour, for the cost of a month of provisioned capacity.",
    ),
]
_Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def capacity(
    *,
    item_size: _Size = None,
    item: _File = None,
    old_size: _OldSize = None,
    index: _Index = None,
    items: _Items = None,
    consistent: _Consistent = False,
    transactional: _Transactional = False,
    reads_per_second: _ReadRate = None,
    writes_per_second: _WriteRate = None,
    on_demand: _OnDemand = None,
    provisioned: _Provisioned = None,
    as_json: _Json = False,
) -> None:
    """Compute what reads and writes of an item cost.

    It prints capacity units, and money for the prices that you give: AWS publishes them for each region. Nothing is
    sent. 1 KB is 1,024 bytes.

    $ dynamap capacity --item-size 3.5KB --index 200B --reads-per-second 100 --writes-per-second 10
    """
    if consistent and transactional:
        _refuse("--transactional", "transactional reads are always consistent; drop --consistent")
    size, source = _size(item_size, item)
    estimate = CapacityEstimate(
        size_bytes=size,
        old_size_bytes=None if old_size is None else _parsed("--old-size", old_size),
        items=items,
        consistent=consistent,
        transactional=transactional,
        index_sizes=tuple(_parsed("--index", each) for each in index or ()),
        reads_per_second=_rate("--reads-per-second", reads_per_second),
        writes_per_second=_rate("--writes-per-second", writes_per_second),
        on_demand=_prices("--on-demand", on_demand),
        provisioned=_prices("--provisioned", provisioned),
    )
    _check(estimate)
    if as_json:
        typer.echo(json.dumps(estimate.to_json()))
    else:
        _show(estimate, source)


def _check(estimate: CapacityEstimate) -> None:
    if estimate.transactional and (estimate.items or 0) > TRANSACTION_ACTIONS:
        _refuse("--items", f"a transaction reads at most {TRANSACTION_ACTIONS} items; ask for fewer at a time")
    if (estimate.items or 0) > _MOST:
        _refuse("--items", f"{_MOST:.0e} items is the largest number that can be estimated")
    largest = max(estimate.size_bytes, estimate.old_size_bytes or 0)
    for size in estimate.index_sizes:
        if size > largest:
            _refuse("--index", f"an index holds at most the whole item, {largest:,} bytes, so {size:,} is too large")
    if (estimate.on_demand or estimate.provisioned) and not estimate.has_rate:
        option = "--on-demand" if estimate.on_demand else "--provisioned"
        _refuse(option, "a month needs a rate: add --reads-per-second or --writes-per-second")


def _size(text: str | None, file: typer.FileBinaryRead | None) -> tuple[int, str | None]:
    if text is not None and file is not None:
        _refuse("--item", "--item-size already says how large the item is; drop one of the two")
    if text is not None:
        return _parsed("--item-size", text), None
    if file is None:
        _refuse("--item-size", "give the size of an item: --item-size 3.5KB, or --item FILE to measure one")
    try:
        from dynamap_async.cli.capacity.sizes import measure

        return measure(file.read())
    except ValueError as error:
        _refuse("--item", str(error))


def _parsed(option: str, text: str) -> int:
    try:
        from dynamap_async.cli.capacity.sizes import parse_size

        return parse_size(text)
    except ValueError as error:
        _refuse(option, str(error))


def _rate(option: str, rate: float | None) -> Fraction | None:
    if rate is None:
        return None
    if not math.isfinite(rate):
        _refuse(option, f"{rate} is not a rate; give a number, 0 or more")
    if rate > _MOST:
        _refuse(option, f"{rate:g} is too high; give a rate of at most {_MOST:.0e}")
    return Fraction(repr(rate))  # as it was typed: 0.1 is a tenth


def _prices(option: str, prices: tuple[float, float] | None) -> Prices | None:
    if prices is None:
        return None
    if not all(math.isfinite(price) and price >= 0 for price in prices):
        _refuse(option, "a price is a number, 0 or more; give the price of reads, then the price of writes")
    if max(prices) > _MOST:
        _refuse(option, f"{max(prices):g} is too high; give a price of at most {_MOST:.0e}")
    read, write = (Fraction(repr(price)) for price in prices)
    return Prices(read=read, write=write)


def _show(estimate: CapacityEstimate, source: str | None) -> None:
    try:
        from rich.console import Console

        from dynamap_async.cli.capacity.screen import show
    except ModuleNotFoundError as error:
        typer.echo(str(MissingExtraError.of(error)), err=True)
        raise typer.Exit(2) from error
    show(Console(highlight=False, markup=False), estimate, source)


def _refuse(option: str, problem: str) -> NoReturn:
    raise typer.BadParameter(problem, param_hint=option)
