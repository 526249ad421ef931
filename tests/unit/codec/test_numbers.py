from decimal import Decimal, localcontext

import pytest

from dynamap_async.codec import number_text, parse_number
from dynamap_async.errors import DecodeError, EncodeError


class LoudFloat(float):
    def __repr__(self):
        return f"LoudFloat({float(self)})"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (-42, "-42"),
        (10**37, "1" + "0" * 37),
        (10**125, "1" + "0" * 125),
        (-(10**38), "-1" + "0" * 38),
        (int("9" * 38), "9" * 38),
        (Decimal("1.0"), "1"),
        (Decimal("3.1400"), "3.14"),
        (Decimal("1.5E2"), "150"),
        (Decimal(".5"), "0.5"),
        (Decimal("-0"), "0"),
        (Decimal("0E+500"), "0"),
        (Decimal("1E125"), "1" + "0" * 125),
        (Decimal("1E-130"), "0." + "0" * 129 + "1"),
        (Decimal("9." + "9" * 37 + "E125"), "9" * 38 + "0" * 88),
        (Decimal("1." + "0" * 60), "1"),
        (Decimal("-0.0070"), "-0.007"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (5.0, "5"),
        (1e22, "1" + "0" * 22),
        (1.5e-7, "0.00000015"),
        (LoudFloat(2.5), "2.5"),
    ],
)
def test_number_is_written_in_canonical_form(value, text):
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (True, "number expected, got bool True; store a bool as bool"),
        ("5", "int, Decimal or float expected, got str '5'"),
        (None, "int, Decimal or float expected, got None"),
        (float("nan"), "NaN cannot be stored as a number"),
        (float("inf"), "Infinity cannot be stored"),
        (Decimal("sNaN"), "sNaN cannot be stored"),
        (Decimal("-Infinity"), "-Infinity cannot be stored"),
        (int("1" * 39), "39 significant digits, and DynamoDB stores at most 38; round it"),
        (Decimal("1." + "1" * 38), "39 significant digits"),
        (Decimal("0." + "1" * 39), "39 significant digits"),
        (10**126, "above 9.99E+125"),
        (-(10**126), "above 9.99E+125"),
        pytest.param(10**9999, "above 9.99E+125", id="more digits than Python prints"),
        (Decimal("1E126"), "above 9.99E+125"),
        (1e126, "above 9.99E+125"),
        (Decimal("1E-131"), "closer to zero than 1E-130"),
        (5e-324, "closer to zero than 1E-130"),
    ],
)
def test_number_that_dynamodb_refuses_is_refused_with_the_reason(value, fault):
    with pytest.raises(EncodeError) as caught:
        number_text(value)
    assert fault in str(caught.value)


def test_number_text_does_not_depend_on_the_decimal_context():
    with localcontext() as context:
        context.prec = 3
        assert number_text(Decimal("1234567.1234567")) == "1234567.1234567"


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("-42", -42), ("0", 0), ("1.5", Decimal("1.5")), ("1.0", 1), ("1e2", 100), ("2.50", Decimal("2.5"))],
)
def test_stored_number_reads_as_int_if_whole_and_else_as_decimal(text, number):
    parsed = parse_number(text)
    assert (parsed, type(parsed), str(parsed)) == (number, type(number), str(number))


@pytest.mark.parametrize("text", ["", "abc", "NaN", "Infinity", "1e200", "0x1"])
def test_stored_text_that_is_no_number_is_a_decode_error(text):
    with pytest.raises(DecodeError, match="is not a number"):
        parse_number(text)
