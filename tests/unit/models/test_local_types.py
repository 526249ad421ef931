"""Classes made in a function, whose members name others of it as text, as all do after the import below."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from typing_extensions import TypedDict

from dynamap_async import JSON_TEXT, Attr, Model, PartitionKey, attr
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of


def tuples() -> Any:
    class Part(NamedTuple):
        x: int

    class Login(NamedTuple):
        part: Part

    return Login, Part


def dictionaries() -> Any:
    class Part(TypedDict):
        x: int

    class Login(TypedDict):
        part: Part

    return Login, Part


@pytest.mark.parametrize("elsewhere", [tuples, dictionaries])
def test_type_that_only_pydantic_was_told_of_is_named(elsewhere) -> None:
    login, part = elsewhere()

    class Account(Model, table="accounts"):
        id: PartitionKey[str]
        logins: Attr[list[login]]

    Account.model_rebuild(_types_namespace={"Part": part, "login": login})
    with pytest.raises(ModelDefinitionError, match="Login names the type 'Part', which cannot be found; define"):
        definition_of(Account)


def test_types_of_the_same_function_are_found(read_back) -> None:
    @dataclass
    class Part:
        x: int

    @dataclass
    class Login:
        user: str
        part: Part | None = None
        earlier: Login | None = None

    class Pair(NamedTuple):
        user: str
        part: Part

    class Held(TypedDict):
        pair: Pair
        logins: list[Login]

    login, pair = Login("ada", Part(1), Login("bob")), Pair("ada", Part(2))

    class Lax(Model, table="accounts"):
        id: PartitionKey[str]
        login: Attr[Login]
        pair: Attr[Pair]
        held: Attr[Held]
        row: Attr[deque[Pair]]
        text: Attr[Held] = attr(stored_as=JSON_TEXT)

    class Strict(Lax, strict=True, table="accounts"):
        pass

    for model in (Lax, Strict):
        held: Held = {"pair": pair, "logins": [login]}
        item = model(id="1", login=login, pair=pair, held=held, row=deque([pair]), text=held)
        assert read_back(item) == item
    assert "part" in definition_of(Lax).path("login").converter.target.fields  # type: ignore[attr-defined]


def test_types_are_found_when_the_model_is_first_used_elsewhere(read_back) -> None:
    def made() -> Any:
        @dataclass
        class Part:
            x: int

        @dataclass
        class Login:
            part: Part

        class Account(Model, table="accounts"):
            id: PartitionKey[str]
            logins: Attr[list[Login]]

        return Account(id="1", logins=[Login(Part(1))])

    item = made()
    assert read_back(item) == item


def test_class_of_another_function_that_names_only_itself_is_found(read_back) -> None:
    def node() -> Any:
        @dataclass
        class Node:
            children: list[Node]

        return Node

    Kind = node()  # noqa: N806 - a class

    class Tree(Model, table="trees"):
        id: PartitionKey[str]
        root: Attr[Kind]

    item = Tree(id="1", root=Kind([Kind([])]))
    assert read_back(item) == item


def test_generic_types_with_a_name_of_the_same_function_are_found(read_back) -> None:
    Numbers = list[int]  # noqa: N806 - a name for a type

    class Row(NamedTuple):
        numbers: Numbers

    class Table(Model, table="tables"):
        id: PartitionKey[str]
        row: Attr[Row]

    assert read_back(Table(id="a", row=Row([1, 2]))).row == Row([1, 2])
