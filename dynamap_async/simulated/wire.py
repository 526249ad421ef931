"""JSON as the simulated service reads and writes it. Items are kept as JSON, and joined into answers as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pydantic_core import from_json, to_json

from dynamap_async.simulated.errors import Refused


def read(text: bytes) -> Any:
    """Return what a JSON text says.

    Raises:
        Refused: it is no JSON.
    """
    try:
        return from_json(text, cache_strings="keys")  # values seldom occur again
    except ValueError:
        raise Refused("SerializationException", "") from None


def write(value: object) -> bytes:
    """Return the JSON text of a value."""
    return to_json(value)


def listed(texts: Iterable[bytes]) -> bytes:
    """Return the JSON text of a list, of those of its elements."""
    return b"[" + b",".join(texts) + b"]"


def answer(members: dict[str, Any]) -> bytes:
    """Return the JSON text of an answer.

    Args:
        members: name -> value; None leaves a member out, bytes are JSON texts already, and a tuple has those of the
            elements of a list.
    """
    parts = list[bytes]()
    for name, value in members.items():
        if value is not None:
            parts.append(b'%s"%s":' % (b"," if parts else b"{", name.encode()))
            if type(value) is tuple:
                parts.append(listed(cast("tuple[bytes, ...]", value)))
            else:
                parts.append(value if type(value) is bytes else write(value))
    return b"".join(parts) + b"}" if parts else b"{}"
