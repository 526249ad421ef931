"""Rendering of updates, once for each shape: those that differ in their values only have the same expressions."""

from collections.abc import Sequence
from typing import Any

from dynamap_async.expressions import (
    Action,
    Condition,
    Placeholders,
    RenderedMembers,
    render_update,
    update_shape_and_values,
)
from dynamap_async.models import Definition
from dynamap_async.operations.write import condition_members


def rendered(
    definition: Definition[Any], actions: Sequence[Action], conditions: tuple[Condition, ...]
) -> dict[str, Any]:
    """Return the members of an UpdateItem request that its actions and conditions make.

    What is rendered is kept with the model and filled with other values the next time, at a third of the cost
    (benchmarks: update_one).

    Raises:
        ExpressionError: an expression is larger than the service accepts.
    """
    try:
        shape, values = update_shape_and_values(actions, conditions)
    except KeyError:
        return _rendered_anew(actions, conditions)
    kept: RenderedMembers | None = definition.compiled.get(shape)
    if kept is not None and (filled := kept.with_values(values)) is not None:
        return filled
    members = _rendered_anew(actions, conditions)
    if kept is None:
        kept = RenderedMembers.of(members, values)
        definition.compiled.keep(shape, kept, kept.kept_bytes)
    return members


def _rendered_anew(actions: Sequence[Action], conditions: tuple[Condition, ...]) -> dict[str, Any]:
    placeholders = Placeholders()
    expression = render_update(actions, placeholders)
    checks = condition_members(conditions, placeholders)
    return {"UpdateExpression": expression, **checks, **placeholders.to_wire()}
