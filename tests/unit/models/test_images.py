"""Items in DynamoDB's JSON: Model.from_wire, Table.from_wire and to_wire."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey, SortKey, Table, attr, template, to_wire
from dynamap_async.codec import wire_item
from dynamap_async.errors import (
    DecodeError,
    EncodeError,
    ItemDecodeError,
    ItemKindError,
    ItemValidationError,
    OperationError,
)
from dynamap_async.models import is_remembered

SHOP = Table("shop", partition_key="pk", sort_key="sk")


class Customer(Model, table=SHOP, kind="customer"):
    pk: PartitionKey[str] = template("c#{name}")
    sk: SortKey[str] = template("customer")
    name: Attr[str]


class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str] = template("c#{name}")
    sk: SortKey[str] = template("o#{number:03d}")
    name: Attr[str]
    number: Attr[int]


class Gift(Order, table=SHOP, kind="gift"):
    pass


class Blob(Model, table="blobs"):
    id: PartitionKey[str]
    data: Attr[bytes] = attr(default=b"")
    parts: Attr[set[bytes]] = attr(default_factory=set)
    many: Attr[list[dict[str, Any]]] = attr(default_factory=list)
    size: Attr[int] = attr(default=0)


def test_an_image_becomes_an_instance_that_counts_as_read() -> None:
    found = Blob.from_wire({"id": {"S": "a"}, "data": {"B": "AA=="}, "size": {"N": "5"}, "other": {"BOOL": True}})
    assert found == Blob(id="a", data=b"\0", size=5)
    assert is_remembered(found)


def test_bytes_of_boto3_are_taken_as_they_are() -> None:
    image = {"id": {"S": "a"}, "data": {"B": b"\0"}, "parts": {"BS": [b"\1", b"\2"]}, "many": {"L": [{"M": {}}]}}
    assert Blob.from_wire(image) == Blob(id="a", data=b"\0", parts={b"\1", b"\2"}, many=[{}])


def test_an_instance_is_given_as_put_stores_it() -> None:
    assert to_wire(Order(name="ada", number=7)) == {
        "pk": {"S": "c#ada"},
        "sk": {"S": "o#007"},
        "name": {"S": "ada"},
        "number": {"N": "7"},
        "kind": {"S": "order"},
    }


def test_a_table_gives_each_item_as_its_own_model() -> None:
    for item in (Customer(name="ada"), Order(name="ada", number=1), Gift(name="ada", number=2)):
        assert SHOP.from_wire(to_wire(item)) == item
        assert type(SHOP.from_wire(to_wire(item))) is type(item)


def test_a_model_gives_its_own_family_only() -> None:
    assert type(Order.from_wire(to_wire(Gift(name="ada", number=2)))) is Gift
    with pytest.raises(ItemKindError, match="is of the model Customer, not Order"):
        Order.from_wire(to_wire(Customer(name="ada")))
    with pytest.raises(ItemKindError, match="is of no known model"):
        SHOP.from_wire({**to_wire(Customer(name="ada")), "kind": {"S": "parcel"}})
    with pytest.raises(OperationError, match="no model shares"):
        Table("empty", partition_key="pk").from_wire({"pk": {"S": "a"}})


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        (5, "an item in DynamoDB JSON, such"),
        ({"id": "a"}, "an attribute value in DynamoDB JSON, such.* got 'a'"),
        ({"id": {"S": "a", "N": "1"}}, "an attribute value"),
        ({"id": {"T": "a"}}, "an attribute value"),
        ({"id": {"S": 5}}, "id: expected a string in it, got 5"),
        ({"id": {"N": 5}}, "id: expected a string in it, got 5"),
        ({"id": {"BOOL": "true"}}, "id: expected true or false in"),
        ({"id": {"SS": "ab"}}, "id: expected a list"),
        ({"id": {"M": []}}, "id: expected a"),
        ({"id": {"L": [{"S": "a"}, {"M": {"x": 5}}]}}, r"id\[1\].x: expected an attribute value"),
        ({5: {"S": "a"}}, "the name of an attribute must be a string, not 5"),
    ],
)
def test_what_is_no_item_is_refused_by_its_place(image, problem) -> None:
    with pytest.raises(DecodeError, match=problem):
        Blob.from_wire(image)


def test_an_image_that_does_not_fit_is_an_error_of_the_item() -> None:
    with pytest.raises(ItemDecodeError, match="size: int is stored as N, not as S"):
        Blob.from_wire({"id": {"S": "a"}, "size": {"S": "5"}})
    with pytest.raises(ItemValidationError, match="id: Field required"):
        Blob.from_wire({"size": {"N": "5"}})


def test_what_could_not_be_stored_is_not_given() -> None:
    blob = Blob(id="a")
    blob.size = "five"  # type: ignore[assignment]  # as a program without a checker may
    with pytest.raises(EncodeError, match="Blob.size"):
        to_wire(blob)
    with pytest.raises(OperationError, match="takes an instance of a model"):
        to_wire(Blob)  # type: ignore[arg-type]  # a class is none


VALUES = st.recursive(
    st.one_of(
        st.builds(lambda text: {"S": text}, st.text(max_size=3)),
        st.builds(lambda number: {"N": str(number)}, st.integers()),
        st.sampled_from(
            [{"BOOL": True}, {"NULL": True}, {"B": "AA=="}, {"SS": ["a"]}, {"NS": ["1"]}, {"BS": ["AA=="]}]
        ),
    ),
    lambda inner: st.one_of(
        st.builds(lambda many: {"L": many}, st.lists(inner, max_size=3)),
        st.builds(lambda many: {"M": many}, st.dictionaries(st.text(max_size=2), inner, max_size=3)),
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_every_item_is_copied_as_it_is(image) -> None:
    assert wire_item(image) == image
