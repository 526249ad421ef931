"""Times as parts of a key: fixed-width ISO 8601, datetimes in UTC, whole or down to a stated unit."""

from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, Final

from dynamap_async.codec import instant_text, parse_instant, refusal
from dynamap_async.errors import EncodeError
from dynamap_async.models.templates.declared import PatternError
from dynamap_async.models.templates.formats import PartFormat

# Unit -> characters of YYYY-MM-DDTHH:MM:SS.ffffff down to it.
_UNITS: Final = {"year": 4, "month": 7, "day": 10, "hour": 13, "minute": 16, "second": 19, "millisecond": 23}
UNITS_OF_TIMES: Final = tuple(reversed(_UNITS))
"""The units that a datetime may be cut off behind, finest first."""
_WITH_ZONE: Final = ("second", "millisecond")
_OF_DATES: Final = ("year", "month")
_MICROSECONDS: Final = 27
_DATE: Final = 10
_TIME: Final = 15


def time_format(kind: type[Any], form: str) -> PartFormat:
    """Return the format of a time.

    Args:
        kind: datetime, date or time.
        form: what stands behind the colon: the unit that the text ends with.

    Raises:
        PatternError: these times have no such unit.
    """
    units = tuple(_UNITS) if kind is datetime else _OF_DATES if kind is date else ()
    if form and form not in units:
        known = f"take one of {', '.join(units)}, or none for all of it" if units else "drop it"
        raise PatternError(f"has the form {form!r}, which a {kind.__name__} does not have; {known}")
    if kind is datetime:
        return _datetimes(form)
    if kind is date:
        end = _UNITS[form] if form else _DATE
        return PartFormat(
            label="date", write=partial(_date_text, end=end), read=date.fromisoformat, width=end, lossy=bool(form)
        )
    return PartFormat(label="time", write=_time_text, read=time.fromisoformat, width=_TIME)


def _datetimes(unit: str) -> PartFormat:
    if not unit:
        return PartFormat(label="datetime", write=_instant_text, read=parse_instant, width=_MICROSECONDS)
    end, zone = _UNITS[unit], "Z" if unit in _WITH_ZONE else ""
    return PartFormat(
        label="datetime",
        write=lambda value: _instant_text(value)[:end] + zone,
        read=lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),
        width=end + len(zone),
        lossy=True,
    )


def _instant_text(value: Any) -> str:
    if not isinstance(value, datetime):
        raise refusal("datetime", value)
    if value.utcoffset() is None:
        raise EncodeError(
            f"{value.isoformat()} has no UTC offset, so it has no place in the order of times; give it one, such as "
            "tzinfo=UTC"
        )
    return instant_text(value)


def _date_text(value: Any, *, end: int) -> str:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise refusal("date", value)
    return value.isoformat()[:end]


def _time_text(value: Any) -> str:
    if not isinstance(value, time):
        raise refusal("time", value)
    if value.tzinfo is not None:
        raise EncodeError(f"{value.isoformat()} has a zone, which a key does not keep; drop it")
    return value.isoformat("microseconds")
