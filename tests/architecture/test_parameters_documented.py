"""What a program can call documents what it takes: each parameter under `Args:`, and no other."""

import importlib
import inspect
import logging
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import griffe
import pytest

import dynamap_async
from dynamap_async import Session
from dynamap_async.errors import DynamapError

PUBLIC_MODULES = [
    "dynamap_async",
    "dynamap_async.capacity",
    "dynamap_async.errors",
    "dynamap_async.integrations.aiohttp",
    "dynamap_async.integrations.awslambda",
    "dynamap_async.integrations.failures",
    "dynamap_async.integrations.fastapi",
    "dynamap_async.integrations.otel",
    "dynamap_async.migrations",
    "dynamap_async.tables",
    "dynamap_async.testing",
]
"""Callables that lack a parameter under `Args:`, sorted. The list may only get shorter: what is mended leaves it."""


def public_names(module: ModuleType) -> list[str]:
    """Return what a module exports: its `__all__`, or else the public names that it defines itself."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return getattr(module, "__all__", [name for name in own if not name.startswith("_")])


def is_ours(value: object) -> bool:
    return str(getattr(value, "__module__", "")).startswith("dynamap_async")


def callables(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield the public functions, classes and methods of a module: where it is defined, itself, and its docstring."""
    for name in public_names(module):
        value = getattr(module, name)
        if inspect.isfunction(value):
            yield name, value, value.__doc__ or ""
        elif inspect.isclass(value) and is_ours(value):
            yield from constructors(value)
            for key in dir(value):
                method = inspect.unwrap(getattr(value, key)) if not key.startswith("_") else None
                method = getattr(method, "__func__", method)
                if inspect.isfunction(method) and is_ours(method):
                    yield method.__qualname__, method, inspect.getdoc(getattr(value, key)) or ""


def constructors(cls: type) -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield what makes an instance; the fields of a dataclass have their own docstrings, and are looked at below."""
    if is_dataclass(cls) or issubclass(cls, Enum) or not inspect.isfunction(cls.__init__) or not is_ours(cls.__init__):
        return
    [defining] = [base for base in cls.__mro__ if base.__dict__.get("__init__") is cls.__init__]
    docs = [inspect.cleandoc(each.__doc__ or "") for each in (defining, cls.__init__)]
    yield defining.__name__, cls.__init__, "\n\n".join(docs)


def parameters(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self", "cls"}


def documented(docstring: str) -> set[str]:
    """Return the names that the sections `Args:` of a docstring explain."""
    sections = griffe.Docstring(inspect.cleandoc(docstring)).parse("google", warnings=False)
    explained = [section.value for section in sections if section.kind is griffe.DocstringSectionKind.parameters]
    return {parameter.name.lstrip("*") for section in explained for parameter in section}


class Documented(NamedTuple):
    """A callable, its parameters, those that its docstring explains, and those that are explained elsewhere."""

    name: str
    taken: set[str]
    explained: set[str]
    elsewhere: set[str]


@pytest.fixture(scope="module")
def found(package: griffe.Object) -> list[Documented]:
    modules = map(importlib.import_module, PUBLIC_MODULES)
    each = [one for module in modules for one in callables(module)]
    return [
        Documented(name, parameters(function), documented(docstring), explained_elsewhere(function, package))
        for name, function, docstring in each
    ]


def explained_elsewhere(function: Callable[..., Any], package: griffe.Object) -> set[str]:
    """Return what a constructor need not explain, because an attribute of the same name does, or every error's base."""
    owner, _, name = function.__qualname__.rpartition(".")
    if name != "__init__":
        return set()
    cls: type = getattr(importlib.import_module(function.__module__), owner)
    sources = [source_of(base, package) for base in cls.__mro__ if is_ours(base)]
    attributes = {key for source in sources for key, member in source.members.items() if member.docstring}
    return attributes | ({"message"} if issubclass(cls, DynamapError) else set())


def source_of(cls: type, package: griffe.Object) -> griffe.Object:
    return package[f"{cls.__module__}.{cls.__qualname__}".partition(".")[2]]


@pytest.fixture(scope="module")
def package() -> griffe.Object:
    """The package as griffe reads it from the source, without importing it."""
    root = Path(dynamap_async.__file__).parent
    loaded = griffe.load(root.name, search_paths=[root.parent], resolve_aliases=False)
    assert isinstance(loaded, griffe.Object)
    return loaded


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[griffe.Docstring], list[str]]:
    """Return a function that parses a docstring in Google style, and returns what griffe warns about."""

    def warnings_of(docstring: griffe.Docstring) -> list[str]:
        caplog.clear()
        docstring.parse("google")
        return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]

    return warnings_of


def objects(parent: griffe.Object) -> Iterator[griffe.Object]:
    """Yield an object of the source, and all that it defines, however deep."""
    yield parent
    for member in parent.members.values():
        if isinstance(member, griffe.Object):
            yield from objects(member)


def test_the_public_callables_are_found(found: list[Documented]) -> None:
    taken = {each.name: each.taken for each in found}
    assert {"BatchError", "Session", "attr", "failure_of"} <= taken.keys()
    assert taken["Session.get"] == {"model", "partition", "sort", "consistent_read", "coalesce", "fields"}


def test_every_public_callable_documents_each_of_its_parameters(found: list[Documented]) -> None:
    missing = {each.name: each.taken - each.explained - each.elsewhere for each in found}
    assert {name: parameters for name, parameters in missing.items() if parameters} == {}


def test_no_public_callable_documents_a_parameter_that_it_does_not_have(found: list[Documented]) -> None:
    assert {each.name: each.explained - each.taken for each in found if each.explained - each.taken} == {}


SENDS_NOTHING = {"scope", "statistics", "table_name", "without_hooks"}
"""Methods of a session that make no request."""


def test_every_method_of_a_session_that_sends_documents_its_errors_and_its_cost() -> None:
    methods = {name: method for name, method in vars(Session).items() if inspect.isfunction(method) and name[0] != "_"}
    wanted = {"raises", "Cost", "Source"}
    missing = {}
    for name in methods.keys() - SENDS_NOTHING - {"close"}:
        sections = griffe.Docstring(inspect.getdoc(methods[name]) or "").parse("google", warnings=False)
        missing[name] = wanted - {section.title or section.kind.value for section in sections}
    assert {name: sections for name, sections in missing.items() if sections} == {}


def test_every_field_of_a_public_dataclass_has_a_docstring(package: griffe.Object) -> None:
    modules = map(importlib.import_module, PUBLIC_MODULES)
    public = {getattr(module, name) for module in modules for name in public_names(module)}
    bare = []
    for cls in {base for each in public if inspect.isclass(each) for base in each.__mro__ if is_ours(base)}:
        if "__dataclass_fields__" in cls.__dict__:
            source = source_of(cls, package)
            told = documented(cls.__doc__ or "")
            own = [field for field in cls.__dataclass_fields__ if field in source.members and field[0] != "_"]
            bare += [f"{cls.__name__}.{field}" for field in own if not (source[field].docstring or field in told)]
    assert sorted(bare) == []


def test_griffe_warns_about_a_parameter_that_does_not_exist(warnings: Callable[[griffe.Docstring], list[str]]) -> None:
    source = 'def tell(a: int):\n    """Tell.\n\n    Args:\n        b: what to tell.\n    """'
    docstring = griffe.visit("source", Path("source.py"), source)["tell"].docstring
    assert "Parameter 'b' does not appear" in warnings(docstring)[-1]


def test_griffe_reads_every_docstring_as_google_style_without_a_warning(
    package: griffe.Object, warnings: Callable[[griffe.Docstring], list[str]]
) -> None:
    told = {each.path: warnings(each.docstring) for each in objects(package) if each.docstring is not None}
    assert len(told) > 1000
    assert {path: said for path, said in told.items() if said} == {}
