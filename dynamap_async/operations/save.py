"""Writing what changed of an item that was read or written before, and writing all of one whatever is stored."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Generic, Never, TypeVar, Unpack, final

from dynamap_async.codec import anything, item_size
from dynamap_async.errors import ConditionalCheckFailedError, OperationError, ServiceError, VersionConflictError
from dynamap_async.expressions import (
    Action,
    Comparison,
    Condition,
    Function,
    FunctionCall,
    Path,
    Placeholders,
    Remove,
    Set,
    Sum,
    Value,
    render_update,
)
from dynamap_async.models import (
    REMOVED,
    Changes,
    Definition,
    Known,
    Model,
    Removed,
    WriteKind,
    changed,
    difference,
    give,
    is_remembered,
    key_of_item,
    known,
    remember,
)
from dynamap_async.operations.automatic_values import carried_version, same_version, stamped
from dynamap_async.operations.implied_actions import value_of
from dynamap_async.operations.key_changes import parts_as_before, shards_as_before, sources_as_before
from dynamap_async.operations.keywords import no_item_keywords
from dynamap_async.operations.operation import not_found
from dynamap_async.operations.put import Put
from dynamap_async.operations.write import (
    Stored,
    condition_members,
    refused_as_new,
    refused_as_unread,
    refused_for_later,
    write_request,
)
from dynamap_async.operations.write_ids import write_id_in
from dynamap_async.operations.write_options import OPTIONS, WriteOptions, unknown_options
from dynamap_async.planning import Context, not_stored
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import AttributeValue, Body, WireItem, WireKey

M = TypeVar("M", bound=Model)


@final
class Save(Put[M, M], Generic[M]):
    """Write what changed of an item since a session read or wrote it. The result is the item itself.

    In-place changes of lists, sets, dicts and nested models count; a value set to what it was does not. Only changed
    attributes are sent, each as a whole, so writers of different attributes do not overwrite each other, and what the
    model does not know stays, inside nested values too. The item must still exist, in the version that was read if its
    model has one. An item that no session has read or written is new: it is created, and must not exist yet.

    Cost: one UpdateItem; one write unit per KB of the larger of the old and the new item as a whole, and the same for
    each index entry that changes. Nothing if nothing changed: no request is sent. A new item: as ``Create``.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
    """

    __slots__ = ("_before", "_changes")

    kind: WriteKind | None = "save"

    _before: Known | None
    _changes: Changes

    def __init__(self, item: M, /, *, where: Condition | None = None, **fields: Never) -> None:
        """Create the write of the item as it is now.

        Args:
            item: the model instance to write.
            where: what must hold of the stored item.
            fields: nothing: the item is written as it is.

        Raises:
            EncodeError: a value cannot be stored.
            ItemTooLargeError: the item is over 400 KB.
            OperationError: the item's key, or a frozen field, was changed; or the instance was read from a part of its
                item.
            ExpressionError: the condition is not about this model.
        """
        if fields:
            raise no_item_keywords("save", item, fields, ("where",))
        super().__init__(item, where=where)

    @property
    def unneeded(self) -> bool:
        """Whether nothing changed, so that there is nothing to send."""
        return self._before is not None and not self._changes

    @property
    def guarded(self) -> bool:
        """Whether unique values changed, or the item is new."""
        if self._before is None:
            return super().guarded
        unique = (field.stored for each in self._definition.uniques for field in each.fields)
        return not self._changes.keys().isdisjoint(unique)

    @property
    def takes_unversioned(self) -> bool:
        """Whether version 0 also stands for a stored item without a version: that of an item that was read so."""
        return self._before is not None

    def before(self) -> Stored:
        """Return what was stored when the instance was read or written; None for a new item."""
        return None if self._before is None else self._before.stored

    def after(self, before: Stored) -> Stored:
        """Return the item as it is stored after the write: what is stored until then, with what changed here.

        Args:
            before: what is stored until then, at least its unique attributes; None where there is no item.
        """
        if before is None:
            return self._stored if self._before is None else None
        return changed(Known(dict(before), {}), self._changes)

    def _encode(self) -> None:
        """Take the instance as it is now, and find what changed."""
        self._before, self._changes = None, {}
        definition = self._definition
        if not is_remembered(self._item):
            super()._encode()
            self._expected = None if definition.version is None else 0
            return
        definition.validation.before_save(self._item, "saved")
        self._expected = None if definition.version is None else carried_version(self._item, definition)
        self._before = known(self._item, definition)
        codec = definition.items
        self._wire = {**codec.encode_values(self._item.__dict__, self._item), **codec.encode_extras(self._item)}
        self._stamps = {}
        self._key = key_of_item(self._item, definition)
        if self._differs(self._before):
            self._stamps = stamped(self._item, definition)
            self._wire = codec.encode(self._item, self._stamps)
            self._changes = difference(self._before, self._stored)
            _check_frozen(definition, self._before, self._stored)
            definition.validation.changed(self._item, self._changes)

    def _differs(self, before: Known) -> bool:
        """Return whether something changed; the version does not count, because it is the session's to change."""
        version = self._definition.version
        return bool(difference(before, self._stored).keys() - {version.stored if version is not None else None})

    def _guards(self, context: Context) -> tuple[Condition, ...]:
        definition = self._definition
        if self._before is None:
            return (not_stored(definition, context.now()),)
        if not self._expected or definition.version is None:
            before = self._before.stored
            kept = parts_as_before(definition, before, self._changes)
            kept += tuple(each for each in shards_as_before(definition, before, self._changes) if each not in kept)
            kept += tuple(each for each in sources_as_before(definition, before, self._changes) if each not in kept)
            kept += _fitting_schema(definition, self._before)
            return (definition.is_stored, *_without_version(definition, self._expected), *kept)
        return (same_version(definition, self._expected), *_fitting_schema(definition, self._before))

    def request(self, context: Context) -> Request:
        """Return the UpdateItem request, or the PutItem of a new item; a ConditionCheck where nothing changed.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        if self._before is None:
            return super().request(context)
        key = self._key
        table = context.tables.full(self._definition.table_name(key, "saved"))
        conditions = (*self._guards(context), *self._conditions)
        if not self._changes:
            target = Target(key, identity_of(table, key))
            return write_request("ConditionCheck", table, target, {"Key": key}, conditions)
        return update_request(self._definition, table, key, self._changes, conditions, size_of=self._stored)

    def acknowledged(self) -> None:
        """Give the instance what was stored beyond its own values, and remember what is stored now."""
        if self._before is None:
            super().acknowledged()
        elif self._changes:
            give(self._item, self._stamps)
            remember(self._item, changed(self._before, self._changes))

    def failed(self, error: ServiceError) -> Exception:
        """Return what a refusal means: a remembered item does not exist any more, or newer code has written it.

        Args:
            error: the refusal.
        """
        failure = super().failed(error)
        if self._before is None:
            failure = refused_as_new(self, failure, conditional=bool(self._conditions))
            if isinstance(failure, VersionConflictError):
                failure = refused_as_unread(self, failure, carried_version(self._item, self._definition))
            return failure
        gone = isinstance(failure, ConditionalCheckFailedError) and failure.wire_item is None
        return not_found(self._item, self._definition, error) if gone else refused_for_later(self, failure)


def _check_frozen(definition: Definition[Any], before: Known, after: WireItem) -> None:
    """Raise OperationError where a field that keeps its first value has another one."""
    for field in definition.frozen:
        stored = before.item.get(field.stored)
        if stored is not None and stored != after.get(field.stored):
            name = f"{definition.model.__name__}.{field.name}"
            raise OperationError(
                f"{name} is frozen, but was changed. Leave it as it was read, or write the whole item with put() or "
                "replace()"
            )


def _without_version(definition: Definition[Any], expected: int | None) -> tuple[Condition, ...]:
    """Return the condition on an item that was read without a version, as others write it."""
    if expected is None or definition.version is None:
        return ()
    path = definition.path(definition.version.name)
    return (Function("attribute_not_exists", path) | Comparison("=", path, Value({"N": "0"})),)


def _fitting_schema(definition: Definition[Any], before: Known) -> tuple[Condition, ...]:
    """Return the condition that nobody else has brought the item to a version for which these changes are not made.

    An item that is about to be upgraded must be as it was read. Any other may have been upgraded by newer code, as long
    as the model accepts what that code writes.
    """
    upgrades = definition.items.upgrades
    if upgrades is None:
        return ()
    if before.older is None:
        return (upgrades.not_too_late(definition.model),)
    return (upgrades.still_of(definition.model, upgrades.stored_version(before.older)),)


def update_request(
    definition: Definition[Any],
    table: str,
    key: WireKey,
    changes: Changes,
    conditions: tuple[Condition, ...],
    *,
    size_of: WireItem,
    more: tuple[Action, ...] = (),
) -> Request:
    """Return the UpdateItem request that gives attributes new values and removes others.

    Args:
        definition: the model.
        table: the full table name.
        key: the item's key.
        changes: stored attribute -> new value.
        conditions: what must hold of the stored item.
        size_of: the item as it will be.
        more: other actions.

    Raises:
        ExpressionError: so many attributes change that the expression is over 4 KB.
    """
    placeholders = Placeholders()
    actions: list[Action] = [
        Remove(stored_attribute(definition, name))
        if isinstance(value, Removed)
        else Set(stored_attribute(definition, name), Value(value))
        for name, value in changes.items()
    ]
    expression = render_update([*actions, *more], placeholders)
    body = {
        "TableName": table,
        "Key": key,
        **({"UpdateExpression": expression} if expression else {}),
        **condition_members(conditions, placeholders),
        **placeholders.to_wire(),
    }
    return Request(
        operation="UpdateItem",
        body=body,
        table=table,
        target=Target(key, identity_of(table, key), partial(item_size, size_of)),
        writes=True,
        conditional=bool(conditions),
        write_id=write_id_in(definition, changes),
    )


def stored_attribute(definition: Definition[Any], stored: str) -> Path:
    """Return the path of an attribute of a stored item, whether it is a field or not.

    Args:
        definition: the model.
        stored: the attribute's name.
    """
    field = definition.field_names.get(stored)
    # An extra attribute is no field, and no path that a program could spell.
    return definition.path(field) if field is not None else Path(definition.model, (stored,), stored, anything())


@final
class Replace(Put[M, M], Generic[M]):
    """Write every field of an item, whatever the stored item is, and set its version past the stored one.

    For repairs and imports, which must win: no version is checked, and whoever holds an older version gets a
    VersionConflictError at the next write. Without a stored item it creates one, of version 1. Attributes that the
    model does not know stay, unlike with ``Put``. The result is the item itself, with its new version.

    After a lost answer it is sent again: the version may then rise by two. In a transaction, which returns nothing, the
    instance does not learn the new number; read the item again before the next write.

    Cost: one UpdateItem; one write unit per KB of the larger of the old and the new item, and the same for each index
    entry that changes.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
    """

    __slots__ = ()

    def __init__(self, item: M, /, **options: Unpack[WriteOptions]) -> None:
        """Create the write of the item as it is now.

        Args:
            item: the model instance to write.
            options: those of ``Put``.

        Raises:
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            OperationError: it is not an instance of a model, or the model accepts items of later versions.
            ExpressionError: the condition is not about this model.
        """
        if not options.keys() <= OPTIONS:
            raise unknown_options("replace", item, options)
        super().__init__(item, **options)
        upgrades = self._definition.items.upgrades
        if upgrades is not None and upgrades.accepts_later:
            name = self._definition.model.__name__
            raise OperationError(
                f"{name} accepts items of later versions, and replace() would leave parts of them in an item of "
                f"version {upgrades.version}; save() an item that was read, or put() the whole item"
            )

    @property
    def expected_version(self) -> None:
        """None: any version is replaced."""

    @property
    def brings_back(self) -> bool:
        """Whether the instance gets a version that only the stored item tells."""
        return self._definition.version is not None

    def _guards(self, context: Context) -> tuple[Condition, ...]:
        return super()._guards(context) if self._number else ()

    def request(self, context: Context) -> Request:
        """Return the UpdateItem request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        definition = self._definition
        stored, key = self._stored, self._key
        version = definition.version
        changes: Changes = {name: value for name, value in stored.items() if name not in key}
        changes.update((name, REMOVED) for name in definition.field_names if name not in stored)
        if version is not None:
            changes.pop(version.stored, None)
        request = update_request(
            definition,
            context.tables.full(definition.table_name(key, "replaced")),
            key,
            changes,
            (*self._guards(context), *self._conditions),
            size_of=stored,
            more=_next_version(definition),
        )
        if version is None:
            return request
        body = {**request.body, "ReturnValues": "UPDATED_NEW"}
        return replace(request, body=body, required=frozenset({version.stored}))

    def result(self, response: Body, context: Context) -> M:
        """Return the instance that was written, with the number that its version got.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.
        """
        self.acknowledged()
        version = self._definition.version
        if version is not None:
            number: AttributeValue = response["Attributes"][version.stored]
            give(self._item, {version.name: value_of(version, number)})
            remember(self._item, {**self._stored, version.stored: number})
        return self._item


def _next_version(definition: Definition[M]) -> tuple[Action, ...]:
    if definition.version is None:
        return ()
    path = definition.path(definition.version.name)
    stored = FunctionCall("if_not_exists", (path, Value({"N": "0"})))
    return (Set(path, Sum(stored, "+", Value({"N": "1"}))),)
