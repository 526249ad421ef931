"""Types that are named before they exist, and warnings about types: both know where the user's class stands."""

import enum
import warnings
from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from dynamap_async import Attr, Model, PartitionKey, RoundTripWarning, attr
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.expressions import path_of
from dynamap_async.models import definition_of


class Early(Model, table="early"):
    id: PartitionKey[str]
    late: "Attr[Late | None]" = attr(default=None)


def test_type_that_does_not_exist_is_named_with_the_remedy() -> None:
    class Lost(Model, table="lost"):
        id: PartitionKey[str]
        other: "Attr[Nowhere]"  # noqa: F821 - it does not exist

    for use in (lambda: definition_of(Lost), lambda: Lost.id):
        with pytest.raises(
            ModelDefinitionError,
            match=r"Lost names a type .*Nowhere.*define the type, then call Lost.model_rebuild\(\)",
        ):
            use()


class Late(Model):
    on: Attr[date]
    back: "Attr[list[Early]]" = attr(default_factory=list)


def test_type_that_came_later_is_found_at_first_use(read_back) -> None:
    item = Early(id="a", late=Late(on=date(2026, 1, 1), back=[Early(id="b")]))
    assert read_back(item) == item
    assert path_of(Early.late.on).steps == ("late", "on")


def test_names_local_to_a_function_are_found_as_in_plain_pydantic(read_back) -> None:
    class Inner(Model):
        on: Attr[date]

    class Outer(Model, table="outers"):
        id: PartitionKey[str]
        inner: "Attr[Inner]"
        others: "list[Inner]" = []  # noqa: RUF012 - Pydantic copies defaults

    class Twin(BaseModel):
        inner: "Inner"

    assert Twin.model_fields["inner"].annotation is Inner
    assert Outer.model_fields["inner"].annotation is Inner
    item = Outer(id="a", inner=Inner(on=date(2026, 1, 1)))
    assert read_back(item) == item


def test_names_local_to_a_function_may_come_later(read_back) -> None:
    class Outer(Model, table="outers"):
        id: PartitionKey[str]
        inner: "Attr[Inner]"

    class Inner(Model):
        on: Attr[date]

    assert definition_of(Outer).fields["inner"].converter.label == "Inner"
    assert read_back(Outer(id="a", inner=Inner(on=date(2026, 1, 1)))).inner.on == date(2026, 1, 1)


def test_mistake_in_a_model_completed_later_is_reported_at_first_use() -> None:
    class Outer(Model, table="outers"):
        id: "PartitionKey[Kind]"

    class Kind(Model):
        on: Attr[date]

    with pytest.raises(ModelDefinitionError, match="Outer.id: is the partition key and holds Kind"):
        definition_of(Outer)


class Level(enum.IntEnum):
    LOW = 1


OpenWord: Any = Literal["a"] | str  # noqa: PYI051 - an open enumeration is meant


class Mixed(enum.Enum):
    TEXT = "2026-01-01"
    DAY = date(2026, 1, 1)


class One(BaseModel):
    a: int


class Other(BaseModel):
    a: int
    b: int = 0


class Third(BaseModel):
    a: int


@pytest.mark.parametrize(
    "annotation",
    [
        str | date,
        int | float,
        list[str | date],
        dict[str, str | date],
        One | Third,
        set[str] | frozenset[str],
        int | Any,
        Literal[1] | Level,
        Literal[Level.LOW] | int,
        Mixed,
    ],
)
def test_types_that_are_stored_alike_warn_where_the_class_stands(annotation: Any, make_model) -> None:
    with pytest.warns(
        RoundTripWarning, match=r"Thing.value: some values of .* have the same stored form, and are read back as"
    ) as caught:

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            value: annotation  # type: ignore[valid-type]

    [warning] = caught
    assert warning.filename == __file__
    assert 0 < test_types_that_are_stored_alike_warn_where_the_class_stands.__code__.co_firstlineno < warning.lineno


@pytest.mark.parametrize(
    "annotation", [str | int, One | Other, str | None, list[One | Other | int], bytes | str, OpenWord]
)
def test_types_that_are_told_apart_do_not_warn(annotation: Any, make_model) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_model(annotation)
