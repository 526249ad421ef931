"""An object changes its own attributes: what other code may set is listed, with the reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

SET_FROM_OUTSIDE = {
    ("cli/demo", "mine"): "what a user does with an item, shown as it is done",
    ("cli/demo", "yours"): "as `mine`",
    ("executor", "call"): "what the ledger, the admission and the queues note about a call is kept with it",
    ("executor", "request"): "a body learns that the answer is to report what it took",
    ("executor", "tally"): "a tally is a record of counts, which the ledger keeps",
    ("executor/pacing", "ticket"): "a ticket is a record of who waits, which the line keeps",
    ("models", "field"): "a field of the body of a class gets Pydantic's own class before Pydantic sees it",
    ("models", "info"): "Pydantic's own way to give a field more metadata",
    ("models", "proxy"): "what Pydantic's computed_field made is given the property that stores its value",
    ("operations", "own"): "an error, of one action of a transaction, is told what it lacks",
    ("operations", "method"): "an argument has a default for programs, none for checkers, whatever a signature says",
    ("transport", "session"): "aiobotocore makes it, and takes no class of requests",
    ("session/bulk", "part"): "a part of a bulk call learns its place when it is accepted",
}
"""Folder and variable -> why what the variable names is set outside of its own class."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_in(tree: ast.AST) -> Iterator[Function]:
    """Yield functions that stand in no other function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield node
        else:
            yield from functions_in(node)


def own_names(function: Function) -> set[str]:
    """Return the objects that a function may change: itself, what it makes, and errors, which are told more."""
    nodes = list(ast.walk(function))
    made = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    arguments = [node for node in nodes if isinstance(node, ast.arg) and node.annotation]
    errors = {node.arg for node in arguments if "Error" in ast.unparse(node.annotation or node)}
    return {"self", "cls", "error", "lost"} | made | caught | errors


def set_from_outside(function: Function) -> set[str]:
    """Return the variables whose attributes a function sets, though they are not its own."""
    stored = [
        node.value for node in ast.walk(function) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
    return {node.id for node in stored if isinstance(node, ast.Name)} - own_names(function)


def test_no_object_sets_an_attribute_of_another(package: Path) -> None:
    found = {
        (path.parent.relative_to(package).as_posix(), variable)
        for path in package.rglob("*.py")
        for function in functions_in(ast.parse(path.read_text("utf-8")))
        for variable in set_from_outside(function)
    }
    assert found == SET_FROM_OUTSIDE.keys()
