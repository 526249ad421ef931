"""Key templates: what patterns mean, what they refuse, and the stretches of keys that parts select."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

import pytest

from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.models.templates import DeclaredTemplate, PatternError, make_template


class Short(StrEnum):
    A = "a"
    AB = "ab"


NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)
TYPES: dict[str, Any] = {
    "country": str,
    "region": str,
    "city": str | None,
    "words": int,
    "count": int,
    "short": Short,
    "flag": Literal["a!", "b"],
    "at": datetime,
}


def template(pattern, *, escape=False):
    return make_template(DeclaredTemplate(pattern, escape), TYPES)


PLACE = template("place:{country}#{region}#{city}")
PARROTS = template("parrot:words:{words:06d}")

BUILT = [
    ("PROFILE", {}, "PROFILE"),
    ("city:{country}#{region}", {"country": "GB", "region": "London"}, "city:GB#London"),
    ("{country}", {"country": "GB"}, "GB"),
    ("{{{country}}}", {"country": "GB"}, "{GB}"),
    ("{{country}}", {}, "{country}"),
    ("{country}#", {"country": "GB"}, "GB#"),
    ("{words:03d}{country}", {"words": 7, "country": "GB"}, "007GB"),
    ("{country}##{region}", {"country": "a", "region": "#b"}, "a###b"),
    ("{country}#{region}", {"country": "a", "region": "b#c"}, "a#b#c"),
    ("{short}#{words}", {"short": Short.AB, "words": 12}, "ab#12"),
    ("a#{country}{words:06d}", {"country": "GB1", "words": 7}, "a#GB1000007"),
    ("{country}{words:03d}#{count:02d}!", {"country": "", "words": 7, "count": 1}, "007#01!"),
]


@pytest.mark.parametrize(("pattern", "values", "text"), BUILT)
def test_a_pattern_builds_this_key_and_reads_it_back(pattern, values, text):
    assert template(pattern).build(values) == text
    assert template(pattern).parse(text) == values


def test_a_part_whose_end_only_the_end_of_the_key_tells_leaves_the_keys_in_no_order():
    made = template("a#{country}{words:06d}")
    assert made.prefix({"country": "GB"}) == "a#GB"
    assert not made.part("country").is_closed
    assert made.part("words").is_closed
    assert made.breaks_order == ("country",)
    assert template("{short}{words:06d}").breaks_order == ("short",)
    with pytest.raises(DecodeError, match="country does not end"):
        made.parse("a#0007")


def test_a_part_that_is_none_or_missing_leaves_no_key():
    assert PLACE.build({"country": "GB", "region": "London", "city": None}) is None
    assert PLACE.build({"country": "GB"}) is None


WRONG = [
    ("", "is empty"),
    ("a{", "single '{' at position 1; write {{"),
    ("a}b", "single '}'"),
    ("{}", "is not a field"),
    ("{a b}", "is not a field"),
    ("{country}{region}", r"does not show where country ends.*\{country\}#"),
    ("{country}{words}", "does not show where country ends"),
    ("{country}{words:06d}{region}", "does not show where country ends"),
    ("{country}#{country}", "names country twice"),
    ("{words}0{country}", "could be part of the number"),
    ("{words}-{country}", r"pad the number: \{words:06d\}"),
    ("{flag}!{country}", "whose value 'a!' contains it"),
]


@pytest.mark.parametrize(("pattern", "problem"), WRONG)
def test_a_pattern_that_could_mean_two_things_is_refused(pattern, problem):
    with pytest.raises(PatternError, match=problem):
        template(pattern)


def test_a_separator_inside_a_value_is_refused_with_field_character_and_remedy():
    with pytest.raises(EncodeError, match=r"^country: 'G#B' contains '#'.*escape=True") as caught:
        PLACE.build({"country": "G#B", "region": "x", "city": "y"})
    assert caught.value.path == ("country",)


def test_a_value_that_ends_like_the_beginning_of_its_separator_is_refused():
    with pytest.raises(EncodeError, match="contains '##'"):
        template("{country}##{region}").build({"country": "a#", "region": "b"})


def test_an_escaped_separator_comes_back_as_itself():
    escaped = template("{country}#{region}", escape=True)
    values = {"country": "100%#", "region": "x#y"}
    assert escaped.build(values) == "100%25%23#x#y"
    assert escaped.parse("100%25%23#x#y") == values


def test_a_separator_that_escaped_text_is_made_of_is_refused():
    with pytest.raises(PatternError, match="use another separator"):
        template("{country}%{region}", escape=True)


@pytest.mark.parametrize(
    ("pattern", "text", "problem"),
    [
        ("city:{country}", "town:GB", "'city:' is missing before country"),
        ("{country}#{region}", "GB", "country does not end"),
        ("{words:03d}", "7", "words does not end"),
        ("{words:03d}", "007x", "it ends with 'x'"),
        ("{words:03d}", "+07", "is not a valid int for words"),
        ("{words}", "07", "is not a valid int for words"),
        ("{short}", "abc", "is not a valid Short for short"),
        ("PROFILE", "PROFIL", "it ends with 'PROFIL'"),
    ],
)
def test_a_text_that_is_no_such_key_is_refused(pattern, text, problem):
    with pytest.raises(DecodeError, match=problem):
        template(pattern).parse(text)


def test_an_escaped_key_that_nobody_would_write_is_refused():
    with pytest.raises(DecodeError, match="is not a valid str for country"):
        template("{country}#{region}", escape=True).parse("a%41#b")


ORDERS = [
    ("{words:06d}#{count:03d}", ()),
    ("{words:06d}#{country}", ()),
    ("{country}", ()),
    ("{country}#{region}", ("country",)),
    ("{country}\0{region}", ()),
    ("{words}", ("words",)),
    ("{country:lower}", ("country",)),
    ("{country}#", ("country",)),
    ("{short}!{country}", ()),
    ("{short}z{country}", ("short",)),
]


@pytest.mark.parametrize(("pattern", "parts"), ORDERS)
def test_a_template_knows_which_parts_disturb_the_order(pattern, parts):
    assert template(pattern).breaks_order == parts


PREFIXES = [
    ({}, "place:"),
    ({"country": "GB"}, "place:GB#"),
    ({"country": "GB", "region": "London"}, "place:GB#London#"),
    ({"country": "GB", "region": "London", "city": "Camden"}, "place:GB#London#Camden"),
]


@pytest.mark.parametrize(("values", "prefix"), PREFIXES)
def test_a_prefix_is_closed_by_the_separator(values, prefix):
    assert PLACE.prefix(values) == prefix


@pytest.mark.parametrize("values", [{"region": "London"}, {"country": "GB", "city": "Ely"}, {"words": 1}])
def test_a_prefix_of_parts_that_are_not_the_first_is_refused(values):
    with pytest.raises(ValueError, match="are not the first parts"):
        PLACE.prefix(values)


WORDS = {number: PARROTS.build({"words": number}) for number in (0, 4, 5, 6, 10, 999_999)}
RANGES = [
    ({}, [0, 4, 5, 6, 10, 999_999]),
    ({"low": 5}, [5, 6, 10, 999_999]),
    ({"low": 5, "low_inclusive": False}, [6, 10, 999_999]),
    ({"high": 5}, [0, 4, 5]),
    ({"high": 5, "high_inclusive": False}, [0, 4]),
    ({"low": 4, "high": 6}, [4, 5, 6]),
    ({"low": 4, "high": 6, "low_inclusive": False, "high_inclusive": False}, [5]),
]


@pytest.mark.parametrize(("asked", "found"), RANGES)
def test_a_range_of_a_part_stays_inside_its_namespace(asked, found):
    first, last = PARROTS.bounds({}, "words", **asked)
    others = {"cat": "cat:trees:1", "dog": "dog:x", "quail": "quail:words:000005", "p": "parrot:word", "q": "parrot:wx"}
    inside = [name for name, key in {**WORDS, **others}.items() if first <= key <= last]
    assert inside == found


def test_a_range_behind_a_text_begins_right_after_it():
    assert template("{country}").bounds({}, "country", low="Ann", low_inclusive=False) == ("Ann\0", None)


def test_a_range_behind_a_value_begins_after_all_that_follow_the_value_in_the_key():
    flagged = template("{flag}#{words}")
    first, _ = flagged.bounds({}, "flag", low="a!", low_inclusive=False)
    assert flagged.build({"flag": "a!", "words": 9}) < first <= flagged.build({"flag": "b", "words": 0})


def test_a_range_of_times_that_are_cut_off_holds_its_bounds():
    assert template("{at:day}").bounds({}, "at", low=NOON, low_inclusive=False) == ("2024-06-01", None)


def test_a_range_without_a_namespace_is_open_where_nothing_bounds_it():
    assert template("{words:03d}").bounds({}, "words", low=5) == ("005", None)
    assert template("{words:03d}").bounds({}, "words", high=5) == (None, "005")


def test_a_range_of_a_part_that_is_not_the_next_one_is_refused():
    with pytest.raises(ValueError, match="region is not the part behind the beginning"):
        PLACE.bounds({}, "region", low="a")


def test_a_namespace_is_not_that_of_a_longer_word():
    town = template("{country}#{region}")
    prefix = town.prefix({"country": "Madison"})
    assert town.build({"country": "Madison", "region": "x"}).startswith(prefix)
    assert not town.build({"country": "Madisonville", "region": "x"}).startswith(prefix)
