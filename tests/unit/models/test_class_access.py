"""Class access to a field gives its expression, and nothing of that ever reaches Pydantic or the tools that probe."""

import copy
import inspect
import pickle
import pydoc
import warnings
from datetime import date
from typing import Any, ClassVar, Generic, TypeVar
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel, RootModel, ValidationError, computed_field

from dynamap_async import Attr, GlobalIndex, LocalIndex, Model, PartitionKey, SortKey, attr, fields
from dynamap_async.errors import ModelDefinitionError, OperationError
from dynamap_async.expressions import DocumentPath, Expr, path_of
from dynamap_async.models import Index, definition_of

T = TypeVar("T")


class Plain(BaseModel):
    name: str = ""


class Box(Model):
    size: Attr[int] = attr(name="s", default=0)
    exists: Attr[str] = ""  # type: ignore[assignment]
    contains: Attr[list[int]] = attr(default_factory=list)


class Address(Model):
    city: Attr[str] = attr(name="c", default="")
    box: Attr[Box | None] = attr(default=None)


class Places(RootModel[list[Address]]):
    pass


class Tweet(Model, table="tweets"):
    user: PartitionKey[str] = attr(name="pk")
    number: SortKey[int]
    likes: Attr[int] = attr(default=0)
    plain_text: str = ""
    address: Attr[Address | None] = attr(default=None)
    plain: Attr[Plain | None] = attr(default=None)
    history: Attr[list[Address]] = attr(default_factory=list)
    by_place: Attr[dict[str, Address]] = attr(default_factory=dict)

    by_likes = LocalIndex("by-likes", sort_key="likes")


class Retweet(Tweet):
    of: Attr[str] = attr(default="")


def steps(expression: Any) -> tuple[str | int, ...]:
    return path_of(expression).steps


def test_field_gives_an_expression_of_its_stored_attribute() -> None:
    assert isinstance(Tweet.user, Expr)
    assert steps(Tweet.user) == ("pk",)
    assert str(path_of(Tweet.user)) == "Tweet.user"


def test_plain_annotation_gives_an_expression_too() -> None:
    assert steps(Tweet.plain_text) == ("plain_text",)


def test_owner_of_an_inherited_field_is_the_class_that_was_asked() -> None:
    assert path_of(Retweet.likes).owner is Retweet
    assert path_of(Tweet.likes).owner is Tweet


def test_expression_is_made_once_per_class() -> None:
    assert Tweet.likes is Tweet.likes
    assert Retweet.likes is not Tweet.likes


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (Tweet.address, ("address",)),
        (Tweet.address.city, ("address", "c")),
        (Tweet.address["city"], ("address", "c")),
        (Tweet.address.box.size, ("address", "box", "s")),
        (Tweet.address.box["size"], ("address", "box", "s")),
        (Tweet.address.box.exists, ("address", "box", "exists")),
        (Tweet.address.box.contains[0], ("address", "box", "contains", 0)),
        (Tweet.history[0].city, ("history", 0, "c")),
        (Tweet.by_place["home"].city, ("by_place", "home", "c")),
        (Tweet.plain["name"], ("plain", "name")),  # type: ignore[index]
    ],
)
def test_nested_fields_are_spelled_as_in_python(expression: Any, expected: tuple[str | int, ...]) -> None:
    assert steps(expression) == expected


def test_nested_model_of_this_library_is_a_path_without_methods_and_a_plain_one_an_expression() -> None:
    assert isinstance(Tweet.address, DocumentPath)
    assert isinstance(Tweet.plain, Expr)
    assert isinstance(Tweet.history[0], DocumentPath)


def test_path_goes_through_a_root_model(make_model) -> None:
    path = definition_of(make_model(Places)).path("value")
    assert path.child(0).child("city").steps == ("value", 0, "c")
    member = path.converter.member
    assert member is not None
    assert member.label == "Address"


def test_unknown_attribute_is_missing_as_on_any_class() -> None:
    assert not hasattr(Tweet, "nope")
    assert not hasattr(Tweet.address, "nope")
    with pytest.raises(AttributeError, match="Address has no field 'nope'"):
        _ = Tweet.address.nope  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "name", ["__iter__x", "__deepcopy__", "__len__", "__wrapped__", "__isabstractmethod__", "__fspath__"]
)
@pytest.mark.parametrize("expression", [Tweet.user, Tweet.address])
def test_no_dunder_name_is_answered(name: str, expression: Any) -> None:
    assert getattr(expression, name, None) is None


def test_models_and_expressions_can_be_inspected_and_copied() -> None:
    for probe in (inspect.getmembers, pydoc.render_doc, repr, copy.copy, copy.deepcopy, inspect.signature, dir):
        probe(Tweet)  # type: ignore[operator]
    for expression in (Tweet.user, Tweet.address):
        assert steps(copy.copy(expression)) == steps(expression)
        assert "Tweet." in repr(expression)


def test_instances_hold_values_not_expressions() -> None:
    item = Tweet(user="a", number=1)
    assert (item.user, item.likes, item.address) == ("a", 0, None)
    assert "likes" not in Tweet.__dict__


def test_index_gives_its_name_and_the_class_that_was_asked() -> None:
    assert Tweet.by_likes == Index(Tweet, "by-likes")
    assert Retweet.by_likes == Index(Retweet, "by-likes")
    assert Tweet(user="a", number=1).by_likes == Index(Tweet, "by-likes")


def test_fields_returns_the_model() -> None:
    assert fields(Tweet) is Tweet


def test_definition_of_something_else_is_refused() -> None:
    with pytest.raises(OperationError, match="Plain is not a model; write class Tweet"):
        definition_of(Plain)  # type: ignore[type-var]


def test_required_field_stays_required_in_subclasses() -> None:
    with pytest.raises(ValidationError, match="user\n  Field required"):
        Retweet(number=1)  # type: ignore[call-arg]


def test_redeclared_field_does_not_take_the_parents_expression_for_its_default() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Other(Tweet):
            likes: Attr[int]
            plain_text: str
            number: SortKey[int] = 5  # type: ignore[assignment]

    assert Other.model_fields["likes"].is_required()
    assert Other.model_fields["plain_text"].is_required()
    assert Other.model_fields["number"].default == 5
    assert steps(Other.likes) == ("likes",)


def test_generic_base_gives_its_fields_with_their_types() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Entity(Model, Generic[T], abstract=True):
            id: PartitionKey[T]
            on: Attr[date]

        class Thing(Entity[UUID], table="things"):
            name: Attr[str] = attr(default="")

    assert Thing.model_fields["id"].annotation is UUID
    assert path_of(Thing.id).owner is Thing
    assert path_of(Thing.id).converter.label == "UUID"
    assert Thing(id=uuid4(), on=date(2026, 1, 1)).name == ""


def test_rebuilding_a_model_leaves_fields_and_expressions_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Retweet.model_rebuild(force=True)
    assert Retweet.model_fields["number"].is_required()
    assert steps(Retweet.user) == ("pk",)


def test_class_access_inside_class_hooks_finds_no_fields() -> None:
    seen: list[bool] = []

    class Watched(Model, table="watched"):
        id: PartitionKey[str]

        @classmethod
        def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
            seen.append(hasattr(cls, "id"))

    class Child(Watched):
        pass

    assert seen == [False]
    assert steps(Child.id) == ("id",)


def test_multiple_inheritance_collects_fields_and_indexes() -> None:
    class Named(Model, abstract=True):
        name: Attr[str] = attr(default="")
        by_name = GlobalIndex("by-name", partition_key="name")

    class Aged(Model, abstract=True):
        age: Attr[int] = attr(default=0)

    class Person(Named, Aged, table="people"):
        id: PartitionKey[str]

        @computed_field  # type: ignore[prop-decorator]
        @property
        def label(self) -> str:
            return f"{self.name} ({self.age})"

    assert steps(Person.age) == ("age",)
    assert [index.name for index in definition_of(Person).require_table("read").indexes] == ["by-name"]
    assert "label" not in definition_of(Person).items.encode(Person(id="a", name="Ada"))


def test_index_that_a_subclass_sets_to_none_is_gone() -> None:
    class Lonely(Tweet):
        by_likes: ClassVar[None] = None  # type: ignore[assignment]

    assert definition_of(Lonely).require_table("read").indexes == ()


def test_abstract_model_has_no_instances() -> None:
    class Entity(Model, abstract=True):
        id: PartitionKey[str]

    with pytest.raises(TypeError, match="abstract"):
        Entity(id="a")


def test_subclass_inherits_table_and_throughput_but_not_abstractness() -> None:
    class Special(Tweet):
        pass

    assert definition_of(Special).require_table("read").name == "tweets"


def test_instance_survives_copying_and_pickling() -> None:
    item = Tweet(user="a", number=1, address=Address(city="Ulm"), history=[Address()])
    for same in (item.model_copy(deep=True), copy.deepcopy(item), copy.copy(item), pickle.loads(pickle.dumps(item))):
        assert same == item
        assert definition_of(Tweet).items.encode(same) == definition_of(Tweet).items.encode(item)


def test_wrong_use_of_a_class_keyword_does_not_leave_a_half_made_class() -> None:
    with pytest.raises(ModelDefinitionError):
        type(Model)("Broken", (Model,), {"__annotations__": {"id": PartitionKey[str]}, "__module__": __name__})
    assert steps(Tweet.user) == ("pk",)
