"""The text forms of values in templated keys: numbers, times, enums and texts.

A plain number is short and does not sort: ``10`` stands before ``9``. A padded one does, up to the width that the
pattern states: ``{words:06d}``, or ``{price:09.2f}`` with the point and two decimals. With a sign, ``{heat:+06.1f}``,
one more digit stands in the sign's place, 1 from zero on and 0 below, and the digits of a negative number are those of
its distance from the lowest one, so that -2 stands before -1. ``{score:ordered}`` takes every number that DynamoDB can
store: sign, exponent and 38 digits, 42 characters in all, those of negative numbers complemented.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum
from functools import partial
from typing import Any, Final, Literal, Protocol, get_args, get_origin
from uuid import UUID

from pydantic import AwareDatetime, FutureDate, FutureDatetime, PastDate, PastDatetime

from dynamap_async.codec import (
    OwnText,
    StoredForm,
    TimePattern,
    TimeText,
    abbreviate,
    instant_text,
    number_text,
    parse_instant,
    refusal,
)
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError
from dynamap_async.limits import NUMBER_DIGITS
from dynamap_async.models.annotations import bare, is_kind_of, name_of, without_none
from dynamap_async.models.templates.pattern import PatternError


class Nearest(Protocol):
    """Finds the nearest value that has a text."""

    def __call__(self, value: Any, /, *, up: bool, itself: bool) -> Any:
        """Return the least such value above a value, or with ``up=False`` the greatest below it; None without one.

        With ``itself`` it may be the value.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFormat:
    """The text form of one part."""

    label: str
    """What the values are, as messages name them."""
    write: Callable[[Any], str]
    """Value -> text; raises EncodeError."""
    read: Callable[[str], Any]
    """Text -> value; raises ValueError, LookupError or ArithmeticError."""
    width: int | None = None
    """The number of characters that every text has; None if it varies."""
    sorts: bool = True
    """Whether the bytes of the texts have the order of the values."""
    lossy: bool = False
    """Whether several values make one text, so that it cannot be read back."""
    texts: frozenset[str] | None = None
    """All texts, where there are only a few: those of enums, literals and bools."""
    alphabet: str | None = None
    """All characters of the texts, where that is known; None for free text."""
    places: tuple[str, ...] | None = None
    """The characters that each place of the texts may have, where their width is known."""
    nearest: Nearest | None = None
    """Finds the nearest value that has a text, where not every value of the type has one."""

    @property
    def free(self) -> bool:
        """Whether a text may contain any character, so that separators in it have to be looked for."""
        return self.width is None and self.texts is None and self.alphabet is None


def _places(picture: str, *, digits: str = "0123456789") -> tuple[str, ...]:
    """Return the characters of each place of a text like this one, in which 0 stands for any digit."""
    return tuple(digits if each == "0" else each for each in picture)


_FORM: Final = re.compile(r"(?P<sign>\+?)0(?P<width>[1-9]\d*)(?:\.(?P<decimals>[1-9]\d*))?(?P<kind>[df]?)")
# DynamoDB's exponents go from -130 to 125; shifted, all of them have three digits without a sign.
_EXPONENT_SHIFT: Final = 500
_EXACT: Final = Context(prec=200)
# Nine's complement turns the order of digits around, as the order of negative numbers is.
_COMPLEMENTS: Final = str.maketrans("0123456789", "9876543210")


def number_format(kind: type[Any], form: str) -> PartFormat:
    """Return the format of a number.

    Args:
        kind: int, float or Decimal.
        form: what stands behind the colon.

    Raises:
        PatternError: numbers have no such form.
    """
    if not form:
        return PartFormat(
            label=kind.__name__,
            write=lambda value: number_text(_checked(kind, value)),
            read=kind,
            sorts=False,
            alphabet="-0123456789" if kind is int else "-.0123456789",
        )
    if form == "ordered":
        # The sign, three digits of the exponent, and all digits that DynamoDB keeps.
        width = 1 + 3 + NUMBER_DIGITS
        return PartFormat(
            label=kind.__name__,
            write=lambda value: _ordered(number_text(_checked(kind, value))),
            read=lambda text: kind(_from_ordered(text)),
            width=width,
            places=_places("0" * width),
        )
    return _padded(kind, form)


def _padded(kind: type[Any], form: str) -> PartFormat:
    found = _FORM.fullmatch(form)
    decimals = int(found["decimals"] or 0) if found else 0
    # A form with decimals for an int, or without them for another number, could not write every value.
    if found is None or (kind is int) != (not decimals) or found["kind"] not in ("", "f" if decimals else "d"):
        example = "06d, +07d" if kind is int else "09.2f, +010.2f"
        raise PatternError(
            f"has the form {form!r}, which does not fit {kind.__name__}; use one such as {example} (padded with "
            "zeros), ordered (any number, 42 characters), or none (short, but not in order)"
        )
    signed = bool(found["sign"])
    digits = int(found["width"]) - bool(decimals) - signed
    if digits <= decimals:
        raise PatternError(
            f"has the form {form!r}, whose width leaves no digit before the point; the width counts the sign, the "
            "point and all digits"
        )
    return PartFormat(
        label=kind.__name__,
        write=lambda value: _pad(_checked(kind, value), form, digits, decimals, signed=signed),
        read=lambda text: _unpad(kind, text, digits, decimals, signed=signed),
        width=int(found["width"]),
        places=_places(
            "0" * (int(found["width"]) - decimals - bool(decimals)) + ("." + "0" * decimals) * bool(decimals)
        ),
        nearest=partial(_nearest, kind, limits=(-(10**digits) if signed else 0, 10**digits - 1), decimals=decimals),
    )


def _checked(kind: type[Any], value: Any) -> Any:
    allowed: tuple[type[Any], ...] = (int,) if kind is int else (int, float, Decimal)
    if not isinstance(value, allowed) or isinstance(value, bool):
        raise refusal(kind.__name__, value)
    return value


def _pad(value: float | Decimal, form: str, digits: int, decimals: int, *, signed: bool) -> str:
    whole, _, fraction = number_text(value).partition(".")
    if len(fraction) > decimals:
        raise EncodeError(
            f"{abbreviate(value)} has more than the {decimals} decimals of its form {form!r}, so another number would "
            "make the same key; round it, or give the form more decimals"
        )
    scaled = int(whole + fraction.ljust(decimals, "0"))
    if value < 0 and not signed:
        raise EncodeError(
            f"{abbreviate(value)} is negative, and the form {form!r} has no place for a sign; begin the form with +, "
            "and make it one character wider"
        )
    limit = 10**digits
    if not -limit <= scaled < limit:
        raise EncodeError(f"{abbreviate(value)} does not fit into the form {form!r}; make the form wider")
    # Shifted by the limit, negative numbers begin with 0, the others with 1, and both sort as they count.
    text = f"{scaled + limit:0{digits + 1}d}" if signed else f"{scaled:0{digits}d}"
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text


def _nearest(kind: type[Any], value: Any, *, limits: tuple[int, int], decimals: int, up: bool, itself: bool) -> Any:
    """Return the nearest number that a padded form can write; None if there is none on that side."""
    number, (least, greatest) = Decimal(number_text(_checked(kind, value))), limits
    shifted = _EXACT.scaleb(number, decimals)
    scaled = int(shifted.to_integral_value(ROUND_CEILING if up else ROUND_FLOOR))
    if scaled == shifted and not itself:
        scaled += 1 if up else -1
    if scaled > greatest if up else scaled < least:
        return None
    return kind(_EXACT.scaleb(Decimal(max(scaled, least) if up else min(scaled, greatest)), -decimals))


def _unpad(kind: type[Any], text: str, digits: int, decimals: int, *, signed: bool) -> Any:
    scaled = int(text.replace(".", "", 1)) - (10**digits if signed else 0)
    return kind(Decimal(f"{scaled}e-{decimals}")) if decimals else kind(scaled)


def _ordered(text: str) -> str:
    number = Decimal(text)
    if not number:
        # Zero has no exponent. It stands before the smallest positive number, whose exponent is written as 370.
        return "1" + "0" * (3 + NUMBER_DIGITS)
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    body = f"{number.adjusted() + _EXPONENT_SHIFT:03d}{digits.ljust(NUMBER_DIGITS, '0')}"
    return "1" + body if number > 0 else "0" + body.translate(_COMPLEMENTS)


def _from_ordered(text: str) -> Decimal:
    sign, body = ("", text[1:]) if text[0] == "1" else ("-", text[1:].translate(_COMPLEMENTS))
    exponent, digits = int(body[:3]), body[3:]
    return Decimal(f"{sign}{digits[0]}.{digits[1:]}e{exponent - _EXPONENT_SHIFT}") if exponent else Decimal(0)


# Unit -> characters of YYYY-MM-DDTHH:MM:SS.ffffff down to it.
_UNITS: Final = {"year": 4, "month": 7, "day": 10, "hour": 13, "minute": 16, "second": 19, "millisecond": 23}
UNITS_OF_TIMES: Final = tuple(reversed(_UNITS))
"""The units that a datetime may be cut off behind, finest first."""
_WITH_ZONE: Final = ("second", "millisecond")
_OF_DATES: Final = ("year", "month")
_PICTURE: Final = "0000-00-00T00:00:00.000000"
_FIRST_DAY: Final = "0000-01-01"
"""What is added to a text that ends with the year or the month, by how much is missing."""
_DATE: Final = 10
_TIME: Final = _PICTURE[11:]


def time_format(kind: type[Any], form: str) -> PartFormat:
    """Return the format of a time.

    Args:
        kind: datetime, date or time.
        form: what stands behind the colon: the unit that the text ends with.

    Raises:
        PatternError: these times have no such unit.
    """
    if "%" in form:
        return _patterned(kind, form)
    # Not by identity: tests that stop the clock put classes of theirs in the place of these.
    of_datetimes, of_dates = issubclass(kind, datetime), issubclass(kind, date)
    units = tuple(_UNITS) if of_datetimes else _OF_DATES if of_dates else ()
    if form and form not in units:
        known = f"take one of {', '.join(units)}, or none for all of it" if units else "drop it"
        known += f", or write it out, such as {_EXAMPLES[kind]}"
        raise PatternError(f"has the form {form!r}, which does not fit {kind.__name__}; {known}")
    if of_datetimes:
        return _datetimes(form)
    if of_dates:
        end = _UNITS[form] if form else _DATE
        return PartFormat(
            label="date",
            write=partial(_date_text, end=end),
            read=lambda text: date.fromisoformat(text + _FIRST_DAY[len(text) :]),
            width=end,
            lossy=bool(form),
            places=_places(_PICTURE[:end]),
        )
    return PartFormat(label="time", write=_time_text, read=time.fromisoformat, width=len(_TIME), places=_places(_TIME))


_EXAMPLES: Final[dict[Any, str]] = {datetime: "%Y-%m-%dT%H:%M:%S", date: "%Y%m%d", time: "%H:%M"}
_PARTS_OF: Final[dict[Any, frozenset[str]]] = {
    date: frozenset(("year", "month", "day")),
    time: frozenset(("hour", "minute", "second", "microsecond")),
}
_WITHOUT_TIME: Final = (date,)
_PARTS: Final = _PARTS_OF[date] | _PARTS_OF[time]


def _patterned(kind: type[Any], form: str) -> PartFormat:
    """Return the format of times that are written by a pattern of directives."""
    pattern = TimePattern(form)
    try:
        parts = frozenset(pattern.parts)
    except ValueError as error:
        raise PatternError(f"has the form {form!r}: {error}") from None
    own = _PARTS_OF.get(kind, _PARTS)
    if not parts - {"millisecond"} <= own or (kind in _WITHOUT_TIME and "millisecond" in parts):
        example = _EXAMPLES[kind]
        raise PatternError(f"has the form {form!r}, and a {kind.__name__} does not have all of that; use {example}")
    return _of_pattern(kind, pattern, lossy=not parts >= own)


def _of_pattern(kind: type[Any], pattern: TimePattern, *, lossy: bool) -> PartFormat:
    places = _places(pattern.picture)
    return PartFormat(
        label=kind.__name__,
        write=pattern.write,
        read=lambda text: pattern.read(text, kind),
        width=len(places),
        sorts=pattern.sorts,
        lossy=lossy,
        places=places,
    )


def _datetimes(unit: str) -> PartFormat:
    if not unit:
        # Always in UTC and with six decimals, so that texts sort as the times do.
        picture = _PICTURE + "Z"
        return PartFormat(
            label="datetime", write=_instant_text, read=parse_instant, width=len(picture), places=_places(picture)
        )
    end, zone = _UNITS[unit], "Z" if unit in _WITH_ZONE else ""
    return PartFormat(
        label="datetime",
        write=lambda value: _instant_text(value)[:end] + zone,
        read=lambda text: datetime.fromisoformat(text + _FIRST_DAY[len(text) :]).replace(tzinfo=UTC),
        width=end + len(zone),
        lossy=True,
        places=_places(_PICTURE[:end] + zone),
    )


def _instant_text(value: Any) -> str:
    if not isinstance(value, datetime):
        raise refusal("datetime", value)
    if value.utcoffset() is None:
        raise EncodeError(
            f"{value.isoformat()} has no UTC offset, so its place in the order of times is unknown; add one, such as "
            "tzinfo=UTC"
        )
    return instant_text(value)


def _date_text(value: Any, *, end: int) -> str:
    # A datetime is a date to Python, but would lose its time here.
    if not isinstance(value, date) or isinstance(value, datetime):
        raise refusal("date", value)
    return date.isoformat(value)[:end]


def _time_text(value: Any) -> str:
    if not isinstance(value, time):
        raise refusal("time", value)
    if value.tzinfo is not None:
        raise EncodeError(f"{value.isoformat()} has a time zone, which a key does not keep; drop it")
    return time.isoformat(value, "microseconds")


_NUMBERS: Final = (int, float, Decimal)
_TIMES: Final[dict[Any, type[Any]]] = {
    datetime: datetime,
    AwareDatetime: datetime,
    PastDatetime: datetime,
    FutureDatetime: datetime,
    date: date,
    PastDate: date,
    FutureDate: date,
    time: time,
}
_CASES: Final[dict[str, Any]] = {"upper": str.upper, "lower": str.lower}
_UUID: Final = "00000000-0000-0000-0000-000000000000"


def format_of(annotation: Any, form: str, stored: StoredForm | None = None) -> PartFormat:
    """Return how the values of a type are written.

    Args:
        annotation: the field's type; None among its values is not written.
        form: what stands behind the colon in the pattern.
        stored: the field's other stored form, which the part follows where the pattern says no form of its own.

    Raises:
        PatternError: the type has no text form, or not this one.
    """
    kind = bare(without_none(bare(annotation)))
    if isinstance(stored, OwnText) and form:
        raise PatternError(f"has the form {form!r}, which does not fit {stored.name}, a text of its own; drop the form")
    if stored is not None and stored.tag == "S" and not form:
        return _as_stored(kind, stored)
    if (
        stored is not None
        and stored.tag == "N"
        and issubclass(_TIMES.get(kind, object), datetime)
        and _NUMBER_FORM.fullmatch(form)
    ):
        return _as_stored_number(stored, form)
    return _of_type(kind, form)


def _of_type(kind: Any, form: str) -> PartFormat:
    if get_origin(kind) is Literal:
        values = [value for value in get_args(kind) if value is not None]
        return _closed(name_of(kind), {each: each.value if isinstance(each, Enum) else each for each in values}, form)
    if is_kind_of(kind, Enum) and list(kind):
        return _closed(kind.__name__, {member: member.value for member in kind}, form, enum=kind)
    if kind is bool:
        return _closed("bool", {False: "false", True: "true"}, form)
    if kind in _NUMBERS:
        return number_format(kind, form)
    if kind in _TIMES:
        return time_format(_TIMES[kind], form)
    if kind is UUID:
        return _uuid(form)
    if kind is str:
        return _text(form)
    raise PatternError(
        f"is {name_of(kind)}, which has no text form that sorts and can be read back; use str, int, float, Decimal, "
        "bool, datetime, date, time, UUID, an enum, a Literal, or a type whose serializer says that it gives str"
    )


def _uuid(form: str) -> PartFormat:
    if form not in ("", *_CASES):
        raise PatternError(f"has the form {form!r}, which does not fit a UUID; use upper, lower or none")
    change = _CASES.get(form, str.lower)
    places = _places(_UUID, digits=change("0123456789abcdef"))
    return PartFormat(
        label="UUID", write=lambda value: change(_uuid_text(value)), read=UUID, width=len(_UUID), places=places
    )


_NUMBER_FORM: Final = re.compile(r"[+]?0[1-9][0-9]*d?|ordered")


def _as_stored(kind: Any, stored: StoredForm) -> PartFormat:
    """Return the format of a part that stands in the key as its field is stored, in text."""
    label = kind.__name__ if kind in _TIMES or kind is str else stored.name
    if isinstance(stored, TimeText):
        return _of_pattern(datetime, stored.pattern, lossy=False)
    if isinstance(stored, OwnText):
        return PartFormat(
            label=label,
            write=lambda value: _content(stored, value),
            read=stored.decode,
            width=None if stored.places is None else len(stored.places),
            sorts=stored.sorts,
            places=stored.places,
        )
    # The bytes of the texts are what DynamoDB compares of the attribute too, so that a key narrows as a filter does.
    return PartFormat(label=label, write=lambda value: _content(stored, value), read=stored.decode)


def _as_stored_number(stored: StoredForm, form: str) -> PartFormat:
    """Return the format of a time that stands in the key as the number that its field is stored as."""
    number = number_format(int, form)

    def write(value: Any) -> str:
        return number.write(int(_content(stored, value)))

    def read(text: str) -> Any:
        return stored.decode(number.read(text))

    return replace(number, label="datetime", write=write, read=read, nearest=None)


def _content(stored: StoredForm, value: Any) -> Any:
    """Return what a stored form converts a value to."""
    try:
        content = stored.encode(value)
    except EncodeError:
        raise
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise refusal(stored.name, value, str(error)) from error
    if stored.tag == "S" and not isinstance(content, str):
        raise refusal(stored.name, value)
    return content


def _text(form: str) -> PartFormat:
    if form in _CASES:
        change = _CASES[form]
        return PartFormat(
            label="str", write=lambda value: change(_checked_text(value)), read=str, sorts=False, lossy=True
        )
    if form:
        raise PatternError(f"has the form {form!r}, which does not fit text; use upper, lower or none")
    return PartFormat(label="str", write=_checked_text, read=str)


def _checked_text(value: Any) -> str:
    if not isinstance(value, str):
        raise refusal("str", value)
    # The str() of a text enum's member names the member; the key holds its value.
    return value.value if isinstance(value, Enum) else value


def _uuid_text(value: Any) -> str:
    if not isinstance(value, UUID):
        raise refusal("UUID", value)
    return str(value)


def _closed(label: str, values: Mapping[Any, Any], form: str, *, enum: type[Enum] | None = None) -> PartFormat:
    """Return the format of one of a few values.

    Args:
        label: the type's name.
        values: value as the program has it -> what of it is written: text, or a whole number.
        form: what stands behind the colon.
        enum: the enum of the values, if they are of one; a member may then be given by its value.
    """
    kinds: set[Any] = {type(value) for value in values.values()}
    if not kinds <= {str} and not kinds <= {int}:
        raise PatternError(f"is {label}, whose values are neither all text nor all whole numbers; use one of the two")
    if kinds == {str}:
        if form not in ("", *_CASES):
            raise PatternError(f"has the form {form!r}, which does not fit {label}; use upper, lower or none")
        texts: dict[Any, str] = {each: _CASES[form](value) if form else value for each, value in values.items()}
    else:
        write = number_format(int, form).write
        texts = {each: write(value) for each, value in values.items()}
    read = {text: value for value, text in texts.items()}
    widths = {len(text) for text in read}
    by_text = [values[read[text]] for text in sorted(read)]

    def text_of(value: Any) -> str:
        try:
            return texts[enum(value) if enum is not None else value]
        except (ValueError, LookupError, TypeError):
            raise refusal(label, value) from None

    # Upper or lower case can make one text of two values.
    lossy = len(read) < len(texts)
    return PartFormat(
        label=label,
        write=text_of,
        read=read.__getitem__,
        width=widths.pop() if len(widths) == 1 else None,
        sorts=not lossy and by_text == sorted(values.values()),
        lossy=lossy,
        texts=frozenset(read),
    )
