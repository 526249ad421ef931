"""Log lines are formatted only where somebody reads them, and all come from one logger."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
RIGHT = 'logger.debug("%s failed on %s", operation, table)'
WRONG = [
    'logger.debug(f"{operation} failed")',
    'logger.debug("%s failed" % operation)',
    'logger.debug("{} failed".format(operation))',
    'logger.debug("failed: " + operation)',
    "logger.debug(operation)",
    'logger.log(10, f"{operation} failed")',
    'logger.debug("%s failed", f"{operation}")',
    'logger.debug("%s failed", repr(operation))',
    'logging.debug("%s failed", operation)',
]


def logger_calls(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="logger" | "logging"), attr=attr)) if attr in LEVELS:
                yield node


def formats_early(node: ast.expr) -> bool:
    match node:
        case ast.JoinedStr() | ast.BinOp():
            return True
        case ast.Call(func=ast.Name(id="repr" | "str" | "format") | ast.Attribute(attr="format" | "join")):
            return True
    return False


def is_lazy(call: ast.Call) -> bool:
    """Return whether a call names its logger, and leaves all formatting to it."""
    assert isinstance(call.func, ast.Attribute)
    assert isinstance(call.func.value, ast.Name)
    message, *args = call.args[1:] if call.func.attr == "log" else call.args
    is_constant = isinstance(message, ast.Constant) and isinstance(message.value, str)
    return call.func.value.id == "logger" and is_constant and not any(map(formats_early, args))


def test_log_lines_are_formatted_lazily(tree: ast.Module) -> None:
    assert [ast.unparse(call) for call in logger_calls(tree) if not is_lazy(call)] == []


@pytest.mark.parametrize("line", [RIGHT, *WRONG])
def test_the_rule_above_knows_right_from_wrong(line: str) -> None:
    (call,) = logger_calls(ast.parse(line))
    assert is_lazy(call) == (line == RIGHT)


def test_every_logger_is_the_one_of_the_package(module: Path, tree: ast.Module) -> None:
    makers = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"logging.getLogger", "getLogger"}
    ]
    assert [ast.unparse(node) for node in makers if ast.unparse(node) != "logging.getLogger('dynamap_async')"] == []
