"""Storing one item of an older version as it is in the present one, and finding such items."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, final

from dynamap_async.codec import check_item, decode_any, encode_any, item_size
from dynamap_async.errors import OperationError
from dynamap_async.expressions import Comparison, Condition, Function, Or, Value
from dynamap_async.models import REMOVED, Changes, Definition, Model, definition_of
from dynamap_async.models.upgrades import Upgrades
from dynamap_async.operations.save import stored_attribute, update_request
from dynamap_async.operations.unique_values import unique_attributes
from dynamap_async.operations.write import Stored, Write
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.wire import AttributeValue, Body, WireItem


@final
class ItemUpgrade(Write[None]):
    """Store an item that was read in an older version as it is in the present one.

    What the upgrades changed is sent, and no more. It is done only if the version, and all attributes that the upgrades
    looked at or changed, are as they were read. A ``Version`` field is counted up, and computed keys of indexes follow
    what they are made of. No hooks run, and no times are stamped.

    Cost: one UpdateItem; one write unit per KB of the larger of the old and the new item, and the same for each index
    entry that changes. A refused write is charged too.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
    """

    __slots__ = ("_changes", "_conditions", "_definition", "_older", "_present")

    def __init__(self, definition: Definition[Any], older: WireItem) -> None:
        """Upgrade the item; nothing is sent yet.

        Args:
            definition: the item's model.
            older: the item as it is stored, which is of an older version.

        Raises:
            ItemUpgradeError: an upgrade raised, changed the key, or left what cannot be stored.
            ItemValidationError: what the upgrades made of the item does not fit the model.
            EncodeError: it is too large, or nested too deep, to be stored.
        """
        present, looked_at = upgrades_in(definition).watched(older)
        [item] = definition.items.decode([present])
        if definition.version is not None:
            counter = definition.version.stored
            looked_at.add(counter)
            present[counter] = encode_any(decode_any(present.get(counter, _NEVER_WRITTEN)) + 1)
        if definition.computed_index_keys:
            present = definition.with_computed_keys(present, definition.items.encode(item))
        check_item(present, definition.model.__name__)
        changes: Changes = {name: value for name, value in present.items() if older.get(name) != value}
        changes.update((name, REMOVED) for name in older if name not in present)
        self._definition: Definition[Any] = definition
        self._older: WireItem = older
        self._present: WireItem = present
        self._changes: Changes = changes
        keys = definition.require_table("upgraded").keys.names
        self._conditions: tuple[Condition, ...] = (
            definition.is_stored,
            *(_as_read(definition, older, name) for name in sorted(looked_at | changes.keys()) if name not in keys),
        )

    def __repr__(self) -> str:
        return f"ItemUpgrade({self._definition.items.shown_key(self._older)})"

    @property
    def definition(self) -> Definition[Any]:
        """The item's model."""
        return self._definition

    @property
    def older(self) -> WireItem:
        """The item as it was read."""
        return self._older

    @property
    def present(self) -> WireItem:
        """The item as it is to be stored."""
        return self._present

    @property
    def guarded(self) -> bool:
        """Whether unique values change, so that their guards have to be written with the item."""
        return not self._changes.keys().isdisjoint(unique_attributes(self._definition))

    def before(self) -> Stored:
        """Return the item as it was read."""
        return self._older

    def after(self, before: Stored) -> Stored:
        """Return the item as it is stored after the write.

        Args:
            before: what is stored until then.
        """
        return self._present

    def on_condition(self, *conditions: Condition) -> ItemUpgrade:
        """Return the same write with more conditions.

        Args:
            conditions: what must hold of the stored item, beside the conditions that there are.
        """
        return self._with_members(_conditions=(*self._conditions, *conditions))

    def request(self, context: Context) -> Request:
        """Return the UpdateItem request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            ExpressionError: so many attributes are looked at or changed that an expression is over 4 KB.
        """
        definition = self._definition
        key = {name: self._older[name] for name in definition.require_table("upgraded").keys.names}
        larger = max(self._older, self._present, key=item_size)
        table = context.tables.full(definition.table_name(key, "upgraded"))
        return update_request(definition, table, key, self._changes, self._conditions, size_of=larger)

    def result(self, response: Body, context: Context) -> None:
        """Return nothing: what is stored now is known.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.
        """


_NEVER_WRITTEN: Final[AttributeValue] = {"N": "0"}


def _as_read(definition: Definition[Any], item: WireItem, name: str) -> Condition:
    """Return the condition that an attribute is stored as it was read, or not at all if it was not there."""
    path, value = stored_attribute(definition, name), item.get(name)
    return Function("attribute_not_exists", path) if value is None else Comparison("=", path, Value(value))


def upgradable(model: type[Model]) -> tuple[Definition[Any], ...]:
    """Return the definitions of a model and of the subclasses that share its table, as far as they have versions.

    Args:
        model: the model.

    Raises:
        OperationError: none has, or their items cannot be gone over.
        ModelDefinitionError: the model has no table.
    """
    definition = definition_of(model)
    definition.require_table("upgraded")
    family = [definition_of(each) for each in definition.family.values()] or [definition]
    found = tuple(each for each in family if each.items.upgrades is not None)
    if not found:
        raise OperationError(
            f"{model.__name__} has no schema_version, so its items have no versions; declare class "
            f"{model.__name__}(Model, table=..., schema_version=2), with a function that is marked @upgrade(to=2)"
        )
    if older := [upgrades_in(each) for each in found if upgrades_in(each).writes_older]:
        raise OperationError(
            f"{model.__name__} writes items in version {older[0].written}, for programs that know no other; deploy it "
            "without writes= everywhere before its items are upgraded"
        )
    if definition.periods is not None:
        raise OperationError(
            f"{model.__name__} has one table per period, and upgrade() goes over one table; query the items of each "
            "period, and save() those that you want to upgrade"
        )
    return found


def behind(model: type[Model], among: Collection[Definition[Any]]) -> Condition:
    """Return the condition that an item may be of an older version than its model's.

    Args:
        model: the model whose items are read.
        among: the definitions that items may be of, each with versions.
    """
    latest: dict[str, Upgrades] = {}
    for definition in among:
        upgrades = upgrades_in(definition)
        other = latest.get(upgrades.attribute)
        if other is None or other.version < upgrades.version:
            latest[upgrades.attribute] = upgrades
    parts: list[Condition] = []
    for attribute, upgrades in latest.items():
        path = upgrades.path(model)
        parts += [Function("attribute_not_exists", path), Comparison("<", path, Value(upgrades.marker[attribute]))]
    return Or(tuple(parts))


def upgrades_in(definition: Definition[Any]) -> Upgrades:
    """Return the versions of a model's items, which has to have some.

    Args:
        definition: the model.
    """
    upgrades = definition.items.upgrades
    assert upgrades is not None, f"{definition.model.__name__} has no versions"  # noqa: S101 - see ``upgradable``
    return upgrades
