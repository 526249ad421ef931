"""The commands of ``dynamap``. A command imports what it needs when it runs."""

import sys
from enum import StrEnum
from typing import Annotated, NoReturn

import typer

import dynamap_async
from dynamap_async.cli.capacity.command import capacity
from dynamap_async.cli.extras import MissingExtraError
from dynamap_async.cli.generate.command import check_items, generate
from dynamap_async.errors import DynamapError, TransportError

app: typer.Typer = typer.Typer(
    name="dynamap", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich"
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
    scenario: Annotated[
        ScenarioName | None, typer.Option(metavar="NAME", help=f"Show only one of {', '.join(ScenarioName)}.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Use the DynamoDB at this address, not the embedded one. The tables get names of their own there, and "
            "are deleted at the end.",
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show each plan in full, with its request.")] = False,
) -> None:
    """Set up published table designs on an embedded DynamoDB, ask their questions, and show answers and costs.

    It needs no AWS account and leaves nothing behind.
    """
    try:
        _demo(scenario, engine=engine, explain=explain)
    except KeyboardInterrupt:
        _end("Interrupted: everything is stopped, nothing is left running.", status=130)
    except ModuleNotFoundError as error:
        _end(str(MissingExtraError.of(error)), status=2)
    except MissingExtraError as error:
        _end(str(error), status=2)
    except (DynamapError, ExceptionGroup) as error:
        _end_with(_first(error), engine)


app.command()(capacity)
app.add_typer(generate)
app.command("check-items")(check_items)


def _demo(only: ScenarioName | None, *, engine: str | None, explain: bool) -> None:
    from rich.console import Console

    from dynamap_async.cli.demo.run import run_demo
    from dynamap_async.cli.demo.scenarios import SCENARIOS
    from dynamap_async.cli.demo.screen import Screen

    # A terminal may lack the characters that lines are drawn with. What stands in for stdout may lack the method.
    getattr(sys.stdout, "reconfigure", dict)(errors="replace")
    scenarios = [SCENARIOS[only]] if only else list(SCENARIOS.values())
    run_demo(scenarios, Screen(Console(highlight=False, markup=False)), engine=engine, explain=explain)


def _first(error: Exception) -> Exception:
    """Return the error itself, or the first of a group's."""
    members: tuple[Exception, ...] = getattr(error, "exceptions", ())
    return _first(members[0]) if members else error


def _end_with(error: Exception, engine: str | None) -> NoReturn:
    """End with an error that a user can act on; any other is a fault of the demo, and is raised as it is."""
    if isinstance(error, TransportError) and engine is not None:
        _end(f"{error}, or leave out --engine to use the embedded engine", status=1)
    if isinstance(error, DynamapError):
        _end(str(error), status=1)
    raise error


def _end(line: str, *, status: int) -> NoReturn:
    typer.echo(line, err=True)
    raise typer.Exit(status)
