"""Storing one item of an older version as it is in the present one, and finding such items."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import Any, Final, final

from dynamap_async.codec import anything, check_item, decode_any, encode_any, item_size
from dynamap_async.errors import DecodeError, DynamapError, EncodeError, ItemUpgradeError, OperationError
from dynamap_async.expressions import Comparison, Condition, Function, Or, Path, Value
from dynamap_async.models import REMOVED, Changes, Definition, Model, definition_of
from dynamap_async.models.upgrades import Upgrades
from dynamap_async.operations.save import stored_attribute, update_request
from dynamap_async.operations.transactions import TransactWrite
from dynamap_async.operations.unique_values import moved_guards, unique_attributes
from dynamap_async.operations.upgrade_record import with_versions
from dynamap_async.operations.write import Stored, Write, write_request
from dynamap_async.planning import Context, not_stored
from dynamap_async.request import Request, Target, identity_of
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

    def __init__(
        self, definition: Definition[Any], older: WireItem, present: WireItem, looked_at: Collection[str]
    ) -> None:
        """Create the write; nothing is sent yet.

        Args:
            definition: the item's model.
            older: the item as it is stored.
            present: the item as it is to be stored, under the same key.
            looked_at: the attributes that this depends on.
        """
        changes: Changes = {name: value for name, value in present.items() if older.get(name) != value}
        changes.update((name, REMOVED) for name in older if name not in present)
        self._definition: Definition[Any] = definition
        self._older: WireItem = older
        self._present: WireItem = present
        self._changes: Changes = changes
        keys = definition.require_table("upgraded").keys.names
        self._conditions: tuple[Condition, ...] = (
            definition.is_stored,
            *(_as_read(definition, older, name) for name in sorted({*looked_at, *changes}) if name not in keys),
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


@final
class ItemMove:
    """What stores an item of an older version as it is in the present one, which gives it another key.

    The new item is put where none may be, and the old one is deleted, if it is as it was read: every attribute that it
    had, and every field that it lacked. Guards of unique values go with it. All of that is one transaction.

    Cost: one TransactWriteItems; two write units per KB of the old item and two per KB of the new one, two for each
    unique value, and those of the index entries of both.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """

    __slots__ = ("definition", "older", "present", "transaction")

    def __init__(
        self, definition: Definition[Any], older: WireItem, present: WireItem, looked_at: Collection[str]
    ) -> None:
        """Create the write; nothing is sent yet.

        Args:
            definition: the item's model.
            older: the item as it is stored.
            present: the item as it is to be stored, under another key.
            looked_at: the attributes that this depends on.
        """
        keys = definition.require_table("upgraded").keys
        names = sorted({*older, *definition.stored_names, *looked_at}.difference(keys.names))
        as_read = (definition.is_stored, *(_as_read(definition, older, name) for name in names))
        self.definition: Final = definition
        self.older: Final = older
        """The item as it was read."""
        self.present: Final = present
        """The item as it is to be stored."""
        self.transaction: Final = TransactWrite(
            (
                _WireWrite("PutItem", definition, present, (not_stored(definition),)),
                _WireWrite("DeleteItem", definition, older, as_read),
                *moved_guards(definition, older, present),
            )
        )
        """What does it."""

    def __repr__(self) -> str:
        shown = self.definition.items.shown_key
        return f"ItemMove({shown(self.older)} to {shown(self.present)})"

    def taken(self) -> ItemUpgradeError:
        """Return the error of an item that stays where it is, because another one has its new key."""
        shown = self.definition.items.shown_key
        message = f"another item is stored under {shown(self.present)}, the key that the upgrade gives it"
        return ItemUpgradeError(
            f"the stored item {shown(self.older)} cannot be moved: {message}",
            model=self.definition.model.__name__,
            key=shown(self.older),
            item=self.older,
            validation_error=DecodeError(message),
        )


@final
class _WireWrite(Write[None]):
    """The put or the delete of an item in wire form, with whatever its model does not know."""

    __slots__ = ("_conditions", "_definition", "_item", "_operation")

    def __init__(
        self, operation: str, definition: Definition[Any], item: WireItem, conditions: tuple[Condition, ...]
    ) -> None:
        self._operation: str = operation
        self._definition: Definition[Any] = definition
        self._item: WireItem = item
        self._conditions: tuple[Condition, ...] = conditions

    def __repr__(self) -> str:
        return f"{self._operation}({self._definition.items.shown_key(self._item)})"

    @property
    def definition(self) -> Definition[Any]:
        return self._definition

    def after(self, before: Stored) -> Stored:
        return self._item if self._operation == "PutItem" else None

    def on_condition(self, *conditions: Condition) -> _WireWrite:
        return self._with_members(_conditions=(*self._conditions, *conditions))

    def request(self, context: Context) -> Request:
        key = self._definition.require_table("upgraded").keys.key_of(self._item)
        table = context.tables.full(self._definition.table_name(key, "upgraded"))
        content = {"Item": self._item} if self._operation == "PutItem" else {"Key": key}
        target = Target(key, identity_of(table, key), partial(item_size, self._item))
        return write_request(self._operation, table, target, content, self._conditions)

    def result(self, response: Body, context: Context) -> None:
        return None


def upgrade_of(definition: Definition[Any], older: WireItem) -> ItemUpgrade | ItemMove:
    """Return the write that stores an item as it is in the present version.

    Args:
        definition: the item's model.
        older: the item as it is stored, which is of an older version.

    Raises:
        ItemVersionError: what is stored as its version is none.
        ItemUpgradeError: an upgrade raised, changed the key without saying so, or left what cannot be stored.
        ItemValidationError: what the upgrades made of the item does not fit the model.
        EncodeError: it is too large, or nested too deep, to be stored.
    """
    upgrades = upgrades_in(definition)
    present, looked_at = upgrades.watched(older)
    [item] = definition.items.decode([present])
    if definition.version is not None:
        counter = definition.version.stored
        looked_at.add(counter)
        present[counter] = encode_any(decode_any(present.get(counter, _NEVER_WRITTEN)) + 1)
    keys, may_move = definition.require_table("upgraded").keys, upgrades.may_move(older)
    if definition.computed_index_keys or may_move:
        encoded = definition.items.encode(item)
        present = definition.with_computed_keys(present, encoded)
        if may_move:  # a key that the model computes follows what it is made of
            present.update((name, encoded[name]) for name in keys.names)
    try:
        item_size(older)
        check_item(present, definition.model.__name__)
    except EncodeError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        unknown = DecodeError("an attribute that is no field holds what is no value of DynamoDB's")
        raise definition.items.failure(older, unknown) from error
    moves = keys.key_of(present) != keys.key_of(older)
    return (ItemMove if moves else ItemUpgrade)(definition, older, present, looked_at)


def upgrade_if_behind(among: Collection[Definition[Any]], item: WireItem) -> ItemUpgrade | ItemMove | None:
    """Return what stores an item as it is in the present version; None where it is that, or cannot be upgraded.

    Args:
        among: the definitions that items of its table may be of, each with versions.
        item: a stored item.
    """
    for definition in among:
        if definition.kinds is None or definition.kinds.of(item) is definition.model:
            with suppress(DynamapError):
                if upgrades_in(definition).is_behind(item):
                    return upgrade_of(definition, item)
    return None


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
    found = with_versions(model)
    if not found:
        raise OperationError(
            f"{model.__name__} has no schema_version, so its items cannot be upgraded; declare class "
            f"{model.__name__}(Model, table=..., schema_version=2), with a function that is marked @upgrade(to=2)"
        )
    if older := [upgrades_in(each) for each in found if upgrades_in(each).writes_older]:
        raise OperationError(
            f"{model.__name__} still writes items in version {older[0].written}; deploy it everywhere without writes= "
            "before you upgrade its items"
        )
    if definition.periods is not None:
        raise OperationError(
            f"{model.__name__} has one table per period, and upgrade() works on one table; query the items of each "
            "period, and save() those that you want to upgrade"
        )
    return found


def behind(model: type[Model], among: Collection[Definition[Any]]) -> Condition:
    """Return the condition that an item may not be of its model's version, or a later one: ``is_behind`` decides.

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
        # Not "<", which holds of numbers only: what is no version at all is behind as well.
        parts += [Function("attribute_not_exists", path), Comparison("<>", path, Value(upgrades.marker[attribute]))]
    return Or(tuple(parts))


def not_expired(model: type[Model], among: Collection[Definition[Any]], now: int) -> Condition:
    """Return the condition that the time to live of an item has not passed.

    Args:
        model: the model whose items are read.
        among: the definitions that items may be of.
        now: the time of day, in whole epoch seconds.

    Raises:
        OperationError: none of them has a time to live.
    """
    attribute = next((name for each in among if (name := each.require_table("upgraded").ttl_attribute)), None)
    if attribute is None:
        raise OperationError(f"{model.__name__} has no TimeToLive field, so no item of it expires; drop skip_expired")
    path = Path(model, (attribute,), attribute, anything())
    # Not "at or after now": an item without the attribute does not expire, and compares as false.
    return ~Comparison("<", path, Value(encode_any(now)))


def upgrades_in(definition: Definition[Any]) -> Upgrades:
    """Return the versions of a model's items, which has to have some.

    Args:
        definition: the model.
    """
    upgrades = definition.items.upgrades
    assert upgrades is not None, f"{definition.model.__name__} has no versions"  # noqa: S101 - see ``upgradable``
    return upgrades
