"""What conditions take an absent member of a map for: what the map reads as without it."""

import dataclasses
from typing import Any, NotRequired

import pytest
from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass as checked_dataclass
from typing_extensions import TypedDict

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.models import definition_of


class Ours(Model):
    none: Attr[str | None] = attr(default=None)
    needed: Attr[str | None]
    text: Attr[str | None] = attr(default="GB")
    made: Attr[str | None] = attr(default_factory=lambda: "GB")
    tags: Attr[set[str]]
    tags_or_none: Attr[set[str] | None] = attr(default=None)
    no_tags_or_none: Attr[set[str] | None] = attr(default_factory=set)
    some_tags: Attr[set[str]] = attr(default={"a"})
    some_tags_or_none: Attr[set[str] | None] = attr(default={"a"})


class Sparse(Ours, absent_when_none=True):
    pass


class OfPydantic(BaseModel):
    none: str | None = None
    text: str | None = "GB"
    tags: set[str] = set()
    some_tags: set[str] | None = Field(default_factory=lambda: {"a"})


@dataclasses.dataclass
class Plain:
    none: str | None = None
    text: str | None = "GB"
    some_tags: set[str] | None = dataclasses.field(default_factory=lambda: {"a"})
    described: str | None = Field(default="GB")


@checked_dataclass
class Checked:
    none: str | None = None
    text: str | None = "GB"
    tags: set[str] = dataclasses.field(default_factory=set)
    described: str | None = Field(default="GB")


class Deep(Model):
    inner: Attr[Ours | None]
    several: Attr[list[Sparse]]
    by_name: Attr[dict[str, Plain]]


def members(kind: Any) -> list[Any]:
    names = kind.__annotations__ if kind is not Sparse else Ours.__annotations__
    return [pytest.param(kind, name, id=f"{kind.__name__}.{name}") for name in names]


EACH = [case for kind in (Ours, Sparse, OfPydantic, Plain, Checked) for case in members(kind)]


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize(("kind", "name"), EACH)
def test_an_absent_member_counts_as_what_it_reads_as(kind, name, optional) -> None:
    class Item(Model, table="items"):
        id: PartitionKey[str]
        value: Attr[(kind | None) if optional else kind]

    item = Item.from_wire({"id": {"S": "a"}, "value": {"M": {}}})
    found = getattr(item.value, name)
    path = definition_of(Item).path("value").child(name)
    assert (None in path.reads_as_none) == (found is None)
    assert (None in path.reads_as_empty_set) == (found == set())


@pytest.mark.parametrize(
    ("make", "counts"),
    [
        (lambda path: path.child("inner").child("text"), False),
        (lambda path: path.child("inner").child("none"), True),
        (lambda path: path.child("several").child(0).child("text"), False),
        (lambda path: path.child("several").child(0).child("none"), True),
        (lambda path: path.child("by_name").child("a").child("text"), False),
        (lambda path: path.child("by_name").child("a").child("none"), True),
    ],
)
def test_an_absent_member_counts_so_at_any_depth(make, counts) -> None:
    class Item(Model, table="items"):
        id: PartitionKey[str]
        value: Attr[Deep]

    assert (None in make(definition_of(Item).path("value")).reads_as_none) == counts


class Loose(TypedDict):
    note: NotRequired[str | None]


@pytest.mark.parametrize(
    ("annotation", "name"), [(list[str | None], 0), (dict[str, str | None], "a"), (Loose, "note"), (Any, "a")]
)
def test_an_absent_part_that_no_class_has_a_default_for_counts_as_none(annotation, name) -> None:
    class Item(Model, table="items"):
        id: PartitionKey[str]
        value: Attr[annotation]

    assert None in definition_of(Item).path("value").child(name).reads_as_none


class Other(Model):
    text: Attr[str | None] = attr(default=None)


class Third(Model):
    size: Attr[int]
    text: Attr[str | None] = attr(default=None)


@pytest.mark.parametrize(("annotation", "counts"), [(Ours | Other, False), (Other | Third, True)])
def test_a_member_of_several_models_counts_as_none_where_it_reads_so_in_each(annotation, counts) -> None:
    class Item(Model, table="items"):
        id: PartitionKey[str]
        value: Attr[annotation]

    assert (None in definition_of(Item).path("value").child("text").reads_as_none) == counts
