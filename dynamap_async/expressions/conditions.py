"""Conditions: values that say which items are meant, for key conditions, filters and guarded writes.

Grammar: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from dynamap_async.codec import order_key
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ExpressionError
from dynamap_async.expressions.paths import Path
from dynamap_async.wire import AttributeValue

if TYPE_CHECKING:

    class _UseAmpersand:
        """The declared result of ``bool(condition)``: no bool, so that a checker refuses ``if`` and ``not``."""


Comparator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
_SPELLED: Final[dict[Comparator, str]] = {"=": "==", "<>": "!="}


@dataclass(frozen=True, slots=True)
class Size:
    """The ``size(path)`` of an attribute, as an operand."""

    path: Path

    def __str__(self) -> str:
        return f"{self.path}.size()"


@dataclass(frozen=True, slots=True)
class Value:
    """A constant operand, already in its stored form."""

    stored: AttributeValue

    def __str__(self) -> str:
        [(tag, value)] = self.stored.items()
        text = "None" if tag == "NULL" else str(value) if tag in ("N", "BOOL") else repr(value)
        return text if len(text) <= 60 else text[:57] + "..."


Operand: TypeAlias = Path | Size | Value


def path_in(operand: Path | Size, use: str) -> Path:
    """Return the path that an operand is.

    Raises:
        ExpressionError: it is the size of one, which ``use`` cannot do with.
    """
    if isinstance(operand, Size):
        raise ExpressionError(f"{operand} is a number; {use} needs the field itself")
    return operand


class Condition:
    """Something that is true or false of an item. Combine with ``&``, ``|`` and ``~``."""

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented
        return And((*parts_of(self, And), *parts_of(other, And)))

    def __or__(self, other: Condition) -> Condition:
        if not isinstance(other, Condition):
            return NotImplemented
        return Or((*parts_of(self, Or), *parts_of(other, Or)))

    def __invert__(self) -> Condition:
        return self.part if isinstance(self, Not) else Not(self)

    def __bool__(self) -> _UseAmpersand:
        raise ExpressionError(
            f"({self}) is neither true nor false in Python: DynamoDB checks it for each item. Combine conditions with "
            "&, | and ~ instead of and, or and not, and write x.between(low, high) instead of low <= x <= high",
            expression=str(self),
        )


@dataclass(frozen=True, slots=True)
class Comparison(Condition):
    """``left comparator right``."""

    comparator: Comparator
    left: Operand
    right: Operand

    def __str__(self) -> str:
        return f"{self.left} {_SPELLED.get(self.comparator, self.comparator)} {self.right}"


@dataclass(frozen=True, slots=True)
class Between(Condition):
    """``low <= operand <= high``, both ends included."""

    operand: Operand
    low: Value
    high: Value

    def __str__(self) -> str:
        return f"{self.operand}.between({self.low}, {self.high})"


@dataclass(frozen=True, slots=True)
class In(Condition):
    """The operand equals one of the values. There may be any number of them; with none, no item meets it."""

    operand: Operand
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.operand}.is_in({', '.join(map(str, self.values))})"


FunctionName: TypeAlias = Literal[
    "begins_with", "contains", "attribute_exists", "attribute_not_exists", "attribute_type"
]
_METHODS: Final[dict[FunctionName, str]] = {
    "attribute_exists": "exists",
    "attribute_not_exists": "missing",
    "attribute_type": "has_type",
}


@dataclass(frozen=True, slots=True)
class Function(Condition):
    """One of the service's functions that are true or false of a path."""

    name: FunctionName
    path: Path
    arguments: tuple[Operand, ...] = ()

    def __str__(self) -> str:
        return f"{self.path}.{_METHODS.get(self.name, self.name)}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class And(Condition):
    """Every part holds."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " & ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or(Condition):
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return " | ".join(f"({part})" for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not(Condition):
    """The part does not hold."""

    part: Condition

    def __str__(self) -> str:
        return f"~({self.part})"


def is_impossible(condition: Condition) -> bool:
    """Return whether no item meets a condition, whatever is stored.

    Such a one is made of what a client sent: of an empty list of values, or of a range that ends before it begins.
    DynamoDB refuses both.
    """
    match condition:
        case In(values=values):
            return not values
        case Between(low=low, high=high):
            return order_key(low.stored) > order_key(high.stored)
        case And(parts=parts):
            return any(map(is_impossible, parts))
        case Or(parts=parts):
            return all(map(is_impossible, parts))
        case _:
            return False


def parts_of(condition: Condition, kind: type[And | Or] = And) -> tuple[Condition, ...]:
    """Return the parts of a conjunction or disjunction; of any other condition, the condition itself."""
    return condition.parts if isinstance(condition, kind) else (condition,)


def conjunction(conditions: tuple[Condition, ...]) -> Condition | None:
    """Return one condition that holds if all of these do; None if there are none."""
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else And(conditions)


def flatten(conditions: tuple[Condition, ...]) -> Iterator[Condition]:
    """Yield the parts of all conditions, with conjunctions split."""
    for condition in conditions:
        for part in parts_of(condition):
            if isinstance(part, And):
                yield from flatten(part.parts)
            else:
                yield part


def paths_in(condition: Condition | Operand) -> list[Path]:
    """Return every path that a condition names, in order."""
    match condition:  # what is asked most often stands first (benchmarks: render)
        case Path():
            return [condition]
        case Value():
            return []
        case Comparison(left=left, right=right):
            return [*paths_in(left), *paths_in(right)]
        case Function(path=path, arguments=arguments):
            return [path, *_paths_in_all(arguments)]
        case Size(path=operand) | Between(operand=operand) | In(operand=operand):
            return paths_in(operand)
        case And(parts=parts) | Or(parts=parts):
            return _paths_in_all(parts)
        case Not(part=part):
            return paths_in(part)
        case _:
            return []


def _paths_in_all(parts: Iterable[Condition | Operand]) -> list[Path]:
    return [path for part in parts for path in paths_in(part)]
