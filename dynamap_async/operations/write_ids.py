"""Write ids: by which a write whose answer was lost is recognised in the stored item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from dynamap_async.expressions import Action, Remove, Set, Value
from dynamap_async.models import Definition
from dynamap_async.operations.updatable import UpdateSpec
from dynamap_async.request import WriteId
from dynamap_async.wire import AttributeValue, WireItem

_Steps: TypeAlias = Sequence[str | int]
_Tree: TypeAlias = "dict[str | int, _Tree]"


def write_id_in(definition: Definition[Any], stored: Mapping[str, Any]) -> WriteId | None:
    """Return the id of a write that stores these attributes; None where the model has no such field.

    Args:
        definition: the model.
        stored: stored attribute -> value.
    """
    field = definition.write_id
    return None if field is None else WriteId(field.stored, stored[field.stored])


def write_id_of_update(spec: UpdateSpec, actions: Sequence[Action]) -> WriteId | None:
    """Return the id of an update; None where the model has no such field, or the stored item does not tell the result.

    It does not tell what an item was before, nor which elements of a list were changed where others were removed.

    Args:
        spec: what is asked.
        actions: all that is done.
    """
    field = spec.definition.write_id
    if field is None or spec.returns == "old":
        return None
    [value] = [each.source for each in actions if isinstance(each, Set) and each.path.attribute == field.stored]
    assert isinstance(value, Value), f"{value} is not a write id"  # noqa: S101 - no update can set it
    if spec.returns != "changed":
        return WriteId(field.stored, value.stored)
    if any(isinstance(each, Remove) and isinstance(each.path.steps[-1], int) for each in actions):
        return None
    paths = [each.path.steps for each in actions if not isinstance(each, Remove)]
    return WriteId(field.stored, value.stored, partial(_parts, paths))


def _parts(paths: Iterable[_Steps], item: WireItem) -> WireItem:
    """Return what is at these paths of an item, as DynamoDB gives back what was changed: of lists the elements only."""
    tree: _Tree = {}
    for steps in paths:
        branch = tree
        for step in steps:
            branch = branch.setdefault(step, {})
    return _members(item, tree)


def _members(members: WireItem, tree: _Tree) -> WireItem:
    names = [name for name in tree if isinstance(name, str) and name in members]
    return {name: _part(members[name], tree[name]) for name in names}


def _part(value: AttributeValue, tree: _Tree) -> AttributeValue:
    if not tree:
        return value
    if "M" in value:
        return {"M": _members(value["M"], tree)}
    elements = value.get("L", [])
    places = sorted(place for place in tree if isinstance(place, int))
    # What was set behind the end is the last element.
    return {"L": [_part(elements[min(place, len(elements) - 1)], tree[place]) for place in places if elements]}
