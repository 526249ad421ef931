"""The command ``dynamap migrate``: what is to run once, run by one process at a time."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynamap_async.cli.confirmation import confirm
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import TimedLines, number_of, plain_number, show, show_rows, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import AsJson, ShowCode, Timeout, Yes, YesIn, goes_to_tables, in_time
from dynamap_async.cli.shown_code import Program
from dynamap_async.errors import LeaseLostError, LeaseTakenError, OperationError

if TYPE_CHECKING:
    from dynamap_async.migrations import DeclaredMigration, Migrations, MigrationStatus


@goes_to_tables(without=("models",), interrupted="Interrupted: run it again, and it goes on where it has come to.")
async def migrate(  # noqa: PLR0913 - each is an option
    place: Place,
    *,
    migrations: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE", help="The package of migrations, or a file. Default: that of the configuration file."
        ),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Print the state of each migration, and run nothing.")
    ] = False,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print what would run, and run nothing. Exit with status 3 if anything would."),
    ] = False,
    redo: Annotated[
        str | None, typer.Option(metavar="ID", help="Run this one from its beginning, even if it ran before.")
    ] = None,
    mark: Annotated[str | None, typer.Option(metavar="ID", help="Record that this one need not run.")] = None,
    undo: Annotated[str | None, typer.Option(metavar="ID", help="Undo this one with its undo function.")] = None,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="If another process runs migrations, say so and exit with status 4.")
    ] = False,
    timeout: Timeout = None,  # noqa: ASYNC109 - an option
    yes: Yes = False,
    yes_in: YesIn = None,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Run the migrations that have not run yet, each once.

    They run in the order of their ids. While another process runs migrations, this one waits.

    $ dynamap migrate --plan
    """
    _check_one(status=status, plan=plan, redo=redo, mark=mark, undo=undo)
    name = _named(place, migrations)
    declared = _declared(place, name)
    if show_code:
        _show_program(place, name, status=status, plan=plan, redo=redo, mark=mark, undo=undo, wait=not no_wait)
        return
    from dynamap_async.migrations import Migrations

    lines = TimedLines()
    async with place.session() as session:
        runner = Migrations(
            session,
            declared,
            wait=not no_wait,
            waiting_for=lambda holder: tell(f"Waiting: {holder} runs migrations."),
            progress=lambda run: lines.tell(f"{run.id}: {run.items:,} items"),
        )
        known = await in_time(runner.status(), timeout, status=Status.UNFINISHED)
        _warn_of_changed(known)
        left = [each for each in known if not each.is_over]
        if status or plan:
            _show(left if plan else known, as_json=as_json)
            if plan and left:
                raise typer.Exit(Status.DIFFERENT)
        elif left or redo or mark or undo:
            confirm(place, _question(place, left, redo=redo, mark=mark, undo=undo), yes=yes, yes_in=yes_in)
            work = _carry_out(runner, redo=redo, mark=mark, undo=undo)
            again = "run it again, and it goes on where it has come to"
            _show(await in_time(work, timeout, told=again, status=Status.UNFINISHED), as_json=as_json)
        else:
            _show((), as_json=as_json)


async def _carry_out(
    runner: "Migrations", *, redo: str | None, mark: str | None, undo: str | None
) -> "Sequence[MigrationStatus]":
    try:
        if redo is not None:
            return [await runner.redo(redo)]
        if mark is not None:
            return [await runner.mark(mark)]
        return await runner.run() if undo is None else [await runner.undo(undo)]
    except LeaseTakenError as error:
        raise CommandError(str(error), Status.REFUSED) from error
    except LeaseLostError as error:
        raise CommandError(str(error), Status.UNFINISHED) from error
    except OperationError as error:
        raise CommandError(str(error), Status.USAGE) from error


def _warn_of_changed(known: "Sequence[MigrationStatus]") -> None:
    for each in known:
        if each.changed:
            tell(f"Warning: the source of {each.id} has changed since it ran.")


def _check_one(**given: Any) -> None:
    named = [f"--{name}" for name, value in given.items() if value]
    if len(named) > 1:
        raise CommandError(f"{' and '.join(named)} cannot be combined; give one of them", Status.USAGE)


def _show_program(
    place: Place,
    name: str,
    *,
    status: bool,
    plan: bool,
    redo: str | None,
    mark: str | None,
    undo: str | None,
    wait: bool,
) -> None:
    from dynamap_async.migrations import Migrations

    program = Program(place)
    # Those of the models too, so that every table that the configuration names is known.
    module = program.modules((*place.models, name))[-1]
    program.use("dynamap_async.migrations", "Migrations", "find_migrations")
    given = ["session", f"find_migrations({module})"]
    program.call("migrations = Migrations(", Migrations, given, {"wait": wait})
    for verb, one in (("redo", redo), ("mark", mark), ("undo", undo)):
        if one is not None:
            program.add(f"print(await migrations.{verb}({program.code(one)}))")
            break
    else:
        program.add(f"for status in await migrations.{'status' if status or plan else 'run'}():")
        program.add(*(["    if not status.is_over:", "        print(status)"] if plan else ["    print(status)"]))
    program.show()


def _named(place: Place, given: str | None) -> str:
    name = given or place.configuration.migrations
    if name is None:
        raise CommandError(
            "no package with migrations is given; write migrations = 'shop.migrations' in dynamap.toml, or under "
            "[tool.dynamap] in pyproject.toml, or add --migrations shop.migrations",
            Status.USAGE,
        )
    return name


def _declared(place: Place, name: str) -> "tuple[DeclaredMigration, ...]":
    from dynamap_async.cli.catalog import load_module, refuse
    from dynamap_async.migrations import find_migrations

    for each in place.models:  # so that every table that the configuration names is known
        load_module(each, place.folder)
    module = load_module(name, place.folder)
    try:
        found = find_migrations(module)
    except OperationError as error:
        raise CommandError(str(error), Status.USAGE) from error
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module of the package may raise anything
        refuse(name, error)
    if not found:
        raise CommandError(
            f"{name} has no migration; declare one as async def f(session, run), marked @migration('2026-11-...')",
            Status.USAGE,
        )
    return found


def _question(
    place: Place, left: "Sequence[MigrationStatus]", *, redo: str | None, mark: str | None, undo: str | None
) -> str:
    if redo is not None:
        return f"Run {redo} from its beginning in {place}?"
    if mark is not None:
        return f"Record in {place} that {mark} need not run?"
    if undo is not None:
        return f"Take {undo} back in {place}?"
    return f"Run {number_of(len(left), 'migration')} in {place}: {', '.join(each.id for each in left)}?"


def _show(given: "Sequence[MigrationStatus]", *, as_json: bool) -> None:
    if as_json:
        show(json.dumps({"migrations": [_as_json(each) for each in given]}, indent=1))
    elif given:
        show_rows(("ID", "STATE", "ENDED", "ITEMS", "READ", "WRITE", "BY"), [_line(each) for each in given])
        for each in given:
            if each.state == "failed":
                tell(f"{each.id}: {each.error}")
    else:
        show("Nothing is to run.")


def _line(status: "MigrationStatus") -> tuple[str, ...]:
    ended = "" if status.ended is None else f"{status.ended:%Y-%m-%d %H:%M}"
    units = (plain_number(status.read_units), plain_number(status.write_units)) if status.begun else ("", "")
    items = f"{sum(status.items.values()):,}" if status.items else ""
    return (status.id, f"{status.state}{' (changed)' if status.changed else ''}", ended, items, *units, status.by or "")


def _as_json(status: "MigrationStatus") -> dict[str, Any]:
    times = {
        name: None if value is None else value.isoformat()
        for name, value in (("begun", status.begun), ("ended", status.ended))
    }
    names = ("id", "state", "changed", "by", "library_version", "read_units", "write_units", "error")
    return {name: getattr(status, name) for name in names} | times | {"items": dict(status.items)}
