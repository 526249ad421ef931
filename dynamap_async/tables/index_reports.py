"""Which items of a table an index would leave out: those whose values do not fit its key. Pure.

An index that is added is filled from the items that are there. DynamoDB silently leaves out those that do not fit.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.ViolationDetection.html
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.limits import PARTITION_KEY_BYTES, SORT_KEY_BYTES
from dynamap_async.request import Request
from dynamap_async.schema import IndexSchema, TableSchema
from dynamap_async.wire import AttributeValue, WireItem, WireKey

Unfit: TypeAlias = Literal["absent", "wrong type", "empty", "too long"]
"""Why an index does not hold an item; ``absent`` is how sparse indexes are meant."""

_EXAMPLES: Final = 20


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


class IndexCheck:
    """Looks at pages of items, one after the other."""

    def __init__(self, table: TableSchema, index: IndexSchema) -> None:
        """Begin with nothing seen.

        Args:
            table: the table, with its full name.
            index: the index, which the table need not have yet.
        """
        self._table = table
        self._index = index
        self._items = 0
        self._left_out: dict[Unfit, int] = {}
        self._examples: dict[Unfit, list[WireKey]] = {}
        self.read_units: float = 0.0

    def request(self, start: Any) -> Request:
        """Return the request of a page.

        Args:
            start: the key to go on after; None for the first page.
        """
        names = dict.fromkeys((*self._table.keys.names, *self._index.keys.names))
        aliases = {f"#k{number}": name for number, name in enumerate(names)}
        body: dict[str, Any] = {
            "TableName": self._table.name,
            "ProjectionExpression": ", ".join(aliases),
            "ExpressionAttributeNames": aliases,
            "ReturnConsumedCapacity": "TOTAL",
        }
        if start is not None:
            body["ExclusiveStartKey"] = start
        return Request(operation="Scan", body=body, table=self._table.name)

    def take(self, items: Iterable[WireItem], read_units: float) -> None:
        """Look at the items of a page.

        Args:
            items: the items.
            read_units: what the page took.
        """
        self.read_units += read_units
        for item in items:
            self._items += 1
            reason = unfit(self._index, item)
            if reason is not None:
                self._left_out[reason] = self._left_out.get(reason, 0) + 1
                examples = self._examples.setdefault(reason, [])
                if len(examples) < _EXAMPLES:
                    examples.append(self._table.keys.key_of(item))

    def report(self, *, is_complete: bool) -> IndexReport:
        """Return what was found.

        Args:
            is_complete: whether all items were looked at.
        """
        return IndexReport(
            table=self._table.name,
            index=self._index.name,
            items=self._items,
            fits=self._items - sum(self._left_out.values()),
            left_out=dict(self._left_out),
            examples={reason: tuple(keys) for reason, keys in self._examples.items()},
            read_units=self.read_units,
            is_complete=is_complete,
        )


def unfit(index: IndexSchema, item: WireItem) -> Unfit | None:
    """Return why an index does not hold an item; None if it does.

    Args:
        index: the index.
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
