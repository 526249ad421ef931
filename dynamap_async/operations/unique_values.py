"""Unique values: guards in the library's own table, written in one transaction with the item that has the value.

Invariant: for each value of a constraint there is at most one guard, and it names the item that has the value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar, final

from dynamap_async.codec import decode_any, encode_any
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    LeaseLostError,
    OperationError,
    ServiceError,
    TransactionCanceledError,
    UniqueViolationError,
)
from dynamap_async.expressions import Action, Comparison, Condition, Function, FunctionCall, Path, Remove, Set, Value
from dynamap_async.models import Attr, Definition, UniqueFields, key_text
from dynamap_async.operations.delete import Delete
from dynamap_async.operations.library_table import OwnItem
from dynamap_async.operations.operation import SingleRequest
from dynamap_async.operations.put import Put
from dynamap_async.operations.transactions import TransactWrite
from dynamap_async.operations.write import Stored, Write
from dynamap_async.planning import Context, not_stored
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import AttributeValue, Body, WireItem, WireKey

R = TypeVar("R")


def unique_attributes(definition: Definition[Any]) -> frozenset[str]:
    """Return the stored names of all unique fields.

    Args:
        definition: the model.
    """
    return frozenset(field.stored for constraint in definition.uniques for field in constraint.fields)


def unique_after(definition: Definition[Any], actions: Sequence[Action], before: WireItem) -> WireItem:
    """Return the unique attributes as an update leaves them.

    Args:
        definition: the model.
        actions: all that the update does.
        before: what is stored until then; nothing for an item that the update makes.

    Raises:
        OperationError: one gets no constant, so only DynamoDB will know its value.
    """
    names = unique_attributes(definition)
    found: WireItem = {name: value for name, value in before.items() if name in names}
    for action in actions:
        name = action.path.attribute
        if name in names:
            value = _value(definition, action, before.get(name))
            found.pop(name, None)
            if value is not None:
                found[name] = value
    return found


def _value(definition: Definition[Any], action: Action, stored: AttributeValue | None) -> AttributeValue | None:
    match action:
        case Remove():
            return None
        case Set(source=Value(stored=value)):
            return value
        case Set(path=path, source=FunctionCall("if_not_exists", (Path() as looked, Value(stored=value)))) if (
            looked == path
        ):
            return value if stored is None else stored
        case _:
            field = f"{definition.model.__name__}.{action.path.spelled}"
            raise OperationError(
                f"{field} is unique, so the update needs its value, as in set({field}, value); or read the "
                "item, change it and save it"
            )


class Guard(OwnItem, defer_build=True):
    """One unique value that is taken."""

    owner: Attr[str]
    """The key of the item that has it, as text that is equal for equal keys."""
    key: Attr[dict[str, Any]]
    """The same key, by stored attribute name."""


@dataclass(frozen=True, slots=True)
class Taking:
    """Which value a claim takes for which item."""

    definition: Definition[Any]
    constraint: UniqueFields
    stored: WireItem


class Claim(Put[Guard, Guard]):
    """Take a unique value for an item; refused where it is another item's."""

    __slots__ = ("_taking",)

    def __init__(self, guard: str, key: WireKey, taking: Taking, *, from_key: WireKey | None = None) -> None:
        """Create the guard of a value.

        Args:
            guard: the guard's name.
            key: the key of the item that takes it.
            taking: the value and the item's model, for the error.
            from_key: the key of the item that it may be taken from, because that is the same one before it is moved.
        """
        owner = owner_text(key)
        plain = {name: decode_any(value) for name, value in key.items()}
        item = Guard(pk=guard, owner=owner, key=plain)
        # A guard of the same item may be left from before its table was emptied by other means.
        free = Guard.pk.missing() | (Guard.owner == owner)
        super().__init__(item, where=free if from_key is None else free | (Guard.owner == owner_text(from_key)))
        self._taking = taking

    def failed(self, error: ServiceError) -> Exception:
        """Return the error that names the constraint, the value and its owner.

        Args:
            error: the refusal.
        """
        failure = super().failed(error)
        if not isinstance(failure, ConditionalCheckFailedError):
            return failure
        return _violation(failure, self._taking)


@final
class Guarded(SingleRequest[None]):
    """One write with the guards that go with it, as one transaction. Its errors are the write's own.

    Cost: one TransactWriteItems; twice the write units of the write alone, and two for each guard that changes.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """

    __slots__ = ("_guards", "_transaction")

    def __init__(self, write: Write[Any], guards: tuple[Write[Any], ...]) -> None:
        """Create the transaction of a write and its guards.

        Args:
            write: the write.
            guards: the writes of its guards.
        """
        self._guards = guards
        self._transaction = TransactWrite((write, *guards))

    def request(self, context: Context) -> Request:
        """Return the TransactWriteItems request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        return self._transaction.request(context)

    def result(self, response: Body, context: Context) -> None:
        """Record that the guards were written; the write has a result of its own.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.
        """
        for guard in self._guards:
            guard.acknowledged()

    def failed(self, error: ServiceError) -> Exception:
        """Return what the write on its own would have raised, or the violation of a constraint.

        Args:
            error: the refusal.
        """
        explained = self._transaction.failed(error)
        if not isinstance(explained, TransactionCanceledError) or len(explained.reasons) != 1 + len(self._guards):
            return explained
        own, *others = explained.reasons
        lost = next((other.error for other in others if isinstance(other.error, LeaseLostError)), None)
        if lost is not None:
            return lost
        if own.code == "ConditionalCheckFailed" and own.error is not None:
            return own.error
        violations = (other.error for other in others if isinstance(other.error, UniqueViolationError))
        # That the guard of an old value is another item's is for the session to find out.
        return next(violations, explained)


def with_guards(
    write: Write[R], before: Stored, *, foreign: Collection[str] = ()
) -> tuple[Write[R], tuple[Write[Any], ...]]:
    """Return what a write of an item with unique values consists of: the write, on condition, and its guards.

    A write that reads first claims the values that do not change as well, for items from before the constraint.

    Args:
        write: the write, encoded.
        before: what is stored until then; the write is made conditional on it.
        foreign: names of guards of old values that belong to other items, and so are not released.
    """
    definition = write.definition
    after, key = write.after(before), _target(write).key
    guards: list[Write[Any]] = []
    for constraint in definition.uniques:
        old, new = constraint.guard(before), constraint.guard(after)
        if new is not None and after is not None and (new != old or write.reads_first):
            guards.append(Claim(new, key, Taking(definition, constraint, dict(after))))
        if old is not None and old != new and old not in foreign:
            guards.append(release(old, key))
    conditions = () if write.before() is None else _still(definition, before)  # the write itself may demand that
    return write.on_condition(*conditions), tuple(guards)


def moved_guards(definition: Definition[Any], before: WireItem, after: WireItem) -> tuple[Write[Any], ...]:
    """Return the writes that give an item the guards of its unique values under another key.

    Args:
        definition: the model.
        before: the item under the key that it had.
        after: the item under its new key.
    """
    keys = definition.require_table("moved").keys
    old_key, key = keys.key_of(before), keys.key_of(after)
    guards: list[Write[Any]] = []
    for constraint in definition.uniques:
        old, new = constraint.guard(before), constraint.guard(after)
        if new is not None:
            taking = Taking(definition, constraint, after)
            guards.append(Claim(new, key, taking, from_key=old_key if new == old else None))
        if old is not None and old != new:
            guards.append(release(old, old_key))
    return tuple(guards)


def stored_item(write: Write[Any], context: Context) -> Request:
    """Return the consistent read of the item that a write is about.

    Args:
        write: the write.
        context: what the session adds: its table prefix, its clock and its settings.
    """
    return stored_at(write.definition, _target(write).key, context)


def stored_at(definition: Definition[Any], key: WireKey, context: Context) -> Request:
    """Return the consistent read of the item that has a key.

    Args:
        definition: the model.
        key: the key.
        context: what the session adds: its table prefix, its clock and its settings.
    """
    table = context.tables.full(definition.table_name(key, "written"))
    body = {"TableName": table, "Key": key, "ConsistentRead": True}
    return Request(operation="GetItem", body=body, table=table, target=Target(key, identity_of(table, key)))


def _target(write: Write[Any]) -> Target:
    target = write.request(Context()).target
    assert target is not None, f"{write!r} is about no item"  # noqa: S101 - by its type
    return target


def release(guard: str, key: WireKey) -> Delete:
    """Return the deletion of the guard of a value that an item gives up, which must be its own.

    Args:
        guard: the guard's name.
        key: the key, in wire form.
    """
    return Delete(Guard, guard, where=Guard.pk.missing() | (Guard.owner == owner_text(key)))


def owner_text(key: WireKey) -> str:
    """Return a key as text: equal for equal keys of one table, and only for those.

    Args:
        key: the key, in wire form.
    """
    return key_text(tuple(key.values()))


def same_uniques(definition: Definition[Any], one: Stored, other: Stored) -> bool:
    """Return whether two stored states of an item have the same unique values, an absent item none.

    Args:
        definition: the model.
        one: an item in wire form; None for no item.
        other: the same, at another time.
    """
    if one is None or other is None:
        return one is other
    return all(one.get(name) == other.get(name) for name in unique_attributes(definition))


def _still(definition: Definition[Any], before: Stored) -> Iterator[Condition]:
    """Return the conditions that the stored item has the unique values that it had."""
    if before is None:
        yield not_stored(definition)
        return
    for stored in sorted(unique_attributes(definition)):
        path, value = definition.path(definition.field_names[stored]), before.get(stored)
        if value is None:
            yield Function("attribute_not_exists", path)
        else:
            yield Comparison("=", path, Value(value))


def _violation(error: ConditionalCheckFailedError, taking: Taking) -> UniqueViolationError:
    definition, constraint = taking.definition, taking.constraint
    values = constraint.shown(taking.stored)
    spelled = ", ".join(f"{name}={value!r}" for name, value in values.items())
    owner = _owner(definition, error.item)
    whose = "" if owner is None else f" by the item with {', '.join(f'{n}={v!r}' for n, v in owner.items())}"
    violation = UniqueViolationError(
        f"{definition.model.__name__}.{constraint.name}: {spelled} is taken{whose}. Nothing was written; choose "
        "another value.",
        service_code=error.service_code,
        operation=error.operation,
        table=error.table,
        status=error.status,
        request_id=error.request_id,
    )
    violation.constraint, violation.model = constraint.name, definition.model.__name__
    violation.values, violation.owner = values, owner
    violation.attempts, violation.outcome_unknown = error.attempts, error.outcome_unknown
    return violation


def _owner(definition: Definition[Any], guard: object) -> dict[str, Any] | None:
    if not isinstance(guard, Guard):
        return None
    with suppress(LookupError, ValueError):  # it is not as this library stores it
        return {field.name: field.of_stored(encode_any(guard.key[field.stored])) for field in definition.key_fields()}
    return None
