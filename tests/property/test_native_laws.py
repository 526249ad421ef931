"""Laws of the native codec: it reads and writes what the codec in Python does, and refuses what that refuses."""

import enum
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, Optional
from uuid import UUID

import pydantic_core
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter

from dynamap_async import GlobalIndex, Model, PartitionKey, StoredItem, Table, computed_attr, upgrade
from dynamap_async.codec import item_size
from dynamap_async.errors import DynamapError, EncodeError
from dynamap_async.models import definition_of
from dynamap_async.models.state import state_of
from dynamap_async.models.stored_values import known
from dynamap_async.native import ACTIVE, JSON_ITEM, NATIVE

pytestmark = pytest.mark.skipif(not ACTIVE, reason="the native codec was not built, or is turned off")
laws = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])

MISSING: Any = getattr(pydantic_core, "MISSING", None)
"""None where Pydantic is too old to have it: the fields below are then some more that may be None."""

PIECES = ("é", "🦊", "\u2028", "\\", '"', "\n", "\x7f", "ß" * 9, "plain text of some length", "0123456789abcdef" * 2)
TEXTS = st.lists(
    st.sampled_from(PIECES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=3
).map("".join)
NUMBERS = st.one_of(
    st.integers(-(10**38), 10**38).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=5).map(str),
    st.from_regex(r"-?[0-9]{0,20}\.?[0-9]{0,24}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.sampled_from(
        ["", "-", "-0", "007", "1_000", " 7", "+5", "٣", "NaN", "Infinity", "1.", ".5", "9" * 38, "1" * 5000]
    ),
)
ISO = st.sampled_from(
    [
        "2026-11-23T00:00:00.000000Z",
        "2026-11-23",
        "12:30:00",
        "0b5d7c0e-7a3e-4e5b-9d3e-000000000001",
        "eA==",
        "eA=",
        "20261123",
        "86400",
        "-5",
        "1.5",
    ]
)
ANY_TEXT = TEXTS | ISO | st.sampled_from(["red", "blue", "a", "low"])
LEAVES = st.one_of(
    ANY_TEXT.map(lambda text: {"S": text}),
    NUMBERS.map(lambda number: {"N": number}),
    st.booleans().map(lambda value: {"BOOL": value}),
    st.just({"NULL": True}),
    ISO.map(lambda text: {"B": text}),
    st.lists(ANY_TEXT, max_size=3).map(lambda texts: {"SS": texts}),
    st.lists(NUMBERS, max_size=3).map(lambda texts: {"NS": texts}),
    st.sampled_from(
        [
            {"NULL": False},
            {"BOOL": "true"},
            {"S": 1},
            {"N": 1},
            {"S": None},
            {"SS": [1]},
            {"SS": "a"},
            {"L": {}},
            {"M": []},
            {},
            {"S": "a", "N": "1"},
            {"X": "a"},
            "a",
            None,
            True,
            [],
            {"SS": [["a"]]},
            {"M": {"": {}}},
            {"N": True},
        ]
    ),
)
NAMES = st.sampled_from(["city", "zip", "Stored Name", "marks", "inner", "x"]) | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda values: (
        st.lists(values, max_size=3).map(lambda each: {"L": each})
        | st.dictionaries(NAMES, values, max_size=3).map(lambda each: {"M": each})
    ),
    max_leaves=6,
)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Place(BaseModel):
    city: str
    zip: int = 7
    marks: list[int] = []
    inner: Optional["Place"] = None


class Sparse(Model, absent_when_none=True):
    city: str | None
    zip: int | None = None
    floor: int | None = 1
    tags: set[str] | None = None
    inner: Optional["Sparse"] = None


class Gappy(Model, absent_when_none=True):
    text: str | MISSING
    number: int | MISSING | None = MISSING
    tags: set[str] | MISSING = MISSING
    inner: Optional["Gappy"] = None


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    city: str


class Item(Model, table="items"):
    id: PartitionKey[str]
    text: str = "-"
    integer: int = 0
    number: float = 0.0
    decimal: Decimal = Decimal(0)
    flag: bool = False
    data: bytes = b""
    instant: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    day: date = date(2026, 1, 1)
    moment: time = time(12)
    length: timedelta = timedelta(0)
    uuid: UUID = UUID(int=0)
    color: Color = Color.RED
    level: Level = Level.LOW
    choice: Literal["a", "b"] = "a"
    tags: set[str] = set()
    frozen: frozenset[str] = frozenset()
    numbers: set[int] = set()
    texts: list[str] = []
    integers: list[int] = []
    floats: list[float] = []
    lists: list[list[int]] = []
    pair: tuple[int, str] = (0, "")
    mapping: dict[str, int] = {}
    by_number: dict[int, str] = {}
    maybe: int | None = None
    maybe_place: Place | None = None
    required_maybe: str | None
    place: Place | None = None
    places: list[Place] = []
    by_name: dict[str, Place] = {}
    loose: Loose | None = None
    sparse: Sparse | None = None
    sparse_ones: list[Sparse] = []
    either: int | str = 0
    anything: Any = None
    by_any_name: dict[str, Any] = {}
    in_any_order: list[Any] = []
    missing: str | MISSING = MISSING
    missing_or_none: int | MISSING | None = MISSING
    required_missing: set[str] | MISSING
    missing_either: int | str | MISSING = MISSING
    missing_place: Place | MISSING = MISSING
    gappy: Gappy | MISSING | None = MISSING
    gappy_ones: list[Gappy] = []


class StrictItem(Item, table="strict"):
    model_config = ConfigDict(strict=True)


class LooseItem(Item, table="loose"):
    model_config = ConfigDict(extra="allow")


class VersionedItem(Item, table="versioned", schema_version=3, accepts=4):
    @upgrade(to=2)
    @staticmethod
    def louder(item: StoredItem) -> None:
        item["text"] = f"{item.get('text')}!"
        item["anything"] = item.get("by_any_name")

    @upgrade(to=3)
    @staticmethod
    def no_flag(item: StoredItem) -> None:
        item.pop("flag", None)


class LooseVersionedItem(VersionedItem, table="loose-versioned"):
    model_config = ConfigDict(extra="allow")


SHARED = Table("shared", partition_key="id", discriminator="kind of item")


class SharedItem(Item, table=SHARED, kind="shared\n"):
    pass


class ComputedItem(Item, table="computed"):
    @computed_attr(depends=("text",))
    def start(self) -> str | None:
        return self.text[:3] or None

    @computed_attr(depends=("integers",), name="Stored Name")
    def sums(self) -> list[int]:
        return [sum(self.integers), len(self.integers)]

    by_start = GlobalIndex(partition_key="start")


class IndexedItem(Item, table="indexed"):
    by_text = GlobalIndex(partition_key="text", sort_key="number")


ATTRIBUTES = sorted(Item.model_fields)
MODELS = st.sampled_from([Item, StrictItem, LooseItem, VersionedItem, LooseVersionedItem, ComputedItem])
VERSIONS = st.sampled_from([*({"N": each} for each in ("1", "2", "3", "3", "3", "4", "5", "x")), {"S": "3"}])
USUAL: dict[str, Any] = {
    "id": {"S": "a"},
    "text": {"S": "text"},
    "integer": {"N": "12"},
    "number": {"N": "98.5"},
    "decimal": {"N": "1.50"},
    "flag": {"BOOL": True},
    "tags": {"SS": ["a", "b"]},
    "integers": {"L": [{"N": "1"}, {"N": "2"}]},
    "mapping": {"M": {"a": {"N": "1"}}},
    "maybe": {"NULL": True},
    "place": {"M": {"city": {"S": "é"}, "zip": {"N": "1"}, "inner": {"M": {"city": {"S": "x"}, "more": {"S": "y"}}}}},
    "places": {"L": [{"M": {"city": {"S": "x"}}}]},
    "missing_or_none": {"NULL": True},
    "required_missing": {"SS": ["a"]},
    "gappy": {"M": {"number": {"N": "1"}, "inner": {"M": {"text": {"S": "é"}}}}},
}
NUMERIC = ("integer", "number", "decimal", "length", "level", "maybe", "either", "anything")


@st.composite
def items(draw) -> dict[str, Any]:
    """Draw an item: a usual one, of which some attributes are replaced."""
    item = {name: value for name, value in USUAL.items() if name == "id" or draw(st.booleans())}
    for name in draw(st.lists(st.sampled_from(ATTRIBUTES) | NAMES, max_size=3)):
        item[name] = draw(VALUES)
    for name in draw(st.lists(st.sampled_from(NUMERIC), max_size=2)):
        item[name] = {"N": draw(NUMBERS)}
    if draw(st.booleans()):
        item["schema_version"] = draw(VERSIONS)
    return {name: item[name] for name in draw(st.permutations(list(item)))}


WRITERS: list[Callable[[Any], str]] = [
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    lambda value: json.dumps(value, ensure_ascii=True),
    lambda value: json.dumps(value, ensure_ascii=False, indent=1),
]


@st.composite
def damaged(draw, text: bytes) -> bytes:
    """Draw a text that differs from another in a few places."""
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        till = min(len(text), at + draw(st.integers(0, 6)))
        put = draw(
            st.sampled_from(
                [
                    b"",
                    b'"',
                    b"\\",
                    b"\\u00e9",
                    b"\\ud83e\\udd8a",
                    b"\\ud800",
                    b"\\udc00",
                    b"\xff",
                    b"\xc3",
                    b"\xed\xa0\x80",
                    b"\x00",
                    b"{",
                    b"}",
                    b"[",
                    b"]",
                    b",",
                    b":",
                    b"1",
                    b"null",
                    b"tru",
                    b" ",
                    b"\n",
                    b"\x01",
                    b"\xf0\x9f\xa6\x8a",
                    b'"id":{"S":"again"},',
                    b"\\/",
                    b"\\x",
                    b'{"S":"a"}',
                    b"[" * 200,
                    b'{"a":' * 200,
                ]
            )
        )
        text = text[:at] + put + text[till:]
    return text


@st.composite
def answers(draw) -> bytes:
    """Draw the JSON of an answer, now and then damaged."""
    found = draw(st.lists(items(), max_size=3))
    content = draw(
        st.sampled_from(
            [
                {"Items": found, "Count": len(found), "ScannedCount": len(found)},
                {
                    "Count": 2,
                    "Items": found,
                    "LastEvaluatedKey": {"id": {"S": "a"}},
                    "ConsumedCapacity": {"Units": 1.5},
                },
                {"Responses": {"one": found, "two": found[:1]}, "UnprocessedKeys": {}},
                {"Item": found[0] if found else None, "more": [1, {"a": "}"}, None]},
            ]
        )
    )
    return draw(damaged(draw(st.sampled_from(WRITERS))(content).encode()))


def read(text: bytes, most: int) -> Any:
    """Return what the native codec reads; None where it leaves that to others."""
    assert NATIVE is not None
    reader = NATIVE.answer_reader(text)
    try:
        while not reader.read(most):
            assert reader.answer is None
    except ValueError:
        return None
    return reader.answer


def loaded(text: bytes) -> Any:
    try:
        return json.loads(text.decode())
    except ValueError:
        return None


def items_of(answer: Any) -> list[Any]:
    tables = answer.get("Responses")
    lists = [answer.get("Items"), *(tables.values() if isinstance(tables, dict) else ())]
    found = [item for each in lists if isinstance(each, list) for item in each]
    return [*found, *([answer["Item"]] if "Item" in answer else [])]


@given(answers(), st.integers(1, 400))
@laws
def test_an_answer_is_read_as_json_reads_it_or_left_to_others(text: bytes, most: int) -> None:
    answer = read(text, most)
    if answer is None:
        return
    whole = loaded(text)
    assert answer == whole
    assert list(answer) == list(whole)
    for item, expected in zip(items_of(answer), items_of(whole), strict=True):
        if type(item) is JSON_ITEM:
            assert json.loads(item.json) == expected
            assert [item.get(name) for name in (*expected, "absent")] == [*expected.values(), None]
            assert list(item.items()) == list(expected.items())
            assert bool(item) == bool(expected)


@given(st.lists(items(), max_size=3), st.sampled_from(WRITERS), st.integers(1, 10_000))
@laws
def test_an_answer_of_dynamodbs_form_is_never_left_to_others(found: list[Any], write: Any, most: int) -> None:
    found = [item for item in found if not has_bare_number(item)]
    text = write({"Items": found, "Count": len(found)}).encode()
    assert read(text, most) == {"Items": found, "Count": len(found)}


def has_bare_number(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return type(value) is int or any(map(has_bare_number, parts))


def outcome(model: type[Any], stored: Any) -> Any:
    """Return all that can be told of a page that was decoded, or of its error."""
    try:
        page = definition_of(model).items.decode(stored)
    except DynamapError as error:
        return (
            type(error),
            str(error),
            error.items,
            [(type(each), str(each), each.item, str(each.validation_error)) for each in error.failures],
        )
    return [(repr(item), item, item.model_fields_set, item.__pydantic_extra__, state_meaning(item)) for item in page]


def state_meaning(item: Any) -> Any:
    assert state_of(item)[0] is not None
    state = known(item, definition_of(type(item)))
    # Texts alone are looked for in what was decoded. Pydantic makes the same of a number and of its text, and where an
    # item of a page is left to Python, the others may have either.
    return state._replace(decoded=numbers_alike(state.decoded))


def numbers_alike(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: numbers_alike(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [numbers_alike(each) for each in value]
    if isinstance(value, str):
        with suppress(InvalidOperation):
            return Decimal(value)
    return Decimal(str(value)) if type(value) in (int, float) else value


@given(answers(), MODELS)
@laws
def test_a_page_becomes_what_the_codec_in_python_makes_of_it(text: bytes, model: type[Any]) -> None:
    answer = read(text, 10_000)
    if answer is None or {JSON_ITEM} < set(map(type, items_of(answer))):
        return
    native, plain = items_of(answer), items_of(json.loads(text))
    try:
        expected = outcome(model, plain)
    except Exception as error:  # noqa: BLE001 - what is no value of DynamoDB's raises what it likes
        with pytest.raises(type(error)):
            outcome(model, native)
        return
    assert repr(outcome(model, native)) == repr(expected)
    assert outcome(model, native) == expected or "nan" in repr(expected).lower()


FLOATS = st.one_of(
    st.floats(),
    st.floats(1e-5, 1e16),
    st.integers(-(10**17), 10**17).map(float),
    st.builds(lambda digits, places: digits / 10**places, st.integers(-(10**16), 10**16), st.integers(0, 20)),
    st.sampled_from([0.0, -0.0, 1e-4, 1e15, 0.1 + 0.2, 5e-324, 1.7976931348623157e308, 99999999999999.98]),
)
INTEGERS = st.integers(-(10**40), 10**40) | st.sampled_from([0, 10**18, -(10**18), 10**18 - 1, 10**37, True])
DECIMALS = st.one_of(
    st.decimals(allow_nan=True, allow_infinity=True),
    st.decimals(-(10**6), 10**6, places=4),
    st.sampled_from(["-0", "-0.00", "1E+3", "1.500", "1E-130", "1E126", "9" * 38, "9" * 39, "100", "0.0100"]).map(
        Decimal
    ),
)
ZONES = st.sampled_from([None, UTC, UTC, timezone(timedelta(0), "Z"), timezone(timedelta(hours=2))])
INSTANTS = st.datetimes(timezones=ZONES) | st.sampled_from(
    [datetime(1, 1, 1, tzinfo=UTC), datetime(987, 6, 5, tzinfo=UTC)]
)


class Word(str):
    __slots__ = ()


PLACES = st.builds(Place, city=TEXTS, zip=INTEGERS, marks=st.lists(INTEGERS, max_size=3))
SPARSE_IN = st.builds(
    Sparse,
    city=st.none() | TEXTS,
    zip=st.none() | INTEGERS,
    floor=st.none() | INTEGERS,
    tags=st.none() | st.sets(TEXTS, max_size=1),
    inner=st.none() | st.builds(Sparse, city=st.none() | TEXTS),
)
GAPPY_IN = st.builds(
    Gappy,
    text=st.just(MISSING) | TEXTS,
    number=st.sampled_from([MISSING, None]) | INTEGERS,
    tags=st.just(MISSING) | st.sets(TEXTS, max_size=1),
    inner=st.none() | st.builds(Gappy, text=st.just(MISSING) | TEXTS),
)
PLACES_IN = st.builds(Place.model_construct, city=TEXTS, zip=INTEGERS, marks=st.just([]), inner=st.none() | PLACES)
PLAIN = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), TEXTS, INTEGERS, FLOATS, DECIMALS, INSTANTS, st.binary(max_size=5)),
        st.just(Word("w")),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(NAMES | st.integers(), inner, max_size=3)
        | st.sets(TEXTS | st.integers(), max_size=3)
    ),
    max_leaves=6,
)
BY_FIELD: dict[str, st.SearchStrategy[Any]] = {
    "id": TEXTS,
    "text": TEXTS | st.text(max_size=3),
    "integer": INTEGERS,
    "number": FLOATS,
    "decimal": DECIMALS,
    "flag": st.booleans(),
    "data": st.binary(max_size=20),
    "instant": INSTANTS,
    "day": st.dates(),
    "moment": st.times(),
    "length": st.timedeltas(),
    "uuid": st.uuids(),
    "color": st.sampled_from(Color),
    "level": st.sampled_from(Level),
    "choice": st.sampled_from(["a", "b", "c"]),
    "tags": st.sets(TEXTS, max_size=4),
    "frozen": st.frozensets(TEXTS, max_size=3),
    "numbers": st.sets(INTEGERS, max_size=3),
    "texts": st.lists(TEXTS, max_size=3),
    "integers": st.lists(INTEGERS, max_size=3),
    "floats": st.lists(FLOATS, max_size=3),
    "lists": st.lists(st.lists(INTEGERS, max_size=2), max_size=2),
    "pair": st.tuples(INTEGERS, TEXTS),
    "mapping": st.dictionaries(NAMES, INTEGERS, max_size=3),
    "by_number": st.dictionaries(st.integers(), TEXTS, max_size=2),
    "maybe": st.none() | INTEGERS,
    "maybe_place": st.none() | PLACES_IN,
    "required_maybe": st.none() | TEXTS,
    "place": st.none() | PLACES_IN,
    "places": st.lists(PLACES_IN, max_size=2),
    "by_name": st.dictionaries(NAMES, PLACES_IN, max_size=2),
    "loose": st.none() | st.builds(Loose, city=TEXTS, more=TEXTS),
    "sparse": st.none() | SPARSE_IN,
    "sparse_ones": st.lists(SPARSE_IN, max_size=2),
    "either": INTEGERS | TEXTS,
    "anything": PLAIN,
    "by_any_name": st.dictionaries(TEXTS, PLAIN, max_size=2),
    "in_any_order": st.lists(PLAIN, max_size=2),
    "missing": st.just(MISSING) | TEXTS,
    "missing_or_none": st.sampled_from([MISSING, None]) | INTEGERS,
    "required_missing": st.just(MISSING) | st.sets(TEXTS, max_size=2),
    "missing_either": st.just(MISSING) | INTEGERS | TEXTS,
    "missing_place": st.just(MISSING) | PLACES_IN,
    "gappy": st.sampled_from([MISSING, None]) | GAPPY_IN,
    "gappy_ones": st.lists(GAPPY_IN, max_size=2),
}
WRONG = (
    PLAIN | PLACES_IN | st.sampled_from([Color.RED, Level.LOW, MISSING, object(), "\ud800", ["\ud800"], {"\udfff": 1}])
)


def deep(levels: int, value: Any) -> Any:
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


EDGES: dict[str, list[Any]] = {
    "text": [
        "",
        *map(chr, range(0x81)),
        *(f"1234{chr(code)}5678" for code in range(0x81)),
        "x" * 7 + '"',
        "12345678\\",
        "é" * 9 + "\n",
        "\ud800",
        Word("w"),
        "a\0b",
        7,
        None,
    ],
    "integer": [
        0,
        10,
        -1,
        10**18 - 1,
        10**18,
        -(10**18),
        2**63,
        -(2**63),
        10**38,
        10**125,
        10**126,
        True,
        Level.LOW,
        1.0,
    ],
    "number": [0.05, -1.005, 0.1 + 0.2, 1e-4, 1.5e-4, 1e15, 1e14, 2**53 + 0.0, 0.000125, 123456789.125, -0.0, 1e22],
    "decimal": [
        Decimal(text) for text in ("-0", "-0.00", "1.500", "10", "1E+3", "9." + "9" * 36, "9." + "9" * 37, "NaN")
    ],
    "flag": [True, False, 1, None],
    "data": [b"", b"a", b"ab", b"abc", bytes(range(256)), bytearray(b"ab"), "ab"],
    "instant": [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(2026, 11, 23, 4, 5, 6, 7, tzinfo=UTC),
        datetime(2026, 11, 23, 4, 5, 6, 700_000, tzinfo=timezone(timedelta(0), "Z")),
        datetime(2026, 11, 23, 4, 5, 6, tzinfo=timezone(timedelta(hours=-2))),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
        TypeAdapter(datetime).validate_python("2026-11-23T04:05:06Z"),
        datetime(2026, 11, 23, 4, 5, 6),  # noqa: DTZ001 - without a time zone on purpose
        date(2026, 11, 23),
    ],
    "day": [date(1, 2, 3), datetime(2026, 11, 23, tzinfo=UTC)],
    "uuid": [UUID(int=0), UUID(int=15), UUID(int=2**128 - 1), "x"],
    "color": [Color.RED, "red", Level.LOW],
    "level": [Level.HIGH, 2, True],
    "choice": ["a", "c", Word("a")],
    "tags": [{"b", "a", "é"}, frozenset("a"), set(), {Word("b"), "a"}, {"a", 1}, ["a"]],
    "frozen": [frozenset("ba"), frozenset(), {"a"}],
    "texts": [["a", Word("b"), "c"], ("a",), ["a", 1], []],
    "integers": [[1, 10**19, 2], [1, "x"]],
    "floats": [[1.5, 7, 0.1], [float("nan")]],
    "mapping": [{"a": 1, "": 2}, {"a": 1, 2: 3}, {Word("a"): 1}, {"x" * 65_535: 1}, {"x" * 65_536: 1}],
    "place": [Place(city="x", inner=Place(city="y")), Place.model_construct(city=1), {"city": "x"}, None],
    "sparse": [Sparse(city=None), Sparse(city="x", inner=Sparse(city=None, floor=None)), {"city": None}, None],
    "maybe": [None, 7, 10**20, "x"],
    "required_maybe": [None, "x", 7],
    "either": [7, "x", 10**20, Word("x"), 1.5, True],
    "anything": [
        {"a": 1, 2: 3},
        [1, Word("a"), {"b": ({1}, b"x", None)}],
        {"x": [Decimal("1.5"), UUID(int=1), Color.RED, datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1), 2.5]},
        *(deep(levels, leaf) for levels in range(30, 34) for leaf in ("x", [], {1})),
        "x" * 409_000,
        "x" * 409_600,
        object(),
    ],
}


@st.composite
def instances(draw, *, wrong: bool = True) -> Item:
    """Draw an instance: one with the defaults, of which some values are replaced."""
    model = draw(st.sampled_from([Item, StrictItem, LooseItem, SharedItem, IndexedItem, ComputedItem]))
    values = dict(vars(model(id="a", required_maybe="a", required_missing={"a"})))
    for name in draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=5)):
        values[name] = draw(
            BY_FIELD[name] | st.sampled_from(EDGES[name]) if wrong and name in EDGES else BY_FIELD[name]
        )
    if wrong and draw(st.booleans()):
        values[draw(st.sampled_from(ATTRIBUTES))] = draw(WRONG)
    if wrong and draw(st.booleans()):
        values["anything"] = deep(draw(st.integers(28, 34)), draw(PLAIN))
    return model.model_construct(**values)


def written(encode: Callable[[Any], Any], item: Any) -> Any:
    """Return what encoding gives, or its error."""
    try:
        return encode(item)
    except EncodeError as error:
        return type(error), str(error), error.path


@pytest.mark.parametrize("name", EDGES)
def test_a_value_at_the_edge_of_what_is_usual_is_written_as_the_codec_in_python_writes_it(name: str) -> None:
    for value in EDGES[name]:
        assert_written_alike(
            Item.model_construct(**{**vars(Item(id="a", required_maybe="a", required_missing={"a"})), name: value})
        )


@given(instances())
@laws
def test_an_item_is_written_as_the_codec_in_python_writes_it(item: Item) -> None:
    assert_written_alike(item)


def assert_written_alike(item: Item) -> None:
    items = definition_of(type(item)).items
    expected, found = written(items.encode, item), written(items.encoded, item)
    if not isinstance(expected, dict):
        assert found == expected
        return
    attributes, text, size = found
    assert text == pydantic_core.to_json(expected)
    assert attributes == {name: expected[name] for name in attributes}
    assert attributes.keys() >= expected.keys() & {"id"}
    assert size in (None, item_size(expected))


@given(instances(wrong=False))
@laws
def test_a_usual_item_is_written_without_the_codec_in_python(item: Item) -> None:
    items = definition_of(type(item)).items
    if type(item) is not LooseItem and isinstance(written(items.encode, item), dict):
        assert items.encoded(item)[2] is not None


GIVEN: dict[str, Any] = dict.fromkeys(each for each in ATTRIBUTES if each != "id")
"""What the upgrade of an item sets; it names all attributes."""


class GivenItem(Item, table="given", schema_version=2):
    @upgrade(to=2)
    @staticmethod
    def gives(item: StoredItem) -> None:
        item.pop("flag", None)
        for name, value in GIVEN.items():
            item[name] = value


FITTING: dict[str, Any] = {
    "text": TEXTS,
    "integer": INTEGERS,
    "number": INTEGERS | DECIMALS,
    "flag": st.booleans(),
    "instant": ISO,
    "color": st.sampled_from(["red", "blue", "green"]),
    "tags": st.sets(TEXTS, max_size=2),
    "texts": st.lists(TEXTS, max_size=2),
    "lists": st.lists(st.lists(INTEGERS, max_size=2), max_size=2),
    "mapping": st.dictionaries(NAMES, INTEGERS, max_size=2),
    "maybe": st.none() | INTEGERS,
    "maybe_place": st.none() | st.fixed_dictionaries({"city": TEXTS}, optional={"zip": INTEGERS, "x": TEXTS}),
    "places": st.lists(st.fixed_dictionaries({"city": TEXTS, "marks": st.lists(INTEGERS, max_size=2)}), max_size=2),
    "by_any_name": st.dictionaries(NAMES, PLAIN, max_size=2),
    "loose": st.fixed_dictionaries({"city": TEXTS}, optional={"more": TEXTS}),
}
ODD: dict[str, Any] = dict.fromkeys(GIVEN, PLAIN) | {
    "decimal": TEXTS,
    "data": TEXTS,
    "integer": st.booleans() | TEXTS,
    "mapping": st.dictionaries(st.integers(), INTEGERS, max_size=2),
    "place": st.fixed_dictionaries({"city": TEXTS | INTEGERS}, optional={"zip": st.none(), "x": TEXTS}),
    "required_maybe": INTEGERS,
}


@given(
    fitting=st.fixed_dictionaries({}, optional=FITTING),
    odd=st.just({}) | st.one_of([st.fixed_dictionaries({name: values}) for name, values in ODD.items()]),
    has_flag=st.booleans(),
)
@example(fitting={}, odd={"mapping": {1: 2}}, has_flag=False)
@example(fitting={}, odd={"integer": 10**40 + 1}, has_flag=False)
@example(fitting={}, odd={"integer": 10**5_000}, has_flag=False)
@example(fitting={}, odd={"decimal": "1.5"}, has_flag=False)
@example(fitting={}, odd={"place": {"city": "x", "x": "of no field"}}, has_flag=True)
@example(fitting={}, odd={"loose": {"city": "x", "more": "of no field"}}, has_flag=True)
@laws
def test_what_upgrades_leave_becomes_what_it_becomes_of_its_stored_form(
    fitting: dict[str, Any], odd: dict[str, Any], *, has_flag: bool
) -> None:
    codec = definition_of(GivenItem).items
    GIVEN.clear()
    GIVEN.update(fitting | odd)
    item = {"id": {"S": "a"}, "required_maybe": {"NULL": True}, **({"flag": {"BOOL": True}} if has_flag else {})}
    codec._met_older = False  # then whole items are upgraded, in wire form
    expected = outcome(GivenItem, [item])
    codec._met_older = True
    answer = read(pydantic_core.to_json({"Items": [item]}), 10_000)
    assert repr(outcome(GivenItem, answer["Items"])) == repr(expected)
