"""Tasks of the package begin in the next turn: none is made by the event loop's task factory."""

import ast
from pathlib import Path

OF_USERS = {
    "executor/event_loops.py": "the task factory is tried out",
    "integrations/aiohttp.py": "a handler is in a task of the kind that its program chose",
}
"""File -> why tasks are made by the event loop's task factory there."""


def test_tasks_are_made_by_new_task(package: Path) -> None:
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("create_task", "ensure_future"):
                found.add(path.relative_to(package).as_posix())
    assert found == set(OF_USERS), "use new_task of turns.py"
