"""What must be in the head at once: a class with its bases is not long."""

import ast
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import dynamap_async
from dynamap_async import Session

CLASS_LINES = 650
PUBLIC_SURFACE = {Session}
"""Long because it has a verb for each thing that can be asked, each a line or two with its docstring."""


def modules() -> list[ModuleType]:
    names = [found.name for found in pkgutil.walk_packages(dynamap_async.__path__, "dynamap_async.")]
    # Without the plugin of mypy and the hook of hatchling, which are not installed where tests run, and what is C.
    left_out = ("dynamap_async.mypy", "dynamap_async.native.build_hook", "dynamap_async.native._codec")
    return [import_module(name) for name in names if not name.startswith(left_out)]


def classes_of(module: ModuleType) -> dict[type, int]:
    """Return the lines of each class that stands in a module itself."""
    assert module.__file__
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    nodes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    found = {vars(module).get(node.name): (node.end_lineno or 0) - node.lineno + 1 for node in nodes}
    return {cls: lines for cls, lines in found.items() if inspect.isclass(cls)}


def test_a_class_with_its_bases_is_read_in_one_sitting() -> None:
    lines = {cls: lines for module in modules() for cls, lines in classes_of(module).items()}
    lengths = {cls: sum(lines.get(base, 0) for base in cls.__mro__) for cls in lines.keys() - PUBLIC_SURFACE}
    assert len(lengths) > 100
    assert {cls: length for cls, length in lengths.items() if length > CLASS_LINES} == {}


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
