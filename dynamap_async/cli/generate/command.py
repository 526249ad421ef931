"""The commands ``dynamap generate models`` and ``dynamap check-items``: their options, and how they end."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeAlias

import typer

from dynamap_async.cli.endings import Status
from dynamap_async.cli.help import Command, group
from dynamap_async.cli.loop import run
from dynamap_async.cli.output import TimedLines, number_of, tell, units_of
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import ShowCode, TimeoutOfReading, goes_to_tables, in_time
from dynamap_async.cli.shown_code import Program

if TYPE_CHECKING:
    from dynamap_async.generate import Design, Difference, Sample
    from dynamap_async.session import Session

generate: typer.Typer = group("generate")


@generate.callback()
def _generate() -> None:
    """Write models for a table that exists."""


_Sample: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, help="How many items to read.")]
_UNITS_OF_MODELS: Final = 500
_UNITS_OF_CHECKS: Final = 1000


def _units(default: int) -> Any:
    """Return the option that bounds the read units."""
    text = (
        "Stop after this many read units; the last page may exceed it. "
        f"Default: {default}, or what the configuration says if that is less."
    )
    return typer.Option(metavar="UNITS", min=1, help=text)


_NoValues: TypeAlias = Annotated[
    bool, typer.Option("--no-values", help="Print no values of items, and only the shape of keys.")
]


@generate.command(cls=Command)
@goes_to_tables(without=("models", "table_prefix"))
def models(  # noqa: PLR0913 - each is an option
    place: Place,
    *,
    table: Annotated[str, typer.Option(metavar="TABLE", help="The table's name.")],
    from_workbench: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Read the table and its items from a NoSQL Workbench file, and send nothing."
        ),
    ] = None,
    sample: _Sample = 5000,
    max_read_units: Annotated[float | None, _units(_UNITS_OF_MODELS)] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the module to this file, not to the output.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check the models in this file against the items instead.")
    ] = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Print a patch that adds what the --out file lacks, and change nothing."),
    ] = False,
    enums: Annotated[
        bool,
        typer.Option("--enums", help="Declare texts with only a few values as Literal; other values are then refused."),
    ] = False,
    no_values: _NoValues = False,
    timeout: TimeoutOfReading = None,
    show_code: ShowCode = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the --out file; with --merge, apply the patch to it.")
    ] = False,
) -> None:
    """Write a module of models for a table that exists, from a sample of its items.

    Lines that you should check are marked with "check:".

    $ dynamap generate models --table shop --out shop/models.py

    $ dynamap generate models --table shop --out shop/models.py --merge | git apply
    """
    from dynamap_async.cli.catalog import load_file

    if out is not None and check is not None:
        _refuse("--out", "--check writes nothing; drop --out or --check")
    existing = _existing(out, merge=merge, force=force)
    most = _most(place, max_read_units, _UNITS_OF_MODELS)
    if show_code:
        _refuse_to_show({"--from-workbench": from_workbench, "--check": check, "--merge": merge})
        form = {"values": not no_values, "enums": enums and not no_values}
        _show_models_program(place, table, sample, most, out, form)
        return
    module = None if check is None else load_file(check)
    if from_workbench is not None:
        found = _in_workbench(from_workbench, table)
    else:
        # The table is named as DynamoDB knows it, with whatever prefix it has.
        found = run(in_time(_sample(place.session(full_names=True), table, sample, most), timeout))
    if module is not None:
        from dynamap_async.generate import check_items, models_in

        own = models_in(vars(module), place.names.declared(table) or table)
        if not own:
            _refuse("--check", f"{check} has no model for the table {table!r}")
        _report(check_items(own, found.items), found, no_values=no_values)
        return
    from dynamap_async.generate import design_of

    design = design_of(found)
    if out is not None and existing is not None:
        result = _merge(
            design, existing, out, place.names.declared(table) or table, no_values=no_values, enums=enums, force=force
        )
        _tell(found, result)
        return
    text = design.source(values=not no_values, enums=enums and not no_values)
    if out is None:
        typer.echo(text, nl=False)
    else:
        _write(out, text)
        _format(out)
    _tell(found, f"{number_of(text.count('# check: '), 'line')} to check")


@goes_to_tables()
def check_items(
    place: Place,
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name.")],
    sample: _Sample = 10_000,
    max_read_units: Annotated[float | None, _units(_UNITS_OF_CHECKS)] = None,
    no_values: _NoValues = False,
    timeout: TimeoutOfReading = None,
    show_code: ShowCode = False,
) -> None:
    """Report the stored items that do not fit a model.

    Without --models and without a configuration file, the model is looked for in models.py.

    $ dynamap check-items Order --models shop/models.py --sample 10000
    """
    from dynamap_async.cli.catalog import load_catalog, schema_of
    from dynamap_async.generate import check_items as differences_of
    from dynamap_async.models import Table

    # Where `dynamap generate models --out models.py` writes them.
    modules = place.models or ("models.py",)
    catalog = load_catalog(modules, place.folder)
    found = catalog.find(model)
    if isinstance(found, Table):
        _refuse("MODEL", f"{model} is a table; name one of its models")
    most = _most(place, max_read_units, _UNITS_OF_CHECKS)
    table = schema_of(found).name
    if show_code:
        program = Program(place)
        [own] = program.models(catalog, [found], modules)
        _add_sample(program, table, sample, most)
        program.use("dynamap_async.generate", "check_items")
        program.add(f"for difference in check_items([{own}], sample.items):")
        program.add(f"    print(difference.line(values={not no_values}))")
        program.show()
        return
    taken = run(in_time(_sample(place.session(), table, sample, most), timeout))
    _report(differences_of([found], taken.items), taken, no_values=no_values)


def _most(place: Place, given: float | None, default: float) -> float:
    """Return the most read units that a sample may take."""
    return min(default, place.max_read_units or default) if given is None else given


def _refuse_to_show(options: dict[str, Path | bool | None]) -> None:
    for option, given in options.items():
        if given:
            _refuse("--show-code", f"it shows no {option}; leave one of them out")


def _add_sample(program: Program, table: str, sample: int, max_read_units: float) -> None:
    from dynamap_async.generate import take_sample

    program.use("dynamap_async.generate", "take_sample")
    bounds = {"sample": sample, "max_read_units": max_read_units}
    program.call("sample = await take_sample(", take_sample, ["session", program.code(table)], bounds)


def _show_models_program(
    place: Place, table: str, sample: int, most: float, out: Path | None, form: dict[str, bool]
) -> None:
    from dynamap_async.generate import Design

    program = Program(place)
    _add_sample(program, table, sample, most)
    program.use("dynamap_async.generate", "design_of")
    program.call("text = design_of(sample).source(", Design.source, [], form)
    if out is None:
        program.add('print(text, end="")')
    else:
        program.use("pathlib", "Path")
        program.add(f'Path({program.code(str(out))}).write_text(text, "utf-8")')
    program.show(full_names=True)


async def _sample(unopened: "Session", table: str, sample: int, max_read_units: float) -> "Sample":
    from dynamap_async.generate import take_sample

    most, lines = units_of(max_read_units, "read"), TimedLines()
    tell(f"Reading up to {number_of(sample, 'item')} of {table}, for at most {most}.")

    def watch(items: int, read_units: float) -> None:
        lines.tell(f"{number_of(items, 'item')} read for {units_of(read_units, 'read')}")

    async with unopened as session:
        return await take_sample(session, table, sample=sample, max_read_units=max_read_units, watch=watch)


def _in_workbench(file: Path, table: str) -> "Sample":
    from dynamap_async.generate import samples_in

    try:
        samples = {each.schema.name: each for each in samples_in(file.read_text("utf-8"))}
    except (OSError, ValueError) as error:
        _refuse("--from-workbench", str(error))
    if table not in samples:
        _refuse("--table", f"{file} has no table {table!r}; it has {', '.join(samples) or 'none'}")
    return samples[table]


def _existing(out: Path | None, *, merge: bool, force: bool) -> str | None:
    """Return the text of the module to merge into; None where there is none."""
    if merge and out is None:
        _refuse("--merge", "name the existing module with --out")
    if out is None or not out.exists():
        return None
    if not (merge or force):
        _refuse("--out", f"{out} exists; add what it lacks with --merge, or replace it with --force")
    return _text_of(out) if merge else None


def _format(file: Path) -> None:
    """Format a module with its project's ruff, if that is installed; leave a module that ruff refuses as it is."""
    ruff = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is not None:
        subprocess.run([ruff, "format", "--quiet", str(file)], capture_output=True, check=False)  # noqa: S603 - ruff


def _text_of(file: Path) -> str:
    """Return the text of a module with its own line ends."""
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        _refuse("--out", f"{file} cannot be read: {error}")


def _write(file: Path, text: str) -> None:
    """Write a module with the line ends that its text has."""
    try:
        file.write_bytes(text.encode("utf-8"))
    except OSError as error:
        _refuse("--out", f"{file} cannot be written: {error.strerror}")


def _merge(design: "Design", existing: str, out: Path, table: str, *, no_values: bool, enums: bool, force: bool) -> str:
    """Print what a module lacks, and with ``--force`` add it; return the summary to print."""
    from dynamap_async.generate import merge_models

    try:
        merged = merge_models(design, existing, table=table, values=not no_values, enums=enums and not no_values)
    except ValueError as error:
        _refuse("--merge", f"{out}: {error}")
    file = out.resolve()
    inside = file.is_relative_to(Path.cwd())
    typer.echo(merged.patch((file.relative_to(Path.cwd() if inside else file.anchor)).as_posix()), nl=False)
    for each in merged.left:
        tell(each)
    if force and merged.added:
        _write(out, merged.after)
    count = len(merged.added)
    lacking = f"{number_of(count, 'field or model', 'fields and models')} lacking"
    return f"{lacking}, {'added' if force else 'nothing written'}" if count else lacking


def _report(differences: "tuple[Difference, ...]", sample: "Sample", *, no_values: bool) -> None:
    for each in differences:
        typer.echo(each.line(values=not no_values))
    _tell(sample, number_of(len(differences), "difference"))
    if differences:
        raise typer.Exit(Status.DIFFERENT)


def _tell(sample: "Sample", result: str) -> None:
    whole = "all of them" if sample.complete else "a sample"
    tell(f"{number_of(len(sample.items), 'item')} read, {whole}, for {units_of(sample.read_units, 'read')}: {result}")


def _refuse(option: str, problem: str) -> NoReturn:
    raise typer.BadParameter(problem, param_hint=option)
