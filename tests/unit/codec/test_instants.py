from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from dynamap_async.codec.instants import (
    duration_text,
    from_epoch_milliseconds,
    from_epoch_seconds,
    instant_text,
    parse_duration,
    parse_instant,
    to_epoch_milliseconds,
    to_epoch_seconds,
)
from dynamap_async.errors import EncodeError

INDIA = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05.000000Z"),
        (datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=INDIA), "2024-01-01T21:34:05.000006Z"),
        (datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05.000000"),  # noqa: DTZ001 - naive on purpose
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_datetime_is_stored_in_fixed_width_utc(value, text):
    assert instant_text(value) == text
    assert parse_instant(text) == value


@pytest.mark.parametrize("microsecond", [0, 1, 1000, 123_456, 999_999])
@pytest.mark.parametrize("year", [1, 999, 1969, 2024, 9999])
def test_every_instant_has_the_width_of_isoformat(year, microsecond):
    value = datetime(year, 12, 31, 23, 59, 58, microsecond)  # noqa: DTZ001 - naive on purpose
    assert instant_text(value) == value.isoformat("T", "microseconds")
    assert instant_text(value.replace(tzinfo=UTC)) == value.isoformat("T", "microseconds") + "Z"


def test_a_subclass_of_datetime_is_stored_as_a_datetime():
    class Moment(datetime):
        pass

    assert instant_text(Moment(2024, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2024-01-02T03:04:05.000000Z"
    assert instant_text(Moment(2024, 1, 2, 3, 4, 5, tzinfo=INDIA)) == "2024-01-01T21:34:05.000000Z"


def test_instant_outside_the_calendar_in_utc_is_refused():
    with pytest.raises(EncodeError, match="outside the years 1 to 9999 in UTC"):
        instant_text(datetime(1, 1, 1, tzinfo=INDIA))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(0), "0"),
        (timedelta(days=1), "86400"),
        (timedelta(microseconds=1), "0.000001"),
        (timedelta(microseconds=-1), "-0.000001"),
        (timedelta(seconds=-1.5), "-1.5"),
        (timedelta(seconds=10), "10"),
        (timedelta.max, "86399999999999.999999"),
        (timedelta.min, "-86399999913600"),
    ],
)
def test_duration_is_stored_as_exact_seconds(value, text):
    assert duration_text(value) == text
    assert parse_duration(text) == value


def test_epoch_seconds_are_cut_off_towards_the_past():
    assert to_epoch_seconds(datetime(1970, 1, 1, 0, 0, 1, 999_999, tzinfo=UTC)) == 1
    assert to_epoch_seconds(datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=UTC)) == -1
    assert to_epoch_milliseconds(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


def test_epoch_numbers_read_exactly_fractions_included():
    assert from_epoch_seconds(Decimal("1.000001")) == datetime(1970, 1, 1, 0, 0, 1, 1, tzinfo=UTC)
    assert from_epoch_seconds(253_402_300_799) == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert from_epoch_milliseconds(1_500) == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
