"""Laws of the JSON that the library writes and reads: it is what the standard library's says, with either codec."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynamap_async.native import NATIVE, json_text
from dynamap_async.native.json_text import Spliced, read_json, write_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["S", "", "\0", '"', "\\", "\x1f\x7f", "\b\f\n\r\t", "é", "🦊", "\u2028", "plain text of some length", '7 bytes"']
)
WHOLE = st.integers(-(2**63), 2**63 - 1)
PLAIN_FRACTIONS = st.floats(1e-4, 1e15) | st.floats(-1e15, -1e-4)
"""Those that every writer writes without an exponent."""


def values(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return strategies for values as JSON has them."""
    leaves = TEXTS | numbers | st.booleans() | st.none()
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
    )


WRITTEN = values(WHOLE | PLAIN_FRACTIONS)
READ = values(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
FORMS = st.sampled_from(
    [
        json.dumps,
        lambda value: json.dumps(value, indent=1, ensure_ascii=False),
        lambda value: " \r\t\n" + json.dumps(value, separators=(" , ", " : ")) + "\n",
    ]
)
DAMAGE = [b"", b'"', b"\xff", b"\0", b"\\", b"0", b"-", b".", b"e", b",", b"]", b"nul", b"1.5", b"\\ud800"]
NO_JSON = [b"NaN", b"[Infinity]", b"-Infinity", b"\xef\xbb\xbf[]", b"'a'", b"[1,]", b'{"a":1,}', b""]
WRITERS = [write_json, json_text._written]


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@given(WRITTEN)
@example(2**63 - 1)
@example(-(2**63))
@example(["x" * 5_000, {"y" * 4_090: '"' * 9}])
def test_with_either_codec_the_text_is_that_of_the_standard_library(value: Any) -> None:
    assert [write(value) for write in WRITERS] == [compact(value)] * 2


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_fraction_is_written_as_one_that_is_read_as_it(value: float) -> None:
    assert [json.loads(write(value)) for write in WRITERS] == [value] * 2


@given(st.dictionaries(TEXTS, WRITTEN, max_size=3), WRITTEN)
def test_a_part_that_is_json_already_is_written_as_what_it_says(before: dict[str, Any], part: Any) -> None:
    spliced = {**before, "part": [Spliced(compact(part)), {"again": Spliced(compact(part))}]}
    whole = {**before, "part": [part, {"again": part}]}
    assert [write(spliced) for write in WRITERS] == [compact(whole)] * 2


def inside(value: Any, way: list[str | None]) -> Any:
    """Return a value within lists, and within objects under names."""
    for name in way:
        value = [0, value] if name is None else {"first": 1, name: value}
    return value


@given(
    st.sampled_from(["\ud800", "a\udfff", {"\ud800": 1}, object(), 2**63, -(10**30)]),
    st.lists(st.none() | TEXTS.filter(lambda name: name != "first"), max_size=3),
)
def test_what_has_no_form_in_json_is_refused_wherever_it_is(value: Any, way: list[str | None]) -> None:
    for write in WRITERS:
        if (write is write_json and NATIVE is not None) or not isinstance(value, int):
            with pytest.raises(TypeError):
                write(inside(value, way))


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_is_written_as_null(write: Any, value: float) -> None:
    assert write([value]) == b"[null]"


@given(READ, FORMS)
@example("\ud83e\udd8a", json.dumps)
@example(-0.0, json.dumps)
@example(10**4000, json.dumps)
def test_what_is_read_is_what_the_standard_library_reads(value: Any, form: Any) -> None:
    text = form(value).encode()
    expected = json.loads(text)
    assert repr(read_json(text)) == repr(expected)
    if NATIVE is not None:
        reader = NATIVE.answer_reader(b'{"Count":%b}' % text)
        assert reader.read(2**30)
        assert repr(reader.answer) == repr({"Count": expected})


@given(READ, FORMS, st.data())
def test_what_is_damaged_is_refused_as_the_standard_library_refuses_it(value: Any, form: Any, data: Any) -> None:
    whole: bytes = form([value]).encode()
    at, till = sorted(data.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    put = data.draw(
        st.sampled_from([b"", b'"', b"\xff", b"\0", b"\\", b"0", b"-", b".", b"e", b",", b"]", b"nul", b"1.5"])
    )
    text = whole[:at] + put + whole[till:]
    try:
        expected = json.loads(text.decode())
        compact(expected)  # which refuses half of a surrogate pair
    except ValueError:
        with pytest.raises(ValueError, match="at line"):
            read_json(text)
        if NATIVE is not None:
            with pytest.raises(ValueError, match="unusual form"):
                NATIVE.answer_reader(b'{"Count":%b}' % text).read(2**30)
    else:
        assert repr(read_json(text)) == repr(expected)


@pytest.mark.parametrize(
    "text", [b"NaN", b"[Infinity]", b"-Infinity", b"\xef\xbb\xbf[]", b"'a'", b"[1,]", b'{"a":1,}', b""]
)
def test_what_only_looks_like_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="at line"):
        read_json(text)


def test_the_last_of_two_members_of_one_name_counts() -> None:
    assert read_json(b'{"a":1,"b":2,"a":3}') == {"a": 3, "b": 2}


@pytest.mark.parametrize("levels", [10**3, 10**5, 10**6])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_what_is_nested_too_deep_is_refused_and_harms_nothing(levels: int, opening: bytes, closing: bytes) -> None:
    text = opening * levels + b"0" + closing * levels
    with pytest.raises(ValueError, match="recursion limit"):
        read_json(text)
    if NATIVE is not None:
        with pytest.raises(ValueError, match="unusual form"):
            NATIVE.answer_reader(b'{"Count":%b}' % text).read(2**30)


@pytest.mark.parametrize("write", WRITERS)
def test_a_writer_takes_254_levels_and_refuses_more(write: Any) -> None:
    assert len(write(inside(0, [None] * 254))) == 254 * len("[0,]") + 1
    for levels in (255, 10**4):
        with pytest.raises(TypeError):
            write(inside(0, [None] * levels))
