"""Constraints: which values of its type a field may refuse. A put of a field with none validates nothing."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from annotated_types import Predicate
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    JsonValue,
    PrivateAttr,
    RootModel,
    StringConstraints,
    field_validator,
    model_validator,
)

from dynamap_async.models.constraints import Constraint, constraint_of, fields_validator


class Colour(Enum):
    RED = "red"


class Plain(BaseModel):
    name: str
    tags: list[str] = []


class Limited(BaseModel):
    name: Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    model_config = ConfigDict(str_max_length=3)
    name: str


class Coded(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _same(cls, value: str) -> str:
        return value


class Whole(BaseModel):
    name: str

    @model_validator(mode="after")
    def _same(self) -> "Whole":
        return self


class Hidden(BaseModel):
    name: str
    _more: str = PrivateAttr(default="")


class Node(BaseModel):
    children: list["Node"] = []


class LimitedNode(BaseModel):
    label: Annotated[str, Field(min_length=1)] = "l"
    children: list["LimitedNode"] = []


class Names(RootModel[list[str]]):
    pass


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, Constraint.NONE),
        (datetime | None, Constraint.NONE),
        (list[str | int], Constraint.NONE),
        (dict[str, list[Decimal]], Constraint.NONE),
        (tuple[int, ...], Constraint.NONE),
        (set[UUID], Constraint.NONE),
        (list[Colour], Constraint.NONE),
        (Literal["a", "b"], Constraint.NONE),
        (list[Any], Constraint.NONE),
        (list, Constraint.NONE),
        (list[Plain], Constraint.NONE),
        (list[Node], Constraint.NONE),
        (Names, Constraint.NONE),
        (list[Annotated[str, Field(min_length=1)]], Constraint.DECLARED),
        (Annotated[list[int], Field(max_length=3)], Constraint.DECLARED),
        (list[Annotated[str, StringConstraints(to_lower=True)]], Constraint.DECLARED),
        (JsonValue, Constraint.DECLARED),
        (list[Limited], Constraint.NESTED),
        (Limited | None, Constraint.NESTED),
        (list[Strict], Constraint.NESTED),
        (LimitedNode, Constraint.NESTED),
        (list[Annotated[str, AfterValidator(str)]], Constraint.CODE),
        (list[Annotated[str, Predicate(str.islower)]], Constraint.CODE),
        (Coded, Constraint.CODE),
        (Whole, Constraint.CODE),
        (Hidden, Constraint.CODE),
        (Plain | Limited, Constraint.CODE),
        (Json[list[str]], Constraint.CODE),
        (Point, Constraint.CODE),
        (deque[str], Constraint.CODE),
    ],
    ids=str,
)
def test_a_field_has_the_greatest_constraint_among_the_parts_of_its_type(annotation, expected):
    model = type("Holder", (BaseModel,), {"__annotations__": {"field": annotation}})
    assert constraint_of(model, "field") is expected


def test_fields_are_validated_without_the_rest_of_their_model():
    seen = []

    class Pair(BaseModel):
        model_config = ConfigDict(alias_generator=str.upper, frozen=True, extra="forbid")
        low: int
        high: Annotated[int, Field(ge=0)]

        @field_validator("high")
        @classmethod
        def _look(cls, value: int, info: Any) -> int:
            seen.append((value, dict(info.data), info.field_name))
            return value

        @field_validator("low")
        @classmethod
        def _never(cls, value: int) -> int:
            raise AssertionError(f"{value} is not validated")

        @model_validator(mode="after")
        def _neither(self) -> "Pair":
            raise AssertionError("the model's own validators do not run")

    validate = fields_validator(Pair, ("high",))
    assert validate({"low": "as it is", "high": "2", "more": 1}) == {"low": "as it is", "high": 2}
    assert seen == [(2, {"low": "as it is"}, "high")]
