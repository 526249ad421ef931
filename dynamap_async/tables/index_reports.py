"""Which items of a table an index leaves out: those whose values do not fit its key. Pure.

An index that is added is filled from the items that are there. DynamoDB silently leaves out those that do not fit.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.ViolationDetection.html
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from dynamap_async.schema import IndexSchema
from dynamap_async.wire import AttributeValue, WireItem, WireKey

Unfit: TypeAlias = Literal["absent", "wrong type", "empty", "too long"]
"""Why an index does not hold an item; ``absent`` is how sparse indexes are meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What a check of an index found."""

    table: str
    """The full table name."""
    index: str
    """The index's name in DynamoDB."""
    items: int
    """How many items were looked at."""
    fits: int
    """How many of them the index holds, or would hold."""
    left_out: Mapping[Unfit, int]
    """Why it leaves items out -> how many of them."""
    examples: Mapping[Unfit, tuple[WireKey, ...]]
    """Why it leaves items out -> the keys of up to 20 of them, in wire form."""
    read_units: float
    """What the check took in read units."""
    is_complete: bool
    """Whether all items of the table were looked at."""

    @property
    def violations(self) -> int:
        """How many items have a value that does not fit, those that have none not counted."""
        return sum(count for reason, count in self.left_out.items() if reason != "absent")


def unfit(index: IndexSchema, item: WireItem) -> Unfit | None:
    """Return why an index does not hold an item; None if it does.

    Args:
        item: the item, with all attributes of the index's key that it has.
    """
    lengths = ((index.keys.partition, PARTITION_KEY_BYTES), (index.keys.sort, SORT_KEY_BYTES))
    elements = [(each, longest) for attributes, longest in lengths for each in attributes]
    if any(each.name not in item for each, _ in elements):
        return "absent"
    for each, longest in elements:
        value: AttributeValue = item[each.name]
        if each.type not in value:
            return "wrong type"
        size = _size(each.type, value)
        if not size:
            return "empty"
        if size > longest:
            return "too long"
    return None


def _size(kind: str, value: AttributeValue) -> int:
    content: Any = value.get(kind)
    if kind == "B":
        return len(base64.b64decode(content))
    return len(content.encode()) if kind == "S" else 1
