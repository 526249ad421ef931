from contextvars import copy_context
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import pytest

from dynamap_async import codec
from dynamap_async.errors import DecodeError, EncodeError


@dataclass
class Line:
    name: str
    price: int
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Node:
    value: int
    next: "Node | None" = None


FIELDS = [codec.Field("name", "n", codec.text()), codec.Field("price", "price", codec.integer())]
LINE = codec.nested_of("Line", FIELDS, accepts=(Line,))


def node_converter():
    reference = codec.Deferred("Node", lambda: node)
    node = codec.nested_of(
        "Node",
        [codec.Field("value", "value", codec.integer()), codec.Field("next", "next", codec.optional(reference))],
        accepts=(Node,),
        build=lambda members: Node(**members),
    )
    return reference, node


def test_nested_model_is_stored_under_its_stored_names():
    assert LINE.encode(Line("tea", 5)) == {"M": {"n": {"S": "tea"}, "price": {"N": "5"}}}


def test_nested_model_reads_as_a_dict_of_its_python_names():
    assert LINE.decode({"M": {"n": {"S": "tea"}, "price": {"N": "5"}}}) == {"name": "tea", "price": 5}


def test_unknown_stored_members_are_dropped_by_default():
    assert LINE.decode({"M": {"n": {"S": "tea"}, "x": {"S": "y"}}}) == {"name": "tea"}


def test_unknown_stored_members_are_kept_and_written_again_on_demand():
    line = codec.nested_of("Line", FIELDS, accepts=(Line,), extras=lambda value: value.extra)
    stored = {"M": {"n": {"S": "tea"}, "price": {"N": "5"}, "x": {"L": [{"N": "1"}]}}}
    assert line.decode(stored) == {"name": "tea", "price": 5, "x": [1]}
    assert line.encode(Line("tea", 5, {"x": [1]})) == stored


def test_extra_member_with_the_stored_name_of_a_field_is_not_written():
    line = codec.nested_of("Line", FIELDS, accepts=(Line,), extras=lambda value: value.extra)
    with pytest.raises(EncodeError, match="^n: the extra attribute has the stored name of the field 'name'$"):
        line.encode(Line("tea", 5, {"n": "coffee"}))


def test_model_without_extras_stores_its_fields_only():
    line = codec.nested_of("Line", FIELDS, accepts=(Line,), extras=lambda _value: None)
    assert line.encode(Line("tea", 5)) == LINE.encode(Line("tea", 5))


def test_member_that_the_value_leaves_out_is_not_stored():
    typed_dict = codec.nested_of(
        "Movie",
        [codec.Field(name, name, codec.text(), itemgetter(name)) for name in ("title", "year")],
        accepts=(dict,),
    )
    assert typed_dict.encode({"title": "Alien"}) == {"M": {"title": {"S": "Alien"}}}


@dataclass
class Shelf:
    name: str = "a"
    tags: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)


SHELF = codec.nested_of(
    "Shelf",
    [
        codec.Field("name", "name", codec.text()),
        codec.Field("tags", "t", codec.set_of(codec.text()), left_out=codec.EMPTY_SET),
        codec.Field("others", "others", codec.set_of(codec.text())),
    ],
    accepts=(Shelf,),
    in_dict=True,
)


@pytest.mark.parametrize(
    ("shelf", "sets"),
    [
        (Shelf(), {"others": {"L": []}}),
        (Shelf(tags={"x"}), {"t": {"SS": ["x"]}, "others": {"L": []}}),
        (Shelf(others={"x"}), {"others": {"SS": ["x"]}}),
    ],
)
def test_an_empty_set_is_left_out_where_its_field_says_so(shelf, sets):
    assert SHELF.encode(shelf) == {"M": {"name": {"S": "a"}, **sets}}
    assert SHELF.whole.encode(Shelf())["M"].keys() == {"name", "t", "others"}


def test_an_empty_set_of_one_of_several_models_is_stored_where_only_its_members_tell_the_model():
    assert codec.union_of([LINE, SHELF]).encode(Shelf()) == SHELF.whole.encode(Shelf())
    assert codec.union_of([codec.text(), SHELF]).encode(Shelf()) == SHELF.encode(Shelf())
    assert codec.tagged_union({"a": SHELF}, discriminator=lambda shelf: shelf.name, stored=["name"]).encode(
        Shelf()
    ) == SHELF.encode(Shelf())


def test_unexpected_content_of_a_field_is_given_plain_and_the_others_keep_their_names():
    line = codec.nested_of(
        "Line", [codec.Field("name", "n", codec.text()), codec.Field("on", "o", codec.date())], accepts=(Line,)
    )
    assert line.decode_or_plain({"M": {"n": {"S": "tea"}, "o": {"S": "soon"}}}) == {"name": "tea", "on": "soon"}


def test_field_of_another_stored_type_is_refused_by_its_name_in_python():
    with pytest.raises(DecodeError, match="^name: str is stored as S, not as N$"):
        LINE.decode_or_plain({"M": {"n": {"N": "1"}, "price": {"N": "5"}}})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"name": "tea"}, "Line expected, got dict"),
        (Line("tea", "5"), "price: int expected, got str '5'"),
        (Line(None, 5), "name: str expected, got None"),
    ],
)
def test_value_that_does_not_fit_is_refused_with_its_path(value, message):
    with pytest.raises(EncodeError) as caught:
        LINE.encode(value)
    assert str(caught.value).startswith(message)


def test_extra_member_that_cannot_be_stored_is_refused_with_its_path():
    line = codec.nested_of("Line", FIELDS, accepts=(Line,), extras=lambda value: value.extra)
    with pytest.raises(EncodeError, match=r"^x\[0\]: storable value expected"):
        line.encode(Line("tea", 5, {"x": [object()]}))


def test_field_without_a_value_is_refused_by_name():
    with pytest.raises(EncodeError, match="^name: the field has no value; set it before you store the item"):
        LINE.encode(object.__new__(Line))


def test_steps_lead_to_stored_names():
    assert LINE.step("name") == codec.ValuePart("n", FIELDS[0].converter)
    assert LINE.step("n") is None
    assert LINE.step(0) is None


def test_recursive_model_round_trips_through_a_deferred_converter():
    reference, node = node_converter()
    chain = Node(1, Node(2, Node(3)))
    assert node.decode(node.encode(chain)) == chain
    assert reference.decode(reference.encode(chain)) == chain


def test_deferred_converter_answers_like_the_one_it_stands_for():
    reference, node = node_converter()
    assert reference.step("next")[1].step("value") == node.step("value")
    assert reference.member is None
    assert reference.document is False
    assert reference.tags == node.tags


def test_deferred_converter_is_resolved_once():
    calls = []
    reference = codec.Deferred("text", lambda: calls.append(1) or codec.text(), tags=frozenset({"S"}))
    assert calls == []
    assert [reference.encode("a"), reference.encode("b"), reference.decode({"S": "c"})] == [{"S": "a"}, {"S": "b"}, "c"]
    assert calls == [1]


def counting(calls):
    """Return a converter of ints that notes what it converts."""
    whole = codec.integer()
    return codec.Converter(
        label="int",
        tags=whole.tags,
        encode=lambda value: calls.append(value) or whole.encode(value),
        decode=lambda value: calls.append(value) or whole.decode(value),
    )


def test_a_nested_value_that_cannot_be_stored_is_encoded_once_at_each_level():
    calls = []
    reference = codec.Deferred("Node", lambda: node)
    fields = [codec.Field("value", "value", counting(calls)), codec.Field("next", "next", codec.optional(reference))]
    node = codec.nested_of("Node", fields, accepts=(Node,), in_dict=True)
    value = Node("seven")
    for _ in range(20):
        value = Node(1, value)
    with pytest.raises(EncodeError) as found:
        node.encode(value)
    assert found.value.path == (*["next"] * 20, "value")
    assert len(calls) == 21


def test_a_nested_value_that_does_not_fit_is_not_decoded_twice_at_each_level():
    calls = []
    reference = codec.Deferred("Node", lambda: node)
    fields = [codec.Field("value", "value", counting(calls)), codec.Field("next", "next", codec.optional(reference))]
    node = codec.nested_of("Node", fields, accepts=(Node,))
    stored = {"M": {"next": {"NULL": True}, "value": {"S": "x"}}}
    for _ in range(20):
        stored = {"M": {"next": stored, "value": {"S": "x"}}}
    with pytest.raises(DecodeError):
        node.decode_or_plain(stored)
    assert len(calls) < 32**2  # not 2**21


def omitted(decode):
    """Return how many members a decoding left out, in a context of its own."""
    counted = codec.Omissions()

    def count():
        codec.OMISSIONS.set(counted)
        decode()

    copy_context().run(count)
    return counted.number


PRICED = {"M": {"n": {"S": "tea"}, "price": {"N": "5"}}}
PRICED_AND_MORE = {"M": {**PRICED["M"], "unknown": {"S": "x"}}}


def test_members_that_are_left_out_are_counted():
    assert omitted(lambda: [LINE.decode(PRICED), LINE.decode(PRICED_AND_MORE)]) == 1


def test_a_decoding_does_not_count_what_another_one_leaves_out():
    def decode():
        LINE.decode(PRICED_AND_MORE)
        assert omitted(lambda: [LINE.decode(PRICED_AND_MORE), LINE.decode(PRICED_AND_MORE)]) == 2

    assert omitted(decode) == 1


def test_only_a_model_of_this_library_is_a_document():
    model = codec.nested_of("Line", FIELDS, accepts=(Line,), document=True)
    assert model.document
    assert codec.optional(model).document
    assert not LINE.document
    assert not codec.union_of([model, LINE]).document
