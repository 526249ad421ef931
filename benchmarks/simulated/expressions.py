"""The expressions that this server knows: conditions joined by AND, key conditions, and simple updates.

What it does not know it refuses: an acceptance run must not go on with something else than it asked for.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from benchmarks.simulated.faults import invalid
from benchmarks.simulated.sizes import EXACT, Wire

_COMPARE = re.compile(r"([#\w]+) (=|<>|<=|<|>=|>) (:\w+)$")
_BETWEEN = re.compile(r"([#\w]+) BETWEEN (:\w+) AND (:\w+)$")
_FUNCTION = re.compile(r"(\w+) ?\( ?([#\w]+)(?: ?, ?(:\w+))? ?\)$")
_AND = re.compile(r" AND (?!:)")  # not the one of BETWEEN
_CLAUSE = re.compile(r"\b(SET|REMOVE|ADD|DELETE) ")
_SET = re.compile(r"([#\w]+) ?= ?(?:(:\w+)|([#\w]+) ?([+-]) ?(:\w+)|if_not_exists ?\( ?([#\w]+) ?, ?(:\w+) ?\))$")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, slots=True)
class Names:
    """The placeholders of a request."""

    names: dict[str, str]
    values: dict[str, Any]

    @classmethod
    def of(cls, body: dict[str, Any]) -> "Names":
        """Read them from a request."""
        return cls(body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {}))

    def name(self, text: str) -> str:
        """Return the attribute's name."""
        return self.names[text] if text.startswith("#") else text


@dataclass(frozen=True, slots=True)
class Term:
    """One condition on one attribute."""

    name: str
    holds: Callable[[Any], bool]
    """Of the attribute's value in wire form, or None."""


def terms(text: str, known: Names) -> list[Term]:
    """Return the conditions that an expression joins."""
    plain = " ".join(text.split())
    return [_term(_unwrapped(each), known) for each in _AND.split(_unwrapped(plain))]


def holds(body: dict[str, Any], item: Wire | None) -> bool:
    """Return whether a request's ConditionExpression is true of the stored item."""
    text = body.get("ConditionExpression")
    return not text or all(term.holds((item or {}).get(term.name)) for term in terms(text, Names.of(body)))


def _unwrapped(text: str) -> str:
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") and text.count("(") == 1 else text


def _term(text: str, known: Names) -> Term:
    if match := _COMPARE.match(text):
        name, sign, value = match.groups()
        return Term(known.name(name), _compared(_OPERATORS[sign], known.values[value], missing=sign == "<>"))
    if match := _BETWEEN.match(text):
        low, high = (known.values[each] for each in match.groups()[1:])
        above, below = _compared(ge, low), _compared(le, high)
        return Term(known.name(match[1]), lambda value: above(value) and below(value))
    match = _FUNCTION.match(text)
    if match and match[1] in ("attribute_exists", "attribute_not_exists"):
        wanted = match[1] == "attribute_exists"
        return Term(known.name(match[2]), lambda value: (value is not None) is wanted)
    if match and match[1] == "begins_with":
        begin = known.values[match[3]]["S"]
        return Term(known.name(match[2]), lambda value: value is not None and value.get("S", "").startswith(begin))
    raise invalid(f"the simulated table does not know this condition: {text}")


def _compared(operator: Callable[[Any, Any], bool], other: Wire, *, missing: bool = False) -> Callable[[Any], bool]:
    ((tag, content),) = other.items()

    def holds(value: Any) -> bool:
        if value is None or tag not in value:
            return missing
        if tag == "N":
            return operator(Decimal(value[tag]), Decimal(content))
        return operator(value[tag], content)

    return holds


def updated(body: dict[str, Any], item: Wire | None) -> dict[str, Any]:
    """Return the item that an UpdateItem leaves; of paths it knows top-level attributes."""
    known = Names.of(body)
    old = item or {}
    new = {**old, **body["Key"]}
    parts = _CLAUSE.split(" ".join(body.get("UpdateExpression", "").split()))
    for clause, actions in zip(parts[1::2], parts[2::2], strict=True):
        for action in re.split(r" ?, ?(?![^(]*\))", actions.strip()):
            _act(clause, action, known, old, new)
    return new


def _act(clause: str, action: str, known: Names, old: Wire, new: dict[str, Any]) -> None:
    if clause == "REMOVE":
        new.pop(known.name(action), None)
    elif clause == "ADD":
        name, value = action.split(" ")
        added = known.values[value]
        if "N" not in added:
            raise invalid("the simulated table adds numbers only")
        new[known.name(name)] = _sum(old.get(known.name(name)), "+", added)
    elif clause == "SET" and (match := _SET.match(action)):
        new[known.name(match[1])] = _assigned(match, known, old)
    else:
        raise invalid(f"the simulated table does not know this update: {clause} {action}")


def _assigned(match: re.Match[str], known: Names, old: Wire) -> Any:
    """Return the value that a SET gives: a constant, a sum, or what there is, with a default."""
    _, constant, operand, sign, second, instead, default = match.groups()
    if constant:
        return known.values[constant]
    if instead:
        return old.get(known.name(instead), known.values[default])
    if known.name(operand) not in old:
        raise invalid("The provided expression refers to an attribute that does not exist in the item")
    return _sum(old[known.name(operand)], sign, known.values[second])


def _sum(value: Any, sign: str, other: dict[str, str]) -> dict[str, str]:
    number, more = Decimal(value["N"] if value else 0), Decimal(other["N"])
    return {"N": format(EXACT.add(number, more) if sign == "+" else EXACT.subtract(number, more), "f")}
