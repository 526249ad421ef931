"""The parameters that came before expressions, as the expressions that replaced them.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LegacyConditionalParameters.html
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from dynamap_async.simulated.errors import invalid, invalid_value
from dynamap_async.simulated.expressions.conditions import (
    At,
    BeginsWith,
    Between,
    Both,
    Comparison,
    Condition,
    Contains,
    Exists,
    Given,
    In,
    Not,
    Operand,
)
from dynamap_async.simulated.expressions.updates import Plain, Update
from dynamap_async.simulated.values import Item, Value, admit, comparable

_SIGNS = {"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}
_COUNTS = {"NULL": (0, 0), "NOT_NULL": (0, 0), "BETWEEN": (2, 2), "IN": (1, 100)}
_TYPES = {
    **dict.fromkeys(("LE", "LT", "GE", "GT", "BETWEEN"), ("S", "N", "B")),
    "BEGINS_WITH": ("S", "B"),
    "CONTAINS": ("S", "N", "B", "BOOL", "NULL"),
    "NOT_CONTAINS": ("S", "N", "B", "BOOL", "NULL"),
    "IN": ("S", "N", "B"),
}
COMPARISONS = (*_SIGNS, "BETWEEN", "IN", "NULL", "NOT_NULL", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH")
EXPRESSIONS = (
    "ConditionExpression",
    "UpdateExpression",
    "ProjectionExpression",
    "FilterExpression",
    "KeyConditionExpression",
)
OLDER = (
    "AttributesToGet",
    "AttributeUpdates",
    "Expected",
    "QueryFilter",
    "ScanFilter",
    "KeyConditions",
    "ConditionalOperator",
)
_OLDER = frozenset(OLDER)


def refuse_mixture(body: Mapping[str, Any]) -> None:
    """Refuse a request that has expressions and what came before them.

    Raises:
        Refused: it has both.
    """
    if _OLDER.isdisjoint(body):
        return
    older = [name for name in OLDER if body.get(name) is not None]
    newer = [name for name in EXPRESSIONS if body.get(name) is not None]
    if older and newer:
        raise invalid(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(older)}}} Expression parameters: {{{', '.join(newer)}}}"
        )


class Literals:
    """Values that older parameters have, under placeholders of their own.

    Args:
        values: where they are kept.
    """

    def __init__(self, values: dict[str, Value]) -> None:
        self._values = values

    def operand(self, value: Any) -> Given:
        """Return an operand that is this value.

        Raises:
            Refused: it is none.
        """
        admit(value)
        placeholder = f":{len(self._values)}"
        self._values[placeholder] = value
        return Given(placeholder)


def conditions(
    given: Mapping[str, Mapping[str, Any]], conditional_operator: str | None, values: dict[str, Value]
) -> Condition | None:
    """Return the condition that ``Expected``, ``QueryFilter`` or ``ScanFilter`` says; None if it is empty.

    Args:
        given: name of an attribute -> what must be true of it.
        conditional_operator: AND or OR.
        values: where the values are kept.

    Raises:
        Refused: it is wrong.
    """
    if not given:
        if conditional_operator is not None:
            raise invalid("ConditionalOperator cannot be used without Filter or Expected")
        return None
    literals = Literals(values)
    found = [_one(name, each, literals) for name, each in given.items()]
    word = conditional_operator or "AND"
    return reduce(lambda left, right: Both(left, right, word), found)


def _one(name: str, given: Mapping[str, Any], literals: Literals) -> Condition:
    sign, listed = given.get("ComparisonOperator"), given.get("AttributeValueList")
    if sign is not None:
        if "Value" in given or "Exists" in given:
            both = "Value" if "Value" in given else "Exists"
            raise invalid_value(f"{both} and ComparisonOperator cannot be used together for Attribute: {name}")
        return comparison(name, sign, listed or [], literals)
    if listed is not None:
        raise invalid_value(f"AttributeValueList can only be used with a ComparisonOperator for Attribute: {name}")
    exists, value = given.get("Exists"), given.get("Value")
    if exists is False:
        if value is not None:
            raise invalid_value(f"Value cannot be used when Exists is set to false for Attribute: {name}")
        return Exists((name,), wanted=False)
    if value is None:
        wanted = "true" if exists else "null"
        raise invalid_value(f"Value must be provided when Exists is {wanted} for Attribute: {name}")
    return Comparison("=", At((name,)), literals.operand(value))


def comparison(name: str, sign: str, listed: list[Any], literals: Literals) -> Condition:
    """Return one condition on one attribute.

    Raises:
        Refused: it has values that do not fit.
    """
    least, most = _COUNTS.get(sign, (1, 1))
    if not least <= len(listed) <= most:
        raise invalid_value(f"Invalid number of argument(s) for the {sign} ComparisonOperator")
    operands = [literals.operand(value) for value in listed]
    wanted = _TYPES.get(sign)
    if wanted is not None:
        for value in listed:
            [tag] = value
            if tag not in wanted:
                raise invalid_value(f"ComparisonOperator {sign} is not valid for {tag} AttributeValue type")
    at = At((name,))
    if sign in _SIGNS:
        return Comparison(_SIGNS[sign], at, operands[0])
    if sign in {"NULL", "NOT_NULL"}:
        return Exists((name,), wanted=sign == "NOT_NULL")
    return _function(sign, at, operands, listed)


def _function(sign: str, at: At, operands: list[Given], listed: list[Any]) -> Condition:
    first: Operand = operands[0]
    if sign == "BETWEEN":
        low, high = listed
        if low.keys() != high.keys():
            raise invalid_value("AttributeValues inside AttributeValueList must be of same type")
        if comparable(low) > comparable(high):
            raise invalid(
                "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
            )
        return Between(at, *operands)
    if sign == "IN":
        return In(at, tuple(operands))
    if sign == "BEGINS_WITH":
        return BeginsWith(at, first)
    if sign == "CONTAINS":
        return Contains(at, first)
    return Both(Exists(at.path, wanted=True), Not(Contains(at, first)), "AND")


def attribute_updates(given: Mapping[str, Mapping[str, Any]], values: dict[str, Value]) -> Update:
    """Return the update that ``AttributeUpdates`` says.

    Args:
        given: name of an attribute -> its action and value.
        values: where the values are kept.

    Raises:
        Refused: an action has not the value that it needs.
    """
    literals = Literals(values)
    sets: list[tuple[tuple[str], Plain]] = []
    removes: list[tuple[str]] = []
    adds: list[tuple[tuple[str], str]] = []
    deletes: list[tuple[tuple[str], str]] = []
    for name, each in given.items():
        action, value = each.get("Action", "PUT"), each.get("Value")
        if value is None:
            if action != "DELETE":
                raise invalid_value("Only DELETE action is allowed when no attribute value is specified")
            removes.append((name,))
            continue
        operand = literals.operand(value)
        [tag] = value
        if action == "PUT":
            sets.append(((name,), Plain(operand)))
        elif action == "ADD":
            if tag not in {"N", "SS", "NS", "BS", "L"}:
                raise invalid_value(f"ADD action is not supported for the type {tag}")
            adds.append(((name,), operand.placeholder))
        else:
            if tag not in {"SS", "NS", "BS"}:
                raise invalid_value(f"DELETE action with value is not supported for the type {tag}")
            deletes.append(((name,), operand.placeholder))
    return Update(tuple(sets), tuple(removes), tuple(adds), tuple(deletes))


def attributes(names: list[str], item: Item) -> Item:
    """Return what ``AttributesToGet`` asks for of an item."""
    return {name: item[name] for name in names if name in item}
