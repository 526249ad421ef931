"""The native codec: when it is in use, what it is given, and that it leaves nothing behind."""

import copy
import gc
import importlib.util
import json
import os
import pickle
import platform
import shutil
import subprocess
import sys
import sysconfig
import tracemalloc
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import ConfigDict, TypeAdapter
from pydantic_core import from_json, to_json

from dynamap_async import Model, PartitionKey, Put, Session, StoredItem, codec, upgrade
from dynamap_async.codec import decode_any, item_size, native_decoder
from dynamap_async.errors import EncodeError, ItemTooLargeError, ItemValidationError
from dynamap_async.models import changes, definition_of
from dynamap_async.models.state import state_of
from dynamap_async.native import ACTIVE, JSON_ITEM, NATIVE, VARIABLE, plain
from dynamap_async.native.json_text import Spliced, json_bytes, json_of, write_json
from dynamap_async.planning import Context

WRITTEN = (
    b'{"id":{"S":"a"},"number":{"N":"12"},"score":{"N":"98.5"},"tags":{"SS":["a","b"]},'
    b'"parts":{"L":[{"M":{"name":{"S":"x"},"size":{"N":"1"}}}]},"by_name":{"M":{}}}'
)


def described(kind: str, make: Any = None, *inner: Any, of: Any = None, encode: Any = None) -> tuple[Any, ...]:
    """Return a type as the extension takes it."""
    return (kind, of, encode, decode_any, make, None, True, inner, (), (), True)


def fields_of(*parts: tuple[Any, ...], absent: tuple[Any, ...] = (), drops: bool = True) -> tuple[Any, ...]:
    """Return the type of items with some parts."""
    return ("fields", None, None, None, None, None, True, (), parts, absent, drops)


def part(name: str, kind: tuple[Any, ...], *, field: str | None = None, of_null: Any = None, kept: bool = False) -> Any:
    """Return a part that has one name, or another one in Python."""
    return (name if field is None else field, name, kind, False, None, of_null, kept)


TEXT = described("text", of=str)

native = pytest.mark.skipif(not ACTIVE, reason="the native codec was not built, or is turned off")


class Level(IntEnum):
    LOW = 1


class Part(Model):
    name: str
    size: int = 0


class Thing(Model, table="things"):
    id: PartitionKey[str]
    number: int
    score: float
    tags: set[str]
    parts: list[Part]
    by_name: dict[str, Part]
    maybe: int | None
    anything: Any = None


STORED: dict[str, Any] = {
    "id": {"S": "a"},
    "number": {"N": "12"},
    "score": {"N": "98.5"},
    "tags": {"SS": ["a", "b"]},
    "parts": {"L": [{"M": {"name": {"S": "é\n"}, "size": {"N": "3"}}}]},
    "by_name": {"M": {"first": {"M": {"name": {"S": "x"}}}}},
    "maybe": {"NULL": True},
}


def items_in(*stored: Any) -> list[Any]:
    assert NATIVE is not None
    reader = NATIVE.answer_reader(json.dumps({"Items": stored}).encode())
    assert reader.read(2**30)
    assert reader.answer is not None
    return reader.answer["Items"]


def memory_left_by(work: Callable[[], None]) -> int:
    """Return how many bytes more there are after some work has been done five times more."""
    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(5):
            work()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def run(program: str, **environment: str) -> str:
    found = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.check_output([sys.executable, "-c", program], env={**found, **environment}, text=True).strip()


@native
def test_it_is_turned_off_by_an_environment_variable() -> None:
    program = "from dynamap_async.native import ACTIVE; print(ACTIVE)"
    assert run(program) == "True"
    assert run(program, **{VARIABLE: "0"}) == "False"


@pytest.mark.skipif(os.environ.get("CI") != "true", reason="only CI is sure to have a compiler")
def test_the_wheel_that_is_tested_has_it_unless_it_is_turned_off() -> None:
    assert (os.environ.get(VARIABLE) != "0") == ACTIVE


@native
def test_an_item_is_a_mapping_that_becomes_one_dict() -> None:
    [item] = items_in(STORED)
    assert isinstance(item, Mapping)
    assert (item["id"], item.get("none"), "number" in item, "none" in item) == ({"S": "a"}, None, True, False)
    assert (item == STORED, item == STORED, len(item), list(item), {**item}) == (True, True, 7, list(STORED), STORED)
    assert plain(item) is plain(item)
    assert type(plain(item)) is dict
    with pytest.raises(KeyError, match="none"):
        _ = item["none"]


@native
def test_copies_of_an_item_are_plain() -> None:
    [item] = items_in(STORED)
    for copied in (copy.copy(item), copy.deepcopy(item), pickle.loads(pickle.dumps(item))):
        assert type(copied) is dict
        assert copied == STORED


@native
def test_an_item_holds_attributes_only_with_their_values() -> None:
    [item] = items_in(STORED)
    assert item.holds({"id": {"S": "a"}, "number": {"N": "12"}})
    assert not item.holds({"id": {"S": "b"}})
    assert not item.holds({"none": {"S": "a"}})
    assert not item.holds({"id": {"S": "a"}, "none": {"S": "a"}})
    assert item.holds({})
    with pytest.raises(ValueError, match="no key has so many"):
        item.holds({name: {"S": "a"} for name in "abcde"})


@native
def test_a_comparison_may_empty_the_attributes_that_an_item_is_asked_for() -> None:
    [item] = items_in({"id": {"S": "a"}, "number": {"N": "12"}})

    class Emptying:
        def __eq__(self, other: object) -> bool:
            asked.clear()
            gc.collect()
            return True

        def __hash__(self) -> int:
            return 0

    class Last:
        def __eq__(self, other: object) -> bool:
            return other == {"N": "12"}

        def __hash__(self) -> int:
            return 0

    asked: dict[str, Any] = {"id": Emptying(), "number": Last()}
    assert item.holds(asked)
    assert not asked


@native
def test_floats_are_left_to_python_where_arithmetic_is_wider_than_they_are(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None or platform.machine() != "x86_64":
        pytest.skip("only gcc for x86_64 compiles for the processor's older, wider arithmetic")
    checkout = Path(__file__).parents[3]  # an installed package has no sources in C
    sources = sorted(map(str, (checkout / "dynamap_async/native").glob("*.c")))
    made, headers = tmp_path / "_codec.so", sysconfig.get_path("include")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-mfpmath=387", f"-I{headers}", *sources, "-o", str(made)], check=True
    )
    spec = importlib.util.spec_from_file_location("dynamap_async.native._codec", made)
    assert spec is not None
    assert spec.loader is not None
    codec_of_wide = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(codec_of_wide)
    reader = codec_of_wide.AnswerReader(b'{"Items":[{"x":{"N":"98.5"}}]}')
    assert reader.read(1_000)
    of_python = described("floating", lambda text: ("made", text), of=float, encode=lambda value: {"N": "1"})
    fields = fields_of(part("x", of_python))
    assert codec_of_wide.ItemDecoder(fields).decode(reader.answer["Items"])[0] == [{"x": ("made", "98.5")}]
    encoder = codec_of_wide.ItemEncoder(fields, (b"{", 0, {}), (1_000, 32, 1_000))
    assert encoder.encode({"x": 98.5})[1] == b'{"x":{"N":"1"}}'


@native
@pytest.mark.parametrize("is_wire", [False, True])
@pytest.mark.parametrize("name", ["a", "\n"])
def test_the_texts_of_some_attributes_are_found_at_once(is_wire: bool, name: str) -> None:
    [item] = items_in({"id": {"S": "1"}, "number": {"N": "12"}, name: {"S": "\u00e9"}})
    if is_wire:
        plain(item)
    assert item.texts(("id",)) == ("1",)
    assert item.texts((name, "id")) == ("\u00e9", "1")
    for other in ("number", "none"):
        with pytest.raises(KeyError, match=other):
            item.texts(("id", other))


@native
@pytest.mark.parametrize(("length", "is_kept"), [(10, True), (2_000, False)])
def test_a_decoder_keeps_the_json_of_some_attributes_where_it_is_short(length: int, *, is_kept: bool) -> None:
    assert NATIVE is not None
    fields = (part("id", TEXT), part("texts", described("list", None, TEXT), kept=True))
    decode = NATIVE.item_decoder(fields_of(*fields)).decode
    stored = {"id": {"S": "a"}, "texts": {"L": [{"S": "x" * length}]}, "more": {"S": "y"}}
    items = items_in(stored, {"id": {"S": "b"}})
    assert [item.kept for item in items] == [None, None]
    decode(items)
    assert items[0].kept == (json.dumps({"texts": stored["texts"]}).encode() if is_kept else None)
    assert items[1].kept == b"{}"
    NATIVE.item_decoder(fields_of(fields[0])).decode(items)
    assert [item.kept for item in items] == [None, None]


@native
@pytest.mark.parametrize(
    ("stored", "is_marked"),
    [
        ('{"id":{"S":"a"},"v":{"N":"3"}}', True),
        ('{"v":{"N":"4"},"id":{"S":"a"}}', True),
        ('{"id":{"S":"a"}}', False),
        ('{"id":{"S":"a"},"v":{"N":"2"}}', False),
        ('{"id":{"S":"a"},"v":{"S":"3"}}', False),
        ('{"id":{"S":"a"},"v":{"N":"33"}}', False),
        ('{"id":{"S":"a"},"v":{"N":"3"},"v":{"N":"2"}}', False),
        ('{"id":{"S":"a"},"v":{"N":"2"},"v":{"N":"3"}}', False),
        ('{"id":{"S":"a"},"v":{"N": "3"}}', False),
        ('{"id":{"N":"a"},"v":{"N":"3"}}', False),
    ],
)
def test_a_decoder_counts_items_with_a_mark_and_gives_it_to_nobody(stored: str, *, is_marked: bool) -> None:
    assert NATIVE is not None
    reader = NATIVE.answer_reader(f'{{"Items":[{stored}]}}'.encode())
    assert reader.read(10_000)
    assert reader.answer is not None
    for drops in (True, False):
        decoder = NATIVE.item_decoder(fields_of(part("id", TEXT), drops=drops), ("v", (b'{"N":"3"}', b'{"N":"4"}')))
        [values], _, marked = decoder.decode(reader.answer["Items"])
        assert marked == is_marked
        assert values == (None if '"id":{"N"' in stored else {"id": "a"})


@native
def test_the_values_of_a_mark_are_bytes() -> None:
    assert NATIVE is not None
    with pytest.raises(TypeError, match="bytes"):
        NATIVE.item_decoder(fields_of(), ("v", ("3",)))  # type: ignore[arg-type] # that is what is refused


@native
def test_the_last_of_two_attributes_of_one_name_counts() -> None:
    assert NATIVE is not None
    reader = NATIVE.answer_reader(b'{"Item":{"a":{"S":"1"},"a":{"S":"2"}}}')
    assert reader.read(100)
    assert reader.answer is not None
    item = reader.answer["Item"]
    assert (item["a"], plain(item)) == ({"S": "2"}, {"a": {"S": "2"}})


def test_the_json_of_plain_items_is_that_of_pydantic() -> None:
    assert (json_of(STORED), json_bytes(STORED)) == (to_json(STORED), len(to_json(STORED)))


@native
def test_the_json_of_an_item_is_as_it_arrived() -> None:
    [item] = items_in(STORED)
    assert json_of(item) == json.dumps(STORED).encode()
    assert json_bytes(item) == len(json.dumps(STORED).encode())


@native
def test_an_item_with_members_that_a_nested_model_does_not_know_is_remembered_as_text() -> None:
    part = {"name": {"S": "x"}, "more": {"L": [{"S": "]}"}]}}
    [thing] = definition_of(Thing).items.decode(items_in({**STORED, "parts": {"L": [{"M": part}]}}))
    assert thing.parts == [Part(name="x")]
    values, _ = state_of(thing)
    assert from_json(values)["parts"] == {"L": [{"M": part}]}


@native
def test_errors_hold_plain_items() -> None:
    with pytest.raises(ItemValidationError) as caught:
        definition_of(Thing).items.decode(items_in(STORED, {**STORED, "number": {"S": "x"}}))
    [failure] = caught.value.failures
    assert type(failure.item) is dict
    assert failure.item["number"] == {"S": "x"}


@native
def test_what_a_converter_in_python_raises_is_left_to_the_decoders() -> None:
    stored = {**STORED, "parts": {"L": [{"M": {"name": {"S": "x"}, "size": {"N": "one"}}}]}}
    assert NATIVE is not None
    found, *_ = definition_of(Thing).items.decoders._native(items_in(stored))
    assert found == [{**found[0], "parts": [{"name": "x", "size": "one"}]}] or found == [None]


@native
def test_plain_values_are_made_natively_and_by_the_codec_in_python_where_their_forms_are_unusual() -> None:
    asked: list[Any] = []

    def decode(value: Any) -> Any:
        asked.append(value)
        return decode_any(value)

    asking = codec.anything()
    asking.decode = decode
    decoder = native_decoder({"it": ("it", asking, lambda: None)}, (), (), drops=True)
    assert decoder is not None
    usual = {"M": {"a": {"S": "é"}, "b": {"N": "-12"}, "c": {"L": [{"BOOL": False}, {"NULL": True}]}, "d": {"M": {}}}}
    assert decoder(items_in({"it": usual}))[0] == [{"it": {"a": "é", "b": -12, "c": [False, None], "d": {}}}]
    more = {"L": [{"N": "-0.05"}, {"SS": ["é", "a"]}, {"SS": []}]}
    assert repr(decoder(items_in({"it": more}))[0]) == repr([{"it": [Decimal("-0.05"), {"é", "a"}, set()]}])
    assert asked == []
    unusual = [*({"N": text} for text in ("1.50", "1E2", "9" * 20, "1." + "3" * 19)), {"NS": ["1"]}, {"B": "eA=="}]
    assert decoder(items_in({"it": {"L": unusual}}))[0] == [{"it": [decode_any(each) for each in unusual]}]
    assert asked == unusual


@native
@pytest.mark.parametrize(
    "odd", [{"S": "a", "N": "1"}, {}, {"S": ["a"]}, {"BOOL": "x"}, {"X": "a"}, {"N": "x"}, {'S"': "a"}, []]
)
def test_a_malformed_plain_value_is_left_to_the_codec_in_python(odd: Any) -> None:
    decoder = native_decoder({"it": ("it", codec.anything(), lambda: None)}, (), (), drops=True)
    assert decoder is not None
    assert decoder(items_in({"it": odd}))[0] == [None]
    assert decoder(items_in({"it": {"M": {"a": odd}}}))[0] == [None]


def decoder_apart() -> Any:
    """Return a decoder that gives some attributes apart, of which one is no field."""
    assert NATIVE is not None
    plain_type = described("any")
    return NATIVE.item_decoder(
        fields_of(part("id", TEXT)),
        apart=fields_of(
            part("texts", described("list", None, TEXT), field="its texts"),
            part("old", plain_type, field=""),
            part("maybe", TEXT, of_null=lambda: "none"),
            part("number", described("decimal")),
            part("whole", described("integer")),
            part("float", described("floating", float)),
            part("set", described("texts", frozenset)),
            part("level", described("enum", Level, described("integer"))),
            part("any", plain_type),
            absent=(("its texts", list),),
        ),
        plain=plain_type,
    )


@native
def test_a_decoder_gives_some_attributes_apart_as_plain_values() -> None:
    usual = {"id": {"S": "a"}, "texts": {"L": [{"S": "x"}]}, "more": {"S": "y"}, "old": {"M": {"n": {"N": "1.5"}}}}
    page, unknown = decoder_apart().decode_apart(items_in(usual, {"id": {"S": "b"}}, {"id": {"N": "1"}}, {"old": {}}))
    assert page == [({"id": "a"}, {"texts": ["x"], "old": {"n": Decimal("1.5")}}), ({"id": "b"}, {}), None, None]
    assert unknown == 0
    assert decoder_apart().decode_apart([usual]) == ([None], 0)


@native
@pytest.mark.parametrize(
    ("given", "put"),
    [
        ({"texts": ["x"]}, {"its texts": ["x"]}),
        ({"texts": ["x"], "old": 1}, {"its texts": ["x"]}),
        ({"old": None}, {"its texts": []}),
        ({"maybe": None}, {"its texts": [], "maybe": "none"}),
        ({"maybe": "x"}, {"its texts": [], "maybe": "x"}),
        ({}, {"its texts": []}),
        ({"texts": [1]}, None),
        ({"texts": ("x",)}, None),
        ({"texts": None}, None),
        ({"old": 1.5}, None),
        ({"old": Decimal("1.50")}, {"its texts": []}),
        ({"number": Decimal("-11.900")}, {"its texts": [], "number": "-11.9"}),
        ({"number": 7}, {"its texts": [], "number": "7"}),
        ({"number": Decimal(100)}, {"its texts": [], "number": "100"}),
        ({"number": Decimal("0.00")}, {"its texts": [], "number": "0"}),
        ({"number": Decimal("-0.0")}, {"its texts": [], "number": "0"}),
        ({"number": Decimal("NaN")}, None),
        ({"number": Decimal("1E+3")}, None),
        ({"number": Decimal("9" * 39)}, None),
        ({"number": 10**38}, None),
        ({"number": True}, None),
        ({"number": "7"}, None),
        ({"whole": Decimal("7.0")}, {"its texts": [], "whole": 7}),
        ({"whole": Decimal("7.5")}, {"its texts": [], "whole": "7.5"}),
        ({"whole": 10**20}, {"its texts": [], "whole": str(10**20)}),
        ({"float": Decimal("7.50")}, {"its texts": [], "float": 7.5}),
        ({"float": 7}, {"its texts": [], "float": 7.0}),
        ({"float": 7.5}, None),
        ({"float": Decimal("0.1000000000000000055511151231257827")}, {"its texts": [], "float": 0.1}),
        ({"level": 1}, {"its texts": [], "level": Level.LOW}),
        ({"level": 2}, None),
        ({"set": {"b", "a"}}, {"its texts": [], "set": frozenset({"a", "b"})}),
        ({"set": frozenset("a")}, {"its texts": [], "set": frozenset("a")}),
        ({"set": set()}, None),
        ({"set": {"a", 1}}, None),
        ({"set": ["a"]}, None),
        ({"any": Decimal("1.50")}, {"its texts": [], "any": Decimal("1.5")}),
        ({"any": Decimal("2.0")}, {"its texts": [], "any": 2}),
        ({"any": "x"}, {"its texts": [], "any": "x"}),
        ({"any": 10**20}, None),
        ({"old": []}, None),
        ({"texts": ["x"], "more": 1}, None),
    ],
)
def test_a_decoder_puts_plain_values_among_others_or_leaves_that_to_others(given: Any, put: Any) -> None:
    values: dict[str, Any] = {}
    assert decoder_apart().put_plain(given, values) == (put is not None)
    assert put is None or sorted(map(repr, values.items())) == sorted(map(repr, put.items()))


@native
def test_a_decoder_refuses_what_it_cannot_give_apart() -> None:
    assert NATIVE is not None
    with pytest.raises(TypeError, match="plain type"):
        NATIVE.item_decoder(fields_of(), apart=fields_of())
    with pytest.raises(TypeError, match="two dicts"):
        decoder_apart().put_plain([], {})
    with pytest.raises(TypeError, match="list or tuple"):
        decoder_apart().decode_apart({})


@native
def test_giving_attributes_apart_leaves_no_memory_behind() -> None:
    decoder = decoder_apart()
    olds = [{"S": "x"}, {"N": "1.5"}, {"L": [{"SS": ["a"]}]}]
    pages = [{"id": {"S": "a"}, "texts": {"L": [{"S": "a text" * each}]}, "old": olds[each]} for each in range(3)]
    unusual = {"texts": {"L": []}, "old": {"S": "x"}, "id": {"N": "1"}}

    def read_pages() -> None:
        for _ in range(100):
            for each in decoder.decode_apart(items_in(*pages, unusual))[0]:
                if each is not None:
                    values, apart = each
                    decoder.put_plain(apart, values)
                    decoder.put_plain({"texts": [object()], "old": [apart]}, values)
                    decoder.put_plain({"number": Decimal("-1.50"), "set": {"a", "b"}, "whole": 7}, values)
                    decoder.put_plain({"number": Decimal("1E+3"), "set": {1}}, values)
                    decoder.put_plain({"set": {1}}, values)

    assert memory_left_by(read_pages) < 4_000


@native
def test_reading_leaves_no_memory_behind() -> None:
    decode = definition_of(Thing).items.decode
    plain_values = {"anything": {"M": {"a": {"L": [{"N": "1.5"}, {"S": "x"}, {"NULL": True}, {"SS": ["y"]}]}}}}
    odd = {**STORED, **plain_values, "number": {"N": "12.0"}, "tags": {"L": []}, "more\\": {"S": "x"}}

    def read_pages() -> None:
        for _ in range(20):
            items = items_in(STORED, odd, {**STORED, **plain_values})
            assert len(decode(items)) == 3
            assert [item["id"] for item in items] == [{"S": "a"}] * 3
            for text in (b'{"Items":[{"a":{"S":"x"}},', b'{"Items":[1]}', b'{"Responses":{"t":[{}]}}x'):
                with pytest.raises(ValueError, match="unusual form"):
                    NATIVE.answer_reader(text).read(100)  # type: ignore[union-attr]

    assert memory_left_by(read_pages) < 4_000


@native
@pytest.mark.parametrize(
    "stored", [STORED, {**STORED, "id": {"N": "1"}}, {**STORED, "anything": {"L": [{"NULL": True}, {"X": "1"}]}}]
)
def test_reference_counts_are_as_before(stored: Any) -> None:
    decoder: Any = definition_of(Thing).items.decoders._native
    text = json.dumps({"Items": [stored] * 10}).encode()
    things = [text, None, True, "id", JSON_ITEM]

    def counts() -> list[int]:
        return [sys.getrefcount(thing) for thing in things]

    def read() -> None:
        reader = NATIVE.answer_reader(text)  # type: ignore[union-attr]
        reader.read(2**30)
        decoder(reader.answer["Items"])  # type: ignore[index]

    read()
    before = counts()
    for _ in range(100):
        read()
    assert all(abs(now - was) <= 2 for now, was in zip(counts(), before, strict=True))


def thing(**values: Any) -> Thing:
    usual = {"id": "a", "number": 12, "score": 98.5, "tags": {"a", "b"}, "parts": [Part(name="x", size=1)]}
    return Thing.model_construct(**{**usual, "by_name": {}, "maybe": None, **values})


@native
def test_an_item_is_written_with_its_key_and_its_size_beside_it() -> None:
    found = definition_of(Thing).items.encoded(thing())
    assert found == ({"id": {"S": "a"}}, WRITTEN, item_size(from_json(WRITTEN)))


@native
def test_an_unusual_value_is_given_to_its_converter_and_the_item_is_written_all_the_same() -> None:
    for number in (10**18, -(10**37), Level.LOW):
        _, text, size = definition_of(Thing).items.encoded(thing(number=number))
        stored = from_json(text)
        assert stored["number"] == {"N": str(int(number))}
        assert size == item_size(stored)


@native
@pytest.mark.parametrize("value", [datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00Z"])
def test_an_instant_in_utc_is_written_without_its_converter_also_one_that_pydantic_read(value: Any) -> None:
    part = codec.FieldEncoding("at", "at", codec.instant(), encode=Mock(side_effect=AssertionError))
    encode = codec.native_encoder([part], marker={}, kept=())
    assert encode is not None
    found = encode({"at": TypeAdapter(datetime).validate_python(value)})
    assert found == ({}, b'{"at":{"S":"2026-01-01T00:00:00.000000Z"}}', 29)


@native
def test_what_cannot_be_stored_raises_the_error_of_the_codec_in_python() -> None:
    with pytest.raises(EncodeError, match=r"^Thing\.parts\[0\]\.size: int expected, got str 'x'$"):
        definition_of(Thing).items.encoded(thing(parts=[Part.model_construct(name="x", size="x")]))
    with pytest.raises(ItemTooLargeError):
        definition_of(Thing).items.encoded(thing(id="a" * 1_000, tags={"x" * 409_600}))


@native
def test_a_model_with_members_of_users_names_is_left_to_the_codec_in_python() -> None:
    class Loose(Thing, table="loose"):
        model_config = ConfigDict(extra="allow")

    attributes, _, size = definition_of(Loose).items.encoded(Loose(**vars(thing()), more="x"))
    assert (attributes["more"], size) == ({"S": "x"}, None)


@native
def test_a_put_measures_nothing_that_was_counted_when_it_was_encoded() -> None:
    request = Put(thing()).request(Context())
    assert request.target is not None
    assert request.target.measured == item_size(from_json(WRITTEN))


@native
def test_writing_leaves_no_memory_behind() -> None:
    encode: Any = definition_of(Thing).items._native
    usual = [thing(), thing(score=2), thing(number=10**20), thing(by_name={"é\n": Part(name="x" * 5_000)})]
    unusual = [thing(id="\ud800"), thing(tags={"x" * 409_600}), thing(by_name={"x" * 65_536: Part(name="x")})]
    without = {name: value for name, value in vars(thing()).items() if name != "by_name"}

    def write_things() -> None:
        for _ in range(20):
            assert all(encode(vars(item)) for item in usual)
            assert [encode(values) for values in (*map(vars, unusual), without)] == [None] * 4

    assert memory_left_by(write_things) < 4_000


@native
def test_writing_a_body_leaves_no_memory_behind_and_changes_no_reference_counts() -> None:
    part: list[Any] = ["é", 7, -1.5, {"name": "x" * 9_000}, None, True]
    body, spliced = {"TableName": "t", "part": part}, Spliced(b'{"S":"x"}')
    wrong: list[Any] = [[*part, "\ud800"], [*part, object()], [{1: part}], [part, 2**70], {"part": part, "\udfff": 1}]
    things = [body, part, *part[:4], spliced, spliced.text]

    def write_bodies() -> None:
        for _ in range(20):
            assert write_json({**body, "Item": spliced}).startswith(b'{"TableName":"t","part":["\xc3\xa9",7,-1.5,')
            for each in wrong:
                with suppress(TypeError):
                    write_json(each)

    write_bodies()
    before = [sys.getrefcount(each) for each in things]
    assert memory_left_by(write_bodies) < 4_000
    assert all(abs(sys.getrefcount(each) - was) < 10 for each, was in zip(things, before, strict=True))


@native
@pytest.mark.parametrize("wrong", [{}, {"number": "x"}, {"number": 10**20}, {"parts": [1]}])
def test_writing_changes_no_reference_counts(wrong: dict[str, Any]) -> None:
    values = vars(thing(maybe=7, **wrong))
    encode: Any = definition_of(Thing).items._native
    things = [values, *values.values(), *values["parts"], None, True, "id", "number", Part, set, list]

    def counts() -> list[int]:
        return [sys.getrefcount(each) for each in things]

    encode(values)
    # What others hold of None or of a text of one letter changes while the collector runs, and by far less than this.
    calls = 20_000
    gc.collect()
    gc.disable()
    try:
        before = counts()
        for _ in range(calls):
            encode(values)
        after = counts()
    finally:
        gc.enable()
    assert all(abs(now - was) < calls / 2 for now, was in zip(after, before, strict=True))


def test_a_session_says_which_codec_it_has() -> None:
    session = Session(region="eu-west-1")
    assert repr(session).endswith(" with the native codec>" if ACTIVE else " with the codec in Python>")


@native
def test_what_is_known_of_an_item_does_not_depend_on_older_ones_beside_it() -> None:
    class Mixed(Model, table="mixed", schema_version=2):
        key: PartitionKey[str]
        parts: list[str]
        tags: set[str]

        @upgrade(to=2)
        @staticmethod
        def splits(item: StoredItem) -> None:
            item["parts"] = item.pop("PART".lower()).split(",")

    older = {"key": {"S": "a"}, "part": {"S": "x,y"}, "tags": {"SS": ["t"]}}
    newer = {"key": {"S": "b"}, "parts": {"L": [{"S": "z"}]}, "tags": {"SS": ["t"]}, "schema_version": {"N": "2"}}
    for _ in range(3):
        found = definition_of(Mixed).items.decode(items_in(older, newer))
        assert [each.parts for each in found] == [["x", "y"], ["z"]]
        assert changes(found[1], definition_of(Mixed)) == {}
