"""The command ``dynamap demo``: its options, and how it ends."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from dynamap_async.cli.endings import CommandError, ending, first_of, line_of
from dynamap_async.cli.extras import MissingExtraError
from dynamap_async.errors import TransportError

if TYPE_CHECKING:
    from dynamap_async.cli.demo.screen import Screen


class ScenarioName(StrEnum):
    """The scenarios of the demo."""

    FORUM = "forum"
    DEVICES = "devices"
    SESSIONS = "sessions"
    CHAT = "chat"


def demo(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Show published table designs instead, with 28 queries and their costs.")
    ] = False,
    scenario: Annotated[
        ScenarioName | None,
        typer.Option(metavar="NAME", help=f"Show only one of these designs: {', '.join(ScenarioName)}."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Run on the DynamoDB at this address. The tables have names of their own there, and are deleted at "
            "the end.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the full plan and the request of each query.")
    ] = False,
) -> None:
    """Show in five steps what the library does, on a local DynamoDB.

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
            raise CommandError(f"{line_of(first)}, or leave out --engine to use one in this process") from error


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
