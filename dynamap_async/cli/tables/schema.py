"""The command ``dynamap schema``: what the models declare, as other tools write it. Nothing is sent."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import show
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import goes_to_tables


class SchemaFormat(StrEnum):
    """How tables are written."""

    CLOUDFORMATION = "cloudformation"
    TERRAFORM = "terraform"
    DESCRIBE_TABLE = "describe-table"


@goes_to_tables(without=("region", "profile", "endpoint_url", "quiet"))
def schema(
    place: Place,
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", autocompletion=complete_models, help="Only the tables of these models."),
    ] = None,
    written_as: Annotated[
        SchemaFormat, typer.Option("--format", metavar="FORMAT", help=f"One of {', '.join(SchemaFormat)}.")
    ] = SchemaFormat.CLOUDFORMATION,
    period: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The period of models with one table per period.")
    ] = None,
) -> None:
    """Write the tables that the models declare for tools that make infrastructure. Nothing is sent.

    [dim]dynamap schema --format terraform > tables.tf[/dim]
    """
    from dynamap_async.cli.tables.chosen import choose
    from dynamap_async.tables import declared_tables, to_cloudformation, to_description, to_terraform

    chosen = choose(place, names or [], period)
    tables = declared_tables(
        *chosen.declared, table_prefix=place.prefix, table_names=place.table_names, period=chosen.period
    )
    match written_as:
        case SchemaFormat.CLOUDFORMATION:
            show(to_cloudformation(*tables))
        case SchemaFormat.TERRAFORM:
            show(to_terraform(*tables))
        case SchemaFormat.DESCRIBE_TABLE:
            first, *others = tables
            if others:
                own = ", ".join(table.name for table in tables)
                raise CommandError(f"describe-table is of one table, and these are {own}: name a model", Status.USAGE)
            show(json.dumps(to_description(first), indent=2, ensure_ascii=False))
