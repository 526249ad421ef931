"""The commands of ``dynamap``. A command imports what it needs when it runs."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

import dynamap_async
from dynamap_async.cli.capacity.command import capacity
from dynamap_async.cli.endings import CommandError, ending, first_of, line_of
from dynamap_async.cli.engine_install import engine as engine_commands
from dynamap_async.cli.extras import MissingExtraError
from dynamap_async.cli.generate.command import check_items, generate
from dynamap_async.cli.guide import guide
from dynamap_async.cli.migrate import migrate
from dynamap_async.cli.served_engine import local
from dynamap_async.cli.tables.changes import apply, diff, plan, verify
from dynamap_async.cli.tables.index_check import check_index
from dynamap_async.cli.tables.listing import describe, tables
from dynamap_async.cli.tables.schema import schema
from dynamap_async.cli.upgrade import upgrade
from dynamap_async.cli.what_holds import config
from dynamap_async.errors import TransportError

if TYPE_CHECKING:
    from dynamap_async.cli.demo.screen import Screen

app: typer.Typer = typer.Typer(
    name="dynamap", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich"
)


class ScenarioName(StrEnum):
    """The scenarios of the demo."""

    FORUM = "forum"
    DEVICES = "devices"
    SESSIONS = "sessions"
    CHAT = "chat"


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dynamap_async {dynamap_async.__version__}")
        raise typer.Exit


@app.callback()
def dynamap(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Async data access for Amazon DynamoDB: Pydantic models, typed expressions, a query planner."""


@app.command()
def demo(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Show published designs of tables instead, with 28 questions and their costs.")
    ] = False,
    scenario: Annotated[
        ScenarioName | None, typer.Option(metavar="NAME", help=f"Of these, show only {', '.join(ScenarioName)}.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Use the DynamoDB at this address, not the embedded one. The tables get names of their own there, and "
            "are deleted at the end.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the plan of each of the questions in full, with its request.")
    ] = False,
) -> None:
    """Show in five steps what one writes and what it does, live on an embedded DynamoDB.

    It needs no AWS account and leaves nothing behind.
    """
    with ending("Interrupted: everything is stopped, nothing is left running."):
        try:
            if everything or scenario or explain:
                _tour(scenario, engine=engine, explain=explain)
            else:
                _story(engine)
        except ModuleNotFoundError as error:
            raise MissingExtraError.of(error) from error
        except (TransportError, ExceptionGroup) as error:
            first = first_of(error)
            if engine is None or not isinstance(first, TransportError):
                raise
            raise CommandError(f"{line_of(first)}, or leave out --engine to use the embedded engine") from error


app.command()(guide)
app.command()(local)
app.command()(config)
app.command()(plan)
app.command()(apply)
app.command()(diff)
app.command()(verify)
app.command()(tables)
app.command()(describe)
app.command("check-index")(check_index)
app.command()(schema)
app.command()(capacity)
app.add_typer(engine_commands)
app.add_typer(generate)
app.command("check-items")(check_items)
app.command()(upgrade)
app.command()(migrate)


def _tour(only: ScenarioName | None, *, engine: str | None, explain: bool) -> None:
    from dynamap_async.cli.demo.run import run_demo
    from dynamap_async.cli.demo.scenarios import SCENARIOS

    run_demo([SCENARIOS[only]] if only else list(SCENARIOS.values()), _screen(), engine=engine, explain=explain)


def _story(engine: str | None) -> None:
    from dynamap_async.cli.demo.run import run_story

    run_story(_screen(), engine=engine)


def _screen() -> "Screen":
    from rich.console import Console

    from dynamap_async.cli.demo.screen import Screen

    # A terminal may lack the characters that lines are drawn with. What stands in for stdout may lack the method.
    getattr(sys.stdout, "reconfigure", dict)(errors="replace")
    return Screen(Console(highlight=False, markup=False))
