"""Instances that cannot be stored are refused before anything is sent, with the model and the field."""

import enum
from datetime import date, datetime
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel

from dynamap_async import (
    Attr,
    Delete,
    Find,
    Get,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    SortKey,
    StoredForm,
    Update,
    attr,
)
from dynamap_async.errors import EncodeError, ItemTooLargeError, OperationError
from dynamap_async.models import definition_of

NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - a naive datetime is meant


class Tags(RootModel[set[str]]):
    pass


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


class Thing(Model, table="things"):
    id: PartitionKey[str] = attr(name="pk")
    part: SortKey[bytes]
    city: Attr[str | None] = attr(default=None)
    at: Attr[datetime | None] = attr(default=None)
    seen: Attr[datetime | None] = attr(default=None)
    data: Attr[Any] = attr(default=None)
    count: Attr[int] = attr(default=0)
    maybe: Attr[int | None] = attr(default=None)
    names: Attr[set[str]] = attr(default_factory=set)

    by_city = GlobalIndex("by-city", partition_key="city", sort_key="at")
    by_name = LocalIndex("by-local-city", sort_key="city")


class Text(Model, table="texts"):
    id: PartitionKey[str] = attr(stored_as=StoredForm(name="as it is", tag="S", encode=str, decode=str))
    part: SortKey[str]


HALF = "a\ud800"
"""It ends with half of a surrogate pair, which JSON may spell, and UTF-8 cannot."""


class Node(Model):
    next: "Attr[Node | None]" = attr(default=None)
    others: "Attr[list[Node]]" = attr(default_factory=list)


class Holder(Model, table="holders"):
    id: PartitionKey[str]
    node: Attr[Node]


def thing(**values: Any) -> Thing:
    return Thing(**{"id": "a", "part": b"b", **values})


def encode(item: Any) -> Any:
    return definition_of(type(item)).items.encode(item)


def nested(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value


CASES: list[tuple[dict[str, Any], str]] = [
    ({"id": ""}, "Thing.id: a partition key cannot be empty"),
    ({"id": "x" * 2049}, "Thing.id: a partition key may have 2,048 bytes, and this one has 2,049"),
    ({"part": b""}, "Thing.part: a sort key cannot be empty"),
    ({"part": b"x" * 1025}, "Thing.part: a sort key may have 1,024 bytes"),
    ({"city": ""}, "Thing.city: a (partition|sort) key cannot be empty"),
    ({"city": "x" * 1025}, "Thing.city: a sort key may have 1,024 bytes"),
    ({"seen": NAIVE}, "Thing.seen: datetime with a time zone expected, .*add tzinfo=UTC"),
    ({"at": NAIVE}, "Thing.at: datetime with a time zone expected, .*add tzinfo=UTC"),
    ({"data": "x" * 409_600}, "Thing: item has 409,[0-9]{3} bytes, DynamoDB stores at most 409,600"),
    ({"data": nested(32)}, "Thing.data: the value is nested more than 32 levels deep"),
    ({"data": nested(5000)}, "Thing.data: the value contains itself, or is nested too deeply"),
    ({"data": object()}, "Thing.data: storable value expected, got object"),
    ({"data": "\ud800"}, "Thing.data: the.* is not valid Unicode"),
    ({"count": 10**38 + 1}, "Thing.count: the number has 39 significant digits"),
]


@pytest.mark.parametrize(("values", "message"), CASES, ids=[message[:40] for _, message in CASES])
def test_value_that_dynamodb_refuses_is_refused_first(values: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodeError, match=message) as caught:
        encode(thing(**values))
    assert caught.value.model == "Thing"


@pytest.mark.parametrize("values", [{"data": nested(31)}, {"id": "x" * 2048}, {"part": b"x" * 1024}])
def test_value_at_a_limit_is_taken(values: dict[str, Any]) -> None:
    assert encode(thing(**values))


def test_item_of_exactly_400_kilobytes_is_taken_and_one_byte_more_refused() -> None:
    rest = len("pk" + "a" + "part" + "b" + "count" + "data") + 1
    assert encode(thing(data="x" * (409_600 - rest)))
    with pytest.raises(ItemTooLargeError) as caught:
        encode(thing(data="x" * (409_601 - rest)))
    assert caught.value.size_bytes == 409_601


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("count", "5", "Thing.count: int expected, got str '5'"),
        ("count", None, "Thing.count: int expected, got None"),
        ("count", True, "Thing.count: int expected, got bool True"),
        ("maybe", "5", "Thing.maybe: int expected, got str '5'"),
        ("maybe", set(), "Thing.maybe: int expected, got set"),
        ("names", None, r"Thing.names: set\[str\] expected, got None"),
        ("names", ["a"], r"Thing.names: set\[str\] expected, got list"),
        ("names", {1}, "Thing.names: str expected, got int 1"),
        ("id", 5, "Thing.id: str expected, got int 5"),
    ],
)
def test_assigned_value_of_another_type_is_refused(field: str, value: Any, message: str) -> None:
    item = thing()
    setattr(item, field, value)
    with pytest.raises(EncodeError, match=message):
        encode(item)


def test_instance_without_a_value_is_refused() -> None:
    with pytest.raises(
        EncodeError, match="Thing.part: the instance has no value for this field; make it with the const"
    ):
        encode(Thing.model_construct(id="a"))


def test_nested_instance_without_a_value_is_refused() -> None:
    class Inner(Model):
        city: Attr[str]

    class Outer(Model, table="outers"):
        id: PartitionKey[str]
        inner: Attr[Inner]

    with pytest.raises(EncodeError, match="Outer.inner.city: the field has no value; set it before you store the item"):
        encode(Outer(id="a", inner=Inner.model_construct()))


def test_model_that_contains_itself_is_refused() -> None:
    node = Node()
    node.next = node
    with pytest.raises(
        EncodeError,
        match="Holder.node: the value contains itself, or is nested too deep",
    ):
        encode(Holder(id="a", node=node))


def test_list_of_models_that_contains_itself_is_refused() -> None:
    node = Node()
    node.others.append(node)
    with pytest.raises(EncodeError, match=r"Holder.node.*: the value contains itself"):
        encode(Holder(id="a", node=node))


class Color(enum.Enum):
    RED = 1
    DAY = date(2026, 1, 1)


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (Tags, {"a"}, "Thing.value: Tags expected, got set"),
        (Color, "red", "Thing.value: Color expected, got str 'red'; use a member of Color, or its value"),
        (dict[Literal["a"], int], {"b": 1}, "Thing.value: .*as the key of a map expected, got str 'b'"),
        (dict[Literal["a"], int], {("b",): 1}, "as the key of a map expected, got tuple"),
        (dict[IPv4Address, int], {5.5: 1}, "IPv4Address as the key of a map expected, got float"),
        (IPv4Address, object(), "Thing.value: IPv4Address expected, got object"),
        (Annotated[Cat | Dog, Field(discriminator="kind")], 5, r"Thing.value: Cat \| Dog expected, got int 5"),
    ],
)
def test_value_of_a_composed_type_is_refused(annotation: Any, value: Any, message: str, make_model) -> None:
    item = make_model(annotation).model_construct(key="k", value=value)
    with pytest.raises(EncodeError, match=message):
        encode(item)


def test_error_of_a_user_s_own_type_is_not_hidden(make_model) -> None:
    item = make_model(dict[str, int])(value={"a": 1})

    class Broken(dict[str, int]):
        def items(self) -> Any:
            raise KeyError("mine")

    item.value = Broken(a=1)
    with pytest.raises(KeyError, match="mine"):
        encode(item)


def test_keys_are_refused_with_the_shape_of_the_right_one() -> None:
    definition = definition_of(Thing)
    with pytest.raises(OperationError, match=r"Thing is \(id: str, part: bytes\); got 'a'"):
        definition.key(["a"])
    with pytest.raises(OperationError, match=r"the key of Thing is \(id: str, part: bytes\); got nothing"):
        definition.key([])
    with pytest.raises(EncodeError, match="Thing.part: bytes expected, got str 'b'"):
        definition.key(["a", "b"])
    with pytest.raises(EncodeError, match="Thing.id: a partition key cannot be empty"):
        definition.key(["", b"b"])


def test_key_of_an_instance_is_its_stored_key() -> None:
    assert definition_of(Thing).key_of(thing()) == {"pk": {"S": "a"}, "part": {"B": "Yg=="}}


@pytest.mark.parametrize(("values", "field"), [((HALF, "a"), "id"), (("a", HALF), "part")])
@pytest.mark.parametrize("operation", [Get, Find, Delete, Update])
def test_a_key_that_is_not_unicode_is_refused_before_it_shares_a_call(operation: Any, values: Any, field: str) -> None:
    with pytest.raises(EncodeError, match=f"^Text.{field}: the text .* is not valid Unicode; store it as bytes"):
        operation(Text, *values)
