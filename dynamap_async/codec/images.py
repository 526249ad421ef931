"""Items that other programs wrote down in DynamoDB's JSON: in records of streams, exports and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, cast

from dynamap_async.codec.encode_errors import abbreviate
from dynamap_async.codec.plain import binary_text
from dynamap_async.errors import DecodeError
from dynamap_async.wire import AttributeValue, WireItem


def wire_item(image: object) -> WireItem:
    """Return a copy of an item that is in wire form, checked: nothing of it is taken for what it is not.

    Args:
        image: attribute name -> attribute value, such as ``{"id": {"S": "a"}}``; binary data as base64 text, or as
            bytes, which is how boto3 gives it.

    Raises:
        DecodeError: it is something else; ``path`` says where.
    """
    if not isinstance(image, Mapping):
        raise DecodeError(f'expected an item in DynamoDB JSON, such as {{"id": {{"S": "a"}}}}, got {abbreviate(image)}')
    return _members(cast("Mapping[Any, object]", image))


def _members(members: Mapping[Any, object]) -> WireItem:
    made: WireItem = {}
    for name, member in members.items():
        if not isinstance(name, str):
            raise DecodeError(f"the name of an attribute must be a string, not {abbreviate(name)}")
        try:
            made[name] = _value(member)
        except DecodeError as error:
            raise error.at(name) from None
    return made


def _value(value: object) -> AttributeValue:
    whole: Any = value
    for tag, content in whole.items() if isinstance(value, Mapping) else ():
        make = _CONTENTS.get(tag)
        if make is not None and len(whole) == 1:
            return cast("AttributeValue", {tag: make(content)})
    raise DecodeError(f'expected an attribute value in DynamoDB JSON, such as {{"S": "a"}}, got {abbreviate(whole)}')


def _text(content: object) -> str:
    if not isinstance(content, str):
        raise DecodeError(f"expected a string in it, got {abbreviate(content)}")
    return content


def _binary(content: object) -> str:
    return binary_text(content) if isinstance(content, bytes | bytearray) else _text(content)


def _truth(content: object) -> bool:
    if not isinstance(content, bool):
        raise DecodeError(f"expected true or false in it, got {abbreviate(content)}")
    return content


def _each(make: Callable[[object], Any]) -> Callable[[object], list[Any]]:
    def elements(content: object) -> list[Any]:
        if isinstance(content, str) or not isinstance(content, Sequence | AbstractSet):
            raise DecodeError(f"expected a list in it, got {abbreviate(content)}")
        made: list[Any] = []
        try:
            made.extend(map(make, cast("Sequence[object]", content)))
        except DecodeError as error:
            raise error.at(len(made)) from None  # which is where the faulty one would stand
        return made

    return elements


def _map(content: object) -> WireItem:
    if not isinstance(content, Mapping):
        raise DecodeError(f"expected a map in it, got {abbreviate(content)}")
    return _members(cast("Mapping[Any, object]", content))


_CONTENTS: Final[dict[object, Callable[[object], Any]]] = {
    "S": _text,
    "N": _text,
    "B": _binary,
    "BOOL": _truth,
    "NULL": _truth,
    "SS": _each(_text),
    "NS": _each(_text),
    "BS": _each(_binary),
    "L": _each(_value),
    "M": _map,
}
