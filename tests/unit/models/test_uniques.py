"""Unique constraints: what can be declared, and the names of the guards."""

from datetime import datetime
from typing import ClassVar

import pytest

from dynamap_async import Attr, Model, PartitionKey, SortKey, TimeToLive, Unique, attr
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of


class User(Model, table="users"):
    id: PartitionKey[str]
    email: Attr[str | None] = attr(default=None, name="e")
    tenant: Attr[int] = attr(default=1)
    code: Attr[bytes | None] = attr(default=None)

    by_email = Unique("email")
    by_code = Unique("tenant", "code")


def guards(**fields):
    definition = definition_of(User)
    stored = definition.items.encode(User(id="1", **fields))
    return [constraint.guard(stored) for constraint in definition.uniques]


def test_a_guard_is_named_after_the_table_the_stored_attributes_and_the_values():
    assert guards(email="a@b", code=b"!") == ["unique#users#1:e#4:Sa@b", "unique#users#6:tenant,4:code#2:N1,5:BIQ=="]


def test_none_has_no_guard_and_neither_has_an_absent_item():
    assert guards() == [None, None]
    assert [constraint.guard(None) for constraint in definition_of(User).uniques] == [None, None]


def test_the_guard_of_a_long_value_fits_a_key_and_is_still_its_own():
    [one, _], [other, _], [same, _] = guards(email="a" * 5_000), guards(email="a" * 5_001), guards(email="a" * 5_000)
    assert one is not None
    assert len(one) < 100
    assert one == same != other


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("100", "1E+2"), ("-0.10", "-0.1")])
def test_equal_numbers_have_one_guard(one, other):
    [_, constraint] = definition_of(User).uniques
    names = {constraint.guard({"tenant": {"N": number}, "code": {"B": "IQ=="}}) for number in (one, other)}
    assert len(names) == 1


def test_numbers_of_38_digits_that_differ_in_the_last_have_two_guards():
    [_, constraint] = definition_of(User).uniques
    numbers = ("-12345678901234567890123456789012345678", "-12345678901234567890123456789012345679")
    assert len({constraint.guard({"tenant": {"N": number}, "code": {"B": "IQ=="}}) for number in numbers}) == 2


def test_a_field_of_every_type_that_a_key_may_have_can_be_unique():
    class Badge(Model, table="badges"):
        id: PartitionKey[str]
        code: Attr[str | int | bytes]
        by_code = Unique("code")

    definition = definition_of(Badge)
    [constraint] = definition.uniques
    named = {constraint.guard(definition.items.encode(Badge(id="1", code=code))) for code in ("1", 1, b"1")}
    assert len(named) == 3


def test_a_constraint_is_no_field_and_is_reached_through_the_class():
    assert User.by_code.fields == ("tenant", "code")
    assert set(User.model_fields) == {"id", "email", "tenant", "code"}
    assert repr(User.by_code) == "Unique('tenant', 'code')"


def test_subclasses_inherit_constraints_and_may_replace_them():
    class Person(Model, abstract=True):
        email: Attr[str]
        name: Attr[str]
        by_email = Unique("email")
        by_name = Unique("name")

    class Member(Person, table="members"):
        id: PartitionKey[str]
        by_name = Unique("name", "email")
        by_email: ClassVar[None] = None

    [constraint] = definition_of(Member).uniques
    assert [field.name for field in constraint.fields] == ["name", "email"]


def an_unknown_field():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]
        email: Attr[str]
        by_email = Unique("emial")


def no_field():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]
        by_email = Unique()


def no_text():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]
        by_email = Unique(3)


def a_field_twice():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]
        email: Attr[str]
        by_email = Unique("email", "email")


def a_list():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]
        emails: Attr[list[str]]
        by_email = Unique("emails")


def the_whole_key():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]
        at: SortKey[int]
        email: Attr[str]
        by_email = Unique("at", "id", "email")


def with_time_to_live():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]
        email: Attr[str]
        expires: TimeToLive[datetime]
        by_email = Unique("email")


def without_a_table():
    class Wrong(Model):
        email: Attr[str]
        by_email = Unique("email")


def with_an_annotation():
    class Wrong(Model, table="wrong"):
        id: PartitionKey[str]
        email: Attr[str]
        by_email: Unique = Unique("email")


@pytest.mark.parametrize(
    ("define", "message"),
    [
        (an_unknown_field, "Wrong.by_email: names the field 'emial', which Wrong does not have; did you mean 'email'?"),
        (no_field, 'Wrong.by_email: names no field; write Unique("email")'),
        (no_text, "Wrong.by_email: must name fields as strings, such as 'id', not 3"),
        (a_field_twice, "Wrong.by_email: names a field twice (email, email)"),
        (a_list, "Wrong.by_email: names 'emails', which holds list[str], stored as L"),
        (the_whole_key, "Wrong.by_email: names the whole key of the table, which is unique without it"),
        (with_time_to_live, "Wrong.by_email: is a unique constraint, but the model has time to live"),
        (without_a_table, "Wrong.by_email: is a unique constraint, but the model has no table"),
        (with_an_annotation, "Wrong.by_email"),
    ],
)
def test_a_wrong_constraint_is_refused_when_the_class_is_made(define, message):
    with pytest.raises(ModelDefinitionError) as refused:
        define()
    assert message in str(refused.value)
