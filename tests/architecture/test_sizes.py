"""Files and functions stay small enough to be read in one go."""

import ast
from pathlib import Path

MODULE_LINES = 400
FUNCTION_LINES = 60


def test_a_module_has_at_most_400_lines(module: Path) -> None:
    assert len(module.read_text("utf-8").splitlines()) <= MODULE_LINES


def test_a_function_has_at_most_60_lines(tree: ast.Module) -> None:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in functions}
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}
