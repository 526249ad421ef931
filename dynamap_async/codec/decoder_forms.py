"""What decoders do, as data, for the native codec.

A decoder of a type that stored values have a form for carries its description. Of any other, and of all that do not
have one, it is known only that it can be called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from dynamap_async.wire import AttributeValue

_DecodeT = TypeVar("_DecodeT", bound=Callable[[Any], Any])
Decode: TypeAlias = Callable[[AttributeValue], Any]

DecoderKind: TypeAlias = Literal[
    "text", "dated", "integer", "floating", "boolean", "texts", "list", "map", "fields", "optional", "any", "other"
]


class Form(NamedTuple):
    """What a decoder takes, and what it makes of it."""

    kind: DecoderKind
    """What stands after the type: ``text``, also that of a number; ``dated`` text, of which the decoder judges what
    does not begin with a year and a hyphen; a number as ``integer`` or ``floating``; ``texts`` of a set. ``optional``
    is NULL or what ``inner`` takes; ``any`` makes a plain value by its own type, through ``function`` where that is
    less usual; ``other`` is known to the decoder alone."""

    tag: str = ""
    """The stored type; empty where it is not one."""

    function: Callable[[Any], Any] | None = None
    """What makes the value of that; None where it is the value."""

    inner: Decode | None = None
    """The decoder of the elements, the values or the alternative to NULL."""

    fields: Sequence[tuple[str, str, Decode]] = ()
    """Of ``fields`` the stored name, the name in Python and the decoder of each."""

    absent: Mapping[str, Callable[[], Any]] | None = None
    """Of these, name in Python -> what makes the value of one that is absent, where decoding says so."""

    drops: bool = True
    """Whether members that are no fields are left out, and counted."""

    keeps: bool = False
    """Whether the text of a number is given that is no plain one; otherwise the decoder has to judge it."""


_FORM: Final = "__form__"

INTEGER_TEXT: Final[Callable[[AttributeValue], Any]] = itemgetter("N")
"""Decodes a number to its text, of which Pydantic makes an int; so it may be one already."""

FLOAT_TEXT: Final[Callable[[AttributeValue], Any]] = itemgetter("N")
"""Decodes a number to its text, of which Pydantic makes a float; so it may be one already."""

_OF_CONTENT: Final[Mapping[str, DecoderKind]] = {"S": "text", "N": "text", "BOOL": "boolean", "SS": "texts"}


def described(decode: _DecodeT, form: Form) -> _DecodeT:
    """Say what a decoder does, and return it."""
    vars(decode)[_FORM] = form
    return decode


def tag_of(decode: Callable[[Any], Any]) -> Any:
    """Return the tag whose content a decoder gives as it is stored; None where it does more than that."""
    return decode.__reduce__()[1][0] if isinstance(decode, itemgetter) else None  # what it was made of


def form_of(decode: Callable[[Any], Any]) -> Form:
    """Return what a decoder does."""
    if decode is INTEGER_TEXT:
        return Form("integer", "N", keeps=True)
    if decode is FLOAT_TEXT:
        return Form("floating", "N", keeps=True)
    tag = tag_of(decode)
    if tag in _OF_CONTENT:
        return Form(_OF_CONTENT[tag], tag)
    found: Form = getattr(decode, _FORM, OTHER)
    return found


OTHER: Final = Form("other")
"""The form of what only a decoder knows."""
