"""The keys of stored maps: always text in DynamoDB, given back as the type that the program declared.

Not to be mistaken for the key attributes of an item, which keep their stored type.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NamedTuple
from uuid import UUID

from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.instants import instant_text, parse_instant, zoned_text
from dynamap_async.codec.numbers import number_text
from dynamap_async.errors import DecodeError


class MapKey(NamedTuple):
    """How the keys of a mapping are written as text."""

    label: str
    """The Python type as messages name it."""

    encode: Callable[[Any], str]
    """Python key -> text; raises EncodeError."""

    decode: Callable[[str], Any]
    """Text -> Python key; raises LookupError, ValueError or ArithmeticError."""


def map_key(kind: type[Any]) -> MapKey | None:
    """Return the text form of a type of map key, or None if keys cannot have that type.

    Args:
        kind: str, int, bool, float, Decimal, UUID, date, datetime, time, or an enum of text or whole numbers.
    """
    if issubclass(kind, Enum):
        return _enum_key(kind)
    if kind is str:
        return TEXT_KEY
    if kind is datetime:
        return _checked(kind, zoned_text, parse_instant)
    found = _KEYS.get(kind)
    return None if found is None else _checked(kind, *found)


def any_key_text(key: object) -> str:
    """Return the text of a map key of any type that has one.

    Raises:
        EncodeError: keys cannot have that type.
    """
    if isinstance(key, Enum):
        return any_key_text(key.value)
    for kind, (write, _read) in _KEYS.items():
        if isinstance(key, kind):
            return write(key)
    raise refusal("str as the key of a map", key)


def _checked(kind: type[Any], write: Callable[[Any], str], read: Callable[[str], Any]) -> MapKey:
    label = f"{kind.__name__} as the key of a map"
    lookalikes = _LOOKALIKES.get(kind, ())

    def encode(key: Any) -> str:
        # bool is an int and datetime is a date to isinstance, but not here.
        if not isinstance(key, kind) or isinstance(key, lookalikes):
            raise refusal(label, key)
        return write(key)

    return MapKey(label=kind.__name__, encode=encode, decode=read)


def _enum_key(kind: type[Enum]) -> MapKey | None:
    texts = {member: any_key_text(member.value) for member in kind if isinstance(member.value, str | int)}
    members = {text: member for member, text in texts.items()}
    if len(members) != len(kind):
        return None

    def encode(key: Any) -> str:
        try:
            return texts[kind(key)]
        except (ValueError, LookupError):
            raise refusal(f"{kind.__name__} as the key of a map", key) from None

    return MapKey(label=kind.__name__, encode=encode, decode=members.__getitem__)


def _read_integer(text: str) -> int:
    number = int(text)
    if int.__repr__(number) != text:  # as in "07", which a path to the key 7 does not find
        raise DecodeError(f"map key {text!r} is not the text of a whole number")
    return number


def _read_boolean(text: str) -> bool:
    if text not in {"true", "false"}:
        raise DecodeError(f"map key {text!r} is neither true nor false")
    return text == "true"


_LOOKALIKES: Final[dict[type, type]] = {int: bool, date: datetime}

# In the order in which an unknown key is tried: subclasses before their bases.
_KEYS: Final[dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]]] = {
    str: (str.__str__, str),
    bool: (lambda key: "true" if key else "false", _read_boolean),
    int: (int.__repr__, _read_integer),
    float: (number_text, float),
    Decimal: (number_text, Decimal),
    UUID: (str, UUID),
    datetime: (instant_text, parse_instant),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
}

TEXT_KEY: Final = _checked(str, *_KEYS[str])
"""The form of keys that are text already."""
