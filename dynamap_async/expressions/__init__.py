"""Paths, conditions and projections, and their rendering into expressions with placeholders."""

from dynamap_async.expressions.conditions import (
    And,
    Between,
    Comparator,
    Comparison,
    Condition,
    Function,
    In,
    Not,
    Operand,
    Or,
    Size,
    Value,
    conjunction,
    flatten,
    paths_in,
)
from dynamap_async.expressions.expr import DocumentPath, Expr, HasPaths, Selectable, at, path, path_of
from dynamap_async.expressions.paths import Path
from dynamap_async.expressions.render import Placeholders, render_condition, render_projection, shape_of

__all__ = [
    "And",
    "Between",
    "Comparator",
    "Comparison",
    "Condition",
    "DocumentPath",
    "Expr",
    "Function",
    "HasPaths",
    "In",
    "Not",
    "Operand",
    "Or",
    "Path",
    "Placeholders",
    "Selectable",
    "Size",
    "Value",
    "at",
    "conjunction",
    "flatten",
    "path",
    "path_of",
    "paths_in",
    "render_condition",
    "render_projection",
    "shape_of",
]
