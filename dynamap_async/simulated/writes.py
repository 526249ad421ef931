"""One write of one item: what it needs, whether its condition holds, and what the item becomes.

Single writes, batches, transactions and statements all are made of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dynamap_async.limits import ITEM_SIZE_BYTES
from dynamap_async.simulated import legacy
from dynamap_async.simulated.errors import Refused, invalid, invalid_value
from dynamap_async.simulated.expressions.conditions import Condition, read_condition
from dynamap_async.simulated.expressions.paths import Path
from dynamap_async.simulated.expressions.reader import Placeholders
from dynamap_async.simulated.expressions.updates import Update, read_update
from dynamap_async.simulated.keys import TOO_LARGE, admit_index_keys, key_of, position_of_item, position_of_key
from dynamap_async.simulated.store import Position, Table
from dynamap_async.simulated.values import Item, Value, admit_item
from dynamap_async.units import write_half_units

Find: TypeAlias = Callable[[str], Table]
"""Return the table of a name, which may be an ARN; raise if there is none."""

_TOO_LARGE_UPDATE = "Item size to update has exceeded the maximum allowed size"


@dataclass(slots=True)
class ItemWrite:
    """A write, with its request understood and checked."""

    table: Table
    position: Position
    key: Item
    condition: Condition | None = None
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    item: Item | None = None
    """The new item of a put."""
    size: int = 0
    update: Update | None = None
    is_check: bool = False
    returns_on_failure: bool = False

    @property
    def looks(self) -> bool:
        """Whether it looks at the item that is there."""
        return self.condition is not None or self.update is not None

    @property
    def old_item(self) -> Item | None:
        """The item that is there."""
        entry = self.table.entries.get(self.position)
        return None if entry is None else entry.item

    def is_allowed(self, old: Item | None) -> bool:
        """Return whether the condition holds."""
        return self.condition is None or self.condition.holds(old or {}, self.values)

    def new_item(self, old: Item | None) -> tuple[Item | None, int]:
        """Return what the item becomes, and its size.

        Args:
            old: the item that is there; it may be changed.

        Raises:
            Refused: the update does not fit the item, or makes it too large.
        """
        if self.item is not None:
            return self.item, self.size
        if self.update is None:
            return None, 0
        item = dict(self.key) if old is None else old
        names = {str(path[0]) for path in self.update.paths}
        others = admit_item(item) if old is None else self.table.entries[self.position].size - _size(item, names)
        self.update.apply(item, self.values)
        size = others + _size(item, names)
        if size > ITEM_SIZE_BYTES:
            raise invalid(_TOO_LARGE_UPDATE)
        admit_index_keys(self.table, item)
        return item, size

    def halves_in_vain(self, *, transactional: bool = False) -> int:
        """Return the halves of units that it takes where its condition fails: those of the larger item.

        Args:
            transactional: it is part of a transaction.
        """
        entry = self.table.entries.get(self.position)
        try:
            _item, size = self.new_item(self.old_item)
        except Refused:  # there would be no such item
            size = 0
        return write_half_units(size, entry.size if entry else 0, transactional=transactional)

    @property
    def changed_paths(self) -> list[Path]:
        """What an update names."""
        return self.update.paths if self.update else []


def _size(item: Item, names: Iterable[str]) -> int:
    return admit_item({name: item[name] for name in names if name in item})


def _condition(body: dict[str, Any], known: Placeholders, values: dict[str, Value]) -> Condition | None:
    text = body.get("ConditionExpression")
    if text is not None:
        condition: Condition = known.read(read_condition, text, "ConditionExpression")
        refuse_faults(condition, values, "ConditionExpression")
        return condition
    if (expected := body.get("Expected")) is not None:
        return legacy.conditions(expected, body.get("ConditionalOperator"), values)
    return None


def refuse_faults(parsed: Condition | Update, values: dict[str, Value], parameter: str) -> None:
    """Refuse an expression whose values do not fit.

    Raises:
        Refused: one does not.
    """
    for fault in parsed.faults(values):
        raise invalid(f"Invalid {parameter}: {fault}")


def put(body: dict[str, Any], find: Find) -> ItemWrite:
    """Return the write that a PutItem asks for.

    Raises:
        Refused: it is wrong, or there is no such table.
    """
    legacy.refuse_mixture(body)
    item: Item = body["Item"]
    size = admit_item(item)
    known = Placeholders(body, "ConditionExpression")
    values = dict(known.values)
    condition = _condition(body, known, values)
    known.all_used()
    table = find(body["TableName"])
    position = position_of_item(table, item)
    admit_index_keys(table, item)
    if size > ITEM_SIZE_BYTES:
        raise invalid(TOO_LARGE)
    return ItemWrite(
        table,
        position,
        key_of(table, item),
        condition,
        values,
        item=item,
        size=size,
        returns_on_failure=_returns(body),
    )


def delete(body: dict[str, Any], find: Find) -> ItemWrite:
    """Return the write that a DeleteItem asks for.

    Raises:
        Refused: it is wrong, or there is no such table.
    """
    legacy.refuse_mixture(body)
    known = Placeholders(body, "ConditionExpression")
    values = dict(known.values)
    condition = _condition(body, known, values)
    known.all_used()
    table = find(body["TableName"])
    position = position_of_key(table, body["Key"])
    return ItemWrite(table, position, body["Key"], condition, values, returns_on_failure=_returns(body))


def check(body: dict[str, Any], find: Find) -> ItemWrite:
    """Return what a ConditionCheck asks for.

    Raises:
        Refused: it is wrong, or there is no such table.
    """
    write = delete(body, find)
    write.is_check = True
    return write


def update(body: dict[str, Any], find: Find) -> ItemWrite:
    """Return the write that an UpdateItem asks for.

    Raises:
        Refused: it is wrong, or there is no such table.
    """
    legacy.refuse_mixture(body)
    known = Placeholders(body, "UpdateExpression", "ConditionExpression")
    values = dict(known.values)
    parsed = Update()
    text = body.get("UpdateExpression")
    if text is not None:
        parsed = known.read(read_update, text, "UpdateExpression")
        refuse_faults(parsed, values, "UpdateExpression")
    elif (given := body.get("AttributeUpdates")) is not None:
        parsed = legacy.attribute_updates(given, values)
    condition = _condition(body, known, values)
    known.all_used()
    table = find(body["TableName"])
    names = {part.name for part in table.parts}
    position = position_of_key(table, body["Key"])
    for path in parsed.paths:
        if path[0] in names:
            raise invalid_value(f"Cannot update attribute {path[0]}. This attribute is part of the key")
    return ItemWrite(table, position, body["Key"], condition, values, update=parsed, returns_on_failure=_returns(body))


def _returns(body: dict[str, Any]) -> bool:
    return bool(body.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD")
