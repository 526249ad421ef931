"""Which models run code of the program when an instance is made of a stored item."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID, uuid4

import pytest
from annotated_types import Predicate
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    PrivateAttr,
    Tag,
    field_validator,
    model_validator,
)
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

from dynamap_async import EPOCH_SECONDS, Attr, Model, PartitionKey, SortKey, StoredForm, Table, Version, attr
from dynamap_async.models import definition_of
from dynamap_async.models.own_code import runs_own_code


class Colour(Enum):
    RED = "red"


class Lenient(Enum):
    RED = "red"

    @classmethod
    def _missing_(cls, value):
        return cls.RED if value else None


class Place(BaseModel):
    town: str
    tags: set[str] = Field(default_factory=set)


class Checked(BaseModel):
    town: str

    @field_validator("town")
    @classmethod
    def check(cls, value):
        return value


class After(BaseModel):
    def model_post_init(self, context):
        """Run after validation."""


class Whole(BaseModel):
    @model_validator(mode="after")
    def check(self):
        return self


class Made(BaseModel):
    def __init__(self, **values):
        super().__init__(**values)


class Form(BaseModel):
    cents: Attr[Decimal] = attr(stored_as=StoredForm(name="cents", tag="N", encode=int, decode=Decimal))


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Hidden(BaseModel):
    _made: UUID = PrivateAttr(default_factory=uuid4)


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")


Tree = TypeAliasType("Tree", "list[Tree] | int")


@dataclass
class Point:
    x: int = 0


def of(kind):
    return type("Item", (Model,), {"__annotations__": {"id": PartitionKey[str], "field": Attr[kind]}}, table="items")


@pytest.mark.parametrize(
    "kind",
    [
        str,
        int | None,
        Decimal,
        datetime,
        UUID,
        bytes,
        Colour,
        set[str],
        list[Place],
        dict[str, list[int]],
        tuple[int, ...],
        Literal["a", "b"],
        Annotated[str, Field(max_length=5)],
        Annotated[str, PlainSerializer(str.lower)],
        Tree,
        AwareDatetime,
        Annotated[Cat | Dog, Discriminator("kind")],
    ],
    ids=[
        "text",
        "nullable",
        "decimal",
        "datetime",
        "uuid",
        "bytes",
        "enum",
        "set",
        "list of models",
        "dict",
        "tuple",
        "literal",
        "constrained",
        "dumped by a function",
        "an alias that contains itself",
        "a time with a zone",
        "told apart by a field",
    ],
)
def test_models_of_data_run_none(kind):
    assert not runs_own_code(of(kind))


@pytest.mark.parametrize(
    "kind",
    [
        Lenient,
        Checked,
        list[Checked],
        dict[str, Checked | None],
        After,
        Whole,
        Made,
        Form,
        Point,
        Annotated[int, AfterValidator(abs)],
        Annotated[int, BeforeValidator(int)],
        list[Annotated[str, Predicate(str.isupper)]],
        Hidden,
        Extra,
        Annotated[int, GetPydanticSchema(lambda *_: core_schema.no_info_plain_validator_function(int))],
        Annotated[UUID, Field(default_factory=uuid4)],
        Annotated[Annotated[Cat, Tag("c")] | Annotated[Dog, Tag("d")], Discriminator(lambda _: "c")],
    ],
    ids=[
        "a member of an enum that is looked for",
        "a validator of a field",
        "the same in a list",
        "the same in a dict",
        "a function after validation",
        "a validator of a model",
        "a constructor",
        "a stored form",
        "a dataclass, of which nobody knows",
        "a validator in a type",
        "a validator before others",
        "a predicate",
        "a private attribute",
        "extra attributes, whose type is not looked at",
        "a schema",
        "a factory",
        "a function that tells models apart",
    ],
)
def test_models_with_functions_of_the_program_run_them(kind):
    assert runs_own_code(of(kind))


def test_what_this_library_adds_to_a_model_is_not_the_programs():
    class Ours(Model, table="ours"):
        id: PartitionKey[int] = attr(autoincrement=True)
        at: Attr[datetime] = attr(stored_as=EPOCH_SECONDS)
        version: Version[int]
        tags: Attr[set[str]] = attr(default_factory=set)

    assert not runs_own_code(Ours)


def test_a_validator_of_the_model_itself_is_the_programs():
    class Own(Model, table="own"):
        id: PartitionKey[str]

        @field_validator("id")
        @classmethod
        def check(cls, value: Any):
            return value

    assert runs_own_code(Own)
    assert definition_of(Own).read_at_once is None


def test_items_of_a_shared_table_are_told_apart_one_by_one():
    class Order(Model, table=Table("shop", partition_key="pk", sort_key="sk"), kind="order"):
        pk: PartitionKey[str]
        sk: SortKey[str]

    assert not runs_own_code(Order)
    assert definition_of(Order).read_at_once is None
