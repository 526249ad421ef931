"""One table per period: which names fields make, which definitions are refused, and which tables a range covers."""

from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from typing import Any, Literal

import pytest

from dynamap_async import Attr, Model, PartitionKey, SortKey, Table, Unique, attr, template
from dynamap_async.codec import EPOCH_SECONDS, StoredForm
from dynamap_async.errors import EncodeError, ModelDefinitionError
from dynamap_async.models import definition_of

NIGHT = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)


class Region(Enum):
    WEST = "west"
    EAST = "east"


class Reading(Model, table="readings_{at:day}"):
    device_id: PartitionKey[str]
    at: SortKey[datetime]
    value: Attr[float] = attr(default=0.0)


class ByEpoch(Model, table="epoch_{at:hour}"):
    device_id: PartitionKey[str]
    at: SortKey[datetime] = attr(stored_as=EPOCH_SECONDS)


class Log(Model, table="log_{at:month}"):
    host: PartitionKey[str]
    at: Attr[datetime] = attr(stored=False)
    line: Attr[int] = attr(stored=False)
    sk: SortKey[str] = template("log#{at}#{line:03d}")


class Visit(Model, table="visits.{day:year}-x"):
    day: PartitionKey[date]


class Season(Model, table="season-{year:04d}"):
    year: PartitionKey[int]


class Tenant(Model, table="tenant-{tenant:lower}"):
    tenant: PartitionKey[str]
    id: SortKey[str]


class Whole(Model, table="whole-{pk}"):
    country: Attr[str]
    pk: PartitionKey[str] = template("c.{country}")


class Sale(Model, table="sales-{region}"):
    region: PartitionKey[Region]


def periods_of(model: type[Model]) -> Any:
    return definition_of(model).periods


@pytest.mark.parametrize(
    ("model", "key", "name"),
    [
        (Reading, ("d1", NIGHT), "readings_2026-11-21"),
        (Reading, ("d1", NIGHT.astimezone(timezone(timedelta(hours=5)))), "readings_2026-11-21"),
        (Reading, ("d1", NIGHT + timedelta(minutes=30)), "readings_2026-11-22"),
        (ByEpoch, ("d1", NIGHT), "epoch_2026-11-21T23"),
        (Log, ("h", "log#2026-11-21T23:30:00.000000Z#007"), "log_2026-11"),
        (Visit, (date(2026, 11, 21),), "visits.2026-x"),
        (Season, (987,), "season-0987"),
        (Tenant, ("ACME", "1"), "tenant-acme"),
        (Sale, (Region.EAST,), "sales-east"),
        (Whole, ("c.GB",), "whole-c.GB"),
    ],
)
def test_the_key_tells_the_table(model, key, name):
    definition = definition_of(model)
    assert definition.table_name(definition.key(key), "read") == name


@pytest.mark.parametrize(
    ("model", "key", "problem"),
    [
        (Tenant, ("a/b", "1"), r"Tenant.tenant: 'a/b' does not make a valid table name, which has 3 to 255 characters"),
        (Tenant, ("a" * 250, "1"), "does not make a valid table"),
        (Season, (12345,), "Season.year: "),
        (
            Log,
            ("h", "another text"),
            r"Log.sk: 'another text' is not a key of the template .*the table of the item is",
        ),
    ],
)
def test_a_key_that_makes_no_name_is_refused(model, key, problem):
    definition = definition_of(model)
    with pytest.raises(EncodeError, match=problem):
        definition.table_name(definition.key(key), "read")


def test_a_date_stands_for_its_first_moment():
    assert periods_of(ByEpoch).name(date(2026, 11, 21)) == "epoch_2026-11-21T00"


@pytest.mark.parametrize("value", [datetime(2026, 11, 21), "2026-11-21", None, 7])  # noqa: DTZ001 - what is refused
def test_another_value_is_no_period(value):
    with pytest.raises(EncodeError, match=r"Reading\.at: "):
        periods_of(Reading).name(value)


def test_a_subclass_has_the_tables_of_its_base():
    class Calibrated(Reading):
        offset: Attr[float] = attr(default=0.0)

    definition = definition_of(Calibrated)
    assert definition.table_name(definition.key(("d1", NIGHT)), "read") == "readings_2026-11-21"


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("r_{at}", r"a unit; write \{at:year\}, \{at:month\}, \{at:day\} or \{at:hour\}"),
        ("r_{at:minute}", "without a unit"),
        ("r_{when:day}", "names 'when', which is not a field; the fields are device_id, at, value, note"),
        ("r_{at:day}_{device_id}", "must name exactly one field"),
        ("r_{{at}}", "must name exactly one field"),
        ("r_{at:day", "has a single '{' at position 2"),
        ("r {at:day}", "cannot make table names, which have"),
        ("r" * 254 + "{at:day}", "cannot make table names, which have"),
        ("r_{value}", "names value, which is float; use a datetime, a date, an int, text or an enum"),
        ("r_{note}", r"Odd.note: names the table.*but is not part of its key.*SortKey"),
        ("r_{raw}", "names 'raw'"),
    ],
)
def test_a_pattern_that_makes_no_tables_is_a_definition_error(pattern, problem):
    with pytest.raises(ModelDefinitionError, match=problem):

        class Odd(Model, table=pattern):
            device_id: PartitionKey[str]
            at: SortKey[datetime]
            value: Attr[float] = attr(default=0.0)
            note: Attr[str] = attr(default="")


def test_a_key_that_cuts_the_period_off_is_a_definition_error():
    with pytest.raises(ModelDefinitionError, match=r"Cut.at: .*the key sk has it shortened or.* write \{at\} there"):

        class Cut(Model, table="cut_{at:day}"):
            host: PartitionKey[str]
            at: Attr[datetime]
            sk: SortKey[str] = template("{at:day}#")


def test_values_that_make_no_name_are_a_definition_error():
    with pytest.raises(ModelDefinitionError, match="names kind, whose value 'a b' cannot be part of a table name"):

        class Spaced(Model, table="kinds_{kind}"):
            kind: PartitionKey[Literal["a b", "c"]]


def test_unique_values_do_not_go_with_tables_by_period():
    with pytest.raises(ModelDefinitionError, match=r"Taken.unique_note: .*would stay taken after a period's table"):

        class Taken(Model, table="taken_{at:day}"):
            device_id: PartitionKey[str]
            at: SortKey[datetime]
            note: Attr[str]
            unique_note = Unique("note")


def test_numbers_do_not_go_with_tables_by_period():
    with pytest.raises(ModelDefinitionError, match=r"Counted.id: has autoincrement=True, but the model has one table"):

        class Counted(Model, table="counted_{at:day}"):
            id: PartitionKey[int] = attr(autoincrement=True)
            at: SortKey[datetime]


def test_a_shared_table_has_one_name():
    with pytest.raises(ModelDefinitionError, match="have one name: a table for each period is for one model"):
        Table("shop_{at:day}", partition_key="pk")


@pytest.mark.parametrize(
    ("model", "low", "high", "names"),
    [
        (Reading, NIGHT, NIGHT, ["readings_2026-11-21"]),
        (Reading, NIGHT, NIGHT + timedelta(days=2), [f"readings_2026-11-{day}" for day in (21, 22, 23)]),
        (ByEpoch, NIGHT, NIGHT + timedelta(hours=1), ["epoch_2026-11-21T23", "epoch_2026-11-22T00"]),
        (Log, NIGHT, NIGHT + timedelta(days=60), ["log_2026-11", "log_2026-12", "log_2027-01"]),
        (Visit, date(2025, 12, 31), date(2026, 1, 1), ["visits.2025-x", "visits.2026-x"]),
        (Season, 9, 11, ["season-0009", "season-0010", "season-0011"]),
        (Season, 11, 9, []),
    ],
)
def test_a_range_covers_the_periods_of_its_ends_and_those_between(model, low, high, names):
    periods = periods_of(model)
    assert [periods.numbered(number) for number in periods.numbers(low, high)] == names


@pytest.mark.parametrize(
    ("model", "end"),
    [(Reading, datetime(2026, 11, 22, tzinfo=UTC)), (Visit, date(2027, 1, 1)), (Season, 2027)],
)
def test_an_end_that_does_not_belong_to_the_range_adds_no_period(model, end):
    periods = periods_of(model)
    start = end if model is Season else end - timedelta(days=1)
    assert len(periods.numbers(start, end, high_inclusive=False)) == (0 if model is Season else 1)
    before = end - (1 if model is Season else periods.calendar.tick)
    assert len(periods.numbers(before, end, low_inclusive=False)) == 1


def test_a_range_beyond_all_time_covers_nothing():
    assert not periods_of(Reading).numbers(NIGHT, datetime.min.replace(tzinfo=UTC), high_inclusive=False)


@pytest.mark.parametrize(
    ("model", "ordered"), [(Reading, True), (ByEpoch, True), (Log, True), (Season, True), (Tenant, False)]
)
def test_stored_forms_have_the_order_of_the_periods(model, ordered):
    assert periods_of(model).is_ordered is ordered


def test_a_stored_form_of_ones_own_may_have_no_order():
    day_first = StoredForm(
        name="day first",
        tag="S",
        encode=lambda at: at.strftime("%d.%m.%Y"),
        decode=lambda text: datetime.strptime(text, "%d.%m.%Y").replace(tzinfo=UTC),
    )

    class Backwards(Model, table="backwards_{at:day}"):
        id: PartitionKey[str]
        at: SortKey[datetime] = attr(stored_as=day_first)

    assert periods_of(Backwards).is_ordered is False
