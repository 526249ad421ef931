"""Values stored as JSON text are stored whole: what shapes the output of a program has no part in it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import signature
from ipaddress import IPv4Address, ip_address
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    RootModel,
    Secret,
    SecretBytes,
    SecretStr,
    field_serializer,
    model_serializer,
)
from typing_extensions import TypedDict

from dynamap_async import JSON_TEXT, attr
from dynamap_async.errors import EncodeError, ModelDefinitionError

KNOWS_EXCLUDE_IF = "exclude_if" in signature(Field).parameters


class Login(BaseModel):
    token: SecretStr
    pin: int = Field(default=0, exclude=True)


class Masked(BaseModel):
    model_config = ConfigDict(extra="allow")
    phone: str
    at: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    address: IPv4Address = ip_address("127.0.0.1")

    @field_serializer("phone")
    def mask(self, value: str) -> str:
        return f"***{len(value)}"


class Short(BaseModel):
    a: int
    b: int

    @model_serializer
    def shorten(self) -> dict[str, Any]:
        return {"sum": self.a + self.b}


@dataclass
class Account:
    login: Login
    logins: tuple[SecretStr, ...] = ()


class Pair(NamedTuple):
    name: str
    secret: SecretStr


class Held(TypedDict):
    secret: SecretStr


class Left(BaseModel):
    a: int = Field(default=0, exclude=True)


class LeftIfZero(BaseModel):
    a: int = Field(default=0, **({"exclude_if": lambda a: a == 0} if KNOWS_EXCLUDE_IF else {}))


def padded(number: int) -> str:
    return f"{number:04}"


def no_secret(number: int) -> str:
    return f"#{number}"


Padded = Annotated[int, PlainSerializer(padded), BeforeValidator(int)]
Marked = Annotated[int, PlainSerializer(no_secret), BeforeValidator(lambda given: int(str(given).lstrip("#")))]

SECRET = SecretStr("open sesame")
LOGIN = Login(token=SECRET, pin=7)

HIDDEN: list[Any] = [
    (SecretStr, SECRET, '"open sesame"'),
    (SecretBytes, SecretBytes(b"open"), '"open"'),
    (Secret[int], Secret[int](5), "5"),
    (dict[str, SecretStr], {"ada": SECRET}, '{"ada":"open sesame"}'),
    (dict[SecretStr, int], {SECRET: 1}, '{"open sesame":1}'),
    (list[SecretStr], [SECRET], '["open sesame"]'),
    (Login, LOGIN, '{"token":"open sesame","pin":7}'),
    (RootModel[list[Login]], RootModel[list[Login]]([LOGIN]), '[{"token":"open sesame","pin":7}]'),
    (Account, Account(LOGIN, (SECRET,)), '{"login":{"token":"open sesame","pin":7},"logins":["open sesame"]}'),
    (Pair, Pair("ada", SECRET), '["ada","open sesame"]'),
    (Held, {"secret": SECRET}, '{"secret":"open sesame"}'),
    (
        Masked,
        Masked(phone="123", more=1),  # type: ignore[call-arg]
        '{"phone":"123","at":"2026-01-01T00:00:00Z","address":"127.0.0.1","more":1}',
    ),
    (Short, Short(a=1, b=2), '{"a":1,"b":2}'),
    (Left, Left(a=7), '{"a":7}'),
    (LeftIfZero, LeftIfZero(a=0), '{"a":0}'),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("annotation", "value", "text"), HIDDEN)
def test_what_a_dump_hides_is_stored_and_read_back(
    annotation, value, text, strict, make_model, stored, read_back
) -> None:
    item = make_model(annotation, attr(stored_as=JSON_TEXT), strict=strict)(value=value)
    assert stored(item) == {"S": text}
    assert read_back(item) == item


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [(list[Padded], [7], '["0007"]'), (list[Marked], [7], '["#7"]'), (dict[str, Padded], {"a": 7}, '{"a":"0007"}')],
)
def test_what_a_type_itself_is_dumped_as_is_stored_and_read_back(
    annotation, value, text, make_model, stored, read_back
) -> None:
    item = make_model(annotation, attr(stored_as=JSON_TEXT))(value=value)
    assert stored(item) == {"S": text}
    assert read_back(item) == item


def test_value_that_does_not_fit_its_type_is_refused(make_model, stored) -> None:
    model = make_model(Login, attr(stored_as=JSON_TEXT))
    with pytest.raises(EncodeError, match=r"Thing\.value: JSON text expected, got str"):
        stored(model.model_construct(key="k", value="ada"))


def test_secret_keys_of_a_map_are_told_apart(make_model, stored, read_back) -> None:
    item = make_model(dict[SecretStr, int])(value={SECRET: 1, SecretStr("other"): 2})
    assert stored(item) == {"M": {"open sesame": {"N": "1"}, "other": {"N": "2"}}}
    assert read_back(item) == item


class Named(BaseModel):
    name: str = Field(default="", alias="Name")

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)


UNREAD: list[Any] = [
    (dict[tuple[int, int], str], "a tuple as a key has no text form that can be read back; use str, int"),
    (list[dict[Pair, str]], "a named tuple as a key has no text"),
    (dict[int | None, str], "None as a key has no text"),
    (dict[Annotated[tuple[int, int], Field()] | int, str], "a tuple as a key has no text"),
    (list[Named], r"Named has its own __init__, .* write model_config = ConfigDict\(validate_by_name=True\)"),
]


@pytest.mark.parametrize(("annotation", "message"), UNREAD)
def test_type_whose_json_would_not_read_back_is_refused(annotation, message, make_model) -> None:
    with pytest.raises(ModelDefinitionError, match=rf"Thing\.value: .*{message}"):
        make_model(annotation, attr(stored_as=JSON_TEXT))


def test_keys_without_text_are_not_sent_to_json(make_model) -> None:
    with pytest.raises(ModelDefinitionError, match="as keys of the dict, or a StoredForm of your own$"):
        make_model(dict[tuple[int, int], str])
