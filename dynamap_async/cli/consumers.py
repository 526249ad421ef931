"""The command ``dynamap consumers``: who of a group has which shard, and how far it was handled."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dynamap_async.cli.confirmation import confirm
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import number_of, show, show_rows, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import AsJson, Yes, YesIn, goes_to_tables

if TYPE_CHECKING:
    from dynamap_async.session import Session
    from dynamap_async.streams.recorded import RecordedGroups, RecordedShard

_HEADINGS: Final = ("TABLE", "SHARD", "STATE", "HANDLED UP TO", "WORKER")


@goes_to_tables()
async def consumers(
    place: Place,
    *,
    group: Annotated[str, typer.Argument(metavar="GROUP", help="The name of the group.")],
    release: Annotated[
        bool, typer.Option("--release", help="Take all shards from their workers, so that others take them at once.")
    ] = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Forget what the group has done: it begins anew. No worker may run.")
    ] = False,
    yes: Yes = False,
    yes_in: YesIn = None,
    as_json: AsJson = False,
) -> None:
    """Print how far the workers of a group have handled changes.

    $ dynamap consumers search
    """
    from dynamap_async.cli.catalog import load_catalog, schema_of

    if release and reset:
        raise CommandError("--release and --reset cannot be combined; give one of them", Status.USAGE)
    declared = load_catalog(place.models, place.folder).all
    tables = sorted({place.names.full(schema_of(each).name) for each in declared})
    async with place.session() as session:
        groups = _groups(session)
        found = await _found(groups, group, tables)
        if not found:
            raise CommandError(f"there is no group {group!r} of these tables: {', '.join(tables)}", Status.FAILED)
        if release or reset:
            what = "Forget all that it has done" if reset else "Take all shards from its workers"
            confirm(place, f"{what}: {group} of {', '.join(found)}?", yes=yes, yes_in=yes_in)
            change = groups.reset if reset else groups.release
            number = sum([await change(group, table) for table in found])
            tell(f"{'Forgot' if reset else 'Freed'} {number_of(number, 'shard')}.")
            return
    if as_json:
        show(json.dumps({table: [_facts(each) for each in shards] for table, shards in found.items()}, indent=1))
        return
    show_rows(_HEADINGS, [_line(table, each) for table, shards in found.items() for each in shards])


def _groups(session: "Session") -> "RecordedGroups":
    from dynamap_async.session import runner_of
    from dynamap_async.streams.checkpoints import in_own_table
    from dynamap_async.streams.recorded import RecordedGroups

    runner = runner_of(session)
    return RecordedGroups(in_own_table(runner.executor, runner.context))


async def _found(groups: "RecordedGroups", group: str, tables: list[str]) -> "dict[str, list[RecordedShard]]":
    """Return the shards of the group, by the tables that have it."""
    from dynamap_async.errors import ResourceNotFoundError

    try:
        found = {table: await groups.shards(group, table) for table in tables}
    except ResourceNotFoundError:  # nobody has made the library's own table
        return {}
    return {table: shards for table, shards in found.items() if shards is not None}


def _line(table: str, shard: "RecordedShard") -> tuple[str, ...]:
    at = "-" if shard.at is None else f"{datetime.fromtimestamp(shard.at, UTC):%Y-%m-%d %H:%M:%S}"
    return (table, shard.shard_id, shard.state, at, shard.owner or "-")


def _facts(shard: "RecordedShard") -> dict[str, Any]:
    return {
        "shard_id": shard.shard_id,
        "state": shard.state,
        "owner": shard.owner,
        "position": shard.position,
        "at": shard.at,
    }
