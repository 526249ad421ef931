"""The commands of ``dynamap`` as Typer runs them. Each is loaded when it is asked for."""

import os
import sys
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

import dynamap_async
from dynamap_async.cli.commands import COMMANDS, overview, unknown
from dynamap_async.cli.endings import Status, end
from dynamap_async.cli.help import Command, CommandGroup

_SETTINGS: Final = {"help_option_names": ["--help", "-h"], "max_content_width": 100}


def command_of(name: str) -> Any:
    """Return a command as Typer runs it: one, or a group of them.

    Args:
        name: its name, one of ``COMMANDS``.
    """
    module, _, own = COMMANDS[name].home.partition(":")
    found = getattr(import_module(f"dynamap_async.cli.{module}"), own)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=Command)(found)
    return typer.main.get_command(alone)


class _Commands(CommandGroup):
    """All commands, loaded by name."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, or exit with a message if there is none."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in COMMANDS:
            return command_of(cmd_name)
        # The shell asks for completions with resilient parsing, and a message would end up in them.
        return None if ctx.resilient_parsing else end(unknown(cmd_name).rstrip("\n"), Status.USAGE)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the completions of a name, without loading the commands."""
        self.commands = {name: TyperCommand(name, help=entry.summary) for name, entry in COMMANDS.items()}
        return super().shell_complete(ctx, incomplete)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is asked for. That the reader of its output closes the pipe is no error."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # What the buffer still holds would fail once more at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(Status.DONE) from None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, grouped by purpose."""
        formatter.write(overview())


app: typer.Typer = typer.Typer(
    name="dynamap",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_SETTINGS,
)


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
    """Declare the options that need no command."""
