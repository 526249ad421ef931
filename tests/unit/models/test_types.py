"""Every type that Pydantic knows reads back as the value that was written, of the same Python type."""

import enum
import math
import re
import sys
import typing
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Interface, IPv6Network
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, Optional, TypeVar, Union
from uuid import UUID
from zoneinfo import ZoneInfo

import pendulum
import pydantic
import pydantic_extra_types.color as extra_color
import pydantic_extra_types.ulid
import pytest
import ulid
from pydantic import (
    UUID4,
    AnyUrl,
    AwareDatetime,
    Base64Bytes,
    Base64Str,
    BaseModel,
    ByteSize,
    Discriminator,
    Field,
    HttpUrl,
    ImportString,
    InstanceOf,
    IPvAnyAddress,
    Json,
    JsonValue,
    NaiveDatetime,
    NonNegativeInt,
    PastDate,
    PastDatetime,
    PostgresDsn,
    RootModel,
    Secret,
    SecretBytes,
    SecretStr,
    SerializeAsAny,
    SkipValidation,
    StrictInt,
    StringConstraints,
    Tag,
    conlist,
    with_config,
)
from pydantic_core import core_schema as core
from pydantic_extra_types import pendulum_dt
from pydantic_extra_types.domain import DomainStr
from pydantic_extra_types.isbn import ISBN
from pydantic_extra_types.mac_address import MacAddress
from pydantic_extra_types.mime_types import MimeType
from pydantic_extra_types.payment import PaymentCardNumber
from pydantic_extra_types.routing_number import ABARoutingNumber
from pydantic_extra_types.s3 import S3Path
from pydantic_extra_types.timezone_name import TimeZoneName
from pydantic_extra_types.uuid_types import UUID7
from typing_extensions import TypeAliasType, TypedDict

from dynamap_async import Attr, Model, attr
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of

T = TypeVar("T")
Number = TypeVar("Number", str, Decimal)
Bound = TypeVar("Bound", bound=date)

ULID = ulid.ULID.from_str("01M8H8GZWVNA9EP8R7H7XR4KZQ")
AWARE = datetime(2026, 2, 28, 23, 59, 59, 999_999, tzinfo=UTC)
ELSEWHERE = datetime(2026, 2, 28, 12, 0, tzinfo=timezone(timedelta(hours=5, minutes=30)))
NAIVE = datetime(2026, 2, 28, 12, 30)  # noqa: DTZ001 - a naive datetime is meant
ID = UUID("12345678-1234-4234-8234-123456789abc")
BYTES = b"\x00\xff\xfe binary"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(enum.StrEnum):
    YES = "yes"
    NO = "no"


class Mixed(enum.Enum):
    NUMBER = 1
    TEXT = "1"
    PAIR = (1, "a")
    DAY = date(2026, 1, 1)
    NOTHING = None


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class Plain(BaseModel):
    name: str
    on: date = date(2026, 1, 1)


class Address(Model):
    street: Attr[str] = attr(name="st")
    city: Attr[str | None] = attr(default=None)
    since: Attr[date]
    tags: Attr[set[str]] = attr(default_factory=set)


class Person(Model):
    address: Attr[Address]
    others: Attr[list[Address]] = attr(default_factory=list)
    by_name: Attr[dict[str, Address]] = attr(default_factory=dict)


class Tree(Model):
    at: Attr[datetime]
    left: "Attr[Tree | None]" = attr(default=None)
    children: "Attr[list[Tree]]" = attr(default_factory=list)


class Strict(BaseModel):
    model_config = pydantic.ConfigDict(strict=True, frozen=True)
    on: date
    id: UUID


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    born: date


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    born: date


class Bird(BaseModel):
    wings: int
    born: date


class Box(Model, Generic[T]):
    content: Attr[T]


@dataclass
class Point:
    x: Decimal
    on: date
    names: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Pair(Generic[T]):
    first: T
    second: list[T]


@pydantic.dataclasses.dataclass
class Span:
    start: datetime
    length: Annotated[timedelta, Field(alias="len")]


class Movie(TypedDict):
    title: str
    on: date
    rating: NotRequired[Decimal]


@with_config({"extra": "allow"})
class Loose(TypedDict):
    title: str


class Where(NamedTuple):
    x: Decimal
    on: date | None = None
    raw: bytes = b""


class Tags(RootModel[set[str]]):
    pass


class Maybe(RootModel[date | None]):
    pass


class Celsius:
    """A type of the user's, with a schema of its own."""

    def __init__(self, degrees: int) -> None:
        self.degrees = degrees

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Celsius) and other.degrees == self.degrees

    def __hash__(self) -> int:
        return self.degrees

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls(int(str(value).removesuffix("C"))),
            serialization=core.plain_serializer_function_ser_schema(lambda value: f"{value.degrees}C"),
        )


class Token(SecretStr):
    pass


class SecretDate(Secret[date]):
    pass


UserId = NewType("UserId", int)
Name = TypeAliasType("Name", Annotated[str, StringConstraints(min_length=1)])
ListOf = TypeAliasType("ListOf", list[T], type_params=(T,))
MaybeDates = TypeAliasType("MaybeDates", set[date] | None)
Nested = TypeAliasType("Nested", "dict[str, Nested] | list[Nested] | date")
Pets = Annotated[Cat | Dog, Field(discriminator="kind")]


def species(value: Any) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind or "bird"


Zoo = Annotated[
    Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")] | Annotated[Bird, Tag("bird")], Discriminator(species)
]

SCALARS = [
    (str, "ünïcode \U0001f600"),
    (str, ""),
    (int, 10**38 - 1),
    (int, -1),
    (float, 0.1),
    (float, 1e-7),
    (float, 5.0),
    (Decimal, Decimal("12345678901234567890.123456789012345678")),
    (bool, True),
    (bool, False),
    (bytes, BYTES),
    (bytes, b""),
    (None, None),
    (datetime, AWARE),
    (datetime, ELSEWHERE),
    (AwareDatetime, AWARE),
    (NaiveDatetime, NAIVE),
    (PastDatetime, datetime(2001, 1, 1, tzinfo=UTC)),
    (date, date(1, 1, 1)),
    (PastDate, date(2001, 1, 1)),
    (time, time(23, 59, 59, 1)),
    (time, time(1, tzinfo=UTC)),
    (timedelta, timedelta(days=-1, microseconds=1)),
    (UUID, ID),
    (UUID4, ID),
    (Color, Color.BLUE),
    (Level, Level.HIGH),
    (Word, Word.NO),
    (Mixed, Mixed.PAIR),
    (Mixed, Mixed.DAY),
    (Mixed, Mixed.TEXT),
    (Mixed, Mixed.NOTHING),
    (Permission, Permission.READ),
    (Literal["a", 1, True, b"b", Color.RED], True),
    (Literal["a", 1, True, b"b", Color.RED], 1),
    (Literal["a", 1, True, b"b", Color.RED], b"b"),
    (Literal["a", 1, True, b"b", Color.RED], Color.RED),
    (Literal["a", None], None),  # noqa: PYI061 - the nullable literal is meant
    (Any, "x"),
    (Any, None),
    (Any, {"a": [1, {"b", "c"}, None, b"x", Decimal("1.5")]}),
    (object, None),
    (object, [1]),
]

COLLECTIONS = [
    (list[int], [1, 2]),
    (list[int], []),
    (list, [1, "a"]),
    (list[date | None], [date(2026, 1, 1), None]),
    (typing.List[set[int]], [{1}, set()]),  # noqa: UP006 - the old spelling is meant
    (set[str], {"a", ""}),
    (set[int], {1, 10**37}),
    (set[float], {1.0, 0.5}),
    (set[Decimal], {Decimal("1.5"), Decimal(2)}),
    (set[bytes], {b"", BYTES}),
    (set[UUID], {ID}),
    (set[Color], {Color.RED}),
    (set[Level], {Level.LOW}),
    (set[datetime], {AWARE, AWARE - timedelta(1)}),
    (set[bool], {True, False}),
    (set[tuple[int, date]], {(1, date(2026, 1, 1))}),
    (set[frozenset[int]], {frozenset({1}), frozenset()}),
    (set[str | None], {"a", None}),
    (set[str | int], {"a", 1}),
    (set[Strict], {Strict(on=date(2026, 1, 1), id=ID)}),
    (set, {"a", 1}),
    (frozenset[str], frozenset({"a"})),
    (frozenset[date], frozenset({date(2026, 1, 1)})),
    (AbstractSet[int], frozenset({1})),
    (MutableSet[int], {1}),
    (tuple[int, str, date], (1, "a", date(2026, 1, 1))),
    (tuple[date, ...], (date(2026, 1, 1),)),
    (tuple[date, ...], ()),
    (tuple[()], ()),
    (tuple, (1, "a")),
    (deque[date], deque([date(2026, 1, 1)])),
    (Sequence[date], [date(2026, 1, 1)]),
    (MutableSequence[int], [1]),
    (dict[str, date], {"a": date(2026, 1, 1), "": date(2026, 1, 2)}),
    (dict[int, int], {1: 2}),
    (dict[UUID, list[int]], {ID: [1]}),
    (dict[Color, Color], {Color.RED: Color.BLUE}),
    (dict[Level, int], {Level.LOW: 1}),
    (dict[date, int], {date(2026, 1, 1): 1}),
    (dict[Literal["a", 1], int], {"a": 1, 1: 2}),
    (dict[IPv4Address, int], {IPv4Address("10.0.0.1"): 1}),
    (dict[Annotated[str, Field(max_length=3)], int], {"a": 1}),
    (dict[UserId, int], {UserId(1): 1}),
    (dict[str, None], {"a": None}),
    (dict, {"a": 1}),
    (Mapping[str, date], {"a": date(2026, 1, 1)}),
    (MutableMapping[str, int], {"a": 1}),
    (defaultdict[str, list[date]], defaultdict(list, {"a": [date(2026, 1, 1)]})),
    (OrderedDict[str, date], OrderedDict(a=date(2026, 1, 1))),
    (Counter[str], Counter(a=2)),
    (conlist(int, min_length=1), [1]),
]

NESTED = [
    (Plain, Plain(name="a")),
    (Address, Address(street="s", city=None, since=date(2026, 1, 1), tags={"x"})),
    (Person, Person(address=Address(street="s", since=date(2026, 1, 1)))),
    (
        Person,
        Person(
            address=Address(street="s", since=date(2026, 1, 1)),
            others=[Address(street="t", since=date(2026, 1, 2))],
            by_name={"x": Address(street="u", since=date(2026, 1, 3))},
        ),
    ),
    (Tree, Tree(at=AWARE, left=Tree(at=ELSEWHERE), children=[Tree(at=AWARE, children=[Tree(at=AWARE)])])),
    (Strict, Strict(on=date(2026, 1, 1), id=ID)),
    (list[Strict], [Strict(on=date(2026, 1, 1), id=ID)]),
    (Box[date], Box[date](content=date(2026, 1, 1))),
    (Box[Box[UUID]], Box[Box[UUID]](content=Box[UUID](content=ID))),
    (Point, Point(Decimal("1.5"), date(2026, 1, 1), {"a"})),
    (list[Point], [Point(Decimal(1), date(2026, 1, 1))]),
    (Pair[date], Pair(date(2026, 1, 1), [date(2026, 1, 2)])),
    (Span, Span(start=AWARE, len=timedelta(seconds=1))),  # type: ignore[call-arg]
    (Movie, {"title": "m", "on": date(2026, 1, 1)}),
    (Movie, {"title": "m", "on": date(2026, 1, 1), "rating": Decimal("8.5")}),
    (Loose, {"title": "m", "year": 1999}),
    (Where, Where(Decimal("1.5"), date(2026, 1, 1), BYTES)),
    (list[Where], [Where(Decimal(1))]),
    (Tags, Tags({"a"})),
    (Tags, Tags(set())),
    (Maybe, Maybe(date(2026, 1, 1))),
    (Maybe, Maybe(None)),
    (list[Maybe], [Maybe(None), Maybe(date(2026, 1, 1))]),
]

UNIONS = [
    (int | str, 1),
    (int | str, "1"),
    (bool | int | bytes | list[date], True),
    (bool | int | bytes | list[date], 1),
    (bool | int | bytes | list[date], BYTES),
    (bool | int | bytes | list[date], [date(2026, 1, 1)]),
    (int | None, None),
    (Optional[date], date(2026, 1, 1)),  # noqa: UP045 - the old spelling is meant
    (Union[date, int, None], date(2026, 1, 1)),  # noqa: UP007 - the old spelling is meant
    (Union[date, int, None], None),  # noqa: UP007 - the old spelling is meant
    (set[str] | int, set()),
    (set[str] | None, set()),
    (str | Literal[1], 1),
    (Literal["a"] | str, "b"),  # noqa: PYI051 - an open enumeration is meant
    (IPv4Address | int, IPv4Address("10.0.0.1")),
    (Cat | Bird, Bird(wings=2, born=date(2026, 1, 1))),
    (Cat | Bird, Cat(born=date(2026, 1, 1))),
    (Pets, Dog(born=date(2026, 1, 1))),
    (list[Pets], [Dog(born=date(2026, 1, 1)), Cat(born=date(2026, 1, 1))]),
    (Pets | None, None),
    (Zoo, Bird(wings=2, born=date(2026, 1, 1))),
    (dict[str, Zoo], {"a": Dog(born=date(2026, 1, 1))}),
    (Point | int, Point(Decimal(1), date(2026, 1, 1))),
    (Movie | int, {"title": "m", "on": date(2026, 1, 1)}),
    (Tree | int, Tree(at=AWARE, children=[Tree(at=AWARE)])),
]

OTHERS = [
    (AnyUrl, AnyUrl("https://example.com/a?b=c")),
    (IPv4Address, IPv4Address("10.0.0.1")),
    (IPv6Network, IPv6Network("2001:db8::/32")),
    (ulid.ULID, ULID),
    (pydantic_extra_types.ulid.ULID, ULID),
    (set[ulid.ULID], {ULID}),
    (set[IPv4Address], {IPv4Address("10.0.0.1")}),
    (dict[ulid.ULID, int], {ULID: 1}),
    (dict[pydantic_extra_types.ulid.ULID, int], {ULID: 1}),
    (ulid.ULID | int, ULID),
    (pydantic_extra_types.ulid.ULID | list[int], ULID),
    (extra_color.Color, extra_color.Color("red")),
    (DomainStr, "example.com"),
    (ISBN, "9788537809662"),
    (MacAddress, "00:00:5e:00:53:01"),
    (MimeType, "text/plain"),
    (PaymentCardNumber, PaymentCardNumber("4242424242424242")),
    (ABARoutingNumber, ABARoutingNumber("122105155")),
    (S3Path, S3Path("s3://bucket/key")),
    (TimeZoneName, TimeZoneName("Europe/London")),
    (UUID7, UUID("01890a5d-ac96-774b-bcce-b302099a8057")),
    (pendulum_dt.Duration, pendulum.duration(days=1, hours=2)),
    (IPv4Interface, IPv4Interface("10.0.0.1/8")),
    (IPvAnyAddress, IPv4Address("10.0.0.1")),
    (re.Pattern[str], re.compile("a+")),
    (ZoneInfo, ZoneInfo("UTC")),
    (complex, 1 + 2j),
    (HttpUrl, HttpUrl("https://example.com/")),
    (PostgresDsn, PostgresDsn("postgres://user:word@host/data")),
    (ImportString, math.cos),
    (PurePosixPath, PurePosixPath("a/b")),
    (Path, Path("a/b")),
    (Fraction, Fraction(1, 3)),
    (ByteSize, ByteSize(1024)),
    (SecretStr, SecretStr("hunter2")),
    (SecretBytes, SecretBytes(BYTES)),
    (Token, Token("hunter2")),
    (Secret[date], Secret[date](date(2026, 1, 1))),
    (SecretDate, SecretDate(date(2026, 1, 1))),
    (list[SecretStr], [SecretStr("hunter2")]),
    (Base64Bytes, b"aGVsbG8="),
    (Base64Str, "aGVsbG8="),
    (StrictInt, 1),
    (NonNegativeInt, 0),
    (Annotated[str, StringConstraints(to_lower=True)], "abc"),
    (Annotated[Decimal, Field(max_digits=5, decimal_places=2)], Decimal("123.45")),
    (Annotated[date, Field(strict=True)], date(2026, 1, 1)),
    (Annotated[list[date], Field(strict=True)], [date(2026, 1, 1)]),
    (list[Annotated[UUID, Field(strict=True)]], [ID]),
    (UserId, UserId(5)),
    (Name, "x"),
    (list[Name], ["x"]),
    (ListOf[date], [date(2026, 1, 1)]),
    (MaybeDates, {date(2026, 1, 1)}),
    (MaybeDates, None),
    (MaybeDates, set()),
    (JsonValue, {"a": [1, 1.5, None, "x", True]}),
    (Annotated[Path, Field(strict=True)], Path("a")),
    (Annotated[Fraction, Field(strict=True)], Fraction(1, 2)),
    (Annotated[IPv4Address, Field(strict=True)] | int, IPv4Address("127.0.0.1")),
    (SkipValidation[Decimal], Decimal("1.5")),
    (Annotated[date, SkipValidation], date(2026, 1, 1)),
    (InstanceOf[date], date(2026, 1, 1)),
    (SerializeAsAny[Plain], Plain(name="a")),
    (Celsius, Celsius(21)),
    (list[Celsius], [Celsius(21)]),
    (Celsius | None, None),
    (T, [1]),
    (Number, Decimal("1.5")),
    (Bound, date(2026, 1, 1)),
]

CASES = [*SCALARS, *COLLECTIONS, *NESTED, *UNIONS, *OTHERS]
# A root model of None and None itself are one NULL.
BOTH_NONE: list[Any] = [(Maybe, Maybe(None))]


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of equal types, inside too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return (
            list(map(type, one)) == list(map(type, other)) and one == other and all(same(one[k], other[k]) for k in one)
        )
    if isinstance(one, list | tuple | deque):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, set | frozenset):
        return one == other and sorted(map(repr, one)) == sorted(map(repr, other))
    if isinstance(one, datetime):
        return one == other and (one.tzinfo is None) is (other.tzinfo is None)
    if isinstance(one, BaseModel):
        return one == other and all(same(one.__dict__[name], other.__dict__[name]) for name in one.__dict__)
    return bool(one == other)


def each(cases: list[Any]) -> Any:
    """Run a test for every type, by its name: the text of a set's value changes from run to run."""
    names = [str(annotation).replace("typing.", "")[:60] for annotation, _ in cases]
    return pytest.mark.parametrize(("annotation", "value"), cases, ids=names)


@each(CASES)
def test_value_reads_back_as_it_was(annotation, value, make_model, read_back) -> None:
    item = make_model(annotation)(value=value)
    assert same(read_back(item).value, item.value)


@each(CASES)
def test_value_of_a_strict_model_reads_back_as_it_was(annotation, value, make_model, read_back) -> None:
    item = make_model(annotation, strict=True)(value=value)
    assert same(read_back(item).value, item.value)


@each([case for case in CASES if case not in BOTH_NONE])
def test_value_of_a_nullable_field_reads_back_as_it_was(annotation, value, make_model, read_back) -> None:
    item = make_model(Optional[annotation], default=None)(value=value)  # noqa: UP045 - an annotation of any kind
    assert same(read_back(item).value, item.value)


@each(CASES)
def test_value_in_a_list_reads_back_as_it_was(annotation, value, make_model, read_back) -> None:
    item = make_model(list[annotation])(value=[value])
    assert same(read_back(item).value, item.value)


def test_json_is_stored_as_its_text(make_model, read_back, stored) -> None:
    item = make_model(Json[list[date]])(value='["2026-01-01"]')
    assert stored(item) == {"S": '["2026-01-01"]'}
    assert read_back(item).value == [date(2026, 1, 1)]


@pytest.mark.parametrize("strict", [False, True])
def test_json_of_any_type_is_stored_as_its_text(strict, make_model, read_back, stored) -> None:
    item = make_model(Json, strict=strict)(value="[1]")
    assert stored(item) == {"S": "[1]"}
    assert read_back(item).value == [1]


TEXTS: list[Any] = [
    (date | datetime, date(2026, 1, 1)),
    (date | datetime, AWARE),
    (datetime | date, date(2026, 1, 1)),
    (datetime | date, AWARE),
    (list[datetime | date], [AWARE, date(2026, 1, 1)]),
    (Color | date | UUID | None, Color.RED),
    (Color | date | UUID | None, ID),
]


@pytest.mark.filterwarnings("ignore::dynamap_async.RoundTripWarning")
@each(TEXTS)
def test_texts_of_a_union_are_told_apart_where_pydantic_takes_none(annotation, value, make_model, read_back) -> None:
    item = make_model(annotation, strict=True)(value=value)
    assert same(read_back(item).value, item.value)


def test_json_may_hold_null(make_model, read_back) -> None:
    item = make_model(Json[int | None])(value="null")
    assert read_back(item).value is None


@pytest.mark.parametrize("annotation", [SecretStr, Token, SecretStr | None, list[SecretStr], dict[str, SecretStr]])
def test_what_is_stored_of_a_secret_is_the_secret(annotation, make_model, stored) -> None:
    secret: Any = "hunter2"
    value = (
        [secret] if annotation == list[SecretStr] else {"a": secret} if annotation == dict[str, SecretStr] else secret
    )
    assert "hunter2" in str(stored(make_model(annotation)(value=value)))


def test_text_of_an_instant_has_a_fixed_width_in_utc_whatever_pydantic_type_it_is(make_model, stored) -> None:
    for annotation in (datetime, AwareDatetime, PastDatetime):
        item = make_model(annotation)(
            value=datetime(2001, 1, 1, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
        )
        assert stored(item) == {"S": "2001-01-01T00:00:00.000000Z"}


def test_enum_with_use_enum_values_reads_back_as_its_value(make_model, read_back) -> None:
    for annotation, value in (
        (Color, Color.RED),
        (Level, Level.LOW),
        (list[Color], [Color.BLUE]),
        (Literal[Color.RED], Color.RED),
        (Literal[Color.RED] | int, Color.RED),
        (dict[str, Literal[Level.LOW]], {"a": Level.LOW}),
    ):
        item = make_model(annotation, use_enum_values=True)(value=value)
        assert same(read_back(item).value, item.value)


def test_type_variable_of_a_generic_table_stands_for_its_type(read_back) -> None:
    class Entity(Model, Generic[T], abstract=True):
        key: Attr[str] = "k"  # type: ignore[assignment]
        content: Attr[T]

    from dynamap_async import PartitionKey

    class Thing(Entity[set[date]], table="things"):
        key: PartitionKey[str] = "k"  # type: ignore[assignment]

    item = Thing(content={date(2026, 1, 1)})
    assert same(read_back(item).content, {date(2026, 1, 1)})


def test_dataclass_that_names_types_local_to_a_function_reads_back(make_model, read_back) -> None:
    class Inner(BaseModel):
        on: date

    @pydantic.dataclasses.dataclass
    class Outer:
        inner: "Inner"

    item = make_model(Outer)(value=Outer(Inner(on=date(2026, 1, 1))))
    assert same(read_back(item).value.inner, item.value.inner)


def test_recursive_alias_reads_back(make_model, read_back) -> None:
    item = make_model(Nested)(value={"a": [date(2026, 1, 1), {"b": []}]})
    assert same(read_back(item).value, item.value)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement is new in Python 3.12")
def test_type_statement_reads_back(make_model, read_back) -> None:
    names: dict[str, Any] = {"date": date}
    exec("type Days = list[date]\ntype Deep = dict[str, Deep] | date\ntype Of[T] = tuple[T, ...]", names)
    for annotation, value in (
        (names["Days"], [date(2026, 1, 1)]),
        (names["Deep"], {"a": {"b": date(2026, 1, 1)}}),
        (names["Of"][date], (date(2026, 1, 1),)),
    ):
        item = make_model(annotation)(value=value)
        assert same(read_back(item).value, item.value)


Document = TypeAliasType("Document", "dict[str, Document] | list[Document] | str | int | None")
Even = TypeAliasType("Even", "dict[str, Odd] | int")
Odd = TypeAliasType("Odd", "list[Even] | str")
AnyModel = TypeVar("AnyModel", bound=BaseModel)


class Body(BaseModel):
    x: int


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Document, {"a": [1, "x", None, {"b": 2}]}),
        (list[Document], [{"a": [None]}]),
        (Document | None, [["x"]]),
        (Even, {"x": [1, {"y": "z"}]}),
    ],
)
def test_a_union_that_contains_itself_by_its_alias_reads_back(annotation, value):
    holder: Any = pydantic.create_model("Holder", __base__=Model, value=(annotation, ...))
    item = holder(value=value)
    assert holder.from_wire(definition_of(holder).items.encode(item)) == item


def test_a_type_variable_bound_to_any_model_is_the_model_that_it_is_given():
    class Event(Model, Generic[AnyModel], abstract=True):
        body: Attr[AnyModel]

    class Filled(Event[Body]):
        pass

    item = Filled(body=Body(x=1))
    wire = definition_of(Filled).items.encode(item)
    assert wire == {"body": {"M": {"x": {"N": "1"}}}}
    assert Filled.from_wire(wire) == item
    assert str(Filled.body["x"] > 1) == "Filled.body['x'] > 1"


@pytest.mark.parametrize(
    "annotation", [BaseModel, Model, SerializeAsAny[BaseModel], list[BaseModel], dict[str, Model] | None]
)
def test_a_field_of_any_model_at_all_is_refused_with_what_to_write(annotation):
    with pytest.raises(ModelDefinitionError, match=r"Holder\.value: (Base)?Model tells no fields, .* name a model, a"):
        pydantic.create_model("Holder", __base__=Model, value=(annotation, ...))
