"""The command ``dynamap schema``: what the models declare, as other tools write it. Nothing is sent."""

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import show, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import Period, ShowCode, goes_to_tables
from dynamap_async.cli.shown_code import Program

if TYPE_CHECKING:
    from dynamap_async.cli.tables.chosen import Chosen


class SchemaFormat(StrEnum):
    """The format in which tables are written."""

    CLOUDFORMATION = "cloudformation"
    TERRAFORM = "terraform"
    CDK = "cdk"
    DESCRIBE_TABLE = "describe-table"


@goes_to_tables(without=("region", "profile", "endpoint_url", "quiet"))
def schema(
    place: Place,
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", autocompletion=complete_models, help="Write only the tables of these models."),
    ] = None,
    written_as: Annotated[
        SchemaFormat, typer.Option("--format", metavar="FORMAT", help=f"One of: {', '.join(SchemaFormat)}.")
    ] = SchemaFormat.CLOUDFORMATION,
    period: Period = None,
    show_code: ShowCode = False,
) -> None:
    """Write the declared tables for other tools, such as Terraform.

    Nothing is sent.

    $ dynamap schema --format terraform > tables.tf
    """
    from dynamap_async.cli.tables.chosen import choose
    from dynamap_async.tables import declared_tables, to_cdk, to_cloudformation, to_description, to_terraform

    chosen = choose(place, names or [], period)
    if show_code:
        _show_program(place, chosen, written_as)
        return
    tables = declared_tables(
        *chosen.declared, table_prefix=place.prefix, table_names=place.table_names, period=chosen.period
    )
    if written_as in (SchemaFormat.CLOUDFORMATION, SchemaFormat.CDK):
        replicated = ", ".join(table.name for table in tables if table.settings.replicas)
        if replicated:
            tell(f"{replicated}: the replicas are left out, for {written_as} has another resource for tables with them")
    writers = {
        SchemaFormat.CLOUDFORMATION: to_cloudformation,
        SchemaFormat.TERRAFORM: to_terraform,
        SchemaFormat.CDK: to_cdk,
    }
    if written_as in writers:
        show(writers[written_as](*tables))
        return
    first, *others = tables
    if others:
        own = ", ".join(table.name for table in tables)
        raise CommandError(f"describe-table is for one table, and these are {own}; name one model", Status.USAGE)
    show(json.dumps(to_description(first), indent=2, ensure_ascii=False))


def _show_program(place: Place, chosen: "Chosen", written_as: SchemaFormat) -> None:
    from dynamap_async.tables import declared_tables

    program = Program(place)
    models = program.models(chosen.catalog, chosen.declared)
    named = {"table_prefix": place.prefix, "table_names": place.table_names or None, "period": chosen.period}
    program.call("tables = declared_tables(", declared_tables, models, named)
    if written_as is SchemaFormat.DESCRIBE_TABLE:
        program.use("json")
        writer, line = "to_description", "print(json.dumps(to_description(tables[0]), indent=2, ensure_ascii=False))"
    else:
        writer = f"to_{written_as}"
        line = f"print({writer}(*tables))"
    program.use("dynamap_async.tables", "declared_tables", writer)
    program.add(line)
    program.show_plain()
