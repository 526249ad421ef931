"""JSON as the library reads and writes it, with the native codec and without."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from dynamap_async.native import JSON_ITEM, NATIVE

_TOO_LARGE: Final = 2**63


class Spliced:
    """A part of a request's body that is JSON already.

    Args:
        text: the JSON.
    """

    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        self.text: Final = text


def read_json(text: bytes) -> Any:
    """Return what a JSON text says.

    Raises:
        ValueError: it is no JSON in UTF-8, has half of a surrogate pair, or is nested too deep.
    """
    return from_json(text, allow_inf_nan=False, cache_strings="keys")


def _written(value: object) -> bytes:
    # Of a body, whose items have their numbers as texts, a limit may be of any size.
    members = cast("dict[str, object]", value).values() if isinstance(value, dict) else ()
    if any(isinstance(each, int) and each >= _TOO_LARGE for each in members):
        raise TypeError("a whole number of more than 64 bits")
    try:
        return to_json(value, inf_nan_mode="null", fallback=_spliced)
    except PydanticSerializationError as error:
        raise TypeError(str(error)) from None


def _spliced(value: object) -> Any:
    if type(value) is Spliced:
        return read_json(value.text)
    raise TypeError(f"a value of type {type(value).__name__}")


write_json: Final[Callable[[object], bytes]] = _written if NATIVE is None else partial(NATIVE.write_json, Spliced)
"""Return the JSON of a value: TypeError where a part of it has none, such as a text with half of a surrogate pair."""


def json_of(item: Any) -> bytes:
    """Return the JSON of an item in wire form."""
    text: bytes = item.json if type(item) is JSON_ITEM else write_json(item)
    return text


def json_bytes(item: Any) -> int:
    """Return the length of the JSON of an item in wire form."""
    length: int = item.json_bytes if type(item) is JSON_ITEM else len(write_json(item))
    return length
