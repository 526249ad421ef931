"""Models with an ``__init__`` of their own, which takes the names that constructors take: aliases, where there are."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, RootModel

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of, difference, known


class Place(BaseModel):
    town: str = Field(default="", alias="Town")


class Visit(BaseModel):
    kind: Literal["visit"] = "visit"
    count: int = Field(default=0, alias="Count")
    place: Place = Field(default_factory=Place, alias="Place")

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


class Rest(BaseModel):
    kind: Literal["rest"] = "rest"


class Roots(RootModel[list[Visit]]):
    pass


VISIT = Visit(Count=3, Place=Place(Town="Oslo"))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Visit, VISIT),
        (Visit | None, VISIT),
        (list[Visit], [VISIT, VISIT]),
        (dict[str, Visit], {"a": VISIT}),
        (tuple[Visit, int], (VISIT, 1)),
        (Roots, Roots([VISIT])),
        (Visit | int, VISIT),
        (Annotated[Visit | Rest, Field(discriminator="kind")], VISIT),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_nested_values_read_back_with_their_aliased_fields(annotation, value, strict, make_model, read_back) -> None:
    item = make_model(annotation, strict=strict)(value=value)
    assert read_back(item) == item


def test_change_inside_a_nested_value_is_seen_by_save(make_model, read_back) -> None:
    item = read_back(make_model(list[Visit])(value=[VISIT]))
    item.value[0].count = 4
    definition = definition_of(type(item))
    assert set(difference(known(item, definition), definition.items.encode(item))) == {"value"}


class User(Model, table="users"):
    model_config = ConfigDict(alias_generator=str.title)
    id: PartitionKey[str]
    email: Attr[str | None] = attr(default=None)
    seen: Attr[int]
    places: Attr[list[Place]] = attr(default_factory=list)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


def test_items_read_back_with_their_aliased_fields(read_back) -> None:
    user = User(Id="1", Email="ada@example.org", Seen=3, Places=[Place(Town="Oslo")])
    assert read_back(user) == user


def test_item_is_known_as_it_was_read(read_back) -> None:
    user = read_back(User(Id="1", Email="ada@example.org", Seen=3, Places=[Place(Town="Oslo")]))
    items = definition_of(User).items
    assert not difference(known(user, definition_of(User)), items.encode(user))
    user.places[0].town = "Rome"
    assert set(difference(known(user, definition_of(User)), items.encode(user))) == {"places"}


@pytest.mark.parametrize("config", [{}, {"validate_by_name": True}])
def test_parts_of_a_model_without_aliases_of_its_own_keep_theirs(config, read_back) -> None:
    class Trip(Model, table="trips"):
        model_config = ConfigDict(**config)
        id: PartitionKey[str]
        places: Attr[list[Place]]

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)

    trip = Trip(id="1", places=[Place(Town="Oslo")])
    assert read_back(trip) == trip


@pytest.mark.parametrize(
    ("alias", "config"),
    [
        ("Value", {}),
        (AliasChoices(AliasPath("value", 0), "Value"), {}),
        ("Value", {"validate_by_name": True}),
        (AliasPath("Value", 0), {"validate_by_name": True}),
    ],
)
def test_field_reads_back_whatever_names_the_init_takes(alias, config, read_back) -> None:
    class Thing(Model, table="things"):
        model_config = ConfigDict(**config)
        id: PartitionKey[str]
        value: Annotated[int, Field(default=0, validation_alias=alias)]

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)

    [item] = definition_of(Thing).items.decode([{"id": {"S": "1"}, "value": {"N": "5"}}])
    assert item.value == 5


def test_alias_that_is_no_name_of_an_argument_is_refused() -> None:
    with pytest.raises(
        ModelDefinitionError, match=r"Thing\.value: has the alias AliasPath.* write .*validate_by_name=True"
    ):

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            value: Annotated[int, Field(validation_alias=AliasPath("given", 0))]

            def __init__(self, **given: Any) -> None:
                super().__init__(**given)
