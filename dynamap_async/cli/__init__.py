"""The command line, ``dynamap``. This file is its way in; it works, and helps, without the extras installed."""

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
    app()
