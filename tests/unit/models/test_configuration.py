"""A model is a plain Pydantic model: its validators, aliases and configuration work, on reading too."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from dynamap_async import Attr, LocalIndex, Model, PartitionKey, SortKey, TimeToLive, Version, attr
from dynamap_async.models import definition_of

AT = datetime(2026, 1, 1, tzinfo=UTC)
ID = UUID("12345678-1234-4234-8234-123456789abc")


class Address(Model):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    street_name: Attr[str] = attr(name="sn")
    since_day: Attr[date]


class Order(Model, table="orders"):
    customer: PartitionKey[str]
    number: SortKey[int]
    at: Attr[datetime] = attr(alias="orderedAt", description="when it was made")
    address: Attr[Address | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    expires: TimeToLive[datetime | None] = attr(default=None)
    version: Version[int] = attr(default=0)

    by_time = LocalIndex("by-time", sort_key="at")


class Twin(BaseModel):
    customer: str
    number: int
    at: datetime = Field(alias="orderedAt", description="when it was made")
    address: Address | None = None
    tags: set[str] = Field(default_factory=set)
    expires: datetime | None = None
    version: int = 0


def test_json_schema_is_that_of_a_plain_model() -> None:
    def schema(model: Any) -> Any:
        return {key: value for key, value in model.model_json_schema().items() if key not in ("title", "description")}

    assert schema(Order) == schema(Twin)


def test_json_goes_in_and_out_by_alias() -> None:
    order = Order.model_validate_json('{"customer": "a", "number": 1, "orderedAt": "2026-01-01T00:00:00Z"}')
    assert order.at == AT
    assert '"orderedAt":"2026-01-01T00:00:00Z"' in order.model_dump_json(by_alias=True)
    assert TypeAdapter(list[Order]).validate_python([order]) == [order]


def test_validation_errors_are_those_of_pydantic() -> None:
    with pytest.raises(ValidationError) as caught:
        Order(customer=5, orderedAt=AT)  # type: ignore[call-arg, arg-type]
    assert [(each["loc"], each["type"]) for each in caught.value.errors()] == [
        (("customer",), "string_type"),
        (("number",), "missing"),
    ]


def test_fastapi_takes_a_model_as_body_and_as_response() -> None:
    fastapi = pytest.importorskip("fastapi", reason="fastapi is not installed")
    testclient = pytest.importorskip("fastapi.testclient", reason="fastapi's test client needs httpx")
    app = fastapi.FastAPI()

    @app.post("/orders")
    def create(order: Order) -> Order:
        return order

    body = {
        "customer": "a",
        "number": 1,
        "orderedAt": "2026-01-01T00:00:00Z",
        "address": {"streetName": "s", "sinceDay": "2026-01-01"},
        "tags": ["x"],
        "expires": None,
        "version": 0,
    }
    client = testclient.TestClient(app)
    assert client.post("/orders", json=body).json() == body
    assert client.post("/orders", json={}).status_code == 422
    assert "Order" in client.get("/openapi.json").json()["components"]["schemas"]


ALIASES: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "alias": (Field(alias="other"), {}, {"other": 1}),
    "alias beside the name": (Field(alias="other"), {"populate_by_name": True}, {"value": 1}),
    "validation alias": (Field(validation_alias="other"), {}, {"other": 1}),
    "alias choices": (Field(validation_alias=AliasChoices("one", "other")), {}, {"one": 1}),
    "serialization alias": (Field(serialization_alias="other"), {}, {"value": 1}),
    "alias generator": (..., {"alias_generator": str.upper}, {"VALUE": 1, "KEY": "k"}),
    "alias and no extras": (Field(alias="other"), {"extra": "forbid"}, {"other": 1}),
    "serialize by alias": (Field(alias="other"), {"serialize_by_alias": True}, {"other": 1}),
    "validate by name": (Field(alias="other"), {"validate_by_name": True, "validate_by_alias": False}, {"value": 1}),
}


@pytest.mark.parametrize(("field", "config", "arguments"), ALIASES.values(), ids=ALIASES)
def test_field_is_stored_by_its_name_never_by_an_alias(field, config, arguments, make_model, read_back) -> None:
    item = make_model(int, field, **config)(**arguments)
    assert definition_of(type(item)).items.encode(item) == {"key": {"S": "k"}, "value": {"N": "1"}}
    assert read_back(item) == item


def test_nested_field_is_stored_by_its_name_never_by_an_alias(make_model, stored, read_back) -> None:
    item = make_model(list[Address])(value=[Address(streetName="s", since_day=date(2026, 1, 1))])  # type: ignore[call-arg]
    assert stored(item) == {"L": [{"M": {"sn": {"S": "s"}, "since_day": {"S": "2026-01-01"}}}]}
    assert read_back(item) == item


CONFIGS: list[dict[str, Any]] = [
    {},
    {"strict": True},
    {"frozen": True},
    {"validate_assignment": True},
    {"extra": "forbid"},
    {"extra": "allow"},
    {"extra": "ignore"},
    {"revalidate_instances": "always"},
    {"from_attributes": True},
    {"str_to_lower": True},
    {"ser_json_timedelta": "float"},
    {"use_enum_values": True},
    {"validate_default": True},
    {"arbitrary_types_allowed": True},
    {"protected_namespaces": ()},
    {"defer_build": True},
]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (list[datetime], [AT]),
        (dict[UUID, set[date]], {ID: {date(2026, 1, 1)}}),
        (Address, Address(street_name="s", since_day=date(2026, 1, 1))),
    ],
    ids=["list", "dict", "nested"],
)
def test_configured_model_reads_back(config, annotation, value, make_model, read_back) -> None:
    item = make_model(annotation, **config)(value=value)
    assert read_back(item) == item


def values_seen(mode: str) -> tuple[type[Any], list[Any]]:
    """Return a model whose field validator of a mode remembers what it was given."""
    seen: list[Any] = []

    def remember(cls: Any, value: Any) -> Any:
        seen.append(value)
        return value

    def wrapped(cls: Any, value: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(remember(cls, value))

    class Watched(Model, table="watched"):
        id: PartitionKey[UUID]
        on: Attr[date]
        days: Attr[list[date]] = attr(default_factory=list)
        look = field_validator("id", "on", "days", mode=mode)(wrapped if mode == "wrap" else remember)  # type: ignore[call-overload]

    return Watched, seen


@pytest.mark.parametrize("mode", ["before", "after", "wrap", "plain"])
def test_field_validator_sees_python_values_when_an_item_is_read(mode: str, read_back) -> None:
    model, seen = values_seen(mode)
    item = model(id=ID, on=date(2026, 1, 1), days=[date(2026, 1, 2)])
    seen.clear()
    assert read_back(item) == item
    assert seen == [ID, date(2026, 1, 1), [date(2026, 1, 2)]]


@pytest.mark.parametrize("validator", [BeforeValidator, AfterValidator, PlainValidator])
def test_validator_of_an_annotation_sees_python_values_once(validator: Any, make_model, read_back) -> None:
    for annotation, value in ((date, date(2026, 1, 1)), (list[date], [date(2026, 1, 1)]), (UUID | int, ID)):
        seen: list[Any] = []

        def remember(given: Any, seen: list[Any] = seen) -> Any:
            seen.append(given)
            return given

        item = make_model(Annotated[annotation, validator(remember)])(value=value)
        seen.clear()
        assert read_back(item) == item
        assert seen == [value]


def test_wrap_validator_of_an_annotation_sees_python_values(make_model, read_back) -> None:
    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        assert isinstance(value, date)
        return handler(value)

    item = make_model(list[Annotated[date, WrapValidator(check)]])(value=[date(2026, 1, 1)])
    assert read_back(item) == item


def test_model_validators_run_on_reading() -> None:
    seen: list[str] = []

    class Watched(Model, table="watched"):
        id: PartitionKey[str]
        on: Attr[date]

        @model_validator(mode="before")
        @classmethod
        def before(cls, values: Any) -> Any:
            assert isinstance(values["on"], date)
            seen.append("before")
            return values

        @model_validator(mode="after")
        def after(self) -> "Watched":
            seen.append("after")
            return self

    codec = definition_of(Watched).items
    codec.decode([codec.encode(Watched(id="a", on=date(2026, 1, 1)))])
    assert seen == ["before", "after"] * 2


def test_validators_do_not_run_when_a_class_is_made() -> None:
    class Careful(Model, table="careful"):
        id: PartitionKey[str]
        value: Attr[int] = attr(default=5)

        @field_validator("value")
        @classmethod
        def never(cls, value: int) -> int:
            raise AssertionError(f"the default {value} is not validated when the class is made")

    assert Careful(id="a").value == 5


def test_frozen_model_may_have_defaults() -> None:
    class Fixed(Model, table="fixed", frozen=True):
        id: PartitionKey[str]
        value: Attr[int] = attr(default=5)

    item = Fixed(id="a")
    with pytest.raises(ValidationError, match="frozen"):
        item.value = 6


def test_assignment_is_validated_where_the_model_says_so() -> None:
    class Guarded(Model, table="guarded"):
        model_config = ConfigDict(validate_assignment=True)
        id: PartitionKey[str]
        value: Attr[int] = attr(default=5)

    with pytest.raises(ValidationError, match="valid integer"):
        Guarded(id="a").value = "x"  # type: ignore[assignment]


def test_serializers_shape_json_but_not_what_is_stored(read_back) -> None:
    class Shaped(Model, table="shaped"):
        id: PartitionKey[str]
        on: Attr[date]
        hidden: Attr[int] = Field(default=1, exclude=True)  # type: ignore[assignment]

        @field_serializer("on")
        def year(self, on: date) -> int:
            return on.year

        @model_serializer(mode="wrap")
        def wrapped(self, handler: Any) -> Any:
            return {"shaped": handler(self)}

    item = Shaped(id="a", on=date(2026, 1, 1), hidden=2)
    assert item.model_dump() == {"shaped": {"id": "a", "on": 2026}}
    assert read_back(item) == item


def test_private_attributes_are_not_stored(read_back) -> None:
    class Secretive(Model, table="secretive"):
        id: PartitionKey[str]
        _seen: int = 0

    item = Secretive(id="a")
    item._seen = 5
    assert definition_of(Secretive).items.encode(item) == {"id": {"S": "a"}}
    assert read_back(item)._seen == 0


def test_typed_extras_are_validated_on_reading(load) -> None:
    class Typed(Model, table="typed"):
        model_config = ConfigDict(extra="allow")
        __pydantic_extra__: dict[str, date] = Field(init=False)
        id: PartitionKey[str]

    assert load(Typed, id={"S": "a"}, on={"S": "2026-01-01"}).on == date(2026, 1, 1)


def test_extras_of_a_nested_model_are_kept(make_model, read_back, stored) -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        name: str

    item = make_model(Open)(value={"name": "n", "more": [1, None]})
    assert stored(item) == {"M": {"name": {"S": "n"}, "more": {"L": [{"N": "1"}, {"NULL": True}]}}}
    assert read_back(item) == item
