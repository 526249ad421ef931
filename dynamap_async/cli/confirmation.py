"""Asking before something is changed, and who may go on without."""

import typer

from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import can_ask
from dynamap_async.cli.place import Place


def confirm(place: Place, question: str, *, yes: bool, yes_in: str | None) -> None:
    """Ask whether to go on, unless an option has said so; in a guarded environment its name is typed.

    Args:
        place: where something is to be changed.
        question: what is asked.
        yes: whether nobody is asked, where the environment is not guarded.
        yes_in: the environment in which nobody is asked, guarded or not.

    Raises:
        CommandError: nobody agreed.
    """
    name = place.environment.value
    if yes_in is not None:
        if yes_in != name:
            here = f"this is {name}" if name else "no environment is meant here"
            raise CommandError(f"Nothing was changed: --yes-in {yes_in}, but {here}.", Status.REFUSED)
        return
    if yes and not place.is_guarded:
        return
    if not can_ask():
        wanted = f"--yes-in {name}" if place.is_guarded else "--yes"
        raise CommandError(f"Nothing was changed: there is no terminal to ask on, so add {wanted}", Status.REFUSED)
    if place.is_guarded:
        answer: str = typer.prompt(f"{question} Type its name to go on", default="", err=True)
        agreed = answer.strip() == name
    else:
        agreed = typer.confirm(question, err=True)
    if not agreed:
        raise CommandError("Nothing was changed.", Status.REFUSED)
