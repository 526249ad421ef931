"""``dynamap engine install``: gets the native engine."""

import os
from typing import Annotated

import typer

from dynamap_async.cli.endings import ending
from dynamap_async.cli.help import Command, group
from dynamap_async.cli.output import show

engine: typer.Typer = group("engine")


@engine.callback()
def _engine() -> None:
    """Install the native engine, a fast local DynamoDB."""


@engine.command(cls=Command)
def install(
    *, force: Annotated[bool, typer.Option("--force", help="Download it again even if it is installed.")] = False
) -> None:
    """Download the native engine, dynoxide, from the npm registry.

    The download is checked against a known hash, and needs no Node. Tests and `dynamap local` find it in your cache
    folder. Its licence is MIT OR Apache-2.0.
    """
    from dynamap_async.testing.native_program import VERSION, install_program, installed_program

    program = installed_program()
    if os.access(program, os.X_OK) and not force:
        show(f"dynoxide {VERSION} is there already: {program}")
        return
    with ending("Interrupted: nothing was installed."):
        show(f"dynoxide {VERSION} is installed: {install_program()}")
