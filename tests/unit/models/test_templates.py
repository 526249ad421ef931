"""Computed keys on models: when they are computed, what is refused, and what a read keeps."""

import copy
import pickle
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from pydantic import ConfigDict, ValidationError, field_validator, model_validator

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, attr, template
from dynamap_async.errors import DecodeError, EncodeError, ItemValidationError, OperationError, UnassignedFieldError
from dynamap_async.models import changes, definition_of, give

T = TypeVar("T")
NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


class Store(Model, table="stores"):
    country: Attr[str]
    region: Attr[str]
    number: Attr[int]
    city: Attr[str | None] = attr(default=None)
    pk: PartitionKey[str] = template("store#{country}")
    sk: SortKey[str] = template("{region}#{number:06d}")
    in_city: Attr[str | None] = template("city:{city:lower}", name="gsi1pk")
    by_city = GlobalIndex(partition_key="in_city")


class Strict(Store, table="strict"):
    model_config = ConfigDict(validate_assignment=True)


class Frozen(Store, table="frozen", frozen=True):
    pass


class Short(Model, table="short"):
    country: Attr[str] = attr(stored=False)
    number: Attr[int] = attr(stored=False)
    note: Attr[str] = attr(default="")
    pk: PartitionKey[str] = template("store#{country}#{number:06d}")


class Task(Model, table="tasks"):
    id: PartitionKey[str]
    made_at: Attr[datetime] = attr(on_create=lambda: NOON)
    by_time: Attr[str] = template("{made_at}")
    in_order = GlobalIndex(partition_key="by_time")


@pytest.fixture
def store():
    return Store(country="GB", region="London", number=7)


def wire(item: Model) -> Any:
    return definition_of(type(item)).items.encode(item)


def read(model: type[Model], stored: Any) -> Any:
    [item] = definition_of(model).items.decode([stored])
    return item


def test_the_keys_are_computed_when_an_instance_is_made(store):
    assert (store.pk, store.sk, store.in_city) == ("store#GB", "London#000007", None)


def test_fields_keep_the_order_of_the_class_body(store):
    assert list(store.model_dump()) == ["country", "region", "number", "city", "pk", "sk", "in_city"]


def test_a_computed_key_does_not_count_as_given(store):
    assert store.model_fields_set == {"country", "region", "number"}
    assert Store(**store.model_dump()).model_fields_set == {"country", "region", "number", "city"}


def test_the_json_schema_does_not_ask_for_a_computed_key():
    assert Store.model_json_schema()["required"] == ["country", "region", "number"]


@pytest.mark.parametrize("model", [Store, Strict])
def test_a_key_follows_its_parts(model):
    item = model(country="GB", region="London", number=7)
    item.number = 8
    item.city = "Camden"
    assert (item.sk, item.in_city) == ("London#000008", "city:camden")
    item.city = None
    assert item.in_city is None


@pytest.mark.parametrize("model", [Store, Strict])
def test_a_part_that_does_not_fit_leaves_the_instance_as_it_was(model):
    item = model(country="GB", region="London", number=7)
    with pytest.raises(EncodeError, match="region: 'a#b' contains '#'"):
        item.region = "a#b"
    assert (item.region, item.sk) == ("London", "London#000007")


@pytest.mark.parametrize("model", [Store, Strict])
def test_a_key_cannot_be_assigned(model):
    item = model(country="GB", region="London", number=7)
    with pytest.raises(OperationError, match=r"is computed from country, which makes it 'store#GB', not 'store#FR'"):
        item.pk = "store#FR"
    item.pk = "store#GB"
    assert item.pk == "store#GB"


@pytest.mark.parametrize("model", [Store, Frozen])
def test_a_copy_with_another_part_has_another_key(model):
    item = model(country="GB", region="London", number=7)
    assert item.model_copy(update={"number": 8}).sk == "London#000008"
    assert item.model_copy(update={"city": "Ely"}, deep=True).in_city == "city:ely"
    assert item.model_copy() == item
    assert item.sk == "London#000007"


def test_a_copy_cannot_be_given_a_key(store):
    with pytest.raises(OperationError, match="set these fields"):
        store.model_copy(update={"pk": "store#FR"})


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item))])
def test_a_copy_has_the_same_keys(store, again):
    copied = again(store)
    assert copied == store
    copied.number = 9
    assert (copied.sk, store.sk) == ("London#000009", "London#000007")


def test_the_constructor_takes_a_key_only_as_it_would_be_computed(store):
    assert Store.model_validate(store.model_dump()) == store
    assert Store.model_validate_json(store.model_dump_json()) == store
    with pytest.raises(ValidationError, match=r"Store\.pk is computed from country.*leave the key out"):
        Store(country="GB", region="London", number=7, pk="store#FR")


def test_a_separator_in_a_part_is_a_validation_error_that_names_the_field():
    with pytest.raises(ValidationError, match=r"Store\.region: 'Lon#don' contains '#'"):
        Store(country="GB", region="Lon#don", number=7)


def test_an_instance_made_without_validation_has_its_keys():
    assert Store.model_construct(country="GB", region="London", number=7).sk == "London#000007"
    assert "sk" not in vars(Store.model_construct(country="GB", number=7))


def test_a_key_of_parts_without_a_value_has_none_itself():
    task = Task(id="a")
    with pytest.raises(UnassignedFieldError, match=r"Task\.by_time has no value yet"):
        _ = task.by_time
    assert task.model_dump() == {"id": "a"}


def test_the_models_own_validators_find_the_keys_and_may_change_parts():
    class Trimmed(Store, table="trimmed"):
        seen: ClassVar[list[str]] = []

        @field_validator("region", mode="after")
        @classmethod
        def trim(cls, region: str) -> str:
            return region.strip()

        @model_validator(mode="after")
        def loud(self) -> "Trimmed":
            self.seen.append(self.sk)
            self.region = self.region.upper()
            return self

    assert Trimmed(country="GB", region=" London ", number=7).sk == "LONDON#000007"
    assert Trimmed.seen == ["London#000007"]


def test_a_key_that_a_write_gave_follows_its_parts_too():
    item = Strict(country="GB", region="London", number=7)
    give(item, {"sk": "London#000008", "number": 8})
    item.number = 9
    item.city = "Ely"
    assert (item.sk, item.in_city) == ("London#000009", "city:ely")


def test_an_abstract_or_generic_base_gives_its_templates_to_its_subclasses():
    class Placed(Model, Generic[T], abstract=True):
        place: Attr[T]
        pk: PartitionKey[str] = template("place:{place}")

    class Numbered(Placed[int], table="numbered"):
        pass

    class Named(Placed[str], table="named"):
        pass

    numbered, named = Numbered(place=7), Named(place="x")
    numbered.place = 8
    assert (numbered.pk, named.pk) == ("place:8", "place:x")


def test_a_hidden_field_of_an_item_without_its_key_is_missing():
    with pytest.raises(ItemValidationError, match="country: Field required"):
        read(Short, {"note": {"S": "x"}})


def test_a_subclass_may_add_keys_of_inherited_parts():
    class More(Store, table="more"):
        other: Attr[str] = template("{country}#{number}")

    item = More(country="GB", region="London", number=7)
    item.number = 8
    assert (item.sk, item.other) == ("London#000008", "GB#8")


def test_keys_and_parts_are_stored_and_absent_keys_are_not(store):
    assert wire(store) == {
        "country": {"S": "GB"},
        "region": {"S": "London"},
        "number": {"N": "7"},
        "pk": {"S": "store#GB"},
        "sk": {"S": "London#000007"},
    }
    store.city = "Ely"
    assert wire(store)["gsi1pk"] == {"S": "city:ely"}


def test_an_item_reads_back_equal_and_unchanged(store):
    store.city = "Ely"
    found = read(Store, wire(store))
    assert found == store
    assert changes(found, definition_of(Store)) == {}


def test_a_stored_key_that_contradicts_its_parts_is_kept_until_a_part_changes(store):
    found = read(Store, {**wire(store), "sk": {"S": "PENDING#1"}, "gsi1pk": {"S": "city:x"}})
    assert (found.sk, found.in_city) == ("PENDING#1", "city:x")
    found.number = 7
    assert found.sk == "PENDING#1"
    assert changes(found, definition_of(Store)) == {}
    found.city = "Ely"
    assert (found.sk, found.in_city) == ("PENDING#1", "city:ely")


def test_a_key_that_an_item_left_out_stays_out(store):
    store.city = "Ely"
    stored = wire(store)
    del stored["gsi1pk"]
    assert read(Store, stored).in_city is None


def test_a_key_that_every_item_has_is_computed_where_an_older_item_lacks_it():
    stored = {"id": {"S": "a"}, "made_at": {"S": "2024-06-01T12:00:00.000000Z"}}
    assert read(Task, stored).by_time == "2024-06-01T12:00:00.000000Z"


def test_parts_that_are_not_stored_are_read_back_from_the_key():
    item = Short(country="GB", number=7)
    assert wire(item) == {"pk": {"S": "store#GB#000007"}, "note": {"S": ""}}
    found = read(Short, wire(item))
    assert found == item
    assert changes(found, definition_of(Short)) == {}
    found.note = "x"
    assert changes(found, definition_of(Short)) == {"note": {"S": "x"}}


def test_an_item_whose_key_is_not_of_the_template_does_not_fit():
    with pytest.raises(ItemValidationError, match=r"is not a key of the template 'store#\{country\}") as caught:
        read(Short, {"pk": {"S": "shop#GB"}})
    assert isinstance(caught.value.validation_error, DecodeError)


KEYS = [
    (Store, (Parts(country="GB", region="London", number=7),), {"pk": "store#GB", "sk": "London#000007"}),
    (Store, ("store#GB", "London#000007"), {"pk": "store#GB", "sk": "London#000007"}),
    (Store, (Parts(country="GB"), "London#000007"), {"pk": "store#GB", "sk": "London#000007"}),
    (Store, ("store#GB", Parts(region="London", number=7)), {"pk": "store#GB", "sk": "London#000007"}),
    (Store, (Parts(pk="store#GB", region="London", number=7),), {"pk": "store#GB", "sk": "London#000007"}),
    (Task, (Parts(id="a"),), {"id": "a"}),
]


@pytest.mark.parametrize(("model", "values", "key"), KEYS)
def test_a_key_is_told_by_its_parts_or_ready_made(model, values, key):
    assert definition_of(model).key(values) == {name: {"S": text} for name, text in key.items()}


WRONG_KEYS = [
    ((Parts(country="GB"),), OperationError, r"made of country, region, number; Parts\(country='GB'\) gives only"),
    ((Parts(country="GB", region="x", number=None),), OperationError, "gives only country, region$"),
    ((Parts(country="GB", town="x"),), OperationError, "'town' is not part of the key of Store"),
    ((Parts(country="GB"), Parts(country="GB")), OperationError, "'country' is not part of the key"),
    ((Parts(country="GB"), "a", "b"), OperationError, "of Store is"),
    ((Parts(country="G#B", region="x#", number=1),), EncodeError, r"Store\.region: 'x#' contains"),
    ((Parts(country="GB", region="x", number="1"),), EncodeError, r"Store\.number: int"),
]


@pytest.mark.parametrize(("values", "error", "problem"), WRONG_KEYS)
def test_parts_that_do_not_tell_a_key_are_refused(values, error, problem):
    with pytest.raises(error, match=problem):
        definition_of(Store).key(values)


def test_parts_are_values():
    assert Parts(a=1) == Parts(a=1) != Parts(a=2)
    assert len({Parts(a=1), Parts(a=1)}) == 1
    assert repr(Parts(a=1, b="x")) == "Parts(a=1, b='x')"


class Hidden(Model, table="hidden"):
    number: Attr[int]
    pk: PartitionKey[str] = template("TASK#{number:06d}", exclude=True)
    city: Attr[str | None] = attr(default=None)
    gpk: Attr[str | None] = template("city:{city}", exclude=True)
    in_city = GlobalIndex(partition_key="gpk")


def test_an_excluded_key_is_stored_and_read_back():
    item = Hidden(number=7, city="Oslo")
    stored = {"number": {"N": "7"}, "pk": {"S": "TASK#000007"}, "city": {"S": "Oslo"}, "gpk": {"S": "city:Oslo"}}
    assert wire(item) == stored
    assert definition_of(Hidden).items.decode([stored]) == [item]
    assert item.pk == "TASK#000007"


def test_an_excluded_key_is_in_no_dump_and_no_json():
    item = Hidden(number=7, city="Oslo")
    assert item.model_dump() == {"number": 7, "city": "Oslo"}
    assert item.model_dump_json() == '{"number":7,"city":"Oslo"}'
    assert Hidden.model_validate_json(item.model_dump_json()) == item


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_an_excluded_key_is_in_no_json_schema(mode: Any):
    assert set(Hidden.model_json_schema(mode=mode)["properties"]) == {"number", "city"}


def test_an_excluded_key_follows_its_parts():
    item = Hidden(number=7)
    assert item.gpk is None
    item.city = "Oslo"
    assert wire(item)["gpk"] == {"S": "city:Oslo"}
