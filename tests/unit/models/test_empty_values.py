"""None and empty sets: left out where absence reads back the same, NULL otherwise, never lost."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from dynamap_async import Attr, Model, attr
from dynamap_async.codec import Absence
from dynamap_async.models import definition_of

NULL = {"NULL": True}
FULL = {"SS": ["a"]}


@dataclass(frozen=True)
class Case:
    annotation: Any
    default: Any
    value: Any
    stored: Any
    """The attribute value; None: the attribute is left out."""


CASES = {
    "None without a default": Case(str | None, ..., None, None),
    "None that is the default": Case(str | None, None, None, None),
    "None beside another default": Case(str | None, "x", None, NULL),
    "None beside a default factory": Case(str | None, Field(default_factory=lambda: "x"), None, NULL),
    "None of Any without a default": Case(Any, ..., None, NULL),
    "None of Any that is the default": Case(Any, None, None, None),
    "None of a literal": Case(__import__("typing").Literal["a", None], None, None, None),
    "None of None": Case(None, None, None, None),
    "empty set without a default": Case(set[str], ..., set(), None),
    "empty set that is the default": Case(set[str], set(), set(), None),
    "empty set of a factory": Case(set[str], Field(default_factory=set), set(), None),
    "empty set of another factory": Case(set[str], Field(default_factory=lambda: {"a"}), set(), NULL),
    "empty set beside another default": Case(set[str], {"a"}, set(), NULL),
    "empty frozenset without a default": Case(frozenset[str], ..., frozenset(), None),
    "empty frozenset beside another default": Case(frozenset[int], frozenset({1}), frozenset(), NULL),
    "empty set that would be stored as a list": Case(set[tuple[int, str]], ..., set(), None),
    "empty set of a nullable field": Case(set[str] | None, ..., set(), NULL),
    "None of a nullable set": Case(set[str] | None, ..., None, None),
    "empty set beside the default None": Case(set[str] | None, None, set(), NULL),
    "None beside an empty default": Case(set[str] | None, set(), None, NULL),
    "empty set of a nullable field that is the default": Case(set[str] | None, set(), set(), None),
    "None of a nullable set beside another default": Case(set[str] | None, {"a"}, None, NULL),
    "empty set of a nullable set beside another default": Case(set[str] | None, {"a"}, set(), {"L": []}),
    "empty set of a union": Case(set[str] | int, ..., set(), {"L": []}),
    "None in a list": Case(list[str | None], ..., [None], {"L": [NULL]}),
    "None in a map": Case(dict[str, int | None], ..., {"a": None}, {"M": {"a": NULL}}),
    "empty set in a list": Case(list[set[str]], ..., [set()], {"L": [{"L": []}]}),
    "empty set in a map": Case(dict[str, set[int]], ..., {"a": set()}, {"M": {"a": {"L": []}}}),
    "empty list": Case(list[str], ..., [], {"L": []}),
    "empty map": Case(dict[str, str], ..., {}, {"M": {}}),
    "empty text": Case(str, ..., "", {"S": ""}),
    "empty text of a nullable field": Case(str | None, None, "", {"S": ""}),
    "zero of a nullable field": Case(int | None, None, 0, {"N": "0"}),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_emptiness_is_stored_so_that_it_reads_back(case: Case, strict, make_model, stored, read_back) -> None:
    item = make_model(case.annotation, case.default, strict=strict)(value=case.value)
    assert stored(item) == case.stored
    found = read_back(item).value
    assert found == case.value
    assert type(found) is type(case.value)


@pytest.mark.parametrize("annotation", [set[str], frozenset[str], set[dt.date], set[tuple[int, str]]])
def test_null_reads_as_the_empty_set(annotation, make_model, load) -> None:
    found = load(make_model(annotation, strict=True), key={"S": "k"}, value=NULL).value
    assert found == set()
    assert type(found) is (frozenset if annotation == frozenset[str] else set)


def test_null_reads_as_none_even_where_another_default_waits(make_model, load) -> None:
    assert load(make_model(str | None, "x"), key={"S": "k"}, value=NULL).value is None


@pytest.mark.parametrize(
    ("annotation", "default", "absence", "found"),
    [
        (str | None, ..., Absence.NONE, None),
        (str | None, None, Absence.NONE, None),
        (Any, None, Absence.NONE, None),
        (set[str], ..., Absence.EMPTY_SET, set()),
        (frozenset[str], ..., Absence.EMPTY_SET, frozenset()),
        (set[str], set(), Absence.EMPTY_SET, set()),
        (int, 5, Absence.OTHER, 5),
        (list[int], Field(default_factory=lambda: [1]), Absence.OTHER, [1]),
        (set[str] | None, ..., Absence.NONE, None),
    ],
)
def test_absent_attribute_reads_as_what_the_field_says(annotation, default, absence, found, make_model, load) -> None:
    model = make_model(annotation, default, strict=True)
    assert definition_of(model).fields["value"].absence is absence
    assert load(model, key={"S": "k"}).value == found


@pytest.mark.parametrize("annotation", [str, int, list[int], Any, set[str] | int])
def test_absent_attribute_of_a_required_field_is_an_error(annotation, make_model, load) -> None:
    assert definition_of(make_model(annotation)).fields["value"].absence is Absence.ERROR
    with pytest.raises(ValueError, match="value: Field required"):
        load(make_model(annotation), key={"S": "k"})


def test_default_factory_is_called_for_each_item(make_model, load) -> None:
    model = make_model(list[int], Field(default_factory=list))
    assert load(model, key={"S": "k"}).value is not load(model, key={"S": "k"}).value


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("base", [Model, BaseModel])
def test_absent_members_of_a_nested_model_read_as_in_a_whole_item(base, strict, make_model, load) -> None:
    names = {"__annotations__": {"a": str | None, "b": set[str], "c": set[int] | None}, "__module__": __name__}
    inner = type(base)("Inner", (base,), names)
    found = load(make_model(inner, strict=strict), key={"S": "k"}, value={"M": {}}).value
    assert (found.a, found.b, found.c) == (None, set(), None)


@dataclass
class Plain:
    tags: set[str] = field(default_factory=set)


class Settings(Model):
    theme: Attr[str | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    needed: Attr[set[int]] = attr(name="n")
    frozen: frozenset[str] = frozenset()
    dates: Attr[set[dt.date]] = attr(default_factory=set)
    others: Attr[set[str]] = attr(default_factory=lambda: {"x"})
    tags_or_none: Attr[set[str] | None] = attr(default=None)
    plain: Plain = Plain()


class Loose(Settings):
    model_config = ConfigDict(extra="allow")


NOTHING = {"needed": set(), "others": set(), "tags_or_none": set()}
STORED_NOTHING = {"theme": NULL, "others": {"L": []}, "tags_or_none": {"L": []}, "plain": {"M": {"tags": {"L": []}}}}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("model", [Settings, Loose])
def test_nested_none_is_null_and_a_nested_empty_set_left_out_where_it_reads_back(
    model, strict, make_model, stored, read_back
) -> None:
    item = make_model(list[model], strict=strict)(value=[model(**NOTHING)])
    assert stored(item) == {"L": [{"M": STORED_NOTHING}]}
    assert read_back(item).value == item.value


def test_a_nested_set_that_is_not_empty_is_stored_beside_empty_ones(make_model, stored) -> None:
    item = make_model(Settings)(value=Settings(**{**NOTHING, "needed": {1}, "dates": {dt.date(2024, 6, 1)}}))
    assert stored(item) == {"M": {**STORED_NOTHING, "n": {"NS": ["1"]}, "dates": {"SS": ["2024-06-01"]}}}


@pytest.mark.parametrize("strict", [False, True])
def test_a_nested_empty_set_that_was_stored_as_a_list_is_read(strict, make_model, load) -> None:
    names = ("tags", "n", "frozen", "dates")
    value = {"M": {**STORED_NOTHING, **{name: {"L": []} for name in names}}}
    assert load(make_model(Settings, strict=strict), key={"S": "k"}, value=value).value == Settings(**NOTHING)


class Sparse(Model, absent_when_none=True):
    needed: Attr[str | None]
    theme: Attr[str | None] = attr(default=None, name="t")
    language: Attr[str | None] = attr(default="en")
    tags: Attr[set[str] | None] = attr(default=None)
    inner: "Attr[Sparse | None]" = attr(default=None)


class OfBase(Sparse):
    more: Attr[int | None] = attr(default=None)


class AsUsual(Sparse, absent_when_none=False):
    pass


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("model", [Sparse, OfBase])
def test_members_that_are_none_are_left_out_where_their_model_says_so_and_absence_reads_as_none(
    model, strict, make_model, stored, read_back
) -> None:
    value = model(needed=None, language=None, inner=Sparse(needed="x", tags=set()))
    item = make_model(list[model], strict=strict)(value=[value])
    inner = {"M": {"needed": {"S": "x"}, "language": {"S": "en"}, "tags": {"L": []}}}
    assert stored(item) == {"L": [{"M": {"language": NULL, "inner": inner}}]}
    assert read_back(item).value == [value]


def test_a_subclass_may_store_its_members_as_null_again(make_model, stored) -> None:
    item = make_model(AsUsual)(value=AsUsual(needed=None))
    assert stored(item)["M"] == {"needed": NULL, "t": NULL, "language": {"S": "en"}, "tags": NULL, "inner": NULL}


def test_models_of_a_union_that_are_told_apart_by_their_members_keep_those_that_are_none(make_model, stored) -> None:
    item = make_model(Left | Sparse)(value=Sparse(needed="x", language=None))
    assert stored(item)["M"] == {"needed": {"S": "x"}, "t": NULL, "language": NULL, "tags": NULL, "inner": NULL}


def test_none_in_what_a_sparse_model_holds_is_stored_as_everywhere(make_model, stored) -> None:
    class Holder(Model, absent_when_none=True):
        values: Attr[list[str | None]]
        more: Attr[dict[str, int | None]]

    item = make_model(Holder)(value=Holder(values=[None], more={"a": None}))
    assert stored(item)["M"] == {"values": {"L": [NULL]}, "more": {"M": {"a": NULL}}}


class Left(BaseModel):
    size: int = 0


class Right(BaseModel):
    size: int = 0
    tags: set[str] = set()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("annotation", [Left | Right, list[Left | Right | None], dict[str, Left | Right | int]])
def test_models_that_are_told_apart_by_their_members_keep_their_empty_sets(
    annotation, strict, make_model, read_back
) -> None:
    value: Any = Right()
    if annotation != Left | Right:
        value = [value] if getattr(annotation, "__origin__", None) is list else {"a": value}
    assert read_back(make_model(annotation, strict=strict)(value=value)).value == value
