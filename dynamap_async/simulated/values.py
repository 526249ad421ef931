"""Attribute values in wire form: which are admitted, what they weigh, and how they compare.

Sizes: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable
from typing import Any, TypeAlias

from dynamap_async.simulated import numbers
from dynamap_async.simulated.errors import Refused, invalid, invalid_value

Value: TypeAlias = dict[str, Any]
"""One value: its type -> its content."""
Item: TypeAlias = dict[str, Value]

LEVELS = 32
_SETS = {"SS": "string", "NS": "number", "BS": "binary"}


def wrong_json(found: object, wanted: str) -> Refused:
    """Return the refusal of a JSON value of the wrong type."""
    if isinstance(found, bool):
        kind = "TRUE_VALUE" if found else "FALSE_VALUE"
    elif isinstance(found, int | float):
        kind = "NUMBER_VALUE"
    elif isinstance(found, str):
        kind = "STRING_VALUE"
    elif isinstance(found, list):
        return Refused("SerializationException", "Unexpected field type")
    else:
        return Refused("SerializationException", "Start of structure or map found where not expected.")
    return Refused("SerializationException", f"{kind} cannot be converted to {wanted}")


def text_size(text: str) -> int:
    """Return the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def bytes_of(text: object) -> bytes:
    """Return what Base64 stands for.

    Raises:
        Refused: it is no Base64.
    """
    if not isinstance(text, str):
        raise wrong_json(text, "Blob")
    try:
        return a2b_base64(text, strict_mode=True)
    except (Base64Error, ValueError):
        raise Refused(
            "SerializationException", "Invalid base64 encoded text; it can not be converted to Blob"
        ) from None


def admit_item(item: Item) -> int:
    """Check an item, give its numbers their one spelling, in place, and return its size in bytes.

    Raises:
        Refused: a value is none.
    """
    return _members(item, 1)


def _members(members: dict[str, Any], level: int) -> int:
    """Return the size of attributes, or of the members of a map, at a level."""
    size = 0
    for value in members.values():
        size += admit(value, level)
    return size + text_size("".join(members))


def admit(value: Any, level: int = 1) -> int:
    """Check a value, give its numbers their one spelling, in place, and return its size in bytes.

    Args:
        value: in wire form.
        level: how deep it lies; 1 for an attribute.

    Raises:
        Refused: it is none, or lies deeper than 32 levels.
    """
    if value.__class__ is not dict:
        raise wrong_json(value, "AttributeValue")
    tagged: Value = value
    if len(tagged) != 1:
        raise _not_one(tagged)
    for tag, content in tagged.items():
        if content.__class__ is str:  # as most are (benchmarks: engine)
            if tag == "S":
                return len(content) if content.isascii() else len(content.encode())
            if tag == "N":
                tagged["N"], size = numbers.weighed(content)
                return size
        if tag in _WEIGH:
            return _WEIGH[tag](tagged, content, level)
    raise invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")


def _not_one(value: Value) -> Refused:
    known = [tag for tag in value if tag in _WEIGH]
    if not known:
        return invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
    return invalid(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
    )


def _no_text(_value: Value, content: Any, _level: int) -> int:
    raise wrong_json(content, "String")


def _binary(_value: Value, content: Any, _level: int) -> int:
    return len(bytes_of(content))


def _bool(_value: Value, content: Any, _level: int) -> int:
    if type(content) is not bool:
        raise wrong_json(content, "Boolean")
    return 1


def _null(_value: Value, content: Any, _level: int) -> int:
    if type(content) is not bool:
        raise wrong_json(content, "Boolean")
    if not content:
        raise invalid_value("Null attribute value types must have the value of true")
    return 1


def _deeper(level: int) -> int:
    if level >= LEVELS:
        raise invalid("Nesting Levels have exceeded supported limits")
    return level + 1


def _list(_value: Value, content: Any, level: int) -> int:
    if content.__class__ is not list:
        raise wrong_json(content, "List")
    elements: list[Any] = content
    size, below = 3 + len(elements), _deeper(level) if elements else level
    for each in elements:
        size += admit(each, below)
    return size


def _map(_value: Value, content: Any, level: int) -> int:
    if content.__class__ is not dict:
        raise wrong_json(content, "Map")
    members: dict[str, Any] = content
    return 3 + len(members) + _members(members, _deeper(level)) if members else 3


def _set(value: Value, content: Any, _level: int) -> int:
    [tag] = value
    if content.__class__ is not list:
        raise wrong_json(content, "List")
    given: list[Any] = content
    if not given:
        if tag == "BS":
            raise invalid_value("Binary sets should not be empty")
        raise invalid_value(f"An {_SETS[tag]} set  may not be empty")
    for each in given:
        if type(each) is not str:
            raise wrong_json(each, "Blob" if tag == "BS" else "String")
    members: list[Any] = given
    if tag == "NS":
        weighed = [numbers.weighed(each) for each in given]
        value["NS"] = members = [text for text, _size in weighed]
        size = sum(each for _text, each in weighed)
    elif tag == "BS":
        members = [bytes_of(each) for each in given]
        size = sum(map(len, members))
    else:
        size = text_size("".join(given))
    if len(set(members)) != len(given):
        if tag == "NS":
            raise invalid("Input collection contains duplicates")
        raise invalid_value(f"Input collection [{', '.join(given)}] contains duplicates.")
    return size


_WEIGH: dict[str, Callable[[Value, Any, int], int]] = {
    "S": _no_text,
    "N": _no_text,
    "B": _binary,
    "BOOL": _bool,
    "NULL": _null,
    "L": _list,
    "M": _map,
    "SS": _set,
    "NS": _set,
    "BS": _set,
}


def size_of(value: Value) -> int:
    """Return the size in bytes of a value that was admitted."""
    return admit(value, -LEVELS * 2)


def same(left: Value, right: Value) -> bool:
    """Return whether two admitted values are equal. The order of a set's members says nothing."""
    [(tag, one)] = left.items()
    other = right.get(tag)
    if other is None:
        return False
    if tag in _SETS:
        return len(one) == len(other) and set(one) == set(other)
    if tag == "L":
        return len(one) == len(other) and all(map(same, one, other))
    if tag == "M":
        return one.keys() == other.keys() and all(same(each, other[name]) for name, each in one.items())
    return bool(one == other)


def comparable(value: Value) -> Any:
    """Return what sorts as a text, number or binary value does."""
    [(tag, content)] = value.items()
    if tag == "N":
        return numbers.compared(content)
    if tag == "B":
        return a2b_base64(content)
    return content  # Python sorts texts by code point, and so as UTF-8 does


def key_bytes(value: Value) -> bytes:
    """Return bytes that sort as a text, number or binary value does among those of its type."""
    [(tag, content)] = value.items()
    if tag == "S":
        encoded: bytes = content.encode()
        return encoded
    return numbers.ordered(content) if tag == "N" else a2b_base64(content)
