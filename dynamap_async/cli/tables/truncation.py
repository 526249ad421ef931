"""The command ``dynamap truncate``: all items of one table deleted."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.confirmation import confirm
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.loop import run
from dynamap_async.cli.output import TimedLines, number_of, show, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import (
    AsJson,
    MaxWriteUnits,
    Period,
    ShowCode,
    Timeout,
    Yes,
    YesIn,
    goes_to_tables,
)
from dynamap_async.cli.shown_code import Program

if TYPE_CHECKING:
    from dynamap_async.cli.tables.chosen import Chosen
    from dynamap_async.tables import Truncation


@goes_to_tables(interrupted="Interrupted: what is deleted stays so. Run it again, and it goes on with the rest.")
def truncate(
    place: Place,
    *,
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", autocompletion=complete_models, help="The model, or the variable of a table."),
    ],
    force: Annotated[
        bool,
        typer.Option("--force", help="Also if the table is protected against deletion; it stays protected."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the requests, one on each line, and delete nothing.")
    ] = False,
    max_write_units: MaxWriteUnits = None,
    timeout: Timeout = None,
    period: Period = None,
    yes: Yes = False,
    yes_in: YesIn = None,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Delete all items of a table; the table stays.

    The items of all models that share the table are deleted. You can stop the command and run it again for the rest.
    Other requests go first.

    $ dynamap truncate Order
    """
    from dynamap_async.cli.tables.chosen import choose, described

    chosen = choose(place, [model], period)
    if show_code:
        bounds = {"max_write_units": max_write_units, "timeout": timeout}
        _show_program(place, chosen, bounds, {"force": force, "period": chosen.period})
        return
    found = run(described(place, chosen))
    name = found.schema.name
    if dry_run:
        from dynamap_async.tables.truncation import scan_of

        show(f"Scan {json.dumps(scan_of(found.schema).request(None).body)}")
        show("# BatchWriteItem for each 25 items that are read, with a DeleteRequest for each")
        return
    if found.is_protected and not force:
        raise CommandError(f"{name} is protected against deletion: add --force", Status.REFUSED)
    models = ", ".join(chosen.catalog.name(each) for each in chosen.declared)
    tell(
        f"{name} has about {number_of(found.item_count, 'item')}, as of the last six hours. Each takes a write unit or "
        "more; deleting the table and making it again takes none"
    )
    confirm(place, f"Delete all items of {name} ({models}) in {place}?", yes=yes, yes_in=yes_in)
    done = run(_delete_all(place, chosen, force=force, max_write_units=max_write_units, seconds=timeout))
    if as_json:
        facts = {"table": done.table, "items": done.items}
        show(json.dumps({**facts, "read_units": done.read_units, "write_units": done.write_units}, indent=1))
    else:
        show(f"{done.table}: {number_of(done.items, 'item')} deleted")


def _show_program(place: Place, chosen: "Chosen", bounds: dict[str, Any], named: dict[str, Any]) -> None:
    from dynamap_async.session import Session
    from dynamap_async.tables import Tables

    program = Program(place)
    models = program.models(chosen.catalog, chosen.declared[:1])
    program.use("dynamap_async", "Priority")
    scope = ['"truncate"', "priority=Priority.BACKGROUND"]
    program.call("async with session.scope(", Session.scope, scope, bounds, "):")
    program.call("    done = await session.tables.truncate(", Tables.truncate, models, named)
    program.add("print(done.table, done.items)")
    program.show()


async def _delete_all(
    place: Place, chosen: "Chosen", *, force: bool, max_write_units: float | None, seconds: float | None
) -> "Truncation":
    from dynamap_async.config import Priority
    from dynamap_async.errors import CapacityBudgetExceededError, ScopeTimeoutError

    deleted, lines = 0, TimedLines()

    def watch(items: int) -> None:
        nonlocal deleted
        deleted = items
        lines.tell(f"{number_of(items, 'item')} deleted")

    async with place.session() as session:
        try:
            async with session.scope(
                "dynamap truncate", priority=Priority.BACKGROUND, max_write_units=max_write_units, timeout=seconds
            ):
                return await session.tables.truncate(chosen.declared[0], force=force, watch=watch, period=chosen.period)
        except (CapacityBudgetExceededError, ScopeTimeoutError) as error:
            over = "the time is over" if isinstance(error, ScopeTimeoutError) else "the units are spent"
            raise CommandError(
                f"{number_of(deleted, 'item')} deleted, and {over}; run it again for the rest", Status.UNFINISHED
            ) from error
