"""DynamoDB's own JSON forms: what an attribute value and an item look like on the wire.

Owns names for shapes only; nothing here builds, checks or sends them.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeValue.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypedDict

Tag: TypeAlias = Literal["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"]
"""The one key of an attribute value; it names the value's stored type."""

KeyTag: TypeAlias = Literal["S", "N", "B"]
"""The stored types that a key attribute may have."""


class AttributeValue(TypedDict, total=False):
    """A tagged value; exactly one key is present. Numbers are text, binary values are base64 text."""

    S: str
    N: str
    B: str
    BOOL: bool
    NULL: bool
    SS: list[str]
    NS: list[str]
    BS: list[str]
    L: list[AttributeValue]
    M: dict[str, AttributeValue]


WireItem: TypeAlias = dict[str, AttributeValue]
"""An item: attribute name -> attribute value."""

WireKey: TypeAlias = dict[str, AttributeValue]
"""The key attributes of one item, or the position that a query page ended at."""

Body: TypeAlias = Mapping[str, Any]
"""The JSON object of a request or a response."""
