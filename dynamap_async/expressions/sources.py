"""Sources: what an update sets a field to where that is made of the stored item: sums, start values, longer lists.

They hold their constants as the program wrote them, until an update takes them: it knows the field that is set, and so
how they are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from dynamap_async.codec import ALL_TAGS, Converter
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ExpressionError
from dynamap_async.expressions.conditions import Size, Value, path_in
from dynamap_async.expressions.paths import Path
from dynamap_async.expressions.updates import FunctionCall, SetOperand, Sum

Sign: TypeAlias = Literal["+", "-"]
EncodeConstant: TypeAlias = Callable[[Path, object], Value]
"""Stores a constant as a path does; raises EncodeError."""

_NUMBERS: Final[frozenset[type[Any]]] = frozenset((int, float, Decimal, type(None)))


@dataclass(frozen=True, slots=True)
class Start:
    """The value at a path, or a constant where there is none."""

    path: Path
    value: object

    def __str__(self) -> str:
        return f"{self.path}.if_not_exists({self.value!r})"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The sum or the difference of two numbers."""

    left: Term
    sign: Sign
    right: Term

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


Elements: TypeAlias = tuple[object, ...] | Start
"""What makes a list longer: constants, or another list, with what it counts as where an item does not have it."""


@dataclass(frozen=True, slots=True)
class Longer:
    """A list with more elements before and after those that it has."""

    list: Start
    before: tuple[Elements, ...] = ()
    after: tuple[Elements, ...] = ()

    def __str__(self) -> str:
        before = "".join(f".prepend({_shown(each)})" for each in reversed(self.before))
        after = "".join(f".append({_shown(each)})" for each in self.after)
        return f"{self.list.path}{before}{after}"


Term: TypeAlias = Path | Value | Start
Made: TypeAlias = Path | Start | Arithmetic | Longer
"""What a change is made of."""


def source_of(made: Made, target: Path, encode: EncodeConstant) -> SetOperand:
    """Return the source of an update's value, with every constant in its stored form.

    Args:
        encode: stores the constants that may become the value of a path, or an element of it.

    Raises:
        ExpressionError: the change is of another type than the path.
        EncodeError: a constant is.
    """
    match made:
        case Path():
            return _checked_source(made, target)
        case Start():
            return _start(made, target, encode)
        case Arithmetic(left=left, sign=sign, right=right):
            return Sum(_term(left, target), sign, _term(right, target))
        case Longer(list=start, before=before, after=after):
            joined: SetOperand = _start(start, target, encode)
            for elements in after:
                joined = FunctionCall("list_append", (joined, _elements(target, elements, encode)))
            # list_append takes two lists; the group prepended last stands first.
            for elements in reversed(before):
                joined = FunctionCall("list_append", (_elements(target, elements, encode), joined))
            return joined


def is_number(path: Path) -> bool:
    """Return whether the values at a path are numbers that DynamoDB can add to."""
    converter = path.converter
    return converter.tags == ALL_TAGS or (
        converter.tags <= {"N", "NULL"} and _NUMBERS.issuperset(converter.types) and "N" in converter.tags
    )


def amount(path: Path, value: object) -> Value:
    """Return the number to add to, or subtract from, the one at a path. It may be outside the field's range.

    Raises:
        ExpressionError: the path holds no number.
        EncodeError: the amount is no number of the path's type.
    """
    if not is_number(path):
        raise ExpressionError(
            f"only numbers (int, float, Decimal) can be added and subtracted, and {path} holds {path.converter.label}",
            expression=str(path),
        )
    stored = path.encode(value)
    if "N" not in stored:
        raise ExpressionError(f"{path}: {value!r} is not a number that can be added", expression=str(path))
    return Value(stored)


def arithmetic(left: object, sign: Sign, right: object) -> Arithmetic:
    """Return a sum or a difference, one side of which is a path, or a path with a start value.

    Raises:
        ExpressionError: a side is no number, or a sum itself.
        EncodeError: the constant is of another type than the other side.
    """
    for each in (left, right):
        if isinstance(each, Size):
            path_in(each, "arithmetic")
        # DynamoDB's SET takes one operator for each action.
        if isinstance(each, Arithmetic | Longer):
            raise ExpressionError(f"({left}) {sign} ({right}): an update adds or subtracts only two numbers")
    path = next(
        each.path if isinstance(each, Start) else each for each in (left, right) if isinstance(each, Path | Start)
    )
    return Arithmetic(_operand(left, path), sign, _operand(right, path))


def _operand(value: object, path: Path) -> Term:
    if isinstance(value, Path | Start):
        amount(value.path if isinstance(value, Start) else value, 0)
        return value
    return amount(path, value)


def list_at(path: Path, start: object) -> Longer:
    """Return the list at a path, with the list to start from where there is none.

    Raises:
        ExpressionError: the path holds no list.
    """
    if path.converter.step(0) is None or (path.converter.member is None and path.converter.tags != ALL_TAGS):
        raise ExpressionError(
            f"only lists can be appended to, and {path} holds {path.converter.label}; add members to a set with "
            "update.add(field, members)",
            expression=str(path),
        )
    return Longer(Start(path, start))


def longer(made: Made, *, before: object = None, after: object = None) -> Longer:
    """Return a list with elements added before or after.

    Raises:
        ExpressionError: it is no list, or what is given is none.
    """
    elements = _elements_of(made, after if before is None else before)
    match made:
        case Longer():
            found = made
        case Start(path=path, value=value):
            found = list_at(path, value)
        case _:
            raise ExpressionError(f"({made}) is not a list, so nothing can be appended to it")
    if before is not None:
        return replace(found, before=_joined(elements, *found.before))
    return replace(found, after=_joined(*found.after, elements))


def _elements_of(made: Made, given: object) -> Elements:
    """Return the elements that a list gets, in their stored form.

    Raises:
        ExpressionError: it is no list.
    """
    if isinstance(given, Size):
        path_in(given, "append() and prepend()")
    if isinstance(given, Path):
        return list_at(given, []).list
    if isinstance(given, Start):
        return list_at(given.path, given.value).list
    elements: Any = given
    if not isinstance(given, list | tuple):
        shown = str(given) if isinstance(given, Arithmetic | Longer) else repr(elements)
        raise ExpressionError(f"{made}: append() and prepend() take a list of elements, such as [element], not {shown}")
    return tuple(elements)


def _joined(*several: Elements) -> tuple[Elements, ...]:
    """Return groups of elements, with neighbouring constants joined into one group."""
    found: list[Elements] = []
    for each in several:
        if found and isinstance(each, tuple) and isinstance(last := found[-1], tuple):
            found[-1] = (*last, *each)
        else:
            found.append(each)
    return tuple(found)


def _shown(elements: Elements) -> str:
    if isinstance(elements, Start):
        return str(elements if elements.value else elements.path)
    return repr([*elements])


def _checked_source(path: Path, target: Path) -> Path:
    mine, other = target.converter, path.converter
    if not path.is_declared:  # nobody but the program knows what it holds
        return path
    if _tags(other) <= _tags(mine) and (object in mine.types or set(other.types) <= {*mine.types, type(None)}):
        return path
    raise ExpressionError(
        f"{target} holds {mine.label}, so it cannot be set from {path}, which holds {other.label}",
        expression=str(target),
    )


def _tags(converter: Converter) -> frozenset[str]:
    """Return the stored types that the values may have."""
    return frozenset(tag for form in converter.forms for tag in form.tags) | converter.tags


def _start(start: Start, target: Path, encode: EncodeConstant) -> FunctionCall:
    return FunctionCall("if_not_exists", (_checked_source(start.path, target), encode(target, start.value)))


def _term(term: Term, target: Path) -> SetOperand:
    match term:
        case Path():
            return _checked_source(term, target)
        case Start(path=path, value=value):
            return FunctionCall("if_not_exists", (_checked_source(path, target), amount(path, value)))
        case Value():
            return term


def _elements(target: Path, elements: Elements, encode: EncodeConstant) -> SetOperand:
    if isinstance(elements, Start):
        return _start(elements, target, encode)
    # Encoded as an element of the list, so that errors name the place.
    element = target.child(0)
    return Value({"L": [encode(element, each).stored for each in elements]})
