"""The commands ``dynamap generate models`` and ``dynamap check-items``: their options, and how they end."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeAlias

import typer

from dynamap_async.cli.endings import Status
from dynamap_async.cli.loop import run
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import goes_to_tables

if TYPE_CHECKING:
    from dynamap_async.generate import Design, Difference, Sample
    from dynamap_async.session import Session

generate: typer.Typer = typer.Typer(name="generate", no_args_is_help=True, help="Make code from what exists.")

_Sample: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, help="How many items to read.")]
_Units: TypeAlias = Annotated[
    float, typer.Option(metavar="UNITS", min=1, help="How many read units to spend; the last page may exceed it.")
]
_NoValues: TypeAlias = Annotated[
    bool, typer.Option("--no-values", help="Print no value of any item, and of keys their shape only.")
]


@generate.command()
@goes_to_tables(without=("models", "table_prefix"))
def models(
    place: Place,
    *,
    table: Annotated[str, typer.Option(metavar="TABLE", help="The table's name.")],
    from_workbench: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Take the table and its items from a model of NoSQL Workbench; send nothing."
        ),
    ] = None,
    sample: _Sample = 5000,
    max_read_units: _Units = 500,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the module there, not to the output.")] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check the models of this module against the items instead.")
    ] = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="Print what the file lacks as a patch, and change nothing else; see --force."),
    ] = False,
    enums: Annotated[
        bool,
        typer.Option("--enums", help="Make a Literal of texts that have only a few values; others are refused then."),
    ] = False,
    no_values: _NoValues = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file; with --merge, apply the patch to it.")
    ] = False,
) -> None:
    """Write a module of models for a table that exists, from a sample of its items.

    What the sample leaves in doubt is marked in the text with "check:".

    [dim]dynamap generate models --table shop --out shop/models.py[/dim]

    [dim]dynamap generate models --table shop --out shop/models.py --merge | git apply[/dim]
    """
    from dynamap_async.cli.catalog import load_file

    if out is not None and check is not None:
        _refuse("--out", "with --check nothing is written; drop one of them")
    existing = _existing(out, merge=merge, force=force)
    module = None if check is None else load_file(check)
    if from_workbench is not None:
        found = _in_workbench(from_workbench, table)
    else:
        # The table is named as DynamoDB knows it, with whatever prefix it has.
        found = run(_sample(place.session(full_names=True), table, sample, max_read_units))
    if module is not None:
        from dynamap_async.generate import check_items, models_in

        own = models_in(vars(module), place.names.declared(table) or table)
        if not own:
            _refuse("--check", f"{check} has no model of the table {table!r}")
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
        out.write_text(text, "utf-8")
    doubts = text.count("# check: ")
    _tell(found, f"{doubts:,} {'line' if doubts == 1 else 'lines'} to check")


@goes_to_tables()
def check_items(
    place: Place,
    *,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="The model's name.")],
    sample: _Sample = 10_000,
    max_read_units: _Units = 1000,
    no_values: _NoValues = False,
) -> None:
    """Tell where a model and the items of its table part.

    Without --models and without a configuration file, the model is looked for in models.py.

    [dim]dynamap check-items Order --models shop/models.py --sample 10000[/dim]
    """
    from dynamap_async.cli.catalog import load_catalog, schema_of
    from dynamap_async.generate import check_items as differences_of
    from dynamap_async.models import Table

    found = load_catalog(place.models or ("models.py",), place.folder).find(model)
    if isinstance(found, Table):
        _refuse("MODEL", f"{model} is a table; name one of its models")
    taken = run(_sample(place.session(), schema_of(found).name, sample, max_read_units))
    _report(differences_of([found], taken.items), taken, no_values=no_values)


async def _sample(unopened: "Session", table: str, sample: int, max_read_units: float) -> "Sample":
    from dynamap_async.generate import take_sample

    async with unopened as session:
        return await take_sample(session, table, sample=sample, max_read_units=max_read_units)


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
        _refuse("--merge", "name the module that exists with --out")
    if out is None or not out.exists():
        return None
    if not (merge or force):
        _refuse("--out", f"{out} exists; add what it lacks with --merge, or replace it with --force")
    return _text_of(out) if merge else None


def _text_of(file: Path) -> str:
    """Return the text of a module, with the line ends that it has."""
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, ValueError) as error:
        _refuse("--out", f"{file} cannot be read: {error}")


def _merge(design: "Design", existing: str, out: Path, table: str, *, no_values: bool, enums: bool, force: bool) -> str:
    """Print what a module lacks, and add it with force; return what is to be told of it."""
    from dynamap_async.generate import merge_models

    try:
        merged = merge_models(design, existing, table=table, values=not no_values, enums=enums and not no_values)
    except ValueError as error:
        _refuse("--merge", f"{out}: {error}")
    file = out.resolve()
    inside = file.is_relative_to(Path.cwd())
    typer.echo(merged.patch((file.relative_to(Path.cwd() if inside else file.anchor)).as_posix()), nl=False)
    for each in merged.left:
        typer.echo(each, err=True)
    if force and merged.added:
        out.write_bytes(merged.after.encode("utf-8"))
    count = len(merged.added)
    lacking = f"{count:,} {'field or model' if count == 1 else 'fields and models'} lacking"
    return f"{lacking}, {'added' if force else 'nothing written'}" if count else lacking


def _report(differences: "tuple[Difference, ...]", sample: "Sample", *, no_values: bool) -> None:
    for each in differences:
        typer.echo(each.line(values=not no_values))
    count = len(differences)
    _tell(sample, f"{count:,} {'difference' if count == 1 else 'differences'}")
    if differences:
        raise typer.Exit(Status.DIFFERENT)


def _tell(sample: "Sample", result: str) -> None:
    whole = "all of them" if sample.complete else "a sample"
    typer.echo(
        f"{len(sample.items):,} items read, {whole}, for {sample.read_units:,.1f} read units: {result}", err=True
    )


def _refuse(option: str, problem: str) -> NoReturn:
    raise typer.BadParameter(problem, param_hint=option)
