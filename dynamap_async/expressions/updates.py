"""Update actions, all values in their stored form, and their rendering as one update expression.

SetOperand: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.UpdateExpressions.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypeAlias

from dynamap_async import limits
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ExpressionError, OutOfRangeError
from dynamap_async.expressions.conditions import Value
from dynamap_async.expressions.paths import Path
from dynamap_async.expressions.render import Placeholders, check_length

_SETS: Final = frozenset(("SS", "NS", "BS"))


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of the service, as the value that a field is set to."""

    name: Literal["if_not_exists", "list_append"]
    arguments: tuple[SetOperand, SetOperand]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum or the difference of two numbers, as the value that a field is set to."""

    left: SetOperand
    operator: Literal["+", "-"]
    right: SetOperand

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


SetOperand: TypeAlias = Path | Value | FunctionCall | Sum
"""What a field is set to. All paths are read as they were before the update."""


@dataclass(frozen=True, slots=True)
class Set:
    """Set the value at a path."""

    path: Path
    source: SetOperand


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the value at a path."""

    path: Path


@dataclass(frozen=True, slots=True)
class Add:
    """Add a number to a number, or members to a set; a missing value counts as 0 or as an empty set."""

    path: Path
    value: Value


@dataclass(frozen=True, slots=True)
class DeleteElements:
    """Remove members of a set."""

    path: Path
    value: Value


Action: TypeAlias = Set | Remove | Add | DeleteElements
_CLAUSES: Final[tuple[tuple[type[Action], str], ...]] = (
    (Set, "SET"),
    (Remove, "REMOVE"),
    (Add, "ADD"),
    (DeleteElements, "DELETE"),
)


def render_update(actions: Sequence[Action], placeholders: Placeholders) -> str:
    """Return the expression text of an update's actions.

    Raises:
        OutOfRangeError: the text, or its number of operators, is over the service's limit.
    """
    operators = sum(_count_operators(action.source) for action in actions if isinstance(action, Set))
    if operators > limits.EXPRESSION_OPERATORS:
        raise OutOfRangeError(
            f"the update has {operators} operators and functions; DynamoDB accepts {limits.EXPRESSION_OPERATORS}. "
            "Split it into several requests"
        )
    clauses = [
        f"{keyword} {', '.join(_render(action, placeholders) for action in chosen)}"
        # DynamoDB takes each keyword once.
        for kind, keyword in _CLAUSES
        if (chosen := [action for action in actions if isinstance(action, kind)])
    ]
    return check_length(" ".join(clauses), "update")


def check_apart(actions: Sequence[Action], path: Path) -> None:
    """Check that the paths of an update's actions do not overlap.

    Raises:
        ExpressionError: it is one of them, or lies inside one, or holds one, which DynamoDB refuses.
    """
    for action in actions:
        other = action.path
        if overlap(path.steps, other.steps):
            same = "twice" if path == other else f"both as {other} and as {path}"
            whole = f"{path.owner.__name__}.{path.spelled.split('.')[0].split('[')[0]}"
            raise ExpressionError(
                f"the update changes {whole if path.is_declared else path} {same}; DynamoDB allows one action for "
                "each part of an item. Use one action, or two updates",
                expression=str(path),
            )


def overlap(one: Sequence[str | int], other: Sequence[str | int]) -> bool:
    """Return whether paths are equal, one contains the other, or they need one value as both a list and a map."""
    for left, right in zip(one, other, strict=False):
        if left != right:
            # DynamoDB refuses `a.b` beside `a[0]` too: no value is a map and a list.
            return type(left) is not type(right)
    return True


def is_repeatable(action: Action) -> bool:
    """Return whether an action that is sent twice leaves the same item as one that is sent once.

    Constants, start values and set members are repeatable. A number added, elements appended and values that were read
    from the item are not, nor is a list position: what is removed there is another element the second time, and what
    is set behind the end is appended each time.
    """
    in_list = isinstance(action.path.steps[-1], int)
    match action:
        case Set(source=Value()):
            return not in_list
        case Set(path=path, source=FunctionCall(name="if_not_exists", arguments=(Path() as read, Value()))):
            return not in_list and read == path
        case Set():
            return False
        case Remove():
            return not in_list
        case Add(value=value):
            # Adding a member that a set has already leaves it as it is; adding a number counts twice.
            return bool(_SETS & value.stored.keys())
        case DeleteElements():
            return True


def paths_read(source: SetOperand) -> Iterator[Path]:
    """Yield the paths whose values go into the value that a field is set to."""
    match source:
        case Path():
            yield source
        case FunctionCall(arguments=parts):
            for part in parts:
                yield from paths_read(part)
        case Sum(left=left, right=right):
            yield from paths_read(left)
            yield from paths_read(right)
        case Value():
            return


def _render(action: Action, using: Placeholders) -> str:
    match action:
        case Set(path=path, source=source):
            return f"{using.path(path)} = {_source(source, using)}"
        case Remove(path=path):
            return using.path(path)
        case Add(path=path, value=value) | DeleteElements(path=path, value=value):
            return f"{using.path(path)} {using.value(value.stored)}"


def _source(source: SetOperand, using: Placeholders) -> str:
    match source:
        case Path():
            return using.path(source)
        case Value(stored=stored):
            return using.value(stored)
        case FunctionCall(name=name, arguments=(first, second)):
            return f"{name}({_source(first, using)}, {_source(second, using)})"
        case Sum(left=left, operator=operator, right=right):
            return f"{_source(left, using)} {operator} {_source(right, using)}"


def _count_operators(source: SetOperand) -> int:
    match source:
        case FunctionCall(arguments=parts):
            return 1 + sum(map(_count_operators, parts))
        case Sum(left=left, right=right):
            return 1 + _count_operators(left) + _count_operators(right)
        case _:
            return 0
