"""Sizes as people write them, and the sizes of items in JSON."""

import json
import math
import re
from decimal import Decimal
from typing import Any, Final, cast

from dynamap_async.codec import abbreviate, check_item, decode_any, encode_any
from dynamap_async.errors import DecodeError, DynamapError
from dynamap_async.limits import ITEM_SIZE_BYTES, NESTING_LEVELS
from dynamap_async.wire import AttributeValue, WireItem

_UNITS: Final = {"": 1, "B": 1, "K": 1024, "M": 1024**2}
# A comma separates thousands; where it would be a decimal point (3,5KB) the text is refused, not misread.
_SIZE: Final = re.compile(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)\s*(B|[KM](?:i?B)?|)", re.IGNORECASE)
_CONTENTS: Final[dict[str, tuple[type[Any], str]]] = {
    **dict.fromkeys(("S", "N", "B"), (str, "text")),
    **dict.fromkeys(("BOOL", "NULL"), (bool, "true or false")),
    **dict.fromkeys(("SS", "NS", "BS", "L"), (list, "an array")),
    "M": (dict, "an object"),
}
_SETS: Final = frozenset({"SS", "NS", "BS"})


def parse_size(text: str) -> int:
    """Return a size in bytes, a fraction of a byte rounded up: ``3.5KB`` is 3,584, for DynamoDB's KB has 1,024 bytes.

    Raises:
        ValueError: the text is no size, or no item is as large.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a size; write it in bytes or KB, as in 800, 800B or 3.5KB")
    number, unit = Decimal(found[1].replace(",", "")), found[2][:1].upper()
    size = math.ceil(number * _UNITS[unit])
    if not 1 <= size <= ITEM_SIZE_BYTES:
        raise ValueError(f"{text!r} is {size:,} bytes; an item has 1 to {ITEM_SIZE_BYTES:,} (400 KB)")
    return size


def measure(content: bytes) -> tuple[int, str]:
    """Return the size in bytes of an item in JSON, and how it was read.

    Args:
        content: one object. If every member of it is an attribute value such as ``{"S": "x"}`` it is taken for
            DynamoDB's JSON, also inside an ``Item`` as GetItem answers; otherwise its values are the attributes'.

    Raises:
        ValueError: it is no JSON, no object, or nothing that DynamoDB would store.
    """
    try:
        # As Decimal, because a float could change the digits that DynamoDB counts.
        item = json.loads(content, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not JSON: {error}; give one item as a JSON object") from error
    if not isinstance(item, dict) or not item:
        raise ValueError("this is not an item; give one JSON object with at least one attribute")
    members = cast("dict[str, Any]", item)
    inner = members.get("Item")
    if isinstance(inner, dict) and _is_wire(cast("dict[str, Any]", inner)):
        members = cast("dict[str, Any]", inner)
    wire = _is_wire(members)
    try:
        size = check_item(_checked(members) if wire else _encoded(members))
    except DynamapError as error:
        raise ValueError(str(error)) from error
    except RecursionError as error:
        raise ValueError(f"the value is nested too deeply; DynamoDB stores {NESTING_LEVELS} levels") from error
    return size, "DynamoDB's JSON" if wire else "plain JSON"


def _is_wire(members: dict[str, Any]) -> bool:
    return bool(members) and all(map(_is_tagged, members.values()))


def _is_tagged(value: object) -> bool:
    names = list(cast("dict[str, Any]", value)) if isinstance(value, dict) else []
    return len(names) == 1 and names[0] in _CONTENTS


def _checked(members: dict[str, AttributeValue]) -> WireItem:
    _refuse_unstorable(members)
    # Through Python and back: what is malformed is refused, and numbers get the form that DynamoDB stores.
    return {name: encode_any(decode_any(value)) for name, value in members.items()}


def _refuse_unstorable(members: dict[str, AttributeValue]) -> None:
    """Raise DecodeError for values that decoding accepts because DynamoDB never answers with them."""
    values: list[Any] = [*members.values()]
    while values:
        value = values.pop()
        if not _is_tagged(value):
            continue  # decoding says what is expected
        [(tag, content)] = value.items()
        kind, expected = _CONTENTS[tag]
        if not isinstance(content, kind):
            raise DecodeError(f"{tag} value {abbreviate(content)} is malformed: expected {expected}")
        if tag in _SETS:
            _refuse_unstorable_set(value, tag, content)
        values += content if tag == "L" else content.values() if tag == "M" else ()


def _refuse_unstorable_set(value: AttributeValue, tag: str, members: list[Any]) -> None:
    if not members:
        raise DecodeError(f"{tag} value [] is malformed: DynamoDB stores no empty set; leave the attribute out")
    for member in members:
        if not isinstance(member, str):
            raise DecodeError(
                f"{tag} value {abbreviate(members)} is malformed: expected strings, got {abbreviate(member)}"
            )
    # DynamoDB refuses duplicates in a set; decoding would only drop them.
    if len(decode_any(value)) < len(members):
        raise DecodeError(f"{tag} value {abbreviate(members)} is malformed: a set contains each member once")


def _encoded(members: dict[str, Any]) -> WireItem:
    return {name: encode_any(value) for name, value in members.items()}
