"""Both type checkers accept the models of all published designs, and the queries that they were published with."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

SCENARIOS = Path(__file__).parents[1] / "scenarios"
IMPORTS = """\
from collections.abc import Callable, Mapping
from dynamap_async import Session
"""
REQUESTS = "Mapping[str, Callable[[Session], object]]"
"""What the lambdas take and give: they say it nowhere, because only the tests call them."""
WRONG = """\
from dynamap_async import Session
from social_network import Profile

def wrong(session: Session) -> None:
    session.query(Profile).where(Profile.user == 1)
    session.query(Profile).where(Profile.posts == "1")
    Profile(user="1")
"""
LINES_OF_WRONG = {"5", "6", "7"}


def names_in(statement: ast.stmt, context: type[ast.Load | ast.Store]) -> set[str]:
    """Return the names that are read anywhere in a statement, or set."""
    names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, context)}


def names_of(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module gives a meaning."""
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {each.asname or each.name.split(".")[0] for each in names}
        case _:
            return names_in(statement, ast.Store)


def with_types(statement: ast.stmt) -> ast.stmt:
    """Return the statement; that of the requests with their type."""
    match statement:
        case ast.Assign(targets=[ast.Name(id="REQUESTS") as name], value=value):
            annotation = ast.parse(REQUESTS, mode="eval").body
            return ast.AnnAssign(target=name, annotation=annotation, value=value, simple=1)
        case _:
            return statement


def declarations_of(text: str) -> str:
    """Return the models and the requests of a scenario, and what these need of the rest."""
    statements = ast.parse((IMPORTS if "REQUESTS = " in text else "") + text).body
    meant = [names_of(statement) for statement in statements]
    kept = {
        place
        for place, statement in enumerate(statements)
        if isinstance(statement, ast.ClassDef) or meant[place] & {"MODELS", "REQUESTS"}
    }
    typed = [with_types(statement) for statement in statements]
    while True:
        used = {name for place in kept for name in names_in(typed[place], ast.Load)}
        needed = kept | {place for place, names in enumerate(meant) if names & used}
        if needed == kept:
            break
        kept = needed
    for place in kept:
        if isinstance(statement := typed[place], ast.Import | ast.ImportFrom):
            statement.names = [each for each in statement.names if (each.asname or each.name).split(".")[0] in used]
    return ast.unparse(ast.Module([typed[place] for place in sorted(kept)], type_ignores=[])) + "\n"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what each scenario declares and asks, and a module of wrong uses."""
    folder = tmp_path_factory.mktemp("scenarios")
    for file in SCENARIOS.glob("test_*.py"):
        text = file.read_text("utf-8")
        if re.search("^SCENARIO = ", text, re.MULTILINE):
            (folder / file.name.removeprefix("test_")).write_text(declarations_of(text), "utf-8")
    assert len(list(folder.iterdir())) >= 25
    (folder / "wrong.py").write_text(WRONG, "utf-8")
    return folder


def test_declarations_and_requests_of_published_designs_pass(
    checker: str, modules: Path, strictly_checked: Callable[[str, Path], list[str]]
) -> None:
    places = [line.split(":")[:2] for line in strictly_checked(checker, modules)]
    assert [place for place in places if place[0] != "wrong.py"] == []
    assert {line for _, line in places} == LINES_OF_WRONG
