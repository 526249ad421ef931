"""Items that hold models: one inside the other, and many in a list."""

from typing import Any

from pydantic import BaseModel, create_model

from benchmarks.shapes import KEY, SMALL, WIDE, Shape


def _deep(levels: int) -> tuple[type[BaseModel], dict[str, Any]]:
    """Return a model of models of models, and the value of one."""
    own: dict[str, Any] = {"name": (str, ...), "number": (int, ...), "marks": (list[int], ...)}
    value: dict[str, Any] = {"name": "a level of the tree", "number": levels, "marks": [1, 20, 300]}
    if levels == 1:
        return create_model("Level1", **own), value
    inner, inner_value = _deep(levels - 1)
    made = create_model(f"Level{levels}", **own, inner=(inner, ...))
    return made, {**value, "inner": inner_value}


class Line(BaseModel):
    """One of the many parts of a large item."""

    article: str
    note: str
    quantity: int
    price: float


_TREE, _TREE_VALUE = _deep(8)
_LINE = {
    "article": "A-000123",
    "note": "The quick brown fox jumps over the lazy dog. " * 3,
    "quantity": 3,
    "price": 9.75,
}

DEEP = Shape("deep", {KEY: str, "tree": _TREE}, {"tree": _TREE_VALUE}, 50)
LARGE = Shape("large", {KEY: str, "lines": list[Line]}, {"lines": [dict(_LINE) for _ in range(1_700)]}, 1)

SHAPES = {"small": SMALL, "wide": WIDE, "deep": DEEP, "large": LARGE}
"""The shapes that items are encoded and decoded in, beside that of the reference item."""
