"""Selections: the tuples that projected items become."""

from datetime import date
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from dynamap_async import Attr, Model, PartitionKey, Query, attr
from dynamap_async.errors import DecodeError, ItemDecodeError, ItemValidationError
from dynamap_async.planning import Context

NULL = {"NULL": True}


class Colour(Enum):
    RED = "red"


class Address(Model):
    city: Attr[str] = attr(name="c")
    zip: Attr[int | None] = attr(default=None)
    labels: Attr[set[str]] = attr(default_factory=set)
    marks: Attr[set[str]] = attr(default_factory=lambda: {"x"})


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    value: int = 0
    born: date | None = None


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    value: str = ""
    born: date | None = None


class Thing(Model, table="things"):
    id: PartitionKey[str] = attr(name="pk")
    name: Attr[str]
    count: Attr[int] = attr(default=7)
    note: Attr[str | None] = attr(default=None)
    note_or_dash: Attr[str | None] = attr(default="-")
    tags: Attr[set[str]] = attr(default_factory=set)
    frozen: Attr[frozenset[int]] = attr(default_factory=frozenset)
    tags_or_none: Attr[set[str] | None] = attr(default=None)
    tags_or_default: Attr[set[str] | None] = attr(default_factory=lambda: {"x"})
    history: Attr[list[int]] = attr(default_factory=list)
    colour: Attr[Colour] = attr(default=Colour.RED)
    address: Attr[Address | None] = attr(default=None)
    addresses: Attr[list[Address]] = attr(default_factory=list)
    pet: Attr[Annotated[Cat | Dog, Field(discriminator="kind")] | None] = attr(default=None)


def decoded(selected, *items):
    reading = Query(Thing).where(Thing.id == "a").select(*selected).reading(Context())
    return reading.decode([{"pk": {"S": "a"}, **item} for item in items])


@pytest.mark.parametrize(
    ("field", "item", "value"),
    [
        (Thing.id, {}, "a"),
        (Thing.name, {"name": {"S": "x"}}, "x"),
        (Thing.count, {"count": {"N": "0"}}, 0),
        (Thing.count, {}, 7),
        (Thing.note, {}, None),
        (Thing.note, {"note": NULL}, None),
        (Thing.note, {"note": {"S": ""}}, ""),
        (Thing.note_or_dash, {}, "-"),
        (Thing.note_or_dash, {"note_or_dash": NULL}, None),
        (Thing.tags, {}, set()),
        (Thing.tags, {"tags": NULL}, set()),
        (Thing.tags, {"tags": {"SS": ["a"]}}, {"a"}),
        (Thing.frozen, {}, frozenset()),
        (Thing.frozen, {"frozen": {"NS": ["1"]}}, frozenset({1})),
        (Thing.tags_or_none, {}, None),
        (Thing.tags_or_none, {"tags_or_none": NULL}, set()),
        (Thing.tags_or_default, {}, {"x"}),
        (Thing.tags_or_default, {"tags_or_default": NULL}, None),
        (Thing.tags_or_default, {"tags_or_default": {"L": []}}, set()),
        (Thing.colour, {"colour": {"S": "red"}}, Colour.RED),
        (Thing.colour, {}, Colour.RED),
        (Thing.history, {"history": {"L": [{"N": "1"}]}}, [1]),
        (Thing.address, {}, None),
        (Thing.address, {"address": {"M": {"c": {"S": "x"}, "zip": NULL}}}, Address(city="x")),
        (Thing.address.city, {"address": {"M": {"c": {"S": "x"}}}}, "x"),
        (Thing.address.city, {}, None),
        (Thing.address.city, {"address": NULL}, None),
        (Thing.address.zip, {"address": {"M": {"zip": NULL}}}, None),
        (Thing.address.labels, {"address": {"M": {"labels": {"L": []}}}}, set()),
        (Thing.pet["kind"], {"pet": {"M": {"kind": {"S": "dog"}}}}, "dog"),
        (Thing.pet["value"], {"pet": {"M": {"kind": {"S": "dog"}, "value": {"S": "x"}}}}, "x"),
        (Thing.pet["born"], {"pet": {"M": {"born": {"S": "2024-06-01"}}}}, date(2024, 6, 1)),
        (Thing.address.labels, {"address": {"M": {"c": {"S": "x"}}}}, set()),
        (Thing.address.labels, {}, set()),
        (Thing.address.marks, {}, None),
        (Thing.addresses[0].city, {"addresses": {"L": [{"M": {"c": {"S": "x"}}}]}}, "x"),
    ],
)
def test_a_selected_value_reads_as_it_does_in_a_whole_item(field, item, value):
    [(found,)] = decoded([field], item)
    assert found == value
    assert type(found) is type(value)


def test_defaults_are_not_shared_between_items():
    [(one,), (other,)] = decoded([Thing.tags_or_default], {}, {})
    one.add("y")
    assert other == {"x"}


def test_values_come_in_the_order_of_the_selection():
    item = {"name": {"S": "n"}, "count": {"N": "1"}}
    assert decoded([Thing.count, Thing.id, Thing.name], item) == [(1, "a", "n")]


def test_one_field_may_be_selected_twice():
    assert decoded([Thing.name, Thing.name], {"name": {"S": "n"}}) == [("n", "n")]


def numbers(*values):
    return {"history": {"L": [{"N": str(value)} for value in values]}}


@pytest.mark.parametrize(
    ("positions", "answer", "values"),
    [
        ([2], [12], (12,)),
        ([2, 0], [10, 12], (12, 10)),
        ([5, 2, 9], [12, 15], (15, 12, None)),
    ],
)
def test_list_positions_are_found_though_a_projection_closes_lists_up(positions, answer, values):
    assert decoded([Thing.history[position] for position in positions], numbers(*answer)) == [values]


def test_list_positions_of_a_whole_list_are_found_where_they_are():
    assert decoded([Thing.history[1], Thing.history], numbers(10, 11, 12)) == [(11, [10, 11, 12])]


@pytest.mark.parametrize(
    ("field", "item"),
    [
        (Thing.name, {}),
        (Thing.name, {"name": NULL}),
        (Thing.name, {"name": {"N": "5"}}),
        (Thing.count, {"count": NULL}),
        (Thing.count, {"count": {"S": "x"}}),
        (Thing.colour, {"colour": {"S": "green"}}),
        (Thing.address.city, {"address": {"M": {"c": {"N": "1"}}}}),
    ],
)
def test_a_value_that_does_not_fit_names_the_item_and_keeps_the_rest(field, item):
    good = {"name": {"S": "n"}, "address": {"M": {"c": {"S": "x"}}}}
    with pytest.raises(ItemValidationError, match=r"the stored item {'pk': 'a'} does not fit Thing\.") as caught:
        decoded([field], good, item, good)
    assert len(caught.value.items) == 2
    assert caught.value.item == {"pk": {"S": "a"}, **item}
    assert caught.value.model == "Thing"


def test_a_projection_asks_for_each_path_once_and_for_no_part_of_what_it_asks_for_whole():
    plan = (
        Query(Thing).where(Thing.id == "a").select(Thing.address, Thing.address.city, Thing.name, Thing.name).explain()
    )
    assert plan.body["ProjectionExpression"] == "#n1, #n2, #n0"
    assert plan.body["ExpressionAttributeNames"] == {"#n0": "pk", "#n1": "address", "#n2": "name"}


@pytest.mark.parametrize(
    ("path", "stored", "message"),
    [
        (Thing.count, {"count": {"S": "5"}}, "Thing.count: int is stored as N, not as S"),
        (Thing.count, {"count": NULL}, "Thing.count: int is stored as N, not as NULL"),
        (Thing.history, {"history": {"L": [{"N": "1"}, {"S": "2"}]}}, r"Thing.history\[1\]: int is stored as N"),
        (Thing.history[0], {"history": {"L": [{"S": "2"}]}}, r"Thing.history\[0\]: int is stored as N, not as S"),
        (
            Thing.address.zip,
            {"address": {"M": {"zip": {"S": "2"}}}},
            "Thing.address.zip: int is stored as N, not as S",
        ),
        (Thing.frozen, {"frozen": {"SS": ["1"]}}, r"Thing.frozen: frozenset\[int\] is stored as L or NS, not as SS"),
    ],
)
def test_selected_value_of_another_stored_type_is_refused(path, stored, message):
    with pytest.raises(DecodeError, match=message) as caught:
        decoded((Thing.id, path), stored)
    assert isinstance(caught.value, ItemDecodeError)
    assert caught.value.key == {"pk": "a"}
    assert caught.value.path
