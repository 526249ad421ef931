"""Straight decoding of one map: what it makes, how often, and when it is not used."""

from typing import Any

import pytest

from dynamap_async import codec
from dynamap_async.codec import MISFITS
from dynamap_async.codec.straight import StraightDecoders


def text_and_number() -> dict[str, tuple[Any, ...]]:
    return {"pk": ("user", codec.text().decode), "n": ("number", codec.integer().decode)}


def test_members_are_decoded_by_the_names_that_they_have_in_python() -> None:
    decode = StraightDecoders(text_and_number())["pk", "n"]
    assert decode is not None
    assert decode({"pk": {"S": "ada"}, "n": {"N": "7"}}) == {"user": "ada", "number": 7}


def test_the_same_members_are_compiled_once_and_others_for_themselves() -> None:
    straight = StraightDecoders(text_and_number())
    assert straight["pk", "n"] is straight["pk", "n"]
    assert straight["pk",] is not straight["pk", "n"]
    assert len(straight) == 2


@pytest.mark.parametrize("name", ['"', "'", "\\", "a\nb", "{x}", "']; raise SystemExit #", "日本"])
def test_any_text_can_be_a_name(name: str) -> None:
    decode = StraightDecoders({name: (name, codec.text().decode)})[name,]
    assert decode is not None
    assert decode({name: {"S": "ada"}}) == {name: "ada"}


def test_maps_with_unknown_members_are_left_to_who_counts_them() -> None:
    assert StraightDecoders(text_and_number())["pk", "x"] is None


def test_a_misfit_is_raised_and_ends_the_use_of_the_expression() -> None:
    straight = StraightDecoders(text_and_number())
    decode = straight["pk", "n"]
    assert decode is not None
    with pytest.raises(MISFITS):
        decode({"pk": {"S": "ada"}, "n": {"S": "seven"}})
    straight.misfit(("pk", "n"))
    assert straight["pk", "n"] is None


def test_the_number_of_expressions_is_bounded() -> None:
    members = {f"x{number}": (f"x{number}", codec.text().decode) for number in range(100)}
    straight = StraightDecoders(members)
    made = [straight[name,] for name in members]
    assert len(straight) == sum(each is not None for each in made) == 32


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
    assert node.decode(stored)["value"] == "x"
    assert len(seen) < 32**2  # not 2**21, also the first time
    seen.clear()
    assert node.decode(stored)["value"] == "x"
    assert len(seen) == 21
