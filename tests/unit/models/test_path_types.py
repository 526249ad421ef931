"""Values that are written alone: each is judged by the very field, element or member that it goes into."""

import gc
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, Required, TypeVar

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    RootModel,
    ValidationInfo,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from dynamap_async import Attr, Model, PartitionKey, attr, path
from dynamap_async.errors import EncodeError
from dynamap_async.expressions import path_of
from dynamap_async.models import is_frozen, must_be_there, validated, validated_members

Short = Annotated[str, Field(max_length=3)]
T = TypeVar("T")


class Inner(Model):
    code: Attr[Short] = attr(name="c")
    size: Attr[int | None] = attr(default=None)

    @field_validator("code")
    @classmethod
    def upper(cls, value: str) -> str:
        return value.upper()


class Other(BaseModel):
    weight: int = 0


class Root(RootModel[list[Short]]):
    pass


class Box(Model, Generic[T]):
    content: Attr[T]


class Member(TypedDict, total=False):
    name: Short


class Exact(TypedDict):
    name: str
    note: NotRequired[str]
    late: Required[str]


class Named(NamedTuple):
    name: str
    size: int = 0


@dataclass
class Point:
    x: Annotated[int, Field(ge=0)]
    y: int = 0
    z: list[int] = field(default_factory=list)
    w: int = Field(default=0)


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    name: str = ""
    weight: int
    legs: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str = ""
    weight: int
    legs: int = 4


class Tree(Model):
    label: Attr[Short] = attr(default="")
    children: Attr[list["Tree"]] = attr(default_factory=list)


class Whole(Model, table="wholes"):
    id: PartitionKey[str]
    short: Attr[Short] = attr(default="")
    frozen: Attr[Annotated[str, Field(frozen=True)]] = attr(default="")
    aliased: Attr[Annotated[int, Field(ge=0, validation_alias=AliasChoices("x", "y"))]] = attr(default=0)
    camel: Attr[Annotated[int, Field(ge=0)]] = attr(default=0, alias="camelCase")
    before: Attr[Annotated[int, BeforeValidator(lambda value: int(value) + 1)]] = attr(default=0)
    after: Attr[Annotated[str, AfterValidator(str.upper)]] = attr(default="")
    told: Attr[int] = attr(default=0)
    choice: Attr[Literal["a", "b"]] = attr(default="a")
    either: Attr[int | Short] = attr(default=0)
    inner: Attr[Inner | None] = attr(default=None)
    required: Attr[Inner]
    optional: Attr[str | None]
    members: Attr[set[Short]]
    many: Attr[list[Inner]] = attr(default_factory=list)
    sequence: Attr[Sequence[Short]] = attr(default_factory=list)
    mapping: Attr[Mapping[str, Short]] = attr(default_factory=dict)
    deep: Attr[dict[str, list[dict[str, Short]]]] = attr(default_factory=dict)
    pair: Attr[tuple[int, Short]] = attr(default=(0, ""))
    longer: Attr[tuple[Short, ...]] = attr(default=())
    root: Attr[Root] = attr(default_factory=lambda: Root([]))
    box: Attr[Box[Short] | None] = attr(default=None)
    typed: Attr[Member] = attr(default_factory=dict)
    point: Attr[Point | None] = attr(default=None)
    tree: Attr[Tree] = attr(default_factory=Tree)
    both: Attr[Inner | Other | None] = attr(default=None)
    exact: Attr[Exact | None] = attr(default=None)
    named: Attr[Named | None] = attr(default=None)
    pet: Attr[Annotated[Cat | Dog, Field(discriminator="kind")] | None] = attr(default=None)
    pets: Attr[list[Annotated[Cat | Dog, Field(discriminator="kind")]]] = attr(default_factory=list)
    anything: Attr[Any] = attr(default=None)
    encoded: Attr[Json[dict[str, int]] | None] = attr(default=None)

    @field_validator("told")
    @classmethod
    def of_others(cls, value: int, info: ValidationInfo) -> int:
        return value if "short" in info.data else -value

    @model_validator(mode="after")
    def whole(self) -> "Whole":
        if self.short == "no":
            raise ValueError("the whole model has no say")
        return self


class Tight(Model, table="tights"):
    id: PartitionKey[str]
    number: Attr[int] = attr(default=0)
    text: Attr[str] = attr(default="")
    words: Attr[list[str]] = attr(default_factory=list)
    model_config = ConfigDict(strict=True, str_strip_whitespace=True)


def judged(expression, value):
    return validated(path_of(expression), value)


FITTING = [
    (lambda: Whole.short, "no", "no"),
    (lambda: Whole.aliased, 3, 3),
    (lambda: Whole.camel, 3, 3),
    (lambda: Whole.before, "3", 4),
    (lambda: Whole.after, "x", "X"),
    (lambda: Whole.told, 5, -5),
    (lambda: Whole.either, "abc", "abc"),
    (lambda: Whole.inner.code, "ab", "AB"),
    (lambda: Whole.many[3].code, "ab", "AB"),
    (lambda: Whole.inner.size, None, None),
    (lambda: Whole.deep["a"][0]["b"], "abc", "abc"),
    (lambda: Whole.pair[0], "7", 7),
    (lambda: Whole.tree.children[0].children[1].label, "x", "x"),
    (lambda: Whole.both["weight"], "7", 7),
    (lambda: Whole.anything, {1: 2}, {1: 2}),
    (lambda: Whole.encoded, {"a": 1}, {"a": 1}),
    (lambda: Whole.optional, None, None),
    (lambda: Tight.text, " x ", "x"),
    (lambda: Tight.words[0], " x ", "x"),
    (lambda: path(Whole.required), {"code": "ab"}, Inner(code="AB")),
]
UNFIT = [
    (lambda: Whole.short, "long", r"^Whole\.short: String should have at most 3 characters, got 'long'$"),
    (lambda: Whole.aliased, -1, r"Whole\.aliased: Input should be greater than or equal to 0"),
    (lambda: Whole.camel, -1, r"Whole\.camel: Input should be greater than or equal to 0"),
    (lambda: Whole.choice, "c", r"Whole\.choice: .* expected, got str 'c'; Input should be 'a' or 'b'"),
    (lambda: Whole.short, None, r"Whole\.short: str expected, got None; to drop the attribute, use remove\(\)"),
    (lambda: path(Whole.required), None, r"^Whole\.required: Inner expected, got None$"),
    (lambda: path(Whole.required), {"code": "long"}, r"Whole\.required\.code: String should have at most 3"),
    (lambda: Whole.inner.code, "long", r"Whole\.inner\.code: String should have at most 3 characters"),
    (lambda: Whole.many[0].code, "long", r"Whole\.many\[0\]\.code: String should have at most 3 characters"),
    (lambda: Whole.sequence[0], "long", r"Whole\.sequence\[0\]: String should"),
    (lambda: Whole.mapping["a"], "long", r"Whole\.mapping\['a'\]: String should"),
    (lambda: Whole.deep["a"][0]["b"], "long", r"Whole\.deep\['a'\]\[0\]\['b'\]: String should"),
    (lambda: Whole.pair[1], "long", r"Whole\.pair\[1\]: String should"),
    (lambda: Whole.longer[5], "long", r"Whole\.longer\[5\]: String should"),
    (lambda: Whole.root[0], "long", r"Whole\.root\[0\]: String should"),
    (lambda: Whole.box.content, "long", r"Whole\.box\.content: String should"),
    (lambda: Whole.typed["name"], "long", r"Whole\.typed\['name'\]: String should"),
    (lambda: Whole.point["x"], -1, r"Whole\.point\['x'\]: Input should be greater than or equal to 0"),
    (lambda: Whole.tree.children[0].label, "long", r"Whole\.tree\.children\[0\]\.label: String should"),
    (lambda: Tight.number, "3", r"Tight\.number: int expected, got str '3'"),
]


@pytest.mark.parametrize(("expression", "value", "stored"), FITTING)
def test_a_value_is_what_its_field_makes_of_it(expression, value, stored):
    assert judged(expression(), value) == stored


@pytest.mark.parametrize(("expression", "value", "message"), UNFIT)
def test_a_value_that_does_not_fit_its_field_is_refused_with_its_place(expression, value, message):
    with pytest.raises(EncodeError, match=message):
        judged(expression(), value)


def test_an_instance_of_a_nested_model_is_taken_as_it_is():
    inner = Inner(code="ab")
    assert judged(path(Whole.inner), inner) is inner


def test_members_of_a_set_are_judged_one_by_one():
    assert validated_members(path_of(Whole.members), {"abc"}) == {"abc"}
    with pytest.raises(EncodeError, match=r"Whole\.members: .*String should have at most 3 characters"):
        validated_members(path_of(Whole.members), {"long"})


@pytest.mark.parametrize(
    ("expression", "needed"),
    [
        (lambda: Whole.required, True),
        (lambda: Whole.required.code, True),
        (lambda: Whole.many[0].code, True),
        (lambda: Whole.required.size, False),
        (lambda: Whole.optional, False),
        (lambda: Whole.members, False),
        (lambda: Whole.short, False),
        (lambda: Whole.many[0], False),
        (lambda: Whole.mapping["x"], False),
        (lambda: Whole.pair[0], True),
        (lambda: Whole.longer[0], False),
        (lambda: Whole.named[0], True),
        (lambda: Whole.typed["name"], False),
        (lambda: Whole.exact["name"], True),
        (lambda: Whole.exact["note"], False),
        (lambda: Whole.exact["late"], True),
        (lambda: Whole.point["x"], True),
        (lambda: Whole.point["y"], False),
        (lambda: Whole.point["z"], False),
        (lambda: Whole.point["w"], False),
        (lambda: Whole.both["size"], False),
        (lambda: Whole.both["code"], True),
        (lambda: Whole.pet["kind"], True),
        (lambda: Whole.pet["name"], False),
        (lambda: Whole.pet["weight"], True),
        (lambda: Whole.pet["legs"], False),
        (lambda: Whole.pets[0]["kind"], True),
        (lambda: Whole.anything["x"], False),
    ],
)
def test_only_required_fields_must_be_there(expression, needed):
    assert must_be_there(path_of(expression())) is needed


def test_frozen_fields_are_known():
    assert is_frozen(path_of(Whole.frozen))
    assert not is_frozen(path_of(Whole.short))
    assert not is_frozen(path_of(Whole.mapping["x"]))


def test_a_model_that_is_dropped_is_not_kept_alive():
    class Local(Model, table="locals"):
        id: PartitionKey[str]
        at: Attr[datetime | None] = attr(default=None)
        words: Attr[list[str]] = attr(default_factory=list)

        @field_validator("at")
        @classmethod
        def later(cls, value: datetime | None) -> datetime | None:
            return value

    judged(Local.words[0], "x")
    judged(Local.at, None)
    reference = weakref.ref(Local)
    del Local
    for _ in range(3):
        gc.collect()
    assert reference() is None
