"""Conditions: read from text, checked with their values, and evaluated on one item.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html
"""

from __future__ import annotations

import operator
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from dynamap_async.simulated.expressions.paths import Path, find, read_path, shown
from dynamap_async.simulated.expressions.reader import END, Reader
from dynamap_async.simulated.values import Item, Value, comparable, same

Values: TypeAlias = Mapping[str, Value]
"""Placeholder -> value."""

MOST_OPERATORS = 300
_ORDERED = frozenset({"S", "N", "B"})
_TYPES = ("B", "NULL", "SS", "BOOL", "L", "BS", "N", "NS", "S", "M")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERANDS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
UPDATE_FUNCTIONS = frozenset({"if_not_exists", "list_append"})


class Operand(Protocol):
    """What conditions compare: a path, a value, or a size."""

    def value(self, item: Item, values: Values) -> Value | None:
        """Return its value in an item; None if it has none there."""
        ...

    def given(self, values: Values) -> Value | None:
        """Return its value if it is the same in all items."""
        ...

    def names(self) -> Iterator[str]:
        """Yield the attributes that it looks at."""
        ...


@dataclass(frozen=True, slots=True)
class At:
    """The value at a path."""

    path: Path

    def value(self, item: Item, values: Values) -> Value | None:
        """Return what the item has there."""
        return find(item, self.path)

    def given(self, values: Values) -> Value | None:
        """Return None: each item has its own."""
        return None

    def names(self) -> Iterator[str]:
        """Yield the one that its path begins with."""
        yield str(self.path[0])


@dataclass(frozen=True, slots=True)
class Given:
    """A value of the request."""

    placeholder: str

    def value(self, item: Item, values: Values) -> Value | None:
        """Return the value."""
        return values[self.placeholder]

    def given(self, values: Values) -> Value | None:
        """Return the value."""
        return values[self.placeholder]

    def names(self) -> Iterator[str]:
        """Yield nothing."""
        yield from ()


@dataclass(frozen=True, slots=True)
class Size:
    """The size of what an operand is: characters, bytes, or members."""

    of: Operand

    def value(self, item: Item, values: Values) -> Value | None:
        """Return the size as a number; None of what has none."""
        found = self.of.value(item, values)
        if found is None:
            return None
        [(tag, content)] = found.items()
        if tag == "S":
            return {"N": str(len(content.encode("utf-16-le")) // 2)}
        if tag == "B":
            return {"N": str(len(a2b_base64(content)))}
        return {"N": str(len(content))} if tag in {"SS", "NS", "BS", "L", "M"} else None

    def given(self, values: Values) -> Value | None:
        """Return None: it is known when an item is looked at."""
        return None

    def names(self) -> Iterator[str]:
        """Yield those of what it measures."""
        yield from self.of.names()


class Condition(Protocol):
    """What is true or false of an item."""

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether it is true."""
        ...

    def faults(self, values: Values) -> Iterator[str]:
        """Yield what its values are not fit for."""
        ...

    def names(self) -> Iterator[str]:
        """Yield the attributes that it looks at."""
        ...


def _type_fault(name: str, operand: Operand, values: Values, wanted: frozenset[str]) -> Iterator[str]:
    given = operand.given(values)
    if given is not None:
        [tag] = given
        if tag not in wanted:
            yield (
                f"Incorrect operand type for operator or function; operator or function: {name}, operand type: {tag}"
            )


class _OnOperands:
    """What conditions on operands have in common."""

    __slots__ = ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What is looked at."""
        return ()

    def faults(self, values: Values) -> Iterator[str]:
        """Yield nothing: any value will do."""
        yield from ()

    def names(self) -> Iterator[str]:
        """Yield the attributes that it looks at."""
        for operand in self.operands:
            yield from operand.names()


@dataclass(frozen=True, slots=True)
class Comparison(_OnOperands):
    """Two operands and a sign between them."""

    sign: str
    left: Operand
    right: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What is looked at."""
        return self.left, self.right

    def holds(self, item: Item, values: Values) -> bool:
        """Compare; what is missing is only unequal."""
        left, right = self.left.value(item, values), self.right.value(item, values)
        if self.sign == "<>":
            return left is None or right is None or not same(left, right)
        if left is None or right is None:
            return False
        if self.sign == "=":
            return same(left, right)
        return _ordered(self.sign, left, right)

    def faults(self, values: Values) -> Iterator[str]:
        """Refuse to order what has no order."""
        if self.sign in _COMPARISONS:
            for operand in self.operands:
                yield from _type_fault(self.sign, operand, values, _ORDERED)


def _ordered(sign: str, left: Value, right: Value) -> bool:
    if left.keys() != right.keys() or not left.keys() <= _ORDERED:
        return False
    return _COMPARISONS[sign](comparable(left), comparable(right))


@dataclass(frozen=True, slots=True)
class Between(_OnOperands):
    """An operand between two others, which are included."""

    operand: Operand
    low: Operand
    high: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What is looked at."""
        return self.operand, self.low, self.high

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether it lies between them."""
        found = [each.value(item, values) for each in (self.low, self.operand, self.high)]
        low, value, high = found
        if low is None or value is None or high is None:
            return False
        return _ordered("<=", low, value) and _ordered("<=", value, high)

    def faults(self, values: Values) -> Iterator[str]:
        """Refuse bounds of two types, and in the wrong order."""
        for operand in self.operands:
            yield from _type_fault("BETWEEN", operand, values, _ORDERED)
        low, high = self.low.given(values), self.high.given(values)
        if low is None or high is None:
            return
        said = f"lower bound operand: AttributeValue: {_text(low)}, upper bound operand: AttributeValue: {_text(high)}"
        if low.keys() != high.keys():
            yield f"The BETWEEN operator requires same data type for lower and upper bounds; {said}"
        elif comparable(low) > comparable(high):
            yield ("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; " + said)


def _text(value: Value) -> str:
    [(tag, content)] = value.items()
    return f"{{{tag}:{content}}}"


@dataclass(frozen=True, slots=True)
class In(_OnOperands):
    """An operand that is equal to one of several."""

    operand: Operand
    choices: tuple[Operand, ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What is looked at."""
        return self.operand, *self.choices

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether it is equal to one of them."""
        found = self.operand.value(item, values)
        if found is None:
            return False
        choices = (each.value(item, values) for each in self.choices)
        return any(choice is not None and same(found, choice) for choice in choices)


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether there is a value at a path."""

    path: Path
    wanted: bool

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether it is so."""
        return (find(item, self.path) is not None) is self.wanted

    def faults(self, values: Values) -> Iterator[str]:
        """Yield nothing: it has no value."""
        yield from ()

    def names(self) -> Iterator[str]:
        """Yield the one that its path begins with."""
        yield str(self.path[0])


@dataclass(frozen=True, slots=True)
class HasType(_OnOperands):
    """Whether a value is of a type."""

    operand: Operand
    wanted: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What is looked at."""
        return self.operand, self.wanted

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether it is so."""
        found, wanted = self.operand.value(item, values), self.wanted.value(item, values)
        return found is not None and wanted is not None and wanted.get("S") in found

    def faults(self, values: Values) -> Iterator[str]:
        """Refuse what names no type."""
        yield from _type_fault("attribute_type", self.wanted, values, frozenset({"S"}))
        given = self.wanted.given(values)
        if given is not None and given.get("S") not in _TYPES:
            yield (f"Invalid attribute type name found; type: {given.get('S')}, valid types: {{{','.join(_TYPES)}}}")


@dataclass(frozen=True, slots=True)
class BeginsWith(_OnOperands):
    """Whether a text or a binary value begins with another."""

    operand: Operand
    prefix: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What is looked at."""
        return self.operand, self.prefix

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether it is so."""
        found, prefix = self.operand.value(item, values), self.prefix.value(item, values)
        if found is None or prefix is None or found.keys() != prefix.keys():
            return False
        if not found.keys() <= {"S", "B"}:
            return False
        return bool(comparable(found).startswith(comparable(prefix)))

    def faults(self, values: Values) -> Iterator[str]:
        """Refuse other types."""
        for operand in self.operands:
            yield from _type_fault("begins_with", operand, values, frozenset({"S", "B"}))


@dataclass(frozen=True, slots=True)
class Contains(_OnOperands):
    """Whether a text has a part, a set a member, or a list an element."""

    operand: Operand
    part: Operand

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What is looked at."""
        return self.operand, self.part

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether it is so."""
        found, part = self.operand.value(item, values), self.part.value(item, values)
        if found is None or part is None:
            return False
        [(tag, content)], [(part_tag, part_content)] = found.items(), part.items()
        if tag == "L":
            return any(same(each, part) for each in content)
        if tag in {"SS", "NS", "BS"}:
            return part_tag == tag[0] and part_content in content
        if tag != part_tag or tag not in {"S", "B"}:
            return False
        return comparable(part) in comparable(found)


@dataclass(frozen=True, slots=True)
class Both:
    """Two conditions with AND or OR between them."""

    left: Condition
    right: Condition
    word: str

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether both, or one of them, is true."""
        if self.word == "AND":
            return self.left.holds(item, values) and self.right.holds(item, values)
        return self.left.holds(item, values) or self.right.holds(item, values)

    def faults(self, values: Values) -> Iterator[str]:
        """Yield those of both."""
        yield from self.left.faults(values)
        yield from self.right.faults(values)

    def names(self) -> Iterator[str]:
        """Yield the attributes that it looks at."""
        for operand in (self.left, self.right):
            yield from operand.names()


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    condition: Condition

    def holds(self, item: Item, values: Values) -> bool:
        """Return whether the condition is false."""
        return not self.condition.holds(item, values)

    def faults(self, values: Values) -> Iterator[str]:
        """Yield those of the condition."""
        yield from self.condition.faults(values)

    def names(self) -> Iterator[str]:
        """Yield those of the condition."""
        yield from self.condition.names()


def read_condition(reader: Reader) -> Condition:
    """Read a condition or a filter."""
    return _either(reader)


def _either(reader: Reader) -> Condition:
    condition = _all(reader)
    while reader.takes("OR"):
        condition = Both(condition, _all(reader), "OR")
    return condition


def _all(reader: Reader) -> Condition:
    condition = _not(reader)
    while reader.takes("AND"):
        condition = Both(condition, _not(reader), "AND")
    return condition


def _not(reader: Reader) -> Condition:
    if reader.takes("NOT"):
        return Not(_not(reader))
    if reader.next == "(" and not reader.is_operand_in_parentheses():
        reader.take()
        doubled = reader.next == "("
        begin = reader.position
        condition = _either(reader)
        if doubled and reader.closes(begin):
            reader.note("The expression has redundant parentheses;")
        reader.expect(")")
        return condition
    return _simple(reader)


def _simple(reader: Reader) -> Condition:
    if reader.after_next == "(" and reader.next not in {"(", END} and reader.next != "size":
        return _function(reader)
    left = read_operand(reader)
    sign = reader.next
    if sign in {"=", "<>", *_COMPARISONS}:
        reader.take()
        comparison = Comparison(sign, left, read_operand(reader))
        _distinct(reader, sign, comparison.left, comparison.right)
        return comparison
    if reader.takes("BETWEEN"):
        low = read_operand(reader)
        reader.expect("AND")
        return Between(left, low, read_operand(reader))
    if reader.takes("IN"):
        reader.expect("(")
        choices = [read_operand(reader)]
        while reader.takes(","):
            choices.append(read_operand(reader))
        reader.expect(")")
        if len(choices) > 100:
            reader.note(
                "Too many operands for operator or function; operator or function: IN, "
                f"number of operands: {len(choices)}"
            )
        return In(left, tuple(choices))
    if isinstance(left, Size) and sign in {END, ")", "AND", "OR", "and", "or"}:
        reader.note("The function is not allowed to be used this way in an expression; function: size")
        return Exists(("",), wanted=True)
    raise reader.syntax_error()


def read_operand(reader: Reader) -> Operand:
    """Read a path, a value, or a size."""
    if reader.takes("("):
        operand = read_operand(reader)
        reader.expect(")")
        return operand
    if reader.next.startswith(":"):
        return Given(reader.value())
    if reader.after_next == "(":
        name = reader.take()
        operands = _operands(reader)
        if name != "size":
            reader.note(
                f"The function is not allowed to be used this way in an expression; function: {name}"
                if name in _OPERANDS or name in UPDATE_FUNCTIONS
                else f"Invalid function name; function: {name}"
            )
        elif _right_number(reader, name, operands):
            return Size(operands[0])
        return operands[0]
    return At(read_path(reader))


def _operands(reader: Reader) -> list[Operand]:
    reader.expect("(")
    operands = [read_operand(reader)]
    while reader.takes(","):
        operands.append(read_operand(reader))
    reader.expect(")")
    return operands


def _right_number(reader: Reader, name: str, operands: list[Operand]) -> bool:
    if len(operands) == _OPERANDS[name]:
        return True
    reader.note(
        f"Incorrect number of operands for operator or function; operator or function: {name}, "
        f"number of operands: {len(operands)}"
    )
    return False


def _distinct(reader: Reader, name: str, first: Operand, second: Operand) -> None:
    if isinstance(first, At) and first == second:
        reader.note(
            "The first operand must be distinct from the remaining operands for this operator or function; "
            f"operator: {name}, first operand: {shown(first.path)}"
        )


def _function(reader: Reader) -> Condition:
    name = reader.take()
    operands = _operands(reader)
    nothing = Exists(("",), wanted=True)
    if name not in _OPERANDS:
        if name in UPDATE_FUNCTIONS:
            reader.note(f"The function is not allowed in a {_kind(reader)} expression; function: {name}")
        else:
            reader.note(f"Invalid function name; function: {name}")
        return nothing
    if not _right_number(reader, name, operands):
        return nothing
    if name in {"attribute_exists", "attribute_not_exists"}:
        [operand] = operands
        if not isinstance(operand, At):
            reader.note(f"Operator or function requires a document path; operator or function: {name}")
            return nothing
        return Exists(operand.path, wanted=name == "attribute_exists")
    first, second = operands
    _distinct(reader, name, first, second)
    if name == "attribute_type":
        return HasType(first, second)
    return BeginsWith(first, second) if name == "begins_with" else Contains(first, second)


def _kind(reader: Reader) -> str:
    return {"FilterExpression": "filter", "KeyConditionExpression": "key condition"}.get(reader.parameter, "condition")
