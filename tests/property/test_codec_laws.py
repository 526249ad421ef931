"""Laws of the codec: what goes in comes out, in one canonical form, as DynamoDB and boto3 see it."""

import enum
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Context, Decimal
from operator import itemgetter
from typing import Any
from uuid import UUID

import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from dynamap_async import codec
from dynamap_async.codec import Converter
from dynamap_async.codec.forms import EPOCH_MILLISECONDS, EPOCH_SECONDS, JSON_TEXT
from dynamap_async.errors import EncodeError
from dynamap_async.native import ACTIVE, NATIVE

quick = settings(deadline=None, max_examples=100)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Case:
    """A converter with the values that it stores."""

    converter: Converter
    values: st.SearchStrategy[Any]
    hashable: bool = True


def decimals(digits=38):
    return st.builds(
        lambda sign, mantissa, exponent: Decimal((sign, tuple(map(int, str(mantissa))), exponent)),
        st.integers(0, 1),
        st.integers(0, 10**digits - 1),
        st.integers(-130, 125 - digits + 1),
    )


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
INTEGERS = st.integers(-(10**38) + 1, 10**38 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x or 1e-130 <= abs(x) < 1e126)
ZONES = st.timezones() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def is_clear(value):
    """Return whether a local time exists once: Python calls no other equal to a time of another zone (PEP 495)."""
    return value.replace(fold=0).utcoffset() == value.replace(fold=1).utcoffset()


LOCAL = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=ZONES)  # noqa: DTZ001 - hypothesis' bounds
AWARE = LOCAL.filter(is_clear)
NAIVE = st.datetimes()

SCALARS = [
    Case(codec.text(), TEXTS),
    Case(codec.integer(), INTEGERS),
    Case(codec.decimal(), decimals()),
    Case(codec.floating(), FLOATS),
    Case(codec.boolean(), st.booleans()),
    Case(codec.binary(), st.binary(max_size=8)),
    Case(codec.null(), st.none()),
    Case(codec.instant(), AWARE),
    Case(codec.instant(zoned=False), NAIVE),
    Case(codec.date(), st.dates()),
    Case(codec.time(), st.times()),
    Case(codec.duration(), st.timedeltas()),
    Case(codec.uuid(), st.uuids()),
    Case(codec.enum_of(Color, codec.text()), st.sampled_from(Color)),
    Case(codec.enum_of(Level, codec.integer()), st.sampled_from(Level)),
    Case(codec.literal_of(["a", 1, False, None]), st.sampled_from(["a", 1, False, None])),
    Case(codec.stored_as(EPOCH_SECONDS), AWARE.map(lambda at: at.replace(microsecond=0))),
    Case(codec.stored_as(EPOCH_MILLISECONDS), AWARE.map(lambda at: at.replace(microsecond=5_000))),
    Case(
        codec.union_of([codec.boolean(), codec.integer(), codec.uuid(), codec.binary()]),
        st.booleans() | INTEGERS | st.uuids() | st.binary(max_size=4),
    ),
]

KEYS = [
    (str, TEXTS),
    (int, st.integers()),
    (bool, st.booleans()),
    (float, FLOATS),
    (Decimal, decimals(10)),
    (UUID, st.uuids()),
    (date, st.dates()),
    (datetime, AWARE),
    (time, st.times()),
    (Color, st.sampled_from(Color)),
    (Level, st.sampled_from(Level)),
]


def set_case(case, frozen):
    make = st.frozensets if frozen else st.sets
    return Case(codec.set_of(case.converter, frozen=frozen), make(case.values, max_size=3), hashable=frozen)


def list_case(case):
    return Case(codec.list_of(case.converter), st.lists(case.values, max_size=3), hashable=False)


def map_case(case, key):
    kind, keys = key
    converter = codec.map_of(codec.map_key(kind), case.converter)
    return Case(converter, st.dictionaries(keys, case.values, max_size=3), hashable=False)


def tuple_case(cases):
    converter = codec.tuple_of([case.converter for case in cases])
    return Case(converter, st.tuples(*(case.values for case in cases)), all(case.hashable for case in cases))


def optional_case(case):
    return Case(codec.optional(case.converter), st.none() | case.values, case.hashable)


def nested_case(cases):
    names = [f"field{position}" for position in range(len(cases))]
    fields = [
        codec.Field(name, f"s-{name}", case.converter, itemgetter(name))
        for name, case in zip(names, cases, strict=True)
    ]
    values = st.fixed_dictionaries({}, optional={name: case.values for name, case in zip(names, cases, strict=True)})
    return Case(codec.nested_of("Nested", fields, accepts=(dict,)), values, hashable=False)


def wider(cases):
    several = st.lists(cases, min_size=1, max_size=3)
    return st.one_of(
        cases.filter(lambda case: case.hashable).flatmap(
            lambda case: st.builds(set_case, st.just(case), st.booleans())
        ),
        cases.map(list_case),
        st.builds(map_case, cases, st.sampled_from(KEYS)),
        several.map(tuple_case),
        cases.map(optional_case),
        several.map(nested_case),
    )


CASES = st.recursive(st.sampled_from(SCALARS), wider, max_leaves=5)

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | TEXTS
    | INTEGERS
    | st.binary(max_size=8)
    | st.sets(TEXTS, min_size=1, max_size=3)
    | st.sets(INTEGERS, min_size=1, max_size=3)
    | st.sets(st.binary(max_size=4), min_size=1, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("case", SCALARS, ids=lambda case: case.converter.label)
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_scalar_comes_back_equal_and_of_its_type(case, data):
    value = data.draw(case.values)
    stored = case.converter.encode(value)
    assert set(stored) <= case.converter.tags
    back = case.converter.decode(stored)
    assert (back, type(back)) == (value, type(value))


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_any_nesting_of_converters_round_trips(data):
    case = data.draw(CASES)
    value = data.draw(case.values)
    stored = case.converter.encode(value)
    assert len(stored) == 1
    assert set(stored) <= case.converter.tags
    assert case.converter.decode(stored) == value


@pytest.mark.skipif(not ACTIVE, reason="the native codec was not built, or is turned off")
@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_native_decoding_gives_what_the_converter_gives_or_nothing(data):
    case = data.draw(CASES)
    stored = [case.converter.encode(value) for value in data.draw(st.lists(case.values, min_size=1, max_size=4))]
    stored.append(codec.encode_any(data.draw(PLAIN)))  # often of another form
    reader = NATIVE.answer_reader(to_json({"Items": [{"a": value} for value in stored]}))
    assert reader.read(2**30)
    found, _, _ = codec.native_decoder({"a": ("x", case.converter, None)}, (), (), drops=False)(reader.answer["Items"])
    for value, values in zip(stored, found, strict=True):
        assert values is None or values == {"x": case.converter.decode(value)}


def outcome(encode, value):
    try:
        return encode(value)
    except EncodeError:
        return EncodeError


@pytest.mark.skipif(not ACTIVE, reason="the native codec was not built, or is turned off")
@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_native_encoding_gives_what_the_converter_gives_or_nothing(data):
    case, other = data.draw(CASES), data.draw(CASES)
    field = codec.FieldEncoding("value", "value", case.converter)
    encode, encode_key = [codec.native_encoder([field], marker={}, kept=kept) for kept in ([], ["value"])]
    for value in (data.draw(case.values), data.draw(other.values), data.draw(PLAIN), data.draw(st.floats())):
        expected, found, key = (
            outcome(case.converter.encode, value),
            encode({"value": value}),
            encode_key({"value": value}),
        )
        if found is None:
            assert (expected, key) == (EncodeError, None)
            continue
        measured = to_json({"value": expected}), codec.item_size({"value": expected})
        assert found == ({}, *measured)
        # What no key can be is left to the converters where it is kept.
        assert key == (({"value": expected}, *measured) if can_be_key(expected) else None)


def can_be_key(stored):
    """Return whether an attribute value is a text, a number or bytes that a key may be, and is not nearly too long."""
    [(tag, content)] = stored.items()
    return tag in ("S", "N", "B") and 0 < len(to_json(content)) - 2 <= 1024


@given(data=st.data())
@quick
def test_stored_value_does_not_depend_on_how_often_it_went_round(data):
    case = data.draw(CASES)
    stored = case.converter.encode(data.draw(case.values))
    assert case.converter.encode(case.converter.decode(stored)) == stored


@given(PLAIN)
@quick
def test_plain_values_round_trip(value):
    assert codec.decode_any(codec.encode_any(value)) == value


@given(INTEGERS | decimals() | FLOATS)
@settings(deadline=None, max_examples=100)
def test_number_text_is_canonical_and_exact(number):
    text = codec.number_text(number)
    exact = Decimal(float.__repr__(number)) if isinstance(number, float) else Decimal(number)
    assert Decimal(text) == exact
    assert "e" not in text.lower()
    assert "+" not in text
    assert text != "-0"
    assert not text.startswith(("00", "-00", ".", "-."))
    assert not ("." in text and text.endswith(("0", ".")))
    assert codec.number_text(Decimal(text)) == text
    assert codec.number_text(codec.parse_number(text)) == text


@given(FLOATS)
@quick
def test_float_is_stored_by_its_shortest_exact_text(number):
    assert float(codec.number_text(number)) == number


@given(st.integers(10**38, 10**60), st.integers(-130, 60))
@quick
def test_number_is_refused_only_for_more_than_38_significant_digits(mantissa, exponent):
    number = Decimal(mantissa).scaleb(exponent, Context(prec=100))
    assume(-130 <= number.adjusted() <= 125)
    digits = len(str(mantissa).strip("0"))
    if digits > 38:
        with pytest.raises(EncodeError, match=f"{digits} significant digits"):
            codec.number_text(number)
    else:
        assert Decimal(codec.number_text(number)) == number


@given(st.integers(1, 9), st.integers(-200, 200))
@quick
def test_number_is_refused_only_outside_the_magnitudes_that_dynamodb_stores(digit, exponent):
    number = Decimal(f"{digit}E{exponent}")
    if -130 <= exponent <= 125:
        assert Decimal(codec.number_text(number)) == number
    else:
        with pytest.raises(EncodeError):
            codec.number_text(number)


@given(INTEGERS | decimals())
@quick
def test_number_has_between_one_and_twenty_two_bytes(number):
    text = codec.number_text(number)
    assert 1 <= codec.number_size(text) <= 22
    assert codec.number_size(text.removeprefix("-")) == codec.number_size(text) - text.startswith("-")


@given(AWARE, AWARE)
@quick
def test_byte_order_of_stored_instants_is_the_order_of_time(first, second):
    one, other = (codec.instant_text(value).encode() for value in (first, second))
    assert (one < other) == (first.astimezone(UTC) < second.astimezone(UTC))
    assert len(one) == len(other) == 27


@given(st.dates(), st.dates())
@quick
def test_byte_order_of_stored_dates_is_their_order(first, second):
    one, other = (codec.date().encode(value)["S"] for value in (first, second))
    assert (one < other) == (first < second)


@given(st.recursive(st.none() | st.booleans() | TEXTS | st.integers(), lambda inner: st.lists(inner, max_size=3)))
@quick
def test_json_text_round_trips(value):
    converter = codec.stored_as(JSON_TEXT)
    assert converter.decode(converter.encode(value)) == value


def normal(stored):
    """Return an attribute value with numbers as Decimals and sets as sets; boto3 writes neither in canonical form."""
    [(tag, content)] = stored.items()
    match tag:
        case "N":
            return tag, Decimal(content)
        case "NS":
            return tag, frozenset(map(Decimal, content))
        case "SS":
            return tag, frozenset(content)
        case "B":
            return tag, content if isinstance(content, bytes) else codec.decode_any(stored)
        case "BS":
            return tag, frozenset(x if isinstance(x, bytes) else codec.decode_any({"B": x}) for x in content)
        case "L":
            return tag, [normal(element) for element in content]
        case "M":
            return tag, {name: normal(member) for name, member in content.items()}
        case _:
            return tag, content


@given(PLAIN | decimals())
@quick
def test_plain_values_are_stored_as_boto3_stores_them(value):
    assert normal(codec.encode_any(value)) == normal(TypeSerializer().serialize(value))


def from_boto3(value):
    """Return a value of boto3's without its wrapper of bytes."""
    match value:
        case Binary():
            return value.value
        case set():
            return {from_boto3(member) for member in value}
        case list():
            return [from_boto3(element) for element in value]
        case dict():
            return {name: from_boto3(member) for name, member in value.items()}
        case _:
            return value


def to_boto3(stored):
    """Return an attribute value as botocore hands it over: bytes in place of base64."""
    [(tag, content)] = stored.items()
    match tag:
        case "B":
            return {tag: codec.decode_any(stored)}
        case "BS":
            return {tag: list(codec.decode_any(stored))}
        case "L":
            return {tag: [to_boto3(element) for element in content]}
        case "M":
            return {tag: {name: to_boto3(member) for name, member in content.items()}}
        case _:
            return stored


# boto3 cannot read a plain number text of more than 38 digits, trailing zeros included.
@given(PLAIN | decimals().filter(lambda number: -10 < number.adjusted() < 27 and number.as_tuple().exponent > -28))
@quick
def test_stored_values_are_read_as_boto3_reads_them(value):
    stored = codec.encode_any(value)
    assert codec.decode_any(stored) == from_boto3(TypeDeserializer().deserialize(to_boto3(stored)))


@given(st.dictionaries(TEXTS.filter(bool), PLAIN, max_size=4))
@quick
def test_checked_size_of_an_item_is_its_size(value):
    item = {name: codec.encode_any(member) for name, member in value.items()}
    assert codec.check_item(item) == codec.item_size(item)
    assert codec.value_size({"M": item}) == 3 + len(item) + codec.item_size(item)
