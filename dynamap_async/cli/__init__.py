"""The command line, ``dynamap``. This file is its way in; it works, and helps, without the extras installed."""

import errno
import os
import sys

from dynamap_async.cli.extras import MissingExtraError

__all__ = ["main"]


def main() -> None:
    """Run ``dynamap`` with the arguments of the process, and exit."""
    try:
        try:
            if "_DYNAMAP_COMPLETE" not in os.environ:  # with it, a shell asks
                _answer(sys.argv[1:])
            from dynamap_async.cli.app import app
        except ModuleNotFoundError as error:
            sys.stderr.write(f"{MissingExtraError.of(error)}\n")
            sys.exit(2)
        except KeyboardInterrupt:
            sys.stderr.write("Interrupted: nothing was started.\n")
            sys.exit(130)
        app(prog_name="dynamap")
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EPIPE):
            raise
        # What the buffer still holds would fail once more at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            sys.exit(0)  # whoever read it has enough
        sys.stderr.write(f"The output could not be written: {error.strerror}. Make room, or send it elsewhere.\n")
        sys.exit(1)


def _answer(arguments: list[str]) -> None:
    """Print the version, the help or what is wrong with the command's name, and exit; return if there is a command."""
    match arguments:
        case ["--version"]:
            from dynamap_async import __version__

            sys.stdout.write(f"dynamap_async {__version__}\n")
        case ["--help" | "-h"]:
            from dynamap_async.cli.commands import overview

            sys.stdout.write(overview())
        case []:
            from dynamap_async.cli.commands import overview

            sys.stderr.write(overview())
            sys.exit(2)
        case [name, *_] if not name.startswith("-"):
            from dynamap_async.cli.commands import COMMANDS, unknown

            if name in COMMANDS:
                return
            sys.stderr.write(unknown(name))
            sys.exit(2)
        case _:
            return
    sys.stdout.flush()
    sys.exit(0)
