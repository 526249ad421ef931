"""The commands ``dynamap tables`` and ``dynamap describe``: what is there, and whose it is."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import compact, number_of, show, show_rows, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import AsJson, Period, ShowCode, goes_to_tables
from dynamap_async.cli.shown_code import Program
from dynamap_async.errors import AccessDeniedError, ResourceNotFoundError

if TYPE_CHECKING:
    from dynamap_async.cli.tables.chosen import Chosen
    from dynamap_async.schema import KeySchema
    from dynamap_async.session import Session
    from dynamap_async.tables import TableDescription

_HEADINGS: Final = ("TABLE", "STATUS", "BILLING", "ITEMS", "SIZE", "INDEXES", "MODELS")


@goes_to_tables(only_reads=True)
async def tables(
    place: Place,
    *,
    every: Annotated[bool, typer.Option("--all", help="Also list tables without the table prefix.")] = False,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """List the tables that exist, and the models of each.

    DynamoDB updates the item counts and the sizes about every six hours.
    """
    from dynamap_async.cli.catalog import Catalog, load_catalog, periods_of, schema_of
    from dynamap_async.tables.declared import owners_of

    if show_code:
        program = Program(place)
        program.add("for name in await session.tables.names():")
        program.add("    found = await session.tables.describe_name(name)")
        program.add("    print(name, found.status, found.billing, found.item_count, found.size_bytes)")
        program.show(full_names=every)
        return
    catalog = load_catalog(place.models, place.folder) if place.models else Catalog(())
    async with place.session(full_names=every) as session:
        names = await session.tables.names()
        # One request for each, sent together: DynamoDB lists names alone.
        described = await session.gather(*[_described(session, name) for name in names])
    found = dict(zip(names, described, strict=True))
    owners = owners_of(catalog.all, names, place.names)
    models = {name: [*map(catalog.name, own)] for name, own in owners.items()}
    if as_json:
        show(json.dumps({"tables": [_facts(name, each, models[name]) for name, each in found.items()]}, indent=1))
        return
    if names:
        show_rows(_HEADINGS, [_line(name, each, models[name]) for name, each in found.items()])
    hidden = f" with the prefix {place.prefix}; --all lists the others, too" if place.prefix and not every else ""
    tell(f"{number_of(len(names), 'table')}{hidden}")
    # Nothing says which tables of a model with one for each period should be there.
    declared = (place.names.full(schema_of(each).name) for each in catalog.all if periods_of(each) is None)
    if missing := [name for name in dict.fromkeys(declared) if name not in found]:
        tell(f"declared, and not there: {', '.join(missing)}; `dynamap plan` shows what would make them")


@goes_to_tables(only_reads=True)
async def describe(
    place: Place,
    *,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL", autocompletion=complete_models, help="A model, or the variable that holds a Table."
        ),
    ] = None,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show this table instead, by its name in DynamoDB.")
    ] = None,
    period: Period = None,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Show one table, and how it differs from its models."""
    if (model is None) == (table is None):
        raise CommandError("name a table: `dynamap describe MODEL`, or `dynamap describe --table NAME`", Status.USAGE)
    if model is None:
        if show_code:
            program = Program(place)
            program.add(f"print(await session.tables.describe_name({program.code(table)}))")
            program.show(full_names=True)
            return
        async with place.session(full_names=True) as session:
            named = await session.tables.describe_name(table or "")
        show(json.dumps(_everything(named), indent=1) if as_json else "\n".join(lines_of(named)))
        return
    from dynamap_async.cli.tables.chosen import choose

    chosen = choose(place, [model], period)
    if show_code:
        _show_program(place, chosen)
        return
    async with place.session() as session:
        # The plan finds the differences; without sampled pages it reads no item.
        made = await session.tables.plan(*chosen.declared, sample_pages=0, period=chosen.period)
        [name, *_] = made.seen
        found = await session.tables.describe_name(name) if made.seen[name] else None
    models = [chosen.catalog.name(each) for each in chosen.declared]
    if as_json:
        told: dict[str, Any] = {"name": name, "status": None} if found is None else _everything(found)
        differences = [
            {"index": step.index, "kind": step.kind, "found": step.before, "declared": step.after}
            for step in made.steps
        ]
        differing = {"models": models, "differences": differences, "not_managed": list(made.not_managed)}
        show(json.dumps(told | differing, indent=1))
        return
    if found is None:
        show(f"{name}: not there\n{made}")
        return
    show("\n".join([*lines_of(found), f"models      {', '.join(models)}"]))
    show(f"drift       {'none' if made.is_empty else number_of(len(made.steps), 'difference')}")
    if not made.is_empty or made.not_managed:
        show(str(made))


def _show_program(place: Place, chosen: "Chosen") -> None:
    from dynamap_async.tables import Tables

    program, named = Program(place), {"period": chosen.period}
    models = program.models(chosen.catalog, chosen.declared)
    program.call("found = await session.tables.describe(", Tables.describe, models[:1], named)
    program.call("plan = await session.tables.plan(", Tables.plan, models, {"sample_pages": 0, **named})
    program.add("print(found)", "print(plan)")
    program.show()


async def _described(session: "Session", name: str) -> "TableDescription | None":
    """Return DynamoDB's description of a table; None if access is denied, or the table was just deleted."""
    try:
        return await session.tables.describe_name(name)
    except (AccessDeniedError, ResourceNotFoundError):
        return None


def _line(name: str, found: "TableDescription | None", owners: Sequence[str]) -> tuple[str, ...]:
    models = ", ".join(owners) or "-"
    if found is None:
        return name, "unknown", "-", "-", "-", "-", models
    indexes = str(len(found.schema.indexes))
    return name, found.status, found.billing, f"{found.item_count:,}", compact(found.size_bytes), indexes, models


def _facts(name: str, found: "TableDescription | None", owners: Sequence[str]) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "models": owners, "status": None if found is None else found.status}
    if found is not None:
        indexes = [index.name for index in found.schema.indexes]
        told |= {"billing": found.billing, "items": found.item_count, "bytes": found.size_bytes, "indexes": indexes}
    return told


def _everything(found: "TableDescription") -> dict[str, Any]:
    """Return all facts about a table, for JSON."""
    schema, settings = found.schema, found.settings
    indexes = [
        {
            "name": index.name,
            "kind": index.kind.value,
            "key": _key(index.keys),
            "projection": [index.projection.type, *index.projection.attributes],
            "status": found.index_statuses.get(index.name, found.status),
        }
        for index in schema.indexes
    ]
    units = schema.throughput
    return {
        "name": schema.name,
        "status": found.status,
        "billing": found.billing,
        "throughput": None if units is None else {"read": units.read, "write": units.write},
        "key": _key(schema.keys),
        "indexes": indexes,
        "items": found.item_count,
        "bytes": found.size_bytes,
        "time_to_live": {"status": found.ttl_status, "attribute": schema.ttl_attribute},
        "deletion_protection": found.is_protected,
        "stream": settings.stream,
        "table_class": settings.table_class,
        "kms_key": None if settings.encryption is None else settings.encryption.kms_key,
        "maximum": {"read": _bound(found.on_demand.max_read), "write": _bound(found.on_demand.max_write)},
        "replicas": [{"region": each.region, "status": each.status} for each in found.replicas],
        "others": list(found.others),
        "created": None if found.created_at is None else found.created_at.isoformat(),
    }


def lines_of(found: "TableDescription") -> Iterator[str]:
    """Yield the lines that describe a table."""
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
    yield from _setting_lines(found)
    if found.created_at is not None:
        yield f"created     {found.created_at:%Y-%m-%d %H:%M:%S} UTC"


def _setting_lines(found: "TableDescription") -> Iterator[str]:
    """Yield a line for each setting that differs from DynamoDB's default."""
    settings = found.settings
    limits = {"table": found.on_demand} | {each.name: each.on_demand for each in found.schema.global_indexes}
    for where, own in limits.items() if found.billing == "on-demand" else ():
        most = {} if own is None else {"read": _bound(own.max_read), "write": _bound(own.max_write)}
        told = " and ".join(f"{units:,} {name}" for name, units in most.items() if units is not None)
        if told:
            yield f"maximum     {where}: {told} units a second"
    if settings.stream != "off":
        yield f"stream      {settings.stream or 'an unknown view'}"
    if settings.table_class not in (None, "standard"):
        yield f"class       {settings.table_class}"
    if settings.encryption is not None and settings.encryption.kms_key is not None:
        yield f"encryption  {settings.encryption.kms_key}"
    for replica in found.replicas:
        progress = "" if replica.progress_percent is None else f", {replica.progress_percent:g} %"
        yield f"replica     {replica.region}: {replica.status}{progress}"
    for other in found.others:
        yield f"other       {other}"


def _bound(units: int | None) -> int | None:
    return units if units is not None and units > 0 else None


def _key(keys: "KeySchema") -> str:
    return ", ".join(f"{each.name} ({each.type})" for each in keys.attributes)
