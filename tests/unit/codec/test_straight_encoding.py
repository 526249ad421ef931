"""Straight encoding: what is written, how often, and what becomes of what it does not take."""

import enum
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from dynamap_async import codec
from dynamap_async.codec import Converter, FieldEncoding, straight_encoder, straight_encoding
from dynamap_async.errors import EncodeError


class Color(enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()


class Whole(int):
    pass


class Place:
    """A value whose members stand in its ``__dict__``."""

    def __init__(self, **members: Any) -> None:
        self.__dict__.update(members)


def place_of(**converters: Converter) -> codec.Nested:
    fields = [codec.Field(name, f"s-{name}", converter) for name, converter in converters.items()]
    return codec.nested_of("Place", fields, accepts=(Place,), in_dict=True)


def encoded(converter: Converter, value: Any) -> Any:
    return straight_encoder("Thing", [FieldEncoding("field", "stored", converter)])({"field": value})["stored"]


def test_members_are_stored_under_their_stored_names_in_order() -> None:
    encode = straight_encoder(
        "Thing", [FieldEncoding("b", "pk", codec.text()), FieldEncoding("a", "n", codec.integer())]
    )
    assert list(encode({"a": 7, "b": "ada"}).items()) == [("pk", {"S": "ada"}), ("n", {"N": "7"})]


@pytest.mark.parametrize("count", [0, 15, 16, 300])
def test_any_number_of_members_is_encoded_in_order(count: int) -> None:
    names = [f"member_{number}" for number in range(count)]
    encode = straight_encoder("Thing", [FieldEncoding(name, name, codec.integer()) for name in names])
    stored = encode({name: number for number, name in enumerate(names)})
    assert list(stored.items()) == [(name, {"N": str(number)}) for number, name in enumerate(names)]


@pytest.mark.parametrize("name", ['"', "'", "\\", "a\nb", "{x}", "']; raise SystemExit #", "日本", "values", "\ud800"])
def test_any_text_can_be_a_name(name: str) -> None:
    assert straight_encoder("Thing", [FieldEncoding(name, name, codec.text())])({name: "ada"}) == {name: {"S": "ada"}}


@pytest.mark.parametrize(
    ("converter", "value"),
    [
        pytest.param(codec.text(), Text("ada"), id="subclass of str"),
        pytest.param(codec.integer(), Whole(7), id="subclass of int"),
        pytest.param(codec.integer(), 10**37, id="long int"),
        pytest.param(codec.integer(), -(10**18), id="first of the long ints"),
        pytest.param(codec.floating(), 98.0, id="whole float"),
        pytest.param(codec.floating(), -0.0, id="minus zero"),
        pytest.param(codec.floating(), 1e15, id="large float"),
        pytest.param(codec.floating(), 1e22, id="float with an exponent"),
        pytest.param(codec.floating(), -0.0001, id="small float"),
        pytest.param(codec.floating(), 7, id="int as float"),
        pytest.param(codec.decimal(), 7, id="int as Decimal"),
        pytest.param(codec.decimal(), Decimal("-0.00"), id="Decimal of minus zero"),
        pytest.param(codec.binary(), bytearray(b"ab"), id="bytearray"),
        pytest.param(codec.instant(), datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1))), id="another zone"),
        pytest.param(codec.instant(zoned=False), datetime(2026, 1, 1, 1, 2, 3), id="naive"),  # noqa: DTZ001
        pytest.param(codec.enum_of(Color, codec.text()), "red", id="value of an enum"),
        pytest.param(codec.literal_of(["a", 1]), 1, id="literal"),
        pytest.param(codec.set_of(codec.text()), set(), id="empty set"),
        pytest.param(codec.set_of(codec.text()), frozenset("ab"), id="frozenset as set"),
        pytest.param(codec.set_of(codec.text()), {Text("b"), "a"}, id="set with a subclass of str"),
        pytest.param(codec.set_of(codec.decimal()), {Decimal("1.0"), Decimal(2), 1}, id="set of equal numbers"),
        pytest.param(codec.list_of(codec.integer(), accepts=(list, tuple)), (1, 2), id="tuple as list"),
        pytest.param(codec.map_of(codec.map_key(str), codec.integer()), {Text("a"): 1}, id="key of a subclass"),
        pytest.param(codec.optional(codec.list_of(codec.optional(codec.text()))), [None, "a"], id="optional"),
        pytest.param(codec.optional(codec.text()), None, id="None"),
        pytest.param(codec.union_of([codec.integer(), codec.text()]), Text("a"), id="union"),
    ],
)
def test_unusual_values_are_encoded_as_their_converter_does(converter: Converter, value: Any) -> None:
    assert encoded(converter, value) == converter.encode(value)


def test_usual_values_need_no_call_of_their_encoders(monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_of(
        city=codec.text(),
        at=codec.instant(),
        sizes=codec.list_of(codec.integer()),
        names=codec.set_of(codec.text()),
        prices=codec.map_of(codec.map_key(str), codec.optional(codec.floating())),
        either=codec.union_of([codec.boolean(), codec.text()]),
    )
    value = Place(
        city="London", at=datetime.now(UTC), sizes=[1, 2], names={"b", "a"}, prices={"a": 9.5, "b": None}, either=True
    )
    expected = place.encode(value)
    for each in place.fields.values():
        monkeypatch.setattr(each.converter, "encode", None)  # calling it would fail
    assert encoded(place, value) == expected


def test_members_that_are_left_out_leave_the_others_in_order() -> None:
    parts = [
        FieldEncoding("a", "a", codec.text()),
        FieldEncoding("b", "b", codec.text(), codec.text().encode, nullable=True),
        FieldEncoding("c", "c", codec.text(), codec.text().encode, nullable=True, none={"NULL": True}),
        FieldEncoding("d", "d", codec.set_of(codec.text()), lambda _: None),
        FieldEncoding("e", "e", codec.text()),
    ]
    encode = straight_encoder("Thing", parts)
    assert list(encode({"a": "x", "b": None, "c": None, "d": set(), "e": "y"}).items()) == [
        ("a", {"S": "x"}),
        ("c", {"NULL": True}),
        ("e", {"S": "y"}),
    ]
    assert list(encode({"a": "x", "b": "x", "c": "x", "d": {"x"}, "e": "y"})) == ["a", "b", "c", "d", "e"]


def test_a_missing_value_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="field"):
        straight_encoder("Thing", [FieldEncoding("field", "stored", codec.text())])({})


@pytest.mark.parametrize("depth", [3, 30])
@pytest.mark.parametrize("kind", ["list", "map", "optional", "tuple"])
def test_types_may_be_nested_at_any_depth(kind: str, depth: int) -> None:
    converter, value = codec.integer(), 7
    for _ in range(depth):
        if kind == "list":
            converter, value = codec.list_of(converter), [value]
        elif kind == "map":
            converter, value = codec.map_of(codec.map_key(str), converter), {"a": value}
        elif kind == "tuple":
            converter, value = codec.variadic_tuple_of(converter), (value,)
        else:
            converter = codec.optional(converter)
    assert encoded(converter, value) == converter.encode(value)


def node(value: Converter) -> codec.Nested:
    reference = codec.Deferred("Place", lambda: made)
    made = place_of(value=value, next=codec.optional(reference), others=codec.list_of(reference))
    return made


def chain(length: int, last: Any) -> Place:
    value = Place(value=last, next=None, others=[])
    for number in range(length):
        value = Place(value=1, next=None, others=[value]) if number % 2 else Place(value=1, next=value, others=[])
    return value


def test_a_type_may_contain_itself() -> None:
    converter = node(codec.integer())
    value = chain(20, 7)
    assert encoded(converter, value) == converter.encode(value)


def test_what_cannot_be_stored_is_encoded_twice_at_most_at_any_depth() -> None:
    seen: list[Any] = []

    def encode(value: Any) -> Any:
        seen.append(value)
        return codec.integer().encode(value)

    inner = Converter(label="int", tags=frozenset("N"), encode=encode, decode=lambda value: value)
    converter = node(inner)
    value = chain(20, "seven")
    with pytest.raises(EncodeError) as found:
        converter.encode(value)
    assert found.value.path.count("next") == found.value.path.count("others") == 10
    assert len(seen) == 21  # not 2**20
    seen.clear()
    with pytest.raises(EncodeError):
        encoded(converter, value)
    assert len(seen) == 21


def test_unions_that_contain_themselves_are_written_a_bounded_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    class Counting(dict[str, Any]):
        def get(self, kind: str, otherwise: Any = None) -> Any:
            written.append(kind)
            return super().get(kind, otherwise)

    monkeypatch.setattr(straight_encoding, "_WITHOUT_PARTS", Counting(straight_encoding._WITHOUT_PARTS))
    reference = codec.Deferred("Tree", lambda: tree)
    tree = codec.union_of(
        [
            codec.list_of(reference),
            codec.map_of(codec.map_key(str), reference),
            codec.variadic_tuple_of(reference),
            codec.text(),
        ]
    )
    encode = straight_encoder(
        "Thing", [FieldEncoding(f"tree_{number}", f"tree_{number}", tree) for number in range(100)]
    )
    assert 100 < len(written) <= 500
    value: Any = [{"a": ("x", [{"b": [[["y"]]]}])}]
    assert set(map(repr, encode(dict.fromkeys([f"tree_{number}" for number in range(100)], value)).values())) == {
        repr(tree.encode(value))
    }
