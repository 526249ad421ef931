"""Numbers: their one spelling, their order as bytes, and their size. They have up to 38 digits, and are exact.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from dynamap_async.simulated.errors import Refused, invalid

DIGITS = 38
_LARGEST, _SMALLEST = 125, -130  # the exponent of the first digit
_PLAIN = re.compile(r"(?:0|-?[1-9]\d{0,37})\Z", re.ASCII)
_SPELT = re.compile(r"(-?)(?:([1-9]\d{0,17})|0(?=\.))(?:\.(0{0,17})([1-9](?:\d{0,15}[1-9])?))?\Z", re.ASCII)
"""Numbers in their one spelling, most of them."""
_NUMBER = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?\Z", re.ASCII)
_REMEMBERED = 4096  # numbers whose spelling and size are known: most programs store the same ones again and again
_NINES = bytes.maketrans(b"0123456789", b"9876543210")

# Sums keep more digits than a number may have, so that what is too long is refused and not rounded.
_SUM = Context(prec=400, Emax=999, Emin=-999, rounding=ROUND_HALF_UP)


@lru_cache(_REMEMBERED)
def canonical(text: str) -> str:
    """Return a number as the service returns it: plain decimal, without zeros that say nothing.

    Args:
        text: as a request has it.

    Raises:
        Refused: it is no number, has more than 38 digits, or is too large or too small.
    """
    if _PLAIN.match(text) and not text.endswith("0"):
        return text
    found = _NUMBER.match(text)
    if found is None or not (found[2] or found[3]):
        raise _no_number(text)
    sign, whole, fraction, exponent = found[1], found[2], found[3] or "", int(found[4] or 0)
    digits = (whole + fraction).lstrip("0")
    first = len(digits) - len(fraction) + exponent - 1  # the exponent of the first digit that is not 0
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    if len(digits) > DIGITS:
        raise invalid("Attempting to store more than 38 significant digits in a Number")
    if first > _LARGEST:
        raise invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
    if first < _SMALLEST:
        raise invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
    return ("-" if sign == "-" else "") + _plain(digits, first)


def _plain(digits: str, first: int) -> str:
    if first < 0:
        return f"0.{'0' * (-first - 1)}{digits}"
    whole = digits[: first + 1].ljust(first + 1, "0")
    fraction = digits[first + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


def _no_number(text: str) -> Refused:
    if not text:
        return invalid("The parameter cannot be converted to a numeric value")
    return invalid(f"The parameter cannot be converted to a numeric value: {text}")


def _parts(text: str) -> tuple[bool, str, int]:
    """Return whether a number in its one spelling is negative, its digits, and the exponent of the first of them."""
    negative = text.startswith("-")
    whole, _point, fraction = text.removeprefix("-").partition(".")
    if whole == "0":
        digits = fraction.lstrip("0")
        return negative, digits, len(digits) - len(fraction) - 1
    return negative, (whole + fraction).rstrip("0"), len(whole) - 1


def ordered(text: str) -> bytes:
    """Return bytes that sort as the numbers do.

    Args:
        text: a number in its one spelling.
    """
    if text == "0":
        return b"\x80"
    negative, digits, first = _parts(text)
    if negative:
        return bytes((0x7F, _LARGEST - first)) + digits.encode().translate(_NINES) + b"\xff"
    return bytes((0x81, first - _SMALLEST)) + digits.encode()


@lru_cache(_REMEMBERED)
def size(text: str) -> int:
    """Return how many bytes a number takes: one, and one for every two digits before and after the point.

    Args:
        text: a number in its one spelling.
    """
    if text == "0":
        return 1
    negative, digits, first = _parts(text)
    before = min(len(digits), max(0, first + 1))
    return 1 + -(-before // 2) + -(-(len(digits) - before) // 2) + negative


@lru_cache(4096)
def weighed(text: str) -> tuple[str, int]:
    """Return a number in its one spelling, and its size.

    Raises:
        Refused: as for ``canonical``.
    """
    found = _SPELT.match(text)
    if found is None:
        text = canonical(text)
        return text, size(text)
    sign, whole, zeros, digits = found.groups()
    if whole is None:
        before, after = 0, len(digits)
    elif digits is None:
        before, after = len(whole.rstrip("0")), 0
    else:
        before, after = len(whole), len(zeros) + len(digits)
    return text, 1 + (before + 1) // 2 + (after + 1) // 2 + len(sign)


def compared(text: str) -> Decimal:
    """Return the value of a number, for comparisons."""
    return Decimal(text)


def added(left: str, right: str, *, minus: bool = False) -> str:
    """Return the sum or the difference of two numbers.

    Raises:
        Refused: it has more than 38 digits, or is too large or too small.
    """
    one, other = Decimal(left), Decimal(right)
    return canonical(format(_SUM.subtract(one, other) if minus else _SUM.add(one, other), "f"))
