import enum
from collections import deque
from datetime import UTC, date, datetime, time
from decimal import Decimal
from types import MappingProxyType
from uuid import UUID

import pytest

from dynamap_async import codec
from dynamap_async.errors import DecodeError, EncodeError


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Pair(enum.Enum):
    BOTH = (1, 2)


ID = UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("converter", "value", "stored"),
    [
        (codec.set_of(codec.text()), {"b", "a"}, {"SS": ["a", "b"]}),
        (codec.set_of(codec.integer()), {1, 2}, {"NS": ["1", "2"]}),
        (codec.set_of(codec.binary()), {b"a"}, {"BS": ["YQ=="]}),
        (codec.set_of(codec.uuid(), frozen=True), frozenset({ID}), {"SS": [str(ID)]}),
        (codec.set_of(codec.enum_of(Color, codec.text())), {Color.RED}, {"SS": ["red"]}),
        (codec.set_of(codec.boolean()), {True}, {"L": [{"BOOL": True}]}),
        (codec.set_of(codec.tuple_of([codec.integer()])), {(1,)}, {"L": [{"L": [{"N": "1"}]}]}),
        (codec.set_of(codec.text()), set(), {"L": []}),
        (codec.set_of(codec.integer(), frozen=True), frozenset(), {"L": []}),
        (codec.list_of(codec.integer()), [1, 2], {"L": [{"N": "1"}, {"N": "2"}]}),
        (codec.list_of(codec.text()), [], {"L": []}),
        (codec.list_of(codec.optional(codec.text())), [None, "a"], {"L": [{"NULL": True}, {"S": "a"}]}),
        (codec.variadic_tuple_of(codec.text()), ("a", "b"), {"L": [{"S": "a"}, {"S": "b"}]}),
        (codec.tuple_of([codec.text(), codec.integer()]), ("a", 1), {"L": [{"S": "a"}, {"N": "1"}]}),
        (codec.tuple_of([]), (), {"L": []}),
        (codec.map_of(codec.map_key(str), codec.integer()), {"a": 1}, {"M": {"a": {"N": "1"}}}),
        (codec.map_of(codec.map_key(int), codec.text()), {-5: "a"}, {"M": {"-5": {"S": "a"}}}),
        (codec.list_of(codec.set_of(codec.text())), [{"a"}, set()], {"L": [{"SS": ["a"]}, {"L": []}]}),
    ],
)
def test_container_has_its_stored_form_and_comes_back_as_its_type(converter, value, stored):
    assert converter.encode(value) == stored
    assert set(stored) <= converter.tags
    back = converter.decode(stored)
    assert (back, type(back)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "key", "text"),
    [
        (str, "a", "a"),
        (int, -1, "-1"),
        (bool, True, "true"),
        (float, 1.5, "1.5"),
        (Decimal, Decimal("1.5"), "1.5"),
        (UUID, ID, str(ID)),
        (date, date(2024, 1, 2), "2024-01-02"),
        (datetime, datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00.000000Z"),
        (time, time(1), "01:00:00"),
        (Color, Color.RED, "red"),
        (Level, Level.LOW, "1"),
    ],
)
def test_map_key_is_stored_as_text_and_comes_back_as_its_type(kind, key, text):
    map_key = codec.map_key(kind)
    assert map_key.encode(key) == text
    back = map_key.decode(text)
    assert (back, type(back)) == (key, kind)


@pytest.mark.parametrize(
    ("kind", "key"),
    [(str, 1), (int, True), (int, "1"), (date, datetime(2024, 1, 2, tzinfo=UTC)), (Color, "blue"), (Color, 5)],
)
def test_map_key_of_another_type_is_refused(kind, key):
    with pytest.raises(EncodeError, match=f"{kind.__name__} as the key of a map expected"):
        codec.map_key(kind).encode(key)


@pytest.mark.parametrize("kind", [bytes, tuple, Pair])
def test_type_without_a_text_form_cannot_be_a_map_key(kind):
    assert codec.map_key(kind) is None


def test_boolean_map_key_that_is_neither_is_a_misfit():
    with pytest.raises(codec.DECODE_ERRORS):
        codec.map_key(bool).decode("yes")


def test_equal_sets_are_stored_equally_whatever_their_order():
    members = codec.set_of(codec.tuple_of([codec.integer()]))
    expected = {"L": [{"L": [{"N": str(n)}]} for n in range(5)]}
    assert members.encode({(n,) for n in range(5)}) == members.encode({(n,) for n in (4, 2, 0, 1, 3)}) == expected


def test_numbers_that_are_one_to_dynamodb_are_stored_once():
    numbers = codec.set_of(codec.union_of([codec.floating(), codec.decimal()]))
    assert numbers.encode({0.1, Decimal("0.1")}) == {"NS": ["0.1"]}


@pytest.mark.parametrize(
    ("converter", "value", "path", "reason"),
    [
        (codec.list_of(codec.integer()), [1, "x"], (1,), "int expected, got str 'x'"),
        (codec.tuple_of([codec.integer(), codec.text()]), (1, 2), (1,), "str expected, got int 2"),
        (codec.map_of(codec.map_key(str), codec.integer()), {"a": 1, "b": "x"}, ("b",), "int expected, got str 'x'"),
        (
            codec.map_of(codec.map_key(int), codec.list_of(codec.integer())),
            {7: [1, 2, None]},
            ("7", 2),
            "int expected, got None",
        ),
        (codec.list_of(codec.set_of(codec.integer())), [{1}, {"x"}], (1,), "int expected, got str 'x'"),
        (codec.map_of(codec.map_key(str), codec.integer()), {1: 1}, (), "str as the key of a map expected, got int 1"),
    ],
)
def test_refused_member_is_named_with_its_path(converter, value, path, reason):
    with pytest.raises(EncodeError) as caught:
        converter.encode(value)
    assert (caught.value.path, caught.value.reason) == (path, reason)


@pytest.mark.parametrize(
    ("converter", "value", "message"),
    [
        (codec.list_of(codec.text()), ("a",), "list[str] expected, got tuple ('a',)"),
        (codec.list_of(codec.text()), "abc", "list[str] expected, got str 'abc'"),
        (codec.set_of(codec.text()), ["a"], "set[str] expected, got list ['a']"),
        (codec.set_of(codec.boolean()), [True], "set[bool] expected, got list [True]"),
        (codec.variadic_tuple_of(codec.text()), ["a"], "tuple[str, ...] expected, got list ['a']"),
        (codec.tuple_of([codec.text()]), ("a", "b"), "tuple[str] expected, got tuple ('a', 'b')"),
        (codec.map_of(codec.map_key(str), codec.text()), [("a", "b")], "dict[str, str] expected, got list"),
    ],
)
def test_container_of_another_type_is_refused(converter, value, message):
    with pytest.raises(EncodeError) as caught:
        converter.encode(value)
    assert str(caught.value).startswith(message)


def test_map_keys_with_the_same_text_are_refused():
    loose = codec.MapKey(label="any", encode=str, decode=str)
    with pytest.raises(EncodeError, match="two keys of the map would be stored as the same text"):
        codec.map_of(loose, codec.integer()).encode({1: 1, "1": 2})


def test_other_sequences_and_mappings_are_stored_where_they_are_accepted():
    queue = codec.list_of(codec.integer(), accepts=(deque,), label="deque")
    assert queue.encode(deque([1])) == {"L": [{"N": "1"}]}
    assert queue.label == "deque[int]"
    mapping = codec.map_of(codec.map_key(str), codec.integer(), accepts=(MappingProxyType,), label="Mapping")
    assert mapping.encode(MappingProxyType({"a": 1})) == {"M": {"a": {"N": "1"}}}


@pytest.mark.parametrize(
    ("converter", "stored", "value"),
    [
        (codec.list_of(codec.date()), {"L": [{"S": "2024-01-02"}, {"S": "x"}]}, [date(2024, 1, 2), "x"]),
        (codec.set_of(codec.date()), {"SS": ["2024-01-02", "x"]}, [date(2024, 1, 2), "x"]),
        (codec.set_of(codec.date()), {"L": [{"S": "2024-01-02"}, {"S": "x"}]}, [date(2024, 1, 2), "x"]),
        (codec.variadic_tuple_of(codec.date()), {"L": [{"S": "x"}]}, ["x"]),
        (
            codec.tuple_of([codec.date(), codec.text()]),
            {"L": [{"S": "2024-01-02"}, {"NULL": True}]},
            [date(2024, 1, 2), None],
        ),
        (codec.tuple_of([codec.integer(), codec.text()]), {"L": [{"N": "1"}]}, [1]),
        (codec.tuple_of([codec.integer()]), {"L": [{"N": "1"}, {"S": "x"}]}, [1, "x"]),
        (
            codec.map_of(codec.map_key(str), codec.date()),
            {"M": {"a": {"S": "2024-01-02"}, "b": {"S": "x"}}},
            {"a": date(2024, 1, 2), "b": "x"},
        ),
    ],
)
def test_member_with_unexpected_content_is_given_plain_beside_the_others(converter, stored, value):
    with pytest.raises(codec.DECODE_ERRORS):
        converter.decode(stored)
    assert converter.decode_or_plain(stored) == value


@pytest.mark.parametrize(
    ("converter", "stored", "message"),
    [
        (codec.list_of(codec.integer()), {"L": [{"N": "1"}, {"S": "2"}]}, "[1]: int is stored as N, not as S"),
        (codec.set_of(codec.integer()), {"L": [{"N": "1"}, {"S": "2"}]}, "[1]: int is stored as N, not as S"),
        (codec.set_of(codec.integer()), {"SS": ["2"]}, "set[int] is stored as L or NS, not as SS"),
        (codec.tuple_of([codec.integer()] * 2), {"L": [{"S": "2"}]}, "[0]: int is stored as N, not as S"),
        (codec.map_of(codec.map_key(str), codec.integer()), {"M": {"a": {"S": "2"}}}, "a: int is stored as N"),
        (codec.map_of(codec.map_key(int), codec.integer()), {"M": {"07": {"N": "2"}}}, "'07' is not a key of dict[int"),
    ],
)
def test_member_of_another_stored_type_is_refused_by_its_place(converter, stored, message):
    with pytest.raises(DecodeError) as caught:
        converter.decode_or_plain(stored)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("converter", "stored"),
    [
        (codec.list_of(codec.integer()), {"S": "x"}),
        (codec.set_of(codec.integer()), {"SS": ["x"]}),
        (codec.set_of(codec.integer()), {"NS": ["x"]}),
        (codec.set_of(codec.boolean()), {"SS": ["x"]}),
        (codec.tuple_of([codec.integer()]), {"L": []}),
        (codec.map_of(codec.map_key(int), codec.text()), {"M": {"x": {"S": "a"}}}),
        (codec.map_of(codec.map_key(int), codec.text()), {"L": []}),
    ],
)
def test_misfit_as_a_whole_raises_what_the_contract_allows(converter, stored):
    with pytest.raises(codec.DECODE_ERRORS):
        converter.decode(stored)


def test_set_written_as_a_list_by_others_is_read_as_a_set():
    assert codec.set_of(codec.integer()).decode({"L": [{"N": "1"}, {"N": "1"}]}) == {1}


def test_steps_lead_to_the_stored_part_and_its_converter():
    integer, text = codec.integer(), codec.text()
    assert codec.list_of(integer).step(3) == codec.ValuePart(3, integer)
    assert codec.list_of(integer).step("a") is None
    assert codec.list_of(integer).step(True) is None
    assert codec.set_of(integer).step(0) is None
    assert codec.tuple_of([integer, text]).step(1) == codec.ValuePart(1, text)
    assert codec.tuple_of([integer, text]).step(2) is None
    assert codec.tuple_of([integer, text]).step("a") is None
    assert codec.map_of(codec.map_key(str), text).step("a") == codec.ValuePart("a", text)
    assert codec.map_of(codec.map_key(str), text).step(1) is None
    assert codec.map_of(codec.map_key(int), text).step(7) == codec.ValuePart("7", text)
    assert codec.map_of(codec.map_key(int), text).step("7") == codec.ValuePart("7", text)


def test_members_of_lists_and_sets_are_known():
    integer = codec.integer()
    assert codec.list_of(integer).member is integer
    assert codec.set_of(integer).member is integer
    assert codec.tuple_of([integer]).member is None
