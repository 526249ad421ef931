"""Reading into another model: which ones can be filled, what is read for them, and what an absent attribute gives."""

from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import Base64Str, BaseModel, Field, Json, RootModel, computed_field, create_model, field_validator

from dynamap_async import (
    EPOCH_MILLISECONDS,
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Put,
    Query,
    Save,
    Scan,
    SortKey,
    attr,
    include,
)
from dynamap_async.errors import DecodeError, ItemValidationError, OperationError, UnprojectedAttributeError
from dynamap_async.models import definition_of
from dynamap_async.planning import Context
from dynamap_async.planning.plan_cache import plan_reading

DAY = datetime(2024, 1, 1, tzinfo=UTC)


class Colour(Enum):
    RED = "red"


class Address(BaseModel):
    city: str
    zip: str = ""


class Place(BaseModel):
    city: str


class Street(BaseModel):
    street: str


class Shelf(Model):
    tags: Attr[set[str]] = attr(default_factory=set)


class Bare(BaseModel):
    tags: set[str]


class Tweet(Model, table="tweets"):
    user: PartitionKey[str] = attr(name="pk")
    number: SortKey[int]
    posted_at: Attr[datetime] = attr(stored_as=EPOCH_MILLISECONDS)
    city: Attr[str | None] = attr(default=None)
    likes: Attr[int] = attr(default=7)
    text: Attr[str] = attr(name="body", default="empty")
    tags: Attr[set[str]] = attr(default_factory=set)
    home: Attr[Address] = attr(default=Address(city="nowhere"))
    places: Attr[list[Address]] = attr(default_factory=list)
    scores: Attr[dict[str, int]] = attr(default_factory=dict)
    colour: Attr[Colour] = attr(default=Colour.RED)
    mood: Attr[Literal["good", "bad"]] = attr(default="good")

    by_likes = LocalIndex(sort_key="likes", projection=include("text"))
    by_city = GlobalIndex(partition_key="city", projection=KEYS_ONLY)


WIRE = {
    "pk": {"S": "ada"},
    "number": {"N": "3"},
    "posted_at": {"N": "1704067200000"},
    "body": {"S": "hi"},
    "home": {"M": {"city": {"S": "Oslo"}, "zip": {"S": "1"}}},
    "places": {"L": [{"M": {"city": {"S": "Rome"}, "zip": {"S": "2"}}}]},
    "colour": {"S": "red"},
}


class Parcel(Model, table="parcels"):
    id: PartitionKey[str]
    sizes: Attr[Json[list[int]]]
    label: Attr[str] = attr(default="")
    seal: Attr[Base64Str] = attr(default="")


class Encoded(BaseModel):
    sizes: Json[list[int]]
    seal: Base64Str


class Decoded(BaseModel):
    sizes: list[int]
    label: Json[dict[str, int]]


PARCEL = {"id": {"S": "x"}, "sizes": {"S": "[1, 2]"}, "label": {"S": '{"a": 1}'}, "seal": {"S": "aGk="}}


@pytest.mark.parametrize(
    ("model", "values"),
    [(Encoded, {"sizes": [1, 2], "seal": "hi"}), (Decoded, {"sizes": [1, 2], "label": {"a": 1}})],
)
def test_text_that_pydantic_decodes_is_decoded_once(model, values):
    decode = plan_reading(Scan(Parcel).into(model).spec, Context()).decode
    made = decode([PARCEL])[0]
    assert {name: getattr(made, name) for name in values} == values


class Strict(BaseModel, strict=True):
    posted_at: datetime
    colour: Colour
    tags: set[str]
    home: Address


def test_a_strict_card_gets_values_of_the_models_types():
    assert read(Strict) == Strict(posted_at=DAY, colour=Colour.RED, tags=set(), home=Address(city="Oslo", zip="1"))


def card(**fields):
    return type("Card", (BaseModel,), {"__annotations__": fields})


def read(model, wire=WIRE):
    return plan_reading(Query(Tweet).where(Tweet.user == "ada").into(model).spec, Context()).decode([wire])[0]


FILLED = {
    "the same type": ({"number": int}, {"number": 3}),
    "another stored name": ({"text": str}, {"text": "hi"}),
    "another stored form": ({"posted_at": datetime}, {"posted_at": DAY}),
    "a wider type": ({"number": int | None, "text": str | int}, {"number": 3, "text": "hi"}),
    "any type": ({"posted_at": Any, "number": object}, {"posted_at": DAY, "number": 3}),
    "another number": ({"number": Decimal}, {"number": Decimal(3)}),
    "a constrained type": ({"number": Annotated[int, Field(ge=3)]}, {"number": 3}),
    "without None": ({"likes": int}, {"likes": 7}),
    "a part of a nested model": ({"home": Place}, {"home": Place(city="Oslo")}),
    "parts of nested models in a list": ({"places": list[Place]}, {"places": [Place(city="Rome")]}),
    "another collection": ({"places": tuple[Address, ...]}, {"places": (Address(city="Rome", zip="2"),)}),
    "an enum": ({"colour": Colour}, {"colour": Colour.RED}),
    "a literal as text": ({"mood": str}, {"mood": "good"}),
}


@pytest.mark.parametrize(("fields", "values"), FILLED.values(), ids=FILLED.keys())
def test_fields_are_filled_by_name_in_the_form_that_the_model_gives_them(fields, values):
    made = read(card(**fields))
    assert {name: getattr(made, name) for name in fields} == values


UNFIT = {
    "unknown": ({"nothing": str}, r"Card\.nothing is not a field of Tweet.*computed_field"),
    "text for a number": ({"number": str}, r"Card\.number is str, and Tweet\.number is int.*same type"),
    "a number for text": ({"text": int}, r"Card\.text is int, and Tweet\.text is str"),
    "a date for a time": ({"posted_at": date}, r"Card\.posted_at is date, and Tweet\.posted_at is datetime"),
    "truth for a number": ({"likes": bool}, r"Card\.likes is bool"),
    "one for many": ({"tags": str}, r"Card\.tags is str"),
    "other members": ({"tags": set[int]}, r"Card\.tags is set\[int\]"),
    "other values": ({"scores": dict[str, str]}, r"Card\.scores"),
    "a nested model with more": ({"home": Street}, r"Card\.home is Street, and Tweet\.home is Address"),
    "a nested model of a list with more": ({"places": list[Street]}, r"Card\.places"),
    "a number for a literal": ({"mood": int}, r"Card\.mood is int"),
}


@pytest.mark.parametrize(("fields", "message"), UNFIT.values(), ids=UNFIT.keys())
def test_a_card_that_cannot_be_filled_is_refused_when_the_query_is_built(fields, message):
    with pytest.raises(OperationError, match=message):
        Query(Tweet).where(Tweet.user == "ada").into(card(**fields))


NO_CARDS = {
    "no class": "Card",
    "no model": int,
    "an instance": Place(city="x"),
    "a root model": RootModel[list[int]],
    "no fields": type("Empty", (BaseModel,), {}),
}


@pytest.mark.parametrize("given", NO_CARDS.values(), ids=NO_CARDS.keys())
def test_what_is_no_model_with_fields_is_refused(given):
    with pytest.raises(OperationError, match=r"into\(.*needs a Pydantic model|has no fields"):
        Query(Tweet).into(given)


class Defaults(BaseModel):
    likes: int = 99
    text: str = "of the card"
    city: str | None = "of the card"
    tags: set[str] = {"of the card"}
    home: Place = Place(city="of the card")


def test_an_absent_attribute_means_what_the_items_own_model_says_and_never_the_card():
    made = read(Defaults, {"pk": {"S": "a"}, "number": {"N": "1"}})
    assert made == Defaults(likes=7, text="empty", city=None, tags=set(), home=Place(city="nowhere"))


def test_an_attribute_that_the_model_requires_is_not_filled_from_the_card():
    class Card(BaseModel):
        posted_at: datetime = DAY

    with pytest.raises(ItemValidationError, match=r"Tweet\.posted_at: the item does not have the attribute"):
        read(Card, {"pk": {"S": "a"}, "number": {"N": "1"}})


def test_an_item_that_does_not_fit_the_card_is_named_and_the_others_are_given():
    class Card(BaseModel):
        number: int
        city: str

    decode = plan_reading(Scan(Tweet).into(Card).spec, Context()).decode
    keys = [{"pk": {"S": "a"}, "number": {"N": str(number)}} for number in range(3)]
    stored = [{**each, "city": {"S": "x"}} if number != 1 else each for number, each in enumerate(keys)]
    with pytest.raises(
        ItemValidationError, match=r"\{'pk': 'a', 'number': 1\} does not fit Card: city: Input"
    ) as caught:
        decode(stored)
    assert list(caught.value.items) == [Card(number=0, city="x"), Card(number=2, city="x")]


def test_a_card_validates_and_computes_as_ever():
    class Card(BaseModel):
        text: str = Field(alias="content")

        @field_validator("text", mode="before")
        @classmethod
        def loud(cls, value: str) -> str:
            return value.upper()

        @computed_field
        @property
        def length(self) -> int:
            return len(self.text)

    assert read(Card).model_dump() == {"text": "HI", "length": 2}


def test_a_card_with_an_init_of_its_own_gets_the_names_that_it_takes():
    class Card(BaseModel):
        text: str = Field(default="", alias="content")

        def __init__(self, **given: Any) -> None:
            super().__init__(**given)

    assert read(Card).text == "hi"


def test_a_card_can_name_itself():
    class Node(Model, table="nodes"):
        id: PartitionKey[str]
        children: Attr[list["NodeCard"]] = attr(default_factory=list)

    class NodeCard(BaseModel):
        children: list["NodeCard"]

    Node.model_rebuild()
    assert Query(Node).into(NodeCard).spec.target is NodeCard


def asked(query):
    body = query.explain().body
    return {body["ExpressionAttributeNames"][each] for each in body["ProjectionExpression"].replace(",", " ").split()}


class Card(BaseModel):
    likes: int
    text: str


READ = {
    "the table": lambda: Query(Tweet).where(Tweet.user == "a").into(Card),
    "a scan": lambda: Scan(Tweet).into(Card),
    "an index": lambda: Query(Tweet).where(Tweet.user == "a", Tweet.likes > 3).into(Card),
}


@pytest.mark.parametrize("query", READ.values(), ids=READ.keys())
def test_only_the_fields_of_the_card_and_the_keys_are_read(query):
    assert asked(query()) == {"pk", "number", "likes", "body"}
    plan = query().explain()
    assert (plan.projection, plan.completion) == (("likes", "text"), None)


def test_a_card_opens_the_way_through_an_index_that_holds_it():
    assert READ["an index"]().explain().index == "by_likes"


@pytest.mark.parametrize(
    "query",
    [
        lambda: Query(Tweet).where(Tweet.city == "x").into(Card),
        lambda: Query(Tweet).where(Tweet.city == "x").into(Card).index(Tweet.by_city),
        lambda: Scan(Tweet).index(Tweet.by_city).into(Card),
    ],
    ids=["chosen", "stated", "scanned"],
)
def test_a_card_that_an_index_cannot_fill_names_field_index_and_remedy(query):
    with pytest.raises(
        UnprojectedAttributeError,
        match=r"'by_city' does not hold 'likes', 'body', which Card\.likes and Card\.text would be filled from; leave",
    ) as caught:
        query().explain()
    assert (caught.value.attributes, caught.value.index) == (("likes", "body"), "by_city")


def test_of_a_card_and_a_selection_the_last_one_counts():
    query = Query(Tweet).where(Tweet.user == "a")
    assert query.into(Card).select(Tweet.number).explain().projection == ("number",)
    assert query.select(Tweet.number).into(Card).explain().projection == ("likes", "text")


class Stored(Model, table="tweets"):
    user: PartitionKey[str] = attr(name="pk")
    number: SortKey[int]
    text: Attr[str] = attr(name="body")


def test_a_card_with_a_table_takes_names_and_forms_from_the_model_that_is_read():
    class Other(Model, table="others"):
        number: PartitionKey[int]
        text: Attr[str] = attr(name="quite another name")

    assert read(Other) == Other(number=3, text="hi")


@pytest.mark.parametrize("write", [Put, Save])
def test_an_instance_of_a_card_with_a_table_is_not_written(write):
    with pytest.raises(OperationError, match="read without some of its attributes"):
        write(read(Stored)).request(Context())


def test_the_empty_set_of_a_nested_model_is_one_for_another_model_too():
    class Shelves(Model, table="shelves"):
        id: PartitionKey[str]
        first: Attr[Shelf]

    class Card(BaseModel):
        first: Bare

    item = definition_of(Shelves).items.encode(Shelves(id="a", first=Shelf()))
    assert item["first"] == {"M": {}}
    [card] = Query(Shelves).where(Shelves.id == "a").into(Card).reading(Context()).decode([item])
    assert card == Card(first=Bare(tags=set()))


@pytest.mark.parametrize(
    ("fields", "stored", "message"),
    [
        ({"likes": int}, {"likes": {"S": "3"}}, "Tweet.likes: int is stored as N, not as S"),
        ({"likes": int | None}, {"likes": {"S": "3"}}, "Tweet.likes: int is stored as N, not as S"),
        ({"posted_at": datetime}, {"posted_at": {"S": "1704067200000"}}, "Tweet.posted_at: datetime is stored as N"),
        ({"scores": dict[str, int]}, {"scores": {"M": {"a": {"S": "3"}}}}, "Tweet.scores.a: int is stored as N"),
    ],
)
def test_value_of_another_stored_type_is_refused(fields, stored, message):
    card = create_model("Card", **{name: (kind, ...) for name, kind in fields.items()})
    with pytest.raises(DecodeError, match=message):
        read(card, {**WIRE, **stored})
