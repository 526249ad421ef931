"""Completing: what an update does beyond what it was asked, on what condition, and what is known of the item then.

It counts the version, stamps times, and gives an item that it makes the defaults that ``create`` would have stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from dynamap_async.codec import MISSING, Absence, decode_any, encode_any, text
from dynamap_async.errors import DecodeError, EncodeError, ExpressionError, OperationError
from dynamap_async.expressions import (
    Action,
    Add,
    Comparison,
    Condition,
    Function,
    FunctionCall,
    Or,
    Path,
    Remove,
    Set,
    Value,
    paths_read,
)
from dynamap_async.models import (
    REMOVED,
    Changes,
    Definition,
    FieldPlan,
    Removed,
    changed,
    give,
    is_whole,
    known,
    remember,
    stored_empty,
)
from dynamap_async.operations.automatic_values import begun, touched
from dynamap_async.operations.key_changes import absent_value, keys_rewritten, parts_of_key, recomputed, started_keys
from dynamap_async.operations.updatable import UpdateSpec
from dynamap_async.planning import own_conditions, own_kind_conditions, subclass_definitions
from dynamap_async.wire import AttributeValue, WireItem


def completed(spec: UpdateSpec) -> tuple[Action, ...]:
    """Return all actions of an update.

    Args:
        spec: what is asked.

    Raises:
        OperationError: it was asked nothing, or would make an item that could not be read.
        EncodeError: a function of the model gave a value that does not fit its field.
    """
    definition = spec.definition
    if not spec.actions:
        raise OperationError(
            f"the update of a {definition.model.__name__} changes nothing; add .set(...), .add(...), .remove(...) or "
            ".delete(...)"
        )
    if not spec.upserts and _adds_nothing(definition):
        return spec.actions
    actions = [*spec.actions]
    given = {definition.field_names[action.path.attribute] for action in actions if action.path.is_declared}
    if (version := definition.version) is not None:
        given.add(version.name)
        path = definition.path(version.name)
        counted = spec.expected is None
        number = Value(encode_any(1 if spec.expected is None else spec.expected + 1))
        actions.append(Add(path, number) if counted else Set(path, number))
    for field, value in touched(definition, given).items():
        given.add(field)
        actions.append(Set(definition.path(field), Value(_stored(definition.fields[field], value))))
    rewritten = keys_rewritten(spec, actions)
    given.update(definition.field_names[action.path.attribute] for action in rewritten)
    actions += rewritten
    if definition.derived is not None or definition.kinds is not None:
        actions += recomputed(spec, actions)
    if spec.upserts:
        given.update(field.name for field in definition.key_fields())
        for name, marker in _marker(definition).items():
            given.add(definition.field_names.get(name, name))
            path = Path(definition.model, (name,), name, text())
            actions.append(Set(path, FunctionCall("if_not_exists", (path, Value(marker)))))
        if (upgrades := definition.items.upgrades) is not None:
            path = upgrades.path(definition.model)
            number = Value(upgrades.marker[upgrades.attribute])
            actions.append(Set(path, FunctionCall("if_not_exists", (path, number))))
        actions += _starts(spec, given, actions)
    return tuple(actions)


def _marker(definition: Definition[Any]) -> WireItem:
    """Return what a new item is stored with so that it is told to be of the model."""
    upgrades = definition.items.upgrades
    if upgrades is not None and upgrades.writes_older:
        raise OperationError(
            f"upsert() would create a new {definition.model.__name__} in version {upgrades.version}, while items are "
            f"written in version {upgrades.written}; create() the item, or drop upsert()"
        )
    kinds = definition.kinds
    if kinds is None:
        return {}
    if kinds.kind is None:
        name = definition.model.__name__
        members = " or ".join(each.__name__ for each in kinds.family.values()) or f"a subclass of {name}"
        raise OperationError(
            f"upsert() may create a new item, and {name} is abstract; update the item as {members}, or drop upsert()"
        )
    return kinds.marker


def _adds_nothing(definition: Definition[Any]) -> bool:
    """Return whether updates of a model do only what they are asked, as most do (benchmarks: update_one)."""
    adds = definition.assigned or definition.version or definition.computed or definition.kinds or definition.derived
    return not adds


def guards(spec: UpdateSpec, actions: Sequence[Action]) -> tuple[Condition, ...]:
    """Return the conditions that an update adds to the caller's: the item's version, or that there is an item.

    Args:
        spec: what is asked.
        actions: all that the update does.
    """
    definition, expected = spec.definition, spec.expected
    exists = own_kind_conditions(definition, or_absent=spec.upserts)
    fits: tuple[Condition, ...] = ()
    if _has_versions(definition):
        fits = own_conditions(definition, spec.key, partial(_version_fits, spec, actions))
    exists = (*exists, *fits)
    if expected is None or definition.version is None:
        return exists
    path = definition.path(definition.version.name)
    same = Comparison("=", path, Value(encode_any(expected)))
    if expected:
        return (same,) if definition.kinds is None and not fits else (*exists, same)
    # An item that was stored before its model had a version reads as version 0.
    return (*exists, Or((Function("attribute_not_exists", path), same)))


def _has_versions(definition: Definition[Any]) -> bool:
    """Return whether the items of a model, or of a subclass that shares its table, have versions."""
    if definition.items.upgrades is not None or definition.kinds is None:
        return definition.items.upgrades is not None
    return any(each.items.upgrades is not None for each in subclass_definitions(definition))


def _version_fits(spec: UpdateSpec, actions: Sequence[Action], definition: Definition[Any]) -> Condition | None:
    """Return the condition that an update does no harm to an item of another version than its model's.

    Newer code may store what is changed in another form. And the upgrade of an older item would set what it makes
    again, so that the update were lost without a word; or the update would take a value in the older form.
    """
    upgrades, model = definition.items.upgrades, spec.definition.model
    if upgrades is None:
        return None
    paths = [path for action in actions for path in _set_or_taken(action)]
    for path in paths if upgrades.writes_older else ():
        if (lost := upgrades.why_lost(path.attribute)) is not None:
            whose = "" if definition is spec.definition else f" of a {definition.model.__name__}"
            raise ExpressionError(f"{path}{whose} {lost}", expression=str(path))
    if any(upgrades.may_change(path.attribute) for path in paths):
        fits = upgrades.present_or_accepted(model)
    else:
        # An item without a version is of the first one, and must not be given that of a new item.
        fits = upgrades.not_too_late(model, or_first=not spec.upserts)
    return ~spec.definition.is_stored | fits if spec.upserts else fits


def _set_or_taken(action: Action) -> tuple[Path, ...]:
    """Return what an action changes, and everything that it takes values from."""
    return (action.path, *(paths_read(action.source) if isinstance(action, Set) else ()))


def known_after(actions: tuple[Action, ...]) -> Changes | None:
    """Return stored attribute -> what it is after these actions; None where only the stored item tells.

    Args:
        actions: all that the update does.
    """
    found: Changes = {}
    for action in actions:
        match action:
            case Set(path=path, source=Value(stored=stored)) if len(path.steps) == 1:
                found[path.attribute] = stored
            case Remove(path=path) if len(path.steps) == 1:
                found[path.attribute] = REMOVED
            case _:
                return None
    return found


def move_on(item: BaseModel, definition: Definition[Any], found: Changes) -> None:
    """Give an instance what an update changed of its item, and remember that it is stored.

    Args:
        item: the instance.
        definition: the model.
        found: stored attribute -> what it is now.
    """
    names = definition.field_names
    fields = {attribute: definition.fields[names[attribute]] for attribute in found if attribute in names}
    own = definition.own_fields
    if len(fields) < len(found):
        found = _move_extras(item, found, fields)
    values = {
        field.name: value_of(field, stored)
        for attribute, field in fields.items()
        if field.name in own and not isinstance(stored := found[attribute], Removed)
    }
    if len(values) < len(fields):
        removed = {field.name: field for attribute, field in fields.items() if found[attribute] is REMOVED}
        others = {**vars(item), **values}
        whole = own.keys() <= others.keys()
        for name in own:  # in the order in which Pydantic makes defaults of the values before them
            if name in removed:
                made = absent_value(definition.model, removed[name], others if whole else None)
                others[name] = values[name] = made
    if is_whole(item):
        remember(item, changed(known(item, definition), found))
    give(item, values)


def _move_extras(item: BaseModel, found: Changes, fields: Mapping[str, FieldPlan]) -> Changes:
    """Give an instance that keeps extra attributes those that are no fields; return what it is to remember."""
    extras = item.__pydantic_extra__
    if extras is None:
        return {attribute: found[attribute] for attribute in fields}
    for attribute, stored in found.items():
        if attribute in fields:
            continue
        if isinstance(stored, Removed):
            extras.pop(attribute, None)
        else:
            extras[attribute] = decode_any(stored)
    return found


def value_of(field: FieldPlan, stored: AttributeValue) -> Any:
    """Return the value of a field from its stored form.

    Args:
        field: the field.
        stored: its stored form.

    Raises:
        DecodeError: it is of another form; the error names the field.
    """
    try:
        return field.of_null() if "NULL" in stored and not field.converter.tags & {"NULL"} else field.of_stored(stored)
    except DecodeError as error:
        raise error.at(field.name) from error.__cause__
    except ValueError as error:
        raise DecodeError(f"expected {field.converter.label}, but something else is stored").at(field.name) from error


def _starts(spec: UpdateSpec, given: set[str], actions: Sequence[Action]) -> list[Action]:
    """Return the actions that give a new item what the update leaves open, and leave that of a stored item as it is."""
    definition = spec.definition
    starts = {**begun(definition, given), **{k: v for k, v in parts_of_key(spec).items() if k not in given}}
    missing: list[str] = []
    for field in definition.own_fields.values():
        if field.name in given or field.name in starts or field.template is not None:
            continue
        if field.absence is Absence.ERROR:
            missing.append(field.name)
        elif not field.required and (default := absent_value(definition.model, field)) is not None:
            starts[field.name] = default
    if missing:
        name = definition.model.__name__
        raise OperationError(
            f"upsert() may create a new {name}, which needs {', '.join(missing)}; set it, as in "
            f".set({name}.{missing[0]}, {name}.{missing[0]}.if_not_exists(value)), or give the field a default"
        )
    starts.update(started_keys(spec, given, starts, actions))
    begin: list[Action] = []
    for name, value in starts.items():
        path, stored = definition.path(name), _stored_or_none(definition.fields[name], value)
        if stored is not None and definition.fields[name].is_stored:
            begin.append(Set(path, FunctionCall("if_not_exists", (path, Value(stored)))))
    return begin


def _stored(field: FieldPlan, value: object) -> AttributeValue:
    stored = _stored_or_none(field, value)
    return {"NULL": True} if stored is None else stored


def _stored_or_none(field: FieldPlan, value: Any) -> AttributeValue | None:
    if value is MISSING and field.absence is Absence.MISSING:
        return None
    try:
        empty = value is None or value in (set(), frozenset())
        return stored_empty(field, value) if empty else field.converter.encode(value)
    except EncodeError as error:
        raise error.at(field.name) from error.__cause__
