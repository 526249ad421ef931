"""The command line, ``dynamap``. This file is its way in; it works, and helps, without the extras installed."""

import errno
import os
import sys

from dynamap_async.cli.extras import MissingExtraError

__all__ = ["main"]


def main() -> None:
    """Run ``dynamap`` with the arguments of the process, and exit."""
    try:
        from dynamap_async.cli.app import app
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{MissingExtraError.of(error)}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted: nothing was started.\n")
        sys.exit(130)
    try:
        app()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.stderr.write(f"The output could not be written: {error.strerror}. Make room, or send it elsewhere.\n")
        # What the buffer still holds would fail once more at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
