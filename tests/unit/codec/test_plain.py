import enum
from collections import OrderedDict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import MappingProxyType
from uuid import UUID

import pytest

from dynamap_async.codec import decode_any, encode_any
from dynamap_async.errors import DecodeError, EncodeError


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


ID = UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("é", {"S": "é"}),
        ("", {"S": ""}),
        (Name("ada"), {"S": "ada"}),
        (5, {"N": "5"}),
        (1.5, {"N": "1.5"}),
        (Decimal("2.50"), {"N": "2.5"}),
        (True, {"BOOL": True}),
        (None, {"NULL": True}),
        (b"\x00\x01", {"B": "AAE="}),
        (bytearray(b"a"), {"B": "YQ=="}),
        (memoryview(b"a"), {"B": "YQ=="}),
        (datetime(2024, 1, 2, tzinfo=UTC), {"S": "2024-01-02T00:00:00.000000Z"}),
        (date(2024, 1, 2), {"S": "2024-01-02"}),
        (time(1, 2), {"S": "01:02:00"}),
        (timedelta(seconds=1.5), {"N": "1.5"}),
        (ID, {"S": str(ID)}),
        (Color.RED, {"S": "red"}),
        (Level.LOW, {"N": "1"}),
        ({"b", "a"}, {"SS": ["a", "b"]}),
        (frozenset({1, 2.5}), {"NS": ["1", "2.5"]}),
        ({b"a"}, {"BS": ["YQ=="]}),
        ({1, Decimal("0.1"), 0.1}, {"NS": ["0.1", "1"]}),
        ({(1,)}, {"L": [{"L": [{"N": "1"}]}]}),
        (set(), {"L": []}),
        ((1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        ({"a": {"b": [None]}}, {"M": {"a": {"M": {"b": {"L": [{"NULL": True}]}}}}}),
        ({1: "a", ID: "b", Color.RED: "c"}, {"M": {"1": {"S": "a"}, str(ID): {"S": "b"}, "red": {"S": "c"}}}),
        (MappingProxyType({"a": 1}), {"M": {"a": {"N": "1"}}}),
        (OrderedDict(a=1), {"M": {"a": {"N": "1"}}}),
    ],
)
def test_value_is_stored_by_its_own_type(value, stored):
    assert encode_any(value) == stored
    assert all(type(content) is not Name for content in encode_any(value).values())


def test_mixed_set_is_stored_as_a_list():
    assert list(encode_any({1, "a"})) == ["L"]


def test_refused_value_inside_containers_is_named_with_its_path():
    with pytest.raises(EncodeError) as caught:
        encode_any({"lines": [1, {"price": object}]})
    assert caught.value.path == ("lines", 1, "price")
    assert str(caught.value).startswith("lines[1].price: storable value expected, got type <class 'object'>")


def test_map_key_without_a_text_form_is_refused():
    with pytest.raises(EncodeError, match=r"^m: str as the key of a map expected, got tuple \(1,\)"):
        encode_any({"m": {(1,): 1}})


def test_two_keys_with_the_same_text_are_refused():
    with pytest.raises(EncodeError, match="two keys of the dict would be stored as the same text"):
        encode_any({1: "a", "1": "b"})


def test_value_that_contains_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(EncodeError, match="contains itself"):
        encode_any(loop)


@pytest.mark.parametrize(
    ("stored", "value"),
    [
        ({"S": "a"}, "a"),
        ({"N": "5"}, 5),
        ({"N": "1.5"}, Decimal("1.5")),
        ({"B": "AAE="}, b"\x00\x01"),
        ({"BOOL": False}, False),
        ({"NULL": True}, None),
        ({"SS": ["a", "b"]}, {"a", "b"}),
        ({"NS": ["1", "2.5"]}, {1, Decimal("2.5")}),
        ({"BS": ["YQ=="]}, {b"a"}),
        ({"L": [{"S": "a"}, {"L": []}]}, ["a", []]),
        ({"M": {"a": {"M": {}}}}, {"a": {}}),
    ],
)
def test_stored_value_is_read_by_its_tag(stored, value):
    assert decode_any(stored) == value
    assert type(decode_any(stored)) is type(value)


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"S": "a", "N": "1"},
        {"X": "a"},
        {"NULL": False},
        {"BOOL": "true"},
        {"S": 5},
        {"N": "five"},
        {"N": None},
        {"B": "a"},
        {"B": "é"},
        {"BS": ["*"]},
        {"SS": 5},
        {"L": 5},
        {"M": [1]},
        {"L": [{"S": "a", "N": "1"}]},
        "text",
        None,
    ],
)
def test_malformed_stored_value_is_a_decode_error(stored):
    with pytest.raises(DecodeError):
        decode_any(stored)
