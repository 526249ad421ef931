"""``dynamap engine install``: gets the native engine."""

import os
from typing import Annotated

import typer

from dynamap_async.cli.endings import ending
from dynamap_async.cli.output import show

engine: typer.Typer = typer.Typer(
    name="engine", no_args_is_help=True, help="Get the native engine, for tests and trials."
)


@engine.callback()
def _engine() -> None:
    """Keep ``install`` a command of its own, though it is the only one."""


@engine.command()
def install(
    *, force: Annotated[bool, typer.Option("--force", help="Download it again where it is there already.")] = False
) -> None:
    """Download the native engine, dynoxide, from the npm registry: over HTTPS, without Node, checked against a hash.

    It goes into your cache folder, where tests and `dynamap local` find it. It is faster than the embedded engine, and
    closer to DynamoDB. Its licence is MIT OR Apache-2.0.
    """
    from dynamap_async.testing.native_program import VERSION, install_program, installed_program

    program = installed_program()
    if os.access(program, os.X_OK) and not force:
        show(f"dynoxide {VERSION} is there already: {program}")
        return
    with ending("Interrupted: nothing was installed."):
        show(f"dynoxide {VERSION} is installed: {install_program()}")
