"""Numbers as parts of a key: plain, padded to a fixed width, signed, or of any size in an order-preserving form.

A plain number is short and does not sort: ``10`` stands before ``9``. A padded one does, up to the width that the
pattern states: ``{words:06d}``, or ``{price:09.2f}`` with the point and two decimals. With a sign, ``{heat:+06.1f}``,
one more digit stands in the sign's place, 1 from zero on and 0 below, and the digits of a negative number are those of
its distance from the lowest one, so that -2 stands before -1. ``{score:ordered}`` takes every number that DynamoDB can
store: sign, exponent and 38 digits, 42 characters in all, those of negative numbers complemented.
"""

import re
from decimal import Decimal
from typing import Any, Final

from dynamap_async.codec import abbreviate, number_text, refusal
from dynamap_async.errors import EncodeError
from dynamap_async.limits import NUMBER_DIGITS
from dynamap_async.models.templates.declared import PatternError
from dynamap_async.models.templates.formats import PartFormat

_FORM: Final = re.compile(r"(?P<sign>\+?)0(?P<width>[1-9]\d*)(?:\.(?P<decimals>[1-9]\d*))?(?P<kind>[df]?)")
_EXPONENT_SHIFT: Final = 500
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
        width = 1 + 3 + NUMBER_DIGITS
        return PartFormat(
            label=kind.__name__,
            write=lambda value: _ordered(number_text(_checked(kind, value))),
            read=lambda text: kind(_from_ordered(text)),
            width=width,
        )
    return _padded(kind, form)


def _padded(kind: type[Any], form: str) -> PartFormat:
    found = _FORM.fullmatch(form)
    decimals = int(found["decimals"] or 0) if found else 0
    if found is None or (kind is int) != (not decimals) or found["kind"] not in ("", "f" if decimals else "d"):
        example = "06d, +07d" if kind is int else "09.2f, +010.2f"
        raise PatternError(
            f"has the form {form!r}, which a number of type {kind.__name__} does not have; take one such as {example} "
            "(digits are padded with zeros), ordered (any number, 42 characters), or none (short, but not in order)"
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
            f"{abbreviate(value)} has more than the {decimals} decimals of its form {form!r}, so that another number "
            "would make the same key; round it, or give the form more decimals"
        )
    scaled = int(whole + fraction.ljust(decimals, "0"))
    if value < 0 and not signed:
        raise EncodeError(
            f"{abbreviate(value)} is negative, and the form {form!r} has no place for a sign; put a + before it, and "
            "one more in the width"
        )
    limit = 10**digits
    if not -limit <= scaled < limit:
        raise EncodeError(f"{abbreviate(value)} does not fit into the form {form!r}; give the form a larger width")
    text = f"{scaled + limit:0{digits + 1}d}" if signed else f"{scaled:0{digits}d}"
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text


def _unpad(kind: type[Any], text: str, digits: int, decimals: int, *, signed: bool) -> Any:
    scaled = int(text.replace(".", "", 1)) - (10**digits if signed else 0)
    return kind(Decimal(f"{scaled}e-{decimals}")) if decimals else kind(scaled)


def _ordered(text: str) -> str:
    number = Decimal(text)
    if not number:
        return "1" + "0" * (3 + NUMBER_DIGITS)
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0")
    body = f"{number.adjusted() + _EXPONENT_SHIFT:03d}{digits.ljust(NUMBER_DIGITS, '0')}"
    return "1" + body if number > 0 else "0" + body.translate(_COMPLEMENTS)


def _from_ordered(text: str) -> Decimal:
    sign, body = ("", text[1:]) if text[0] == "1" else ("-", text[1:].translate(_COMPLEMENTS))
    exponent, digits = int(body[:3]), body[3:]
    return Decimal(f"{sign}{digits[0]}.{digits[1:]}e{exponent - _EXPONENT_SHIFT}") if exponent else Decimal(0)
