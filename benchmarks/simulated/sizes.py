"""How many bytes an item has.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

import math
from base64 import b64decode
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

Wire = Mapping[str, Any]
"""Name of an attribute -> its value in wire form."""
EXACT = Context(prec=38)
"""A number of DynamoDB has at most 38 digits."""


def item_bytes(item: Wire) -> int:
    """Return the size of an item: names in UTF-8, and values."""
    return sum(_text(name) + value_bytes(value) for name, value in item.items())


def value_bytes(value: Mapping[str, Any]) -> int:
    """Return the size of one value in wire form."""
    ((tag, content),) = value.items()
    if tag == "S":
        return _text(content)
    if tag in ("L", "M"):
        members = content if tag == "L" else content.values()
        return 3 + sum(1 + value_bytes(member) for member in members) + (sum(map(_text, content)) if tag == "M" else 0)
    if tag in ("SS", "NS", "BS"):
        return sum(map(_SIZES[tag[0]], content))
    return _SIZES[tag](content)


@lru_cache(1024)
def number_bytes(text: str) -> int:
    """Return the size of a number: 1, one for two digits begun on either side of the point, one for a minus sign."""
    number = EXACT.normalize(Decimal(text))
    if not number:
        return 1
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    before = min(len(digits), max(0, len(digits) + exponent))
    return 1 + math.ceil(before / 2) + math.ceil((len(digits) - before) / 2) + sign


def _text(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


_SIZES: Mapping[str, Callable[[Any], int]] = {
    "S": _text,
    "N": number_bytes,
    "B": lambda content: len(b64decode(content)),
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
}
