"""How an encoder says no: one sentence with the type that is needed and the value it got, abbreviated.

Owns wording only; the path to the value is added by the containers around it.
"""

from __future__ import annotations

import reprlib
from typing import Any, Final

from dynamap_async.errors import EncodeError

_SHOWN_CHARACTERS: Final = 40

_SHORTENER: Final = reprlib.Repr()
_SHORTENER.maxstring = _SHORTENER.maxother = _SHORTENER.maxlong = _SHOWN_CHARACTERS


def abbreviate(value: object) -> str:
    """Return the value's ``repr`` in at most about 40 characters."""
    text = _SHORTENER.repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."


def refusal(expected: str, value: Any, remedy: str = "", *, hidden: bool = False) -> EncodeError:
    """Return the error for a value of the wrong type.

    Args:
        expected: the type that is needed, as a program writes it.
        value: what was given.
        remedy: what to do about it, if the types alone do not say.
        hidden: name the type of the value only: it may be a secret.
    """
    given = (
        "None" if value is None else type(value).__name__ if hidden else f"{type(value).__name__} {abbreviate(value)}"
    )
    message = f"{expected} expected, got {given}"
    return EncodeError(f"{message}; {remedy}" if remedy else message)
