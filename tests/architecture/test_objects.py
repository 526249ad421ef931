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
    # A program that uses this package, with models of its own; and what stands apart from all that it tests, and calls
    # the things of DynamoDB by the same names.
    apart = (package / "cli" / "demo", package / "simulated")
    for path in sorted(package.rglob("*.py")):
        if any(path.is_relative_to(folder) for folder in apart):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        for name in {node.name.lstrip("_") for node in tree.body if isinstance(node, ast.ClassDef)}:
            names.setdefault(name, []).append(str(path.relative_to(package)))
    twice = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in CLASSES_OF_TWO_FRAMEWORKS} == {}
