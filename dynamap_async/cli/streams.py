"""The commands ``dynamap tail`` and ``dynamap streams``: the changes of items, and the streams that tell them."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import number_of, show, show_rows, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import AsJson, ShowCode, goes_to_tables
from dynamap_async.cli.shown_code import Program

if TYPE_CHECKING:
    from dynamap_async.models import Model
    from dynamap_async.streams import ItemChange, StreamDescription

_AGO: Final = re.compile(r"([0-9]+)([smhd])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_HEADINGS: Final = ("TABLE", "STREAM", "STATUS", "VIEW", "SHARDS", "MODELS")
_LONGEST: Final = 60
"""How many characters of a value are printed."""


@goes_to_tables(only_reads=True, interrupted="Stopped.")
async def tail(
    place: Place,
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", autocompletion=complete_models, help="A model, or the variable that holds a Table."
        ),
    ],
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Begin so long ago (30s, 10m, 2h, 1d), at a time, or with the oldest."
        ),
    ] = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End when nothing new comes.")] = False,
    show_code: ShowCode = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print a JSON object in a line for each change."),
    ] = False,
) -> None:
    """Print the changes of a table's items as they are made.

    The table needs a stream: TableSettings(stream="new-and-old"). It tells the changes of the last 24 hours.

    $ dynamap tail Order --from 10m
    """
    from dynamap_async.cli.catalog import load_catalog
    from dynamap_async.models import Table

    catalog = load_catalog(place.models, place.folder)
    found = catalog.find(model)
    models: tuple[type[Model], ...] = (*found.models.values(),) if isinstance(found, Table) else (found,)
    if not models:
        raise CommandError(f"{model} is a table without models; import those that share it", Status.USAGE)
    start = _start(since)
    if show_code:
        from dynamap_async.session import Session

        program = Program(place)
        names = program.models(catalog, models)
        named = {"start": start, "until_idle": until_idle}
        program.call("async with session.changes(", Session.changes, names, named, ") as changes:")
        program.add("    async for change in changes:", "        print(change.at, change.event, change.key)")
        program.show()
        return
    told = _as_json if as_json else _as_text
    options: dict[str, Any] = {"idle_seconds": 0.25} if until_idle else {}
    async with (
        place.session() as session,
        session.changes(
            *models, unknown="keep", start=start, on_gap="oldest", until_idle=until_idle, **options
        ) as changes,
    ):
        async for change in changes:
            show(told(change))


def _start(since: str | None) -> str | datetime:
    """Return what ``--from`` says."""
    if since is None:
        return "latest"
    if since == "oldest":
        return since
    if (ago := _AGO.fullmatch(since)) is not None:
        return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        at = datetime.fromisoformat(since)
    except ValueError:
        raise CommandError(
            f"--from {since}: write how long ago, as 30s, 10m, 2h or 1d, a time such as 2026-01-31T12:00Z, or oldest",
            Status.USAGE,
        ) from None
    return at.astimezone() if at.tzinfo is None else at


def _as_text(change: "ItemChange[Any]") -> str:
    at = "-" if change.at is None else f"{change.at:%Y-%m-%d %H:%M:%S}"
    key = ", ".join(f"{name}={_shown(value)}" for name, value in change.key.items())
    name = "" if change.model is None else f" {change.model.__name__}"
    expired = " (expired)" if change.expired else ""
    return " ".join((f"{at} {change.event:<6}{name} {key}{expired}", *_differences(change)))


def _differences(change: "ItemChange[Any]") -> Iterator[str]:
    """Yield the old and the new value of each field that differs, as far as the stream tells them."""
    from dynamap_async.models import definition_of

    record: Mapping[str, Any] = change.wire_record["dynamodb"]
    old, new = record.get("OldImage"), record.get("NewImage")
    names = {} if change.model is None else definition_of(change.model).field_names
    if old is None or new is None:
        image: Mapping[str, Any] = old or new or {}
        for name in image:
            if name not in record["Keys"]:
                yield f"{names.get(name, name)}={_of_wire(image, name)}"
        return
    stored = {field: name for name, field in names.items()}
    for field in sorted(change.changed):
        name = stored.get(field, field)
        yield f"{field}={_of_wire(old, name)} -> {_of_wire(new, name)}"


def _of_wire(image: Mapping[str, Any], name: str) -> str:
    from dynamap_async.codec import decode_any

    return _shown(decode_any(image[name])) if name in image else "nothing"


def _shown(value: Any) -> str:
    from decimal import Decimal

    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _as_json(change: "ItemChange[Any]") -> str:
    record = change.wire_record["dynamodb"]
    facts = {
        "at": None if change.at is None else change.at.isoformat(),
        "event": change.event,
        "model": None if change.model is None else change.model.__name__,
        "key": record["Keys"],
        "old": record.get("OldImage"),
        "new": record.get("NewImage"),
        "expired": change.expired,
        "event_id": change.event_id,
        "shard_id": change.shard_id,
        "sequence_number": change.sequence_number,
    }
    return json.dumps(facts)


@goes_to_tables(only_reads=True)
async def streams(place: Place, *, show_code: ShowCode = False, as_json: AsJson = False) -> None:
    """List the streams that tell the changes of the tables' items.

    Those among them that were turned off can be read for 24 hours more.
    """
    from dynamap_async.cli.catalog import Catalog, load_catalog
    from dynamap_async.tables.declared import owners_of

    if show_code:
        program = Program(place)
        program.add("for stream in await session.tables.streams():", "    print(stream.table, stream.arn)")
        program.show()
        return
    catalog = load_catalog(place.models, place.folder) if place.models else Catalog(())
    async with place.session() as session:
        found = await session.tables.streams()
    owners = owners_of(catalog.all, [*{each.table: None for each in found}], place.names)
    models = {table: [*map(catalog.name, own)] for table, own in owners.items()}
    if as_json:
        show(json.dumps({"streams": [_facts(each, models[each.table]) for each in found]}, indent=1))
        return
    if found:
        show_rows(_HEADINGS, [_line(each, models[each.table]) for each in found])
    tell(number_of(len(found), "stream"))


def _line(stream: "StreamDescription", models: list[str]) -> tuple[str, ...]:
    status = "on" if stream.enabled else "off"
    return (stream.table, stream.label, status, stream.view, str(len(stream.shards)), ", ".join(models) or "-")


def _facts(stream: "StreamDescription", models: list[str]) -> dict[str, Any]:
    return {
        "table": stream.table,
        "arn": stream.arn,
        "enabled": stream.enabled,
        "view": stream.view,
        "shards": len(stream.shards),
        "models": models,
    }
