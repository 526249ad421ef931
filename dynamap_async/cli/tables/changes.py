"""The commands ``dynamap plan``, ``apply``, ``diff`` and ``verify``: tables compared with models, and changed."""

import json
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias, get_args

import typer

from dynamap_async.cli.completion import complete_models
from dynamap_async.cli.confirmation import confirm
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.loop import run
from dynamap_async.cli.output import number_of, show, show_changes, tell
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import AsJson, Period, ShowCode, Yes, YesIn, goes_to_tables
from dynamap_async.cli.shown_code import Program

if TYPE_CHECKING:
    from dynamap_async.cli.tables.chosen import Chosen
    from dynamap_async.tables import TableDescription, TablePlan
    from dynamap_async.tables.table_plan import HazardCode

PLAN_ENDING: Final = ".json"
"""How the name of a file with a plan ends; by this ``apply`` tells it from a model."""

_Names: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL",
        autocompletion=complete_models,
        help="Only the tables of these models; without any, all.",
    ),
]
_DeleteUnknown: TypeAlias = Annotated[
    bool, typer.Option("--delete-unknown-indexes", help="Also delete global indexes that no model declares.")
]
_Expand: TypeAlias = Annotated[
    bool, typer.Option("--expand", help="Only the steps that add something. Run them before new code.")
]
_Contract: TypeAlias = Annotated[
    bool, typer.Option("--contract", help="Only the steps that remove something. Run them after old code is gone.")
]
_AllPeriods: TypeAlias = Annotated[
    bool, typer.Option("--all-periods", help="All existing tables of models with one table per period.")
]
_SamplePages: TypeAlias = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        help="How many pages of items to read for the estimate of a new index; 0 for no estimate.",
    ),
]
_Prices: TypeAlias = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="WRITE STORAGE",
        min=0,
        help="Prices of a million write units and of a GB stored for a month, for estimates in money.",
    ),
]


@goes_to_tables(only_reads=True)
async def plan(  # noqa: PLR0913 - each is an option
    place: Place,
    *,
    names: _Names = None,
    delete_unknown_indexes: _DeleteUnknown = False,
    expand: _Expand = False,
    contract: _Contract = False,
    period: Period = None,
    all_periods: _AllPeriods = False,
    sample_pages: _SamplePages = 1,
    prices: _Prices = None,
    against: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Compare with a saved answer of `aws dynamodb describe-table`, and send nothing. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Save the plan for `dynamap apply FILE`. The name ends in {PLAN_ENDING}."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with status 3 if anything would change.")] = False,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Print what would change to make the tables match the models.

    Nothing is changed. The last line is the command that makes the changes.

    $ dynamap plan --out plan.json
    """
    part = _part(expand=expand, contract=contract)
    if out is not None and out.suffix != PLAN_ENDING:
        raise CommandError(f"--out {out}: the name of a plan ends in {PLAN_ENDING}", Status.USAGE)
    wanted = _Wanted(names or [], period, all_periods, delete_unknown_indexes, sample_pages, prices)
    if show_code:
        _show_plan(_planning(place, wanted, expand=expand, contract=contract), out, against)
        return
    if against:
        made = part(_offline(place, names, period, delete_unknown_indexes, against))
    else:
        made = part(await _planned(place, wanted))
    if as_json:
        show(made.to_json())
    else:
        show_changes(str(made))
    if out is not None:
        _write(out, made.to_json())
    if not made.is_empty:
        parts = {"--delete-unknown-indexes": delete_unknown_indexes, "--expand": expand, "--contract": contract}
        parts["--all-periods"] = all_periods
        again = [*(names or ()), *(option for option, given in parts.items() if given)]
        again += [] if period is None else [f"--period {shlex.quote(period)}"]
        _tell_way_on(made, [*([shlex.quote(str(out))] if out is not None else again), *place.options])
        if check:
            raise typer.Exit(Status.DIFFERENT)


@goes_to_tables(
    interrupted="Interrupted: DynamoDB goes on with what was sent. Plan and apply again, and nothing is done twice."
)
def apply(  # noqa: PLR0913 - each is an option
    place: Place,
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PLAN|MODEL",
            autocompletion=complete_models,
            help="A saved plan, or models as for `dynamap plan`.",
        ),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="HAZARD", help="Allow a hazard of the plan, by its code. Repeatable."),
    ] = None,
    delete_unknown_indexes: _DeleteUnknown = False,
    expand: _Expand = False,
    contract: _Contract = False,
    period: Period = None,
    all_periods: _AllPeriods = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the requests, one on each line, and change nothing.")
    ] = False,
    yes: Yes = False,
    yes_in: YesIn = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="How long to wait for each table.")
    ] = 86_400.0,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Change the tables to match the models, step by step.

    It prints the plan and asks first. Each hazard has to be allowed by its code, as in --allow index-deleted. If it
    is stopped, run it again: it waits for what DynamoDB has begun, and does nothing twice.

    $ dynamap apply plan.json --yes
    """
    hazards, part = _hazards(allow or []), _part(expand=expand, contract=contract)
    source = _source(_Wanted(names or [], period, all_periods, delete_unknown_indexes, sample_pages=1))
    if show_code:
        program = _planning(place, source, expand=expand, contract=contract)
        _show_apply(program, {"allow": hazards or (), "timeout_seconds": timeout})
        return
    made = part(_read(source) if isinstance(source, Path) else run(_planned(place, source)))
    if dry_run:
        for step in made.steps:
            show(f"{step.operation} {json.dumps(step.request)}" if step.request else f"# {step.kind} {step.summary}")
        return
    if as_json:
        tell(str(made))
    else:
        show_changes(str(made))
    if not made.is_empty:
        _check_allowed(made, hazards)
        confirm(place, f"Carry out {number_of(len(made.steps), 'step')} in {place}?", yes=yes, yes_in=yes_in)
        # A loop of its own: while a question waits for its answer, none is to run.
        run(_carry_out(place, made, hazards, timeout))
    if as_json:
        show(made.to_json())


@goes_to_tables(only_reads=True)
async def diff(
    place: Place,
    *,
    names: _Names = None,
    period: Period = None,
    all_periods: _AllPeriods = False,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Print the differences between the tables and the models.

    A line with - is what the table has, a line with + is what the models declare. The exit status is 3 if anything
    differs.
    """
    wanted = _Wanted(names or [], period, all_periods)
    if show_code:
        program = _planning(place, wanted)
        program.add("for step in plan.steps:", '    print(f"{step.table} {step.index}: {step.before} -> {step.after}")')
        program.show()
        return
    made = await _planned(place, wanted)
    if as_json:
        differences = [
            {"table": step.table, "index": step.index, "kind": step.kind, "found": step.before, "declared": step.after}
            for step in made.steps
        ]
        show(json.dumps({"differences": differences, "not_managed": list(made.not_managed)}, indent=1))
    else:
        show_changes("\n".join(_difference_lines(made)))
    if not made.is_empty:
        raise typer.Exit(Status.DIFFERENT)


@goes_to_tables(only_reads=True)
async def verify(
    place: Place,
    *,
    names: _Names = None,
    no_extra_indexes: Annotated[
        bool, typer.Option("--no-extra-indexes", help="Count global indexes that no model declares as differences.")
    ] = False,
    building: Annotated[
        bool,
        typer.Option(
            "--building/--built", help="Accept tables and indexes that are still being made, or do not (the default)."
        ),
    ] = False,
    period: Period = None,
    all_periods: _AllPeriods = False,
    show_code: ShowCode = False,
    as_json: AsJson = False,
) -> None:
    """Check that the tables match the models, for CI.

    It prints a line for each difference. The exit status is 3 if anything differs.
    """
    from dynamap_async.cli.tables.chosen import choose
    from dynamap_async.errors import TableMismatchError

    chosen = choose(place, names or [], period, all_periods=all_periods)
    asked: dict[str, Any] = {
        "extra_indexes": "fail" if no_extra_indexes else "ignore",
        "need_active": not building,
        "period": chosen.period,
        "all_periods": chosen.all_periods,
    }
    if show_code:
        from dynamap_async.tables import Tables

        program = Program(place)
        models = program.models(chosen.catalog, chosen.declared)
        program.call("await session.tables.verify(", Tables.verify, models, asked)
        program.show()
        return
    differences: tuple[Any, ...] = ()
    async with place.session() as session:
        try:
            await session.tables.verify(*chosen.declared, **asked)
        except TableMismatchError as error:
            differences = error.differences
    if as_json:
        told = [
            {
                "table": each.table,
                "index": each.index,
                "what": each.what,
                "found": each.found,
                "declared": each.declared,
            }
            for each in differences
        ]
        show(json.dumps({"differences": told}, indent=1))
    for each in () if as_json else differences:
        show(f"{each.table}: {each}")
    if differences:
        tell(f"{number_of(len(differences), 'difference')}: `dynamap plan` shows what would change")
        raise typer.Exit(Status.DIFFERENT)
    if not as_json:
        show("all tables are what the models declare")


class _Wanted(NamedTuple):
    """The options that say what is to be planned."""

    names: list[str]
    period: str | None
    all_periods: bool
    delete_unknown_indexes: bool = False
    sample_pages: int = 0
    prices: tuple[float, float] | None = None


def _source(wanted: _Wanted) -> _Wanted | Path:
    """Return the plan's file if one is named in place of models; otherwise the options for a new plan."""
    if not (wanted.names and wanted.names[0].endswith(PLAN_ENDING)):
        return wanted
    [file, *others] = wanted.names
    if others or wanted.delete_unknown_indexes or wanted.all_periods or wanted.period is not None:
        raise CommandError(f"{file} already says what to do; drop the other arguments", Status.USAGE)
    return Path(file)


async def _planned(place: Place, wanted: _Wanted) -> "TablePlan":
    chosen, asked = _asked(place, wanted)
    async with place.session() as session:
        return await session.tables.plan(*chosen.declared, **asked)


def _asked(place: Place, wanted: _Wanted) -> "tuple[Chosen, dict[str, Any]]":
    """Return the models to plan for, and the other arguments of ``session.tables.plan``."""
    from dynamap_async.cli.tables.chosen import choose
    from dynamap_async.tables import PlanPrices

    chosen = choose(place, wanted.names, wanted.period, all_periods=wanted.all_periods)
    prices = wanted.prices
    return chosen, {
        "delete_unknown_indexes": wanted.delete_unknown_indexes,
        "sample_pages": wanted.sample_pages,
        "prices": None if prices is None else PlanPrices(write_million=prices[0], storage_gb_month=prices[1]),
        "period": chosen.period,
        "all_periods": chosen.all_periods,
    }


def _planning(place: Place, source: _Wanted | Path, *, expand: bool = False, contract: bool = False) -> Program:
    """Return a program that makes or reads a plan."""
    from dynamap_async.tables import Tables

    program = Program(place)
    if isinstance(source, Path):
        program.use("pathlib", "Path")
        program.use("dynamap_async.tables", "TablePlan")
        program.add(f'plan = TablePlan.from_json(Path({program.code(str(source))}).read_text("utf-8"))')
    else:
        chosen, asked = _asked(place, source)
        models = program.models(chosen.catalog, chosen.declared)
        if source.prices is not None:
            program.use("dynamap_async.tables", "PlanPrices")
        program.call("plan = await session.tables.plan(", Tables.plan, models, asked)
    if expand or contract:
        program.add(f"plan = plan.{'expand' if expand else 'contract'}")
    return program


def _show_plan(program: Program, out: Path | None, against: list[Path] | None) -> None:
    if against:
        raise CommandError("--show-code shows no --against; leave one of them out", Status.USAGE)
    program.add("print(plan)")
    if out is not None:
        program.use("pathlib", "Path")
        program.add(f'Path({program.code(str(out))}).write_text(plan.to_json() + "\\n", "utf-8")')
    program.show()


def _show_apply(program: Program, named: dict[str, Any]) -> None:
    from dynamap_async.tables import Tables

    program.call("async for event in session.tables.apply(", Tables.apply, ["plan"], named, "):")
    program.add("    print(event.step.summary, event.state)")
    program.show()


def _offline(
    place: Place, names: list[str] | None, period: str | None, delete_unknown_indexes: bool, against: list[Path]
) -> "TablePlan":
    """Return the plan for tables that are described in files."""
    from dynamap_async.cli.tables.chosen import choose
    from dynamap_async.tables import declared_tables, plan_of, read_description

    chosen = choose(place, names or [], period)
    tables = declared_tables(
        *chosen.declared, table_prefix=place.prefix, table_names=place.table_names, period=chosen.period
    )
    declared = {table.name: table for table in tables}
    found: dict[str, TableDescription] = {}
    for file in against:
        try:
            described = read_description(json.loads(file.read_text("utf-8")))
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}", Status.USAGE) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CommandError(f"{file} is not the output of describe-table", Status.USAGE) from error
        if described.schema.name not in declared:
            problem = f"{file} describes {described.schema.name}; the models declare {', '.join(declared)}"
            raise CommandError(problem, Status.USAGE)
        found[described.schema.name] = described
    return plan_of([declared[name] for name in found], [*found.values()], delete_unknown_indexes=delete_unknown_indexes)


def _part(*, expand: bool, contract: bool) -> "Callable[[TablePlan], TablePlan]":
    """Return the function that selects the part of a plan that options ask for."""
    if expand and contract:
        raise CommandError("--expand and --contract together are the whole plan: leave both out", Status.USAGE)

    def part(made: "TablePlan") -> "TablePlan":
        return made.expand if expand else made.contract if contract else made

    return part


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}") from error


def _read(file: Path) -> "TablePlan":
    from dynamap_async.errors import OperationError
    from dynamap_async.tables import TablePlan

    try:
        return TablePlan.from_json(file.read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}", Status.USAGE) from error
    except (OperationError, ValueError) as error:
        raise CommandError(f"{file}: {error}", Status.USAGE) from error


def _hazards(codes: list[str]) -> "set[HazardCode]":
    from dynamap_async.tables.table_plan import HazardCode

    known: tuple[HazardCode, ...] = get_args(HazardCode)
    for code in codes:
        if code not in known:
            raise CommandError(
                f"--allow {code}: there is no such hazard; the hazards are {', '.join(known)}", Status.USAGE
            )
    return {code for code in known if code in codes}


def _tell_way_on(made: "TablePlan", arguments: list[str]) -> None:
    blocked = sum(step.kind == "blocked" for step in made.steps)
    if blocked:
        tell(f"{number_of(blocked, 'step is', 'steps are')} blocked: DynamoDB cannot do that, see there")
        return
    allow = [f"--allow {code}" for code in sorted({hazard.code for hazard in made.hazards})]
    tell(f"{number_of(len(made.steps), 'step')}: {' '.join(['dynamap apply', *arguments, *allow])}")


def _check_allowed(made: "TablePlan", allowed: "set[HazardCode]") -> None:
    if any(step.kind == "blocked" for step in made.steps):
        raise CommandError(
            "Nothing was changed: DynamoDB cannot do the blocked steps; each of them says what to do instead."
        )
    missing = sorted({hazard.code for hazard in made.hazards} - allowed)
    if missing:
        options = " ".join(f"--allow {code}" for code in missing)
        raise CommandError(f"Nothing was changed: to accept these hazards, add {options}", Status.REFUSED)


async def _carry_out(place: Place, made: "TablePlan", allow: "set[HazardCode]", timeout_seconds: float) -> None:
    from dynamap_async.cli.tables.progress import lines_on_stderr
    from dynamap_async.errors import TableWaitTimeoutError
    from dynamap_async.tables.estimates import duration

    lines, clock = lines_on_stderr(), time.monotonic
    began = clock()
    async with place.session() as session, lines.told():
        try:
            async with session.tables.apply(made, allow=allow, timeout_seconds=timeout_seconds) as events:
                async for event in events:
                    lines.watch(event)
        except TableWaitTimeoutError as error:
            raise CommandError(
                f"{error.table} took longer than {timeout_seconds:g} s (last status: {error.status}). DynamoDB "
                "continues; plan and apply again later: nothing is done twice.",
                Status.UNFINISHED,
            ) from error
    tell(f"{number_of(len(made.steps), 'step')} done in {duration(clock() - began)}")


def _difference_lines(made: "TablePlan") -> Iterator[str]:
    for table in dict.fromkeys(step.table for step in made.steps):
        yield table
        for step in (step for step in made.steps if step.table == table):
            if step.index is not None:
                yield f"  index {step.index}"
            yield f"  - {step.before}"
            yield f"  + {step.after}"
    if made.is_empty:
        yield "no differences"
    for each in made.not_managed:
        yield f"not managed: {each}"
