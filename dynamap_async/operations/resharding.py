"""Resharding: the partition keys of indexes that a write has to move to another shard, or to put into one.

A shard is calculated from attributes of the item. An update has to know those that it does not set: from the item's
key, or from the instance that names the item; of what it takes from there it demands that it is stored so.
"""

from collections.abc import Container, Sequence
from typing import Any

from dynamap_async.errors import ExpressionError, OperationError
from dynamap_async.expressions import Action, Call, Condition, Path, Remove, Set, Value
from dynamap_async.models import REMOVED, Changes, Definition, Sharding
from dynamap_async.operations.rewriting import stored_of
from dynamap_async.operations.unchanged import unchanged
from dynamap_async.operations.updating import UpdateSpec
from dynamap_async.wire import AttributeValue, WireItem


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
            case Set(path=path, source=Call(arguments=(Path() as same, Value()))) if path == same:
                continue  # it begins where there is nothing, and so is not known
            case _ if action.path.attribute in names:
                raise ExpressionError(
                    f"{action.path} tells the shard of {sharding.field}, and only DynamoDB would know its new value; "
                    "read the item, and set the field to a constant",
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
        case Set(path=path, source=Call(name="if_not_exists", arguments=(Path() as same, Value(stored=value)))) if (
            same == path
        ):
            # A stored item keeps its key, so that what is set here beside it may not be what its shard tells.
            if sharding.number(key) is None:
                raise _unknown(spec, sharding)
            placed = Value(definition.items.shards.placed(sharding, value, key))
            new = Set(path, Call("if_not_exists", (path, placed)))
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
