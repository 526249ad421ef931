"""Fields whose values a session gives: absent until then, and never invented by a read."""

import copy
import pickle
from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest
from pydantic import BeforeValidator, Field, ValidationError, field_validator

from dynamap_async import Attr, Model, PartitionKey, SortKey, TimeToLive, Version, attr
from dynamap_async.errors import EncodeError, ItemValidationError, ModelDefinitionError, UnassignedFieldError
from dynamap_async.models import definition_of

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


def noon():
    return NOON


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)
    title: Attr[str] = attr(default="")
    created_at: Attr[datetime] = attr(on_create=noon, name="born")
    updated_at: Attr[datetime | None] = attr(on_update=noon)


ASSIGNED = ("number", "created_at", "updated_at")
STORED = {"number": {"N": "1"}, "born": {"S": "2024-06-01T12:00:00.000000Z"}}


@pytest.fixture
def ticket():
    return Ticket(title="a")


@pytest.mark.parametrize("field", ASSIGNED)
def test_a_field_without_a_value_says_when_it_gets_one(ticket, field):
    with pytest.raises(UnassignedFieldError, match=rf"Ticket\.{field} has no value yet: it gets .* session"):
        getattr(ticket, field)


def test_the_error_is_an_attribute_error_with_model_and_field(ticket):
    with pytest.raises(AttributeError) as caught:
        _ = ticket.number
    assert (caught.value.model, caught.value.field) == ("Ticket", "number")
    assert not hasattr(ticket, "number")


def test_another_unknown_name_is_the_usual_error(ticket):
    with pytest.raises(AttributeError, match="no attribute 'nope'") as caught:
        _ = ticket.nope
    assert not isinstance(caught.value, UnassignedFieldError)


def test_dumps_leave_the_fields_out_without_a_warning(ticket):
    assert ticket.model_dump() == {"title": "a"}
    assert ticket.model_dump_json() == '{"title":"a"}'
    assert dict(ticket) == {"title": "a"}


def test_repr_and_comparison_work_without_the_fields(ticket):
    assert repr(ticket) == "Ticket(title='a')"
    assert ticket == Ticket(title="a")
    assert ticket != Ticket(title="a", number=1)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, Ticket.model_copy, lambda item: pickle.loads(pickle.dumps(item))]
)
def test_copies_have_no_value_either(ticket, copied):
    other = copied(ticket)
    assert other == ticket
    assert not any(hasattr(other, field) for field in ASSIGNED)


def test_an_instance_made_without_validation_has_no_value_either():
    made = Ticket.model_construct(title="a")
    assert made.model_dump() == {"title": "a"}
    assert not hasattr(made, "number")


def test_the_constructor_and_json_take_a_value():
    assert Ticket(number=7, created_at="2024-06-01T12:00:00Z").created_at == NOON
    assert Ticket.model_validate_json('{"number": 7}').number == 7


def test_a_given_value_is_validated():
    with pytest.raises(ValidationError, match="valid integer"):
        Ticket(number="x")


def test_assignment_gives_a_value(ticket):
    ticket.number = 7
    assert ticket.model_dump()["number"] == 7


def test_a_json_schema_has_the_fields_and_does_not_require_them():
    schema = Ticket.model_json_schema()
    assert schema["properties"]["number"] == {"title": "Number", "type": "integer"}
    assert "required" not in schema


def test_a_frozen_model_may_have_such_fields():
    class Frozen(Model, table="frozen", frozen=True):
        number: PartitionKey[int] = attr(autoincrement=True)
        title: Attr[str]

    assert hash(Frozen(title="a")) == hash(Frozen(title="a"))


def test_validation_on_assignment_works_without_the_values():
    class Strict(Model, table="strict", validate_assignment=True):
        number: PartitionKey[int] = attr(autoincrement=True)
        title: Attr[str]

    item = Strict(title="a")
    item.title = "b"
    assert item.model_dump() == {"title": "b"}


def test_fields_are_inherited_and_may_be_replaced():
    class Urgent(Ticket, table="urgent"):
        title: Attr[str] = attr(on_create=str)

    class Plain(Ticket, table="plain"):
        created_at: Attr[datetime] = attr(default=NOON)

    assert Urgent().model_dump() == {}
    assert Plain().model_dump() == {"title": "", "created_at": NOON}


def test_validators_inside_the_type_see_values_only():
    seen = []

    class Seen(Model, table="seen"):
        id: PartitionKey[Annotated[str, BeforeValidator(lambda value: seen.append(value) or value)]] = attr(
            on_create=str
        )
        expires: TimeToLive[datetime] = attr(on_create=noon)

    assert Seen().model_dump() == {}
    assert seen == []
    assert Seen(id="a").id == "a"
    assert seen == ["a"]


def test_a_read_of_an_absent_nullable_attribute_gives_none():
    [found] = definition_of(Ticket).items.decode([STORED])
    assert found.updated_at is None


def test_a_read_of_an_absent_attribute_invents_nothing():
    with pytest.raises(ItemValidationError, match="created_at: Field required"):
        definition_of(Ticket).items.decode([{"number": {"N": "1"}}])


def test_values_that_are_made_are_validated_by_the_field():
    class Made(Model, table="made"):
        id: PartitionKey[str]
        expires: TimeToLive[datetime | None] = attr(on_create=lambda: NOON + timedelta(microseconds=5))
        few: Attr[Annotated[int, Field(ge=5)]] = attr(on_update=lambda: 3)

    expires, few = definition_of(Made).assigned
    assert expires.maker.made(expires.assigned.on_create) == NOON
    with pytest.raises(EncodeError, match=r"Made\.few: .*greater than or equal to 5"):
        few.maker.made(few.assigned.on_update)


async def _later():
    return "x"


WRONG = {
    "no key": ({"n": (Attr[int], attr(autoincrement=True))}, "is not in the key.*session.increment"),
    "not a number": ({"id": (PartitionKey[str], attr(autoincrement=True))}, "is str; numbers are int"),
    "a truth value": ({"id": (PartitionKey[bool], attr(autoincrement=True))}, "is bool; numbers are int"),
    "two numbers": (
        {"id": (PartitionKey[int], attr(autoincrement=True)), "n": (SortKey[int], attr(autoincrement=True))},
        "both have autoincrement",
    ),
    "a number and a default": ({"id": (PartitionKey[int], attr(autoincrement=True, default=5))}, "and a default"),
    "a function and a factory": ({"n": (Attr[str], attr(on_create=str, default_factory=str))}, "and a default"),
    "two functions": ({"n": (Attr[str], attr(on_create=str, on_update=str))}, "on_create and on_update"),
    "a number and a function": (
        {"id": (PartitionKey[int], attr(autoincrement=True, on_create=int))},
        "autoincrement=True and on_create",
    ),
    "a changing key": ({"id": (PartitionKey[str], attr(on_update=str))}, "never changes; take on_create"),
    "no function": ({"n": (Attr[str], attr(on_create="x"))}, "'x' is not callable"),
    "parameters": ({"n": (Attr[str], attr(on_create=lambda x: x))}, "has parameters"),
    "an async function": ({"n": (Attr[str], attr(on_create=_later))}, "async function.*before_write"),
    "a number in a partition without a value": (
        {"id": (PartitionKey[str], attr(on_create=str)), "n": (SortKey[int], attr(autoincrement=True))},
        "each partition, but id has.*id",
    ),
    "a version": ({"n": (Version[int], attr(on_update=int))}, "the session gives a Version its numbers"),
    "a frozen field": (
        {"n": (Attr[str], attr(on_update=str, frozen=True))},
        "frozen=True, and it changes with each write",
    ),
}


@pytest.mark.parametrize(("members", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_definition_is_refused_with_the_remedy(members, message):
    members = members if "id" in members else {"id": (PartitionKey[str], ...), **members}
    body = {name: value for name, (_, value) in members.items() if value is not ...}
    body["__annotations__"] = {name: annotation for name, (annotation, _) in members.items()}
    with pytest.raises(ModelDefinitionError, match=message) as caught:
        type(Model)("Wrong", (Model,), body, table="wrong")
    assert caught.value.model == "Wrong"


def test_attr_inside_the_annotation_is_refused():
    with pytest.raises(ModelDefinitionError, match="inside its annotation; write it behind the equals sign"):

        class Inside(Model, table="inside"):
            id: PartitionKey[Annotated[str, attr(on_create=str)]]


def test_three_dots_are_no_default():
    class Dots(Model, table="dots"):
        id: PartitionKey[str] = attr(on_create=str, default=...)

    assert Dots().model_dump() == {}


def test_a_nested_model_has_no_such_fields():
    with pytest.raises(ModelDefinitionError, match="no table, so it is never written by itself"):

        class Nested(Model):
            made: Attr[str] = attr(on_create=str)


def test_a_validator_of_the_class_that_runs_early_is_refused():
    with pytest.raises(ModelDefinitionError, match=r"early.*would be called without a value"):

        class Early(Model, table="early"):
            id: PartitionKey[str] = attr(on_create=str)

            @field_validator("id", mode="before")
            @classmethod
            def early(cls, value):
                return value


def test_an_abstract_base_may_declare_them():
    class Timed(Model, abstract=True):
        created_at: Attr[datetime] = attr(on_create=noon)

    class Note(Timed, table="notes"):
        id: PartitionKey[str]

    assert Note(id="a").model_dump() == {"id": "a"}
