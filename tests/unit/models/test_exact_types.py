"""Stored types are judged exactly: what is stored as another type than the field's is no value of it."""

import datetime as dt
import pickle
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, RootModel, SecretStr
from typing_extensions import TypedDict

from dynamap_async import EPOCH_SECONDS, JSON_TEXT, Attr, Model, PartitionKey, StoredForm, TimeToLive, attr
from dynamap_async.errors import DecodeError, ItemDecodeError, ItemValidationError
from dynamap_async.models import definition_of

CENTS = StoredForm(name="cents", tag="N", encode=lambda price: int(price * 100), decode=lambda number: number / 100)


class Level(IntEnum):
    LOW = 1


class Colour(StrEnum):
    RED = "red"


class Mixed(Enum):
    TEXT = "text"
    NUMBER = 1


class Point(NamedTuple):
    x: int
    y: int = 0


class Member(TypedDict):
    age: int


class Plain(BaseModel):
    age: int
    next: "Plain | None" = None


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    age: int
    on: dt.date | None = None


class Other(BaseModel):
    flags: list[bool]


class Root(RootModel[list[int]]):
    pass


class Inner(Model):
    age: Attr[int] = attr(default=0)
    price: Attr[float] = attr(stored_as=CENTS, default=1)


ONE = {"S": "1"}
ONES = {"L": [{"N": "1"}, ONE]}


def decoded(model: type[Any], stored: Any) -> Any:
    return definition_of(model).items.decode([{"key": {"S": "k"}, "value": stored}])[0].value


CASES: list[Any] = [
    pytest.param(int, {"S": "1683345599"}, "value: int is stored as N, not as S", id="int S"),
    pytest.param(int, {"BOOL": True}, "value: int is stored as N, not as BOOL", id="int BOOL"),
    pytest.param(float, {"S": "1.5"}, "value: float is stored as N, not as S", id="float"),
    pytest.param(Decimal, {"S": "1.5"}, "value: Decimal is stored as N, not as S", id="Decimal"),
    pytest.param(bool, {"S": "true"}, "value: bool is stored as BOOL, not as S", id="bool S"),
    pytest.param(bool, {"N": "1"}, "value: bool is stored as BOOL, not as N", id="bool N"),
    pytest.param(str, {"N": "1"}, "value: str is stored as S, not as N", id="str N"),
    pytest.param(str, {"B": "YWI="}, "value: str is stored as S, not as B", id="str B"),
    pytest.param(bytes, {"S": "ab"}, "value: bytes is stored as B, not as S", id="bytes"),
    pytest.param(dt.datetime, {"N": "1683345599"}, "value: datetime is stored as S, not as N", id="datetime"),
    pytest.param(dt.date, {"N": "0"}, "value: date is stored as S, not as N", id="date"),
    pytest.param(dt.time, {"N": "0"}, "value: time is stored as S, not as N", id="time"),
    pytest.param(dt.timedelta, {"S": "PT5M"}, "value: timedelta is stored as N, not as S", id="timedelta"),
    pytest.param(UUID, {"B": "MTIzNDU2Nzg5MDEyMzQ1Ng=="}, "value: UUID is stored as S, not as B", id="UUID"),
    pytest.param(IPv4Address, {"N": "5"}, "value: IPv4Address is stored as S, not as N", id="IP address"),
    pytest.param(ByteSize, {"S": "5"}, "value: int is stored as N, not as S", id="ByteSize"),
    pytest.param(SecretStr, {"N": "1"}, "value: secret str is stored as S, not as N", id="secret"),
    pytest.param(Level, ONE, "value: Level is stored as N, not as S", id="IntEnum"),
    pytest.param(Colour, {"B": "cmVk"}, "value: Colour is stored as S, not as B", id="StrEnum"),
    pytest.param(Mixed, {"BOOL": True}, "value: Mixed is stored as N or S, not as BOOL", id="mixed Enum"),
    pytest.param(Literal[1], {"BOOL": True}, "value: Literal[1] is stored as N, not as BOOL", id="Literal"),
    pytest.param(Literal["1"], {"N": "1"}, "value: Literal['1'] is stored as S, not as N", id="Literal of text"),
    pytest.param(int | None, ONE, "value: int is stored as N, not as S", id="int | None"),
    pytest.param(set[int], {"SS": ["1"]}, "value: set[int] is stored as L or NS, not as SS", id="set of text"),
    pytest.param(set[str], {"NS": ["1"]}, "value: set[str] is stored as L or SS, not as NS", id="set of numbers"),
    pytest.param(frozenset[float], {"SS": ["1"]}, "value: frozenset[float] is stored as L or NS", id="frozenset"),
    pytest.param(set[int], ONES, "value[1]: int is stored as N, not as S", id="set stored as a list"),
    pytest.param(list[str], {"SS": ["a"]}, "value: list[str] is stored as L, not as SS", id="set for a list"),
    pytest.param(list[int], ONES, "value[1]: int is stored as N, not as S", id="list"),
    pytest.param(Sequence[int], ONES, "value[1]: int is stored as N, not as S", id="Sequence"),
    pytest.param(tuple[int, ...], ONES, "value[1]: int is stored as N, not as S", id="tuple of any length"),
    pytest.param(tuple[int, int], ONES, "value[1]: int is stored as N, not as S", id="tuple"),
    pytest.param(Point, ONES, "value[1]: int is stored as N, not as S", id="named tuple"),
    pytest.param(Point, {"L": [ONE]}, "value[0]: int is stored as N, not as S", id="shorter named tuple"),
    pytest.param(dict[str, int], {"M": {"a": ONE}}, "value.a: int is stored as N, not as S", id="dict"),
    pytest.param(Mapping[str, int], {"M": {"a": ONE}}, "value.a: int is stored as N, not as S", id="Mapping"),
    pytest.param(OrderedDict[str, int], {"M": {"a": ONE}}, "value.a: int is stored as N, not as S", id="OrderedDict"),
    pytest.param(dict[str, list[int]], {"M": {"a": ONES}}, "value.a[1]: int is stored as N", id="list in a dict"),
    pytest.param(
        dict[int, int], {"M": {"1.0": {"N": "1"}}}, "value: '1.0' is not a key of dict[int, int]", id="int key"
    ),
    pytest.param(
        dict[int, int], {"M": {"01": {"N": "1"}}}, "value: '01' is not a key of dict[int, int]", id="padded key"
    ),
    pytest.param(
        dict[bool, int], {"M": {"1": {"N": "1"}}}, "value: '1' is not a key of dict[bool, int]", id="bool key"
    ),
    pytest.param(
        dict[Level, int], {"M": {"2": {"N": "1"}}}, "value: '2' is not a key of dict[Level, int]", id="Enum key"
    ),
    pytest.param(
        dict[Decimal, int],
        {"M": {"1.5": {"N": "1"}, "1.50": {"N": "2"}}},
        "value: two stored keys are read as the same key of dict[Decimal, int]",
        id="two texts of one key",
    ),
    pytest.param(Member, {"M": {"age": ONE}}, "value.age: int is stored as N, not as S", id="TypedDict"),
    pytest.param(Plain, {"M": {"age": ONE}}, "value.age: int is stored as N, not as S", id="nested model"),
    pytest.param(
        Plain, {"M": {"age": {"N": "1"}, "next": {"M": {"age": ONE}}}}, "value.next.age: int is stored", id="recursive"
    ),
    pytest.param(Strict, {"M": {"age": ONE}}, "value.age: int is stored as N, not as S", id="strict nested model"),
    pytest.param(list[Plain], {"L": [{"M": {"age": ONE}}]}, "value[0].age: int is stored as N", id="models in a list"),
    pytest.param(Root, ONES, "value[1]: int is stored as N, not as S", id="root model"),
    pytest.param(Inner, {"M": {"price": ONE}}, "value.price: float is stored as N, not as S", id="nested form"),
    pytest.param(int | bytes, ONE, "value: int | bytes is stored as B or N, not as S", id="union"),
    pytest.param(int | list[int], ONES, "value[1]: int is stored as N, not as S", id="union with a list"),
    pytest.param(
        Annotated[Plain | Other, Field(union_mode="smart")], {"M": {"age": ONE}}, "value.age: int is", id="models"
    ),
    pytest.param(Annotated[int, BeforeValidator(int)], ONE, "value: int is stored as N, not as S", id="validated"),
]


@pytest.mark.parametrize(("annotation", "stored", "message"), CASES)
@pytest.mark.parametrize("strict", [False, True])
def test_other_stored_type_is_refused(make_model, annotation: Any, stored: Any, message: str, *, strict: bool) -> None:
    model = make_model(annotation, strict=strict)
    with pytest.raises(DecodeError) as caught:
        decoded(model, stored)
    assert message in str(caught.value)


@pytest.mark.filterwarnings("ignore::dynamap_async.models.RoundTripWarning")
@pytest.mark.parametrize(
    ("annotation", "stored"),
    [(list[int] | list[bool], {"L": [ONE]}), (list[int] | tuple[bool, ...], {"L": [ONE]})],
)
def test_value_that_no_member_of_a_union_stores_is_refused(make_model, annotation: Any, stored: Any) -> None:
    with pytest.raises(DecodeError, match=r"value\[0\]: int is stored as N, not as S"):
        decoded(make_model(annotation), stored)


class Cat(BaseModel):
    name: int


class Dog(BaseModel):
    name: str


class Bird(BaseModel):
    name: int
    wings: int


@pytest.mark.filterwarnings("ignore::dynamap_async.models.RoundTripWarning")
@pytest.mark.parametrize(
    ("stored", "value"),
    [({"name": {"N": "1"}}, Cat(name=1)), ({"name": {"S": "Rex"}}, Dog(name="Rex"))],
)
def test_models_with_the_same_members_are_told_apart_by_their_types(make_model, stored: Any, value: Any) -> None:
    for model in (make_model(Cat | Dog), make_model(list[Cat | Dog])):
        content = {"M": stored}
        nested = definition_of(model).fields["value"].converter.tags == {"L"}
        found = decoded(model, {"L": [content]} if nested else content)
        assert found == ([value] if nested else value)


def test_value_of_one_model_is_not_read_as_another_that_knows_fewer_members(make_model) -> None:
    with pytest.raises(DecodeError, match="value.wings: int is stored as N, not as S"):
        decoded(make_model(Bird | Cat), {"M": {"name": {"N": "1"}, "wings": {"S": "2"}}})


def test_deeply_nested_value_with_a_fault_is_refused_in_one_look_at_each_part(make_model) -> None:
    stored: Any = {"M": {"age": ONE}}
    for _ in range(30):
        stored = {"M": {"age": {"N": "1"}, "next": stored}}
    with pytest.raises(DecodeError) as caught:  # and not after 2**30 of them
        decoded(make_model(Plain), stored)
    assert caught.value.path == ("value", *["next"] * 30, "age")


def test_time_to_live_in_text_is_refused() -> None:
    class Session(Model, table="sessions"):
        key: PartitionKey[str]
        value: TimeToLive[dt.datetime]
        seconds: Attr[dt.datetime | None] = attr(stored_as=EPOCH_SECONDS, default=None)

    stored: Any = {"key": {"S": "k"}, "value": {"N": "1"}}
    for name in ("value", "seconds"):
        with pytest.raises(DecodeError, match=rf"{name}: datetime.* is stored as N, not as S"):
            definition_of(Session).items.decode([{**stored, name: {"S": "1683345599"}}])


def test_what_a_stored_form_does_not_read_is_never_taken_for_the_value(make_model) -> None:
    def never(_: Any) -> Any:
        raise ValueError("no")

    form = StoredForm(name="own", tag="N", encode=int, decode=never)
    with pytest.raises(DecodeError, match="value: stored form own cannot be read: no"):
        decoded(make_model(int, attr(stored_as=form)), {"N": "150"})


@pytest.mark.parametrize("strict", [False, True])
def test_text_that_is_no_json_of_the_field_is_never_taken_for_the_value(make_model, *, strict: bool) -> None:
    model = make_model(str, attr(stored_as=JSON_TEXT), strict=strict)
    assert decoded(model, {"S": '"5"'}) == "5"
    for text in ("5", "abc"):
        with pytest.raises(ItemValidationError):
            decoded(model, {"S": text})


def test_numbers_of_any_spelling_are_read_where_they_are_exact(make_model) -> None:
    assert decoded(make_model(int), {"N": "5.0"}) == 5
    assert decoded(make_model(float), {"N": "5"}) == 5.0
    assert decoded(make_model(Decimal), {"N": "5"}) == 5
    assert decoded(make_model(Literal[5]), {"N": "5.0"}) == 5
    with pytest.raises(ItemValidationError):
        decoded(make_model(int), {"N": "5.5"})


def test_error_of_a_type_survives_pickling_and_does_not_show_the_value(make_model) -> None:
    with pytest.raises(ItemDecodeError) as caught:
        decoded(make_model(int), {"S": "hush"})
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.path == ("value",)
    assert error.key == {"key": "k"}
    assert "hush" not in str(error)
