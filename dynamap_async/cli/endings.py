"""How commands end: their exit statuses, and the one line that says why."""

from collections.abc import Generator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import typer

from dynamap_async.cli.extras import MissingExtraError
from dynamap_async.errors import DynamapError


class Status(IntEnum):
    """The exit statuses of all commands."""

    DONE = 0
    FAILED = 1
    """An error, which is named."""
    USAGE = 2
    """Wrong usage, a configuration that cannot be read, or an extra that is not installed."""
    DIFFERENT = 3
    """What was compared differs."""
    REFUSED = 4
    """It was not done because nobody allowed it."""
    UNFINISHED = 5
    """A part of it is done; the same command goes on."""
    INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot go on; the message says why, and what to do."""

    def __init__(self, message: str, status: Status = Status.FAILED) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def ending(interrupted: str) -> Generator[None]:
    """End the command with a line on standard error for errors that the user can act on; raise all others.

    Args:
        interrupted: the line that Ctrl-C ends with.
    """
    try:
        yield
    except CommandError as error:
        end(str(error), error.status)
    except MissingExtraError as error:
        end(str(error), Status.USAGE)
    except (KeyboardInterrupt, typer.Abort):  # Typer makes the second of the first while it asks a question
        end(interrupted, Status.INTERRUPTED)
    except (DynamapError, ExceptionGroup) as error:
        first = first_of(error)
        if not isinstance(first, DynamapError):
            raise
        end(line_of(first), Status.FAILED)


def first_of(error: Exception) -> Exception:
    """Return the error itself, or the first error of a group."""
    members: tuple[Exception, ...] = getattr(error, "exceptions", ())
    return first_of(members[0]) if members else error


def line_of(error: Exception) -> str:
    """Return an error's text and its notes as one line."""
    notes: list[str] = getattr(error, "__notes__", [])
    return "; ".join(" ".join(text.split()) for text in (str(error), *notes))


def end(line: str, status: Status) -> NoReturn:
    """End the command with a line on standard error."""
    typer.echo(line, err=True)
    raise typer.Exit(status)
