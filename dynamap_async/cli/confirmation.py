"""Asking before something is changed or takes much, and who may go on without."""

from typing import Final

import typer

from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.loop import run
from dynamap_async.cli.output import can_ask, tell
from dynamap_async.cli.place import Place

ASKED_READ_UNITS: Final = 1_000.0
"""Who reads a table that takes so many read units is asked before."""


def confirm_reading(table: str, items: int, read_units: float) -> None:
    """Ask whether a whole table is to be read, if that takes many units.

    Args:
        table: the full table name.

    Raises:
        CommandError: nobody agreed.
    """
    if read_units < ASKED_READ_UNITS:
        return
    told = f"{table} has about {items:,} items; to read them takes about {read_units:,.0f} read units"
    if not can_ask():
        raise CommandError(
            f"Nothing was read: {told}, and there is no terminal to ask at; add --yes, or --max-read-units",
            Status.REFUSED,
        )
    if not typer.confirm(f"{told}. Go on?", err=True):
        raise CommandError("Nothing was read.", Status.REFUSED)


def confirm(place: Place, question: str, *, yes: bool, yes_in: str | None) -> None:
    """Ask whether to go on, unless an option has said so; in a guarded environment its name is typed.

    Before a change of a guarded environment in AWS, it tells whose credentials are used.

    Args:
        yes: whether nobody is asked, where the environment is not guarded.
        yes_in: the environment in which nobody is asked, guarded or not.

    Raises:
        CommandError: nobody agreed.
    """
    name = place.environment.value
    # Only AWS tells whose credentials these are; an engine takes any.
    if place.is_guarded and place.settings["endpoint_url"].value is None:
        tell(f"You are {run(_identity(place)) or 'unknown: AWS did not tell whose credentials these are'}")
    if yes_in is not None:
        if yes_in != name:
            here = f"this is {name}" if name else "no environment is meant here"
            raise CommandError(f"Nothing was changed: --yes-in {yes_in}, but {here}.", Status.REFUSED)
        return
    if yes and not place.is_guarded:
        return
    if not can_ask():
        wanted = f"--yes-in {name}" if place.is_guarded else "--yes"
        raise CommandError(f"Nothing was changed: there is no terminal to ask at; add {wanted}", Status.REFUSED)
    if place.is_guarded:
        answer: str = typer.prompt(f"{question} Type its name to go on", default="", err=True)
        agreed = answer.strip() == name
    else:
        agreed = typer.confirm(question, err=True)
    if not agreed:
        raise CommandError("Nothing was changed.", Status.REFUSED)


async def _identity(place: Place) -> str | None:
    from dynamap_async.transport import caller_identity

    region, profile = (place.settings[name].value for name in ("region", "profile"))
    return await caller_identity(region=region, profile=profile)
