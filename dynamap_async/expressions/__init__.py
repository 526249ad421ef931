"""Paths, conditions and projections, and their rendering into expressions with placeholders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
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
        is_impossible,
        paths_in,
    )
    from dynamap_async.expressions.expr import DocumentPath, Expr, HasPaths, Readable, Selectable, at, path, path_of
    from dynamap_async.expressions.expression_shapes import (
        RenderedMembers,
        Values,
        shape_and_values,
        update_shape_and_values,
    )
    from dynamap_async.expressions.paths import Path, undeclared
    from dynamap_async.expressions.render import Placeholders, render_condition, render_projection, shape_of
    from dynamap_async.expressions.sources import Arithmetic, Longer, Made, Start, amount, is_number, source_of
    from dynamap_async.expressions.updates import (
        Action,
        Add,
        DeleteElements,
        FunctionCall,
        Remove,
        Set,
        SetOperand,
        Sum,
        check_apart,
        is_repeatable,
        overlap,
        paths_read,
        render_update,
    )
    from dynamap_async.expressions.value_changes import Change, DocumentTo, Exactly, FieldFirst, made_of

__all__ = [
    "Action",
    "Add",
    "And",
    "Arithmetic",
    "Between",
    "Change",
    "Comparator",
    "Comparison",
    "Condition",
    "DeleteElements",
    "DocumentPath",
    "DocumentTo",
    "Exactly",
    "Expr",
    "FieldFirst",
    "Function",
    "FunctionCall",
    "HasPaths",
    "In",
    "Longer",
    "Made",
    "Not",
    "Operand",
    "Or",
    "Path",
    "Placeholders",
    "Readable",
    "Remove",
    "RenderedMembers",
    "Selectable",
    "Set",
    "SetOperand",
    "Size",
    "Start",
    "Sum",
    "Value",
    "Values",
    "amount",
    "at",
    "check_apart",
    "conjunction",
    "flatten",
    "is_impossible",
    "is_number",
    "is_repeatable",
    "made_of",
    "overlap",
    "path",
    "path_of",
    "paths_in",
    "paths_read",
    "render_condition",
    "render_projection",
    "render_update",
    "shape_and_values",
    "shape_of",
    "source_of",
    "undeclared",
    "update_shape_and_values",
]

_HOMES: Final = {
    "conditions": (
        "And Between Comparator Comparison Condition Function In Not Operand Or Size Value conjunction flatten "
        "is_impossible paths_in"
    ),
    "expr": "DocumentPath Expr HasPaths Readable Selectable at path path_of",
    "expression_shapes": "RenderedMembers Values shape_and_values update_shape_and_values",
    "paths": "Path undeclared",
    "render": "Placeholders render_condition render_projection shape_of",
    "sources": "Arithmetic Longer Made Start amount is_number source_of",
    "updates": (
        "Action Add DeleteElements FunctionCall Remove Set SetOperand Sum check_apart is_repeatable overlap "
        "paths_read render_update"
    ),
    "value_changes": "Change DocumentTo Exactly FieldFirst made_of",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
