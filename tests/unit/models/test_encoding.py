"""Where a value cannot be encoded, the error names the field, the element or the key."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, attr
from dynamap_async.codec import sizes
from dynamap_async.errors import EncodeError
from dynamap_async.models import definition_of, items


class Place(BaseModel):
    city: str
    streets: dict[str, int] = {}


class Town(Place):
    people: int = 0


@dataclass
class Mark:
    name: str


class Trip(Model, table="trips"):
    id: PartitionKey[str]
    place: Attr[Place]
    counts: Attr[list[int]] = attr(default_factory=list)
    pair: Attr[tuple[str, int]] = ("a", 1)
    names: Attr[set[str]] = attr(default_factory=set)
    mark: Attr[Mark | None] = None
    score: Attr[float] = 0.0
    note: Attr[str | None] = None


def test_keys_that_always_fit_are_not_looked_at(monkeypatch):
    looked: list[Any] = []
    monkeypatch.setattr(items, "check_key_value", lambda value, role: looked.append((value, role)))

    class Reading(Model, table="readings"):
        sensor: PartitionKey[UUID]
        at: SortKey[datetime]
        level: Attr[int]
        place: Attr[str]
        expires: Attr[date | None] = None
        by_level = GlobalIndex(partition_key="level", sort_key="at")
        by_place = GlobalIndex(partition_key="place", sort_key="expires")

    def encode(**values: Any) -> None:
        reading = Reading.model_construct(**{"sensor": UUID(int=1), "at": datetime.now(UTC), "level": 7, **values})
        definition_of(Reading).items.encode(reading)

    encode(place="Oslo", expires=None)
    encode(place="Oslo", expires=date(2026, 1, 1))
    assert looked == []
    encode(place="", expires=None)
    assert looked == [({"S": ""}, "partition")]


TRIP: dict[str, Any] = {"id": "1", "place": Place(city="Rome")}


def encoded(**changes: Any) -> Any:
    return definition_of(Trip).items.encode(Trip(**TRIP), changes)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"place": Place.model_construct(city=1)}, "place.city"),
        ({"place": Place.model_construct(city="Rome", streets={"a": 1, "b": "x"})}, "place.streets.b"),
        ({"place": Place.model_construct()}, "place.city"),
        ({"counts": [1, 2, "x"]}, r"counts\[2\]"),
        ({"counts": [True]}, r"counts\[0\]"),
        ({"pair": ("a", "b")}, r"pair\[1\]"),
        ({"mark": Mark(1)}, "mark.name"),  # type: ignore[arg-type]  # wrong on purpose
        ({"names": {"a", 1}}, "names"),
        ({"names": 0}, "names"),
        ({"score": float("nan")}, "score"),
    ],
)
def test_what_cannot_be_stored_is_named(changes, path):
    with pytest.raises(EncodeError, match=rf"Trip\.{path}: "):
        encoded(**changes)


@pytest.mark.parametrize("values", [{"score": None}, {"id": "1", "score": None}, {**vars(Trip(**TRIP)), "score": None}])
def test_what_cannot_be_stored_of_some_fields_is_named_too(values):
    with pytest.raises(EncodeError, match=r"^Trip\.score: float or int expected, got None$"):
        definition_of(Trip).items.encode_values(values)


def test_an_instance_of_a_subclass_is_stored_by_the_fields_of_its_declared_class():
    town = Town(city="Rome", people=3)
    assert encoded(place=town)["place"] == {"M": {"city": {"S": "Rome"}, "streets": {"M": {}}}}


@pytest.mark.parametrize(
    ("score", "text"),
    [(0.5, "0.5"), (2.0, "2"), (-0.0, "0"), (1e22, "10000000000000000000000"), (1e-7, "0.0000001"), (100.25, "100.25")],
)
def test_a_float_is_stored_by_its_shortest_text(score, text):
    assert encoded(score=score)["score"] == {"N": text}


def test_what_is_empty_is_left_out():
    assert encoded().keys() == {"id", "place", "counts", "pair", "score"}
    assert encoded(names={"b", "a"}, mark=Mark("x"), note="y").keys() >= {"names", "mark", "note"}


def test_keys_that_are_stored_alike_are_refused_though_each_is_right():
    class Numbered(Model, table="numbered"):
        id: PartitionKey[str]
        by: Attr[dict[int, str]]

    class One(int):
        def __hash__(self) -> int:
            return 7

        def __eq__(self, other: object) -> bool:
            return self is other

    with pytest.raises(EncodeError, match=r"Numbered\.by: two keys of the map"):
        definition_of(Numbered).items.encode(Numbered.model_construct(id="1", by={One(1): "a", 1: "b"}))


class Chain(BaseModel):
    next: "Chain | None" = None


class Open(BaseModel, extra="allow"):
    name: str = ""


def nested(levels: int, kind: Any = int) -> Any:
    """Return the type of a list of lists, so many levels deep."""
    for _ in range(levels):
        kind = list[kind]
    return kind


@pytest.mark.parametrize(
    ("kind", "levels"),
    [
        (str, 0),
        (set[int], 1),
        (list[str], 1),
        (dict[str, list[int]], 2),
        (tuple[str, list[dict[str, int]]], 3),
        (int | list[str], 1),
        (Place, 2),
        (list[Place] | None, 3),
        (Mark, 1),
        (Chain, None),
        (Open, None),
        (Any, None),
        (dict[str, Any], None),
        (nested(40), 40),
    ],
)
def test_how_deep_values_may_be_nested_is_known_from_their_type(kind, levels):
    class Holder(Model, table="holders"):
        id: PartitionKey[str]
        value: Attr[kind]

    assert definition_of(Holder).fields["value"].converter.levels == levels


@pytest.mark.parametrize("kind", [Any, nested(40), nested(40) | None])
@pytest.mark.parametrize(("levels", "stored"), [(31, True), (32, False)])
def test_what_is_nested_too_deep_is_refused_whatever_its_type(kind, levels, stored):
    class Holder(Model, table="holders"):
        id: PartitionKey[str]
        value: Attr[kind]

    value: Any = [] if kind is not Any else "x"
    for _ in range(levels):
        value = [value]
    item = Holder.model_construct(id="1", value=value)
    if stored:
        assert definition_of(Holder).items.encode(item)
    else:
        with pytest.raises(EncodeError, match=r"Holder\.value.*32 levels"):
            definition_of(Holder).items.encode(item)


def test_looking_for_what_is_nested_too_deep_is_left_to_types_that_allow_it(monkeypatch):
    looked: list[object] = []
    monkeypatch.setattr(sizes, "check_item", lambda item, model: looked.append(model))

    class Holder(Model, table="holders"):
        id: PartitionKey[str]
        value: Attr[list[Place]]

    class Loose(Model, table="holders"):
        id: PartitionKey[str]
        value: Attr[Any]

    places = [Place(city="Rome", streets={"a": 1}) for _ in range(40)]
    definition_of(Holder).items.encode(Holder(id="1", value=places))
    definition_of(Loose).items.encode(Loose(id="1", value=[{"a": {}}] * 40))
    assert looked == ["Loose"]
