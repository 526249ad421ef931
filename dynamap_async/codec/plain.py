"""Any value by its run-time type, and any attribute value by its tag: for data that no annotation describes.

The stored form of a datetime, UUID, enum or tuple says nothing of its type: ``decode_any`` gives back text, numbers,
bytes, sets, lists and dicts only.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, cast
from uuid import UUID

from dynamap_async.codec.encode_errors import abbreviate, refusal
from dynamap_async.codec.instants import duration_text, instant_text
from dynamap_async.codec.map_keys import any_key_text
from dynamap_async.codec.numbers import number_text, parse_number
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.wire import AttributeValue

_SET_TAGS: Final = {"S": "SS", "N": "NS", "B": "BS"}


def encode_any(value: object) -> AttributeValue:
    """Return the attribute value of a plain Python value, chosen by the value's own type.

    Args:
        value: None, bool, a number, text, bytes, a date or time, a UUID, an enum member, or a set, list, tuple or
            mapping of these. A set of one of text, numbers or bytes is stored as a set, any other as a list.

    Raises:
        EncodeError: a value has another type, or cannot be stored; ``path`` says where it is.
    """
    try:
        return _encode(value)
    except RecursionError:
        raise EncodeError("the value contains itself, or is nested too deeply; DynamoDB stores 32 levels") from None


def decode_any(value: AttributeValue) -> Any:
    """Return an attribute value as a plain Python value.

    Returns:
        str, int or Decimal, bytes, bool, None, a set of str, numbers or bytes, a list, or a dict.

    Raises:
        DecodeError: the attribute value is malformed.
    """
    try:
        [(tag, content)] = value.items()
        decode = _DECODERS[tag]
    except (LookupError, ValueError, TypeError, AttributeError):
        raise DecodeError(f"expected an attribute value with exactly one known type, got {abbreviate(value)}") from None
    try:
        return decode(content)
    except DecodeError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise DecodeError(f"stored {tag} value {abbreviate(content)} is malformed: {error}") from error


def readable(value: AttributeValue) -> Any:
    """Return an attribute value as errors show it: as a plain Python value, or as it is stored if it is malformed."""
    try:
        return decode_any(value)
    except DecodeError:
        return value


def readable_key(item: Mapping[str, AttributeValue], names: Iterable[str]) -> dict[str, Any]:
    """Return the key of an item as errors show it: stored name -> readable value.

    Args:
        item: the item, which may lack attributes of the key.
        names: the stored names of the key's attributes.
    """
    return {name: readable(item[name]) for name in names if name in item}


def binary_text(value: bytes | bytearray | memoryview) -> str:
    """Return bytes in base64."""
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def parse_binary(text: str) -> bytes:
    """Return the bytes of base64 text; raises ValueError for anything else."""
    return binascii.a2b_base64(text, strict_mode=True)


def _encode(value: object) -> AttributeValue:
    return _ENCODERS.get(type(value), _encode_other)(value)


def _encode_other(value: object) -> AttributeValue:
    for kind, candidate in _BASES:
        if isinstance(value, kind):
            return candidate(value)
    raise refusal(
        "storable value", value, "convert it to text, a number, bytes, a list or a dict, or store it as JSON text"
    )


def _encode_list(value: Sequence[object]) -> AttributeValue:
    elements: list[AttributeValue] = []
    for element in value:
        try:
            elements.append(_ENCODERS.get(type(element), _encode_other)(element))
        except EncodeError as error:
            raise error.at(len(elements)) from error.__cause__
    return {"L": elements}


def _encode_mapping(value: Mapping[Any, object]) -> AttributeValue:
    members: dict[str, AttributeValue] = {}
    for key, member in value.items():
        name = key if type(key) is str else any_key_text(key)
        try:
            members[name] = _ENCODERS.get(type(member), _encode_other)(member)
        except EncodeError as error:
            raise error.at(name) from error.__cause__
    if len(members) != len(value):
        raise EncodeError("two keys of the dict would be stored as the same text; use keys of one type")
    return {"M": members}


def _encode_set(value: AbstractSet[Any]) -> AttributeValue:
    members = [_encode(member) for member in value]
    tags = {tag for member in members for tag in member}
    if len(tags) != 1:
        return {"L": sorted(members, key=repr)}
    tag = tags.pop()
    if tag not in _SET_TAGS:
        return {"L": sorted(members, key=repr)}
    texts = sorted({cast("dict[str, str]", member)[tag] for member in members})
    return cast("AttributeValue", {_SET_TAGS[tag]: texts})


_BASES: Final[tuple[tuple[type, Callable[[Any], AttributeValue]], ...]] = (
    (Enum, lambda value: _encode(value.value)),
    (str, lambda value: {"S": str.__str__(value)}),
    (bool, lambda value: {"BOOL": value}),
    (int, lambda value: {"N": number_text(value)}),
    (float, lambda value: {"N": number_text(value)}),
    (Decimal, lambda value: {"N": number_text(value)}),
    (type(None), lambda _value: {"NULL": True}),
    (datetime, lambda value: {"S": instant_text(value)}),
    (date, lambda value: {"S": date.isoformat(value)}),
    (time, lambda value: {"S": time.isoformat(value)}),
    (timedelta, lambda value: {"N": duration_text(value)}),
    (UUID, lambda value: {"S": str(value)}),
    (bytes, lambda value: {"B": binary_text(value)}),
    (bytearray, lambda value: {"B": binary_text(value)}),
    (memoryview, lambda value: {"B": binary_text(value)}),
    (dict, _encode_mapping),
    (list, _encode_list),
    (tuple, _encode_list),
    (AbstractSet, _encode_set),
    (Mapping, _encode_mapping),
)

_ENCODERS: Final[dict[type, Callable[[Any], AttributeValue]]] = {
    **dict(_BASES),
    str: lambda value: {"S": value},
    int: lambda value: {"N": str(value) if -(10**18) < value < 10**18 else number_text(value)},
    set: _encode_set,
    frozenset: _encode_set,
}


def _decode_text(content: Any) -> str:
    if type(content) is not str:
        raise ValueError("text expected")
    return content


def _decode_boolean(content: Any) -> bool:
    if content is not True and content is not False:
        raise ValueError("true or false expected")
    return content


def _decode_null(content: Any) -> None:
    if content is not True:
        raise ValueError("true expected")


_DECODERS: Final[dict[str, Callable[[Any], Any]]] = {
    "S": _decode_text,
    "N": parse_number,
    "B": parse_binary,
    "BOOL": _decode_boolean,
    "NULL": _decode_null,
    "SS": set,
    "NS": lambda content: {parse_number(text) for text in content},
    "BS": lambda content: {parse_binary(text) for text in content},
    "L": lambda content: [decode_any(element) for element in content],
    "M": lambda content: {name: decode_any(member) for name, member in content.items()},
}


def order_key(value: AttributeValue) -> tuple[str, Any]:
    """Return something that sorts as DynamoDB sorts key values: text by UTF-8 bytes, numbers by value, binary by bytes.

    Values of different types compare by the name of their type, so that the result is always defined.
    """
    if "S" in value:
        return "S", value["S"].encode()
    if "N" in value:
        return "N", Decimal(parse_number(value["N"]))
    if "B" in value:
        return "B", parse_binary(value["B"])
    return str(next(iter(value))), 0
