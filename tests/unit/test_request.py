"""The identity of an item: equal for equal keys, and for no others."""

import pytest

from dynamap_async.request import Target, identity_of

DIGITS = "1234567890123456789012345678901234567"


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("100", "1E+2"), ("-0.5", "-0.50"), ("0.1", "1E-1")])
def test_equal_numbers_are_one_key(one, other):
    assert identity_of("t", {"k": {"N": one}}) == identity_of("t", {"k": {"N": other}})


@pytest.mark.parametrize(("one", "other"), [(f"-{DIGITS}1", f"-{DIGITS}2"), (f"0.{DIGITS}1", f"0.{DIGITS}2")])
def test_numbers_of_38_digits_that_differ_in_the_last_are_two_keys(one, other):
    assert identity_of("t", {"k": {"N": one}}) != identity_of("t", {"k": {"N": other}})


def test_parts_of_a_key_cannot_be_taken_for_each_other():
    one = {"a": {"S": "ab"}, "b": {"S": "c"}}
    other = {"a": {"S": "a"}, "b": {"S": "bc"}}
    assert identity_of("t", one) != identity_of("t", other)
    assert identity_of("t", {"a": {"S": "1"}}) != identity_of("t", {"a": {"N": "1"}})


def test_what_is_written_is_measured_when_its_size_is_asked_for_and_once():
    measured = []

    def measure():
        measured.append(True)
        return 7

    target = Target({"k": {"S": "a"}}, "a", measure, 20)
    assert not measured
    assert [target.size_bytes, target.size_bytes, target.json_bytes] == [7, 7, 20]
    assert len(measured) == 1
