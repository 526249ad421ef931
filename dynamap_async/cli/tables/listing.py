"""The commands ``dynamap tables`` and ``dynamap describe``: what is there, and whose it is."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import compact, number_of, show, table_of, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import goes_to_tables
from dynamap_async.errors import AccessDeniedError, ResourceNotFoundError

if TYPE_CHECKING:
    from dynamap_async.schema import KeySchema
    from dynamap_async.session import Session
    from dynamap_async.tables import TableDescription

_HEADINGS: Final = ("TABLE", "STATUS", "BILLING", "ITEMS", "SIZE", "INDEXES", "MODELS")


@goes_to_tables()
async def tables(
    place: Place,
    *,
    every: Annotated[bool, typer.Option("--all", help="Those without the table prefix, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False,
) -> None:
    """List the tables that are there, and the models that they belong to.

    DynamoDB brings the numbers of items and the sizes up to date about every six hours.
    """
    owners = _Owners(place)
    async with place.session(full_names=every) as session:
        names = await session.tables.names()
        described = await session.gather(*[_described(session, name) for name in names])
    found = dict(zip(names, described, strict=True))
    if as_json:
        show(json.dumps({"tables": [_facts(name, each, owners) for name, each in found.items()]}, indent=1))
        return
    if names:
        show(table_of(_HEADINGS, [_line(name, each, owners) for name, each in found.items()]))
    hidden = f" with the prefix {place.prefix}; --all lists the others, too" if place.prefix and not every else ""
    tell(f"{number_of(len(names), 'table')}{hidden}")
    if missing := [name for name in owners.tables if name not in found]:
        tell(f"declared, and not there: {', '.join(missing)}; `dynamap plan` shows what would make them")


@goes_to_tables()
async def describe(
    place: Place,
    *,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", autocompletion=complete_models, help="The model, or the variable of a table."),
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Any table instead, by its name in DynamoDB.")
    ] = None,
    period: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The period of a model with one table per period.")
    ] = None,
) -> None:
    """Show one table: keys, indexes, settings, and in what it differs from the models."""
    if (model is None) == (table is None):
        raise CommandError("say which: `dynamap describe MODEL`, or `dynamap describe --table NAME`", Status.USAGE)
    if model is None:
        async with place.session(full_names=True) as session:
            show("\n".join(_lines(await session.tables.describe_name(table or ""))))
        return
    from dynamap_async.cli.tables.chosen import choose

    chosen = choose(place, [model], period)
    async with place.session() as session:
        made = await session.tables.plan(*chosen.declared, sample_pages=0, period=chosen.period)
        [name, *_] = made.seen
        if not made.seen[name]:
            show(f"{name}: not there\n{made}")
            return
        found = await session.tables.describe_name(name)
    named = ", ".join(chosen.catalog.name(each) for each in chosen.declared)
    show("\n".join([*_lines(found), f"models      {named}"]))
    show(f"drift       {'none' if made.is_empty else number_of(len(made.steps), 'difference')}")
    if not made.is_empty or made.not_managed:
        show(str(made))


class _Owners:
    """Which models each table belongs to."""

    def __init__(self, place: Place) -> None:
        """Look at what the user's modules declare; without any, no table belongs to a model."""
        self.tables: dict[str, list[str]] = {}
        self._periodical: list[tuple[Any, str]] = []
        self._names = place.names
        if not place.models:
            return
        from dynamap_async.cli.catalog import load_catalog, periods_of, schema_of

        catalog = load_catalog(place.models, place.folder)
        for each in catalog.all:
            periods, name = periods_of(each), catalog.name(each)
            if periods is None:
                self.tables.setdefault(self._names.full(schema_of(each).name), []).append(name)
            else:
                self._periodical.append((periods, name))

    def of(self, table: str) -> list[str]:
        """Return the names of the models that a table belongs to."""
        own = self._names.declared(table)
        by_period = [name for periods, name in self._periodical if own is not None and periods.has(own)]
        return [*self.tables.get(table, ()), *by_period]


async def _described(session: "Session", name: str) -> "TableDescription | None":
    """Return what DynamoDB says of a table; None where it denies it, or the table has just gone."""
    try:
        return await session.tables.describe_name(name)
    except (AccessDeniedError, ResourceNotFoundError):
        return None


def _line(name: str, found: "TableDescription | None", owners: _Owners) -> tuple[str, ...]:
    models = ", ".join(owners.of(name)) or "-"
    if found is None:
        return name, "unknown", "-", "-", "-", "-", models
    indexes = str(len(found.schema.indexes))
    return name, found.status, found.billing, f"{found.item_count:,}", compact(found.size_bytes), indexes, models


def _facts(name: str, found: "TableDescription | None", owners: _Owners) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "models": owners.of(name), "status": None if found is None else found.status}
    if found is not None:
        indexes = [index.name for index in found.schema.indexes]
        told |= {"billing": found.billing, "items": found.item_count, "bytes": found.size_bytes, "indexes": indexes}
    return told


def _lines(found: "TableDescription") -> Iterator[str]:
    schema = found.schema
    units = schema.throughput
    billed = f"{units.read:,} read and {units.write:,} write units" if units is not None else found.billing
    yield f"table       {schema.name}, {found.status}, {billed}"
    yield f"key         {_key(schema.keys)}"
    for index in schema.indexes:
        held = " ".join([index.projection.type, *index.projection.attributes])
        status = found.index_statuses.get(index.name, found.status)
        yield f"index       {index.name}: {_key(index.keys)}, {held}, {index.kind.value}, {status}"
    yield f"items       {found.item_count:,}, {compact(found.size_bytes)}, as of the last six hours"
    expiry = f"{found.ttl_status}{' on ' + schema.ttl_attribute if schema.ttl_attribute else ''}"
    yield f"expiry      {expiry if found.ttl_status else 'unknown'}"
    yield f"protection  {'on' if found.is_protected else 'off'}"
    if found.created_at is not None:
        yield f"created     {found.created_at:%Y-%m-%d %H:%M:%S} UTC"


def _key(keys: "KeySchema") -> str:
    return ", ".join(f"{each.name} ({each.type})" for each in keys.attributes)
