"""Items of other shapes than the usual one, for the questions about encoding and decoding.

A shape is described by Python's types only, and each library makes a model of its own from that. None has an instant,
which every library stores in another form. Nothing but the standard library is imported here: subjects import this
module, and a cold start must not find Pydantic loaded.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KEY = "user_id"
"""The partition key of every shape; none has a sort key."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Items of one form."""

    name: str
    fields: Mapping[str, Any]
    """Attribute -> ``str``, ``int``, ``float``, ``bool``, a Pydantic model, or a list of one of these."""
    values: Mapping[str, Any]
    """Attribute -> value of one item, without the key; nested models are dicts."""
    count: int
    """How many items are encoded or decoded in one go."""

    def items(self) -> list[dict[str, Any]]:
        """Return the items as plain values."""
        return [{KEY: f"user-{number:06d}", **self.values} for number in range(self.count)]

    def page(self) -> bytes:
        """Return the answer to a query that finds the items."""
        items = [{name: to_wire(value) for name, value in item.items()} for item in self.items()]
        page = {"Count": self.count, "ScannedCount": self.count, "Items": items}
        return json.dumps(page, separators=(",", ":")).encode()


def to_wire(value: Any) -> dict[str, Any]:
    """Return a plain value in wire form."""
    match value:
        case bool():
            return {"BOOL": value}
        case int() | float():
            return {"N": str(value)}
        case str():
            return {"S": value}
        case list():
            return {"L": [to_wire(each) for each in value]}
        case dict():
            return {"M": {name: to_wire(each) for name, each in value.items()}}
    raise TypeError(f"no shape has a {type(value).__name__}")


def flat(attributes: int, *, count: int) -> Shape:
    """Return a shape of that many flat attributes, the key among them: texts, ints, floats and a bool by turns.

    Args:
        count: how many items are encoded or decoded in one go.
    """
    kinds: Sequence[tuple[type, Any]] = (
        (str, "London"),
        (int, 1234),
        (str, "An attribute"),
        (float, 98.5),
        (str, "of the usual"),
        (int, 86_400),
        (bool, True),
        (str, "size"),
        (float, 0.25),
        (int, 7),
    )
    chosen = {f"attribute_{number}": kinds[number % len(kinds)] for number in range(attributes - 1)}
    fields: dict[str, Any] = {KEY: str, **{name: kind for name, (kind, _) in chosen.items()}}
    return Shape(f"flat-{attributes}", fields, {name: value for name, (_, value) in chosen.items()}, count)


SMALL = flat(5, count=100)
WIDE = flat(60, count=20)
