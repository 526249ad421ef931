import base64

import pytest
from pydantic_core import from_json

from dynamap_async.codec import (
    binary_size,
    check_item,
    check_key_value,
    encode_any,
    item_json,
    item_size,
    number_size,
    number_text,
    sizes,
    value_size,
)
from dynamap_async.errors import EncodeError, ItemTooLargeError


def nested(maps, leaf):
    value = leaf
    for _ in range(maps):
        value = {"M": {"m": value}}
    return value


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 1),
        ("7", 2),
        ("42", 2),
        ("123", 3),
        ("12345", 4),
        ("100", 2),
        ("1010", 3),
        ("1.5", 3),
        ("3.14159", 5),
        ("100.5", 4),
        ("0.15", 2),
        (number_text(10**125), 2),
        ("-42", 3),
        ("1" * 38, 20),
    ],
)
def test_number_size_is_what_the_service_was_measured_to_count(text, size):
    assert number_size(text) == size


@pytest.mark.parametrize(("text", "same"), [("-0", "0"), ("0.0", "0"), ("1.50", "1.5"), ("1E3", "1000"), ("007", "7")])
def test_number_size_is_counted_on_canonical_digits(text, same):
    assert number_size(text) == number_size(same)


@pytest.mark.parametrize(
    ("item", "size"),
    [
        ({"shirt-color": {"S": "R"}, "shirt-size": {"S": "M"}}, 23),
        ({"pk": {"S": "user#1"}, "n": {"N": "42"}, "ok": {"BOOL": True}}, 14),
        ({"pk": {"S": "é"}, "price": {"N": "-19.99"}}, 13),
        ({"pk": {"S": "a"}, "tags": {"SS": ["x", "yy"]}}, 10),
        ({"pk": {"S": "a"}, "l": {"L": [{"S": "ab"}, {"N": "7"}]}}, 13),
        ({"pk": {"S": "a"}, "m": {"M": {"k": {"S": "v"}, "z": {"L": []}}}}, 15),
        ({"pk": {"S": "a"}, "e": {"S": ""}, "b": {"B": "AAEC"}}, 8),
        ({"pk": {"S": "k"}, "data": {"S": "x" * 1017}}, 1024),
        ({"pk": {"S": "k"}, "data": {"S": "x" * 1018}}, 1025),
        ({"pk": {"S": "a"}, "n": {"NULL": True}, "é": {"NS": ["1", "-42"]}}, 3 + 2 + 2 + 5),
        ({"b": {"BS": ["AA==", "AAE=", "AAEC"]}}, 1 + 6),
    ],
)
def test_item_size_equals_the_worked_examples(item, size):
    assert item_size(item) == size
    assert check_item(item) == size


@pytest.mark.parametrize("length", range(10))
def test_binary_is_sized_without_decoding(length):
    assert binary_size(base64.b64encode(bytes(length)).decode()) == length


def test_item_of_exactly_400_kb_is_accepted():
    assert check_item({"k": {"S": "x" * 409_599}}) == 409_600


def test_item_over_400_kb_is_refused_with_its_largest_attributes_named():
    item = {"body": {"S": "x" * 400_000}, "photo": {"S": "y" * 10_000}, "id": {"N": "1"}, "a": {"S": "b"}}
    with pytest.raises(ItemTooLargeError) as caught:
        check_item(item, model="Post")
    assert (caught.value.size_bytes, caught.value.limit_bytes, caught.value.model) == (item_size(item), 409_600, "Post")
    assert "Post: item has 410,015 bytes" in str(caught.value)
    assert "largest attributes are body (400,004), photo (10,005), id (4)" in str(caught.value)


def test_value_inside_31_maps_is_accepted():
    assert check_item({"a": nested(31, {"S": "x"})})


@pytest.mark.parametrize("wrap", [lambda value: {"M": {"m": value}}, lambda value: {"L": [value]}])
def test_value_inside_32_containers_is_refused(wrap):
    with pytest.raises(EncodeError, match="Post.a: the value is nested more than 32 levels"):
        check_item({"a": wrap(nested(31, {"S": "x"}))}, model="Post")


def test_size_of_a_value_is_known_however_deep_it_is():
    assert value_size(nested(40, {"S": "x"})) == 40 * (3 + 1 + 1) + 1


@pytest.mark.parametrize("name", ["", "x" * 65_536])
def test_attribute_name_outside_its_limits_is_refused(name):
    with pytest.raises(EncodeError, match="use 1 to 65,535"):
        check_item({name: {"S": "x"}})


def test_map_key_over_the_limit_of_names_is_refused():
    with pytest.raises(EncodeError, match="^m: the map key"):
        check_item({"m": {"M": {"x" * 65_536: {"NULL": True}}}})


def test_text_that_is_not_unicode_is_refused_with_its_place():
    with pytest.raises(EncodeError, match="^name: the text.* is not valid Unicode"):
        check_item({"name": {"S": "\ud800"}})


@pytest.mark.parametrize(
    "item",
    [
        {"body": {"S": "x" * 409_600}},
        {"a": nested(32, {"S": "x"})},
        {"a": nested(300, {"S": "x"})},
        {"a": {"L": [nested(31, {"S": "x"})]}},
        {"": {"S": "x"}},
        {"x" * 65_536: {"S": "x"}},
        {"m": {"M": {"x" * 65_536: {"NULL": True}}}},
        {"name": {"S": "\ud800"}},
    ],
    ids=["size", "levels", "many levels", "list", "empty name", "long name", "long map key", "not Unicode"],
)
def test_the_json_of_an_item_is_refused_as_the_item_is(item):
    with pytest.raises((EncodeError, ItemTooLargeError)) as refused:
        check_item(item, "Post")
    with pytest.raises(type(refused.value)) as caught:
        item_json(item, "Post")
    assert str(caught.value) == str(refused.value)


@pytest.mark.parametrize(
    "item",
    [
        {"k": {"S": "x" * 409_599}},
        {"a": nested(31, {"S": "x"})},
        {"a": {"L": [{"M": {"b": {"L": []}}}] * 40}},
        {"a": {"S": '{"L":[{"M":{' * 40}},
    ],
    ids=["size", "levels", "wide", "text that looks like levels"],
)
def test_the_json_of_an_item_within_the_limits_is_given(item):
    assert from_json(item_json(item)) == item


def test_unknown_type_has_no_size():
    with pytest.raises(EncodeError, match="'X' is not one of DynamoDB's types"):
        value_size({"X": "1"})


@pytest.mark.parametrize(
    ("value", "role"),
    [
        ({"S": "x"}, "partition"),
        ({"S": "x" * 2048}, "partition"),
        ({"S": "é" * 512}, "sort"),
        ({"B": base64.b64encode(bytes(1024)).decode()}, "sort"),
        ({"N": "0"}, "sort"),
    ],
)
def test_key_value_within_its_limits_is_accepted(value, role):
    check_key_value(value, role)


@pytest.mark.parametrize(
    ("value", "role", "fault"),
    [
        ({"S": ""}, "partition", "a partition key cannot be empty"),
        ({"B": ""}, "sort", "a sort key cannot be empty"),
        ({"S": "x" * 2049}, "partition", "2,048 bytes, and this one has 2,049"),
        ({"S": "é" * 513}, "sort", "1,024 bytes, and this one has 1,026"),
        ({"B": base64.b64encode(bytes(1025)).decode()}, "sort", "this one has 1,025"),
        ({"BOOL": True}, "sort", "not type BOOL"),
    ],
)
def test_key_value_that_dynamodb_refuses_is_refused(value, role, fault):
    with pytest.raises(EncodeError, match=fault):
        check_key_value(value, role)


def test_size_of_an_encoded_value_needs_no_item():
    assert value_size(encode_any({"a": [1, "é"]})) == 3 + 1 + 1 + (3 + 1 + 2 + 1 + 2)


@pytest.mark.parametrize("letter", ["n", '"', "\n", "é"])
@pytest.mark.parametrize("inside", [False, True])
def test_a_name_that_is_too_long_is_found_in_a_large_item(letter, inside):
    name = letter * (65_536 // len(letter.encode()))
    many = {f"a{number}": {"S": "x" * 100} for number in range(300)}
    item = {**many, "m": {"M": {name: {"S": "x"}}}} if inside else {**many, name: {"S": "x"}}
    with pytest.raises(EncodeError, match="bytes; use"):
        item_json(item, shallow=True)


@pytest.mark.parametrize("count", [700, 2000])
def test_a_large_item_of_short_texts_is_not_looked_at_twice(monkeypatch, count):
    looked = []
    monkeypatch.setattr(sizes, "check_item", lambda item, model: looked.append(item))
    item_json({f"a{number}": {"S": "x" * 100} for number in range(count)}, shallow=True)
    assert not looked


def test_a_large_item_is_refused_however_its_names_are():
    item = {f"a{number}": {"S": "x" * 100} for number in range(4500)}
    with pytest.raises(ItemTooLargeError):
        item_json(item, "Thing", shallow=True)


def test_a_name_may_be_as_long_as_dynamodb_takes_it():
    assert check_item({"a" * 65_535: {"S": "x"}}) == 65_536
    with pytest.raises(EncodeError, match="has 65,536 bytes; use 1 to 65,535"):
        check_item({"a" * 65_536: {"S": "x"}})
