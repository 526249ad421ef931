"""The remembered state: what counts as a change, what survives copying, and what nobody sees."""

import copy
import gc
import pickle
import tracemalloc
import weakref
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, model_validator
from pydantic_core import from_json, to_json

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.errors import ItemValidationError, OperationError
from dynamap_async.models import (
    REMOVED,
    Known,
    changes,
    definition_of,
    difference,
    forget,
    is_remembered,
    key_of_item,
    remember,
)
from dynamap_async.models.state import state_of
from dynamap_async.native.json_text import read_json
from dynamap_async.operations import Put, Save
from dynamap_async.planning import Context

T = TypeVar("T")


class Street(Model):
    name: str
    number: int = 1


class Address(BaseModel):
    street: Street
    city: str = attr(name="town", default="")


class Shop(Model, table="shops"):
    pk: PartitionKey[str]
    open: Attr[bool] = attr(default=True)
    rating: Attr[float | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    marks: Attr[list[int]] = attr(default_factory=list)
    names: Attr[dict[str, Street]] = attr(default_factory=dict)
    address: Attr[Address | None] = attr(default=None)
    either: Attr[Street | str] = attr(default="")
    anything: Attr[Any] = attr(default=None)
    _secret: list[int] = PrivateAttr(default_factory=list)


class FrozenShop(Shop, table="shops", frozen=True):
    pass


class CheckedShop(Shop, table="shops"):
    model_config = ConfigDict(validate_assignment=True)


class StrictShop(Shop, table="shops"):
    model_config = ConfigDict(strict=True)


class OpenShop(Shop, table="shops"):
    model_config = ConfigDict(extra="allow")


class RewrittenShop(Shop, table="shops"):
    @model_validator(mode="before")
    @classmethod
    def _popping(cls, values: Any) -> Any:
        values.pop("legacy", None)
        return values


class GenericShop(Shop, Generic[T], abstract=True):
    special: Attr[list[T]] = attr(default_factory=list)


class IntShop(GenericShop[int], table="shops"):
    pass


MODELS = [Shop, FrozenShop, CheckedShop, StrictShop, OpenShop, RewrittenShop, IntShop]


def stored_and_read(item):
    definition = definition_of(type(item))
    stored = definition.items.encode(item)
    return definition.items.decode([from_json(to_json(stored))])[0]


def shop(model=Shop):
    return stored_and_read(
        model(
            pk="p",
            rating=4.5,
            tags={"a", "b"},
            marks=[1, 2],
            names={"x": Street(name="X")},
            address=Address(street=Street(name="High")),
            either=Street(name="E"),
            anything={"deep": [1, {"deeper": [2]}]},
        )
    )


def changed(item):
    return set(changes(item, definition_of(type(item))))


MUTATIONS = {
    "tags": lambda item: item.tags.add("c"),
    "marks": lambda item: item.marks.append(3),
    "names": lambda item: setattr(item.names["x"], "number", 9),
    "address": lambda item: setattr(item.address.street, "name", "Low"),
    "either": lambda item: setattr(item.either, "name", "F"),
    "anything": lambda item: item.anything["deep"][1]["deeper"].append(3),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("field", MUTATIONS)
def test_a_value_changed_in_place_is_a_change(model, field):
    item = shop(model)
    MUTATIONS[field](item)
    assert changed(item) == {field}


@pytest.mark.parametrize("model", MODELS)
def test_an_item_that_was_only_read_has_no_changes(model):
    assert changed(shop(model)) == set()


@pytest.mark.parametrize("model", [model for model in MODELS if model is not FrozenShop])
def test_a_field_set_to_what_it_was_is_no_change(model):
    item = shop(model)
    item.rating, item.tags, item.address = 4.5, {"b", "a"}, item.address.model_copy(deep=True)
    assert changed(item) == set()


def test_a_change_and_its_undoing_are_no_change():
    item = shop()
    item.marks.append(3)
    item.marks.pop()
    assert changed(item) == set()


def test_a_value_that_is_taken_away_is_removed():
    item = shop()
    item.rating, item.tags = None, set()
    assert changes(item, definition_of(Shop)) == {"rating": REMOVED, "tags": REMOVED}


def test_a_default_of_an_absent_attribute_is_no_change():
    definition = definition_of(Shop)
    [item] = definition.items.decode([{"pk": {"S": "p"}}])
    assert changed(item) == set()
    item.marks.append(1)
    assert changed(item) == {"marks"}


def test_a_default_that_differs_each_time_is_no_change():
    class Stamped(Model, table="stamped"):
        pk: PartitionKey[str]
        at: Attr[datetime] = attr(default_factory=lambda: datetime.now(UTC))

    definition = definition_of(Stamped)
    [item] = definition.items.decode([{"pk": {"S": "p"}}])
    assert changed(item) == set()


def test_what_a_validator_made_of_the_stored_value_is_no_change():
    class Lower(Model, table="lower"):
        pk: PartitionKey[str]
        name: Attr[Annotated[str, AfterValidator(str.lower)]]
        parts: Attr[list[Annotated[str, AfterValidator(str.lower)]]]

    definition = definition_of(Lower)
    [item] = definition.items.decode([{"pk": {"S": "p"}, "name": {"S": "A"}, "parts": {"L": [{"S": "B"}]}}])
    assert item.name == "a"
    assert changed(item) == set()


def test_a_number_stored_in_another_spelling_is_no_change():
    definition = definition_of(Shop)
    [item] = definition.items.decode([{"pk": {"S": "p"}, "rating": {"N": "4.50"}, "marks": {"L": [{"N": "1.0"}]}}])
    assert changed(item) == set()


def test_an_extra_attribute_can_change_appear_and_go():
    definition = definition_of(OpenShop)
    [item] = definition.items.decode([{"pk": {"S": "p"}, "a": {"L": [{"N": "1"}]}, "b": {"S": "x"}}])
    assert changed(item) == set()
    item.a.append(2)
    item.c = 1
    del item.b
    assert changes(item, definition) == {"a": {"L": [{"N": "1"}, {"N": "2"}]}, "b": REMOVED, "c": {"N": "1"}}


COPIES = {
    "model_copy": lambda item: item.model_copy(),
    "deep model_copy": lambda item: item.model_copy(deep=True),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda item: pickle.loads(pickle.dumps(item)),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("how", COPIES)
def test_the_state_survives_copies(model, how):
    item = COPIES[how](shop(model))
    assert changed(item) == set()
    item.marks.append(7)
    assert changed(item) == {"marks"}


def test_a_copy_with_an_update_has_that_change():
    assert changed(shop().model_copy(update={"rating": 1.0})) == {"rating"}


@pytest.mark.parametrize("model", MODELS)
def test_nothing_that_pydantic_shows_tells_of_the_state(model):
    read = shop(model)
    new = copy.copy(read)  # a deep copy makes new sets, which may show their members in another order
    forget(new)
    assert (is_remembered(read), is_remembered(new)) == (True, False)
    assert read == new
    assert repr(read) == repr(new)
    assert read.model_dump() == new.model_dump()
    assert read.model_dump_json() == new.model_dump_json()
    assert read.model_fields_set == new.model_fields_set
    assert not [name for name in model.model_fields if "dynamap" in name]
    assert "dynamap" not in str(model.model_json_schema())
    assert read.__pydantic_private__ == {"_secret": []}


def test_an_instance_made_by_the_program_is_not_remembered():
    assert not is_remembered(Shop(pk="p"))


def test_nested_models_are_not_remembered():
    assert not is_remembered(shop().names["x"])


def test_the_state_keeps_no_instance_alive():
    item = shop()
    seen = weakref.ref(item)
    del item
    gc.collect()
    assert seen() is None


def test_what_was_written_is_remembered_as_it_was_sent():
    item = Shop(pk="p", marks=[1])
    put = Put(item)
    item.marks.append(2)
    put.result({}, Context())
    assert changes(item, definition_of(Shop)) == {"marks": {"L": [{"N": "1"}, {"N": "2"}]}}


def test_members_that_the_model_does_not_know_stay_in_changed_values():
    definition = definition_of(Shop)
    street = {"M": {"name": {"S": "High"}, "number": {"N": "1"}, "side": {"S": "left"}}}
    address = {"M": {"street": street, "town": {"S": "York"}, "since": {"N": "1"}}}
    named = {"M": {"x": street, "y": street}}
    [item] = definition.items.decode([{"pk": {"S": "p"}, "address": address, "names": named}])
    assert changed(item) == set()

    item.address.street.number = 2
    del item.names["y"]

    assert changes(item, definition) == {
        "address": {
            "M": {
                "street": {"M": {"name": {"S": "High"}, "number": {"N": "2"}, "side": {"S": "left"}}},
                "town": {"S": "York"},
                "since": {"N": "1"},
            }
        },
        "names": {"M": {"x": street}},
    }


def test_elements_of_a_list_keep_their_unknown_members_wherever_they_move():
    class Route(Model, table="routes"):
        pk: PartitionKey[str]
        stops: Attr[list[Street]]

    def stop(name, number=1):
        return {"M": {"name": {"S": name}, "number": {"N": str(number)}, "tip": {"S": name}}}

    definition = definition_of(Route)
    [item] = definition.items.decode([{"pk": {"S": "p"}, "stops": {"L": [stop("a"), stop("b"), stop("c")]}}])

    item.stops.pop(0)
    assert changes(item, definition) == {"stops": {"L": [stop("b"), stop("c")]}}
    item.stops.insert(0, Street(name="a"))
    item.stops[1].number = 5
    assert changes(item, definition) == {"stops": {"L": [stop("a"), stop("b", 5), stop("c")]}}

    item.stops.append(Street(name="d"))
    item.stops.insert(0, Street(name="e", number=7))
    new = [{"M": {"name": {"S": name}, "number": {"N": number}}} for name, number in (("e", "7"), ("d", "1"))]
    assert changes(item, definition) == {"stops": {"L": [new[0], stop("a"), stop("b", 5), stop("c"), new[1]]}}


def test_an_element_that_comes_to_equal_another_keeps_its_own_unknown_members():
    class Route(Model, table="routes"):
        pk: PartitionKey[str]
        stops: Attr[list[Street]]

    def stop(name, tip):
        return {"M": {"name": {"S": name}, "number": {"N": "1"}, "tip": {"S": tip}}}

    definition = definition_of(Route)
    [item] = definition.items.decode([{"pk": {"S": "p"}, "stops": {"L": [stop("a", "first"), stop("b", "second")]}}])
    item.stops[1].name = "a"
    assert changes(item, definition) == {"stops": {"L": [stop("a", "first"), stop("a", "second")]}}


def test_the_work_for_a_changed_list_grows_with_its_length_only():
    compared = 0

    class Counted(dict):
        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return dict.__eq__(self, other)

        __hash__ = None

    def element(number, name):
        return Counted(M={"name": {"S": f"{name} {number}"}, "number": {"N": str(number)}})

    old = [element(number, "old") for number in range(500)]
    new = [element(number, "new") for number in reversed(range(499))]
    found = difference(Known({"all": {"L": old}}, {"all": {"L": old}}), {"all": {"L": new}})
    assert found == {"all": {"L": new}}
    assert compared < 5_000


def test_what_was_read_from_a_part_is_refused_by_put_and_save():
    [item] = definition_of(Shop).items.decode([{"pk": {"S": "p"}}], partial=True)
    for operation in (Put, Save):
        with pytest.raises(OperationError, match="was read without some of its attributes"):
            operation(item)
    with pytest.raises(OperationError, match=r"session.get\(Shop, key\)"):
        definition_of(type(item)).validation.before_put(item.model_copy(), "written")


class Timed(Model, table="timed"):
    at: PartitionKey[datetime]
    name: Attr[str] = attr(default="")


def test_the_key_of_what_was_read_from_a_part_is_remembered_as_it_is_stored():
    key = {"at": {"S": "2026-01-02T03:04:05+00:00"}}
    [item] = definition_of(Timed).items.decode([key], partial=True)
    assert key_of_item(item, definition_of(Timed)) == key


def test_remembering_replaces_what_was_remembered():
    item = shop()
    remember(item, {"pk": {"S": "p"}})
    assert changed(item) == {"rating", "tags", "marks", "names", "address", "either", "anything"}


class Reference(Model, table="references"):
    pk: PartitionKey[str]
    name: Attr[str]
    email: Attr[str]
    created: Attr[datetime]
    likes: Attr[int]
    score: Attr[float]
    rank: Attr[int]
    active: Attr[bool]
    note: Attr[str | None] = attr(default=None)
    address: Attr[Address]
    tags: Attr[set[str]]
    marks: Attr[list[int]]


class Full(Street):
    zip: str
    floor: Annotated[int, Field(ge=0)]


class Full12(Reference, table="references"):
    address: Attr[Full]


def _bytes_of(count, *, remembers):
    codec = definition_of(Full12).items
    items = [
        Full12(
            pk=f"key {number}",
            name=f"name {number}",
            email=f"{number}@example.org",
            created=datetime.now(UTC),
            likes=number + 1000,
            score=number + 0.5,
            rank=number + 5000,
            active=True,
            note=f"note {number}",
            address=Full(name=f"street {number}", number=number + 300, zip=f"{number:05}", floor=number + 400),
            tags={f"a{number}", f"b{number}", f"c{number}"},
            marks=[number + 10_000, number + 20_000, number + 30_000],
        )
        for number in range(count)
    ]
    pages = [to_json([codec.encode(item) for item in items[start : start + 100]]) for start in range(0, count, 100)]
    kept = []
    gc.collect()
    tracemalloc.start()
    try:
        for page in pages:
            kept += codec.decode(read_json(page))
            if not remembers:
                for item in kept[-100:]:
                    forget(item)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_states_cost_at_most_10_mib_for_10_000_items():
    _bytes_of(100, remembers=True)
    extra = _bytes_of(1000, remembers=True) - _bytes_of(1000, remembers=False)
    assert extra * 10 < 10 * 2**20


@pytest.mark.parametrize("unknown", [{}, {"colour": {"S": "red"}}])
def test_an_instance_that_is_read_beside_an_invalid_one_remembers_what_it_would_alone(unknown):
    items = definition_of(Shop).items
    stored = items.encode(Shop(pk="a", names={"x": Street(name="High")}))
    stored["names"]["M"]["x"]["M"].update(unknown)
    with pytest.raises(ItemValidationError) as caught:
        items.decode([{**stored, "rating": {"S": "many"}}, stored])
    [beside], [alone] = caught.value.items, items.decode([stored])
    assert state_of(beside) == state_of(alone)
