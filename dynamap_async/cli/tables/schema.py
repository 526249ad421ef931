"""The command ``dynamap schema``: what the models declare, as other tools write it. Nothing is sent."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import show, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import Period, goes_to_tables


class SchemaFormat(StrEnum):
    """How tables are written."""

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
) -> None:
    """Write the declared tables for other tools, such as Terraform.

    Nothing is sent.

    $ dynamap schema --format terraform > tables.tf
    """
    from dynamap_async.cli.tables.chosen import choose
    from dynamap_async.tables import declared_tables, to_cdk, to_cloudformation, to_description, to_terraform

    chosen = choose(place, names or [], period)
    tables = declared_tables(
        *chosen.declared, table_prefix=place.prefix, table_names=place.table_names, period=chosen.period
    )
    if written_as in (SchemaFormat.CLOUDFORMATION, SchemaFormat.CDK):
        replicated = ", ".join(table.name for table in tables if table.settings.replicas)
        if replicated:
            tell(f"{replicated}: the replicas are left out, for {written_as} has another resource for tables with them")
    match written_as:
        case SchemaFormat.CLOUDFORMATION:
            show(to_cloudformation(*tables))
        case SchemaFormat.TERRAFORM:
            show(to_terraform(*tables))
        case SchemaFormat.CDK:
            show(to_cdk(*tables))
        case SchemaFormat.DESCRIBE_TABLE:
            first, *others = tables
            if others:
                own = ", ".join(table.name for table in tables)
                raise CommandError(
                    f"describe-table is for one table, and these are {own}; name one model", Status.USAGE
                )
            show(json.dumps(to_description(first), indent=2, ensure_ascii=False))
