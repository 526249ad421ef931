"""Whoever reads a constant of pacing finds the situation that it is there for."""

import ast
import re
from pathlib import Path

import pytest

ROOM = Path(__file__).parents[2] / "dynamap_async" / "executor" / "pacing"
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "pacing-constants.md"


def constants(module: Path) -> dict[str, str]:
    """Return the constants of a module, each with its value as the page writes it; collections have none."""
    found: dict[str, str] = {}
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and "Final" in ast.unparse(node):
            try:
                value = ast.literal_eval(node.value) if node.value else None
            except ValueError:
                value = None
            number = isinstance(value, int | float)
            found[node.target.id] = "" if not number else f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return found


@pytest.mark.parametrize("module", sorted(ROOM.glob("*.py")), ids=lambda module: module.stem)
def test_the_page_names_each_constant_with_its_value_and_no_other(module):
    section = re.search(rf"^## .*`{module.name}`\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    told = dict(re.findall(r"^- `(\w+)` \((.*?)\): .{15,}", section[1], re.MULTILINE)) if section else {}
    assert {name: value or told.get(name) for name, value in constants(module).items()} == told
