"""The extension module itself: each load has its own state, its types stay as they are, and threads may share them."""

import gc
import importlib.util
import json
import sys
import threading
import weakref
from types import ModuleType
from typing import Any

import pytest

from dynamap_async.native import ACTIVE

pytestmark = pytest.mark.skipif(not ACTIVE, reason="the native codec was not built, or is turned off")

NAME = "dynamap_async.native._codec"
TYPES = ("AnswerReader", "ItemDecoder", "ItemEncoder", "JsonItem")
TEXT = ("text", str, None, None, None, None, True, (), (), (), True)
FIELDS = ("fields", None, None, None, None, None, True, (), (("id", "id", TEXT, False, None, None, True),), (), True)


def loaded() -> ModuleType:
    """Return the extension, loaded once more."""
    spec = importlib.util.spec_from_file_location(NAME, sys.modules[NAME].__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def items_of(codec: Any, *ids: str) -> list[Any]:
    """Return items of an answer, as one load of the extension has them."""
    reader = codec.AnswerReader(json.dumps({"Items": [{"id": {"S": each}} for each in ids]}).encode())
    assert reader.read(1_000_000)
    items: list[Any] = reader.answer["Items"]
    return items


def test_each_load_of_the_extension_is_a_module_of_its_own() -> None:
    one, other = loaded(), loaded()
    assert all(getattr(one, each) is not getattr(other, each) for each in TYPES)
    for codec, stranger in ((one, other), (other, one)):
        assert codec.ItemDecoder(FIELDS).decode(items_of(codec, "a")) == ([{"id": "a"}], 0, 0)
        assert codec.ItemDecoder(FIELDS).decode(items_of(stranger, "a")) == ([None], 0, 0)
        assert codec.ItemEncoder(FIELDS, (b"{", 0, {}), (1_000, 32, 1_000)).encode({"id": "a"}) == (
            {"id": {"S": "a"}},
            b'{"id":{"S":"a"}}',
            3,
        )


def test_a_load_ends_with_the_last_of_its_objects() -> None:
    codec = loaded()
    [item], decoder = items_of(codec, "a"), codec.ItemDecoder(FIELDS)
    there = [weakref.ref(getattr(codec, each)) for each in TYPES]
    del codec
    gc.collect()
    assert decoder.decode([item]) == ([{"id": "a"}], 0, 0)
    assert item["id"] == {"S": "a"}
    del item, decoder
    gc.collect()
    assert [each() for each in there] == [None] * len(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_a_type_of_the_extension_cannot_be_changed(name: str) -> None:
    codec = loaded()
    kind = getattr(codec, name)
    is_made_at_run_time = 1 << 9  # Py_TPFLAGS_HEAPTYPE
    assert kind.__flags__ & is_made_at_run_time
    assert kind.__module__ == NAME
    with pytest.raises(TypeError, match="immutable type"):
        kind.added = 1
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Derived", (kind,), {})


def test_the_extension_turns_no_lock_on() -> None:
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)
    before = has_lock()
    loaded()
    assert has_lock() is before


def test_threads_read_and_write_with_the_same_objects() -> None:
    codec = loaded()
    ids = [f"a{number}" for number in range(50)]
    items, decoder = items_of(codec, *ids), codec.ItemDecoder(FIELDS)
    encoder = codec.ItemEncoder(FIELDS, (b"{", 0, {}), (1_000, 32, 1_000))
    known = {json.dumps({"id": {"S": each}}).encode() for each in ids}
    start, wrong = threading.Barrier(4), []

    def work() -> None:
        start.wait()
        for _ in range(20):
            values, _, _ = decoder.decode(items)
            again = [json.loads(encoder.encode(each)[1]) for each in values]
            kept = {item.kept for item in items} - {None}  # another thread may be about to keep it
            if again != [item.wire() for item in items] or kept - known:
                wrong.append(again)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(item.wire() is item.wire() for item in items)


def test_threads_that_read_one_answer_read_each_part_once() -> None:
    codec = loaded()
    ids = [str(number) for number in range(500)]
    text = json.dumps({"Items": [{"id": {"S": each}} for each in ids], "Count": len(ids)}).encode()
    reader, start = codec.AnswerReader(text), threading.Barrier(4)

    def work() -> None:
        start.wait()
        while not reader.read(10):
            pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reader.answer["Count"] == len(ids)
    assert [item["id"]["S"] for item in reader.answer["Items"]] == ids


def test_what_is_left_out_is_counted_for_the_call_that_left_it_out() -> None:
    codec = loaded()
    text = json.dumps({"Items": [{"id": {"M": {"id": {"S": "a"}, "more": {"S": "b"}}}}]}).encode()
    inner = codec.AnswerReader(text)
    outer = codec.AnswerReader(text)
    assert inner.read(1_000)
    assert outer.read(1_000)
    counts = []

    def make(value: Any) -> Any:
        if not counts:
            counts.append(None)
            counts.append(decoder.decode(inner.answer["Items"])[1])
        return value

    nested = ("fields", None, None, None, make, None, True, (), FIELDS[8], (), True)
    fields = (*FIELDS[:8], (("id", "id", nested, False, None, None, False),), (), True)
    decoder = codec.ItemDecoder(fields)
    assert decoder.decode(outer.answer["Items"]) == ([{"id": {"id": "a"}}], 1, 0)
    assert counts == [None, 1]


def test_the_size_of_a_list_that_shrinks_is_that_of_what_was_written() -> None:
    codec = loaded()
    elements: list[Any] = [1, 2, 3]

    def encode(element: Any) -> dict[str, str]:
        elements.clear()
        return {"S": str(element)}

    member = ("other", None, encode, None, None, None, True, (), (), (), True)
    kind = ("list", list, None, None, None, None, True, (member,), (), (), True)
    fields = (*FIELDS[:8], (("id", "id", kind, False, None, None, False),), (), True)
    encoder = codec.ItemEncoder(fields, (b"{", 0, {}), (1_000, 32, 1_000))
    assert encoder.encode({"id": elements}) == ({}, b'{"id":{"L":[{"S":"1"}]}}', len("id") + 3 + 1 + len("1"))
