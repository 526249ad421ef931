"""Classes: what a subclass has to override is abstract, and no name has two meanings."""

import ast
from pathlib import Path


def test_what_a_subclass_has_to_override_is_abstract(tree: ast.Module) -> None:
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
    assert [ast.unparse(each) for each in raised if "NotImplementedError" in ast.unparse(each)] == []


CLASSES_OF_TWO_FRAMEWORKS = {"PageRequest"}
"""One name with one meaning, for whoever uses one of the two frameworks."""


def test_no_class_name_has_two_meanings(package: Path) -> None:
    names: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        if path.is_relative_to(package / "cli" / "demo"):  # a program that uses this package, with models of its own
            continue
        tree = ast.parse(path.read_text("utf-8"))
        for name in {node.name.lstrip("_") for node in tree.body if isinstance(node, ast.ClassDef)}:
            names.setdefault(name, []).append(str(path.relative_to(package)))
    twice = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in CLASSES_OF_TWO_FRAMEWORKS} == {}
