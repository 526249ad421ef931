"""Converters of values without parts: text, numbers, bytes, dates, UUIDs, secrets.

``exact=True`` decodes to the Python type itself. ``exact=False`` hands over the stored text where Pydantic's lax mode
parses it, which is faster: never inside unions, sets or strict models.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from dynamap_async.codec.converter import Converter, Decode, Description
from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.instants import (
    check_no_number,
    duration_text,
    is_naive,
    parse_date,
    parse_duration,
    parse_instant,
    parse_time,
    utc_text,
    zoned_text,
    zoneless_text,
)
from dynamap_async.codec.numbers import USUAL_INTEGER, number_text
from dynamap_async.codec.plain import binary_text, parse_binary
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.wire import AttributeValue, Tag

STORED_TEXT: Final[Decode] = itemgetter("S")
"""Decodes a text value to its text."""

STORED_NUMBER: Final[Decode] = itemgetter("N")
"""Decodes a number to its text."""

STORED_BOOLEAN: Final[Decode] = itemgetter("BOOL")
"""Decodes a bool."""

AS_STORED: Final[Mapping[Decode, Tag]] = {STORED_TEXT: "S", STORED_NUMBER: "N", STORED_BOOLEAN: "BOOL"}
"""Decoders that give what is stored -> its type."""

_TEXT: Final[frozenset[Tag]] = frozenset(("S",))
_NUMBER: Final[frozenset[Tag]] = frozenset(("N",))
_BINARY: Final[frozenset[Tag]] = frozenset(("B",))
_BOOLEAN: Final[frozenset[Tag]] = frozenset(("BOOL",))
_NULL: Final[frozenset[Tag]] = frozenset(("NULL",))


def text() -> Converter:
    """Return the converter of str."""
    return Converter(
        label="str",
        tags=_TEXT,
        encode=encode_text,
        decode=STORED_TEXT,
        types=(str,),
        description=Description("text", str),
    )


def integer(*, exact: bool = True) -> Converter:
    """Return the converter of int; it refuses bool."""
    return Converter(
        label="int",
        tags=_NUMBER,
        encode=_encode_integer,
        decode=_made("N", int) if exact else STORED_NUMBER,
        types=(int,),
        description=Description("integer", int, int if exact else None),
    )


def decimal(*, exact: bool = True) -> Converter:
    """Return the converter of Decimal; it takes int too. The scale is not kept: 1.50 comes back as 1.5."""
    return Converter(
        label="Decimal",
        tags=_NUMBER,
        encode=_encode_decimal,
        decode=_made("N", Decimal) if exact else STORED_NUMBER,
        types=(Decimal, int),
        description=Description("decimal", Decimal, Decimal if exact else None),
    )


def floating(*, exact: bool = True) -> Converter:
    """Return the converter of float; it takes int too."""
    return Converter(
        label="float",
        tags=_NUMBER,
        encode=_encode_floating,
        decode=_made("N", float) if exact else STORED_NUMBER,
        types=(float, int),
        description=Description("floating", float, float if exact else None),
    )


def boolean() -> Converter:
    """Return the converter of bool."""
    return Converter(
        label="bool",
        tags=_BOOLEAN,
        encode=_encode_boolean,
        decode=STORED_BOOLEAN,
        types=(bool,),
        description=Description("boolean", bool),
    )


def binary(kind: type[bytes | bytearray] = bytes) -> Converter:
    """Return the converter of bytes or bytearray; it takes either.

    Args:
        kind: the type to give back.
    """
    make: Callable[[str], Any] = parse_binary if kind is bytes else _parse_bytearray
    return Converter(
        label=kind.__name__,
        tags=_BINARY,
        encode=_encode_binary,
        decode=_made("B", make),
        types=(bytes, bytearray),
        description=Description("binary", bytes, make),
    )


def null() -> Converter:
    """Return the converter of None."""
    return Converter(label="None", tags=_NULL, encode=_encode_null, decode=_decode_null, types=(type(None),))


def instant(*, exact: bool = True, zoned: bool = True) -> Converter:
    """Return the converter of datetime: fixed-width UTC text whose byte order is time order.

    The text of a time without a zone never equals, nor orders with, that of one with a zone. So of each field all times
    that are written have one, or none has.

    Args:
        exact: give back a datetime, not the text.
        zoned: whether the times have a time zone.
    """
    return Converter(
        label="datetime",
        tags=_TEXT,
        encode=_encode_aware if zoned else _encode_naive,
        decode=_made("S", parse_instant) if exact else _decode_dated,
        types=(datetime.datetime,),
        description=Description("instant", datetime.datetime if zoned else None, parse_instant if exact else None),
    )


def date(*, exact: bool = True) -> Converter:
    """Return the converter of date; it refuses datetime."""
    return Converter(
        label="date",
        tags=_TEXT,
        encode=_encode_date,
        decode=_made("S", parse_date) if exact else _decode_dated,
        types=(datetime.date,),
        description=Description("date", datetime.date, parse_date if exact else None),
    )


def time(*, exact: bool = True) -> Converter:
    """Return the converter of time."""
    return Converter(
        label="time",
        tags=_TEXT,
        encode=_encode_time,
        decode=_made("S", parse_time) if exact else STORED_TEXT,
        types=(datetime.time,),
        description=Description("text", None, parse_time if exact else None),
    )


def duration() -> Converter:
    """Return the converter of timedelta: a number of seconds, exact to the microsecond."""
    return Converter(
        label="timedelta",
        tags=_NUMBER,
        encode=_encode_duration,
        decode=_made("N", parse_duration),
        types=(datetime.timedelta,),
        description=Description("decimal", None, parse_duration),
    )


def uuid(*, exact: bool = True) -> Converter:
    """Return the converter of UUID: its text with hyphens."""
    return Converter(
        label="UUID",
        tags=_TEXT,
        encode=_encode_uuid,
        decode=_made("S", UUID) if exact else STORED_TEXT,
        types=(UUID,),
        description=Description("uuid", UUID, UUID if exact else None),
    )


def secret(inner: Converter, wrap: Callable[[Any], Any] | None = None) -> Converter:
    """Return the converter of a secret: any object whose ``get_secret_value()`` reveals what is stored.

    No message ever shows the value.

    Args:
        inner: the converter of the revealed value.
        wrap: makes the secret again on reading; None gives the revealed value.
    """
    label = f"secret {inner.label}"
    encode_revealed, decode_revealed = inner.encode, inner.decode

    def encode(value: Any) -> AttributeValue:
        reveal = getattr(value, "get_secret_value", None)
        if reveal is None:
            raise EncodeError(f"{label} expected, got {type(value).__name__}")
        try:
            return encode_revealed(reveal())
        except EncodeError:
            raise EncodeError(f"expected {label}, got a secret that holds something else") from None

    def decode(value: Any) -> Any:
        revealed = decode_revealed(value)
        return revealed if wrap is None else wrap(revealed)

    return Converter(label=label, tags=inner.tags, encode=encode, decode=decode)


def fits_keys(converter: Converter) -> bool:
    """Return whether no value of a type has to be checked before it is stored as a key: none is empty or too long."""
    return converter.tags == _NUMBER or converter.encode in _FIXED_WIDTH


def encode_text(value: Any) -> AttributeValue:
    """Encode a text."""
    if type(value) is str:
        return {"S": value}
    if isinstance(value, str):
        return {"S": str.__str__(value)}
    raise refusal("str", value)


def _encode_integer(value: Any) -> AttributeValue:
    if type(value) is int and -USUAL_INTEGER < value < USUAL_INTEGER:
        return {"N": str(value)}
    if isinstance(value, int) and value is not True and value is not False:
        return {"N": number_text(value)}
    raise refusal("int", value)


def _encode_decimal(value: Any) -> AttributeValue:
    if isinstance(value, Decimal | int) and value is not True and value is not False:
        return {"N": number_text(value)}
    raise refusal("Decimal or int", value)


def _encode_floating(value: Any) -> AttributeValue:
    if isinstance(value, float | int) and value is not True and value is not False:
        return {"N": number_text(value)}
    raise refusal("float or int", value)


def _encode_boolean(value: Any) -> AttributeValue:
    if value is True or value is False:
        return {"BOOL": value}
    raise refusal("bool", value)


def _encode_binary(value: Any) -> AttributeValue:
    if isinstance(value, bytes | bytearray):
        return {"B": binary_text(value)}
    raise refusal("bytes", value)


def _encode_null(value: Any) -> AttributeValue:
    if value is None:
        return {"NULL": True}
    raise refusal("None", value)


def _encode_aware(value: Any) -> AttributeValue:
    if type(value) is datetime.datetime and value.tzinfo is datetime.UTC:
        return {"S": utc_text(value)}
    if isinstance(value, datetime.datetime):
        return {"S": zoned_text(value)}
    raise refusal("datetime", value)


def _encode_naive(value: Any) -> AttributeValue:
    if not isinstance(value, datetime.datetime):
        raise refusal("datetime", value)
    if not is_naive(value):
        raise refusal(
            "datetime without a time zone",
            value,
            "the field is annotated NaiveDatetime; drop tzinfo, or annotate it AwareDatetime",
        )
    return {"S": zoneless_text(value)}


def _encode_date(value: Any) -> AttributeValue:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return {"S": datetime.date.isoformat(value)}
    raise refusal("date", value)


def _encode_time(value: Any) -> AttributeValue:
    if isinstance(value, datetime.time):
        return {"S": datetime.time.isoformat(value)}
    raise refusal("time", value)


def _encode_duration(value: Any) -> AttributeValue:
    if isinstance(value, datetime.timedelta):
        return {"N": duration_text(value)}
    raise refusal("timedelta", value)


def _encode_uuid(value: Any) -> AttributeValue:
    if isinstance(value, UUID):
        return {"S": str(value)}
    raise refusal("UUID", value)


_FIXED_WIDTH: Final = frozenset((_encode_aware, _encode_naive, _encode_date, _encode_uuid))


def _parse_bytearray(text: str) -> bytearray:
    return bytearray(parse_binary(text))


def _decode_null(value: Any) -> None:
    if value["NULL"] is not True:
        raise DecodeError("stored NULL value is not true")


def _decode_dated(value: Any) -> str:
    return check_no_number(value["S"])


def _made(tag: Tag, make: Callable[[str], Any]) -> Decode:
    def decode(value: Any) -> Any:
        return make(value[tag])

    return decode
