"""Keys that a write changes along with their parts: computed keys, and the shards of the keys of indexes.

A computed key can be made anew only if all its parts are known: those that the update sets to a constant, those that
the key of the item tells, and those that the instance was read with. Of these the update demands that they are as they
were. A shard is calculated from attributes of the item in the same way.

Items that were stored before a field was declared lack its attribute, and read as its default. So absence is taken for
the value that it reads as, and not for a change.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from dynamap_async.codec import Absence
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DecodeError, EncodeError, ExpressionError, OperationError
from dynamap_async.expressions import (
    Action,
    Comparison,
    Condition,
    Function,
    FunctionCall,
    Or,
    Path,
    Remove,
    Set,
    Value,
)
from dynamap_async.models import (
    REMOVED,
    Changes,
    Computed,
    Definition,
    DerivedField,
    FieldPlan,
    Model,
    Sharding,
    is_whole,
    known,
    validated,
)
from dynamap_async.operations.updatable import UpdateSpec
from dynamap_async.planning import stored_condition, subclass_definitions
from dynamap_async.wire import AttributeValue, WireItem, WireKey

_NULL = Value({"NULL": True})


def absent_value(model: type[BaseModel], field: FieldPlan, others: Mapping[str, Any] | None = None) -> Any:
    """Return what a field reads as from an item without the attribute.

    Args:
        model: the class.
        field: the field.
        others: the values of the item's other fields, of which a default factory may make its own.
    """
    info = model.__pydantic_fields__[field.name]
    if field.required or (info.default_factory_takes_validated_data and others is None):
        return field.of_absence()
    default: Any = info.get_default(call_default_factory=True, validated_data=None if others is None else dict(others))
    return (
        validated(Path(model, (field.stored,), field.name, field.converter), default)
        if info.validate_default
        else default
    )


def unchanged(definition: Definition[Any], attribute: str, item: Mapping[str, AttributeValue]) -> Condition:
    """Return the condition that an attribute of the stored item reads as it does in an item.

    Args:
        definition: the model.
        attribute: the stored name of a field.
        item: the item as it was read or written, its partition keys without shards.
    """
    field = definition.fields[definition.field_names[attribute]]
    path, stored = definition.path(field.name), item.get(attribute)
    absent = Function("attribute_not_exists", path)
    if stored is None:
        # Absence may read as MISSING, which NULL never does. A key of an index is never NULL: DynamoDB refuses it.
        alike = None in path.reads_as_none and _NULL.stored in path.reads_as_none
        null = alike and attribute not in definition.require_table("changed").attribute_types
        return Or((absent, Comparison("=", path, _NULL))) if null else absent
    same = stored_condition(definition, Comparison("=", path, Value(stored)))
    return Or((absent, same)) if _means(definition, field, stored) else same


def _means(definition: Definition[Any], field: FieldPlan, stored: AttributeValue) -> bool:
    """Return whether a field reads the same from an item without the attribute."""
    if field.absence is not Absence.OTHER:
        return False
    try:
        return field.converter.encode(absent_value(definition.model, field)) == stored
    except EncodeError:
        return False


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


def recomputed(spec: UpdateSpec, actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return the actions that store anew what methods compute from changed fields, of the item as it is then.

    Args:
        spec: the update.
        actions: what it does otherwise.

    Raises:
        OperationError: the update knows the key of the item alone, or may create an item.
        ExpressionError: a field is changed to what only DynamoDB will know.
        EncodeError: a computed value cannot be stored.
    """
    definition = spec.definition
    changed = frozenset(definition.field_names.get(action.path.attribute, "") for action in actions)
    if spec.item is None:
        for each in (definition, *(subclass_definitions(definition) if definition.kinds is not None else ())):
            _check_uncomputed(each, changed)
    affected = [] if definition.derived is None else definition.derived.affected(changed)
    if definition.derived is not None and spec.upserts:
        raise OperationError(
            f"upsert() may create a new {definition.model.__name__}, whose {definition.derived.fields[0].name} is "
            "computed from the whole item; put() or create() it, or drop upsert()"
        )
    if not affected:
        return ()
    items, made = definition.items, _computed_after(spec, affected, actions)
    found: list[Action] = []
    for each in affected:
        path, value = definition.path(each.name), made.get(each.plan.stored)
        if value is None:
            found.append(Remove(path))
        else:
            items.check_keys({each.plan.stored: value})
            found.append(Set(path, Value(value)))
    return tuple(found)


def _check_uncomputed(definition: Definition[Any], changed: frozenset[str]) -> None:
    """Raise OperationError where a stored computed field is made of what an update by key changes."""
    for each in () if definition.derived is None else definition.derived.affected(changed):
        model, names = definition.model.__name__, ", ".join(sorted(changed.intersection(each.depends)))
        remedy = "" if each.is_said else "; say what it is made of, @computed_attr(depends=...), or"
        raise OperationError(
            f"{model}.{each.name} is computed from {each.sources}, so an update by key cannot change {names}, as it "
            f"does not know the rest{remedy or ';'} read the item and save() it, or update it: session.update(item)"
        )


def _computed_after(spec: UpdateSpec, affected: Sequence[DerivedField], actions: Sequence[Action]) -> WireItem:
    """Return the item of an instance as it is after an update, with what methods compute from it."""
    definition, item = spec.definition, spec.item
    assert item is not None  # noqa: S101 - an update by key was refused
    _check_present(definition, item, affected[0].name)
    sources = {definition.fields[name].stored: each for each in affected for name in each.depends}
    after = dict(stored_of(item, definition))
    for action in actions:
        match action:
            case Set(path=path, source=Value(stored=stored)) if len(path.steps) == 1:
                after[path.attribute] = stored
            case Remove(path=path) if len(path.steps) == 1:
                after.pop(path.attribute, None)
            case _ if (field := sources.get(action.path.attribute)) is not None:
                raise ExpressionError(
                    f"{definition.model.__name__}.{field.name} is computed from {action.path}, and only DynamoDB would "
                    "know its new value; read the item, and set the field to a constant",
                    expression=str(action.path),
                )
            case _:
                pass
    made: Model = definition.items.validated(definition.items.values(after))
    return definition.items.encode_values(vars(made), made)


def _check_present(definition: Definition[Any], item: Model, made: str) -> None:
    """Raise OperationError where an instance was read from an item of an older version, which is stored as it was."""
    upgrades = definition.items.upgrades
    older = None if upgrades is None or not is_whole(item) else known(item, definition).older
    if upgrades is not None and older is not None:
        raise OperationError(
            f"{definition.model.__name__}.{made} is made of the whole item, which is still stored as version "
            f"{upgrades.stored_version(older)} has it; session.save() the instance, which stores the present version"
        )


def sources_as_before(definition: Definition[Any], before: WireItem, changed: Collection[str]) -> tuple[Condition, ...]:
    """Return the conditions that what stored computed fields are made of, and what is not changed, is stored as before.

    Args:
        definition: the model.
        before: the item as it was read or written.
        changed: the stored names of what is changed.
    """
    if definition.derived is None:
        return ()
    keys = {key.name for key in definition.key_fields()}
    computed = [each for each in definition.derived.fields if each.plan.stored in changed]
    names = dict.fromkeys(name for each in computed for name in each.depends if name not in keys)
    left = [name for name in names if _attribute(definition, name) not in changed]
    return _as_before(definition, left, before) if left else ()


def parts_as_read(spec: UpdateSpec, actions: Sequence[Action]) -> tuple[Condition, ...]:
    """Return the conditions that those parts which rewritten keys take from the instance are still stored so.

    Args:
        spec: the update.
        actions: all that it does, the defaults of a new item included.
    """
    if spec.item is None:
        return ()
    # What begins only where there is nothing leaves a stored item's keys alone.
    own = [each for each in actions if not (isinstance(each, Set) and isinstance(each.source, FunctionCall))]
    names = dict.fromkeys(name for each in _rewrites(spec, own) for name in each.read)
    return _as_before(spec.definition, names, stored_of(spec.item, spec.definition)) if names else ()


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
            names.update(dict.fromkeys(template.depends_on))
    kept = [name for name in names if name not in told and _attribute(definition, name) not in changes]
    return _as_before(definition, kept, before)


def parts_of_key(spec: UpdateSpec) -> dict[str, Any]:
    """Return field name -> value of what an item's key tells beside itself: the parts of its templates.

    Args:
        spec: what is asked.
    """
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
            parts = " and ".join(computed.templates[name].depends_on)
            raise OperationError(
                f"upsert() may create a new {definition.model.__name__}, whose key {name} would be made of defaults; "
                f"set {parts}"
            )
    return found


def is_attribute(definition: Definition[Any], action: Action) -> bool:
    """Return whether an action is about an attribute that is stored; other fields are in computed keys only.

    Args:
        definition: the model.
        action: one that changes a field.
    """
    name = definition.field_names.get(action.path.attribute)
    return name is None or definition.fields[name].is_stored


def _check_members(base: Definition[Any], actions: Sequence[Action]) -> None:
    """Refuse to change a part of a key that only a subclass has: which class the stored item is of is not known."""
    for member in subclass_definitions(base):
        for action in actions:
            attribute = action.path.attribute
            keys = member.templates.get(member.field_names.get(attribute, attribute), ())
            placed = [each.field for each in member.items.shards.of.values() if _is_source(each, attribute)]
            for key in (*keys, *placed):
                own = base.fields.get(key)
                if own is None or _is_made_otherwise(own, member.fields[key]):
                    raise OperationError(
                        f"setting {action.path} changes the key {key} of {member.model.__name__}, which an update of "
                        f"{base.model.__name__} does not set; update the item as {member.model.__name__}, or update "
                        "an instance that was read: session.update(item)"
                    )


def _is_made_otherwise(key: FieldPlan, other: FieldPlan) -> bool:
    """Return whether two models make a key in different ways."""
    ways = [(str(each.template), () if each.template is None else each.template.when) for each in (key, other)]
    return ways[0] != ways[1]


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
        template = computed.templates[name]
        parts = template.depends_on
        if any(changed.get(part, "") is None for part in template.names) or template.excludes({**told, **changed}):
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
                    f"{action.path} is part of the key {keys}, and only DynamoDB would know its new value; read the "
                    "item, and set the field to a constant",
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
    _check_present(definition, spec.item, key)
    item = stored_of(spec.item, definition)
    return {name: _value(definition, name, item) for name in unknown}


def stored_of(item: Model, definition: Definition[Any]) -> WireItem:
    """Return the item of an instance as it is stored; of one that no session read or wrote, as it would be.

    Args:
        item: the instance.
        definition: the model.
    """
    if is_whole(item):
        return known(item, definition).stored
    return definition.items.encode_values(vars(item), item)


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


def resharded(spec: UpdateSpec, actions: Sequence[Action]) -> tuple[Action, ...]:
    """Return actions that give partition keys plain values, as those that give them the stored ones.

    Args:
        spec: the update.
        actions: all that it does.

    Raises:
        ExpressionError: a key, or what its shard is calculated from, is changed to what only DynamoDB will know.
        OperationError: a shard is calculated from what the update does not know.
        EncodeError: a key is too long.
    """
    made = list(actions)
    for sharding in _of_indexes(spec.definition):
        made = _resharded(spec, sharding, made)
    return tuple(made)


def shards_as_read(spec: UpdateSpec, actions: Sequence[Action]) -> tuple[Condition, ...]:
    """Return the conditions that what shards were calculated from, as the instance has it, is still stored so.

    Args:
        spec: the update.
        actions: all that it does, before ``resharded``.
    """
    found: list[Condition] = []
    for sharding in _of_indexes(spec.definition):
        own, sources = _own(sharding, actions), _of_sources(sharding, actions)
        if spec.item is None or not (sources or (isinstance(own, Set) and isinstance(own.source, Value))):
            continue
        item = _plain(spec.definition, stored_of(spec.item, spec.definition))
        known = {**_plain(spec.definition, spec.key), **sources}
        names = _untold(sharding, known)
        names += [sharding.attribute] if own is None else []
        found += [unchanged(spec.definition, name, item) for name in names]
    return tuple(found)


def shards_as_before(definition: Definition[Any], before: WireItem, changes: Changes) -> tuple[Condition, ...]:
    """Return the conditions of a save on what the shards that it changes are calculated from, and it leaves alone.

    Args:
        definition: the model.
        before: the item as it was read or written.
        changes: stored attribute -> new value.
    """
    found: list[Condition] = []
    keys = definition.require_table("saved").keys.names
    for sharding in _of_indexes(definition):
        new = changes.get(sharding.attribute, REMOVED)
        if new is REMOVED:
            continue
        item = _plain(definition, before)
        names = _untold(sharding, (*changes, *keys))
        moved = item.get(sharding.attribute) == sharding.plain(new)
        names += [sharding.attribute] if moved else []
        found += [unchanged(definition, name, item) for name in names]
    return tuple(found)


def _of_indexes(definition: Definition[Any]) -> list[Sharding]:
    return [sharding for sharding in definition.items.shards.of.values() if not sharding.of_table]


def _plain(definition: Definition[Any], item: WireItem) -> WireItem:
    return dict(definition.items.shards.removed(item))


def _untold(sharding: Sharding, known: Container[str]) -> list[str]:
    """Return the attributes that a shard is calculated from and that known attributes do not tell."""
    untold = (each for each in sharding.sources if each.key is None or each.key not in known)
    return [each.attribute for each in untold if each.attribute not in known]


def _own(sharding: Sharding, actions: Sequence[Action]) -> Action | None:
    return next((each for each in actions if each.path.attribute == sharding.attribute), None)


def _of_sources(sharding: Sharding, actions: Sequence[Action]) -> dict[str, AttributeValue]:
    """Return stored name -> new value of what a shard is calculated from, as far as it changes."""
    names = {source.attribute for source in sharding.sources}
    found: dict[str, AttributeValue] = {}
    for action in actions:
        match action:
            case Set(path=path, source=Value(stored=stored)) if path.attribute in names:
                found[path.attribute] = stored
            case Set(path=path, source=FunctionCall(arguments=(Path() as same, Value()))) if path == same:
                continue  # it begins where there is nothing, and so is not known
            case _ if action.path.attribute in names:
                raise ExpressionError(
                    f"{action.path} decides the shard of {sharding.field}, and only DynamoDB would know its new "
                    "value; read the item, and set the field to a constant",
                    expression=str(action.path),
                )
            case _:
                continue
    return found


def _resharded(spec: UpdateSpec, sharding: Sharding, actions: list[Action]) -> list[Action]:
    definition = spec.definition
    own, sources = _own(sharding, actions), _of_sources(sharding, actions)
    key = _plain(definition, spec.key)
    if own is None:
        return [*actions, *_moved(spec, sharding, {**key, **sources})] if sources else actions
    match own:
        case Remove():
            return actions
        case Set(path=path, source=Value(stored=value)):
            known = {**_read(spec), **key, **sources}
            if sharding.number(known) is None:
                raise _unknown(spec, sharding)
            placed = Value(definition.items.shards.placed(sharding, value, known))
            new = Set(path, placed)
        case Set(path=path, source=FunctionCall("if_not_exists", (Path() as same, Value(stored=value)))) if (
            same == path
        ):
            # A stored item keeps its key, so that what is set here beside it may not be what its shard tells.
            if sharding.number(key) is None:
                raise _unknown(spec, sharding)
            placed = Value(definition.items.shards.placed(sharding, value, key))
            new = Set(path, FunctionCall("if_not_exists", (path, placed)))
        case _:
            raise ExpressionError(
                f"{own.path} is stored with the number of its shard, and only DynamoDB would know its new value; read "
                "the item, and set the field to a constant",
                expression=str(own.path),
            )
    return [new if each is own else each for each in actions]


def _moved(spec: UpdateSpec, sharding: Sharding, known: WireItem) -> list[Action]:
    """Return what moves the key that an item has to another shard."""
    definition = spec.definition
    model = definition.model.__name__
    if spec.item is None:
        raise OperationError(
            f"setting {sharding.made_of} moves an item of {model} to another shard of {sharding.field}; "
            f"{_remedy(definition, sharding)}"
        )
    read = _read(spec)
    value = read.get(sharding.attribute)
    if value is None:
        return []
    placed = definition.items.shards.placed(sharding, value, {**read, **known})
    return [Set(definition.path(sharding.field), Value(placed))]


def _read(spec: UpdateSpec) -> WireItem:
    return {} if spec.item is None else _plain(spec.definition, stored_of(spec.item, spec.definition))


def _unknown(spec: UpdateSpec, sharding: Sharding) -> OperationError:
    model = spec.definition.model.__name__
    return OperationError(
        f"{model}.{sharding.field} is stored with the number of its shard, which is calculated from "
        f"{sharding.made_of}; {_remedy(spec.definition, sharding)}"
    )


def _remedy(definition: Definition[Any], sharding: Sharding) -> str:
    template = definition.fields[sharding.field].template
    key = (sharding.field,) if template is None else template.names
    needed = dict.fromkeys((*key, *(source.name for source in sharding.sources)))
    return (
        f"set {' and '.join(needed)} to constants, or update an instance that was read: session.update(item).set(...)"
    )
