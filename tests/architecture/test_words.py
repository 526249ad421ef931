"""One word per thing, and the word is DynamoDB's: see docs/reference/glossary.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

# "document" and "record" are not here: a document path and a stream record are DynamoDB's own words.
BANNED = re.compile(r"\b(hash|range) (key|attribute)s?\b|\bprimary index(es)?\b|\bcolumns?\b|\brows?\b", re.IGNORECASE)
VAGUE_MODULES = {"utils", "util", "common", "base", "helpers", "helper", "misc"}
# Rich, which prints the command line's tables, has columns and rows.
SPEAKS_OF_SCREENS = "cli"


def words(identifier: str) -> str:
    """Return an identifier as words: `rangeKey_x` and `RangeKeyX` are `range key x`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_+", " ", identifier)


def defined_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield every string that stands alone: docstrings, and the lines that describe an attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield " ".join(text.split())


def test_names_and_docstrings_use_the_words_of_the_glossary(module: Path, package: Path, tree: ast.Module) -> None:
    texts = list(docstrings(tree))
    if module.relative_to(package).parts[0] != SPEAKS_OF_SCREENS:
        texts += map(words, defined_names(tree))
    assert [text for text in texts if BANNED.search(text)] == []


def test_a_module_is_named_for_what_it_owns(module: Path) -> None:
    assert module.stem.strip("_") not in VAGUE_MODULES


def test_no_test_file_is_a_drawer_of_helpers(checkout: Path) -> None:
    assert [path.name for path in (checkout / "tests").rglob("*.py") if "utils" in path.stem] == []
