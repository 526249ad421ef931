"""Converters of values without parts: text, numbers, bytes, dates, UUIDs, secrets.

``exact=True`` decodes to the Python type itself. ``exact=False`` hands over the stored text where Pydantic's lax mode
parses it, which is faster: never inside unions, sets or strict models.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from dynamap_async.codec.converter import Converter, Usual
from dynamap_async.codec.decoder_forms import FLOAT_TEXT, INTEGER_TEXT, Form, described
from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.instants import (
    check_no_number,
    duration_text,
    instant_text,
    is_naive,
    parse_date,
    parse_duration,
    parse_instant,
    parse_time,
    utc_text,
    zoned_text,
)
from dynamap_async.codec.numbers import USUAL_INTEGER, number_text
from dynamap_async.codec.plain import binary_text, parse_binary
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.wire import AttributeValue, Tag

STORED_TEXT: Final[Callable[[AttributeValue], Any]] = itemgetter("S")
"""Decodes a text value to its text."""

STORED_NUMBER: Final[Callable[[AttributeValue], Any]] = itemgetter("N")
"""Decodes a number to its text."""

_TEXT: Final[frozenset[Tag]] = frozenset(("S",))
_NUMBER: Final[frozenset[Tag]] = frozenset(("N",))
_BINARY: Final[frozenset[Tag]] = frozenset(("B",))
_BOOLEAN: Final[frozenset[Tag]] = frozenset(("BOOL",))
_NULL: Final[frozenset[Tag]] = frozenset(("NULL",))


def text() -> Converter:
    """Return the converter of str."""
    return Converter(label="str", tags=_TEXT, encode=encode_text, decode=STORED_TEXT, types=(str,), usual=Usual("text"))


def integer(*, exact: bool = True) -> Converter:
    """Return the converter of int; it refuses bool."""
    return Converter(
        label="int",
        tags=_NUMBER,
        encode=_encode_integer,
        decode=_decode_integer if exact else INTEGER_TEXT,
        types=(int,),
        usual=Usual("integer"),
    )


def decimal(*, exact: bool = True) -> Converter:
    """Return the converter of Decimal; it takes int too. The scale is not kept: 1.50 comes back as 1.5."""
    return Converter(
        label="Decimal",
        tags=_NUMBER,
        encode=_encode_decimal,
        decode=_decode_decimal if exact else STORED_NUMBER,
        types=(Decimal, int),
        usual=Usual("decimal"),
    )


def floating(*, exact: bool = True) -> Converter:
    """Return the converter of float; it takes int too."""
    return Converter(
        label="float",
        tags=_NUMBER,
        encode=_encode_floating,
        decode=_decode_floating if exact else FLOAT_TEXT,
        types=(float, int),
        usual=Usual("floating"),
    )


def boolean() -> Converter:
    """Return the converter of bool."""
    return Converter(
        label="bool",
        tags=_BOOLEAN,
        encode=_encode_boolean,
        decode=itemgetter("BOOL"),
        types=(bool,),
        usual=Usual("boolean"),
    )


def binary(kind: type[bytes | bytearray] = bytes) -> Converter:
    """Return the converter of bytes or bytearray; it takes either.

    Args:
        kind: the type to give back.
    """
    decode: Callable[[Any], Any] = _decode_binary if kind is bytes else _decode_bytearray
    return Converter(
        label=kind.__name__,
        tags=_BINARY,
        encode=_encode_binary,
        decode=decode,
        types=(bytes, bytearray),
        usual=Usual("binary"),
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
        decode=_parsed_text(parse_instant) if exact else _decode_dated,
        types=(datetime.datetime,),
        usual=Usual("instant") if zoned else None,
    )


def date(*, exact: bool = True) -> Converter:
    """Return the converter of date; it refuses datetime."""
    decode = _parsed_text(parse_date) if exact else _decode_dated
    return Converter(
        label="date", tags=_TEXT, encode=_encode_date, decode=decode, types=(datetime.date,), usual=Usual("date")
    )


def time(*, exact: bool = True) -> Converter:
    """Return the converter of time."""
    decode = _parsed_text(parse_time) if exact else STORED_TEXT
    return Converter(label="time", tags=_TEXT, encode=_encode_time, decode=decode, types=(datetime.time,))


def duration() -> Converter:
    """Return the converter of timedelta: a number of seconds, exact to the microsecond."""
    return Converter(
        label="timedelta", tags=_NUMBER, encode=_encode_duration, decode=_decode_duration, types=(datetime.timedelta,)
    )


def uuid(*, exact: bool = True) -> Converter:
    """Return the converter of UUID: its text with hyphens."""
    decode = _parsed_text(UUID) if exact else STORED_TEXT
    return Converter(label="UUID", tags=_TEXT, encode=_encode_uuid, decode=decode, types=(UUID,), usual=Usual("uuid"))


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
    return {"S": instant_text(value)}


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


def _decode_integer(value: Any) -> int:
    return int(value["N"])


def _decode_decimal(value: Any) -> Decimal:
    return Decimal(value["N"])


def _decode_floating(value: Any) -> float:
    return float(value["N"])


def _decode_binary(value: Any) -> bytes:
    return parse_binary(value["B"])


def _decode_bytearray(value: Any) -> bytearray:
    return _parse_bytearray(value["B"])


def _parse_bytearray(text: str) -> bytearray:
    return bytearray(parse_binary(text))


def _decode_null(value: Any) -> None:
    if value["NULL"] is not True:
        raise DecodeError("stored NULL value is not true")


def _decode_dated(value: Any) -> str:
    return check_no_number(value["S"])


def _decode_duration(value: Any) -> datetime.timedelta:
    return parse_duration(value["N"])


def _parsed_text(parse: Callable[[str], Any]) -> Callable[[AttributeValue], Any]:
    def decode(value: Any) -> Any:
        return parse(value["S"])

    return described(decode, Form("text", "S", parse))


described(_decode_integer, Form("integer", "N"))
described(_decode_decimal, Form("text", "N", Decimal))
described(_decode_floating, Form("floating", "N"))
described(_decode_binary, Form("text", "B", parse_binary))
described(_decode_bytearray, Form("text", "B", _parse_bytearray))
described(_decode_dated, Form("dated", "S"))
described(_decode_duration, Form("text", "N", parse_duration))
