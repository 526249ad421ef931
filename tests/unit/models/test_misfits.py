"""Stored data that does not fit its model: what is tolerated, and what the error carries."""

import pickle
from datetime import date, datetime
from typing import Annotated, Any

import pytest
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, ValidationError

from dynamap_async import Attr, Model, PartitionKey, SortKey, attr
from dynamap_async.errors import DecodeError, EncodeError, ItemDecodeError, ItemValidationError
from dynamap_async.models import definition_of


class Tweet(Model, table="tweets"):
    user: PartitionKey[str] = attr(name="pk")
    number: SortKey[int]
    text: Attr[str] = attr(name="body", default="")
    on: Attr[date | None] = attr(default=None)


class Meeting(BaseModel):
    at: datetime


def wire(number: int, **more: Any) -> Any:
    return {"pk": {"S": "ada"}, "number": {"N": str(number)}, **more}


def refused(model: Any, *items: Any) -> ItemValidationError:
    with pytest.raises(ItemValidationError) as caught:
        definition_of(model).items.decode(items)
    return caught.value


def test_error_names_the_model_the_key_and_the_fields_and_carries_the_item() -> None:
    bad = wire(7, on={"S": "soon"})
    error = refused(Tweet, bad)
    assert str(error).startswith(
        "the stored item {'pk': 'ada', 'number': 7} does not fit Tweet: on: Input should be a valid date"
    )
    assert (error.model, error.key, error.item) == ("Tweet", {"pk": "ada", "number": 7}, bad)
    assert isinstance(error.validation_error, ValidationError)
    assert [each["loc"] for each in error.validation_error.errors()] == [("on",)]


def test_error_of_another_stored_type_is_a_decode_error_that_says_where() -> None:
    error = refused(Tweet, wire(7, body={"N": "5"}))
    assert isinstance(error, ItemDecodeError)
    assert isinstance(error, DecodeError)
    assert (
        str(error)
        == "the stored item {'pk': 'ada', 'number': 7} does not fit Tweet: text: str is stored as S, not as N"
    )
    assert error.path == ("text",)
    assert isinstance(error.validation_error, DecodeError)


def test_error_keeps_the_items_that_fit_and_every_failure_in_order() -> None:
    error = refused(Tweet, wire(1), wire(2, body={"N": "5"}), wire(3), wire(4, on={"S": "no date"}))
    assert [item.number for item in error.items] == [1, 3]
    assert [failure.key["number"] for failure in error.failures] == [2, 4]
    assert error.key["number"] == 2
    assert all(failure.items == () for failure in error.failures)


def test_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(refused(Tweet, wire(1, body={"N": "5"}))))
    assert error.key == {"pk": "ada", "number": 1}


@pytest.mark.parametrize(
    ("attribute", "stored", "message"),
    [
        ("body", {"N": "5"}, "text: str is stored as S, not as N"),
        ("body", {"NULL": True}, "text: Input should be a valid string"),
        ("body", {"L": []}, "text: str is stored as S, not as L"),
        ("on", {"BOOL": True}, "on: date is stored as S, not as BOOL"),
        ("on", {"S": "soon"}, "on: Input should be a valid date"),
        ("number", {"S": "x"}, "number: int is stored as N, not as S"),
        ("number", {"N": "1.5"}, "number: Input should be a valid integer"),
        ("body", {"Q": 1}, "text: expected an attribute value with exactly one known type"),
        ("body", {}, "text: expected an attribute value with exactly one known type"),
        ("body", {"N": "5", "BOOL": True}, "text: expected an attribute value with exactly one known type"),
        ("on", {"NULL": False}, "on: stored NULL value False is malformed"),
        ("on", "text", "on: expected an attribute value with exactly one known type"),
    ],
)
def test_wrong_attribute_value_is_refused(attribute: str, stored: Any, message: str) -> None:
    error = refused(Tweet, {**wire(1), attribute: stored})
    assert message in str(error)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("text", ["20260102", "86400", "2026", "-5", "1.5", "+5", "0"])
@pytest.mark.filterwarnings("ignore::dynamap_async.models.RoundTripWarning")
@pytest.mark.parametrize(
    ("annotation", "path", "within"),
    [
        (datetime, "value", lambda stored: stored),
        (date, "value", lambda stored: stored),
        (AwareDatetime, "value", lambda stored: stored),
        (datetime | None, "value", lambda stored: stored),
        (datetime | int, "value", lambda stored: stored),
        (date | datetime, "value", lambda stored: stored),
        (list[datetime], "value[0]", lambda stored: {"L": [stored]}),
        (set[date], "value[0]", lambda stored: {"L": [stored]}),
        (dict[str, date], "value.a", lambda stored: {"M": {"a": stored}}),
        (Meeting, "value.at", lambda stored: {"M": {"at": stored}}),
    ],
)
def test_a_text_that_is_a_number_is_no_time(annotation, path, within, text, strict, make_model, answered) -> None:
    model = make_model(annotation, strict=strict)
    items = answered([{"key": {"S": "k"}, "value": within({"S": text})}])
    assert f"{path}: the stored text '{text}' is a number" in (message := str(refused(model, *items)))
    assert "attr(stored_as=...)" in message


@pytest.mark.filterwarnings("ignore::dynamap_async.models.RoundTripWarning")
@pytest.mark.parametrize("annotation", [str | datetime, datetime | str])
def test_a_text_that_is_a_number_is_left_to_the_alternative_that_takes_it(annotation, make_model, load) -> None:
    assert load(make_model(annotation), key={"S": "k"}, value={"S": "20260102"}).value == "20260102"


def test_malformed_value_spoils_only_its_own_item() -> None:
    error = refused(Tweet, wire(1), wire(2, body={"Q": 1}))
    assert [item.number for item in error.items] == [1]


def test_malformed_value_of_any_type_is_refused(make_model) -> None:
    assert "value: expected an attribute value" in str(refused(make_model(Any), {"key": {"S": "k"}, "value": {"Q": 1}}))


def test_malformed_key_is_shown_as_it_is_stored() -> None:
    assert refused(Tweet, {"pk": {"Q": 1}, "number": {"N": "1"}}).key == {"pk": {"Q": 1}, "number": 1}


def test_unexpected_content_of_the_right_stored_type_is_left_to_the_model(make_model, load) -> None:
    slashes = BeforeValidator(lambda value: value.replace("/", "-") if isinstance(value, str) else value)
    model = make_model(Annotated[date, slashes])
    for _ in range(3):
        assert load(model, key={"S": "k"}, value={"S": "2026/01/01"}).value == date(2026, 1, 1)


def with_extras(extra: Any) -> Any:
    class Thing(Model, table="things"):
        model_config = ConfigDict(extra=extra)
        id: PartitionKey[str]
        text: Attr[str] = attr(name="body", default="")

    return Thing


EXTRA = {"id": {"S": "a"}, "more": {"L": [{"N": "1"}, {"SS": ["x"]}]}}


def test_unknown_attributes_are_dropped_unless_the_model_says_otherwise() -> None:
    [found] = definition_of(with_extras("ignore")).items.decode([EXTRA])
    assert definition_of(type(found)).items.encode(found) == {"id": {"S": "a"}, "body": {"S": ""}}


def test_unknown_attributes_are_kept_where_the_model_allows_extras(read_back) -> None:
    [found] = definition_of(with_extras("allow")).items.decode([EXTRA])
    assert found.more == [1, {"x"}]
    assert definition_of(type(found)).items.encode(found)["more"] == EXTRA["more"]
    assert read_back(found) == found


def test_unknown_attributes_are_refused_where_the_model_forbids_extras() -> None:
    assert "more: Extra inputs are not permitted" in str(refused(with_extras("forbid"), EXTRA))


@pytest.mark.parametrize("extra", ["allow", "forbid"])
def test_unknown_attribute_with_the_name_of_a_field_is_refused_not_mistaken_for_it(extra: str) -> None:
    error = refused(with_extras(extra), {"id": {"S": "a"}, "body": {"S": "right"}, "text": {"S": "wrong"}})
    assert "the attribute 'text' has the name of a field that is stored under another name" in str(error)


def test_malformed_extra_is_refused() -> None:
    assert "more: expected an attribute value" in str(
        refused(with_extras("allow"), {"id": {"S": "a"}, "more": {"Q": 1}})
    )


def test_extra_with_the_stored_name_of_a_field_is_not_written() -> None:
    item = with_extras("allow")(id="a", body="x")
    with pytest.raises(EncodeError, match="Thing.body: the extra attribute has the stored name of the field 'text'"):
        definition_of(type(item)).items.encode(item)


def test_extra_that_cannot_be_stored_is_refused_by_name() -> None:
    item = with_extras("allow")(id="a", more=[object()])
    with pytest.raises(EncodeError, match=r"Thing.more\[0\]: storable value expected"):
        definition_of(type(item)).items.encode(item)


def test_extra_of_a_nested_model_with_the_stored_name_of_a_field_is_not_written(make_model) -> None:
    class Inner(Model, extra="allow"):
        text: Attr[str] = attr(name="body", default="")

    item = make_model(list[Inner])(value=[Inner(body="x")])  # type: ignore[call-arg]
    with pytest.raises(
        EncodeError, match=r"Thing.value\[0\].body: the extra attribute has the stored name of the field 'text'"
    ):
        definition_of(type(item)).items.encode(item)


def test_page_without_items_is_empty() -> None:
    assert definition_of(Tweet).items.decode([]) == []


def test_an_item_is_read_alike_before_and_after_one_with_an_unknown_attribute() -> None:
    class Note(Model, table="notes"):
        user: PartitionKey[str]
        text: Attr[str | None] = attr(default=None)

    decode = definition_of(Note).items.decode
    plain: Any = {"user": {"S": "ada"}, "text": {"S": "x"}}
    read = [
        decode([item])[0].text
        for item in (plain, {**plain, "new": {"S": "y"}}, plain, {**plain, "text": {"NULL": True}})
    ]
    assert read == ["x", "x", "x", None]


class Profile(Model):
    model_config = ConfigDict(extra="allow")
    text: Attr[str] = attr(name="body")
    number: Attr[int] = attr(default=0)


@pytest.mark.parametrize("stored", [("body", "text"), ("text", "body"), ("text", "number", "body", "more"), ("text",)])
@pytest.mark.parametrize(
    ("annotation", "path", "within"),
    [
        (Profile, "value", lambda profile: profile),
        (Profile | None, "value", lambda profile: profile),
        (list[Profile], "value[0]", lambda profile: {"L": [profile]}),
        (dict[str, Profile], "value.a", lambda profile: {"M": {"a": profile}}),
    ],
)
def test_a_nested_member_with_the_name_of_a_field_that_is_stored_otherwise_is_refused(
    stored, annotation, path, within, make_model, answered
) -> None:
    members = {name: {"N": "1"} if name == "number" else {"S": name} for name in stored}
    items = answered([{"key": {"S": "k"}, "value": within({"M": members})}])
    error = refused(make_model(annotation), *items)
    assert f"{path}: the attribute 'text' has the name of a field that is stored under another name" in str(error)
