"""Dates, times and durations as stored text and numbers.

An aware datetime is stored in UTC in a fixed width, so that the order of the bytes is the order of time; which zone
it was written in is not kept. A naive one is stored as it is, without the ``Z``, where times have no zone, and where it
was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

from pydantic_core import to_json

from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.numbers import parse_number, whole_millionths
from dynamap_async.errors import DecodeError, EncodeError

ZONELESS: Final[ContextVar[Callable[[str], str | None]]] = ContextVar(
    "dynamap_async_zoneless", default=lambda _text: None
)
"""Gives the text of a time without a zone as it is stored already, and may be stored again; None of any other."""

_BASES: Final = tuple(kind for kind in datetime.__mro__ if kind.__module__ == "datetime")
"""The class itself, and date: what is imported while a test has stopped the clock is a subclass."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
_NAIVE_WIDTH: Final = 26
_NUMBER: Final = re.compile(r"[+-]?[0-9.]+")
_UTC_JSON: Final = _NAIVE_WIDTH + len('"Z"')


def is_naive(value: datetime) -> bool:
    """Return whether a datetime has no UTC offset."""
    return value.utcoffset() is None


def base_time(value: datetime) -> datetime:
    """Return a datetime as one of the class itself: subclasses calculate and print in ways of their own."""
    # In a tuple, because tests that stop the clock put a class of theirs in the place of each such name.
    base = _BASES[0]
    if type(value) is base:
        return value
    day = value.year, value.month, value.day
    made: datetime = base(
        *day, value.hour, value.minute, value.second, value.microsecond, value.tzinfo, fold=value.fold
    )
    return made


def instant_text(value: datetime) -> str:
    """Return ``YYYY-MM-DDTHH:MM:SS.ffffff``, followed by ``Z`` and converted to UTC if the datetime is aware.

    Raises:
        EncodeError: the UTC time is before year 1 or after year 9999.
    """
    if value.tzinfo is UTC:
        return utc_text(value)
    value = base_time(value)
    offset = value.utcoffset()
    if offset is None:
        return _fixed_width(value.replace(tzinfo=None))  # a time zone that does not know it is naive too
    try:
        # UTC has other names: what Pydantic reads has one of its own.
        return utc_text(value.astimezone(UTC) if offset else value)
    except OverflowError as error:
        raise EncodeError(
            f"{value.isoformat()} is outside the years 1 to 9999 in UTC; use a time within them"
        ) from error


def zoned_text(value: datetime) -> str:
    """Return the text of a datetime that must have a zone, unless ``ZONELESS`` has it.

    Raises:
        EncodeError: it has none; or as for ``instant_text``.
    """
    text = instant_text(value)
    if text[-1] == "Z":
        return text
    stored = ZONELESS.get()(text)
    if stored is None:
        raise refusal(
            "datetime with a time zone",
            value,
            "stored times have one; add tzinfo=UTC, or annotate the field NaiveDatetime if its times have none",
        )
    return stored


def zoneless_text(value: datetime) -> str:
    """Return the text of a datetime without a zone: that of ``ZONELESS``, if it has one."""
    text = instant_text(value)
    return ZONELESS.get()(text) or text


def utc_text(value: datetime) -> str:
    """Return the text of a datetime whose offset is zero, whatever its zone is called."""
    if type(value) is not _BASES[0]:
        value = base_time(value)
    text = to_json(value)  # a third of what isoformat costs (benchmarks: encode)
    return text[1:-1].decode() if len(text) == _UTC_JSON else text[1:-2].decode() + ".000000Z"


def _fixed_width(value: datetime) -> str:
    text = to_json(value)[1:-1].decode()  # half of what isoformat costs (benchmarks: encode)
    return text if len(text) == _NAIVE_WIDTH else text + ".000000"


def check_no_number(text: str) -> str:
    """Return the text of a date or time as it is.

    Raises:
        DecodeError: it is a number, which Pydantic takes for the seconds since 1970, and others for digits of a date.
    """
    if text[4:5] != "-" and _NUMBER.fullmatch(text):
        raise DecodeError(
            f"the stored text {text!r} is a number, not a time in ISO 8601; say which times are stored so by "
            'attr(stored_as=...), such as time_text("%Y%m%d") or a StoredForm'
        )
    return text


def parse_instant(text: str) -> datetime:
    """Return the datetime of an ISO 8601 text with hyphens; aware if it has an offset or ``Z``."""
    return datetime.fromisoformat(check_no_number(text))


def parse_date(text: str) -> date:
    """Return the date of ``YYYY-MM-DD``."""
    return date.fromisoformat(check_no_number(text))


def parse_time(text: str) -> time:
    """Return the time of an ISO 8601 time of day with colons."""
    return time.fromisoformat(check_no_number(text))


def duration_text(value: timedelta) -> str:
    """Return a duration's seconds as number text, exact to the microsecond."""
    number = timedelta.__floordiv__(value, _MICROSECOND)  # subclasses divide in ways of their own
    sign, microseconds = ("-", -number) if number < 0 else ("", number)
    seconds, rest = divmod(microseconds, 1_000_000)
    if not rest:
        return f"{sign}{seconds}"
    return f"{sign}{seconds}.{rest:06d}".rstrip("0")


def parse_duration(text: str) -> timedelta:
    """Return the duration of number text in seconds; what is under a microsecond is cut off towards the past."""
    return timedelta(microseconds=whole_millionths(parse_number(text)))


def to_epoch_seconds(value: datetime) -> int:
    """Return the whole seconds since 1970 of an aware datetime, cut off towards the past."""
    return (base_time(value) - _EPOCH) // _SECOND


def to_epoch_milliseconds(value: datetime) -> int:
    """Return the whole milliseconds since 1970 of an aware datetime, cut off towards the past."""
    return (base_time(value) - _EPOCH) // _MILLISECOND


def from_epoch_seconds(number: int | Decimal) -> datetime:
    """Return the UTC datetime of a number of seconds since 1970."""
    return _EPOCH + timedelta(microseconds=whole_millionths(number))


def from_epoch_milliseconds(number: int | Decimal) -> datetime:
    """Return the UTC datetime of a number of milliseconds since 1970."""
    return _EPOCH + timedelta(microseconds=whole_millionths(number) // 1_000)
