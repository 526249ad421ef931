"""The options that commands share, and how a command runs that sends requests to tables."""

import inspect
import shlex
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import typer

from dynamap_async.cli.completion import complete_environments
from dynamap_async.cli.configuration import find_configuration
from dynamap_async.cli.costs import told_cost
from dynamap_async.cli.endings import CommandError, Status, ending
from dynamap_async.cli.loop import run
from dynamap_async.cli.place import Place, place_of
from dynamap_async.errors import ConfigurationError, TransportError

T = TypeVar("T")

Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, unless the environment has a guard.")]
YesIn: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Do not ask in the environment of this name, with or without a guard."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Period: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="VALUE", help="Any value in the period, for models with one table per period."),
]
MaxWriteUnits: TypeAlias = Annotated[
    float | None, typer.Option(metavar="UNITS", min=1, help="Stop after this many write units.")
]
Timeout: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=1, help="Stop after this time, with status 5.")
]
TimeoutOfReading: TypeAlias = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", min=1, help="Give up after this time, with status 1.")
]

ShowCode: TypeAlias = Annotated[
    bool, typer.Option("--show-code", help="Print the Python program that does the same, and send nothing.")
]

_WHERE: Final = "Common options"
_PLACE: Final = "place"
_LOGGED_OUT: Final = ("SSOTokenLoadError", "UnauthorizedSSOTokenError", "TokenRetrievalError")
"""The names of botocore's errors of a login that is missing or over; its module is loaded when a session opens."""


def _options(
    *,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            metavar="MODULE",
            rich_help_panel=_WHERE,
            help="A module of models, or its file. Repeatable. Default: those of the configuration file.",
        ),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=_WHERE,
            autocompletion=complete_environments,
            help="An environment of the configuration file.",
        ),
    ] = None,
    region: Annotated[
        str | None, typer.Option(metavar="REGION", rich_help_panel=_WHERE, help="The AWS region.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", rich_help_panel=_WHERE, help="A profile of the AWS configuration."),
    ] = None,
    endpoint_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", rich_help_panel=_WHERE, help="The address to send to, such as that of a local engine."
        ),
    ] = None,
    table_prefix: Annotated[
        str | None,
        typer.Option(metavar="TEXT", rich_help_panel=_WHERE, help="The prefix of all table names."),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            rich_help_panel=_WHERE,
            help="Do not print the line of units, requests and time at the end.",
        ),
    ] = False,
) -> None:
    """Declare the options that every command has."""


def _remedy(place: Place, error: ConfigurationError) -> str:
    """Return the remedy if the configuration, or something that it names, cannot be used."""
    if type(error.__cause__).__name__ in _LOGGED_OUT:
        profile = place.settings["profile"].value
        return f"log in again: aws sso login{'' if profile is None else f' --profile {shlex.quote(profile)}'}"
    return "on the command line: --region, --profile, --endpoint-url, or the same in dynamap.toml"


SHARED_OPTIONS: Final = inspect.signature(_options).parameters
"""Name of a parameter -> the option that all commands have which go to tables."""


def _timeout(*, timeout: TimeoutOfReading = None) -> None:
    """Declare the option of commands that only read."""


async def in_time(
    work: Coroutine[Any, Any, T],
    seconds: float | None,
    *,
    told: str = "nothing was changed",
    status: Status = Status.FAILED,
) -> T:
    """Return the result of a command's work, or end the command if it takes longer than a time.

    Args:
        seconds: how long it may take; None for any time.
        told: what to say behind the time where it takes longer.
        status: how the command ends then.

    Raises:
        CommandError: it took longer.
    """
    import asyncio

    limit = asyncio.timeout(seconds)  # cancels the work once, as Ctrl-C does, so that its session can close
    try:
        async with limit:
            return await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise CommandError(f"It took longer than {seconds:g} s; {told}.", status) from error


def goes_to_tables(
    *,
    without: tuple[str, ...] = (),
    interrupted: str = "Interrupted: nothing was changed.",
    only_reads: bool = False,
) -> Callable[[Callable[..., Coroutine[Any, Any, None] | None]], Callable[..., None]]:
    """Return a decorator that makes a command of a function ``(place, *, its own options)``, async or plain.

    The command has the shared options besides, is given the place that they, the process's environment and
    the configuration file name, and ends as all commands do.

    Args:
        without: the options that this command does not have.
        interrupted: the line that Ctrl-C ends with.
        only_reads: whether it may be ended at any time, and so has the option ``--timeout``.
    """
    added = {name: each for name, each in SHARED_OPTIONS.items() if name not in without}
    timed = [*inspect.signature(_timeout).parameters.values()] if only_reads else []

    def decorate(work: Callable[..., Coroutine[Any, Any, None] | None]) -> Callable[..., None]:
        own = inspect.signature(work)

        @wraps(work)
        def command(**given: Any) -> None:
            shared = {name: given.pop(name) for name in added}
            seconds: float | None = given.pop("timeout") if only_reads else None
            quiet: bool = shared.pop("quiet", True)
            with ending(interrupted):
                place = place_of(
                    find_configuration(Path.cwd()),
                    models=tuple(shared.pop("models", None) or ()),
                    environment=shared.pop("env", None),
                    given=shared,
                )
                try:
                    with told_cost(place, quiet=quiet):
                        done = work(place, **given)
                        if inspect.iscoroutine(done):
                            run(in_time(done, seconds))
                except TransportError as error:
                    error.add_note(f"it was sent to {place}")
                    raise
                except ConfigurationError as error:
                    if "region" in added:  # else the command says itself where it is
                        error.add_note(_remedy(place, error))
                    raise

        kept = [each for name, each in own.parameters.items() if name != _PLACE]
        # Typer reads the options from the signature of the function that it is given.
        command.__dict__["__signature__"] = own.replace(
            parameters=[*kept, *timed, *added.values()], return_annotation=None
        )
        return command

    return decorate
