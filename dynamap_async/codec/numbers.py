"""DynamoDB's numbers as text: the canonical form, its limits, and the way back.

Numbers never pass through a binary float: a float goes in by its shortest exact text (``repr``), and what
comes back is an int or a Decimal.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final

from dynamap_async.codec.encode_errors import abbreviate, refusal
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.limits import NUMBER_DIGITS, NUMBER_MAX_EXPONENT, NUMBER_MIN_EXPONENT

USUAL_INTEGER: Final = 10**18
"""Whole numbers below it are encoded without a look at DynamoDB's limits (benchmarks: encode)."""

_USUAL_FRACTION: Final = re.compile(r"-?[0-9]{1,18}\.[0-9]{0,18}[1-9]")
"""A fraction that is canonical, and inside of all limits."""
_PLAIN_INTEGERS: Final = 10**NUMBER_DIGITS
_TOO_LARGE: Final = 10 ** (NUMBER_MAX_EXPONENT + 1)


def number_text(value: int | Decimal | float) -> str:  # noqa: PYI041 - ints are the usual case, not a footnote
    """Return a number as DynamoDB gives it back: plain decimal, no exponent, no superfluous zeros, no ``-0``.

    Args:
        value: at most 38 significant digits; zero, or a magnitude from 1E-130 to 9.99E+125.

    Raises:
        EncodeError: the value is a bool, not a number, not finite, or outside the limits.
    """
    if isinstance(value, int):
        if value is True or value is False:
            raise refusal("number", value, "store a bool as bool, or convert it with int(...)")
        if -_PLAIN_INTEGERS < value < _PLAIN_INTEGERS:
            return int.__repr__(value)
        return _long_integer_text(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    # A foreign caller may hand over anything: the annotation is no guard at run time.
    if isinstance(value, float):
        return float_text(value)
    raise refusal("int, Decimal or float", value)


def _long_integer_text(value: int) -> str:
    if not -_TOO_LARGE < value < _TOO_LARGE:
        raise _too_large()
    text = int.__repr__(value)
    _check_digits(text, value)
    return text


def float_text(value: float) -> str:
    """Return a float as DynamoDB gives it back; errors are those of ``number_text``."""
    # float.__repr__, because a subclass (numpy's float64) prints itself differently.
    text = float.__repr__(value)
    if "e" in text or "n" in text:
        return decimal_text(Decimal(text))
    return _without_superfluous_zeros(text) if text.endswith(".0") else text


def decimal_text(value: Decimal) -> str:
    """Return a Decimal as DynamoDB gives it back; errors are those of ``number_text``."""
    if not value.is_finite():
        raise EncodeError(f"{value} cannot be stored as a number; store None or text instead")
    text = Decimal.__str__(value)
    if "E" not in text and len(text) <= NUMBER_DIGITS:  # without an exponent it is inside of all limits
        return _without_superfluous_zeros(text)
    if not value:
        return "0"
    exponent = value.adjusted()
    if exponent > NUMBER_MAX_EXPONENT:
        raise _too_large()
    if exponent < NUMBER_MIN_EXPONENT:
        raise EncodeError(
            f"the number is closer to zero than 1E{NUMBER_MIN_EXPONENT}, the smallest that DynamoDB stores; round it, "
            "or store it as text"
        )
    text = _without_superfluous_zeros(format(value, "f"))
    # A sign and a point come with the digits, so 38 characters cannot hold too many of them.
    if len(text) > NUMBER_DIGITS:
        _check_digits(text, value)
    return text


def _without_superfluous_zeros(text: str) -> str:
    if "." in text:
        text = text.rstrip("0").removesuffix(".")
    return "0" if text == "-0" else text


def _check_digits(text: str, value: int | Decimal) -> None:
    digits = len(text.lstrip("-").replace(".", "").strip("0"))
    if digits > NUMBER_DIGITS:
        raise EncodeError(
            f"the number has {digits} significant digits, and DynamoDB stores at most {NUMBER_DIGITS}; round it, or "
            f"store it as text: {abbreviate(value)}"
        )


def _too_large() -> EncodeError:
    return EncodeError(
        f"the number is above 9.99E+{NUMBER_MAX_EXPONENT}, the largest that DynamoDB stores; scale it, or store it as "
        "text"
    )


def parse_number(text: str) -> int | Decimal:
    """Return a stored number: an int if it is whole, else a Decimal without superfluous zeros.

    Args:
        text: as DynamoDB or an engine that does not canonicalise (``1.0``, ``1e2``) gives it.

    Raises:
        DecodeError: the text is not a number that DynamoDB can hold.
    """
    if "." in text and _USUAL_FRACTION.fullmatch(text):
        return Decimal(text)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        canonical = number_text(Decimal(text))
    except (InvalidOperation, EncodeError) as error:
        raise DecodeError(f"stored number {abbreviate(text)} is not a number") from error
    return Decimal(canonical) if "." in canonical else int(canonical)


def whole_millionths(number: int | Decimal) -> int:
    """Return a number times a million, rounded down, exactly and under any decimal context."""
    if isinstance(number, int):
        return number * 1_000_000
    numerator, denominator = number.as_integer_ratio()
    return numerator * 1_000_000 // denominator
