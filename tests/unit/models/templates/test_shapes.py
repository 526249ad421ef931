"""Shapes of keys: which texts they hold, and which text two of them have in common."""

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

import pytest

from dynamap_async.models.templates import ANY_TEXT, DeclaredTemplate, Shape, common_text, make_template, shape_of


class Size(StrEnum):
    SMALL = "s"
    EXTRA = "xl"


TYPES: dict[str, Any] = {
    "a": str,
    "b": str,
    "n": int,
    "price": Decimal,
    "at": datetime,
    "day": date,
    "id": UUID,
    "size": Size,
    "state": Literal["on", "off"],
}


def shape(pattern: str, *, escape: bool = False, **known: str) -> Shape:
    return shape_of(make_template(DeclaredTemplate(pattern, escape), TYPES), known=known)


HELD = [
    ("META", "META", "META#"),
    ("v{n}", "v-12", "v"),
    ("{price}", "-1.5", "1."),
    ("{n:03d}", "042", "42"),
    ("{n:+04d}", "1042", "+042"),
    ("{price:06.2f}", "012.50", "0012.5"),
    ("{a}#{b}", "x#y#z", "x"),
    ("{a}##{b}", "x#y##z", "x#y#z"),
    ("{a}##", "x##", "x###"),
    ("{a}#", "#", ""),
    ("{size}#{n:02d}", "xl#07", "m#07"),
    ("{state}", "off", "offs"),
    ("{at:second}!", "2024-03-09T08:07:06Z!", "2024-03-09T08:07:06!"),
    ("{day}", "2024-03-09", "2024-03"),
    ("{id}", "12345678-1234-5678-1234-56781234abcd", "12345678-1234-5678-1234-56781234ABCD"),
    ("[{a}]", "[x\ny]", "[x]]"),
    ("^{n}$", "^7$", "7"),
]


@pytest.mark.parametrize(("pattern", "held", "other"), HELD)
def test_a_shape_holds_the_keys_of_its_template_and_no_others(pattern, held, other):
    assert shape(pattern).holds(held)
    assert not shape(pattern).holds(other)


def test_an_escaped_separator_is_not_held_inside_a_value():
    assert shape("{a}#{n:02d}", escape=True).holds("x%23y#07")
    assert not shape("{a}#{n:02d}", escape=True).holds("x#y#07")


def test_a_part_that_is_known_stands_as_it_is():
    assert shape("{a}#{b}", a="x").holds("x#y")
    assert not shape("{a}#{b}", a="x").holds("y#y")


COMMON = [
    ("USER#{a}", "USER#{b}", "USER#x"),
    ("{a}", "v{n}", "v1"),
    ("{n:03d}", "{a}", "111"),
    ("{a}#{b}", "x#{n}#{b}", "x#1#x"),
    ("{size}", "{a}", "s"),
    ("{day}", "{a}-{b}", "1111-11-11"),
    ("{a}", "{b}", "x"),
    ("A#", "A#{b}", "A#"),
    ("{a}##{b}", "{n}#{b}", "1##x"),
    ("{price}", "{n}", "1"),
    ("{id}", "{a}-1111-{b}-1111-{n:012d}", "11111111-1111-1111-1111-111111111111"),
]


@pytest.mark.parametrize(("one", "other", "text"), COMMON)
def test_a_text_of_both_shapes_is_found(one, other, text):
    assert common_text(shape(one), shape(other)) == text
    both = common_text(shape(other), shape(one))
    assert both is not None
    assert shape(one).holds(both)
    assert shape(other).holds(both)


NOTHING = [
    ("META", "v{n}"),
    ("USER#{a}", "GAME#{a}"),
    ("{a}#meta", "{a}#item"),
    ("{n:03d}", "{n:04d}"),
    ("{day}", "{n}"),
    ("{id}", "{day}"),
    ("{size}", "{state}"),
    ("A", "A#{a}"),
    ("{a}##", "{n}#"),
    ("u_{n:03d}", "u_{n:03d}_{a}"),
]


@pytest.mark.parametrize(("one", "other"), NOTHING)
def test_shapes_without_a_common_text_are_told_apart(one, other):
    assert common_text(shape(one), shape(other)) is None
    assert common_text(shape(other), shape(one)) is None


def test_an_escaped_separator_tells_a_text_from_one_with_more_parts():
    assert common_text(shape("{a}#x", escape=True), shape("{a}#{b}#x", escape=True)) is None
    assert common_text(shape("{a}#x"), shape("{b}#{a}#x")) is not None


def test_any_text_has_one_in_common_with_every_shape_but_never_the_empty_one():
    assert common_text(ANY_TEXT, shape("{a}")) == "x"
    assert common_text(ANY_TEXT, ANY_TEXT) == "x"
    assert common_text(ANY_TEXT, shape("v{n}")) == "v1"
