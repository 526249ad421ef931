"""The command ``dynamap check-index``: which items an index leaves out, or would leave out."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dynamap_async.cli.completion import complete_indexes
from dynamap_async.cli.confirmation import confirm_reading
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.loop import run
from dynamap_async.cli.output import number_of, show, tell, units_of
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import AsJson, Period, ShowCode, TimeoutOfReading, goes_to_tables, in_time
from dynamap_async.cli.shown_code import Program

if TYPE_CHECKING:
    from dynamap_async.cli.catalog import Catalog
    from dynamap_async.cli.tables.chosen import Chosen
    from dynamap_async.models import Index
    from dynamap_async.tables import IndexReport

_BYTES_PER_UNIT: Final = 8192
"""The bytes that a read unit reads with eventual consistency."""


@goes_to_tables()
def check_index(
    place: Place,
    *,
    index: Annotated[
        str,
        typer.Argument(
            metavar="MODEL.INDEX",
            autocompletion=complete_indexes,
            help="The index, by its attribute or its name in DynamoDB.",
        ),
    ],
    max_read_units: Annotated[
        float | None,
        typer.Option(
            metavar="UNITS",
            min=1,
            help="Stop after this many read units; the last page may exceed it. Default: that of the configuration.",
        ),
    ] = None,
    period: Period = None,
    timeout: TimeoutOfReading = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before many items are read.")] = False,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Count the items that an index leaves out, by reason.

    It works before and after the index is added, and reads the whole table. It asks first if that takes 1,000 read
    units or more. The exit status is 3 if a value has the wrong type, is empty or is too long. Items without the
    attribute are counted too; they are no fault.

    $ dynamap check-index Order.by_status
    """
    from dynamap_async.cli.tables.chosen import choose, described

    name, _, own = index.rpartition(".")
    if not name:
        raise CommandError(
            f"{index!r} does not name an index; write the model and the index, such as Order.by_status", Status.USAGE
        )
    chosen = choose(place, [name], period)
    meant = _index(chosen.catalog, name, own)
    most = place.max_read_units if max_read_units is None else max_read_units
    if show_code:
        _program(place, chosen, name, own, {"max_read_units": most, "period": chosen.period}).show()
        return
    if not yes:
        found = run(in_time(described(place, chosen), timeout))
        units = found.size_bytes / _BYTES_PER_UNIT
        confirm_reading(found.schema.name, found.item_count, min(units, most or units))
    report = run(in_time(_checked(place, chosen, meant, most), timeout))
    if as_json:
        facts = {"table": report.table, "index": report.index, "items": report.items, "fits": report.fits}
        counts = {
            "left_out": dict(report.left_out),
            "examples": {why: [*keys] for why, keys in report.examples.items()},
        }
        show(
            json.dumps(
                {**facts, **counts, "read_units": report.read_units, "is_complete": report.is_complete}, indent=1
            )
        )
    else:
        show(f"{report.index} of {report.table}: {number_of(report.fits, 'item')} of {report.items:,} fit")
        for why, count in report.left_out.items():
            keys = "" if why == "absent" else ": " + ", ".join(map(_key, report.examples[why]))
            show(f"  {why:<10}  {count:,}{keys}")
    part = "" if report.is_complete else ", a part of the table: the units are spent"
    tell(f"{number_of(report.items, 'item')} read for {units_of(report.read_units, 'read')}{part}")
    if report.violations:
        raise typer.Exit(Status.DIFFERENT)


def _program(place: Place, chosen: "Chosen", name: str, own: str, named: dict[str, Any]) -> Program:
    """Return a program that checks an index."""
    from dynamap_async.models import Index, Table
    from dynamap_async.tables import Tables

    program, found = Program(place), chosen.catalog.find(name)
    [declared] = program.models(chosen.catalog, [found])
    if isinstance(found, Table):
        index = f"{declared}.index({program.code(own)})"
    elif isinstance(getattr(found, own, None), Index):
        index = f"{declared}.{own}"
    else:
        program.use("dynamap_async", "Index")
        index = f"Index({declared}, {program.code(own)})"
    program.use("dynamap_async", "Priority")
    program.add('async with session.scope("check-index", priority=Priority.BACKGROUND):')
    program.call("    report = await session.tables.check_index(", Tables.check_index, [index], named)
    program.add("print(report)")
    return program


async def _checked(place: Place, chosen: "Chosen", index: "Index[Any]", most: float | None) -> "IndexReport":
    from dynamap_async.config import Priority

    async with place.session() as session, session.scope("check-index", priority=Priority.BACKGROUND):
        return await session.tables.check_index(index, max_read_units=most, period=chosen.period)


def _index(catalog: "Catalog", name: str, own: str) -> "Index[Any]":
    from dynamap_async.cli.catalog import schema_of
    from dynamap_async.models import Index, Table

    declared = catalog.find(name)
    attribute: Any = getattr(declared, own, None)
    wanted: str = attribute.name if isinstance(attribute, Index) else own
    names = [each.name for each in schema_of(declared).indexes]
    if wanted not in names:
        raise CommandError(f"{name} has no index {own!r}; it has {', '.join(names) or 'none'}", Status.USAGE)
    return declared.index(wanted) if isinstance(declared, Table) else Index(declared, wanted)


def _key(key: Any) -> str:
    return " ".join(str(next(iter(value.values()))) for value in key.values())
