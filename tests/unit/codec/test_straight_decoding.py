"""Straight decoding of pages: what it makes, for which items, and what becomes of those that do not fit."""

from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import Any

import pytest

from dynamap_async import codec
from dynamap_async.codec import Converter, Field, StraightPages
from dynamap_async.errors import DecodeError

TEXT, NUMBER = codec.text(), codec.integer()
PLACE = codec.nested_of("Place", [Field("city", "c", TEXT), Field("zip_code", "z", NUMBER)], accepts=(dict,))
S: Any = {"S": "ada"}
N: Any = {"N": "7"}
NULL: Any = {"NULL": True}
PLACED: Any = {"M": {"c": S, "z": N}}


def pages(
    members: Mapping[str, Converter] | None = None,
    *,
    drops: bool = False,
    absent: Sequence[Any] = (),
    **more: Converter,
) -> StraightPages:
    """Return the pages of items with members whose names in Python are their stored ones in capitals."""
    members = {**(members or {}), **more}
    return StraightPages({name: (name.upper(), each.decode) for name, each in members.items()}, absent, drops=drops)


def counted(converter: Converter, calls: list[Any]) -> Callable[[Any], Any]:
    def decode(value: Any) -> Any:
        calls.append(value)
        return converter.decode(value)

    return decode


@pytest.mark.parametrize(
    ("converter", "stored", "value"),
    [
        pytest.param(TEXT, S, "ada", id="text"),
        pytest.param(NUMBER, N, 7, id="number"),
        pytest.param(codec.optional(TEXT), S, "ada", id="optional"),
        pytest.param(codec.optional(TEXT), NULL, None, id="null"),
        pytest.param(codec.optional(PLACE), PLACED, {"city": "ada", "zip_code": 7}, id="optional map"),
        pytest.param(codec.optional(PLACE), NULL, None, id="optional map, null"),
        pytest.param(codec.list_of(TEXT), {"L": [S, S]}, ["ada", "ada"], id="texts"),
        pytest.param(codec.list_of(NUMBER), {"L": [N]}, [7], id="numbers"),
        pytest.param(codec.list_of(TEXT), {"L": []}, [], id="empty list"),
        pytest.param(codec.list_of(codec.list_of(TEXT)), {"L": [{"L": [S]}, {"L": []}]}, [["ada"], []], id="lists"),
        pytest.param(codec.list_of(codec.optional(TEXT)), {"L": [S, NULL]}, ["ada", None], id="optional elements"),
        pytest.param(codec.list_of(PLACE), {"L": [PLACED]}, [{"city": "ada", "zip_code": 7}], id="maps in a list"),
        pytest.param(codec.map_of(codec.map_key(str), NUMBER), {"M": {"a": N}}, {"a": 7}, id="dict"),
        pytest.param(codec.map_of(codec.map_key(int), NUMBER), {"M": {"1": N}}, {1: 7}, id="dict with other keys"),
        pytest.param(PLACE, PLACED, {"city": "ada", "zip_code": 7}, id="map"),
        pytest.param(PLACE, {"M": {"z": N, "c": S}}, {"city": "ada", "zip_code": 7}, id="map in another order"),
        pytest.param(PLACE, {"M": {"c": S}}, {"city": "ada"}, id="map with an absent member"),
        pytest.param(PLACE, {"M": {"c": S, "z": N, "x": S}}, {"city": "ada", "zip_code": 7}, id="and one unknown"),
        pytest.param(codec.set_of(TEXT), {"SS": ["a", "b"]}, {"a", "b"}, id="set"),
        pytest.param(codec.tuple_of((TEXT, NUMBER)), {"L": [S, N]}, ("ada", 7), id="tuple"),
    ],
)
def test_values_are_decoded_as_their_own_decoder_does(converter: Converter, stored: Any, value: Any) -> None:
    item = {"x": stored}
    assert converter.decode(stored) == value
    assert pages(x=converter).decode([item, item]) == [{"X": value}] * 2
    assert pages(x=converter).decode([item]) == [{"X": value}]


def test_an_empty_page_has_no_items() -> None:
    assert pages(x=TEXT).decode([]) == []


def test_attributes_have_the_names_that_they_have_in_python() -> None:
    item = {"pk": S, "n": N}
    assert pages(pk=TEXT, n=NUMBER).decode([item]) == [{"PK": "ada", "N": 7}]


@pytest.mark.parametrize("name", ['"', "'", "\\", "a\nb", "{x}", "']; raise SystemExit #", "日本", "items", "stored"])
def test_any_text_can_be_a_name(name: str) -> None:
    nested = codec.nested_of("Nested", [Field(name, name, TEXT)], accepts=(dict,))
    decoded = pages({name: nested}).decode([{name: {"M": {name: S}}}])
    assert decoded == [{name.upper(): {name: "ada"}}]


def test_what_stands_for_an_absent_attribute_is_made_for_each_item() -> None:
    straight = pages(x=TEXT, tags=codec.set_of(TEXT), absent=[("TAGS", "tags", set), ("Y", "y", lambda: None)])
    decoded = straight.decode([{"x": S}, {"x": S}])
    assert decoded == [{"X": "ada", "TAGS": set(), "Y": None}] * 2
    assert decoded[0]["TAGS"] is not decoded[1]["TAGS"]
    assert straight.decode([{"x": S, "tags": {"SS": ["a"]}}]) == [{"X": "ada", "TAGS": {"a"}, "Y": None}]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"x": S, "y": S, "z": S}, id="more"),
        pytest.param({"x": S}, id="fewer"),
        pytest.param({"x": S, "z": S}, id="others"),
    ],
)
def test_items_with_other_attributes_are_not_decoded_together(other: Mapping[str, Any]) -> None:
    straight = pages(x=TEXT, y=TEXT, z=TEXT)
    item = {"x": S, "y": S}
    assert straight.decode([item, other]) is None
    assert straight.decode([item, item]) == [{"X": "ada", "Y": "ada"}] * 2  # and it is no fault of either
    assert straight.decode([other]) == [{name.upper(): "ada" for name in other}]


def test_an_attribute_that_takes_the_place_of_an_unknown_one_is_not_dropped_with_it() -> None:
    straight = pages(x=TEXT, y=TEXT, drops=True)
    assert straight.decode([{"x": S, "unknown": S}]) == [{"X": "ada"}]
    assert straight.decode([{"x": S, "unknown": S}, {"x": S, "y": S}]) is None


def test_items_with_unknown_attributes_are_left_alone_where_those_matter() -> None:
    assert pages(x=TEXT).decode([{"x": S, "unknown": S}]) is None


def omitted(decode: Any) -> int:
    """Return how many members a decoding left out, in a context of its own."""
    counted = codec.Omissions()

    def count() -> None:
        codec.OMISSIONS.set(counted)
        decode()

    copy_context().run(count)
    return counted.number


PLACED_AND_MORE = {"x": {"M": {"c": S, "z": N, "unknown": S}}}


def test_maps_with_unknown_members_are_counted() -> None:
    assert omitted(lambda: pages(x=PLACE).decode([{"x": PLACED}, PLACED_AND_MORE])) == 1


def test_a_decoding_does_not_count_what_another_one_leaves_out() -> None:
    def decode() -> None:
        pages(x=PLACE).decode([PLACED_AND_MORE])
        assert omitted(lambda: pages(x=PLACE).decode([PLACED_AND_MORE] * 2)) == 2

    assert omitted(decode) == 1


def test_an_unexpected_value_does_not_keep_later_items_from_being_decoded_together() -> None:
    straight = pages(x=TEXT)
    assert straight.decode([{"x": N}]) is None
    assert straight.decode([{"x": S}]) == [{"X": "ada"}]


def test_attributes_that_were_given_up_are_decoded_together_no_more() -> None:
    calls: list[Any] = []
    straight = StraightPages({"x": ("X", counted(TEXT, calls))}, (), drops=False)
    straight.give_up({"x": N})  # nothing was made for them yet
    assert straight.decode([{"x": S}]) == [{"X": "ada"}]
    straight.give_up({"x": N})
    assert straight.decode([{"x": S}]) is None
    assert len(calls) == 1


def test_the_number_of_expressions_is_bounded() -> None:
    names = [f"x{number}" for number in range(100)]
    straight = pages(dict.fromkeys(names, TEXT))
    assert sum(straight.decode([{name: S}]) is not None for name in names) == 32


def test_a_type_that_contains_itself_is_called_where_it_does() -> None:
    reference = codec.Deferred("Node", lambda: node)
    node = codec.nested_of(
        "Node", [Field("value", "v", NUMBER), Field("next", "n", codec.optional(reference))], accepts=(dict,)
    )
    stored: Any = NULL
    value: Any = None
    for _ in range(40):
        stored, value = {"M": {"v": N, "n": stored}}, {"value": 7, "next": value}
    assert pages(x=node).decode([{"x": stored}]) == [{"X": value}]


@pytest.mark.parametrize("levels", [8, 30])
def test_values_of_any_depth_are_decoded(levels: int) -> None:
    converter: Converter = TEXT
    stored: Any = S
    value: Any = "ada"
    for level in range(levels):
        if level % 2:
            converter, stored, value = codec.list_of(codec.optional(converter)), {"L": [stored, NULL]}, [value, None]
        else:
            field = Field("inner", "i", converter)
            converter, stored, value = (
                codec.nested_of("Level", [field], accepts=(dict,)),
                {"M": {"i": stored}},
                {"inner": value},
            )
    assert pages(x=converter).decode([{"x": stored}] * 3) == [{"X": value}] * 3


def test_models_that_multiply_do_not_grow_without_bounds() -> None:
    converter: Converter = codec.nested_of("Leaf", [Field("text", "t", TEXT)], accepts=(dict,))
    stored: Any = {"M": {"t": S}}
    value: Any = {"text": "ada"}
    for _ in range(4):
        fields = [Field(f"f{number}", f"f{number}", converter) for number in range(10)]
        converter = codec.nested_of("Tree", fields, accepts=(dict,))
        stored = {"M": {field.stored: stored for field in fields}}
        value = {field.name: value for field in fields}
    assert pages(x=converter).decode([{"x": stored}]) == [{"X": value}]


def test_maps_in_maps_that_do_not_fit_are_not_decoded_twice_at_each_level() -> None:
    seen: list[Any] = []
    inner = codec.Converter(
        label="int", tags=frozenset("N"), encode=lambda _: {}, decode=lambda v: seen.append(v) or v["N"]
    )
    reference = codec.Deferred("Node", lambda: node)
    node = codec.nested_of(
        "Node",
        [codec.Field("value", "value", inner), codec.Field("next", "next", codec.optional(reference))],
        accepts=(dict,),
    )
    stored: Any = {"M": {"next": {"NULL": True}, "value": {"S": "x"}}}
    for _ in range(20):
        stored = {"M": {"next": stored, "value": {"S": "x"}}}
    with pytest.raises(DecodeError):
        node.decode_or_plain(stored)
    assert len(seen) < 32**2  # not 2**21
