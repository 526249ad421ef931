"""Rewriting: the computed keys that an update has to change because it changes a part of them.

A key can be made anew only if all its parts are known: those that the update sets to a constant, those that the key of
the item tells, and those that the instance was read with; of these the update demands that they are as they were.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynamap_async.errors import DecodeError, ExpressionError, OperationError
from dynamap_async.expressions import Action, Call, Condition, Remove, Set, Value
from dynamap_async.models import (
    REMOVED,
    Changes,
    Computed,
    Definition,
    FieldPlan,
    Model,
    Sharding,
    is_whole,
    known,
)
from dynamap_async.operations.unchanged import absent_value, unchanged
from dynamap_async.operations.updating import UpdateSpec
from dynamap_async.planning import subclasses_of
from dynamap_async.wire import WireItem, WireKey


@dataclass(frozen=True, slots=True)
class _Rewrite:
    key: FieldPlan
    text: str | None
    """The new key; None where a part is None, so that there is none."""
    read: tuple[str, ...]
    """The parts whose values were read from the item."""


def keys_rewritten(spec: UpdateSpec, actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return the actions that give the computed keys of changed parts their new text.

    Args:
        spec: the update.
        actions: what it does otherwise.

    Raises:
        ExpressionError: a part is changed to what only DynamoDB will know.
        OperationError: a key needs a part that the update does not know, or is one of a subclass.
        EncodeError: a value does not fit into a key, or a key is too long.
    """
    if spec.item is None and spec.definition.kinds is not None:
        _check_members(spec.definition, actions)
    made: list[Action] = []
    for each in _rewrites(spec, actions):
        path = spec.definition.path(each.key.name)
        if each.text is None:
            made.append(Remove(path))
            continue
        stored = each.key.converter.encode(each.text)
        spec.definition.items.check_keys({each.key.stored: stored})
        made.append(Set(path, Value(stored)))
    return tuple(made)


def parts_as_read(spec: UpdateSpec, actions: Sequence[Action]) -> tuple[Condition, ...]:
    """Return the conditions that those parts which rewritten keys take from the instance are still stored so.

    Args:
        spec: the update.
        actions: all that it does, the defaults of a new item included.
    """
    # What begins only where there is nothing leaves a stored item's keys alone.
    own = [each for each in actions if not (isinstance(each, Set) and isinstance(each.source, Call))]
    names = dict.fromkeys(name for each in _rewrites(spec, own) for name in each.read)
    if not names or spec.item is None:
        return ()
    return _as_before(spec.definition, names, stored_of(spec.item, spec.definition))


def parts_as_before(definition: Definition[Any], before: WireItem, changes: Changes) -> tuple[Condition, ...]:
    """Return the conditions of a save on the unchanged parts of the computed keys that it changes.

    Args:
        definition: the model.
        before: the item as it was read or written.
        changes: stored attribute -> new value.
    """
    computed = definition.computed
    if computed is None:
        return ()
    names: dict[str, None] = {}
    told = _of_key(definition, _key_of(definition, before))
    for key, template in computed.templates.items():
        if changes.get(definition.fields[key].stored, REMOVED) is not REMOVED:
            names.update(dict.fromkeys(template.names))
    kept = [name for name in names if name not in told and _attribute(definition, name) not in changes]
    return _as_before(definition, kept, before)


def parts_of_key(spec: UpdateSpec) -> dict[str, Any]:
    """Return field name -> value of what an item's key tells beside itself: the parts of its templates."""
    keys = {field.name for field in spec.definition.key_fields()}
    told = _of_key(spec.definition, spec.key)
    return {name: value for name, value in told.items() if name not in keys}


def started_keys(
    spec: UpdateSpec, given: Collection[str], starts: Mapping[str, Any], actions: Sequence[Action]
) -> dict[str, str]:
    """Return computed field -> text of the keys that only a new item needs, which the update may make.

    Args:
        spec: the update.
        given: the names of the fields that the update gives a value.
        starts: field name -> value of what a new item gets besides.
        actions: what the update does.

    Raises:
        OperationError: a stored item may be without such a key for a reason, and would get it.
        EncodeError: a value does not fit into a key.
    """
    definition = spec.definition
    computed = definition.computed
    if computed is None:
        return {}
    values = {**starts, **_of_key(definition, spec.key), **dict(_changed(definition, computed, actions))}
    made = {name: computed.built(name, values) for name in computed.templates if name not in given}
    found = {name: text for name, text in made.items() if isinstance(text, str)}
    for name in found:
        if definition.fields[name].nullable:
            parts = " and ".join(computed.templates[name].names)
            raise OperationError(
                f"upsert() may make a new {definition.model.__name__}, whose key {name} would be made of defaults, and "
                f"a stored one without that key would get it too; set {parts}"
            )
    return found


def is_attribute(definition: Definition[Any], action: Action) -> bool:
    """Return whether an action is about an attribute that is stored; other fields are in computed keys only."""
    name = definition.field_names.get(action.path.attribute)
    return name is None or definition.fields[name].is_stored


def _check_members(base: Definition[Any], actions: Sequence[Action]) -> None:
    """Refuse to change a part of a key that only a subclass has: which class the stored item is of is not known."""
    for member in subclasses_of(base):
        for action in actions:
            attribute = action.path.attribute
            keys = member.templates.get(member.field_names.get(attribute, attribute), ())
            placed = [each.field for each in member.items.shards.of.values() if _is_source(each, attribute)]
            for key in (*keys, *placed):
                own = base.fields.get(key)
                if own is None or str(own.template) != str(member.fields[key].template):
                    raise OperationError(
                        f"setting {action.path} changes the key {key} of {member.model.__name__}, which an update of "
                        f"{base.model.__name__} does not make; update it as {member.model.__name__}, or update an "
                        "instance that was read: session.update(item)"
                    )


def _is_source(sharding: Sharding, attribute: str) -> bool:
    return any(source.attribute == attribute for source in sharding.sources)


def _rewrites(spec: UpdateSpec, actions: Sequence[Action]) -> Iterator[_Rewrite]:
    definition = spec.definition
    computed = definition.computed
    if computed is None:
        return
    changed = dict(_changed(definition, computed, actions))
    if not changed:
        return
    told = _of_key(definition, spec.key)
    for name in computed.affected(changed):
        parts = computed.templates[name].names
        if any(changed.get(part, "") is None for part in parts):
            yield _Rewrite(definition.fields[name], None, ())
            continue
        unknown = tuple(part for part in parts if part not in changed and part not in told)
        held = _held(spec, name, unknown, next(part for part in parts if part in changed))
        text = computed.built(name, {**told, **held, **changed})
        yield _Rewrite(definition.fields[name], text, unknown)


def _changed(definition: Definition[Any], computed: Computed, actions: Sequence[Action]) -> Iterator[tuple[str, Any]]:
    for action in actions:
        name = definition.field_names.get(action.path.attribute)
        if name is None or name not in computed.of_part:
            continue
        match action:
            case Set(path=path, source=Value(stored=stored)) if len(path.steps) == 1:
                yield name, None if "NULL" in stored else definition.fields[name].converter.decode(stored)
            case Remove(path=path) if len(path.steps) == 1:
                yield name, absent_value(definition.model, definition.fields[name])
            case _:
                keys = " and ".join(computed.of_part[name])
                raise ExpressionError(
                    f"{action.path} is a part of the key {keys}, which is made of its new value, and only DynamoDB "
                    "would know that one; read the item, and set the field to a constant",
                    expression=str(action.path),
                )


def _held(spec: UpdateSpec, key: str, unknown: Sequence[str], changed: str) -> dict[str, Any]:
    """Return the values of those parts that only the stored item tells."""
    if not unknown:
        return {}
    definition = spec.definition
    model = definition.model.__name__
    if spec.item is None:
        raise OperationError(
            f"setting {model}.{changed} changes the key {key}, which is also made of {', '.join(unknown)}; set "
            f"{'it' if len(unknown) == 1 else 'them'} too, or update an instance that was read: "
            f"session.update(item).set({model}.{changed}, ...)"
        )
    item = stored_of(spec.item, definition)
    return {name: _value(definition, name, item) for name in unknown}


def stored_of(item: Model, definition: Definition[Any]) -> WireItem:
    """Return the item of an instance as it is stored; of one that no session read or wrote, as it would be."""
    if is_whole(item):
        return known(item, definition).stored
    return definition.items.encode_values(vars(item))


def _value(definition: Definition[Any], name: str, item: Mapping[str, Any]) -> Any:
    field, computed = definition.fields[name], definition.computed
    stored = item.get(_attribute(definition, name))
    if stored is None:
        return absent_value(definition.model, field)
    if "NULL" in stored:
        return None
    if field.is_stored or computed is None:
        return field.of_stored(stored)
    key = definition.fields[computed.unstored[name]]
    return computed.templates[key.name].parse(key.of_stored(stored))[name]


def _as_before(definition: Definition[Any], names: Iterable[str], item: WireItem) -> tuple[Condition, ...]:
    plain = definition.items.shards.removed(item)
    return tuple(unchanged(definition, _attribute(definition, name), plain) for name in names)


def _attribute(definition: Definition[Any], name: str) -> str:
    """Return the stored attribute that tells the value of a field: its own, or the key that it is read back from."""
    computed = definition.computed
    source = name if computed is None else computed.unstored.get(name, name)
    return definition.fields[source].stored


def _key_of(definition: Definition[Any], item: WireItem) -> WireKey:
    return {name: item[name] for name in definition.require_table("updated").keys.names if name in item}


def _of_key(definition: Definition[Any], key: WireKey) -> dict[str, Any]:
    """Return field name -> value of all that a key tells."""
    told: dict[str, Any] = {}
    for attribute, stored in key.items():
        field = definition.fields[definition.field_names[attribute]]
        told[field.name] = field.of_stored(stored)
        if field.template is not None:
            try:
                told.update(field.template.parse(told[field.name]))
            except DecodeError:  # a key that was not made by the template tells nothing
                continue
    return told
