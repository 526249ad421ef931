"""The public interface changes only on purpose: names and signatures are compared with public_api.txt.

Renew the file with `python tests/architecture/test_public_api.py`, and review the difference.
"""

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

SNAPSHOT = Path(__file__).with_name("public_api.txt")
PUBLIC_MODULES = [
    "dynamap_async",
    "dynamap_async.capacity",
    "dynamap_async.errors",
    "dynamap_async.generate",
    "dynamap_async.integrations.aiohttp",
    "dynamap_async.integrations.awslambda",
    "dynamap_async.integrations.failures",
    "dynamap_async.integrations.fastapi",
    "dynamap_async.integrations.otel",
    "dynamap_async.migrations",
    "dynamap_async.tables",
    "dynamap_async.testing",
    "dynamap_async.testing.slow_tables",
]


def public_names(module: ModuleType) -> list[str]:
    """Return what a module exports: its `__all__`, or else the public names that it defines itself."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return sorted(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def ours(cls: type) -> list[type]:
    """Return a class and those of its bases that this package defines."""
    return [base for base in cls.__mro__ if base.__module__.startswith("dynamap_async")]


def header(node: ast.AST) -> str:
    """Return a definition without its body, as its author wrote the types (their run-time form varies with Python)."""
    match node:
        case (
            ast.FunctionDef(name=name, args=args, returns=returns)
            | ast.AsyncFunctionDef(name=name, args=args, returns=returns)
        ):
            prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            return f"{prefix} {name}({ast.unparse(args)})" + (f" -> {ast.unparse(returns)}" if returns else "")
        case ast.ClassDef(name=name, bases=bases):
            return f"class {name}({', '.join(map(ast.unparse, bases))})"
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
            return f"{name}: {ast.unparse(annotation)}"
    return ""


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what `if TYPE_CHECKING:` hides as well: what type checkers see comes first, and stands for the rest."""
    for node in body:
        if isinstance(node, ast.If):
            yield from statements([*node.body, *node.orelse])
        else:
            yield node


def definitions(value: type | FunctionType) -> list[ast.stmt]:
    """Return the definitions of a class or function, all overloads included."""
    tree = ast.parse(inspect.getsource(sys.modules[value.__module__]))
    return [node for node in statements(tree.body) if getattr(node, "name", None) == value.__name__]


def members(cls: type) -> Iterator[str]:
    """Yield what a class offers, inherited or its own, each once; overloads each in turn."""
    seen: set[str] = set()
    for base in ours(cls):
        nodes = [node for node in statements(definitions(base)[0].body) if header(node)]
        names = [getattr(node, "name", None) or node.target.id for node in nodes]
        for name, node in zip(names, nodes, strict=True):
            if name not in seen and (not name.startswith("_") or name == "__init__"):
                yield f"    {header(node)}"
        seen.update(names)


def interface() -> str:
    lines: list[str] = []
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        lines.append(f"[{module_name}]")
        for name in public_names(module):
            value = getattr(module, name)
            if inspect.isclass(value):
                lines += [header(definitions(value)[0]), *members(value)]
            elif inspect.isfunction(value):
                lines += map(header, definitions(value))
            else:
                lines.append(name)
        lines.append("")
    return "\n".join(lines)


def is_method(member: object) -> bool:
    return callable(member) or isinstance(member, property | classmethod | staticmethod)


def test_the_public_interface_is_the_one_that_was_agreed() -> None:
    assert interface() == SNAPSHOT.read_text("utf-8"), __doc__


@pytest.mark.parametrize("module_name", PUBLIC_MODULES)
def test_every_public_name_has_a_docstring(module_name: str) -> None:
    module = importlib.import_module(module_name)
    missing = []
    for name in public_names(module):
        value = getattr(module, name)
        if inspect.isfunction(value) and not value.__doc__:
            missing.append(name)
        if inspect.isclass(value):
            methods = {key: method for base in ours(value) for key, method in reversed(vars(base).items())}
            public = {key for key, method in methods.items() if not key.startswith("_") and is_method(method)}
            # Of a class only its own docstring counts, of a method also the one it inherits.
            missing += [name] if not value.__dict__.get("__doc__") else []
            missing += [f"{name}.{key}" for key in sorted(public) if not inspect.getdoc(getattr(value, key))]
    assert missing == []


def parameters(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self", "cls"}


def keys(module: ModuleType, typed_dict: str) -> set[str]:
    """Return the keys of a TypedDict, which may be there for type checkers only, and of its bases in that module."""
    found: set[str] = set()
    for node in statements(ast.parse(inspect.getsource(module)).body):
        if isinstance(node, ast.ClassDef) and node.name == typed_dict:
            found.update(header(each).partition(":")[0] for each in node.body if isinstance(each, ast.AnnAssign))
            for base in node.bases:
                assert isinstance(base, ast.Name)
                found |= keys(module, base.id)
    assert found or typed_dict == "TypedDict"
    return found


@pytest.mark.parametrize("name", ["attr", "template"])
def test_overloads_take_what_the_function_takes(name: str) -> None:
    function = getattr(importlib.import_module("dynamap_async"), name)
    for node in definitions(function):
        assert isinstance(node, ast.FunctionDef)
        taken = {each.arg for each in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
        if node.args.kwarg is not None:
            match node.args.kwarg.annotation:
                case ast.Subscript(value=ast.Name(id="Unpack"), slice=ast.Name(id=options)):
                    taken |= keys(sys.modules[function.__module__], options)
        assert taken <= parameters(function)


if __name__ == "__main__":
    SNAPSHOT.write_text(interface(), "utf-8")
