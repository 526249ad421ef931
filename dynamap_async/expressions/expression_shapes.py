"""Shapes: what of an expression stays the same when only its values change, and what is rendered once for each.

Conditions of one shape are rendered to the same text, with placeholders in the same places. As each value is sent once,
it belongs to the shape which of the values are equal.

A shape holds nothing of a value, and no map key or list position that the program gave: shapes are kept, and both are
its users'. Expressions that name such a part have no shape.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from dynamap_async import limits
from dynamap_async.codec import value_size
from dynamap_async.dataclass import dataclass
from dynamap_async.expressions.conditions import (
    And,
    Between,
    Comparison,
    Condition,
    Function,
    In,
    Not,
    Operand,
    Or,
    Value,
    is_impossible,
)
from dynamap_async.expressions.paths import Path
from dynamap_async.expressions.updates import Action, Add, DeleteElements, FunctionCall, Remove, Set, SetOperand, Sum
from dynamap_async.wire import AttributeValue

Values = list[AttributeValue]

_VALUES: Final = "ExpressionAttributeValues"
_NAMES: Final = "ExpressionAttributeNames"
_PLACEHOLDER_BYTES: Final = 200
"""The memory of a placeholder and the number of its value."""


@dataclass(frozen=True)
class RenderedMembers:
    """The expressions of a request, rendered once for all requests of their shape, without the values.

    It holds none of the values, which are the program's and may be large.
    """

    members: Mapping[str, Any]
    placeholders: tuple[str, ...]
    numbers: tuple[int, ...]
    """For each placeholder, which of the values of the shape it stands for."""
    fixed_bytes: int
    """The size of the names, and of all placeholders."""

    @property
    def kept_bytes(self) -> int:
        """About how many bytes of memory it takes."""
        return len(repr(self.members)) + _PLACEHOLDER_BYTES * len(self.placeholders)

    @classmethod
    def of(cls, members: Mapping[str, Any], values: Values) -> RenderedMembers:
        """Return rendered members without their values, to be filled with those of other requests.

        Args:
            values: the values that they were rendered with, in the order of the shape.
        """
        names: dict[str, str] = members.get(_NAMES, {})
        used: dict[str, Any] = members.get(_VALUES, {})
        spelled = [repr(value) for value in values]
        return cls(
            members={**members, _VALUES: {}} if used else members,
            placeholders=tuple(used),
            # By their text, as Placeholders does, because values of lists and maps cannot be hashed.
            numbers=tuple([spelled.index(repr(stored)) for stored in used.values()]),
            fixed_bytes=sum(len(key) + len(name.encode()) for key, name in names.items()) + sum(map(len, used)),
        )

    def with_values(self, values: Values) -> dict[str, Any] | None:
        """Return the members with these values; None if they are near DynamoDB's limit of size, or over it."""
        members = dict(self.members)
        if self.placeholders:
            # Of equal values each is counted, so that this may refuse a little too early; planning it anew counts
            # exactly.
            if self.fixed_bytes + sum(map(value_size, values)) > limits.EXPRESSION_SUBSTITUTIONS_BYTES:
                return None
            members[_VALUES] = dict(zip(self.placeholders, map(values.__getitem__, self.numbers), strict=True))
        return members


def shape_and_values(conditions: Sequence[Condition]) -> tuple[Hashable, Values]:
    """Return the shape of conditions, equal for conditions that differ in values only, and their values in order.

    Raises:
        KeyError: there is no shape: one is of no known kind, no item can meet it, or it names a part by what the
            program gave.
    """
    values: Values = []
    shape = tuple([_SHAPES[type(condition)](condition, values) for condition in conditions])
    return (shape, None if len(values) < 2 else _equal_ones(values)), values


def update_shape_and_values(actions: Sequence[Action], conditions: Sequence[Condition]) -> tuple[Hashable, Values]:
    """Return the shape of an update's actions and conditions together, and their values; errors as above."""
    values: Values = []
    acts = tuple([_action_shape(action, values) for action in actions])
    checks = tuple([_SHAPES[type(condition)](condition, values) for condition in conditions])
    return (acts, checks, None if len(values) < 2 else _equal_ones(values)), values


def _action_shape(action: Action, values: Values) -> Hashable:
    match action:
        case Set(path=path, source=source):
            return Set, _declared(path), _source_shape(source, values)
        case Add(path=path, value=value) | DeleteElements(path=path, value=value):
            return type(action), _declared(path), _operand_shape(value, values)
        case Remove(path=path):
            return Remove, _declared(path)


def _source_shape(source: SetOperand, values: Values) -> Hashable:
    match source:
        case FunctionCall(name=name, arguments=(first, second)):
            return name, _source_shape(first, values), _source_shape(second, values)
        case Sum(left=left, operator=operator, right=right):
            return operator, _source_shape(left, values), _source_shape(right, values)
        case _:
            return _operand_shape(source, values)


def _equal_ones(values: Values) -> Hashable:
    """Return which of the values are equal, since equal values share a placeholder; None if all differ."""
    if len(values) == 2 and values[0] != values[1]:
        return None  # without spelling them (benchmarks: update_one)
    spelled = [repr(value) for value in values]
    return None if len(set(spelled)) == len(spelled) else tuple([spelled.index(each) for each in spelled])


def _operand_shape(operand: Operand, values: Values) -> Hashable:
    """Return the shape of an operand: the type of a value; a path, or its size, as it is."""
    if isinstance(operand, Value):
        stored = operand.stored
        values.append(stored)
        [tag] = stored
        return tag
    _declared(operand if isinstance(operand, Path) else operand.path)
    return operand


def _declared(path: Path) -> Path:
    """Return a path, checked to have no steps that the program gave; raises KeyError for others."""
    if path.has_given_steps:
        raise KeyError(path)
    return path


def _comparison(condition: Comparison, values: Values) -> Hashable:
    return condition.comparator, _operand_shape(condition.left, values), _operand_shape(condition.right, values)


def _between(condition: Between, values: Values) -> Hashable:
    if is_impossible(condition):
        raise KeyError(condition)  # it is rendered otherwise
    low, high = _operand_shape(condition.low, values), _operand_shape(condition.high, values)
    return Between, _operand_shape(condition.operand, values), low, high


def _in(condition: In, values: Values) -> Hashable:
    if not condition.values:
        raise KeyError(condition)  # as above
    return In, _operand_shape(condition.operand, values), *[_operand_shape(each, values) for each in condition.values]


def _function(condition: Function, values: Values) -> Hashable:
    return condition.name, _declared(condition.path), *[_operand_shape(each, values) for each in condition.arguments]


def _parts(condition: And | Or, values: Values) -> Hashable:
    return type(condition), *[_SHAPES[type(part)](part, values) for part in condition.parts]


def _not(condition: Not, values: Values) -> Hashable:
    return Not, _SHAPES[type(condition.part)](condition.part, values)


_SHAPES: Final[dict[type[Condition], Callable[[Any, Values], Hashable]]] = {
    Comparison: _comparison,
    Between: _between,
    In: _in,
    Function: _function,
    And: _parts,
    Or: _parts,
    Not: _not,
}
