"""The command ``dynamap upgrade``: all stored items of a model brought to its present version."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.confirmation import confirm
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.loop import run
from dynamap_async.cli.output import TimedLines, show, tell, units_of
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import AsJson, MaxWriteUnits, ShowCode, Timeout, Yes, YesIn, goes_to_tables
from dynamap_async.cli.shown_code import Program

if TYPE_CHECKING:
    from dynamap_async.cli.catalog import Catalog
    from dynamap_async.models import Model
    from dynamap_async.session import UpgradePass, UpgradeReport


@goes_to_tables(interrupted="Interrupted: what is upgraded stays so. Run it again, and it goes on with the rest.")
def upgrade(  # noqa: PLR0913 - each is an option
    place: Place,
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", autocompletion=complete_models, help="The model's name.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be written, and write nothing.")] = False,
    segments: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many parts of the table to read at a time.")
    ] = 8,
    page_size: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many items to read with one request. Default: up to 1 MB."),
    ] = None,
    max_failures: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop after this many items that cannot be upgraded.")
    ] = None,
    max_write_units: MaxWriteUnits = None,
    timeout: Timeout = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the progress in this file, and continue from it.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Save the progress in the library's table under this name, and continue from it."
        ),
    ] = None,
    skip_expired: Annotated[
        bool, typer.Option("--skip-expired", help="Leave items as they are whose time to live has passed.")
    ] = False,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Do not count the items that are left at the end.")
    ] = False,
    yes: Yes = False,
    yes_in: YesIn = None,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Upgrade all stored items of a model to its present version.

    It can run while the table is in use, and be stopped at any time. Run it again, and it writes only the rest.

    $ dynamap upgrade Customer --dry-run
    """
    catalog, chosen = _model(place, model)
    asked: dict[str, Any] = {
        "dry_run": dry_run,
        "segments": segments,
        "page_size": page_size,
        "max_failures": max_failures,
        "max_write_units": max_write_units,
        "skip_expired": skip_expired,
        "verify": not no_verify,
        "name": name,
    }
    if show_code:
        if checkpoint is not None:
            raise CommandError("--show-code shows no --checkpoint; use --name, or leave one of them out", Status.USAGE)
        _show_program(place, catalog, chosen, timeout, asked)
        return
    if not dry_run:
        confirm(place, f"Upgrade all items of {model} in {place}?", yes=yes, yes_in=yes_in)

    async def go_over() -> "UpgradeReport":
        from dynamap_async.config import Priority
        from dynamap_async.errors import CapacityBudgetExceededError, ScopeTimeoutError
        from dynamap_async.session import UpgradePass

        async with place.session() as session:
            run: UpgradePass = session.upgrade(chosen, checkpoint=_kept(checkpoint), **asked)
            try:
                # The pass is ended outside of the scope, whose time may be over.
                async with run, session.scope("dynamap upgrade", priority=Priority.BACKGROUND, timeout=timeout):
                    await _to_the_end(run, checkpoint)
            except (CapacityBudgetExceededError, ScopeTimeoutError) as error:
                over = "the time is over" if isinstance(error, ScopeTimeoutError) else "the write units are used up"
                again = "run it again for the rest"
                if checkpoint is not None:
                    again = f"run it again, and it goes on from {checkpoint}"
                raise CommandError(f"{run.report}: {over}; {again}", Status.UNFINISHED) from error
            return run.report

    report = run(go_over())
    show(json.dumps(_as_json(report), indent=1) if as_json else _as_text(report))
    # The items that were upgraded stay so, and the others are as they were.
    if report.failed or report.remaining:
        tell("Nothing was lost: fix that, and run it again.")
        raise typer.Exit(Status.FAILED)


def _show_program(
    place: Place, catalog: "Catalog", model: "type[Model]", timeout_seconds: float | None, asked: dict[str, Any]
) -> None:
    from dynamap_async.session import Session

    program = Program(place)
    models = program.models(catalog, [model])
    program.use("dynamap_async", "Priority")
    scope = ['"upgrade"', "priority=Priority.BACKGROUND"]
    program.call("async with session.scope(", Session.scope, scope, {"timeout": timeout_seconds}, "):")
    program.call("    async for report in session.upgrade(", Session.upgrade, models, asked, "):")
    program.add("        print(report)")
    program.show()


async def _to_the_end(run: "UpgradePass", file: Path | None) -> None:
    """Run a pass to its end, storing its position and printing its progress from time to time."""
    from dynamap_async.errors import ItemsNotUpgradedError

    lines = TimedLines()
    try:
        async for report in run:
            if file is not None:
                _keep(file, report.checkpoint)
            lines.tell(_so_far(report))
    except ItemsNotUpgradedError:
        pass  # the report has each of them; it is begun anew then, as they lie behind the checkpoint
    if file is not None:
        _drop(file)


def _so_far(report: "UpgradeReport") -> str:
    about = "" if report.table_items is None else f", of about {report.table_items:,} items"
    return f"{report}{about}"


def _drop(file: Path) -> None:  # a function of its own, as _keep is: coroutines call no Path themselves
    file.unlink(missing_ok=True)


def _model(place: Place, name: str) -> "tuple[Catalog, type[Model]]":
    from dynamap_async.cli.catalog import load_catalog
    from dynamap_async.models import Table

    catalog = load_catalog(place.models, place.folder)
    found = catalog.find(name)
    if isinstance(found, Table):
        raise CommandError(f"{name} is a table; name one of its models", Status.USAGE)
    return catalog, found


def _kept(file: Path | None) -> str | None:
    try:
        return None if file is None or not file.exists() else file.read_text("utf-8").strip()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}", Status.USAGE) from error


def _keep(file: Path, checkpoint: str) -> None:
    beside = file.with_name(f"{file.name}.new")  # so that one who is stopped meanwhile leaves the old one whole
    try:
        beside.write_text(checkpoint, "utf-8")
        beside.replace(file)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}", Status.USAGE) from error


def _as_text(report: "UpgradeReport") -> str:
    units = units_of(report.write_units, "write") + (" would be taken" if report.dry_run else "")
    still = "is" if report.dry_run else "was"
    versions = ", ".join(
        f"{number:,} {still if number == 1 else {'is': 'are', 'was': 'were'}[still]} of version {version}"
        for version, number in report.by_version.items()
    )
    lines = [str(report), units, *([versions] if versions else []), *report.examples]
    lines += [f"{failure.subject}: {failure.error}" for failure in report.failures]
    return "\n".join(lines)


def _as_json(report: "UpgradeReport") -> dict[str, Any]:
    names = ("model", "version", "dry_run", "seen", "behind", "by_version", "upgraded", "conflicts", "failed")
    more = ("remaining", "read_units", "write_units", "growth_bytes", "examples")
    failures = [{"key": str(each.subject), "error": str(each.error)} for each in report.failures]
    return {name: getattr(report, name) for name in (*names, *more)} | {"failures": failures}
