"""Datetimes with and without a time zone: two stored forms that no comparison takes for each other."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import AwareDatetime, NaiveDatetime

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Query, SortKey, Update, attr
from dynamap_async.errors import EncodeError
from dynamap_async.models import definition_of

AWARE = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAIVE = AWARE.replace(tzinfo=None)


class Event(Model, table="events"):
    room: PartitionKey[str]
    at: SortKey[datetime]
    made: Attr[datetime]
    seen: Attr[datetime | None] = attr(default=None)
    either: Attr[datetime | int] = attr(default=0)
    days: Attr[list[datetime]] = attr(default_factory=list)
    marks: Attr[set[datetime]] = attr(default_factory=set)
    due: Attr[AwareDatetime] = attr(default=AWARE)
    local: Attr[NaiveDatetime] = attr(default=NAIVE)
    locals: Attr[list[NaiveDatetime]] = attr(default_factory=list)
    anything: Attr[Any] = attr(default=None)
    by_made = GlobalIndex(partition_key="room", sort_key="seen")


REFUSED: list[Any] = [
    pytest.param(lambda value: Event.made == value, "Event.made", id="equal"),
    pytest.param(lambda value: Event.made != value, "Event.made", id="unequal"),
    pytest.param(lambda value: Event.made < value, "Event.made", id="less"),
    pytest.param(lambda value: Event.made >= value, "Event.made", id="at least"),
    pytest.param(lambda value: Event.made.between(value, AWARE), "Event.made", id="between"),
    pytest.param(lambda value: Event.made.is_in(AWARE, value), "Event.made", id="in"),
    pytest.param(lambda value: Event.due == value, "Event.due", id="declared with a zone"),
    pytest.param(lambda value: Event.either == value, "Event.either", id="union"),
    pytest.param(Event.days.contains, r"Event.days.contains\(\)", id="member of a list"),
    pytest.param(Event.marks.contains, r"Event.marks.contains\(\)", id="member of a set"),
    pytest.param(lambda value: Event.days[0] == value, r"Event.days\[0\]", id="element"),
    pytest.param(lambda value: Event.at >= value, "Event.at", id="key"),
    pytest.param(lambda value: Event.seen >= value, "Event.seen", id="key of an index"),
]


@pytest.mark.parametrize(("make", "field"), REFUSED)
def test_datetime_without_a_zone_is_not_compared_with_those_that_have_one(make: Any, field: str) -> None:
    make(AWARE)
    with pytest.raises(EncodeError, match=rf"^{field}: datetime with a time zone expected, got .*[;:] add tzinfo=UTC"):
        make(NAIVE)


def test_the_error_names_the_annotation_of_fields_without_a_zone() -> None:
    with pytest.raises(EncodeError, match="or annotate the field NaiveDatetime"):
        _ = Event.made == NAIVE


@pytest.mark.parametrize(
    "make",
    [
        lambda value: Event.local == value,
        lambda value: Event.local.between(value, value),
        Event.locals.contains,
        lambda value: Event.locals[0] < value,
    ],
)
def test_datetime_with_a_zone_is_not_compared_with_those_declared_without_one(make: Any) -> None:
    make(NAIVE)
    with pytest.raises(EncodeError, match="datetime without a time zone expected, got .*AwareDatetime"):
        make(AWARE)


def test_fields_of_any_value_compare_with_both() -> None:
    assert str(Event.anything == NAIVE) != str(Event.anything == AWARE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Update(Event, "r", AWARE).set(Event.due, NAIVE),
        lambda: Update(Event, "r", AWARE).set(Event.due, Event.due.if_not_exists(NAIVE)),
        lambda: Update(Event, "r", AWARE).set(Event.local, AWARE),
        lambda: Update(Event, "r", AWARE).set(Event.locals, Event.locals.append([AWARE])),
        lambda: Update(Event, "r", AWARE).where(Event.made == NAIVE),
        lambda: Query(Event).where(Event.room == "r", Event.at > NAIVE),
        lambda: Update(Event, "r", NAIVE),
    ],
)
def test_updates_and_keys_refuse_the_other_form(make: Any) -> None:
    with pytest.raises(EncodeError, match=r"Event\.(due|local|locals|made|at)"):
        make()


def test_datetime_without_a_zone_is_still_stored_where_it_may_be() -> None:
    item = Event(room="r", at=AWARE, made=NAIVE)
    stored = definition_of(Event).items.encode(item)
    assert stored["made"] == {"S": "2026-01-01T12:00:00.000000"}
    assert definition_of(Event).items.decode([stored]) == [item]
    Update(Event, "r", AWARE).set(Event.made, NAIVE)


def test_value_that_was_never_validated_is_not_stored_in_the_other_form() -> None:
    item = Event(room="r", at=AWARE, made=AWARE)
    item.due = NAIVE
    with pytest.raises(EncodeError, match="Event.due: datetime with a time zone expected"):
        definition_of(Event).items.encode(item)
    item.due, item.local = AWARE, AWARE
    with pytest.raises(EncodeError, match="Event.local: datetime without a time zone expected"):
        definition_of(Event).items.encode(item)
