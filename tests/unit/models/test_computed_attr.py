"""Stored computed fields: what ``@computed_attr`` makes of a method."""

import json
from decimal import Decimal
from functools import cached_property
from typing import Any

import pytest
from pydantic import ConfigDict, computed_field

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    StoredItem,
    Table,
    attr,
    computed_attr,
    template,
    to_wire,
    upgrade,
)
from dynamap_async.errors import EncodeError, ExpressionError, ModelDefinitionError, OperationError
from dynamap_async.models import definition_of, known
from dynamap_async.operations import Update
from dynamap_async.planning import Context


class Person(Model, table="persons"):
    id: PartitionKey[str]
    first: Attr[str]
    last: Attr[str] = attr(name="l", default="")
    visits: Attr[int] = attr(default=0)

    @computed_attr(depends=("first", "last"), name="fullName")
    def full_name(self) -> str:
        return f"{self.first} {self.last}"

    @computed_attr(depends=("visits",))
    def regular(self) -> str | None:
        """Return a mark of regular guests."""
        return "regular" if self.visits > 9 else None

    by_name = GlobalIndex("by-name", partition_key="full_name")
    regulars = GlobalIndex("regulars", partition_key="regular", sort_key="full_name")


ADA = {"id": {"S": "a"}, "first": {"S": "Ada"}, "l": {"S": "L"}, "visits": {"N": "0"}, "fullName": {"S": "Ada L"}}


def stored(item: Any) -> Any:
    """Return an item in wire form, which both codecs make alike."""
    items = definition_of(type(item)).items
    wire = items.encode(item)
    assert json.loads(items.encoded(item)[1]) == wire
    return wire


def read(model: Any, wire: Any) -> Any:
    [found] = definition_of(model).items.decode([wire])
    return found


def test_it_is_written_with_the_item_under_its_stored_name() -> None:
    assert stored(Person(id="a", first="Ada", last="L")) == ADA
    assert to_wire(Person(id="a", first="Ada", last="L")) == ADA


def test_it_follows_what_it_is_computed_from() -> None:
    person = Person(id="a", first="Ada")
    person.last, person.visits = "B", 10
    assert stored(person)["fullName"] == {"S": "Ada B"}
    assert stored(person)["regular"] == {"S": "regular"}


def test_none_is_no_attribute() -> None:
    assert "regular" not in stored(Person(id="a", first="Ada"))


def test_what_is_stored_is_never_read_back() -> None:
    person = read(Person, {**ADA, "fullName": {"S": "old"}, "regular": {"N": "1"}})
    assert (person.full_name, person.regular) == ("Ada L", None)
    assert person == Person(id="a", first="Ada", last="L")


def test_it_is_a_computed_field_to_pydantic() -> None:
    assert Person(id="a", first="Ada").model_dump()["full_name"] == "Ada "
    assert "full_name" in Person.model_json_schema(mode="serialization")["properties"]
    assert Person.__pydantic_decorators__.computed_fields["regular"].info.description == (
        "Return a mark of regular guests."
    )


def test_the_class_gives_its_expression() -> None:
    assert str(Person.full_name == "Ada L") == "Person.full_name == 'Ada L'"
    assert str(Person.regular.exists()) == "Person.regular.exists()"
    with pytest.raises(EncodeError, match="str expected"):
        assert Person.full_name == 7


def test_keys_of_indexes_are_made_of_it() -> None:
    table = definition_of(Person).table
    assert table is not None
    assert table.attribute_types == {"id": "S", "fullName": "S", "regular": "S"}


def test_a_key_of_an_index_that_no_key_can_be_is_refused() -> None:
    class Empty(Model, table="persons"):
        id: PartitionKey[str]

        @computed_attr(depends=())
        def key(self) -> str:
            return ""

        by_key = GlobalIndex("by-key", partition_key="key")

    with pytest.raises(EncodeError, match="key"):
        stored(Empty(id="a"))


def test_an_unchanged_item_has_nothing_to_save_and_another_value_counts_as_changed() -> None:
    definition = definition_of(Person)
    for wire in (ADA, {**ADA, "fullName": {"S": "old"}}, {name: ADA[name] for name in ADA if name != "fullName"}):
        person = read(Person, wire)
        assert known(person, definition).item.get("fullName") == wire.get("fullName")
        assert known(person, definition).stored == wire


def test_numbers_that_are_spelled_otherwise_do_not_differ() -> None:
    class Sum(Model, table="sums"):
        id: PartitionKey[str]
        price: Attr[Decimal]

        @computed_attr(depends=("price",))
        def double(self) -> Decimal:
            return self.price * 2

    wire = {"id": {"S": "a"}, "price": {"N": "1.5"}, "double": {"N": "3.00"}}
    definition = definition_of(Sum)
    assert definition.derived is not None
    assert definition.derived.differing(read(Sum, wire), wire, definition.items.encoders.one) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("extra", ["allow", "forbid"])
def test_models_that_take_extras_do_not_take_it_for_one(extra: Any) -> None:
    class Loose(Model, table="loose"):
        model_config = ConfigDict(extra=extra)
        id: PartitionKey[str]

        @computed_attr(depends=())
        def twice(self) -> str:
            return self.id * 2

    wire = {"id": {"S": "a"}, "twice": {"S": "aa"}}
    loose = read(Loose, wire)
    assert not loose.__pydantic_extra__
    assert stored(loose) == wire


def test_an_extra_attribute_of_its_stored_name_is_refused() -> None:
    class Loose(Model, table="loose"):
        model_config = ConfigDict(extra="allow")
        id: PartitionKey[str]

        @computed_attr(depends=(), name="two")
        def twice(self) -> str:
            return self.id * 2

    with pytest.raises(EncodeError, match="the stored name of a field that is computed"):
        stored(Loose(id="a", two=7))


def test_subclasses_of_shared_tables_have_their_own() -> None:
    shop = Table("shop", partition_key="id", discriminator="kind")

    class Animal(Model, table=shop, abstract=True):
        id: PartitionKey[str]
        name: Attr[str] = attr(default="")

        @computed_attr(depends=("name",))
        def loud(self) -> str:
            return self.name.upper()

    class Dog(Animal, kind="dog"):
        bark: Attr[str] = attr(default="")

        @computed_attr(depends=("name", "bark"))
        def noise(self) -> str:
            return f"{self.name} {self.bark}"

    dog = Dog(id="a", name="rex", bark="wuff")
    assert stored(dog)["noise"] == {"S": "rex wuff"}
    assert stored(dog)["loud"] == {"S": "REX"}
    assert read(Animal, stored(dog)) == dog
    with pytest.raises(OperationError, match=r"Animal.loud is computed from name"):
        Update(Animal, "a").set(Animal.name, "b").request(Context())
    with pytest.raises(OperationError, match=r"Dog.noise is computed from name, bark"):
        Update(Dog, "a").set(Dog.bark, "b").request(Context())


def test_items_of_older_versions_get_it_when_they_are_upgraded() -> None:
    class Versioned(Model, table="versioned", schema_version=2):
        id: PartitionKey[str]
        name: Attr[str]

        @computed_attr(depends=("name",))
        def loud(self) -> str:
            return self.name.upper()

        @upgrade(to=2)
        @staticmethod
        def named(item: StoredItem) -> None:
            item["name"] = "none"

    versioned = read(Versioned, {"id": {"S": "a"}})
    assert known(versioned, definition_of(Versioned)).item["loud"] == {"S": "NONE"}
    assert "loud" not in known(versioned, definition_of(Versioned)).stored


@pytest.mark.parametrize("made", ["loud", "key"])
def test_an_update_of_an_instance_of_an_older_version_is_refused_with_the_remedy(made: str) -> None:
    class Versioned(Model, table="versioned", schema_version=2):
        id: PartitionKey[str]
        name: Attr[str]
        nick: Attr[str] = attr(default="")
        short: Attr[str] = attr(default="")
        key: Attr[str] = template("{short}#{name}")

        @computed_attr(depends=("name", "nick"))
        def loud(self) -> str:
            return self.name.upper() + self.nick

        @upgrade(to=2)
        @staticmethod
        def named(item: StoredItem) -> None:
            item["name"] = item.pop("first")

        by_key = GlobalIndex("by-key", partition_key="key")

    versioned = read(Versioned, {"id": {"S": "a"}, "first": {"S": "b"}})
    field = Versioned.nick if made == "loud" else Versioned.short
    with pytest.raises(OperationError, match=rf"Versioned.{made} is .* stored as version 1 has it; session.save\(\)"):
        Update(versioned).set(field, "x").request(Context())


def test_an_update_by_key_of_what_it_is_computed_from_is_refused_with_the_remedy() -> None:
    with pytest.raises(
        OperationError,
        match=r"Person.full_name is computed from first, last, so .* change last.*save\(\) it, or .*update\(item\)",
    ):
        Update(Person, "a").set(Person.last, "B").request(Context())


def test_other_updates_by_key_are_not_refused() -> None:
    class Counted(Person, table="counted"):
        likes: Attr[int] = attr(default=0)

    assert Update(Counted, "a").add(Counted.likes, 1).request(Context()).body["UpdateExpression"] == "ADD #n0 :v0"


@pytest.mark.parametrize("bare", [computed_attr, computed_attr()], ids=["alone", "called"])
def test_without_depends_each_update_by_key_is_refused(bare: Any) -> None:
    class Unsaid(Model, table="unsaid"):
        id: PartitionKey[str]
        likes: Attr[int] = attr(default=0)

        @bare
        def whole(self) -> str:
            return self.id

    with pytest.raises(
        OperationError, match=r"computed from the item.* say what it is made of, @computed_attr\(depends"
    ):
        Update(Unsaid, "a").add(Unsaid.likes, 1).request(Context())


def test_it_is_never_set() -> None:
    with pytest.raises(ExpressionError, match=r"Person.full_name is computed from first, last, and never set"):
        Update(Person, "a").set(Person.full_name, "x")
    with pytest.raises(ExpressionError, match=r"never set"):
        Update(Person, "a").set_fields({"full_name": "x"})
    with pytest.raises(ValueError, match="full_name"):
        Person(id="a", first="b").full_name = "x"


def test_an_upsert_is_refused() -> None:
    with pytest.raises(OperationError, match=r"upsert\(\) may create a new Person, whose full_name is computed"):
        Update(Person(id="a", first="b")).set(Person.visits, 1).upsert().request(Context())


def test_an_update_of_an_instance_computes_it_anew_and_demands_what_it_takes_from_the_instance() -> None:
    person = read(Person, ADA)
    person.last = "not saved"
    body = Update(person).set(Person.first, "Eve").request(Context()).body
    assert {"S": "Eve L"} in body["ExpressionAttributeValues"].values()
    assert {"S": "L"} in body["ExpressionAttributeValues"].values()
    assert "l" in body["ExpressionAttributeNames"].values()
    assert "ConditionExpression" in body


def test_an_update_to_what_only_dynamodb_knows_is_refused() -> None:
    with pytest.raises(ExpressionError, match=r"Person.regular is computed from Person.visits, and only DynamoDB"):
        Update(read(Person, ADA)).add(Person.visits, 1).request(Context())


def test_a_failing_method_is_an_error_that_names_the_field() -> None:
    class Failing(Model, table="failing"):
        id: PartitionKey[str]

        @computed_attr(depends=())
        def broken(self) -> int:
            return 1 // 0

    with pytest.raises(EncodeError, match=r"Failing.broken: computing it raised ZeroDivisionError"):
        stored(Failing(id="a"))


def test_computed_fields_of_pydantic_keep_what_they_say() -> None:
    class Named(Model, table="named"):
        id: PartitionKey[str]

        @computed_attr(depends=())
        @computed_field(alias="idTwice")
        @property
        def twice(self) -> str:
            return self.id * 2

        @computed_field  # type: ignore[prop-decorator]
        @property
        def not_stored(self) -> str:
            return self.id

    assert stored(Named(id="a")) == {"id": {"S": "a"}, "twice": {"S": "aa"}}
    assert Named(id="a").model_dump(by_alias=True) == {"id": "a", "idTwice": "aa", "not_stored": "a"}


def test_what_it_depends_on_are_fields() -> None:
    with pytest.raises(ModelDefinitionError, match=r"Thing.twice: depends on 'ide', which is no field; .* id"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]

            @computed_attr(depends=("ide",))
            def twice(self) -> str:
                return self.id * 2

    with pytest.raises(TypeError, match=r'write depends=\("id",\)'):
        computed_attr(depends="id")


def test_it_says_what_it_returns() -> None:
    with pytest.raises(
        ModelDefinitionError, match=r"Thing.twice: .*does not say what it returns; write def twice\(self\)"
    ):

        class Thing(Model, table="things"):
            id: PartitionKey[str]

            @computed_attr(depends=())
            @computed_field(return_type=str)
            @property
            def twice(self):
                return self.id * 2


def test_its_stored_name_is_its_own() -> None:
    with pytest.raises(ModelDefinitionError, match=r"Thing.twice: is stored as 'id', as id is"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]

            @computed_attr(depends=(), name="id")
            def twice(self) -> str:
                return self.id * 2


def test_nested_models_have_none() -> None:
    with pytest.raises(ModelDefinitionError, match=r"Inner.twice: .*has no table, so it is stored inside other items"):

        class Inner(Model):
            text: Attr[str]

            @computed_attr(depends=("text",))
            def twice(self) -> str:
                return self.text * 2


def test_a_setter_is_refused() -> None:
    with pytest.raises(ModelDefinitionError, match=r"has a setter, but what is computed is never set"):
        computed_attr(depends=())(property(lambda _: 1, lambda _, value: None))  # type: ignore[arg-type]


def test_what_is_no_method_is_refused() -> None:
    def twice(self: Any) -> str:
        return "ab"

    with pytest.raises(
        ModelDefinitionError, match=r"is no method or property, but cached_property; write @computed_attr"
    ):
        computed_attr(depends=())(cached_property(twice))
