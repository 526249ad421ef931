"""Values as parts of a key: each form writes what the table says, and reads it back."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import Field

from dynamap_async.errors import EncodeError
from dynamap_async.models.templates import DeclaredTemplate, PatternError, make_template

ID = UUID("12345678-1234-5678-1234-56781234abcd")
AT = datetime(2024, 3, 9, 8, 7, 6, 543210, tzinfo=UTC)


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Level(IntEnum):
    LOW = 1
    HIGH = 12


class Mixed(Enum):
    TEXT = "a"
    NUMBER = 1


def part(annotation, form=""):
    return make_template(DeclaredTemplate(f"{{value:{form}}}" if form else "{value}"), {"value": annotation}).parts[0]


WRITTEN = [
    (str, "", "a b", "a b"),
    (str | None, "", "", ""),
    (Annotated[str, Field(max_length=3)], "", "ü", "ü"),
    (int, "", -7, "-7"),
    (int, "06d", 42, "000042"),
    (int, "06", 42, "000042"),
    (int, "+06d", 42, "100042"),
    (int, "+06d", -42, "099958"),
    (int, "+06d", 0, "100000"),
    (Decimal, "", Decimal("1.50"), "1.5"),
    (Decimal, "09.2f", Decimal("12.5"), "000012.50"),
    (Decimal, "+09.2f", Decimal("-0.5"), "099999.50"),
    (float, "07.3f", 1.25, "001.250"),
    (int, "ordered", 0, "1" + "0" * 41),
    (int, "ordered", 120, "1502" + "12" + "0" * 36),
    (float, "ordered", -0.5, "0500" + "4" + "9" * 37),
    (bool, "", True, "true"),
    (Size, "", Size.LARGE, "l"),
    (Size, "upper", Size.LARGE, "L"),
    (Level, "03d", Level.HIGH, "012"),
    (Literal["on", "off"], "", "off", "off"),
    (Literal[Size.SMALL, Size.LARGE], "upper", Size.LARGE, "L"),
    (Literal[Level.LOW, Level.HIGH], "03d", Level.HIGH, "012"),
    (datetime, "", AT, "2024-03-09T08:07:06.543210Z"),
    (datetime, "", AT.astimezone(timezone(timedelta(hours=5))), "2024-03-09T08:07:06.543210Z"),
    (date, "", date(987, 1, 2), "0987-01-02"),
    (time, "", time(8, 7), "08:07:00.000000"),
    (UUID, "", ID, "12345678-1234-5678-1234-56781234abcd"),
]


@pytest.mark.parametrize(("annotation", "form", "value", "text"), WRITTEN)
def test_a_value_is_written_so_and_read_back(annotation, form, value, text):
    made = part(annotation, form)
    assert made.text(value) == text
    assert made.value(text) == value
    assert type(made.value(text)) is type(value)


LOSSY = [
    (str, "upper", "Ann", "ANN"),
    (str, "lower", "Ann", "ann"),
    (datetime, "year", AT, "2024"),
    (datetime, "month", AT, "2024-03"),
    (datetime, "day", AT, "2024-03-09"),
    (datetime, "hour", AT, "2024-03-09T08"),
    (datetime, "minute", AT, "2024-03-09T08:07"),
    (datetime, "second", AT, "2024-03-09T08:07:06Z"),
    (datetime, "millisecond", AT, "2024-03-09T08:07:06.543Z"),
    (date, "month", date(2024, 3, 9), "2024-03"),
]


@pytest.mark.parametrize(("annotation", "form", "value", "text"), LOSSY)
def test_a_form_that_cuts_off_is_known_not_to_be_read_back(annotation, form, value, text):
    made = part(annotation, form)
    assert made.text(value) == text
    assert made.format.lossy


CUT_TIMES = [each for each in LOSSY if each[0] is not str]


@pytest.mark.parametrize(("annotation", "form", "value", "text"), CUT_TIMES)
def test_a_time_that_is_cut_off_is_read_as_the_first_of_those_that_are_written_so(annotation, form, value, text):
    made = part(annotation, form)
    first = made.value(text)
    assert first <= value
    assert made.text(first) == text


REFUSED = [
    (int, "03d", 1000, "does not fit into the form '03d'; make the form wider"),
    (int, "03d", -1, r"is negative.*the form with"),
    (int, "+03d", -101, "make the form wider"),
    (Decimal, "06.2f", Decimal("0.123"), "more than the 2 decimals"),
    (float, "ordered", float("inf"), "cannot be stored as a number"),
    (int, "", True, "int"),
    (int, "", "7", "int"),
    (str, "", 7, "str"),
    (Size, "", "xl", "Size"),
    (Literal["on", "off"], "", "of", "on"),
    (datetime, "", datetime(2024, 1, 1), "no UTC offset"),  # noqa: DTZ001 - the point of it
    (datetime, "", date(2024, 1, 1), "datetime"),
    (date, "", AT, "date"),
    (time, "", time(1, tzinfo=UTC), "zone"),
    (time, "", "08:00", "time"),
    (UUID, "", str(ID), "UUID"),
]


@pytest.mark.parametrize(("annotation", "form", "value", "problem"), REFUSED)
def test_a_value_that_does_not_fit_is_refused_with_the_field(annotation, form, value, problem):
    with pytest.raises(EncodeError, match=problem) as caught:
        part(annotation, form).text(value)
    assert caught.value.path == ("value",)


WRONG = [
    (int, "6d", "form '6d'"),
    (int, "06.2f", "form '06.2f'"),
    (int, "x", "use one such as 06d"),
    (Decimal, "06d", r"use one such as 09.2f"),
    (Decimal, "03.2f", "no digit before the point"),
    (str, "06d", "upper, lower or none"),
    (datetime, "week", "take one of year"),
    (date, "hour", "take one of year, month"),
    (time, "hour", "drop it"),
    (UUID, "hex", "upper, lower or none"),
    (Size, "03d", "upper, lower or none"),
    (Mixed, "", "all text nor all whole numbers"),
    (bytes, "", "is bytes, which has no text form"),
    (list[str], "", "no text form"),
    (int | str, "", "no text form"),
    (timedelta, "", "use str, int"),
]


@pytest.mark.parametrize(("annotation", "form", "problem"), WRONG)
def test_a_form_that_the_type_does_not_have_is_refused(annotation, form, problem):
    with pytest.raises(PatternError, match=problem):
        part(annotation, form)
