"""Models whose fields have every type that conditions treat differently, and a way to see what is sent."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from dynamap_async import JSON_TEXT, Attr, Model, PartitionKey, SortKey, attr
from dynamap_async.expressions import Placeholders, render_condition


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Street(Model):
    name: Attr[str]
    number: Attr[int | None] = attr(default=None)


class Address(Model):
    city: Attr[str] = attr(name="c.t y#")
    street: Attr[Street | None] = attr(default=None)
    labels: Attr[set[str]] = attr(default_factory=set)


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    toys: set[str] = set()


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Thing(Model, table="things"):
    id: PartitionKey[str]
    rank: SortKey[int]
    name: Attr[str] = attr(default="")
    note: Attr[str | None] = attr(default=None)
    note_or_dash: Attr[str | None] = attr(default="-")
    price: Attr[Decimal] = attr(default=Decimal(0))
    ratio: Attr[float] = attr(default=0.0)
    active: Attr[bool] = attr(default=True)
    blob: Attr[bytes] = attr(default=b"")
    at: Attr[datetime] = attr(default=datetime(2024, 1, 1, tzinfo=UTC))
    colour: Attr[Colour] = attr(default=Colour.RED)
    tags: Attr[set[str]] = attr(default_factory=set)
    numbers: Attr[set[int]] = attr(default_factory=set)
    tags_or_none: Attr[set[str] | None] = attr(default=None)
    tags_or_default: Attr[set[str] | None] = attr(default_factory=lambda: {"x"})
    history: Attr[list[str]] = attr(default_factory=list)
    pair: Attr[tuple[int, str]] = attr(default=(0, ""))
    matrix: Attr[list[list[int]]] = attr(default_factory=list)
    options: Attr[dict[str, int]] = attr(default_factory=dict)
    address: Attr[Address | None] = attr(default=None)
    addresses: Attr[list[Address]] = attr(default_factory=list)
    document: Attr[dict[str, Any]] = attr(default_factory=dict, stored_as=JSON_TEXT)
    anything: Attr[Any] = attr(default=None)
    pet: Attr[Pet | None] = attr(default=None)
    pets: Attr[list[Pet]] = attr(default_factory=list)
    untold: Attr[Cat | Street | None] = attr(default=None)
    reserved: Attr[str] = attr(name="status", default="")
    other: Attr[str] = attr(default="")


class Other(Model, table="others"):
    id: PartitionKey[str]


@pytest.fixture
def thing() -> type[Thing]:
    return Thing


@pytest.fixture
def other() -> type[Other]:
    return Other


@pytest.fixture
def colour() -> type[Colour]:
    return Colour


@pytest.fixture
def sent():
    """Return a function: condition -> text with the names put in, and the values in the order of their placeholders."""

    def render(condition):
        placeholders = Placeholders()
        text = render_condition(condition, placeholders)
        members = placeholders.to_wire()
        names = members.get("ExpressionAttributeNames", {})
        for key in sorted(names, key=len, reverse=True):
            text = text.replace(key, f"<{names[key]}>")
        values = list(members.get("ExpressionAttributeValues", {}).values())
        return text, values

    return render
