"""Comparisons: an operand and a Python value become a condition, the value in the operand's stored form.

Owns what None and the empty set mean: DynamoDB stores no empty sets, and an item may lack an attribute, so a
comparison with either asks for every stored form, absence included, that reads back as that value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import time
from decimal import Decimal
from typing import Any, Final

from dynamap_async.codec import MISSING, Absence, encode_any, order_key
from dynamap_async.errors import EncodeError, ExpressionError
from dynamap_async.expressions.conditions import (
    And,
    Between,
    Comparator,
    Comparison,
    Condition,
    Function,
    In,
    Operand,
    Or,
    Size,
    Value,
)
from dynamap_async.expressions.paths import Forms, Path
from dynamap_async.wire import Tag

_ORDERED: Final[frozenset[Tag]] = frozenset(("S", "N", "B"))
_SETS: Final[tuple[type[Any], ...]] = (set, frozenset)


def compare(comparator: Comparator, left: Path | Size, right: object) -> Condition:
    """Return the comparison of an operand with another operand or a constant, by ``<``, ``<=``, ``>`` or ``>=``.

    Raises:
        ExpressionError: the constant has no order, or the two operands can never be compared.
        EncodeError: the constant is not of the operand's type.
    """
    if isinstance(right, Path | Size):
        _check_order(left)
        _check_order(right)
        return Comparison(comparator, left, _comparable(left, right))
    return _any_of([Comparison(comparator, left, each) for each in _ordered(left, right)])


def equal(left: Path | Size, right: object) -> Condition:
    """Return the condition that an operand equals another operand or a constant; errors are those of ``compare``."""
    if isinstance(right, Path | Size):
        return Comparison("=", left, _comparable(left, right))
    absent = _reads_as(left, right)
    if absent is not None:
        return absent
    values = _constants(left, right)
    # An attribute with several stored forms may have any of them, item by item.
    return Comparison("=", left, values[0]) if len(values) == 1 else In(left, values)


def unequal(left: Path | Size, right: object) -> Condition:
    """Return the condition that an operand differs from another operand or a constant.

    DynamoDB takes an absent attribute to differ from every value.
    """
    if isinstance(right, Path | Size):
        return Comparison("<>", left, _comparable(left, right))
    absent = _reads_as(left, right)
    if absent is not None:
        return ~absent
    values = _constants(left, right)
    return Comparison("<>", left, values[0]) if len(values) == 1 else ~In(left, values)


def between(operand: Path | Size, low: object, high: object) -> Condition:
    """Return the condition that an operand is in a range, both ends included.

    One whose low end is above the high end matches nothing.

    Raises:
        ExpressionError: the operand's type has no order.
        EncodeError: an end is not of the operand's type.
    """
    # A range for each stored form, since DynamoDB never orders values of different types.
    ranges = list(zip(_ordered(operand, low), _ordered(operand, high), strict=True))
    for first, last in ranges:
        start, end = order_key(first.stored), order_key(last.stored)
        if start[0] != end[0]:
            raise ExpressionError(
                f"{operand}.between({low!r}, {high!r}): the two ends are stored as {start[0]} and {end[0]}"
            )
    return _any_of([Between(operand, *bounds) for bounds in ranges])


def is_in(operand: Path | Size, values: tuple[object, ...]) -> Condition:
    """Return the condition that an operand equals one of the values or operands; without any, no item meets it.

    Raises:
        ExpressionError: an operand can never be equal, or the values are not given one by one.
        EncodeError: a value is not of the operand's type.
    """
    # Apart from the constants, so that whoever looks into an IN finds nothing else.
    others = [equal(operand, each) for each in values if isinstance(each, Path | Size)]
    values = tuple(each for each in values if not isinstance(each, Path | Size))
    absent = [condition for value in values if (condition := _reads_as(operand, value)) is not None]
    try:
        present = tuple(
            constant for value in values if _reads_as(operand, value) is None for constant in _constants(operand, value)
        )
    except EncodeError:
        if len(values) == 1 and isinstance(values[0], Iterable) and not isinstance(values[0], str | bytes):
            raise ExpressionError(
                f"{operand}.is_in() takes the values one by one; write {operand}.is_in(*values)"
            ) from None
        raise
    # Without any value it stays an In that no item meets: a client that sends an empty list gets an empty result.
    parts: list[Condition] = [In(operand, present)] if present or not (absent or others) else []
    for condition in (*absent, *others):
        parts += [
            each for each in (condition.parts if isinstance(condition, Or) else (condition,)) if each not in parts
        ]
    return _any_of(parts)


def _reads_as(operand: Operand, value: object) -> Condition | None:
    """Return the condition that the value reads as None or as the empty set; None for any other value."""
    forms: Forms | None = None
    if isinstance(operand, Path):
        if value is MISSING:
            return _missing(operand)
        if value is None:
            forms = operand.reads_as_none
        elif isinstance(value, _SETS) and isinstance(value, AbstractSet) and not value:
            forms = operand.reads_as_empty_set
    if not forms or not isinstance(operand, Path):
        return None
    present = [Comparison("=", operand, Value(form)) for form in forms if form is not None]
    return _any_of([*_absences(operand, forms), *present])


def _absences(path: Path, forms: Forms) -> list[Condition]:
    """Return the conditions that a value is absent, alone or with what holds it, and reads as one of some forms."""
    levels = (*path.parents, path)
    found: list[Condition] = []
    last: int | None = None  # the level up to which the condition found last tells that it is absent
    for at, level in enumerate(levels):
        if not _absent_reads_as(levels, at, forms):
            continue
        absent: Condition = Function("attribute_not_exists", level)
        if last is not None and last == at - 1:  # what lacks the holder lacks the value too
            first = found.pop()
            absent = And((first.parts[0], absent)) if isinstance(first, And) else absent
        elif at:
            absent = And((Function("attribute_exists", levels[at - 1]), absent))
        found.append(absent)
        last = at
    return found


def _absent_reads_as(levels: Sequence[Path], at: int, forms: Forms) -> bool:
    """Return whether a value reads as one of some forms where the holder at a level is absent, or the value itself.

    Args:
        levels: the paths of the holders, outermost first, and of the value.
        at: which of them is absent.
        forms: stored forms; None stands for the absence of the value.
    """
    level = levels[at]
    if at == len(levels) - 1 or level.default is None:
        return None in forms
    try:
        default = level.default()
        stored: Any = None if default is None else level.converter.encode(default)
    except Exception:  # noqa: BLE001 - a factory that needs a whole item, or a default that no item holds
        stored = None
    if stored is None:
        return None in forms
    for below in range(at + 1, len(levels)):
        [content] = stored.values()
        members: dict[Any, Any] = {}
        match content:
            case {**named}:
                members = named
            case [*listed]:
                members = dict(enumerate(listed))
            case _:
                pass
        step = levels[below].steps[-1]
        if step not in members:
            return _absent_reads_as(levels, below, forms)
        stored = members[step]
    return stored in forms


def _missing(path: Path) -> Condition:
    """Return the condition that a field is ``MISSING``.

    Raises:
        ExpressionError: it is not one of the field's values.
    """
    if path.absence is not Absence.MISSING:
        raise ExpressionError(
            f"{path} is compared with MISSING, which its type does not have; write .missing() or .exists()",
            expression=str(path),
        )
    return Function("attribute_not_exists", path)


def _constants(operand: Path | Size, value: object) -> tuple[Value, ...]:
    """Return a constant in each stored form of the operand."""
    if isinstance(operand, Path):
        if operand.converter.in_one_form:
            return (Value(operand.encode(value)),)
        return tuple([Value(stored) for stored in operand.encode_each(value)])
    if isinstance(value, bool) or not isinstance(value, int):
        raise ExpressionError(f"{operand} is a whole number and cannot be compared with {value!r}")
    return (Value(encode_any(value)),)


def _ordered(operand: Path | Size, value: object) -> tuple[Value, ...]:
    """Return a constant in each stored form of the operand, checked to have an order."""
    if value is None or value is MISSING:
        raise ExpressionError(f"{operand} cannot be ordered against {value}; use .missing() or .exists()")
    _check_order(operand)
    if isinstance(value, time) and value.tzinfo is not None:
        raise ExpressionError(
            f"{operand} is asked for by the order of {value!r}, but times of day with a zone are not stored in their "
            "order; use times without a zone, or compare in Python after reading"
        )
    if isinstance(operand, Path) and not operand.converter.in_one_form:
        constants = _in_order(operand, value)
    else:
        constants = _constants(operand, value)
    for constant in constants:
        if _ORDERED.isdisjoint(constant.stored):
            raise ExpressionError(f"{operand} is stored as {next(iter(constant.stored))}, which has no order")
        if isinstance(value, int | float | Decimal) and value < 0 and "N" not in constant.stored:
            raise ExpressionError(
                f"{operand} is asked for by the order of {value!r}, but text of negative numbers does not sort as they "
                "do; compare in Python after reading"
            )
    return constants


def _check_order(operand: Path | Size) -> None:
    """Raise ExpressionError for a field whose stored form is not known to sort as its values do."""
    if isinstance(operand, Path) and operand.converter.in_one_form and not operand.converter.ordered:
        raise ExpressionError(
            f"{operand} has no ranges, because what is stored of {operand.converter.label} is not known to sort as its "
            "values do; use ==, is_in() or begins_with(), or compare in Python after reading"
        )


def _in_order(path: Path, value: object) -> tuple[Value, ...]:
    """Return a constant in each of a path's stored forms, checked to sort as the values do."""
    forms = path.converter.forms
    if not all(form.ordered for form in forms):
        kinds = " or ".join(dict.fromkeys(tag for form in forms if not form.ordered for tag in sorted(form.tags)))
        raise ExpressionError(
            f"{path} is also stored as {kinds}, which does not sort like its values; use == or is_in(), or compare in "
            "Python after reading"
        )
    return tuple([Value(path.encode(value, form)) for form in forms])


def _any_of(conditions: Sequence[Condition]) -> Condition:
    """Return the condition that one of these holds."""
    return conditions[0] if len(conditions) == 1 else Or(tuple(conditions))


def _comparable(left: Path | Size, right: Path | Size) -> Path | Size:
    if left == right:
        raise ExpressionError(f"{left} is compared with itself, which DynamoDB refuses")
    for operand in (left, right):
        if isinstance(operand, Path) and not operand.converter.in_one_form:
            raise ExpressionError(
                f"{operand} has several stored forms, so it cannot be compared with another field; compare in Python "
                "after reading"
            )
    # A size is a number.
    stored = [operand.converter.tags if isinstance(operand, Path) else {"N"} for operand in (left, right)]
    if stored[0].isdisjoint(stored[1]):
        kinds = [operand.converter.label if isinstance(operand, Path) else "int" for operand in (left, right)]
        raise ExpressionError(
            f"{left} holds {kinds[0]} and {right} {kinds[1]}: values of different stored types are never equal and "
            "have no order"
        )
    return right
