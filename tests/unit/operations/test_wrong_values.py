"""Wrong values in updates and conditions: the message names field, wanted type and what was given, and no internals."""

from datetime import UTC, date, datetime
from enum import Enum
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from dynamap_async import Attr, Model, PartitionKey, Query, Update, attr
from dynamap_async.errors import EncodeError, ExpressionError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(Model):
    street: Attr[str]
    number: Attr[int] = attr(default=0)


class Plain(BaseModel):
    street: str


class Tweet(Model, table="tweets"):
    user: PartitionKey[str]
    likes: Attr[int] = attr(default=0)
    text: Attr[str] = attr(default="")
    short: Attr[Annotated[str, Field(max_length=3)]] = attr(default="")
    colour: Attr[Colour] = attr(default=Colour.RED)
    letter: Attr[Literal["a", "b"]] = attr(default="a")
    either: Attr[str | int] = attr(default=0)
    tags: Attr[set[str]] = attr(default_factory=set)
    words: Attr[list[str]] = attr(default_factory=list)
    pair: Attr[tuple[int, str]] = attr(default=(0, ""))
    counts: Attr[dict[str, int]] = attr(default_factory=dict)
    paints: Attr[dict[Colour, int]] = attr(default_factory=dict)
    home: Attr[Address]
    homes: Attr[list[Address]] = attr(default_factory=list)
    plain: Attr[Plain | None] = attr(default=None)
    at: Attr[datetime] = attr(default_factory=lambda: datetime.now(UTC))
    day: Attr[date] = attr(default_factory=date.today)
    raw: Attr[bytes] = attr(default=b"")
    flag: Attr[bool] = attr(default=False)
    password: Attr[Annotated[SecretStr, Field(max_length=3)]] = attr(default=SecretStr(""))


class Quiet(Model, table="quiet"):
    model_config = ConfigDict(hide_input_in_errors=True)

    user: PartitionKey[str]
    code: Attr[Annotated[str, Field(max_length=3)]] = attr(default="")


def update():
    return Update(Tweet, "ada")


SET = {
    "a str for an int": (Tweet.likes, "x", "Tweet.likes: int expected, got str 'x'; Input should be a valid integer"),
    "a fraction": (
        Tweet.likes,
        1.5,
        "Tweet.likes: int expected, got float 1.5; Input should be a valid integer, got a",
    ),
    "None": (Tweet.likes, None, "Tweet.likes: int expected, got None; to drop the attribute, use remove()"),
    "a required None": (Tweet.home, None, "Tweet.home: Address expected, got None"),
    "an int for text": (Tweet.text, 5, "Tweet.text: str expected, got int 5"),
    "an int for bytes": (Tweet.raw, 5, "Tweet.raw: bytes expected, got int 5"),
    "a constraint": (Tweet.short, "abcd", "Tweet.short: String should have at most 3 characters, got 'abcd'"),
    "a wrong member": (
        Tweet.colour,
        "green",
        "Tweet.colour: Colour expected, got str 'green'; Input should be 'red' or 'blue'",
    ),
    "a wrong literal": (
        Tweet.letter,
        "c",
        "Tweet.letter: Literal['a', 'b'] expected, got str 'c'; Input should be 'a' or 'b'",
    ),
    "neither of two types": (Tweet.either, [1], "Tweet.either: str | int expected, got list [1]; str: Input should be"),
    "text for a set": (Tweet.tags, "abc", "Tweet.tags: set[str] expected, got str 'abc'"),
    "a wrong member of a set": (Tweet.tags, {1}, "Tweet.tags: str expected, got int 1"),
    "text for a list": (Tweet.words, "abc", "Tweet.words: list[str] expected, got str 'abc'"),
    "a wrong element": (Tweet.words, ["a", 5], "Tweet.words[1]: str expected, got int 5"),
    "an element": (Tweet.words[0], 5, "Tweet.words[0]: str expected, got int 5"),
    "too short a tuple": (Tweet.pair, (1,), "Tweet.pair[1]: Field required"),
    "a list for a dict": (Tweet.counts, [1], "Tweet.counts: dict[str, int] expected, got list [1]"),
    "a wrong value of a dict": (Tweet.counts, {"a": []}, "Tweet.counts.a: int expected, got list []"),
    "a wrong key": (
        Tweet.paints,
        {"green": 1},
        "Tweet.paints: dict[Colour, int] expected, got dict; green as a key: Input should be 'red' or 'blue'",
    ),
    "a nested field": (Tweet.home, {"street": 5}, "Tweet.home.street: str expected, got int 5"),
    "a nested field that is missing": (Tweet.home, {"strt": "x"}, "Tweet.home.street: Field required"),
    "two nested fields": (
        Tweet.home,
        {"street": 5, "number": "x"},
        "Tweet.home: Address expected, got dict; street: Input should be a valid string; number: Input should be",
    ),
    "a field of a nested element": (Tweet.homes, [{"street": 5}], "Tweet.homes[0].street: str expected, got int 5"),
    "text for a model": (Tweet.home, "x", "Tweet.home: Address expected, got str 'x'; Input should be a valid dict"),
    "text for a time": (Tweet.at, "soon", "Tweet.at: datetime expected, got str 'soon'; Input should be a valid"),
    "a time for a day": (Tweet.day, datetime(2020, 1, 1, 5, tzinfo=UTC), "Tweet.day: date expected, got datetime"),
    "text for a flag": (Tweet.flag, "maybe", "Tweet.flag: bool expected, got str 'maybe'"),
}


@pytest.mark.parametrize("case", SET)
def test_a_wrong_value_of_set_is_named_with_its_field_and_the_wanted_type(case):
    field, value, message = SET[case]
    with pytest.raises(EncodeError) as refused:
        update().set(field, value)
    assert str(refused.value).startswith(message)


def test_the_error_leads_to_the_wrong_part():
    with pytest.raises(EncodeError) as refused:
        update().set(Tweet.homes, [{"street": "x"}, {"street": 5}])
    assert refused.value.model == "Tweet"
    assert refused.value.path == ("homes", 1, "street")
    assert refused.value.reason == "str expected, got int 5"


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        (Tweet, Tweet.password, "hunter2"),
        (Tweet, Tweet.password, ["hunter2"]),
        (Tweet, Tweet.home, {"street": 5, "number": "hunter2"}),
        (Quiet, Quiet.code, "hunter2"),
    ],
)
def test_what_may_be_a_secret_is_not_shown(model, field, value):
    with pytest.raises(EncodeError) as refused:
        Update(model, "ada").set(field, value)
    assert "hunter2" not in str(refused.value)


CONDITIONS = {
    "begins_with on a number": (
        lambda: Tweet.likes.begins_with("1"),
        "begins_with() needs a field that is stored as text or binary data, and Tweet.likes holds int",
    ),
    "begins_with of a number": (
        lambda: Tweet.text.begins_with(1),
        "Tweet.text.begins_with(): str expected, got int 1",
    ),
    "begins_with of bytes": (
        lambda: Tweet.text.begins_with(b"x"),
        "Tweet.text.begins_with(): str expected, got bytes b'x'",
    ),
    "contains of a number": (lambda: Tweet.text.contains(1), "Tweet.text.contains(): str expected, got int 1"),
    "fields of two types": (
        lambda: Tweet.likes > Tweet.text,
        "Tweet.likes holds int and Tweet.text str: values of different stored types are never equal and have no order",
    ),
    "a field alone": (
        lambda: Tweet.flag,
        "Tweet.flag is a field, not a condition; write Tweet.flag == True, or .exists()",
    ),
    "a nested model alone": (
        lambda: Tweet.home,
        "Tweet.home is a field, not a condition; write path(Tweet.home).exists()",
    ),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_a_wrong_condition_is_named_with_its_field(case):
    condition, message = CONDITIONS[case]
    with pytest.raises(ExpressionError) as refused:
        Query(Tweet).where(condition())
    assert str(refused.value) == message


def test_elements_to_append_are_a_list():
    with pytest.raises(ExpressionError) as refused:
        update().set(Tweet.words, Tweet.words.append("x"))
    assert str(refused.value) == (
        "Tweet.words: append() and prepend() take a list of elements, such as [element], not 'x'"
    )


def test_an_unknown_attribute_of_a_field_says_what_the_field_holds():
    with pytest.raises(AttributeError) as refused:
        _ = Tweet.likes.begins
    assert (
        str(refused.value)
        == "Tweet.likes holds int; its expression has no attribute 'begins'; did you mean begins_with?"
    )


def test_a_field_of_a_plain_nested_model_says_how_to_write_it():
    with pytest.raises(AttributeError) as refused:
        _ = Tweet.plain.street
    assert str(refused.value) == (
        "Tweet.plain holds Plain: write Tweet.plain['street'], or derive that class from Model for Tweet.plain.street"
    )
