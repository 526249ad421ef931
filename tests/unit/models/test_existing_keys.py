"""Models of tables that exist: parts that follow the stored form of their field, and parts of subclasses."""

from datetime import UTC, datetime

import pytest

from dynamap_async import (
    EPOCH_SECONDS,
    Attr,
    Model,
    PartitionKey,
    Query,
    SortKey,
    Table,
    attr,
    template,
    time_text,
)
from dynamap_async.errors import DecodeError, ExpressionError, ItemValidationError
from dynamap_async.models import definition_of

NOON = datetime(2021, 8, 1, 12, tzinfo=UTC)


class Log(Model, table="logs"):
    day: PartitionKey[str]
    at: Attr[datetime] = attr(stored=False, stored_as=time_text("%Y-%m-%dT%H:%M:%S"))
    seen: Attr[datetime] = attr(stored_as=EPOCH_SECONDS)
    number: Attr[int] = attr(default=0)
    sk: SortKey[str] = template("E#{at}#{seen:010d}#{number:03d}")
    month: Attr[str] = template("{seen:%Y-%m}")


def stored(item):
    return definition_of(type(item)).items.encode(item)


def test_parts_follow_the_stored_form_of_their_field_and_are_read_back():
    item = Log(day="d", at=NOON, seen=NOON, number=7)
    wire = stored(item)
    assert wire["sk"] == {"S": "E#2021-08-01T12:00:00#1627819200#007"}
    assert wire["month"] == {"S": "2021-08"}
    assert "at" not in wire
    assert definition_of(Log).items.decode([wire]) == [item]


def test_a_key_of_another_form_does_not_fit():
    wire = {**stored(Log(day="d", at=NOON, seen=NOON)), "sk": {"S": "E#2021-08-01T12:00:00Z#1627819200#007"}}
    with pytest.raises(ItemValidationError, match="is not a key of the template") as caught:
        definition_of(Log).items.decode([wire])
    assert isinstance(caught.value.validation_error, DecodeError)


def test_ranges_of_such_parts_are_exact():
    plan = Query(Log).where(Log.day == "d", Log.at >= NOON, Log.at < NOON.replace(hour=13)).explain()
    assert str(
        plan.sort_conditions[0]
    ) == "Log.sk.between('E#2021-08-01T12:00:00#', 'E#2021-08-01T13:00:00\"\U0010ffff')".replace(
        "\U0010ffff", "\\U0010ffff"
    )
    assert not plan.filters
    plan = Query(Log).where(Log.day == "d", Log.at == NOON, Log.seen > NOON).explain()
    assert (
        str(plan.sort_conditions[0]) == "Log.sk.between('E#2021-08-01T12:00:00#1627819200$', 'E#2021-08-01T12:00:00$')"
    )
    assert not plan.filters


ZOO = Table("zoo", partition_key="pk", sort_key="sk", discriminator=None)


class Animal(Model, table=ZOO, abstract=True):
    cage: Attr[str]
    age: Attr[int] = attr(stored=False)
    pk: PartitionKey[str] = template("CAGE#{cage}")
    sk: SortKey[str]


class Dog(Animal):
    sk: SortKey[str] = template("DOG#{age:03d}")


class Cat(Animal):
    sk: SortKey[str] = template("CAT#{age:03d}")


def test_a_part_of_subclasses_is_declared_on_an_abstract_base():
    items = [Dog(cage="1", age=3), Cat(cage="1", age=4)]
    wires = [stored(item) for item in items]
    assert [wire["sk"]["S"] for wire in wires] == ["DOG#003", "CAT#004"]
    assert all("age" not in wire for wire in wires)
    assert definition_of(Animal).items.decode(wires) == items
    plan = Query(Dog).where(Dog.cage == "1", Dog.age > 2).explain()
    assert str(plan.sort_conditions[0]) == "Dog.sk.between('DOG#003', 'DOG$')"


def test_a_condition_on_such_a_part_through_the_base_is_refused_where_no_key_answers_it():
    with pytest.raises(ExpressionError, match="Animal.age is stored in the keys of subclasses only"):
        Query(Animal).where(Animal.cage == "1", Animal.age > 2).explain()
