"""Rendering: conditions and projections as the text and placeholders that a request carries.

Every attribute name goes through a placeholder, so reserved words, dots, spaces and ``#`` are always safe, and each
name and each value is sent once.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.ExpressionAttributeNames.html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from dynamap_async import limits
from dynamap_async.codec import value_size
from dynamap_async.errors import ExpressionError, OutOfRangeError
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
    Size,
    Value,
    is_impossible,
    paths_in,
)
from dynamap_async.expressions.paths import Path
from dynamap_async.wire import AttributeValue


class Placeholders:
    """The placeholders of the names and values in one request's expressions."""

    are_sent: ClassVar[bool] = True
    """Whether DynamoDB must accept the text."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, tuple[str, AttributeValue]] = {}

    def name(self, element: str) -> str:
        """Return the placeholder of one path element, the same one each time."""
        return self._names.setdefault(element, f"#n{len(self._names)}")

    def value(self, stored: AttributeValue) -> str:
        """Return the placeholder of a value, the same one for equal values."""
        return self._values.setdefault(repr(stored), (f":v{len(self._values)}", stored))[0]

    def path(self, path: Path) -> str:
        """Return a document path with each element replaced by its placeholder."""
        return self.steps(path.steps)

    def steps(self, steps: Iterable[str | int]) -> str:
        """Return path elements joined as DynamoDB writes them: ``#n0.#n1[3]``."""
        text = "".join(f"[{step}]" if isinstance(step, int) else f".{self.name(step)}" for step in steps)
        return text[1:]

    def to_wire(self) -> dict[str, Any]:
        """Return the request members that define the placeholders in use; none where nothing is used.

        Raises:
            OutOfRangeError: names and values together are larger than the service accepts.
        """
        values = dict(self._values.values())
        size = sum(len(key) + len(name.encode()) for name, key in self._names.items())
        size += sum(len(key) + value_size(stored) for key, stored in values.items())
        if size > limits.EXPRESSION_SUBSTITUTIONS_BYTES:
            raise OutOfRangeError(
                f"the names and values of the expressions are {size:,} bytes; DynamoDB accepts "
                f"{limits.EXPRESSION_SUBSTITUTIONS_BYTES:,}"
            )
        members: dict[str, Any] = {}
        # DynamoDB refuses an empty map of names or values.
        if self._names:
            members["ExpressionAttributeNames"] = {key: name for name, key in self._names.items()}
        if values:
            members["ExpressionAttributeValues"] = values
        return members


class _ShapePlaceholders(Placeholders):
    """Renders names as they are, and values as their types."""

    are_sent = False

    def name(self, element: str) -> str:
        """Return the element itself, quoted."""
        return repr(element)

    def value(self, stored: AttributeValue) -> str:
        """Return the type of the value."""
        return f":{next(iter(stored))}"


def render_condition(condition: Condition, placeholders: Placeholders) -> str:
    """Return the expression text of a condition.

    Raises:
        OutOfRangeError: the text, or its number of operators, is over the service's limit.
    """
    text = _render(condition, placeholders)
    operators = _count_operators(condition)
    if operators > limits.EXPRESSION_OPERATORS:
        raise OutOfRangeError(
            f"the condition has {operators} operators; DynamoDB accepts {limits.EXPRESSION_OPERATORS}. "
            "Split it into several requests",
        )
    return check_length(text, "condition")


def shape_of(condition: Condition) -> str:
    """Return a condition's shape: its operators and names as they are, of its values only the types.

    Not an expression, so no limit applies to it. Cursors are bound to it.
    """
    return _render(condition, _ShapePlaceholders())


def render_projection(paths: Iterable[tuple[str | int, ...]], placeholders: Placeholders) -> str:
    """Return the text of a projection, without parts of paths that are projected whole.

    Raises:
        OutOfRangeError: the text is over the service's limit.
    """
    wanted = dict.fromkeys(paths)
    # DynamoDB refuses a projection in which one path is a prefix of another ("Two document paths overlap").
    whole = [steps for steps in wanted if not any(steps[:cut] in wanted for cut in range(1, len(steps)))]
    return check_length(", ".join(placeholders.steps(steps) for steps in whole), "projection")


def check_length(text: str, kind: str) -> str:
    """Return the text of an expression, checked not to be longer than the service accepts."""
    size = len(text.encode())
    if size > limits.EXPRESSION_BYTES:
        raise OutOfRangeError(
            f"the {kind} is {size:,} bytes of expression text; DynamoDB accepts {limits.EXPRESSION_BYTES:,}. "
            "Split it into several requests"
        )
    return text


def _render(condition: Condition, using: Placeholders) -> str:
    match condition:
        case Comparison(comparator=comparator, left=left, right=right):
            return f"{_operand(left, using)} {comparator} {_operand(right, using)}"
        case Between() | In():
            return _render_choice(condition, using)
        case Function(name=name, path=path, arguments=arguments):
            return f"{name}({', '.join([using.path(path), *(_operand(each, using) for each in arguments)])})"
        case And(parts=parts):
            # OR binds weaker than AND, so only its parts need parentheses.
            return " AND ".join(f"({_render(p, using)})" if isinstance(p, Or) else _render(p, using) for p in parts)
        case Or(parts=parts):
            return " OR ".join(_render(part, using) for part in parts)
        case Not(part=part):
            # NOT binds tighter than AND and OR, and DynamoDB refuses some parentheses that are not needed.
            text = _render(part, using)
            return f"NOT ({text})" if isinstance(part, And | Or) else f"NOT {text}"
        case _:
            raise ExpressionError(f"{condition!r} is not a condition")


def _render_choice(condition: Between | In, using: Placeholders) -> str:
    if using.are_sent and is_impossible(condition):  # which DynamoDB refuses
        path = using.path(paths_in(condition)[0])
        # Instead a condition that is false of every item, also inside of And, Or and Not.
        return f"(attribute_exists({path}) AND attribute_not_exists({path}))"
    operand = _operand(condition.operand, using)
    if isinstance(condition, Between):
        return f"{operand} BETWEEN {_operand(condition.low, using)} AND {_operand(condition.high, using)}"
    values = [_operand(value, using) for value in condition.values]
    starts = range(0, len(values), limits.IN_OPERANDS)
    # IN takes at most 100 operands.
    chunks = [f"{operand} IN ({', '.join(values[at : at + limits.IN_OPERANDS])})" for at in starts]
    return chunks[0] if len(chunks) == 1 else f"({' OR '.join(chunks)})"


def _operand(operand: Operand, using: Placeholders) -> str:
    match operand:
        case Path():
            return using.path(operand)
        case Size(path=path):
            return f"size({using.path(path)})"
        case Value(stored=stored):
            return using.value(stored)


def _count_operators(condition: Condition) -> int:
    match condition:
        case And(parts=parts) | Or(parts=parts):
            return len(parts) - 1 + sum(map(_count_operators, parts))
        case Not(part=part):
            return 1 + _count_operators(part)
        case Comparison(left=left, right=right):
            return 1 + isinstance(left, Size) + isinstance(right, Size)
        case In(values=values):
            # One IN for each 100 values, and an OR between them.
            return 2 * max(1, -(-len(values) // limits.IN_OPERANDS)) - 1
        case _:
            return 1
