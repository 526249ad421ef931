"""Write ids in models: how they are declared, what an instance has of them, and what is refused."""

import re
from typing import Annotated, Literal

import pytest
from pydantic import Field, field_validator

from dynamap_async import Attr, Model, PartitionKey, SortKey, TimeToLive, Version, attr
from dynamap_async.errors import ExpressionError, ModelDefinitionError, UnassignedFieldError
from dynamap_async.models import definition_of
from dynamap_async.operations import Update


class Lock(Model, table="locks"):
    name: PartitionKey[str]
    owner: Attr[str] = attr(default="")
    written_by: Attr[str | None] = attr(write_id=True, name="w")


class Hidden(Model, table="hidden"):
    name: PartitionKey[str]
    written_by: Attr[Annotated[str | None, Field(exclude=True)]] = attr(write_id=True)


def test_a_new_instance_has_no_write_id_and_says_when_it_gets_one():
    lock = Lock(name="a")
    with pytest.raises(UnassignedFieldError, match="each time that a session writes the item"):
        _ = lock.written_by
    assert lock.model_dump() == {"name": "a", "owner": ""}


def test_an_item_that_another_program_wrote_has_none():
    [lock] = definition_of(Lock).items.decode([{"name": {"S": "a"}}])
    assert lock.written_by is None


def test_a_stored_id_is_an_ordinary_value_of_the_instance():
    [lock] = definition_of(Lock).items.decode([{"name": {"S": "a"}, "w": {"S": "id"}}])
    assert lock.model_dump() == {"name": "a", "owner": "", "written_by": "id"}
    assert lock != Lock(name="a")


def test_a_dump_can_leave_it_out_as_any_field():
    [hidden] = definition_of(Hidden).items.decode([{"name": {"S": "a"}, "written_by": {"S": "id"}}])
    assert hidden.written_by == "id"
    assert hidden.model_dump() == {"name": "a"}


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        (lambda: (Attr[str], attr(write_id=True)), "cannot be None"),
        (lambda: (Attr[int | None], attr(write_id=True)), "is int | None; ids are text"),
        (lambda: (Attr[Literal["a"] | None], attr(write_id=True)), "ids are text"),
        (lambda: (SortKey[str], attr(write_id=True)), "is a SortKey"),
        (lambda: (TimeToLive[int | None], attr(write_id=True)), "is a TimeToLive"),
        (lambda: (Version[int], attr(write_id=True)), "Version"),
        (lambda: (Attr[str | None], attr(write_id=True, default=None)), "has write_id=True and a default"),
        (lambda: (Attr[str | None], attr(write_id=True, on_update=str)), "has on_update and write_id=True"),
        (lambda: (Attr[str | None], attr(write_id=True, stored=False)), "stored=False"),
    ],
)
def test_what_cannot_be_a_write_id_is_refused_by_name(declared, problem):
    annotation, value = declared()
    with pytest.raises(ModelDefinitionError, match=rf"Wrong\.by.*{re.escape(problem)}"):
        definition_of(
            type(Model)(
                "Wrong",
                (Model,),
                {"__module__": __name__, "__annotations__": {"id": PartitionKey[str], "by": annotation}, "by": value},
                table="wrong",
            )
        )


def test_an_item_has_one_write_id():
    with pytest.raises(ModelDefinitionError, match="one and two both have write_id=True"):

        class Two(Model, table="two"):
            id: PartitionKey[str]
            one: Attr[str | None] = attr(write_id=True)
            two: Attr[str | None] = attr(write_id=True)


def test_a_model_without_a_table_has_none():
    with pytest.raises(ModelDefinitionError, match="has write_id=True, but the model has no table"):

        class Nested(Model):
            by: Attr[str | None] = attr(write_id=True)


def test_a_validator_that_would_see_no_value_is_refused():
    with pytest.raises(ModelDefinitionError, match="has write_id=True, so a validator"):

        class Early(Model, table="early"):
            id: PartitionKey[str]
            by: Attr[str | None] = attr(write_id=True)

            @field_validator("by", mode="before")
            @classmethod
            def check(cls, value):
                return value


@pytest.mark.parametrize(
    "change",
    [
        lambda update: update.set(Lock.written_by, "mine"),
        lambda update: update.set(Lock.written_by, None),
        lambda update: update.remove(Lock.written_by),
    ],
)
def test_an_update_cannot_set_it(change):
    with pytest.raises(ExpressionError, match=r"Lock\.written_by is given a new id by the session with each write"):
        change(Update(Lock, "a"))


def test_a_subclass_inherits_it_from_an_abstract_base():
    class Traced(Model, abstract=True):
        by: Attr[str | None] = attr(write_id=True)

    class Job(Traced, table="jobs"):
        id: PartitionKey[str]

    assert definition_of(Job).write_id.name == "by"
    assert definition_of(Hidden).write_id.name == "written_by"
