"""The command ``dynamap check-index``: which items an index leaves out, or would leave out."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynamap_async.cli.completion import complete_indexes
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import number_of, show, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import goes_to_tables

if TYPE_CHECKING:
    from dynamap_async.cli.catalog import Catalog
    from dynamap_async.models import Index


@goes_to_tables()
async def check_index(
    place: Place,
    *,
    index: Annotated[
        str,
        typer.Argument(
            metavar="MODEL.INDEX",
            autocompletion=complete_indexes,
            help="The index, by its attribute or by its name in DynamoDB.",
        ),
    ],
    max_read_units: Annotated[
        float | None,
        typer.Option(metavar="UNITS", min=1, help="Read units to spend; the last page may exceed it."),
    ] = None,
    period: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The period of a model with one table per period.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False,
) -> None:
    """Count the items that an index leaves out, or would leave out if it were added. It reads the whole table.

    It ends with status 3 if there are items whose value has another type than the index's key, is empty, or is too
    long. Items without the attribute are counted too; they are no fault.

    [dim]dynamap check-index Order.by_status[/dim]
    """
    from dynamap_async.cli.tables.chosen import choose
    from dynamap_async.config import Priority

    name, _, own = index.rpartition(".")
    if not name:
        raise CommandError(f"{index!r} names no index; write the model and the index: Order.by_status", Status.USAGE)
    chosen = choose(place, [name], period)
    meant = _index(chosen.catalog, name, own)
    async with place.session() as session, session.scope("check-index", priority=Priority.BACKGROUND):
        report = await session.tables.check_index(meant, max_read_units=max_read_units, period=chosen.period)
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
    tell(f"{report.items:,} items read for {report.read_units:,.1f} read units{part}")
    if report.violations:
        raise typer.Exit(Status.DIFFERENT)


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
