"""Misfits: what it means that DynamoDB cannot add to what is stored."""

from collections.abc import Iterable, Sequence
from typing import Final

from dynamap_async.errors import RequestRejectedError, ServiceError
from dynamap_async.expressions import Action, Add, Call, Delete, Path, Set, Sum

_REFUSALS: Final = ("incorrect data type", "incorrect operand type")
"""How the service and the local engines word it, in small letters."""


def explained_misfit(error: ServiceError, actions: Sequence[Action]) -> ServiceError:
    """Return the error of an update, with the remedy where a stored NULL, or a list for a set, is not added to."""
    paths = list(dict.fromkeys(_changed_in_place(actions)))
    if paths and isinstance(error, RequestRejectedError) and any(each in str(error).lower() for each in _REFUSALS):
        first = paths[0]
        error.add_note(
            "where absence would read back as something else, None is stored as NULL, and an empty set as NULL or as a "
            "list: DynamoDB adds nothing to these, nor takes anything from them; if that is what "
            f"{' or '.join(map(str, paths))} holds, give it a value first: .set({first}, value)"
        )
    return error


def _changed_in_place(actions: Iterable[Action]) -> Iterable[Path]:
    for action in actions:
        match action:
            case Add(path=path) | Delete(path=path) | Set(path=path, source=Sum() | Call(name="list_append")):
                yield path
            case _:
                pass
