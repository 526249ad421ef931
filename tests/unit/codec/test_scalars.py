import enum
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from dynamap_async import codec
from dynamap_async.errors import EncodeError


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Name(str):
    __slots__ = ()


class Secret:
    def __init__(self, value):
        self.value = value

    def get_secret_value(self):
        return self.value


ID = UUID("12345678-1234-5678-1234-567812345678")
NAIVE = datetime(2024, 1, 2)  # noqa: DTZ001 - naive on purpose
AWARE = NAIVE.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("converter", "value", "stored"),
    [
        (codec.text(), "é", {"S": "é"}),
        (codec.integer(), -7, {"N": "-7"}),
        (codec.decimal(), Decimal("1.5"), {"N": "1.5"}),
        (codec.floating(), 0.1, {"N": "0.1"}),
        (codec.boolean(), False, {"BOOL": False}),
        (codec.binary(), b"\x00", {"B": "AA=="}),
        (codec.binary(bytearray), bytearray(b"\x00"), {"B": "AA=="}),
        (codec.null(), None, {"NULL": True}),
        (codec.instant(), AWARE, {"S": "2024-01-02T00:00:00.000000Z"}),
        (codec.instant(zoned=False), NAIVE, {"S": "2024-01-02T00:00:00.000000"}),
        (codec.date(), date(2024, 1, 2), {"S": "2024-01-02"}),
        (codec.time(), time(1, 2, 3, 4), {"S": "01:02:03.000004"}),
        (codec.duration(), timedelta(milliseconds=1500), {"N": "1.5"}),
        (codec.uuid(), ID, {"S": str(ID)}),
        (codec.enum_of(Color, codec.text()), Color.RED, {"S": "red"}),
        (codec.enum_of(Level, codec.integer()), Level.LOW, {"N": "1"}),
        (codec.enum_of(Rights, codec.integer()), Rights.READ | Rights.WRITE, {"N": "3"}),
        (codec.literal_of(["a", 1, True, None]), "a", {"S": "a"}),
        (codec.literal_of(["a", 1, True, None]), 1, {"N": "1"}),
        (codec.literal_of(["a", 1, True, None]), True, {"BOOL": True}),
        (codec.literal_of(["a", 1, True, None]), None, {"NULL": True}),
        (codec.literal_of([Color.RED]), Color.RED, {"S": "red"}),
    ],
)
def test_value_has_its_stored_form_and_comes_back_as_its_type(converter, value, stored):
    assert converter.encode(value) == stored
    assert set(stored) <= converter.tags
    assert isinstance(value, converter.types)
    back = converter.decode(stored)
    assert (back, type(back)) == (value, type(value))


@pytest.mark.parametrize(
    ("converter", "value", "stored"),
    [
        (codec.decimal(), 5, {"N": "5"}),
        (codec.floating(), 5, {"N": "5"}),
        (codec.integer(), Level.LOW, {"N": "1"}),
        (codec.binary(), bytearray(b"\x00"), {"B": "AA=="}),
        (codec.enum_of(Color, codec.text()), "red", {"S": "red"}),
        (codec.enum_of(Level, codec.integer()), 1, {"N": "1"}),
        (codec.literal_of([Color.RED, Level.LOW]), "red", {"S": "red"}),
        (codec.literal_of([Color.RED, Level.LOW]), 1, {"N": "1"}),
        (codec.secret(codec.text()), Secret("hush"), {"S": "hush"}),
        (codec.secret(codec.binary()), Secret(b"hush"), {"B": "aHVzaA=="}),
    ],
)
def test_value_that_a_type_takes_besides_its_own_is_stored(converter, value, stored):
    assert converter.encode(value) == stored


@pytest.mark.parametrize(
    ("converter", "value", "message"),
    [
        (codec.text(), 5, "str expected, got int 5"),
        (codec.text(), None, "str expected, got None"),
        (codec.integer(), "x", "int expected, got str 'x'"),
        (codec.integer(), "5", "int expected, got str '5'"),
        (codec.integer(), True, "int expected, got bool True"),
        (codec.integer(), 5.0, "int expected, got float 5.0"),
        (codec.decimal(), 5.0, "Decimal or int expected, got float 5.0"),
        (codec.decimal(), True, "Decimal or int expected, got bool True"),
        (codec.floating(), True, "float or int expected, got bool True"),
        (codec.floating(), Decimal(1), "float or int expected, got Decimal Decimal('1')"),
        (codec.boolean(), 1, "bool expected, got int 1"),
        (codec.binary(), "a", "bytes expected, got str 'a'"),
        (codec.null(), 0, "None expected, got int 0"),
        (codec.instant(), date(2024, 1, 2), "datetime expected, got date datetime.date(2024, 1, 2)"),
        (codec.instant(), NAIVE, "datetime with a time zone expected"),
        (codec.instant(zoned=False), "2024", "datetime expected, got str '2024'"),
        (codec.date(), AWARE, "date expected, got datetime"),
        (codec.time(), AWARE, "time expected, got datetime"),
        (codec.duration(), 5, "timedelta expected, got int 5"),
        (codec.uuid(), str(ID), "UUID expected, got str '12345678"),
        (codec.enum_of(Color, codec.text()), "blue", "Color expected, got str 'blue'; use a member of Color"),
        (codec.enum_of(Level, codec.integer()), True, "Level expected, got bool True"),
        (codec.literal_of([Level.LOW]), True, "Literal[<Level.LOW: 1>] expected, got bool True"),
        (codec.literal_of([Color.RED]), "blue", "Literal[<Color.RED: 'red'>] expected, got str 'blue'"),
        (codec.literal_of(["a", 1]), "b", "Literal['a', 1] expected, got str 'b'"),
        (codec.literal_of(["a", 1]), True, "Literal['a', 1] expected, got bool True"),
        (codec.literal_of(["a", 1]), ["a"], "Literal['a', 1] expected, got list ['a']"),
        (codec.text(), [1] * 1000, "str expected, got list [1, 1, 1, 1, 1, 1, ...]"),
    ],
)
def test_value_of_another_type_is_refused_and_never_coerced(converter, value, message):
    with pytest.raises(EncodeError) as caught:
        converter.encode(value)
    assert str(caught.value).startswith(message)


def test_text_of_a_subclass_is_stored_as_plain_text():
    stored = codec.text().encode(Name("ada"))
    assert (stored, type(stored["S"])) == ({"S": "ada"}, str)


def test_long_values_are_abbreviated_in_messages():
    with pytest.raises(EncodeError) as caught:
        codec.integer().encode("x" * 1000)
    assert len(str(caught.value)) < 80


@pytest.mark.parametrize("value", ["hush", Secret(5)])
def test_refused_secret_is_not_shown(value):
    with pytest.raises(EncodeError) as caught:
        codec.secret(codec.text()).encode(value)
    assert "hush" not in str(caught.value)
    assert "5" not in str(caught.value)


def test_secret_reads_as_its_text_or_wrapped_again():
    assert codec.secret(codec.text()).decode({"S": "hush"}) == "hush"
    assert codec.secret(codec.text(), Secret).decode({"S": "hush"}).value == "hush"


@pytest.mark.parametrize(
    ("converter", "stored", "raw"),
    [
        (codec.integer(exact=False), {"N": "5"}, "5"),
        (codec.decimal(exact=False), {"N": "5"}, "5"),
        (codec.floating(exact=False), {"N": "5"}, "5"),
        (codec.instant(exact=False), {"S": "2024-01-02T00:00:00Z"}, "2024-01-02T00:00:00Z"),
        (codec.date(exact=False), {"S": "2024-01-02"}, "2024-01-02"),
        (codec.time(exact=False), {"S": "01:02:03"}, "01:02:03"),
        (codec.uuid(exact=False), {"S": str(ID)}, str(ID)),
        (codec.enum_of(Level, codec.integer(), exact=False), {"N": "1"}, 1),
    ],
)
def test_inexact_decoding_leaves_the_parsing_to_pydantic(converter, stored, raw):
    assert converter.decode(stored) == raw


@pytest.mark.parametrize(
    ("converter", "stored"),
    [
        (codec.text(), {"N": "5"}),
        (codec.integer(), {"N": "1.5"}),
        (codec.integer(), {"S": "5"}),
        (codec.decimal(), {"N": "x"}),
        (codec.binary(), {"B": "*"}),
        (codec.null(), {"NULL": False}),
        (codec.instant(), {"S": "yesterday"}),
        (codec.duration(), {"N": "x"}),
        (codec.duration(), {"N": "1" * 30}),
        (codec.uuid(), {"S": "x"}),
        (codec.enum_of(Color, codec.text()), {"S": "blue"}),
        (codec.literal_of(["a"]), {"S": "b"}),
        (codec.literal_of(["a"]), {"SS": ["a"]}),
    ],
)
def test_misfit_on_reading_raises_what_the_contract_allows(converter, stored):
    with pytest.raises(codec.DECODE_ERRORS):
        converter.decode(stored)


def test_scalar_has_no_parts_and_no_members():
    assert codec.text().step("a") is None
    assert codec.text().member is None
    assert repr(codec.text()) == "<Converter str>"
    assert codec.text().document is False
