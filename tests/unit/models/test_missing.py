"""Fields that may be ``MISSING``, Pydantic's value of a field that has none: absence, apart from None."""

import copy
import dataclasses
import json
import pickle
from typing import Annotated, Any

import pydantic_core
import pytest
from annotated_types import Gt
from pydantic import BaseModel, RootModel, ValidationError
from typing_extensions import TypedDict

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Table, TimeToLive, Version, attr, template
from dynamap_async.errors import EncodeError, ExpressionError, ModelDefinitionError
from dynamap_async.models import definition_of
from dynamap_async.operations import Update

if not hasattr(pydantic_core, "MISSING"):
    pytest.skip("this Pydantic has no MISSING", allow_module_level=True)
MISSING: Any = pydantic_core.MISSING


class Home(Model):
    city: Attr[str]
    zip: Attr[str | MISSING] = attr(default=MISSING)
    floor: Attr[int | MISSING | None] = attr(default=MISSING)
    tags: Attr[set[str] | MISSING]


class SparseHome(Home, absent_when_none=True):
    name: Attr[str | None] = attr(default=None)


class User(Model, table="users"):
    id: PartitionKey[str]
    nick: Attr[str | MISSING] = attr(default=MISSING)
    age: Attr[int | MISSING | None] = attr(default=MISSING)
    tags: Attr[set[str] | MISSING] = attr(default=MISSING)
    tags_or_none: Attr[set[str] | MISSING | None] = attr(default=MISSING)
    needed: Attr[int | MISSING]
    home: Attr[Home | MISSING] = attr(default=MISSING)
    sparse: Attr[SparseHome | None] = attr(default=None)
    either: Attr[int | str | MISSING] = attr(default=MISSING)
    positive: Attr[Annotated[int, Gt(0)] | MISSING] = attr(default=MISSING)
    expires: TimeToLive[int | MISSING] = attr(default=MISSING)

    by_nick = GlobalIndex("by-nick", partition_key="nick")


def stored(item: Any) -> Any:
    return definition_of(type(item)).items.encode(item)


def read(model: Any, wire: Any) -> Any:
    [found] = definition_of(model).items.decode([json.loads(json.dumps(wire))])
    return found


def test_missing_is_stored_as_no_attribute_and_read_back() -> None:
    user = User(id="a", needed=MISSING)
    assert stored(user) == {"id": {"S": "a"}}
    assert read(User, stored(user)) == user
    assert read(User, stored(user)).needed is MISSING


def test_none_and_missing_are_two_values() -> None:
    assert stored(User(id="a", needed=1, age=None))["age"] == {"NULL": True}
    assert read(User, {"id": {"S": "a"}, "age": {"NULL": True}}).age is None
    assert read(User, {"id": {"S": "a"}}).age is MISSING


def test_an_empty_set_is_not_missing() -> None:
    user = User(id="a", needed=1, tags=set(), tags_or_none=set())
    assert (stored(user)["tags"], stored(user)["tags_or_none"]) == ({"NULL": True}, {"L": []})
    assert read(User, stored(user)) == user
    assert read(User, stored(User(id="a", needed=1, tags_or_none=None))).tags_or_none is None


@pytest.mark.parametrize("kind", [Home, SparseHome])
def test_members_of_nested_models_may_be_missing(kind: Any) -> None:
    field = "sparse" if kind is SparseHome else "home"
    user = User(id="a", needed=1, **{field: kind(city="York", tags=MISSING)})
    assert stored(user)[field] == {"M": {"city": {"S": "York"}}}
    assert read(User, stored(user)) == user
    full = User(id="a", needed=1, **{field: kind(city="York", zip="Y1", floor=None, tags=set())})
    kept = {"city": {"S": "York"}, "zip": {"S": "Y1"}, "floor": {"NULL": True}, "tags": {"L": []}}
    assert stored(full)[field] == {"M": kept}
    assert read(User, stored(full)) == full


def test_models_of_pydantic_itself_may_have_it_inside() -> None:
    class Plain(BaseModel):
        text: str | MISSING = MISSING

    class Holder(Model, table="holders"):
        id: PartitionKey[str]
        plain: Attr[Plain]

    holder = Holder(id="a", plain=Plain())
    assert stored(holder)["plain"] == {"M": {}}
    assert read(Holder, stored(holder)) == holder


def test_it_survives_copies_and_pickles_of_what_was_read() -> None:
    user = read(User, {"id": {"S": "a"}})
    assert user.model_copy() == copy.deepcopy(user) == pickle.loads(pickle.dumps(user)) == user
    assert copy.deepcopy(user).nick is MISSING


def test_dumps_leave_it_out() -> None:
    assert User(id="a", needed=MISSING).model_dump(exclude={"sparse"}) == {"id": "a"}


def test_other_values_are_still_validated() -> None:
    with pytest.raises(ValidationError):
        User(id="a", needed=None)
    with pytest.raises(ValidationError):
        User(id="a", needed=1, positive=0)


def test_comparisons_with_missing_ask_for_the_attribute() -> None:
    assert str(User.nick == MISSING) == str(User.nick.missing())
    assert str(User.nick != MISSING) == str(~User.nick.missing())
    assert str(User.home["zip"] == MISSING) == str(User.home["zip"].missing())
    assert str(User.nick.is_in("a", MISSING)) == str(User.nick.is_in("a") | User.nick.missing())


def test_comparisons_with_none_do_not_find_what_is_missing() -> None:
    assert str(User.age == None) == "User.age == None"  # noqa: E711
    assert str(User.home["floor"] == None) == "User.home['floor'] == None"  # noqa: E711


@pytest.mark.parametrize(
    "ask", [lambda: User.id == MISSING, lambda: User.home["city"] == MISSING, lambda: User.sparse["name"] != MISSING]
)
def test_a_field_that_is_never_missing_is_not_compared_with_it(ask: Any) -> None:
    with pytest.raises(ExpressionError, match=r"is compared with MISSING.* write .missing\(\) or .exists\(\)"):
        ask()


def test_missing_has_no_order() -> None:
    with pytest.raises(ExpressionError, match=r"User.age cannot be ordered against MISSING; use .missing\(\)"):
        assert User.age < MISSING


def actions(update: Any) -> list[str]:
    return [f"{type(each).__name__} {each.path.spelled}" for each in update.spec.actions]


def test_an_update_that_sets_missing_removes_the_attribute() -> None:
    update = Update(User, "a").set(User.nick, MISSING).set(User.needed, MISSING).set(User.home["zip"], MISSING)
    assert actions(update) == ["Remove nick", "Remove needed", "Remove home['zip']"]
    assert actions(Update(User, "a").set_fields({"nick": MISSING, "age": None})) == ["Remove nick", "Set age"]


def test_a_field_that_may_be_missing_may_be_removed() -> None:
    assert actions(Update(User, "a").remove(User.needed, User.home["tags"])) == ["Remove needed", "Remove home['tags']"]


def test_a_number_that_is_missing_counts_as_nothing() -> None:
    assert actions(Update(User, "a").add(User.needed, 1)) == ["Add needed"]


def test_an_update_refuses_missing_where_the_type_does_not_have_it() -> None:
    with pytest.raises(EncodeError, match="str expected, got .*MISSING"):
        Update(User, "a").set(User.home["city"], MISSING)
    with pytest.raises(ExpressionError, match="MISSING is not stored, so it cannot be a start value"):
        Update(User, "a").set(User.nick, User.nick.if_not_exists(MISSING))


class Word(TypedDict):
    text: str | MISSING


@dataclasses.dataclass
class Line:
    text: str | MISSING = MISSING


class Root(RootModel[int | MISSING]):
    pass


@pytest.mark.parametrize(
    "kind", [list[int | MISSING], list[int | MISSING | None], dict[str, int | MISSING], Word, Line, Root, MISSING]
)
def test_a_part_that_is_no_field_of_a_model_cannot_be_missing(kind: Any) -> None:
    with pytest.raises(ModelDefinitionError, match=r"Thing.value: has MISSING inside its type.*use None there"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            value: Attr[kind]


@pytest.mark.parametrize("given", [{"default": 3}, {"default": None}, {"default_factory": lambda: 3}])
def test_another_default_is_refused(given: Any) -> None:
    with pytest.raises(ModelDefinitionError, match=r"Thing.value: has MISSING in its type.*attr\(default=MISSING\)"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            value: Attr[int | MISSING | None] = attr(**given)


def test_a_default_of_missing_needs_the_type() -> None:
    with pytest.raises(ModelDefinitionError, match=r"Thing.value: the default MISSING.*declare it as int \| MISSING"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            value: Attr[int] = attr(default=MISSING)


def test_keys_of_tables_cannot_be_missing() -> None:
    with pytest.raises(ModelDefinitionError, match=r"Thing.id: is part of the table's key and cannot be MISSING"):

        class Thing(Model, table="things"):
            id: PartitionKey[str | MISSING]

    shop = Table("shop", partition_key="id", sort_key="at")
    with pytest.raises(ModelDefinitionError, match=r"Thing.at: is .* and cannot be MISSING"):

        class Thing(Model, table=shop, kind="thing"):
            id: PartitionKey[str]
            at: SortKey[str | MISSING]


def test_keys_of_indexes_are_missing_or_none_but_not_both() -> None:
    with pytest.raises(ModelDefinitionError, match=r"Thing.value: can be None and MISSING.*the index by_value"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            value: Attr[str | MISSING | None] = attr(default=MISSING)

            by_value = GlobalIndex("by-value", partition_key="value")


def test_an_empty_key_of_an_index_is_refused_where_it_may_be_missing() -> None:
    with pytest.raises(EncodeError, match="nick"):
        stored(User(id="a", needed=1, nick=""))


def test_templates_take_none_and_not_missing() -> None:
    with pytest.raises(ModelDefinitionError, match="which may be MISSING; declare it with None instead"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            part: Attr[str | MISSING] = attr(default=MISSING)
            key: Attr[str | None] = template("{part}")

    with pytest.raises(ModelDefinitionError, match=r"MISSING in its type; declare key as Attr\[str \| None\]"):

        class Other(Model, table="things"):
            id: PartitionKey[str]
            key: Attr[str | MISSING] = template("{id}")


def test_a_version_is_never_missing() -> None:
    with pytest.raises(ModelDefinitionError, match="a Version must be an int"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            version: Version[int | MISSING] = attr(default=MISSING)


def test_json_schemas_do_not_have_it() -> None:
    schema = User.model_json_schema()
    assert schema["properties"]["nick"] == {"title": "Nick", "type": "string"}
    assert "nick" not in schema["required"]
