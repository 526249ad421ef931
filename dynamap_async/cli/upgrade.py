"""The command ``dynamap upgrade``: all stored items of a model brought to its present version."""

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.confirmation import confirm
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.loop import run
from dynamap_async.cli.output import show, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import goes_to_tables

if TYPE_CHECKING:
    from dynamap_async.models import Model
    from dynamap_async.session import UpgradePass, UpgradeReport

_TELL_SECONDS: Final = 1.0


@goes_to_tables(interrupted="Interrupted: what is upgraded stays so. Run it again, and it goes on with the rest.")
def upgrade(
    place: Place,
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", autocompletion=complete_models, help="The model's name.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing, and tell what would be written.")] = False,
    segments: Annotated[int, typer.Option(metavar="N", min=1, help="Parts of the table to read at a time.")] = 8,
    page_size: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Items to read with one request; by default 1 MB.")
    ] = None,
    max_failures: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop after so many items that cannot be upgraded.")
    ] = None,
    max_write_units: Annotated[
        float | None, typer.Option(metavar="UNITS", min=1, help="Stop when so many write units are spent.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep there how far it came, and go on from that.")
    ] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not count at the end what is left.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    yes_in: Annotated[
        str | None, typer.Option(metavar="NAME", help="Do not ask in the environment of this name, guarded or not.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False,
) -> None:
    """Bring all stored items of a model to its present version.

    It may run beside everything else, be stopped at any time, and run again: what is done costs no writes.

    [dim]dynamap upgrade Customer --dry-run[/dim]
    """
    chosen = _model(place, model)
    if not dry_run:
        confirm(place, f"Upgrade all items of {model} in {place}?", yes=yes, yes_in=yes_in)

    async def go_over() -> "UpgradeReport":
        from dynamap_async.session import UpgradePass

        async with place.session() as session:
            run: UpgradePass = session.upgrade(
                chosen,
                dry_run=dry_run,
                segments=segments,
                page_size=page_size,
                max_failures=max_failures,
                verify=not no_verify,
                checkpoint=_kept(checkpoint),
            )
            budget = (
                None if max_write_units is None else session.scope("dynamap upgrade", max_write_units=max_write_units)
            )
            async with budget or nullcontext(), run:
                await _to_the_end(run, checkpoint)
            return run.report

    report = run(go_over())
    show(json.dumps(_as_json(report), indent=1) if as_json else _as_text(report))
    if report.failed or report.remaining:
        tell("Nothing was lost: mend that, and run it again.")
        raise typer.Exit(Status.FAILED)


async def _to_the_end(run: "UpgradePass", file: Path | None) -> None:
    """Go through a pass, keep how far it came, and tell of it now and then."""
    from dynamap_async.errors import CapacityBudgetExceededError, ItemsNotUpgradedError

    told = time.monotonic()
    try:
        async for report in run:
            if file is not None:
                _keep(file, report.checkpoint)
            if time.monotonic() - told > _TELL_SECONDS:
                told = time.monotonic()
                tell(str(report))
    except ItemsNotUpgradedError:
        pass  # the report has each of them; it is begun anew then, as they lie behind the checkpoint
    except CapacityBudgetExceededError as error:
        again = "run it again for the rest" if file is None else f"run it again, and it goes on from {file}"
        raise CommandError(f"{run.report}: the write units are spent; {again}", Status.UNFINISHED) from error
    if file is not None:
        _drop(file)


def _drop(file: Path) -> None:
    file.unlink(missing_ok=True)


def _model(place: Place, name: str) -> "type[Model]":
    from dynamap_async.cli.catalog import load_catalog
    from dynamap_async.models import Table

    found = load_catalog(place.models, place.folder).find(name)
    if isinstance(found, Table):
        raise CommandError(f"{name} is a table; name one of its models", Status.USAGE)
    return found


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
    units = f"{report.write_units:,.0f} write units" + (" would be taken" if report.dry_run else "")
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
